"""What an installed package adds to the HTTP API and to the pages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from plugin_wheel import install_plugin

if TYPE_CHECKING:
    from memory_env import MemoryEnv
    from web_client import ApiClient

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def env(env: MemoryEnv, tmp_path_factory: pytest.TempPathFactory) -> MemoryEnv:
    site = install_plugin(tmp_path_factory.mktemp("plugin"))
    env.environ["PYTHONPATH"] = os.pathsep.join([env.environment()["PYTHONPATH"], str(site)])
    return env


def test_a_package_adds_an_operation_and_cannot_take_the_place_of_another(owner: ApiClient) -> None:
    assert owner.get("/diary").json() == {"text": "Monday: rain.", "caller": "owner"}
    assert owner.get("/status").json()["files"] == 0
    document = owner.get("/openapi.json").json()
    assert document["paths"]["/diary"]["get"]["operationId"] == "diary"
    assert document["components"]["schemas"]["Diary"]["required"] == ["text", "caller"]


def test_a_package_adds_to_the_answer_about_a_day(owner: ApiClient) -> None:
    assert owner.get("/day").json()["diary"] == "Monday: rain."
    assert owner.get("/day", day="2020-01-01").json()["diary"] == ""
    schema = owner.get("/openapi.json").json()["components"]["schemas"]["Day"]
    assert "diary" in schema["required"]


def test_a_package_adds_a_page_at_its_place_in_the_navigation(owner: ApiClient) -> None:
    text = owner.http.get("/diary").text
    assert "<p>Monday: rain.</p>" in text
    places = [text.index(f">{name}</a>") for name in ("Notes", "Diary", "Days")]
    assert places == sorted(places)


def test_a_package_adds_to_the_days(owner: ApiClient, env: MemoryEnv) -> None:
    env.write("memory/2020-01-01.md", "# 2020-01-01\n\n- Sun.\n")
    today = owner.get("/day").json()["day"]
    assert "<li>Monday: rain.</li>" in owner.http.get(f"/days?day={today}").text
