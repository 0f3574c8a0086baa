"""Other programs are run, limited, understood and measured; one that is missing or fails is named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from benchmarks.peers import PEERS, PeerRun, serve_embeddings
from benchmarks.peers.__main__ import main
from benchmarks.peers._peer import PeerPlace, parse_json
from benchmarks.peers._process import LineSession, PeerFailed, run_program
from benchmarks.peers._programs import interpreter_of
from click.testing import CliRunner

from memoriter import Memory

ROOT = Path(__file__).parents[1]
NOTE = "# House\n\n- Oye repairs the tiles of the roof.\n"


def test_the_command_names_every_form():
    # They are written out there, so that help needs no import of the evaluation.
    from memoriter.extensions.evals import commands
    from memoriter.extensions.evals.api import FORMATS

    assert commands.FORMATS == FORMATS


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def place_in(folder: Path, model: Path | None = None) -> PeerPlace:
    notes = folder / "notes"
    state = folder / "state"
    notes.mkdir()
    state.mkdir()
    (notes / "House notes.md").write_text(NOTE, "utf-8")
    return PeerPlace(notes, state, "http://127.0.0.1:9/v1", model, dict(os.environ))


def test_a_program_is_run_with_its_output_and_time(tmp_path):
    done = run_program(program("print(len(b'x' * 1_000))"), environ=os.environ, folder=tmp_path, timeout=150)
    assert done.output.strip() == "1000"
    assert done.seconds > 0


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the system does not report the memory of processes")
@pytest.mark.parametrize(("megabytes", "is_known"), [(300, True), (1, False)])
def test_the_memory_of_a_program_is_known_if_it_is_more_than_that_of_the_process_that_starts_it(
    tmp_path, megabytes, is_known
):
    code = f"""
import os, pathlib, sys
from benchmarks.peers._process import run_program

ballast = b"x" * 100_000_000
command = [sys.executable, "-c", "print(len(b'x' * {megabytes}_000_000))"]
print(run_program(command, environ=os.environ, folder=pathlib.Path("."), timeout=150).peak_mb)
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src")))}
    printed = run_program(program(code), environ=environ, folder=tmp_path, timeout=120).output.strip()
    assert (printed != "None") == is_known
    assert printed == "None" or 290 < float(printed) < 400


@pytest.mark.parametrize(
    ("command", "timeout", "message"),
    [
        (program("import sys; sys.exit('no disk')"), 60, "failed with code 1: no disk"),
        (program("import time; time.sleep(60)"), 0.2, "did not end in 0.2 s"),
        (["no-such-program-here"], 60, "cannot start"),
    ],
)
def test_a_program_that_fails_is_quoted(tmp_path, command, timeout, message):
    with pytest.raises(PeerFailed, match=message):
        run_program(command, environ=os.environ, folder=tmp_path, timeout=timeout)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals between processes")
def test_an_interrupted_measurement_ends_the_program(tmp_path):
    command = ["sh", "-c", "echo $$ > id; kill -INT $PPID; exec sleep 60"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start its background jobs without
    try:
        for _ in range(20):  # the interrupt arrives sometimes while the program is being started
            with pytest.raises(KeyboardInterrupt):
                run_program(command, environ=os.environ, folder=tmp_path, timeout=150)
            with pytest.raises(ProcessLookupError):
                os.kill(int((tmp_path / "id").read_text()), 0)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_session_answers_line_by_line_until_it_ends(tmp_path):
    code = "import json\nprint('started')\nprint(json.dumps({'got': json.loads(input())}), flush=True)"
    with LineSession(program(code), os.environ, tmp_path, 30) as session:
        session.send({"question": "한?"})
        assert session.receive() == {"got": {"question": "한?"}}
        with pytest.raises(PeerFailed, match="ended without an answer"):
            session.receive()


def test_a_session_that_says_nothing_is_given_up(tmp_path):
    with (
        LineSession(program("import time; time.sleep(60)"), os.environ, tmp_path, 0.1) as session,
        pytest.raises(PeerFailed, match=r"gave no answer in 0\.1 s"),
    ):
        session.receive()


def test_an_endpoint_serves_the_vectors_of_the_provider(tmp_path):
    def ask(value: object):
        request = Request(f"{endpoint.url}/embeddings", json.dumps(value).encode(), {"Content-Type": "text/plain"})
        with urlopen(request, timeout=30) as response:
            return json.loads(response.read())["data"]

    with serve_embeddings("fake", tmp_path) as endpoint:
        one, two = ask({"model": "any", "input": ["roof", "tiles"]})
        assert len(one["embedding"]) == endpoint.dimensions
        assert one["embedding"] != two["embedding"]
        (again,) = ask({"model": "any", "input": "roof"})
        assert again["embedding"] == one["embedding"]
        (packed,) = ask({"input": "roof", "encoding_format": "base64"})
        assert isinstance(packed["embedding"], str)
        with pytest.raises(OSError, match="400"):
            ask({"input": 3})


def test_a_program_that_stops_waiting_for_vectors_leaves_no_trace_on_the_screen(tmp_path, capfd):
    with serve_embeddings("fake", tmp_path) as endpoint:
        address = urlsplit(endpoint.url)
        body = json.dumps({"input": ["roof"] * 20_000}).encode()
        for _ in range(3):
            with socket.create_connection((address.hostname, address.port), timeout=30) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # resets when it closes
                client.sendall(b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        request = Request(f"{endpoint.url}/embeddings", b'{"input": "roof"}')
        with urlopen(request, timeout=30) as response:
            assert response.status == 200
    assert capfd.readouterr().err == ""


def test_the_hits_of_qmd_are_places_in_the_notes(tmp_path):
    row = {"file": "qmd://notes/house-notes.md", "score": 1, "line": 3, "snippet": "@@ -2,2 @@ (1 before)\n\n- Oye"}
    (hit,) = PEERS["qmd"].hits(place_in(tmp_path), f"Tip: embed first\n{json.dumps([row])}\n")
    assert (hit.path, hit.start_line, hit.end_line) == ("House notes.md", 2, 3)


def test_the_hits_of_memsearch_and_openclaw_are_places_in_the_notes(tmp_path):
    place = place_in(tmp_path)
    file = str(place.notes / "House notes.md")
    row = {"source": file, "start_line": 1, "end_line": 3, "score": 0.5}
    (hit,) = PEERS["memsearch"].hits(place, json.dumps([row]))
    assert (hit.path, hit.start_line, hit.end_line) == ("House notes.md", 1, 3)
    row = {"path": "House notes.md", "startLine": 1, "endLine": 3, "score": 0.5}
    (hit,) = PEERS["openclaw"].hits(place, json.dumps({"results": [row]}))
    assert (hit.path, hit.start_line, hit.end_line) == ("House notes.md", 1, 3)


def test_the_hits_of_basic_memory_have_the_lines_of_the_passage_that_matched(tmp_path):
    place = place_in(tmp_path)
    row = {"title": "House notes", "type": "entity", "score": 1.07, "file_path": "House notes.md", "content": NOTE}
    for passage, lines in (("- Oye repairs the tiles of the roof.", (3, 3)), ("gone", (1, 3)), (None, (1, 3))):
        (hit,) = PEERS["basic-memory"].hits(place, json.dumps({"results": [{**row, "matched_chunk": passage}]}))
        assert (hit.path, hit.start_line, hit.end_line, hit.score) == ("House notes.md", *lines, 1.07)


def test_an_output_without_an_answer_is_a_failure():
    with pytest.raises(PeerFailed, match="no JSON"):
        parse_json("Nothing found.\n[not json\n")


def test_each_program_has_its_own_home_and_none_of_its_users_settings(tmp_path):
    place = place_in(tmp_path)
    redirected = PeerPlace(
        place.notes,
        place.state,
        place.endpoint,
        None,
        {
            "PATH": "/bin",
            "CI": "1",
            "QMD_CONFIG_DIR": "/x",
            "BASIC_MEMORY_CLOUD_MODE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    for peer in PEERS.values():
        variables = peer.configure(redirected)
        assert variables["HOME"] == str(place.state)
        assert not {"CI", "QMD_CONFIG_DIR", "BASIC_MEMORY_CLOUD_MODE", "PYTHONDONTWRITEBYTECODE"} & variables.keys()


def test_the_interpreter_of_a_script_is_found(tmp_path):
    script = tmp_path / "memsearch"
    script.write_text(f"#!{sys.executable}\nprint()\n", "utf-8")
    script.chmod(0o755)
    assert interpreter_of("memsearch", {"PATH": str(tmp_path)}) == sys.executable
    with pytest.raises(PeerFailed, match="no Python script"):
        interpreter_of("qmd", {"PATH": str(tmp_path)})


def notes_of(folder: Path) -> tuple[Path, Path]:
    """Write notes with questions and settings, and return their folder and the settings."""
    (folder / "notes" / "memory").mkdir(parents=True)
    (folder / "notes" / "memory" / "house.md").write_text(NOTE, "utf-8")
    (folder / "notes" / "eval.md").write_text("- Who repairs the tiles? → memory/house.md#L3\n", "utf-8")
    config = folder / "m.json5"
    config.write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', "utf-8")
    return folder / "notes", config


@pytest.mark.slow
def test_a_program_that_is_not_installed_is_named_with_its_line(tmp_path, monkeypatch):
    notes, config = notes_of(tmp_path)
    monkeypatch.setenv("MEMORITER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["--peer", "qmd", "-w", str(notes), "--config", str(config), "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    ours, qmd = json.loads(done.stdout)["programs"]
    assert ours["name"] == "memoriter"
    assert min(ours["index_seconds"], ours["cold_seconds"], ours["warm_seconds"], ours["disk_mb"]) > 0
    assert qmd["fault"] == "qmd is not installed. Install it with: npm install -g @tobilu/qmd (Node 22 or newer)."
    assert qmd["fault"] in done.stderr


BASIC_MEMORY = """
import json, os, pathlib, sys

home = pathlib.Path(os.environ["BASIC_MEMORY_HOME"])

def found(question):
    assert question == "Who repairs the tiles", question
    content = (home / "memory" / "house.md").read_text("utf-8").partition("---\\n\\n")[2]
    row = {"file_path": "memory/house.md", "score": 1.1, "content": content, "matched_chunk": content.strip()}
    return {"results": [{"title": "house", "type": "entity", **row}], "current_page": 1, "has_more": False}

match sys.argv[1:]:
    case ["reindex"]:
        for note in home.rglob("*.md"):
            note.write_text("---\\npermalink: x\\n---\\n\\n" + note.read_text("utf-8"), "utf-8")
    case ["tool", "search-notes", "--hybrid", "--json", "--page-size", "3", "--", question]:
        print(json.dumps(found(question), indent=2))
    case ["mcp"]:
        for line in sys.stdin:
            asked = json.loads(line)
            answer = {"isError": False, "structuredContent": None}
            if asked["method"] == "tools/call":
                answer["structuredContent"] = {"result": found(asked["params"]["arguments"]["query"])}
            if "id" in asked:
                print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
"""A program with the commands, the answers and the change to notes of basic-memory 0.24.1, for one note."""


@pytest.mark.slow
def test_basic_memory_is_asked_in_its_own_copy_of_the_notes(tmp_path):
    notes, config = notes_of(tmp_path)
    for folder in ("scratch", "bin"):
        (tmp_path / folder).mkdir()
    script = tmp_path / "bin" / "basic-memory"
    script.write_text(f"#!{sys.executable}\n{BASIC_MEMORY}", "utf-8")
    script.chmod(0o755)
    environ = {**os.environ, "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}
    run = PeerRun(("basic-memory",), "fake", tmp_path / "models", tmp_path / "scratch", environ, None, config)
    with Memory.open(notes, config=config, home=tmp_path / "home") as memory:
        _, result = run.measure(memory, ["Who repairs the tiles?"], 3)
    assert (result.figures.fault, result.figures.vectors) == ("", "same endpoint")
    assert [(hit.path, hit.start_line, hit.end_line) for hit in result.hits[0]] == [("memory/house.md", 1, 3)]
    assert result.figures.cold_seconds
    assert result.figures.warm_seconds
    assert (tmp_path / "scratch" / "notes" / "memory" / "house.md").read_text("utf-8") == NOTE
    assert (notes / "memory" / "house.md").read_text("utf-8") == NOTE


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PEERS))
def test_an_installed_program_finds_the_note(tmp_path, name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    notes, config = notes_of(tmp_path)
    (tmp_path / "scratch").mkdir()
    run = PeerRun((name,), "fake", tmp_path / "models", tmp_path / "scratch", dict(os.environ), None, config)
    with Memory.open(notes, config=config, home=tmp_path / "home") as memory:
        _, result = run.measure(memory, ["Who repairs the tiles?"], 3)
    assert result.figures.fault == ""
    assert [hit.path for hit in result.hits[0]] == ["memory/house.md"]
    assert result.figures.cold_seconds
