"""A conversation with memory around it: recall before a turn, tools in it, capture after it, a flush in the end."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from memoriter.agent import Message
from memoriter.chat._memory_events import MemoryEvent, captured, flushed, recalled, tool_call
from memoriter.chat._prompts import SUMMARY_SYSTEM, instructions, opening, summary_prompt
from memoriter.chat._talk import Overflow, Talk
from memoriter.chat._transcript import Transcript
from memoriter.config import agent_name
from memoriter.errors import ModelFailed
from memoriter.types import Diagnostic
from memoriter.workspace import neutral, neutral_data

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

USUAL_WINDOW = 200_000
SHORTEST_SUMMARISED = 2_000


class Chat:
    """One conversation; a context manager.

    Args:
        memory: what is remembered.
        endpoint: the model, and where it is asked.
        name: of the conversation; the transcript is called so.
        folder: where transcripts are.
        limit: compact the conversation when it holds more tokens; None: `agents.defaults.contextTokens` less
            `reserveTokensFloor`.
        told: hears what memory does, and what goes wrong without ending the turn.

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
        told: Callable[[MemoryEvent | Diagnostic], None],
    ) -> None:
        self._memory = memory
        self._tools: Sequence[Tool] = memory.tools
        self._talk = Talk(endpoint, self._tools, self._called)
        self._session: Session = memory.session(f"agent:{agent_name(memory.agent)}:chat:{name}", audience="private")
        self.transcript = Transcript(folder / f"{name}.jsonl", lambda: self._session.now, str(memory.place.workspace))
        self._limit = limit if limit is not None else _usual_limit(memory)
        self._told = told
        self._context: str | None = None
        self._summary = ""
        self._history: Sequence[ModelMessage] = ()
        self._said = list[Message]()
        self._owed = list[str]()
        """Recalled for turns that failed: it counts as given, so it comes with the next."""
        self._tokens = 0

    def say(self, text: str) -> str:
        """The model's answer to a message. Raises ModelFailed: there is none; the conversation can go on."""
        if self._context is None:
            self._tell(self._memory.session_started(self._session.key))
            self._begin(renew=False)
        if self._tokens > self._limit:
            self._compact()
        before = self._session.recall(text, conversation=self._spoken())
        self._tell(before.reasons)
        self._show(recalled(before.prepend_context))
        if before.prepend_context:
            self._owed.append(before.prepend_context)
        asked, at = Message("user", text), self._session.now
        try:
            turn = self._turn("\n\n".join([*self._owed, text]))
        except BaseException as error:
            self._keep((asked, at))
            if isinstance(error, ModelFailed):
                self._tell(self._session.end_turn([asked], success=False))
            raise
        self._owed.clear()
        self._history, self._tokens = turn.messages, turn.tokens
        answered = Message("assistant", turn.reply)
        self._keep(
            (asked, at), (answered, self._session.now)
        )  # not before: a search within the turn would find the question
        self._said += [asked, answered]
        capture = self._session.capture([asked, answered])
        self._tell(capture.reasons)
        self._show(captured(capture))
        return turn.reply

    def close(self) -> None:
        """End the conversation."""
        if self._context is not None:
            self._tell(self._session.end())
        self._talk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _turn(self, prompt: str) -> Turn:
        try:
            return self._talk.run(prompt, self._history, self._instructions())
        except Overflow:
            if not self._history:
                raise
            self._compact()
            return self._talk.run(prompt, self._history, self._instructions())

    def _instructions(self) -> str:
        return instructions(opening([tool.name for tool in self._tools]), self._context or "", self._summary)

    def _begin(self, *, renew: bool) -> None:
        context = self._session.start(renew=renew)
        self._context = context.text
        self._tell(context.reasons)

    def _compact(self) -> None:
        """Have written down what must last, then put a summary in the place of the conversation."""
        self._flush()
        earlier = f"Earlier: {neutral(self._summary)}\n\n" if self._summary else ""
        prompt = summary_prompt(f"{earlier}{self._spoken(neutral)}", max(self._limit, SHORTEST_SUMMARISED))
        try:
            summary = self._talk.ask(prompt, SUMMARY_SYSTEM)
        except ModelFailed as error:  # it stays as long as it is, and the next turn tries again
            self._tell((_reason(error),))
            return
        self._tell(self._session.compact())
        self._summary, tokens = summary, self._tokens
        self._history, self._tokens = (), 0
        self._said.clear()
        self._begin(renew=True)
        with suppress(OSError):  # the next line that is kept tells
            self.transcript.compacted(summary, tokens)
        self._show([MemoryEvent("compacted", f"{tokens:,} tokens to a summary of {len(summary):,} characters")])

    def _spoken(self, form: Callable[[str], str] = str) -> str:
        """What was said since the last summary, as a transcript is read, each message in the given form."""
        return "\n\n".join(
            f"{'User' if each.role == 'user' else 'Assistant'}: {form(each.text)}" for each in self._said
        )

    def _flush(self) -> None:
        """The turn out of sight; none of it stays in the conversation."""
        answer = self._session.flush(self._tokens, force=True)
        self._tell(answer.reasons)
        if answer.turn is None:
            return
        try:
            system = instructions(answer.turn.system_prompt, self._context or "", self._summary)
            turn = self._talk.run(answer.turn.prompt, self._history, system)
        except ModelFailed as error:
            self._tell((_reason(error),))
            return
        result = self._session.flushed(turn.reply)
        self._tell(result.reasons if result else ())
        self._show([flushed(result)])

    def _called(self, tool: Tool, params: dict[str, Any]) -> Mapping[str, Any]:
        try:
            answer: Mapping[str, Any] = tool.run(self._memory, params, session_key=self._session.key)
        except Exception as error:  # noqa: BLE001 - a stranger's tool; the model hears of it, and the turn goes on
            answer = {"error": f"{tool.name} failed: {type(error).__name__}: {error}"}
        self._show([tool_call(tool.name, params, answer)])
        return neutral_data(answer)

    def _keep(self, *said: tuple[Message, datetime]) -> None:
        try:
            for message, at in said:
                self.transcript.said(message, at)
        except OSError as error:
            what = f"The transcript was not written: {self.transcript.file}: {error.strerror or error}."
            self._told(Diagnostic("write", what, "Look at the folder, its permissions and the free space."))

    def _show(self, seen: Sequence[MemoryEvent]) -> None:
        for each in seen:
            self._told(each)

    def _tell(self, reasons: Sequence[Diagnostic]) -> None:
        for reason in reasons:
            self._told(reason)


def _usual_limit(memory: Memory) -> int:
    defaults = memory.configuration.settings.agents.defaults
    window = defaults.context_tokens or USUAL_WINDOW
    return max(window // 2, window - defaults.compaction.reserve_tokens_floor)


def _reason(error: ModelFailed) -> Diagnostic:
    return Diagnostic(error.code, error.message, error.remedy)
