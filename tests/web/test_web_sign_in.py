"""Signing in with a token, on another device too; what a session may do, and how it ends."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest

from memoriter.discovery import TokenFile
from serving import LIMIT, serving

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from memory_env import MemoryEnv
    from serving import Serving

NAME = "memory.example"
"""The name by which other devices reach the server of these tests, behind a proxy that encrypts."""
pytestmark = pytest.mark.slow


class Device:
    """A browser on another device, without its scripts."""

    def __init__(self, server: Serving) -> None:
        headers = {"accept": "text/html", "x-forwarded-for": "10.1.2.3", "x-forwarded-proto": "https", "host": NAME}
        self.http = httpx2.Client(base_url=server.url, headers=headers, timeout=LIMIT)

    def open(self, path: str) -> httpx2.Response:
        """Open an address; the cookie goes by hand, because a client sends a secure one over HTTPS only."""
        return self.http.get(path, headers=self._cookie())

    def send(self, path: str, site: str = "same-origin", **fields: str) -> httpx2.Response:
        """Send a form."""
        form = "application/x-www-form-urlencoded"  # as a browser says also of a form without fields
        headers = {"origin": f"https://{NAME}", "sec-fetch-site": site, "content-type": form, **self._cookie()}
        response = self.http.post(path, data=fields, headers=headers)
        self.cookie = response.headers.get("set-cookie", getattr(self, "cookie", ""))
        return response

    def _cookie(self) -> dict[str, str]:
        cookie = getattr(self, "cookie", "").partition(";")[0]
        return {"cookie": cookie} if cookie else {}


@contextmanager
def devices(server: Serving, number: int) -> Generator[list[Device]]:
    with ExitStack() as stack:
        made = [Device(server) for _ in range(number)]
        for each in made:
            stack.callback(each.http.close)
        yield made


@pytest.fixture(scope="module")
def server(env: MemoryEnv) -> Iterator[Serving]:
    with serving(env, "--no-watch", "--allow-host", NAME, "--trusted-proxy", "127.0.0.1") as server:
        yield server


def test_a_person_signs_in_with_a_token_and_has_its_rights_until_it_is_revoked(env: MemoryEnv, server: Serving) -> None:
    file = TokenFile(env.home)
    token = file.create("anna", "read", now=0.0)
    with devices(server, 1) as (phone,):
        refused = phone.open("/search")
        assert refused.status_code == 401
        assert 'href="/sign-in"' in refused.text
        wrong = phone.send("/sign-in", token="mem_wrong")
        assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
        assert "No token is like this" in wrong.text

        done = phone.send("/sign-in", token=f" {token} ")
        assert (done.status_code, done.headers["location"]) == (303, "/")
        assert re.search(r"HttpOnly.*SameSite=strict.*Secure", phone.cookie)
        assert token not in phone.cookie
        assert phone.open("/search").status_code == 200
        assert "signed in as anna" in phone.open("/session").text
        adding = phone.send("/notes/append", text="Tea.", to="daily")
        assert adding.status_code == 403
        assert "scope &#39;write&#39;" in adding.text

        file.revoke("anna")
        assert phone.open("/search").status_code == 401


def test_what_a_person_writes_in_a_session_has_the_name_of_the_token(env: MemoryEnv, server: Serving) -> None:
    token = TokenFile(env.home).create("ben", "write", now=0.0)
    with devices(server, 1) as (phone,):
        phone.send("/sign-in", token=token)
        assert phone.send("/notes/append", text="The kiln is at 980 degrees.", to="daily").status_code == 303
    notes = [note.read_text(encoding="utf-8") for note in env.notes.glob("memory/*.md")]
    (note,) = [text for text in notes if "kiln" in text]
    assert "<!-- from: ben via HTTP" in note


def test_another_device_signs_in_once_with_the_link_of_a_session_and_each_signs_out_alone(server: Serving) -> None:
    with devices(server, 3) as (laptop, phone, late):
        laptop.send("/sign-in", token=server.token)
        page = laptop.send("/session")
        assert "<svg" in page.text
        (link,) = re.findall(rf'href="https://{NAME}(/open\?code=[\w-]+)"', page.text)
        opened = phone.open(link)
        phone.cookie = opened.headers["set-cookie"]
        assert phone.open("/notes").status_code == 200
        assert late.open(link).status_code == 401

        out = laptop.send("/sign-out")
        assert "Signed out" in out.text
        assert [each.open("/notes").status_code for each in (laptop, phone)] == [401, 200]


def test_a_link_of_the_owner_for_this_machine_opens_no_session_on_another(server: Serving) -> None:
    with devices(server, 1) as (phone,):
        assert phone.open(server.link.removeprefix(server.url)).status_code == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_cannot_sign_a_browser_in(server: Serving, site: str) -> None:
    with devices(server, 1) as (phone,):
        refused = phone.send("/sign-in", site=site, token=server.token)
        assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)


def test_a_form_longer_than_any_token_is_refused(server: Serving) -> None:
    with devices(server, 1) as (phone,):
        assert phone.send("/sign-in", token="x" * 5_000).status_code == 413


def test_a_token_ends_on_its_day_and_the_list_says_when_each_was_used(env: MemoryEnv) -> None:
    for wrong in ("yesterday", "2020-01-01", "-3d", "99999999d"):
        done = env.run("token", "create", "x", "--expires", wrong)
        assert (wrong, done.exit_code) == (wrong, 2)
        assert "Error: " in done.err
    made = env.run("token", "create", "cara", "--expires", "30d", "--json").json
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", made["expiresAt"])
    listed = {each["name"]: each for each in env.run("token", "list", "--json").json}
    assert listed["cara"]["expiresAt"] == made["expiresAt"]
    assert "lastUsedAt" not in listed["cara"]
    assert re.search(r"cara .* never used  expires \d{4}", env.run("token", "list").out)


def test_strangers_who_try_token_after_token_must_wait(env: MemoryEnv) -> None:
    with serving(env, "--no-watch", "--allow-host", NAME, "--trusted-proxy", "127.0.0.1") as server:
        with devices(server, 1) as (phone,):
            tried = [phone.send("/sign-in", token=f"mem_{at}").status_code for at in range(160)]
        assert tried[:80] == [401] * 80
        assert 429 in tried
