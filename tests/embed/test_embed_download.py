"""Models from the hub, downloaded over real connections that break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import memoriter
from hub_server import Hub, serving
from memoriter.embed.local import _download
from memoriter.embed.local._download import download_model
from memoriter.errors import ConfigError, ProviderUnavailable
from repacked import written
from servers.raw import dripped, for_ever, sent, server

if TYPE_CHECKING:
    from collections.abc import Iterator

URI = "hf:ada/notes-GGUF/notes-Q8_0.gguf"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A whole GGUF file of some 300 kB."""
    words = [f"word {number}" for number in range(20_000)]
    return written(tmp_path_factory.mktemp("content"), bert__embedding_length=8, words=words).read_bytes()


@pytest.fixture
def hub(content: bytes) -> Iterator[Hub]:
    with serving(Hub({"notes-Q8_0.gguf": content, "sub/notes-Q4_K_M.gguf": content})) as hub:
        yield hub


def fetched(hub: Hub, folder: Path, uri: str = URI, **more: Any) -> Path:
    return download_model(uri, model_cache_dir=folder, hub=hub.url, **{"sleep": lambda _: None, **more})


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*") if file.is_file() and file.suffix != ".lock")


def test_a_model_is_downloaded_once_and_then_needs_no_network(hub: Hub, tmp_path: Path, content: bytes) -> None:
    seen: list[tuple[int, int | None]] = []
    file = fetched(hub, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert file == tmp_path / "ada" / "notes-GGUF" / "notes-Q8_0.gguf"
    assert file.read_bytes() == content
    assert left_in(tmp_path) == ["notes-Q8_0.gguf"]
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (len(content), len(content))
    hub.requests.clear()
    assert fetched(hub, tmp_path, offline=True) == file
    assert hub.requests == []


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("hf:ada/notes-GGUF:Q4_K_M", "notes-Q4_K_M.gguf"),
        ("hf:ada/notes-GGUF:q8_0", "notes-Q8_0.gguf"),
        ("hf:ada/notes-GGUF", "notes-Q8_0.gguf"),
        ("huggingface:ada/notes-GGUF/sub/notes-Q4_K_M.gguf", "notes-Q4_K_M.gguf"),
    ],
)
def test_a_size_is_looked_up_once(hub: Hub, tmp_path: Path, uri: str, name: str) -> None:
    file = fetched(hub, tmp_path, uri)
    assert file.name == name
    assert fetched(hub, tmp_path, uri, offline=True) == file


def test_a_size_that_is_not_there_is_refused_with_those_that_are(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="No file of hf:ada/notes-GGUF:Q2_K") as refused:
        fetched(hub, tmp_path, "hf:ada/notes-GGUF:Q2_K")
    assert "notes-Q8_0.gguf" in refused.value.remedy


@pytest.mark.matrix
@pytest.mark.parametrize("linked", [True, False])
def test_a_broken_connection_is_taken_up_where_it_broke(
    hub: Hub, tmp_path: Path, content: bytes, *, linked: bool
) -> None:
    hub.breaks = [100_000, 50_000]
    hub.linked = linked
    assert fetched(hub, tmp_path).read_bytes() == content
    assert hub.requested_ranges() == [None, "bytes=100000-", "bytes=150000-"]


def test_a_download_that_was_given_up_goes_on_in_the_next_run(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.breaks = [100_000]
    hub.statuses = []

    def give_up(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetched(hub, tmp_path, sleep=give_up)
    assert left_in(tmp_path) == ["notes-Q8_0.gguf.part", "notes-Q8_0.gguf.part.json"]
    assert fetched(hub, tmp_path).read_bytes() == content
    assert hub.requested_ranges() == [None, "bytes=100000-"]


@pytest.mark.slow
def test_a_server_without_ranges_sends_it_all_again(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.ranges = False
    hub.breaks = [100_000, 120_000]
    assert fetched(hub, tmp_path).read_bytes() == content
    assert len(hub.requested_ranges()) == 3


@pytest.mark.parametrize("linked", [True, False])
def test_a_file_that_changed_in_between_is_begun_anew(
    hub: Hub, tmp_path: Path, content: bytes, *, linked: bool
) -> None:
    hub.breaks = [100_000]
    hub.linked = linked
    changed = content[:-8] + b"another!"

    def change(_: float) -> None:
        hub.etag = '"v2"'
        hub.files["notes-Q8_0.gguf"] = changed

    assert fetched(hub, tmp_path, sleep=change).read_bytes() == changed
    assert left_in(tmp_path) == ["notes-Q8_0.gguf"]


def test_a_server_that_does_not_notice_the_change_does_not_mix_two_versions(
    hub: Hub, tmp_path: Path, content: bytes
) -> None:
    hub.breaks = [100_000]
    changed = b"GGUF" + content[4:-8] + b"another!"

    def change(_: float) -> None:
        hub.files["notes-Q8_0.gguf"] = changed

    assert fetched(hub, tmp_path, sleep=change).read_bytes() == changed


@pytest.mark.slow
def test_a_part_that_was_damaged_on_the_disk_is_thrown_away(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.breaks = [100_000]
    part = tmp_path / "ada" / "notes-GGUF" / "notes-Q8_0.gguf.part"

    def damage(_: float) -> None:
        if part.exists():
            part.write_bytes(b"GGUF" + bytes(50_000))

    assert fetched(hub, tmp_path, sleep=damage).read_bytes() == content


@pytest.mark.slow
def test_a_part_longer_than_the_file_is_thrown_away(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.breaks = [100_000]
    part = tmp_path / "ada" / "notes-GGUF" / "notes-Q8_0.gguf.part"

    def lengthen(_: float) -> None:
        if part.exists():
            part.write_bytes(content * 2)

    assert fetched(hub, tmp_path, sleep=lengthen).read_bytes() == content


def test_a_wrong_hash_keeps_nothing(hub: Hub, tmp_path: Path) -> None:
    hub.hash_of = "0" * 64
    with pytest.raises(ProviderUnavailable, match=r"does not match the description on the hub: its SHA-256 is \w+…"):
        fetched(hub, tmp_path)
    assert left_in(tmp_path) == []


def test_a_web_page_in_place_of_the_model_is_noticed_at_its_first_bytes(hub: Hub, tmp_path: Path) -> None:
    hub.files["notes-Q8_0.gguf"] = b"<!doctype html><title>Sign in</title>" + b" " * 1_000_000
    with pytest.raises(ProviderUnavailable, match="web page"):
        fetched(hub, tmp_path)
    assert left_in(tmp_path) == []


def test_a_file_that_was_cut_short_at_its_source_keeps_nothing(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.files["notes-Q8_0.gguf"] = content[:-100]
    with pytest.raises(ProviderUnavailable, match="damaged"):
        fetched(hub, tmp_path)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(
    ("status", "message"), [(404, r"does not have hf:ada/notes-GGUF/notes"), (401, "not give"), (403, "not give")]
)
@pytest.mark.parametrize("uri", [URI, "hf:ada/notes-GGUF:Q8_0"])
def test_a_refusal_is_final(hub: Hub, tmp_path: Path, status: int, message: str, uri: str) -> None:
    hub.statuses = [status]
    with pytest.raises(ProviderUnavailable, match=message if uri == URI else str(status)) as refused:
        fetched(hub, tmp_path, uri)
    assert refused.value.remedy
    assert len(hub.requests) == 1


@pytest.mark.slow
def test_a_busy_hub_is_asked_again_and_not_for_ever(hub: Hub, tmp_path: Path, content: bytes) -> None:
    waits: list[float] = []
    hub.statuses = [429, 503]
    assert fetched(hub, tmp_path, sleep=waits.append).read_bytes() == content
    assert waits == [1.0, 2.0]
    hub.statuses = [500] * 20
    with pytest.raises(ProviderUnavailable, match="the hub answers 500"):
        fetched(hub, tmp_path / "again")
    assert len(hub.statuses) == 15


@pytest.mark.slow
def test_a_connection_that_brings_nothing_is_given_up(hub: Hub, tmp_path: Path) -> None:
    hub.breaks = [1_000] + [0] * 20
    with pytest.raises(ProviderUnavailable, match="cannot be downloaded") as refused:
        fetched(hub, tmp_path)
    assert "what has come is kept" in refused.value.remedy
    assert len(hub.requested_ranges()) == 6


@pytest.mark.slow
def test_an_answer_without_an_end_is_refused(hub: Hub, tmp_path: Path) -> None:
    hub.leads_to = "/ada/notes-GGUF/resolve/main/notes-Q8_0.gguf"
    with pytest.raises(ProviderUnavailable, match="in a circle"):
        fetched(hub, tmp_path)


def test_what_was_encrypted_does_not_go_on_in_the_open() -> None:
    assert _download._redirect_target("https://a/x", "https://b/y") == "https://b/y"
    assert _download._redirect_target("http://127.0.0.1/x", "/y") == "http://127.0.0.1/y"
    with pytest.raises(ProviderUnavailable, match="not encrypted"):
        _download._redirect_target("https://a/x", "http://a/x")


def test_a_hub_that_is_not_there_is_a_reason(tmp_path: Path) -> None:
    with serving(Hub({})) as gone:
        pass
    with pytest.raises(ProviderUnavailable, match="cannot be downloaded") as refused:
        fetched(gone, tmp_path)
    assert refused.value.remedy


@pytest.mark.slow
def test_a_server_that_falls_silent_is_asked_again(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.hold = threading.Event()
    assert fetched(hub, tmp_path, silence=0.1, sleep=lambda _: hub.hold and hub.hold.set()).read_bytes() == content
    assert len(hub.requested_ranges()) == 2


@pytest.mark.parametrize("uri", [URI, "hf:ada/notes-GGUF:Q8_0"])
def test_offline_nothing_is_asked(hub: Hub, tmp_path: Path, uri: str) -> None:
    with pytest.raises(ProviderUnavailable, match="offline is on") as refused:
        fetched(hub, tmp_path, uri, offline=True)
    assert "memorySearch.offline" in refused.value.remedy
    assert hub.requests == []


def test_the_token_goes_to_the_hub_alone(hub: Hub, tmp_path: Path) -> None:
    fetched(hub, tmp_path, "hf:ada/notes-GGUF:Q8_0", token="planted-token")
    shown = {path.split("/")[1]: headers.get("authorization") for path, headers in hub.requests}
    assert shown == {"api": "Bearer planted-token", "ada": "Bearer planted-token", "store": None}
    assert not any(b"planted-token" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_two_downloaders_at_once_download_once(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.hold = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(fetched, hub, tmp_path) for _ in range(2)]
        threading.Timer(0.2, hub.hold.set).start()
        files = [run.result() for run in runs]
    assert files[0] == files[1]
    assert files[0].read_bytes() == content
    assert len(hub.requested_ranges()) == 1


def test_who_waits_too_long_for_another_downloader_is_told(hub: Hub, tmp_path: Path) -> None:
    import filelock

    file = tmp_path / "ada" / "notes-GGUF" / "notes-Q8_0.gguf"
    file.parent.mkdir(parents=True)
    with (
        filelock.FileLock(f"{file}.lock"),
        ThreadPoolExecutor(1) as thread,
        pytest.raises(ProviderUnavailable, match="Another process has been downloading"),
    ):
        thread.submit(fetched, hub, tmp_path, patience=0.05).result()


def test_a_disk_without_room_is_said_before_anything_is_written(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    with pytest.raises(ProviderUnavailable, match="1 MB free") as refused:
        fetched(hub, tmp_path)
    assert "modelCacheDir" in refused.value.remedy
    assert left_in(tmp_path) == []


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # it would be cut short, and kept
from pathlib import Path
from memoriter.embed.local._download import download_model
from memoriter.errors import ProviderUnavailable
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
try:
    download_model(sys.argv[1], model_cache_dir=Path(sys.argv[2]), hub=sys.argv[3])
except ProviderUnavailable as error:
    print(error.message)
finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are POSIX")
def test_a_disk_that_fills_up_in_the_middle_keeps_what_came(hub: Hub, tmp_path: Path, content: bytes) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(memoriter.__file__).parents[1])}
    command = [sys.executable, "-c", LIMITED, URI, str(tmp_path), hub.url]
    shown = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    assert shown.stdout.startswith("There is no room for the model")
    assert fetched(hub, tmp_path).read_bytes() == content
    assert hub.requested_ranges()[1] is not None


def test_a_folder_that_cannot_be_written_is_a_reason(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "ada").touch()
    with pytest.raises(ProviderUnavailable, match="cannot be kept"):
        fetched(hub, tmp_path)


def test_a_model_that_openclaw_downloaded_is_used(hub: Hub, tmp_path: Path) -> None:
    theirs = tmp_path / "hf_ada_notes-Q8_0.gguf"
    theirs.touch()
    assert fetched(hub, tmp_path) == theirs
    assert hub.requests == []


def test_a_branch_has_a_place_of_its_own(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="does not have"):
        fetched(hub, tmp_path, f"{URI}#refs/pr/1")
    assert hub.requests[0][0] == "/ada/notes-GGUF/resolve/refs/pr/1/notes-Q8_0.gguf"


def test_an_address_that_is_none_is_refused_before_anything_is_asked(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        fetched(hub, tmp_path, "hf:ada")
    assert hub.requests == []


OK = b"HTTP/1.1 200 OK\r\n"
STALLS = {
    "silent": sent(),
    "drips headers": sent(OK, then=dripped(b"x: y\r\n")),
    "drips the content": sent(OK + b"content-length: 9999\r\n\r\nGGUF", then=dripped(b"x")),
    "drips chunks": sent(OK + b"transfer-encoding: chunked\r\n\r\n4\r\nGGUF\r\n", then=dripped(b"1\r\nx\r\n")),
}


@pytest.mark.matrix
@pytest.mark.parametrize("act", STALLS.values(), ids=STALLS)
def test_a_server_that_hardly_sends_anything_has_stalled(act: Any) -> None:
    started = time.monotonic()
    with server(act) as url, pytest.raises(_download.Interrupted), _download.open_stream(url, {}, seconds=0.3) as reply:
        for _ in reply.pieces:
            pass
    assert time.monotonic() - started < 2.5


@pytest.mark.slow
def test_a_slow_download_that_goes_on_is_not_ended() -> None:
    def steadily(connection: Any) -> None:
        connection.sendall(OK + b"content-length: 6000\r\n\r\n")
        for _ in range(6):
            connection.sendall(b"x" * 1_000)
            time.sleep(0.2)

    with server(steadily) as url, _download.open_stream(url, {}, seconds=0.9) as reply:
        assert sum(map(len, reply.pieces)) == 6_000


@pytest.mark.slow
def test_the_time_that_the_disk_takes_is_not_counted_as_a_stall() -> None:
    content = OK + b"content-length: 300000\r\n\r\n" + b"x" * 300_000
    with server(sent(content)) as url, _download.open_stream(url, {}, seconds=0.5) as reply:
        received = 0
        for piece in reply.pieces:
            if not received:
                time.sleep(0.6)
            received += len(piece)
    assert received == 300_000


def test_a_download_has_no_more_bytes_than_announced_or_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=(64 << 20) + 100_000))
    endless = sent(OK + b"connection: close\r\n\r\nGGUF", then=for_ever(b"x" * 10_000))
    with server(endless) as url, pytest.raises(ProviderUnavailable, match="more than the 100,000 bytes"):
        download_model(URI, model_cache_dir=tmp_path, hub=url, sleep=lambda _: None)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("location", ["http://[half", "ftp://x/", "http://a:b/"])
def test_a_download_that_leads_to_no_address_is_a_reason(hub: Hub, tmp_path: Path, location: str) -> None:
    hub.leads_to = location
    with pytest.raises(ProviderUnavailable, match="an invalid address"):
        fetched(hub, tmp_path)
