"""A conversation in the terminal with a model that has a memory.

Needs the extra `pydantic-ai` and the packages `openai` and `anthropic`.
Set OPENAI_API_KEY or ANTHROPIC_API_KEY, and run it in a folder of notes:
python chat.py openai-chat:gpt-4.1-mini
python chat.py anthropic:claude-sonnet-4-5
Another service with one of the two interfaces, such as Ollama, needs OPENAI_BASE_URL or ANTHROPIC_BASE_URL.
Each line is a message. Answers are on stdout, and what the memory does is on stderr. Ctrl-D ends the conversation.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING
from uuid import uuid4

from pydantic_ai import Agent, AgentRunResult
from pydantic_ai.exceptions import AgentRunError, ModelContextWindowExceededError
from pydantic_ai.messages import ModelMessage, ToolCallPart

from memoriter import Diagnostic, Memory
from memoriter.hookspecs import Message
from memoriter.integrations.pydantic_ai import memory_toolset

if TYPE_CHECKING:
    from collections.abc import Sequence

RESERVE = 20_000
"""Tokens of the model's context window that stay free; a longer conversation is replaced by a summary."""
LONGEST_ANSWER = 4_000
"""Tokens."""
OPENING = (
    "You talk with the user in a terminal. Answer briefly. Search your memory before you answer about earlier work, "
    "decisions, dates or people, and say where the answer stands. Write down what must last."
)
SUMMARISE = "Summarise this conversation in at most 300 words, so that it can go on without its text:"


class Conversation:
    """One conversation of the owner of the notes with a model."""

    def __init__(self, memory: Memory, model: str, window: int) -> None:
        self.session = memory.session(f"agent:{memory.agent}:chat:{uuid4()}", audience="private")
        tools = memory_toolset(memory, session=self.session.key)
        self.agent = Agent(model, toolsets=[tools], model_settings={"max_tokens": LONGEST_ANSWER})
        self.window = window
        self.tokens = 0
        self.summary = ""
        """What the conversation was about before its last compaction."""
        self.history: list[ModelMessage] = []
        self.messages: list[Message] = []
        """The texts of the history, without what the memory put before them."""
        context = self.session.start()
        report(context.reasons)
        self.before = [context.text]
        """What the memory puts before the next message. It stays until a turn succeeds."""

    def say(self, text: str) -> None:
        """Print the answer to a message: recall before the turn, capture after it, and a flush if one is due."""
        recalled = self.session.recall(text)
        report(recalled.reasons)
        show("recalled", ", ".join(recalled.citations) or "nothing")
        self.before.append(recalled.prepend_context)
        try:
            answer = self.ask("\n\n".join(part for part in (*self.before, text) if part), self.history)
        except ModelContextWindowExceededError:
            if not self.history:
                raise
            self.compact()
            self.say(text)
            return
        print(answer.output, flush=True)
        self.before.clear()
        self.history = answer.all_messages()
        self.tokens = answer.response.usage.input_tokens + answer.response.usage.output_tokens
        turn = [Message("user", text), Message("assistant", answer.output)]
        self.messages += turn
        captured = self.session.capture(turn)
        report(captured.reasons)
        show("captured", "; ".join(captured.texts) or "nothing")
        self.flush()
        if self.tokens > self.window - RESERVE:
            self.compact()

    def flush(self, *, force: bool = False) -> None:
        """Let the model write down what must last, once before each compaction; the history keeps none of it."""
        request = self.session.flush(self.tokens, window=self.window, reserve=RESERVE, force=force)
        report(request.reasons)
        if request.turn:
            reply = self.ask(request.turn.prompt, self.history, request.turn.system_prompt).output
            if result := self.session.flushed(reply):
                report(result.reasons)
                show("flushed", f"{result.step}, {result.new} new in {result.path}")

    def compact(self) -> None:
        """Replace the history by a summary; then the notes are read again."""
        self.flush(force=True)
        said = "\n\n".join([self.summary, *(f"{each.role}: {each.text}" for each in self.messages)])
        self.summary = self.ask(f"{SUMMARISE}\n\n{said[-self.window :]}", ()).output
        self.history.clear()
        self.messages.clear()
        report(self.session.compact())
        self.before = [self.session.start(renew=True).text]
        show("compacted", f"{self.tokens:,} tokens to a summary of {len(self.summary):,} characters")

    def ask(self, prompt: str, history: Sequence[ModelMessage], system: str = OPENING) -> AgentRunResult[str]:
        """Run the model with the tools of the memory. Raises AgentRunError: it gave no answer."""
        instructions = (
            f"{system}\n\nThe conversation so far, in a summary:\n\n{self.summary}" if self.summary else system
        )
        result = self.agent.run_sync(prompt, message_history=history, instructions=instructions)
        for part in (part for message in result.new_messages() for part in message.parts):
            if isinstance(part, ToolCallPart):
                show("tool", f"{part.tool_name} {part.args_as_json_str()}")
        return result


def show(kind: str, text: str) -> None:
    """Print a line about the memory."""
    print(f"{kind:<9} {text}", file=sys.stderr)


def report(reasons: Sequence[Diagnostic]) -> None:
    """Print what was wrong with the memory, and the remedies."""
    for reason in reasons:
        show("problem", f"{reason.message} {reason.remedy}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--context", type=int, default=200_000, help="tokens of the model's context window")
    arguments = parser.parse_args()
    with Memory.open(".") as memory:
        conversation = Conversation(memory, arguments.model, arguments.context)
        for line in sys.stdin:
            try:
                if text := line.strip():
                    conversation.say(text)
            except AgentRunError as error:
                show("failed", str(error))
        report(conversation.session.end())


if __name__ == "__main__":
    main()
