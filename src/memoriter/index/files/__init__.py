"""Files, their chunks and their words, as they are stored and read."""

from memoriter.index.files._values import ChunkRecord, Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk

__all__ = ["ChunkRecord", "Corpus", "IndexedFile", "KindCount", "ScoringRow", "StoredChunk"]
