"""Ask an agent to write down lasting facts before its conversation is compacted, and see what it wrote."""

from memoriter.agent.flush._flush import DEFAULT_WINDOW, FlushAnswer, Flushing, FlushResult, FlushTurn

__all__ = ["DEFAULT_WINDOW", "FlushAnswer", "FlushResult", "FlushTurn", "Flushing"]
