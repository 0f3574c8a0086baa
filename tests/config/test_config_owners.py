"""A folder is found, and settings are obeyed, only where they belong to the user."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoriter.config import find_workspace, load
from memoriter.config._home import check_home
from memoriter.config._places import MARKERS
from memoriter.errors import ConfigError
from memoriter.permissions import Owners, owners_of

if TYPE_CHECKING:
    from pathlib import Path

ME = 1_000
ROOT = 0
OTHER = 1_001


def owned(
    others: dict[Path, int], *, links: dict[Path, int] | None = None, modes: dict[Path, int] | None = None
) -> Owners:
    """The user 1000, with some paths that belong to others; `links` for a link itself, in place of its target."""

    def status_of(path: Path, follow: bool) -> os.stat_result:
        path.stat()
        owner = others.get(path, ME) if follow else (links or {}).get(path, others.get(path, ME))
        return SimpleNamespace(st_uid=owner, st_mode=(modes or {}).get(path, 0o755))  # type: ignore[return-value]

    return Owners(frozenset({ME}), status_of)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Like `/tmp/build/src` in a shared folder, where somebody has planted a note."""
    (tmp_path / "shared" / "build" / "src").mkdir(parents=True)
    (tmp_path / "shared" / "MEMORY.md").write_text("Planted.\n", encoding="utf-8")
    return tmp_path


def found(tree: Path, owners: Owners, **environ: str):
    return find_workspace(
        None,
        environ={"HOME": str(tree / "user"), **environ},
        cwd=tree / "shared" / "build" / "src",
        configured=None,
        home=tree / "user" / ".memoriter",
        owners=owners,
        by_person=True,
    )


def test_the_users_own_folder_is_found(tree: Path) -> None:
    place = found(tree, owned({}))

    assert (place.workspace, place.notices) == (tree / "shared", ())


@pytest.mark.parametrize("owner", [ROOT, OTHER])
def test_a_note_that_another_user_planted_is_not_found_and_that_is_told(tree: Path, owner: int) -> None:
    place = found(tree, owned({tree / "shared" / "MEMORY.md": owner}))

    (refusal,) = place.notices
    assert place.reason == "default"
    assert refusal.code == "workspace_refused"
    assert str(tree / "shared" / "MEMORY.md") in refusal.message
    assert "another user" in refusal.message
    assert refusal.remedy.endswith(f"`-w {tree / 'shared'}`.")


def test_nor_is_the_folder_of_another_user_with_a_note_of_ones_own(tree: Path) -> None:
    assert found(tree, owned({tree / "shared": OTHER})).reason == "default"


def test_nor_one_in_which_everybody_may_put_files(tree: Path) -> None:
    for mode in (0o1777, 0o777, 0o757):
        place = found(tree, owned({}, modes={tree / "shared": mode}))
        assert place.reason == "default"
        assert "every user" in place.notices[0].message
    assert found(tree, owned({}, modes={tree / "shared": 0o775})).workspace == tree / "shared"


def test_a_file_system_without_permissions_is_no_folder_for_everybody(tree: Path) -> None:
    mounts = tree / "mounts"
    mounts.write_text(f"disk {tree} ext4 rw 0 0\ndrive {tree / 'shared'} drvfs rw 0 0\n", encoding="utf-8")
    owners = owned({}, modes={tree / "shared": 0o777})

    assert found(tree, Owners(owners.uids, owners.status_of, mounts)).workspace == tree / "shared"
    mounts.write_text(f"disk {tree} ext4 rw 0 0\n", encoding="utf-8")
    assert found(tree, Owners(owners.uids, owners.status_of, mounts)).reason == "default"


def test_neither_a_link_of_another_user_nor_a_link_to_a_file_of_another_user(tree: Path) -> None:
    note = tree / "shared" / "MEMORY.md"

    assert found(tree, owned({}, links={note: OTHER})).reason == "default"
    assert found(tree, owned({note: OTHER}, links={note: ME})).reason == "default"


def test_what_lies_above_a_refused_folder_is_still_found(tree: Path) -> None:
    (tree / "shared" / "build" / "memory").mkdir()
    (tree / "shared" / "build" / "memory" / "a.md").touch()
    place = found(tree, owned({tree / "shared" / "build" / "memory": OTHER}))

    assert (place.workspace, len(place.notices)) == (tree / "shared", 1)


def test_a_folder_that_is_named_counts_whoever_owns_it(tree: Path) -> None:
    others = owned({tree / "shared": OTHER, tree / "shared" / "MEMORY.md": OTHER})

    assert found(tree, others, MEMORITER_WORKSPACE=str(tree / "shared")).workspace == tree / "shared"


def test_where_the_system_knows_no_owners_nothing_is_checked(tree: Path) -> None:
    assert found(tree, Owners()).workspace == tree / "shared"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(st.sampled_from([ME, ROOT, OTHER]), min_size=3, max_size=3),
    st.dictionaries(st.sampled_from(MARKERS), st.sampled_from([ME, ROOT, OTHER]), max_size=3),
)
def test_no_folder_is_found_of_which_anything_that_counts_is_anothers(
    tmp_path_factory: pytest.TempPathFactory, folders: list[int], signs: dict[str, int]
) -> None:
    top = tmp_path_factory.mktemp("tree")
    levels = [top / "a", top / "a" / "b", top / "a" / "b" / "c"]
    levels[-1].mkdir(parents=True)
    owners = dict(zip(levels, folders, strict=True))
    for level in levels:
        for sign, owner in signs.items():
            (level / sign).mkdir() if "." not in sign[1:] else (level / sign).touch()
            if sign == "memory":
                (level / sign / "a.md").touch()
            owners[level / sign] = owner

    place = find_workspace(
        None,
        environ={"HOME": str(top / "user")},
        cwd=levels[-1],
        configured=None,
        home=top / "home",
        owners=owned(owners),
        by_person=True,
    )

    own = [level for level in reversed(levels) if signs and owners[level] == ME and set(signs.values()) == {ME}]
    assert place.workspace == (own[0] if own else top / "home" / "workspace")


def test_who_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: ME, raising=False)
    assert owners_of({"SUDO_UID": "7"}).uids == {ME}
    assert owners_of({}, root=True).uids == {ME, ROOT}
    monkeypatch.setattr(os, "geteuid", lambda: ROOT)
    assert owners_of({"SUDO_UID": "1000"}).uids == {ROOT, ME}
    assert owners_of({"SUDO_UID": "-1"}).uids == owners_of({"SUDO_UID": "x"}).uids == owners_of({}).uids == {ROOT}


@pytest.mark.parametrize("planted", ["", "memoriter.json5", "memory", "agents", "models", "serve"])
def test_a_home_with_anything_of_another_user_is_refused(tmp_path: Path, planted: str) -> None:
    for name in ("memory", "agents", "models", "serve"):
        (tmp_path / name).mkdir()
    (tmp_path / "memoriter.json5").touch()
    path = tmp_path / planted if planted else tmp_path

    check_home(tmp_path, owned({}))
    with pytest.raises(ConfigError, match="another user") as refused:
        check_home(tmp_path, owned({path: OTHER}))
    assert repr(str(path)) in refused.value.message
    assert "MEMORITER_HOME" in refused.value.remedy


@pytest.fixture
def stranger() -> int:
    """A number of another user, to whom files can be given."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    return 1_234


def test_settings_of_another_user_are_not_obeyed_unless_the_file_is_named(tmp_path: Path, stranger: int) -> None:
    file = tmp_path / "memoriter.json5"
    file.write_text("{memory: {citations: 'off'}}", encoding="utf-8")
    os.chown(file, stranger, stranger)

    with pytest.raises(ConfigError, match="another user"):
        load(None, home=tmp_path, environ={})
    assert load(file, home=tmp_path, environ={}).settings.memory.citations == "off"


def test_settings_that_came_with_a_folder_of_another_user_are_not_obeyed(tmp_path: Path, stranger: int) -> None:
    file = tmp_path / ".memoriter.json5"
    file.write_text("{memory: {citations: 'off'}}", encoding="utf-8")
    assert load(None, home=tmp_path, environ={}, project=tmp_path).settings.memory.citations == "off"
    os.chown(file, stranger, stranger)

    configuration = load(None, home=tmp_path, environ={}, project=tmp_path)

    assert configuration.settings.memory.citations == "auto"
    assert [reason.code for reason in configuration.refused] == ["settings_refused"]
