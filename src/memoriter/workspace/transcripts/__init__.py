"""Find the transcripts of agents, and read their messages."""

from memoriter.workspace.transcripts._folders import TranscriptFolder, Transcripts, transcripts_of
from memoriter.workspace.transcripts._messages import OpenTranscript, parse_line, parse_object

__all__ = [
    "OpenTranscript",
    "TranscriptFolder",
    "Transcripts",
    "parse_line",
    "parse_object",
    "transcripts_of",
]
