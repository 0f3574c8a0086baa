"""The conventions that no other tool checks: packages, public names, pins, and documents that must agree."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from memoriter.extras import FRAMEWORKS
from source_texts import parse, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "memoriter"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CODE = [
    *SOURCES,
    *(file for name in ("benchmarks", "examples", "scripts", "tests") for file in (ROOT / name).rglob("*.py")),
]
INITS = [file for file in SOURCES if file.name == "__init__.py"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

INTEGRATIONS = ["integrations.txt", "integrations-crewai.txt"]

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def exported(init: ast.Module) -> list[str] | None:
    for statement in init.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return list(ast.literal_eval(statement.value))
    return None


def init_allows(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=[]):
            return all(init_allows(inner) for inner in statement.body)
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True  # lazy imports keep start-up short
        case ast.Assign(targets=[ast.Name(id="__getattr__")], value=ast.Call(func=ast.Name(id="lazy_names"))):
            return True
        case _:
            return False


def test_an_init_contains_no_logic() -> None:
    logic = {
        name_of(file): [ast.unparse(statement) for statement in parsed(file).body if not init_allows(statement)]
        for file in INITS
    }
    assert {name: statements for name, statements in logic.items() if statements} == {}


def test_an_init_describes_its_package_and_lists_its_names() -> None:
    for file in INITS:
        init = parsed(file)
        assert ast.get_docstring(init), name_of(file)
        is_bare = len(init.body) == 1  # an extension, whose commands are loaded for the help
        assert file.parent == PACKAGE or is_bare or exported(init), name_of(file)


def public_names() -> str:
    """One line for each package, in the form of `api.txt`."""
    lines = []
    for file in INITS:
        package = ".".join(file.parent.relative_to(PACKAGE.parent).parts)
        lines.append(f"{package}: {', '.join(exported(parsed(file)) or [])}".rstrip())
    return "\n".join(lines) + "\n"


def test_public_names_change_only_on_purpose() -> None:
    pinned = (ROOT / "tests" / "api.txt").read_text(encoding="utf-8")
    assert public_names() == pinned, "if this is meant: just api"


def exported_definitions(file: Path) -> Iterator[tuple[str, Path]]:
    """The names that an `__init__` exports from files of its package, with the file that defines each."""
    init = parsed(file)
    names = exported(init) or []
    for node in ast.walk(init):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        base = file.parent if node.level else PACKAGE.parent
        target = base.joinpath(*module.split(".")) if module else base
        for alias in node.names:
            if (alias.asname or alias.name) in names and target.with_suffix(".py").is_file():
                yield alias.name, target.with_suffix(".py")


def test_every_public_name_has_a_docstring() -> None:
    for file in INITS:
        for name, origin in exported_definitions(file):
            definitions = [node for node in parsed(origin).body if isinstance(node, Definition) and node.name == name]
            assert all(ast.get_docstring(node) for node in definitions), f"{name} in {name_of(origin)}"


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """Each module that a file imports by its full name, with the line."""
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or ""
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def test_a_package_imports_no_private_module_of_another() -> None:
    for file in SOURCES:
        own = file.relative_to(PACKAGE).parts[0]
        for line, module in imported(file):
            package, _, rest = module.partition(".")
            parts = rest.split(".")
            private = any(part.startswith("_") and not part.startswith("__") for part in parts)
            assert package != "memoriter" or parts[0] == own or not private, f"{name_of(file)}:{line}: {module}"


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.expr):
            yield from statements(child)


def packed_assignments(code: ast.Module) -> Iterator[int]:
    """Yield the line of each `a, b = x, y`, whose reader must count commas; values that change places may stay."""
    displays = ast.Tuple | ast.List
    for node in statements(code):
        if isinstance(node, ast.Assign) and isinstance(node.value, displays):
            values = sorted(map(ast.unparse, node.value.elts))
            targets = [target for target in node.targets if isinstance(target, displays)]
            if any(sorted(map(ast.unparse, target.elts)) != values for target in targets):
                yield node.lineno


def hidden_assignments(code: ast.Module) -> Iterator[int]:
    """Yield the line of each `:=` within the arguments of a call, where nobody looks for a name that is used later."""
    for call in ast.walk(code):
        if isinstance(call, ast.Call):
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                yield from (node.lineno for node in ast.walk(argument) if isinstance(node, ast.NamedExpr))


@pytest.mark.parametrize(
    ("line", "packed", "hidden"),
    [
        ("a, b = x, y", True, False),
        ("self.a, self.b = a, b", True, False),
        ("[a, *b] = x, *y", True, False),
        ("a, b = b, a", False, False),
        ("a, b = pair()", False, False),
        ("a = x, y", False, False),
        ("f(a := x)", False, True),
        ("f(key=(a := x))", False, True),
        ("f(a for x in y if (a := g(x)))", False, True),
        ("if a := f(x): pass", False, False),
    ],
)
def test_packed_and_hidden_assignments_are_told_from_others(line: str, *, packed: bool, hidden: bool) -> None:
    code = ast.parse(line)
    assert (any(packed_assignments(code)), any(hidden_assignments(code))) == (packed, hidden)


def test_each_value_is_assigned_where_a_reader_looks_for_it() -> None:
    found = list[str]()
    for file in CODE:
        code = parse(file)
        found += [f"{name_of(file)}:{line}: one assignment a line" for line in packed_assignments(code)]
        if ":=" in file.read_text(encoding="utf-8"):
            found += [f"{name_of(file)}:{line}: assign before the call" for line in hidden_assignments(code)]
    assert found == []


def texts() -> Iterator[Path]:
    """The files that people write, wherever they are, without what tools leave behind."""
    written = {"", ".css", ".html", ".jinja", ".js", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yml"}
    hidden = {".ci", ".editorconfig", ".gitattributes", ".github", ".gitignore"}
    made = {"__pycache__", "build", "dist", "node_modules"}
    for folder, inner, files in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in made and (name[0] != "." or name in hidden)]
        shown = [Path(folder, name) for name in files if name[0] != "." or name in hidden]
        yield from (file for file in shown if file.suffix in written or file.name in hidden)


def test_no_text_knows_a_machine_or_the_address_of_a_package_index() -> None:
    folder = rb"(?<![\w.~*-])/" + rb"work/"
    hosts = [rb"pypi" + rb"\.org", rb"files\.python" + rb"hosted", rb"debian" + rb"\.org", rb"npm" + rb"js\.(org|com)"]
    known = re.compile(b"|".join([folder, *hosts]))
    found = [f"{name_of(file)}: {hit[0].decode()}" for file in texts() if (hit := known.search(file.read_bytes()))]
    assert found == []


def test_every_test_that_the_page_on_security_names_as_proof_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert named
    assert [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")] == []


def test_the_readme_names_the_versions_of_clients_that_the_tests_install() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [\w ]+ \| (\d[\d.]+) \|.*`(tests/e2e/\w+\.py)` \|$", readme, re.MULTILINE)
    assert len(rows) >= 6
    for version, test in rows:
        assert re.search(
            rf'"@?[a-z-]+(?:/[a-z-]+)?@{re.escape(version)}[-\w]*"', (ROOT / test).read_text(encoding="utf-8")
        )


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "SECURITY.md"])
def test_every_recipe_that_is_spoken_of_exists(page: str) -> None:
    recipes = set(re.findall(r"^(\w+)[^:\n]*:(?!=)", (ROOT / "justfile").read_text(encoding="utf-8"), re.MULTILINE))
    spoken_of = set(re.findall(r"(?:`|bin/)just (\w+)", (ROOT / page).read_text(encoding="utf-8")))
    assert spoken_of <= recipes


def test_ci_runs_the_two_commands_of_the_readme_as_they_stand_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    ci = {line.strip() for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()}
    (install,) = [line for line in readme if line.startswith("python3 -m venv .venv && ")]
    (check,) = [line for line in readme if line.endswith(" && .venv/bin/just check")]
    assert {install, check} <= ci


def test_the_lock_with_download_addresses_stays_out() -> None:
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def pins(name: str) -> dict[str, list[str]]:
    """Package -> the versions pinned for it (one for each range of Pythons)."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE):
        found.setdefault(canonicalize_name(package), []).append(version)
    return found


def wanted(*, dev: bool) -> list[Requirement]:
    listed = PROJECT["project"]["dependencies"] + (PROJECT["dependency-groups"]["dev"] if dev else [])
    return [Requirement(line) for line in listed]


@pytest.mark.parametrize(("name", "dev"), [("run.txt", False), ("dev.txt", True)])
def test_the_requirements_pin_every_dependency_within_its_range(name: str, *, dev: bool) -> None:
    pinned = pins(name)
    missing = [requirement.name for requirement in wanted(dev=dev) if canonicalize_name(requirement.name) not in pinned]
    assert missing == [], "run: just lock"
    for requirement in wanted(dev=dev):
        versions = pinned[canonicalize_name(requirement.name)]
        assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), requirement


@pytest.mark.parametrize("name", ["run.txt", "dev.txt", "fuzz.txt", "docs.txt", *INTEGRATIONS])
def test_every_pin_has_hashes_and_none_an_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[^\s#])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|--(extra-)?index-url|--find-links", text)


def test_every_adapter_is_tested_with_a_framework_of_its_range() -> None:
    pinned = {package: versions for name in INTEGRATIONS for package, versions in pins(name).items()}
    for extra in FRAMEWORKS:
        for line in PROJECT["project"]["optional-dependencies"][extra]:
            requirement = Requirement(line)
            versions = pinned[canonicalize_name(requirement.name)]
            assert all(requirement.specifier.contains(version, prereleases=True) for version in versions), requirement


def test_the_readme_names_the_versions_and_the_tests_of_all_adapters() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    row = r"^\| [^|]+ \| `([\w-]+)` \| `([\w-]+) ([\d.]+)` \| `(tests/[\w/]+\.py)` \|$"
    rows = re.findall(row, page, re.MULTILINE)
    assert sorted(extra for extra, *_ in rows) == sorted(FRAMEWORKS)
    adapters = {file.stem for file in (PACKAGE / "integrations").glob("*.py")}
    for extra, package, version, test in rows:
        pinned = pins("integrations-crewai.txt" if extra == "crewai" else "integrations.txt")
        assert pinned[package] == [version], extra
        assert (ROOT / test).exists() == (extra.replace("-", "_") in adapters), test
    python = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert [extra for extra in FRAMEWORKS if f"`{extra}`" not in python] == []


def test_developers_run_what_users_run() -> None:
    dev = pins("dev.txt")
    assert {package: versions for package, versions in pins("run.txt").items() if dev.get(package) != versions} == {}


def test_the_import_contract_sees_what_it_forbids(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "memoriter"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (copy / "errors.py").open("a", encoding="utf-8") as errors:
        errors.write("\nimport memoriter.types\n")
    with (copy / "ids.py").open("a", encoding="utf-8") as ids:
        ids.write("\ndef late() -> None:\n    import apsw, onnxruntime, pydantic, rich, subprocess, lancedb\n")
    with (copy / "sync" / "_changes.py").open("a", encoding="utf-8") as changes:
        changes.write("\ndef late() -> None:\n    from memoriter.index import Index\n")
    (copy / "integrations" / "framework.py").write_text("from memoriter.index import Index\n", encoding="utf-8")
    (copy / "unplaced").mkdir()
    (copy / "unplaced" / "__init__.py").touch()

    linter = shutil.which("lint-imports", path=Path(sys.executable).parent)
    assert linter, "import-linter is not installed beside this Python"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(
        [linter, "--no-logo", "--no-cache"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=150,
    )

    assert done.returncode == 1, done.stdout + done.stderr
    assert "memoriter.errors -> memoriter.types" in done.stdout
    assert "memoriter.sync._changes -> memoriter.index" in done.stdout
    assert "memoriter.integrations.framework -> memoriter.index" in done.stdout
    assert "- memoriter.unplaced" in done.stdout
    for package in ("apsw", "onnxruntime", "pydantic", "rich", "subprocess", "lancedb"):
        assert f"memoriter.ids -> {package}" in done.stdout


if __name__ == "__main__":
    (ROOT / "tests" / "api.txt").write_text(public_names(), encoding="utf-8")
