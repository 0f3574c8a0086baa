"""A package extends an agent's memory without a change here, and the slot selects the active plugin."""

from __future__ import annotations

import math
import sys
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from memoriter import Memory
from memoriter.agent import HookInput, Session, answer_hook
from memoriter.app import session_environment_of
from memoriter.errors import ConfigError
from memoriter.extras import install_command
from memoriter.hookspecs import Finding, Listener, Tool, hookimpl
from memoriter.plugins import Installed, installed_plugins, load_plugins, services_for
from memoriter.startup import try_parts
from memoriter.types import Diagnostic
from plugin_wheel import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CORE_TOOLS = ["memory_search", "memory_get"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_plugin(tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def diary(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("memoriter_diary", None)


def names(memory: Memory) -> list[str]:
    return [tool.name for tool in memory.tools]


def write_slot(home: Path, slot: str) -> None:
    quoted = slot if slot.startswith("[") else f'"{slot}"'
    text = f'{{plugins: {{slots: {{memory: {quoted}}}}}, agents: {{defaults: {{memorySearch: {{provider: "fake"}}}}}}}}'
    (home / "memoriter.json5").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("diary")
def test_an_installed_package_adds_a_tool(memory: Memory, home: Path) -> None:
    assert names(memory)[:2] == CORE_TOOLS
    assert "diary_look_up" in names(memory)
    (home / "plugins" / "diary").mkdir(parents=True)
    (home / "plugins" / "diary" / "diary.txt").write_text("bought a kettle\nslept\n", encoding="utf-8")
    (tool,) = [tool for tool in memory.tools if tool.name == "diary_look_up"]
    assert tool.run(memory, {"word": "kettle"}) == {"lines": ["bought a kettle"]}


def test_without_plugins_there_are_the_tools_of_the_core(memory: Memory) -> None:
    assert names(memory)[:2] == CORE_TOOLS


@pytest.mark.usefixtures("diary")
def test_the_slot_none_turns_everything_off(notes: Path, home: Path) -> None:
    write_slot(home, "none")
    with Memory.open(notes, home=home) as memory:
        assert names(memory) == []


@pytest.mark.parametrize("slot", ["memory-cloud", '["memory-core", "memory-cloud"]'])
def test_a_slot_that_names_what_is_not_installed_is_an_error_that_says_what_to_set(
    notes: Path, home: Path, slot: str
) -> None:
    write_slot(home, slot)
    with Memory.open(notes, home=home) as memory, pytest.raises(ConfigError, match="memory-cloud") as caught:
        _ = memory.tools
    assert caught.value.remedy.startswith("Set plugins.slots.memory to 'memory-core' or 'memory-lancedb'")
    assert caught.value.remedy.endswith("or install the package that has 'memory-cloud'.")
    assert "pip install" not in caught.value.remedy


@pytest.mark.parametrize("slot", ["[]", '["memory-core", "none"]'])
def test_none_is_alone_and_a_list_is_not_empty(notes: Path, home: Path, slot: str) -> None:
    write_slot(home, slot)
    with Memory.open(notes, home=home) as memory, pytest.raises(ConfigError, match="no choice of plugins"):
        _ = memory.tools


def test_long_term_memories_without_their_extra_name_the_line_that_installs_it(
    notes: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoriter.extras.find_spec", lambda _: None)
    write_slot(home, "memory-lancedb")
    with Memory.open(notes, home=home) as memory, pytest.raises(ConfigError, match="extra 'longterm'") as caught:
        _ = memory.tools
    assert caught.value.remedy == f"Run `{install_command('longterm')}`."


def test_a_package_may_provide_other_long_term_memories(memory: Memory) -> None:
    assert offered(loaded(memory, "memory-lancedb", memory_lancedb=Other), memory) == ["memory_recall"]


def tool(name: str, answer: str) -> Tool:
    return Tool(name, "", {"type": "object"}, lambda *_, **__: {"answer": answer})


class Other:
    @hookimpl
    def slot(self) -> str:
        return "memory"

    @hookimpl
    def tools(self) -> list[Tool]:
        return [tool("memory_recall", "other")]


class Extra:
    @hookimpl
    def tools(self, context: object) -> list[Tool]:
        return [tool("memory_search", "mine"), tool("extra", "extra")]


class Broken:
    @hookimpl
    def tools(self, context: object) -> list[Tool]:
        raise OSError("no disk")

    @hookimpl
    def listeners(self, context: Any) -> list[Any]:
        return ["not a listener"]


class Misspelt:
    @hookimpl
    def tool(self, context: object) -> list[Tool]:
        return []


class Watching:
    @hookimpl
    def listeners(self, context: Any) -> list[Listener]:
        return [Listener("watching", "agent_end", lambda _: None)]


def loaded(memory: Memory, slot: str, **plugins: object) -> Any:
    installed = [Installed(name.replace("_", "-"), lambda plugin=plugin: plugin) for name, plugin in plugins.items()]
    return load_plugins(slot, installed, services_for(memory._assembly))


def offered(plugins: Any, memory: Memory) -> list[str]:
    return [tool.name for tool in plugins.tools(memory)]


def test_only_the_plugin_that_the_slot_names_serves_memory(memory: Memory) -> None:
    assert offered(loaded(memory, "memory-other", memory_other=Other), memory) == ["memory_recall"]
    assert "memory_recall" not in offered(loaded(memory, "memory-core", memory_other=Other), memory)


def test_a_tool_of_the_core_cannot_be_taken_over(memory: Memory) -> None:
    plugins = loaded(memory, "memory-core", extra=Extra)
    assert [*offered(plugins, memory)[:2], offered(plugins, memory)[-1]] == [*CORE_TOOLS, "extra"]
    assert plugins.tools(memory)[0].run.__module__ == "memoriter.tools._tools"
    assert [reason.code for reason in plugins.reasons] == ["plugin_conflict"]


def test_a_plugin_that_fails_is_left_out_and_the_others_stay(memory: Memory) -> None:
    def unimportable() -> object:
        raise ImportError("no module named 'nothing'")

    installed = [
        Installed("broken", Broken),
        Installed("gone", unimportable),
        Installed("misspelt", Misspelt),
        Installed("watching", Watching),
    ]
    plugins = load_plugins("memory-core", installed, services_for(memory._assembly))
    assert offered(plugins, memory)[:2] == CORE_TOOLS
    assert [listener.name for listener in plugins.listeners(memory)] == ["watching"]
    messages = " ".join(reason.message for reason in plugins.reasons)
    assert all(word in messages for word in ("no disk", "gave str", "nothing", "misspelt"))


class Stop(BaseException):
    """What is no Exception, as the panics of Rust extensions are none."""


def failing(where: str, act: Callable[[], Any]) -> object:
    """A plugin of which one part acts in its own way."""

    class Plugin:
        def __init__(self) -> None:
            if where == "constructor":
                act()

        @hookimpl
        def tools(self) -> Any:
            return act() if where == "tools" else [tool("mine", "mine")]

        @hookimpl
        def recall_sources(self) -> Any:
            return act() if where == "recall_sources" else []

        @hookimpl
        def listeners(self) -> Any:
            return act() if where == "listeners" else []

    return Plugin


def reached(memory: Memory, plugin: object) -> Any:
    """The loaded plugins, after each function of this one was called."""
    plugins = loaded(memory, "memory-core", bad=plugin, watching=Watching)
    assert offered(plugins, memory)[:2] == CORE_TOOLS
    plugins.recall_sources(memory)
    assert "watching" in [listener.name for listener in plugins.listeners(memory)]
    return plugins


PARTS = ["constructor", "tools", "recall_sources", "listeners"]


@pytest.mark.parametrize("where", PARTS)
@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Stop("panic")])
def test_a_plugin_that_would_end_the_process_is_left_out(memory: Memory, where: str, error: BaseException) -> None:
    def act() -> None:
        raise error

    (reason,) = reached(memory, failing(where, act)).reasons
    assert (reason.code, f"it raised {error!r}" in reason.message) == ("plugin_failed", True)


@pytest.mark.parametrize("where", PARTS)
def test_a_plugin_that_does_not_answer_is_left_out(
    memory: Memory, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("memoriter.plugins.LIMIT", 0.05)
    ended = Event()
    (reason,) = reached(memory, failing(where, ended.wait)).reasons
    ended.set()
    assert "did not answer within 0.05 seconds" in reason.message
    sys.stdout.write("ours")
    assert capsys.readouterr().out == "ours"


@pytest.mark.parametrize("where", PARTS)
def test_what_a_plugin_prints_goes_to_stderr(memory: Memory, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    def act() -> list[object]:
        sys.stdout.write("noise")
        return []

    assert reached(memory, failing(where, act)).reasons == []
    out, err = capsys.readouterr()
    assert (out, "noise" in err) == ("", True)


def test_what_is_no_recall_source_is_reported_before_a_turn(memory: Memory) -> None:
    (reason,) = reached(memory, failing("recall_sources", lambda: [42])).reasons
    assert reason.message == "The plugin 'bad' is left out: TypeError: recall_sources gave int, not RecallSource."


def test_a_session_begins_by_telling_which_plugins_are_left_out(
    notes: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "broken-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[memoriter.plugins]\nbroken = no_such_module\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    with Memory.open(notes, home=home) as memory:
        context = memory.session("s", audience="private").start()
    assert "PostgreSQL" in context.text
    assert [reason.code for reason in context.reasons] == ["plugin_failed"]
    assert "no_such_module" in context.reasons[0].message


def test_a_plugin_in_the_slot_that_cannot_be_loaded_is_an_error(memory: Memory) -> None:
    def unimportable() -> object:
        raise ImportError("no module named 'nothing'")

    with pytest.raises(ConfigError, match="cannot be loaded: no module"):
        load_plugins("memory-other", [Installed("memory-other", unimportable)], services_for(memory._assembly))
    with pytest.raises(ConfigError, match="does not say that it fills"):
        loaded(memory, "extra", extra=Extra)


class Journal:
    """A plugin that keeps memories of its own beside a note of them."""

    def __init__(self) -> None:
        self.receipts: list[Any] = []

    @hookimpl
    def own_notes(self) -> list[str]:
        return ["MEMORY.md"]

    @hookimpl
    def forgotten(self, receipt: Any) -> list[Diagnostic]:
        self.receipts.append(receipt)
        return [Diagnostic("copies", "The journal still has it.", "Burn it.")]

    @hookimpl
    def checks(self) -> list[Finding]:
        return [Finding("good", "The journal is dry."), Finding("broken", "Its lock is lost.", "Buy one.", "lock")]

    @hookimpl
    def long_term(self) -> str:
        return "of the journal"


class Careless:
    """A plugin that fails where it is needed."""

    @hookimpl
    def forgotten(self, receipt: Any) -> list[Diagnostic]:
        raise OSError("no disk")

    @hookimpl
    def checks(self) -> list[Finding]:
        raise OSError("no disk")


def with_plugins(memory: Memory, **plugins: object) -> Memory:
    memory._loaded = loaded(memory, "memory-core", **plugins)
    return memory


def test_plugins_forget_what_the_notes_have_forgotten_and_tell_what_is_left(memory: Memory) -> None:
    journal = Journal()
    memory = with_plugins(memory, journal=journal, careless=Careless)
    receipt = memory.forget(memory.plan_forget(match="PostgreSQL"))
    assert [each.path for each in journal.receipts[0].notes] == [each.path for each in receipt.notes] == ["MEMORY.md"]
    assert sorted(reason.code for reason in receipt.left) == ["copies", "plugin_failed"]


def test_what_is_forgotten_although_the_slot_names_a_missing_plugin_may_be_left_there(notes: Path, home: Path) -> None:
    write_slot(home, "memory-cloud")
    with Memory.open(notes, home=home) as memory:
        receipt = memory.forget(memory.plan_forget(match="PostgreSQL"))
    assert ([each.path for each in receipt.notes], [each.code for each in receipt.left]) == (["MEMORY.md"], ["config"])


def test_plugins_check_their_parts_for_doctor_and_for_servers(memory: Memory) -> None:
    memory = with_plugins(memory, journal=Journal, careless=Careless)
    assert [(name, found.state) for name, found in memory.check_plugins()] == [
        ("careless", "broken"),
        ("journal", "good"),
        ("journal", "broken"),
    ]
    parts = {part.name: part for part in try_parts(memory)}
    assert (parts["journal"].works, parts["journal"].message, parts["journal"].code) == (
        False,
        "Its lock is lost.",
        "lock",
    )
    assert (parts["careless"].works, "no disk" in parts["careless"].message) == (False, True)


def test_notes_that_a_plugin_recalls_itself_are_left_out_of_the_recall_of_notes(memory: Memory) -> None:
    def recalled(plugins: Any) -> list[str]:
        (source,) = plugins.recall_sources(memory)
        answer = source.recall("Which database did we choose?", audience="private", deadline_ms=60_000)
        return [passage.path for passage in answer.passages]

    memory.sync()
    assert "MEMORY.md" in recalled(loaded(memory, "memory-core"))
    assert recalled(loaded(memory, "memory-core", journal=Journal)) == []


def test_the_long_term_memories_are_those_of_a_plugin_that_has_some(memory: Memory) -> None:
    assert with_plugins(memory, journal=Journal).long_term == "of the journal"
    with pytest.raises(ConfigError, match="does not name 'memory-lancedb'"):
        _ = with_plugins(memory).long_term


def test_a_plugin_of_a_package_takes_the_place_of_ours_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [each.name for each in installed_plugins()] == ["memory-lancedb"]
    package = tmp_path / "other-1.0.dist-info"
    package.mkdir()
    (package / "entry_points.txt").write_text("[memoriter.plugins]\nmemory-lancedb = math:pi\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    (plugin,) = installed_plugins()
    assert (plugin.name, plugin.load()) == ("memory-lancedb", math.pi)


def test_without_a_plugin_for_long_term_memories_the_slot_cannot_name_it(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="names 'memory-lancedb', which is not installed"):
        loaded(memory, "memory-lancedb")


def test_a_message_is_stored_before_passages_are_looked_up_because_clients_end_slow_hooks(memory: Memory) -> None:
    at_recall: list[tuple[str, ...]] = []

    class Source:
        name = "source"

        def recall(self, prompt: str, **limits: object) -> list[object]:
            at_recall.append(tuple(message.text for message in session.turn_messages()))
            return []

    class Plugin:
        @hookimpl
        def recall_sources(self, context: Any) -> list[Any]:
            return [Source()]

        @hookimpl
        def listeners(self, context: Any) -> list[Listener]:
            return [Listener("watching", "agent_end", lambda _: None)]

    plugins = loaded(memory, "memory-core", own=Plugin)
    session = Session("s", "private", session_environment_of(memory._assembly, plugins, memory, memory.session_started))
    answer_hook(HookInput("user-prompt", "s", prompt="Which kettle did I buy?"), session)
    assert at_recall == [("Which kettle did I buy?",)]
