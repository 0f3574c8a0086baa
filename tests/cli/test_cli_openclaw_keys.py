"""Keys that OpenClaw keeps are used for a service that is named, and for nothing else; they are never printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from openclaw_home import SECRETS, OpenClawHome

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Program

VARIABLES = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY")


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "OPENCLAW_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


def home(tmp_path: Path, provider: str) -> OpenClawHome:
    return OpenClawHome.make(tmp_path / "user", provider=provider)


def key_source(program: Program, *words: str) -> str | None:
    """Return where the key of an agent is from; nothing prints it."""
    selected = words or ("--agent", "main")
    status = program("--openclaw", *selected, "status", "--json")
    assert not [secret for secret in SECRETS if secret in status.out + status.err]
    return status.json[0]["keySource"] or None


def notices(program: Program) -> list[str]:
    found = program("--openclaw", "--agent", "main", "status", "--json").json[0].get("notices", [])
    return [notice["message"] for notice in found if notice["code"] != "settings_without_effect"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "source"),
    [
        ("openai", "OpenClaw's auth profile openai:default"),
        ("gemini", "models.providers.google.apiKey"),
        ("voyage", "{state}/.env VOYAGE_API_KEY"),
        ("mistral", "env.vars MISTRAL_API_KEY"),
    ],
)
def test_a_named_service_gets_the_key_that_openclaw_has_for_it(
    program: Program, tmp_path: Path, provider: str, source: str
) -> None:
    claw = home(tmp_path, provider)
    assert key_source(program) == source.format(state=claw.state)
    shown = [program("--openclaw", *words) for words in (("status",), ("config", "show"), ("doctor",))]
    assert not [secret for secret in SECRETS for outcome in shown if secret in outcome.out + outcome.err]


def test_the_environment_comes_before_what_openclaw_keeps(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home(tmp_path, "voyage")
    monkeypatch.setenv("VOYAGE_API_KEY", "pa-from-the-environment")
    assert key_source(program) == "environment VOYAGE_API_KEY"


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["auto", "bundled", "none", "fake"])
def test_no_key_of_openclaw_decides_that_notes_leave_the_machine(
    program: Program, tmp_path: Path, provider: str
) -> None:
    claw = home(tmp_path, provider)
    (claw.state / "config/models.json5").write_text("{}", encoding="utf-8")
    assert key_source(program) is None
    state = program("--openclaw", "status", "--json").json[0]
    assert not state["leavesMachine"]


def test_auto_names_the_key_that_only_openclaw_uses(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claw = home(tmp_path, "auto")
    said = "(key from OpenClaw's auth profile openai:default); memoriter does so only if you name it."
    for words in (("status",), ("config", "check")):
        shown = program("--openclaw", "--agent", "main", *words)
        assert f"OpenClaw sends notes to openai {said}" in shown.err
        assert 'set agents.defaults.memorySearch.provider to "openai"' in shown.err
        assert not [secret for secret in SECRETS if secret in shown.out + shown.err]
    assert "OpenClaw sends" not in program("--openclaw", "--agent", "main", "search", "Omada").err
    (claw.state / "agents/main/agent/auth-profiles.json").unlink()
    (claw.state / ".env").unlink()
    (claw.state / "config/models.json5").write_text("{}", encoding="utf-8")
    claw.config.write_text("{agents: {defaults: {workspace: 'workspace'}}}", encoding="utf-8")
    assert "OpenClaw sends" not in program("--openclaw", "status").err
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-planted")
    assert "notes to gemini (key from environment GEMINI_API_KEY)" in program("--openclaw", "status").err
    assert "OpenClaw sends" not in program("status").err


def test_another_agent_falls_back_to_the_profiles_of_the_main_agent(program: Program, tmp_path: Path) -> None:
    claw = home(tmp_path, "openai")
    assert key_source(program, "--agent", "work") == "OpenClaw's auth profile openai:default"
    own = {"profiles": {"openai:work": {"type": "api_key", "provider": "openai", "key": "sk-work"}}}
    (claw.state / "agents/work/agent/auth-profiles.json").write_text(json.dumps(own), encoding="utf-8")
    assert key_source(program, "--agent", "work") == "OpenClaw's auth profile openai:work"


def test_a_profile_may_refer_to_a_variable_and_the_file_names_the_order(program: Program, tmp_path: Path) -> None:
    claw = home(tmp_path, "voyage")
    reference = {"type": "api_key", "provider": "voyage", "keyRef": {"source": "env", "id": "VOYAGE_API_KEY"}}
    other = {"type": "api_key", "provider": "voyage", "key": "pa-other"}
    store = {"profiles": {"voyage:b": other, "voyage:a": reference}, "order": {"voyage": ["voyage:a", "voyage:b"]}}
    (claw.state / "agents/main/agent/auth-profiles.json").write_text(json.dumps(store), encoding="utf-8")
    assert key_source(program) == "OpenClaw's auth profile voyage:a"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "file"),
    [("voyage", ".env"), ("openai", "agents/main/agent/auth-profiles.json"), ("mistral", "openclaw.json")],
)
def test_a_file_that_others_can_read_is_not_used_and_stays_as_it_is(
    program: Program, tmp_path: Path, provider: str, file: str
) -> None:
    claw = home(tmp_path, provider)
    (claw.state / file).chmod(0o644)
    before = claw.fingerprint()
    assert key_source(program) is None
    (notice,) = notices(program)
    assert notice.startswith(f"{str(claw.state / file)!r}: ")
    assert notice.endswith("not used, because it can be read by other users.")
    assert claw.fingerprint() == before


def test_a_damaged_file_of_profiles_is_reported_and_the_rest_works(program: Program, tmp_path: Path) -> None:
    claw = home(tmp_path, "voyage")
    (claw.state / "agents/main/agent/auth-profiles.json").write_text("{", encoding="utf-8")
    assert key_source(program) == f"{claw.state}/.env VOYAGE_API_KEY"
    assert notices(program) == [
        f"{str(claw.state / 'agents/main/agent/auth-profiles.json')!r}: its keys are not used, because it is not JSON."
    ]


def profiles(claw: OpenClawHome, **profile: Any) -> None:
    store = {"profiles": {"openai:me": {"provider": "openai", **profile}}}
    (claw.state / "agents/main/agent/auth-profiles.json").write_text(json.dumps(store), encoding="utf-8")


@pytest.mark.matrix(quick=2)
@pytest.mark.parametrize(
    ("profile", "used"),
    [
        ({"token": "sk-token", "expires": 9e15}, True),
        ({"token": "sk-token", "expires": 1_700_000_000_000}, False),
        ({"token": "sk-token"}, True),
        ({"tokenRef": {"source": "env", "id": "VOYAGE_API_KEY"}}, True),
        ({"token": "sk-token", "expires": "tomorrow"}, False),
        ({"token": "sk-token", "expires": 0}, False),
        ({}, False),
    ],
)
def test_a_token_is_a_key_until_it_expires(
    program: Program, tmp_path: Path, profile: dict[str, Any], *, used: bool
) -> None:
    profiles(home(tmp_path, "openai"), type="token", **profile)
    assert key_source(program) == ("OpenClaw's auth profile openai:me" if used else None)


def test_an_oauth_sign_in_is_not_used_and_is_named_unless_there_is_a_key(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claw = home(tmp_path, "openai")
    profiles(claw, type="oauth", access="sk-oauth-access", refresh="sk-oauth-refresh", expires=9e15)
    before = claw.fingerprint()
    assert key_source(program) is None
    (notice,) = notices(program)
    assert notice.endswith("the OAuth profile openai:me is not used, because only OpenClaw can renew its token.")
    check = program("--openclaw", "config", "check")
    assert notice in " ".join(check.err.split())
    assert "in OPENAI_API_KEY." in check.err
    shown = [check, *(program("--openclaw", *words) for words in (("status",), ("config", "show")))]
    assert not [found for found in ("sk-oauth", *SECRETS) for each in shown if found in each.out + each.err]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    assert notices(program) == []
    assert claw.fingerprint() == before


@pytest.mark.parametrize(
    "line",
    [
        "VOYAGE_API_KEY=pa-1",
        "export VOYAGE_API_KEY = 'pa-1'  # ours",
        'VOYAGE_API_KEY="pa-1"',
        "VOYAGE_API_KEY=pa-1 # ours",
        "OTHER=x\r\nVOYAGE_API_KEY='pa-1'\r",
        "VOYAGE_API_KEY=\nVOYAGE_API_KEY=pa-1",
    ],
)
def test_the_env_file_is_read_as_openclaw_reads_it(program: Program, tmp_path: Path, line: str) -> None:
    claw = home(tmp_path, "voyage")
    (claw.state / ".env").write_text(f"# keys\n{line}\n", encoding="utf-8", newline="")
    (claw.state / "agents/main/agent/auth-profiles.json").unlink()
    with Memory.open(config=claw.config, home=program.home) as memory:
        provider: Any = memory._backend
        assert provider.embedding.settings.found_keys["voyage"][0] == "pa-1"


def test_a_reference_in_the_configuration_is_found_in_the_env_file(program: Program, tmp_path: Path) -> None:
    claw = home(tmp_path, "voyage")
    text = claw.config.read_text(encoding="utf-8").replace(
        "meta:", "models: {providers: {voyage: {apiKey: '${VOYAGE_API_KEY}'}}}, meta:"
    )
    claw.config.write_text(text, encoding="utf-8")
    assert key_source(program) == "models.providers.voyage.apiKey"


def test_keys_of_openclaw_are_not_used_with_memoriters_own_configuration(program: Program, tmp_path: Path) -> None:
    home(tmp_path, "voyage")
    text = json.dumps({"agents": {"defaults": {"memorySearch": {"provider": "voyage"}}}})
    (program.home / "memoriter.json5").write_text(text, encoding="utf-8")
    assert program("status", "--json").json[0]["keySource"] == ""


def test_the_provider_local_alone_means_openclaws_default_model(program: Program, tmp_path: Path) -> None:
    home(tmp_path, "local")
    finding = next(
        each for each in program("--openclaw", "doctor", "--json").json["findings"] if each["check"] == "provider"
    )
    assert "no model is named" not in finding["message"]
    assert (finding["state"], finding["message"]) == ("note", "The model of local is not downloaded yet.")
