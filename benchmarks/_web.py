"""The web pages of `memoriter serve`, by words only: the first page, hits after a key, and many searches at once."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from benchmarks._command import PROGRAM, Failed, environment
from benchmarks._report import Row
from benchmarks._workspace import WORDS_ONLY

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

PAGE_SECONDS = 1.0
KEY_MS = 100.0
LARGEST_WITH_BUDGET = 10_000
"""Chunks. Above this size, the pages have no budget."""
PAGE_AGAINST_LIBRARY = 5.0
"""A search by the page is one by the library with HTTP, for more hits, which are rendered. Measured 4.2."""
GROWTH = 1.2
"""Memory of the server after the load in multiples of that after the first tenth."""
CLIENTS = 200
TOKENS = 40
"""Clients at once, and their tokens: each token may send 100 requests per second."""
LOADED = 10_000
SHORT_SECONDS = 10.0
"""Chunks of the workspace that is searched for the whole time, and seconds for others."""
PAGE_HITS = 5
"""Searches in a browser that are measured."""
CHROMIUM = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")


def web(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of the pages in a browser, if there is one, of a search by the page, and of the load."""
    size = workspace.size
    with _server(workspace) as server:
        page, library = _page_against_library(workspace, server, effort)
        yield Row("web.search", "search by the web page, without a browser", size, page * 1000, "ms")
        ratio = page / library
        title = "- time / time of the same search by the library"
        yield Row("web.ratio", title, size, ratio, "x", budget=PAGE_AGAINST_LIBRARY, ratio=True)
        chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
        if chromium:
            yield from _in_browser(workspace, server, chromium)
        seconds = effort.load_seconds if size == LOADED else min(effort.load_seconds, SHORT_SECONDS)
        yield from _load(workspace, server, seconds)


@dataclass(frozen=True, slots=True)
class _Server:
    """A server that runs."""

    url: str
    link: str
    pid: int
    token: str

    @property
    def resident(self) -> int:
        """Return the bytes of memory that the server holds."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", text)[0]) * 1024


@contextmanager
def _server(workspace: BenchWorkspace) -> Generator[_Server]:
    settings = ["--config", str(workspace.config(WORDS_ONLY))]
    command = [*PROGRAM, *settings, "--workspace", str(workspace.notes), "--json", "serve", "--port", "0", "--no-watch"]
    with subprocess.Popen(command, env=environment(workspace.home), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            line = process.stdout.readline()
            if not line:
                raise Failed(f"{' '.join(command)} did not start")
            found = json.loads(line)
            token = (workspace.home / "token").read_text(encoding="ascii").strip()
            yield _Server(found["url"], found["open"], process.pid, token)
        finally:
            process.terminate()
            process.communicate()


class _Client:
    """One connection, which stays open."""

    def __init__(self, server: _Server, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Memoriter-Fragment": "results"}

    def search(self, question: str) -> int:
        """Return the status of a search by the page."""
        self._connection.request("GET", f"/search?{urlencode({'q': question})}", headers=self._headers)
        response = self._connection.getresponse()
        response.read()
        return response.status

    def close(self) -> None:
        self._connection.close()


def _page_against_library(workspace: BenchWorkspace, server: _Server, effort: Effort) -> tuple[float, float]:
    """Return the median seconds of a search by the page and by the library, which take turns."""
    pages = list[float]()
    library = list[float]()
    client = _Client(server, server.token)
    with workspace.memory(workspace.config(WORDS_ONLY)) as memory:
        for number, question in enumerate(workspace.corpus.questions[: effort.questions]):
            start = time.perf_counter()
            status = client.search(question)
            between = time.perf_counter()
            memory.search(question, operators=True)
            if status != http.client.OK:
                raise Failed(f"The page answered {status}.")
            if number >= 2:
                pages.append(between - start)
                library.append(time.perf_counter() - between)
    client.close()
    return median(pages), median(library)


def _in_browser(workspace: BenchWorkspace, server: _Server, chromium: str) -> Iterator[Row]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto(server.link)
        tab.wait_for_url(lambda url: "/open?" not in url)
        loads = list[float]()
        keys = list[float]()
        for question in workspace.corpus.questions[:PAGE_HITS]:
            tab.goto(f"{server.url}/search")
            loads.append(float(tab.evaluate(_INTERACTIVE)))
            tab.fill("#question", question[:-1])
            tab.wait_for_timeout(1000)
            tab.focus("#question")
            tab.evaluate(_OBSERVE)
            tab.keyboard.type(question[-1])
            keys.append(float(tab.evaluate("window.measured")))
        browser.close()
    small = workspace.size <= LARGEST_WITH_BUDGET
    budget = PAGE_SECONDS if small else None
    title = "first page in Chromium, until it is interactive"
    yield Row("web.first", title, workspace.size, median(loads) / 1000, "s", budget=budget)
    budget = KEY_MS if small else None
    yield Row("web.key", "hits in Chromium after the last key", workspace.size, median(keys), "ms", budget=budget)


_INTERACTIVE = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
"""Milliseconds until the page was parsed and its scripts had run."""
_OBSERVE = """() => {
  window.measured = new Promise((resolve) => {
    let pressed = 0;
    document.addEventListener("keydown", () => { pressed = performance.now(); }, { once: true, capture: true });
    document.getElementById("results").addEventListener(
      "fragment", () => requestAnimationFrame(() => resolve(performance.now() - pressed)), { once: true });
  });
}"""
"""JavaScript that measures the milliseconds from the next key until its hits are about to be painted."""


@dataclass
class _Measured:
    """What the clients measured."""

    seconds: list[float] = field(default_factory=list)
    errors: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def _load(workspace: BenchWorkspace, server: _Server, seconds: float) -> Iterator[Row]:
    """Yield the rows of many searches at once, for a limited time."""
    from memoriter.discovery import TokenFile

    tokens = TokenFile(workspace.home)
    keys = [tokens.create(f"load-{number}", "read", now=0.0) for number in range(TOKENS)]
    measured = _Measured()
    numbers = count()
    end = time.monotonic() + seconds
    questions = workspace.corpus.questions

    def run(key: str) -> None:
        client = _Client(server, key)
        own = list[float]()
        errors = 0
        while time.monotonic() < end:
            start = time.perf_counter()
            try:
                errors += client.search(questions[next(numbers) % len(questions)]) != http.client.OK
            except (OSError, http.client.HTTPException):
                errors += 1
                client.close()
            own.append(time.perf_counter() - start)
        client.close()
        with measured.lock:
            measured.seconds += own
            measured.errors += errors

    threads = [threading.Thread(target=run, args=(keys[number % TOKENS],)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 10)
    early = server.resident
    time.sleep(max(0.0, end - time.monotonic() - seconds / 20))
    late = server.resident
    for thread in threads:
        thread.join()
    yield from _load_rows(workspace.size, measured, seconds, early, late)


def _load_rows(size: int, measured: _Measured, seconds: float, early: int, late: int) -> Iterator[Row]:
    times = sorted(measured.seconds)
    p50 = times[len(times) // 2] * 1000
    p99 = times[len(times) * 99 // 100] * 1000
    title = f"{CLIENTS} searches by the web page at once, for {seconds:.0f} s"
    yield Row("web.load", title, size, p50, "ms")
    yield Row("web.load_p99", "- slowest of a hundred", size, p99, "ms")
    yield Row("web.load_rate", "- searches per second", size, len(times) / seconds, "1/s")
    yield Row("web.load_errors", "- errors", size, measured.errors, "", budget=0)
    yield Row("web.memory", "- memory of the server", size, late / 1e6, "MB")
    title = "- memory / memory after a tenth of the time"
    yield Row("web.growth", title, size, late / early, "x", budget=GROWTH, ratio=True)
