"""`memoriter chat`."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

from memoriter.cli._options import Command, GlobalOptions
from memoriter.cli._render import Screen
from memoriter.cli._trust import offer_trust
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoriter.chat import Chat, MemoryEvent
    from memoriter.memory import Memory

PROMPT = "> "
SMALLEST_CONTEXT = 1_000


@click.command(cls=Command, name="chat")
@click.option("--model", metavar="NAME", help="The model: gpt-4.1-mini, anthropic/claude-sonnet-4-5, SERVICE/NAME …")
@click.option("--base-url", metavar="URL", help="The address of the service, such as http://127.0.0.1:11434/v1.")
@click.option(
    "--context",
    metavar="N",
    type=click.IntRange(SMALLEST_CONTEXT),
    help="Compact the conversation when it has more than N tokens. Default: 180,000.",
)
@click.option(
    "--show-memory", is_flag=True, help="Show on stderr what the memory does: recall, tool calls, capture, flush."
)
def chat_command(*, model: str | None, base_url: str | None, context: int | None, show_memory: bool) -> None:
    """Talk with a model that has this memory.

        memoriter chat --model anthropic/claude-sonnet-4-5 --show-memory
        memoriter chat --model qwen3 --base-url http://127.0.0.1:11434/v1
        echo "which database did we choose?" | memoriter chat --model gpt-4.1-mini

    It works with any service that has OpenAI's or Anthropic's interface. Keys come from OPENAI_API_KEY,
    ANTHROPIC_API_KEY and models.providers. Each line of stdin is a message; answers are on stdout. Ctrl-D ends the
    chat, Ctrl-C stops a turn. Your messages and the recalled notes are sent to the service; the transcript stays on
    this machine. It needs pip install "memoriter[chat]". Next: memoriter search --source sessions.
    """
    if not model:
        raise click.UsageError("Name a model: --model NAME, such as anthropic/claude-sonnet-4-5.")
    from memoriter.extras import require

    require("chat", "The chat")
    options = GlobalOptions.current()
    screen = options.screen
    offer_trust(options)
    memory = options.open_memory(by_person=False)
    try:
        options.show_egress_notice(memory)
        events = list["MemoryEvent"]()
        with _new_chat(memory, model, base_url, context, _event_handler(screen, events, show=show_memory)) as chat:
            for text in _messages(screen):
                _send_message(chat, text, screen, events)
    finally:
        memory.close()


def _new_chat(
    memory: Memory,
    model: str,
    base_url: str | None,
    context: int | None,
    on_event: Callable[[MemoryEvent | Diagnostic], None],
) -> Chat:
    from memoriter.app import new_session, read_environment, sessions_of
    from memoriter.chat import Chat, endpoint_of

    env = read_environment()
    endpoint = endpoint_of(model, base_url, memory.configuration.settings.models.providers, env.environ)
    folder = sessions_of(env, memory.agent)
    return Chat(memory, endpoint, name=new_session(), folder=folder, limit=context, on_event=on_event)


def _event_handler(
    screen: Screen, events: list[MemoryEvent], *, show: bool
) -> Callable[[MemoryEvent | Diagnostic], None]:
    def handle(event: MemoryEvent | Diagnostic) -> None:
        if isinstance(event, Diagnostic):
            screen.show_diagnostics([event])
            return
        events.append(event)
        if show:
            screen.note(((f"{event.kind:<9} ", "cyan"), (event.text, "dim")))

    return handle


def _send_message(chat: Chat, text: str, screen: Screen, events: list[MemoryEvent]) -> None:
    """Send one message and print the reply; a failure is printed too, and the conversation continues."""
    from memoriter.errors import ModelFailed

    events.clear()
    try:
        reply = chat.say(text)
    except ModelFailed as error:
        if screen.as_json:
            from memoriter.api_json import error_json

            screen.json_line(error_json(error.code, error.message, error.remedy))
        else:
            Screen().note((("! ", "yellow"), (f"{error.message} {error.remedy}", "")))  # also with --quiet
    except KeyboardInterrupt:
        if not sys.stdin.isatty():
            raise
        screen.note((("Stopped.", "dim"),))
    else:
        if screen.as_json:
            screen.json_line({"reply": reply, "memory": [{"kind": event.kind, "text": event.text} for event in events]})
        else:
            screen.text(reply)
        sys.stdout.flush()


def _messages(screen: Screen) -> Iterator[str]:
    """Yield the lines that a person types, or those of a pipe, without empty ones."""
    for line in _typed_lines(screen) if sys.stdin.isatty() else _piped_lines():
        if text := line.replace("\0", "\ufffd").strip():
            yield text


def _piped_lines() -> Iterator[str]:
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")


def _typed_lines(screen: Screen) -> Iterator[str]:
    with suppress(ImportError):
        import_module("readline")  # adds line editing and history
    screen.note((("Ctrl-D ends the chat, Ctrl-C stops a turn.", "dim"),))
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            screen.note(())
            return
        except KeyboardInterrupt:
            screen.note((("Ctrl-D ends the chat.", "dim"),))
