"""The files in deploy/: linters accept them, and what they start runs here as they say, without Docker or systemd."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import json5
import pytest
import yaml

import memoriter
from memory_env import MemoryEnv
from serving import LIMIT, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

DEPLOY = Path(memoriter.__file__).parents[2] / "deploy"
UNIT, DOCKERFILE, COMPOSE = (DEPLOY / name for name in ("memoriter.service", "Dockerfile", "compose.yaml"))
SETTINGS = DEPLOY / "memoriter.json5"
NGINX = DEPLOY / "nginx.conf"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the files are for Linux")


@pytest.fixture
def env(tmp_path: Path) -> MemoryEnv:
    env = MemoryEnv.at(tmp_path)
    env.configure(provider="none")
    return env


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


def instructions(name: str) -> list[str]:
    """What follows each instruction of that name in the Dockerfile, with its continued lines."""
    text = DOCKERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(rf"^{name} (.*)$", text, re.MULTILINE)


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


def adapted(words: Sequence[str], notes: Path) -> list[str]:
    """The words of a server, with these notes and any free port."""
    found = list(words)
    found[found.index("-w") + 1] = str(notes)
    if "--port" in found:
        del found[found.index("--port") : found.index("--port") + 2]
    return [*found, "--port", "0", "--no-watch"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit_and_finds_it_closed(tmp_path: Path) -> None:
    checked = tmp_path / UNIT.name
    text = re.sub("^ExecStart=.*$", "ExecStart=/bin/true", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    checked.write_text(text, encoding="utf-8")
    verified = subprocess.run(["systemd-analyze", "verify", checked], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    words = ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", checked]
    rated = subprocess.run(words, capture_output=True, text=True, check=False)
    assert rated.returncode == 0, rated.stdout[-300:]  # an exposure of 2.0 of 10 at most


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no such sockets")
def test_what_the_unit_starts_reports_that_it_is_ready_and_ends_in_the_time_that_it_is_given(
    env: MemoryEnv, tmp_path: Path
) -> None:
    service = unit()["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert (program, service["Type"]) == ("/opt/memoriter/bin/memoriter", "notify")
    assert int(service["TimeoutStopSec"]) >= float(words[words.index("--drain") + 1]) + 5
    assert service["ReadWritePaths"] == words[words.index("-w") + 1]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as messages:
        messages.bind(str(tmp_path / "notify"))
        messages.settimeout(LIMIT)
        env.environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": f"{service['WatchdogSec']}000000"}
        command = env.command(*adapted(words, env.notes))
        with subprocess.Popen(command, env=env.environment(), stdout=subprocess.PIPE, text=True) as process:
            assert messages.recv(64) == b"READY=1"
            process.terminate()
            assert process.wait(LIMIT) == 0


def test_the_image_runs_as_an_own_user_and_names_no_server_of_packages() -> None:
    assert instructions("USER") == ["10001:10001"]
    text = DOCKERFILE.read_text(encoding="utf-8")
    assert re.findall(r"https?://(?!127\.0\.0\.1)\S+|--(?:extra-)?index-url|--trusted-host", text) == []
    assert "--require-hashes -r /opt/memoriter/serve.txt" in text


def test_the_image_is_made_of_the_wheel_and_the_pinned_packages_and_sees_nothing_else() -> None:
    assert instructions("COPY") == ["requirements/serve.txt dist/memoriter-*.whl /opt/memoriter/"]
    sent = (DEPLOY.parent / ".dockerignore").read_text(encoding="utf-8").split()
    assert sent == ["*", "!dist/*.whl", "!requirements/serve.txt"]


HADOLINT = shutil.which("hadolint", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.mark.slow
@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_hadolint_finds_nothing_wrong_with_the_dockerfile() -> None:
    assert HADOLINT is not None
    checked = subprocess.run([HADOLINT, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.slow
def test_what_the_image_starts_answers_its_health_check(env: MemoryEnv) -> None:
    words = json.loads(instructions("CMD")[-1])
    check = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    started = adapted([word for word in words if word != "serve"], env.notes)
    with serving(env, *started) as server:
        check[0] = sys.executable
        port = urlsplit(server.url).port
        alive = [word.replace(":8377/", f":{port}/") for word in check]
        assert subprocess.run(alive, capture_output=True, check=False).returncode == 0
        server.end()
        assert subprocess.run(alive, capture_output=True, check=False).returncode != 0


def test_the_services_use_only_what_the_compose_file_declares_and_show_no_password() -> None:
    document = compose()
    for name, service in document["services"].items():
        assert set(service["secrets"]) <= document["secrets"].keys()
        assert set(service.get("depends_on", {})) <= document["services"].keys() - {name}
        assert {"test", "interval", "timeout", "retries"} <= service["healthcheck"].keys()
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in document["volumes"] or (DEPLOY / source).is_file()
        assert [key for key in service.get("environment", {}) if "PASSWORD" in key and not key.endswith("_FILE")] == []
    own = document["services"]["memoriter"]
    assert own["ports"] == ["127.0.0.1:8377:8377"]  # only a proxy on this machine reaches it
    assert own["read_only"] is True
    assert {part.partition(":")[0] for part in own["volumes"]} - {"./memoriter.json5"} == {"home", "notes"}
    assert int(own["stop_grace_period"][:-1]) >= 20 + 5
    assert (DEPLOY / own["build"]["context"] / own["build"]["dockerfile"]).is_file()
    database = document["services"]["database"]["environment"]
    assert database["POSTGRES_PASSWORD_FILE"] == "/run/secrets/database_password"


@pytest.mark.slow
def test_the_container_takes_the_password_from_its_secret_and_starts_the_server(env: MemoryEnv, tmp_path: Path) -> None:
    own = compose()["services"]["memoriter"]
    secret = tmp_path / "database_password"
    secret.write_text("the-word-of-the-database", encoding="ascii")
    program = tmp_path / "bin" / "memoriter"
    program.parent.mkdir()
    inner = shlex.join(env.command())
    program.write_text(f'#!/bin/sh\nexec {inner} "$@"\n', encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    place = re.compile(r"\$\{MEMORITER_NAME:\?[^}]*\}")
    words = [place.sub("memory.example.org", word) for word in own["command"]]
    words[words.index("--config=/etc/memoriter/memoriter.json5")] = f"--config={env.config}"
    entry = [word.replace("$$", "$").replace("/run/secrets", str(tmp_path)) for word in own["entrypoint"]]
    environment = env.environment()
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    command = [*entry, *adapted(words, env.notes)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            url = process.stdout.readline().split()[1].removesuffix("/mcp")
            check = f"{url}/readyz"
            assert check.removeprefix(url) in own["healthcheck"]["test"][-1]
            with urlopen(check, timeout=LIMIT) as answer:
                assert json.load(answer) == {"ready": True}
            if sys.platform == "linux":
                process_files = Path(f"/proc/{process.pid}")  # `exec` leaves no shell in between
                assert (
                    b"MEMORITER_DATABASE_PASSWORD=the-word-of-the-database" in (process_files / "environ").read_bytes()
                )
                assert b"the-word-of-the-database" not in (process_files / "cmdline").read_bytes()
        finally:
            process.terminate()
            _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0
    assert "the-word-of-the-database" not in err


def test_the_settings_of_the_compose_file_are_valid_and_hold_no_password(tmp_path: Path) -> None:
    from memoriter.config import MemorySearch

    store = json5.loads(SETTINGS.read_text(encoding="utf-8"))["agents"]["defaults"]["memorySearch"]["store"]
    assert store["postgres"]["password"] == "${MEMORITER_DATABASE_PASSWORD}"
    assert "password" not in urlsplit(store["postgres"]["dsn"]).netloc
    if not hasattr(MemorySearch().store, "driver") or not hasattr(MemorySearch().store, "postgres"):
        pytest.skip("this version has no store on PostgreSQL")
    env = MemoryEnv.at(tmp_path)
    env.environ["MEMORITER_DATABASE_PASSWORD"] = "the-word-of-the-database"
    shown = env.run("--config", str(SETTINGS), "config", "show")
    assert shown.exit_code == 0, shown
    assert "the-word-of-the-database" not in shown.out + shown.err


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="nginx or openssl is not installed")
def test_the_proxy_encrypts_passes_the_address_of_a_client_on_and_keeps_the_metrics_on_this_machine(
    env: MemoryEnv, tmp_path: Path
) -> None:
    import httpx2

    key = tmp_path / "key.pem"
    certificate = tmp_path / "fullchain.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=memory.example.org"]
    subprocess.run(words, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = [
        "--no-watch",
        "--log-format",
        "json",
        "--trusted-proxy",
        "127.0.0.1",
        "--allow-host",
        "memory.example.org",
    ]
    with serving(env, *options) as server:
        text = NGINX.read_text(encoding="utf-8").replace("http://127.0.0.1:8377", server.url)
        text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;").replace(
            "    listen [::]:443 ssl;\n", ""
        )
        text = text.replace("/etc/ssl/memory.example.org", str(tmp_path))
        conf = tmp_path / "nginx.conf"
        paths = "".join(
            f"{name}_temp_path {tmp_path / name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        head = f"daemon off; master_process off; pid {tmp_path / 'nginx.pid'}; error_log stderr;\nevents {{}}\n"
        conf.write_text(f"{head}http {{\naccess_log off;\n{paths}{text}\n}}\n", encoding="utf-8")
        with subprocess.Popen(["nginx", "-c", str(conf)], stderr=subprocess.PIPE) as proxy:
            try:
                headers = {"Host": "memory.example.org", "Authorization": f"Bearer {server.token}"}
                with httpx2.Client(base_url=f"https://127.0.0.1:{port}", headers=headers, verify=False) as client:
                    first = answer_of(client, "/api/v1/files", {"X-Forwarded-For": "203.0.113.9"})
                    assert first.status_code == 200
                    with client.stream("GET", "/api/v1/events", timeout=LIMIT) as events:
                        assert next(events.iter_lines()) == "event: ready"
                    assert client.get("/healthz").json() == {"status": "ok"}
                    assert client.get("/files", headers={"Host": "other.example.org"}).status_code == 421
                    del client.headers["Authorization"]
                    assert client.get("/api/v1/files").status_code == 401
                    assert client.get("/open").status_code == 401  # no session for what a proxy passes on
            finally:
                proxy.terminate()
                proxy.communicate(timeout=LIMIT)
        server.process.terminate()
        _, err = server.process.communicate(timeout=LIMIT)
    requests = [line for line in map(json.loads, err.splitlines()) if "operation" in line]
    assert {line["address"] for line in requests} == {"127.0.0.1"}  # and not what the client said


def answer_of(client: Any, path: str, headers: dict[str, str]) -> Any:
    """The answer of a proxy, which may just have been started."""
    import httpx2

    for _ in range(600):
        try:
            return client.get(path, headers=headers, timeout=LIMIT)
        except httpx2.ConnectError:
            threading.Event().wait(0.05)
    raise AssertionError("the proxy does not answer")
