"""The values that the index stores and returns."""

from memoriter.records import ChunkRecord, Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk

__all__ = ["ChunkRecord", "Corpus", "IndexedFile", "KindCount", "ScoringRow", "StoredChunk"]
