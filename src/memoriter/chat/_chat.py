"""A conversation with memory: recall before a turn, tools in it, capture after it, a flush before compaction."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC
from typing import TYPE_CHECKING, Any, Self

from memoriter.agent import DEFAULT_WINDOW, Message
from memoriter.chat._memory_events import MemoryEvent, captured, flushed, recalled, tool_call
from memoriter.chat._talk import Overflow, Talk
from memoriter.config import agent_name
from memoriter.errors import ModelFailed, sentence
from memoriter.permissions import make_private_folder, open_private
from memoriter.types import Diagnostic
from memoriter.workspace import neutral, neutral_data, without_injected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from types import TracebackType

    from pydantic_ai.messages import ModelMessage

    from memoriter.agent import Session
    from memoriter.chat._endpoint import ChatEndpoint
    from memoriter.chat._talk import Turn
    from memoriter.memory import Memory
    from memoriter.tools import Tool

VERSION = 3
OPENING = "You talk with the user in a terminal. Answer in the language of the message, briefly, in plain text."
WITH_TOOLS = (
    "You remember earlier conversations: call memory_search before you answer about work, decisions, dates, people or "
    "preferences of the user, and say where it stands. If nothing is found, say so. What must last you write down with "
    "memory_append."
)
WITH_LONG_TERM = (
    "Single statements of the user are in long-term memory: look for them with memory_recall. If the user asks you to "
    "remember something, call memory_store; if they ask you to forget it, call memory_forget."
)
SUMMARY_SYSTEM = "You summarise conversations for the assistant who will continue them."
SUMMARY = """\
Summarise this conversation so that it can go on without its text: what the user wants, what was decided and why, \
facts and names as they were given, what is done and what is open. At most 300 words, in the user's language. Do not \
answer anything in it.

<conversation>
{conversation}
</conversation>"""
SO_FAR = "The conversation so far, in a summary:"


class Transcript:
    """One file, created with its first line; it contains no text from the memory."""

    def __init__(self, file: Path, now: Callable[[], datetime], cwd: str) -> None:
        self.file = file
        self._now = now
        self._cwd = cwd
        self._count = 0
        self._last: str | None = None

    def append_message(self, message: Message, at: datetime) -> None:
        """Append a message and its time.

        Raises:
            OSError: the file could not be written.
        """
        text = without_injected(message.text).strip()
        content = {"role": message.role, "content": [{"type": "text", "text": text}]}
        self._append("message", at, message=content)

    def append_compaction(self, summary: str, tokens: int) -> None:
        """Append a record that a summary replaced the conversation so far.

        Raises:
            OSError: the file could not be written.
        """
        self._append("compaction", self._now(), summary=summary, tokensBefore=tokens)

    def _append(self, kind: str, at: datetime, **fields: Any) -> None:
        timestamp = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        rows = list[dict[str, Any]]()
        if self._last is None and not self.file.exists():
            rows.append(
                {
                    "type": "session",
                    "version": VERSION,
                    "id": self.file.stem,
                    "timestamp": timestamp,
                    "cwd": self._cwd,
                }
            )
        name = f"{self._count + 1:08x}"
        rows.append({"type": kind, "id": name, "parentId": self._last, "timestamp": timestamp, **fields})
        make_private_folder(self.file.parent)
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
        with open(self.file, "ab", opener=open_private) as opened:
            opened.write(text.encode("utf-8", "replace"))
        self._count += 1
        self._last = name


def opening(tools: Sequence[str]) -> str:
    """Return the opening of the system prompt, which depends on the names of the tools."""
    parts = [OPENING, *([WITH_TOOLS] if "memory_search" in tools else [])]
    return "\n\n".join([*parts, *([WITH_LONG_TERM] if "memory_recall" in tools else [])])


def instructions(beginning: str, summary: str) -> str:
    """Return the system prompt. Notes are no part of it: they come with a message, as what the owner's program quotes.

    Args:
        beginning: the purpose of the turn.
        summary: of the earlier conversation; empty: there is none.
    """
    return f"{beginning}\n\n{SO_FAR}\n\n{summary}" if summary else beginning


def summary_prompt(conversation: str, longest: int) -> str:
    """Return the request for a summary of at most `longest` characters of conversation; it keeps the end."""
    kept = conversation if len(conversation) <= longest else f"[…]\n{conversation[-longest:]}"
    return SUMMARY.format(conversation=kept)


SHORTEST_SUMMARISED = 2_000


class Chat:
    """One conversation; a context manager.

    Args:
        memory: the memory to use.
        endpoint: the model and its service.
        name: name of the conversation and of its transcript file.
        folder: folder of the transcripts.
        limit: compact the conversation when it holds more tokens; None: `agents.defaults.contextTokens` less
            `reserveTokensFloor`.
        on_event: callback for the memory's events, and for failures that do not end the turn.

    Raises:
        ModelFailed: Pydantic AI is not installed.
        ConfigError: the memory slot names a plugin that is not installed.
    """

    def __init__(
        self,
        memory: Memory,
        endpoint: ChatEndpoint,
        *,
        name: str,
        folder: Path,
        limit: int | None = None,
        on_event: Callable[[MemoryEvent | Diagnostic], None],
    ) -> None:
        self._memory = memory
        self._tools: Sequence[Tool] = memory.tools
        self._talk = Talk(endpoint, self._tools, self._call_tool)
        self._session: Session = memory.session(f"agent:{agent_name(memory.agent)}:chat:{name}", audience="private")
        self.transcript = Transcript(folder / f"{name}.jsonl", lambda: self._session.now, str(memory.place.workspace))
        self._limit = limit if limit is not None else _default_limit(memory)
        self._on_event = on_event
        self._started = False
        self._pending_context = ""
        """The session's context, until a turn with it has succeeded; the history has it from then on."""
        self._summary = ""
        self._history: Sequence[ModelMessage] = ()
        self._messages = list[Message]()
        self._pending_recall = list[str]()
        """Texts recalled for failed turns. Recall counts them as inserted, so the next turn repeats them."""
        self._tokens = 0

    def say(self, text: str) -> str:
        """Send a message and return the model's answer.

        Raises:
            ModelFailed: the model gave no answer; the conversation can continue.
        """
        if not self._started:
            self._emit(self._memory.session_started(self._session.key))
            self._load_context(renew=False)
        if self._tokens > self._limit:
            self._compact()
        before = self._session.recall(text, conversation=self._conversation_text())
        self._emit(before.reasons)
        self._emit(recalled(before.prepend_context))
        if before.prepend_context:
            self._pending_recall.append(before.prepend_context)
        question = Message("user", text)
        at = self._session.now
        try:
            turn = self._run_turn(text)
        except BaseException as error:
            self._record((question, at))
            if isinstance(error, ModelFailed):
                self._emit(self._session.end_turn([question], success=False))
            raise
        self._pending_recall.clear()
        self._pending_context = ""
        self._history = turn.messages
        self._tokens = turn.tokens
        answer = Message("assistant", turn.reply)
        # An earlier record would let a search within the turn find the question.
        self._record((question, at), (answer, self._session.now))
        self._messages += [question, answer]
        capture = self._session.capture([question, answer])
        self._emit(capture.reasons)
        self._emit(captured(capture))
        return turn.reply

    def close(self) -> None:
        """End the conversation."""
        if self._started:
            self._emit(self._session.end())
        self._talk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run_turn(self, text: str) -> Turn:
        """Run a turn; if the conversation exceeds the context window, compact it and try again."""
        try:
            return self._talk.run(self._with_memory(text), self._history, self._instructions())
        except Overflow:
            if not self._history:
                raise
            self._compact()
            return self._talk.run(self._with_memory(text), self._history, self._instructions())

    def _with_memory(self, text: str) -> str:
        """Return a message below what memory puts before it."""
        return "\n\n".join(part for part in (self._pending_context, *self._pending_recall, text) if part)

    def _instructions(self) -> str:
        return instructions(opening([tool.name for tool in self._tools]), self._summary)

    def _load_context(self, *, renew: bool) -> None:
        """Read the session's context; `renew` reads the notes again."""
        context = self._session.start(renew=renew)
        self._started = True
        self._pending_context = context.text
        self._emit(context.reasons)

    def _compact(self) -> None:
        """Run a flush, then replace the conversation by a summary."""
        self._flush()
        earlier = f"Earlier: {neutral(self._summary)}\n\n" if self._summary else ""
        prompt = summary_prompt(f"{earlier}{self._conversation_text(neutral)}", max(self._limit, SHORTEST_SUMMARISED))
        try:
            summary = self._talk.ask(prompt, SUMMARY_SYSTEM)
        except ModelFailed as error:  # the conversation stays as it is, and the next turn tries again
            self._emit((_diagnostic(error),))
            return
        self._emit(self._session.compact())
        self._summary = summary
        tokens = self._tokens
        self._history = ()
        self._tokens = 0
        self._messages.clear()
        self._load_context(renew=True)
        with suppress(OSError):  # the next write reports the failure
            self.transcript.append_compaction(summary, tokens)
        self._emit([MemoryEvent("compacted", f"{tokens:,} tokens to a summary of {len(summary):,} characters")])

    def _conversation_text(self, form: Callable[[str], str] = str) -> str:
        """Return the messages since the last summary as a transcript, each converted by `form`."""
        return "\n\n".join(
            f"{'User' if each.role == 'user' else 'Assistant'}: {form(each.text)}" for each in self._messages
        )

    def _flush(self) -> None:
        """Run the flush turn out of the user's sight; the conversation keeps none of it."""
        answer = self._session.flush(self._tokens, force=True)
        self._emit(answer.reasons)
        if answer.turn is None:
            return
        try:
            system = instructions(answer.turn.system_prompt, self._summary)
            turn = self._talk.run(answer.turn.prompt, self._history, system)
        except ModelFailed as error:
            self._emit((_diagnostic(error),))
            return
        result = self._session.flushed(turn.reply)
        self._emit(result.reasons if result else ())
        self._emit([flushed(result)])

    def _call_tool(self, tool: Tool, params: dict[str, Any]) -> Mapping[str, Any]:
        """Run a tool for the model. A failure becomes an answer with the error."""
        try:
            answer: Mapping[str, Any] = tool.run(self._memory, params, session_key=self._session.key)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a third-party tool; the model gets the error
            answer = {"error": f"{tool.name} failed: {type(error).__name__}: {error}"}
        self._emit([tool_call(tool.name, params, answer)])
        return neutral_data(answer)

    def _record(self, *messages: tuple[Message, datetime]) -> None:
        """Append messages to the transcript."""
        try:
            for message, at in messages:
                self.transcript.append_message(message, at)
        except OSError as error:
            message_text = (
                f"The transcript {str(self.transcript.file)!r} was not written: {sentence(error.strerror or error)}"
            )
            self._on_event(Diagnostic("write", message_text, "Check the folder, its permissions and the free space."))

    def _emit(self, events: Sequence[MemoryEvent | Diagnostic]) -> None:
        for event in events:
            self._on_event(event)


def _default_limit(memory: Memory) -> int:
    defaults = memory.configuration.settings.agents.defaults
    window = defaults.context_tokens or DEFAULT_WINDOW
    return max(window // 2, window - defaults.compaction.reserve_tokens_floor)


def _diagnostic(error: ModelFailed) -> Diagnostic:
    return Diagnostic(error.code, error.message, error.remedy)
