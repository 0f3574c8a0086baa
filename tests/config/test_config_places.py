from __future__ import annotations

from pathlib import Path

import pytest

from memoriter.config import MemorySearch, Store, cache_of, find_workspace, home_of, index_path


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for folder in ("user/.memoriter", "user/repo/.git", "user/repo/src/deep", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def found(places: Path, cwd: str, flag: str | None = None, configured: str | None = None, **environ: str):
    place = find_workspace(
        Path(flag) if flag else None,
        environ={"HOME": str(places / "user"), **environ},
        cwd=places / cwd,
        configured=configured,
        home=places / "user" / ".memoriter",
        by_person=True,
    )
    return str(place.workspace.relative_to(places)), place.reason


def test_home_is_in_the_users_home_unless_the_environment_moves_it() -> None:
    assert home_of({}, Path("/u")) == Path("/u/.memoriter")
    assert home_of({"MEMORITER_HOME": "/m"}, Path("/u")) == Path("/m")
    assert home_of({"MEMORITER_HOME": "~/m"}, Path("/u")) == Path("/u/m")
    assert home_of({"MEMORITER_HOME": " "}, Path("/u")) == Path("/u/.memoriter")


def test_the_flag_wins_over_everything(places: Path) -> None:
    (places / "elsewhere" / "MEMORY.md").touch()
    assert found(places, "elsewhere", flag="w", MEMORITER_WORKSPACE="x") == ("elsewhere/w", "-w")


def test_the_environment_wins_over_what_lies_around(places: Path) -> None:
    (places / "elsewhere" / "MEMORY.md").touch()
    assert found(places, "elsewhere", MEMORITER_WORKSPACE="~/notes") == ("user/notes", "MEMORITER_WORKSPACE")


@pytest.mark.parametrize(
    ("sign", "reason"),
    [("MEMORY.md", "MEMORY.md"), ("memory/a.md", "memory/"), (".memoriter.json5", ".memoriter.json5")],
)
def test_a_folder_above_that_has_memory_is_found(places: Path, sign: str, reason: str) -> None:
    file = places / "user" / "repo" / sign
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert found(places, "user/repo/src/deep", configured="~/c") == (
        "user/repo",
        f"found {reason} above the current folder",
    )
    assert found(places, "user/repo") == ("user/repo", f"found {reason} in the current folder")


def test_the_nearest_folder_with_memory_wins(places: Path) -> None:
    (places / "user/repo/MEMORY.md").touch()
    (places / "user/repo/src/MEMORY.md").touch()
    assert found(places, "user/repo/src/deep")[0] == "user/repo/src"


def test_the_search_upwards_ends_at_the_repositorys_root(places: Path) -> None:
    (places / "user/MEMORY.md").touch()
    assert found(places, "user/repo/src", configured="~/c") == ("user/c", "configured")


def test_the_search_upwards_ends_at_the_users_home(places: Path) -> None:
    (places / "MEMORY.md").touch()
    assert found(places, "user") == ("user/.memoriter/workspace", "default")


def test_an_agents_usual_workspace_lies_in_memoriters_home(places: Path) -> None:
    assert found(places, "elsewhere", configured="workspace-work")[0] == "user/.memoriter/workspace-work"


def path(search: MemorySearch, workspace: str = "own", agent: str = "main") -> str:
    own = Path("/h/own")
    home = Path("/h")
    return str(
        index_path(search, agent, workspace=Path("/h") / workspace, own_workspace=own, home=home, user_home=Path("/u"))
    )


def test_the_configured_workspace_has_the_plain_index_and_another_one_its_own() -> None:
    assert path(MemorySearch()) == "/h/memory/main.sqlite"
    assert path(MemorySearch(), "../h/own/.") == "/h/memory/main.sqlite"
    other = path(MemorySearch(), "b")
    assert other.startswith("/h/memory/main-")
    assert len(other) == len("/h/memory/main-01234567.sqlite")
    assert other != path(MemorySearch(), "c")


def test_a_path_of_the_users_own_is_still_not_shared_between_workspaces() -> None:
    search = MemorySearch(store=Store(path="~/i/{agentId}.db"))
    assert path(search, agent="Work") == "/u/i/work.db"
    assert path(search, "b", agent="Work").startswith("/u/i/work-")


def test_an_agents_name_stays_inside_of_the_folder() -> None:
    assert path(MemorySearch(), agent="../../x") == "/h/memory/x.sqlite"


@pytest.mark.parametrize(
    ("environ", "mac", "expected"),
    [
        ({}, False, "/users/me/.cache/memoriter"),
        ({}, True, "/users/me/Library/Caches/memoriter"),
        ({"XDG_CACHE_HOME": "/fast"}, True, "/fast/memoriter"),
        ({"XDG_CACHE_HOME": " "}, False, "/users/me/.cache/memoriter"),
        ({"XDG_CACHE_HOME": "relative"}, False, "/users/me/.cache/memoriter"),
    ],
)
def test_the_cache_is_where_the_system_keeps_such_things(environ: dict[str, str], expected: str, *, mac: bool) -> None:
    assert cache_of(environ, Path("/users/me"), mac=mac) == Path(expected)
