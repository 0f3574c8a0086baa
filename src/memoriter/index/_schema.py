"""The schema of the index, and the functions that its statements call."""

from __future__ import annotations

from fnmatch import fnmatchcase

APPLICATION_ID = 0x4D656D6F
"""`Memo`: marks a file as an index."""

VERSION = 9
"""The number of the schema, stored in `PRAGMA user_version`. An index with another number is built anew.

Its vectors are taken over, as long as the tables `sets` and `embedding_cache` have the columns that they have here.
"""

PAGE_SIZE = 8192
"""Five vectors of 384 dimensions fill such a page; pages of 4096 bytes would waste a quarter."""


SCHEMA = r"""
CREATE TABLE meta(
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- content: grows with every change of chunks or vectors; overwritten: with every vector that replaced another;
-- deleted: chunks whose words wait to be purged from chunks_fts
CREATE TABLE counters(
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- tail: how far a file that only grows was read, as the sync package writes it; empty for files that are read whole;
-- stamp: `Source.stamp` of the file when it was read
CREATE TABLE files(
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  length INTEGER NOT NULL,
  tail TEXT NOT NULL DEFAULT '',
  stamp INTEGER NOT NULL DEFAULT 0
) STRICT;

-- AUTOINCREMENT: an id never comes back for other content. The narrow columns come first: filters read only them.
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL REFERENCES files(id),
  day INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  length INTEGER NOT NULL,
  script TEXT NOT NULL,
  key BLOB NOT NULL,
  term_counts BLOB NOT NULL,
  start_line INTEGER NOT NULL,
  end_line INTEGER NOT NULL,
  heading TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_file ON chunks(file);
CREATE INDEX chunks_key ON chunks(key);

-- Only the space separates: every other ASCII character is part of a term, and so is everything that is not ASCII.
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  terms,
  content = '',
  contentless_delete = 1,
  tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE chunks_terms USING fts5vocab(chunks_fts, row);

CREATE TABLE sets(
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  dimensions INTEGER NOT NULL,
  spec TEXT NOT NULL,
  created_at REAL NOT NULL
) STRICT;

-- vector: length 1, in one of the two forms of `short_vectors.py`
CREATE TABLE embedding_cache(
  id INTEGER PRIMARY KEY,
  set_id INTEGER NOT NULL REFERENCES sets(id),
  key BLOB NOT NULL,
  used_at REAL NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX embedding_cache_key ON embedding_cache(set_id, key);

CREATE TABLE failures(
  set_id INTEGER NOT NULL REFERENCES sets(id),
  key BLOB NOT NULL,
  message TEXT NOT NULL,
  failed_at REAL NOT NULL,
  PRIMARY KEY(set_id, key)
) STRICT, WITHOUT ROWID;

-- tag: folded, without "#"
CREATE TABLE tags(
  file INTEGER NOT NULL REFERENCES files(id),
  tag TEXT NOT NULL,
  PRIMARY KEY(file, tag)
) STRICT, WITHOUT ROWID;

-- name: folded; only of notes that have several, so that a link by one of them is found by the others
CREATE TABLE names(
  name TEXT NOT NULL,
  file INTEGER NOT NULL REFERENCES files(id),
  PRIMARY KEY(name, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_file ON names(file);

-- The items of a chunk that has several. first, last: lines within the chunk, 0-based; key: of the item's vector.
-- counters: items:<set> is a chunk up to which no item waits for a vector of the set.
CREATE TABLE items(
  chunk INTEGER NOT NULL REFERENCES chunks(id),
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  script TEXT NOT NULL,
  key BLOB NOT NULL,
  PRIMARY KEY(chunk, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX items_key ON items(key);

-- codes: made with `means` of `vectors` vectors; as many times the wanted chunks are compared exactly as `oversampling`
-- says, which found `recall` of the nearest when there were `measured` vectors. counters: codes:<set> is the content
-- that the codes hold, codes:<set>:overwritten the overwritten vectors.
CREATE TABLE code_sets(
  set_id INTEGER PRIMARY KEY REFERENCES sets(id),
  epoch INTEGER NOT NULL,
  vectors INTEGER NOT NULL,
  measured INTEGER NOT NULL,
  oversampling INTEGER NOT NULL,
  recall REAL NOT NULL,
  means BLOB NOT NULL
) STRICT;

-- Written once and never changed. The columns by which one chunk is looked for come before the codes.
CREATE TABLE code_segments(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  set_id INTEGER NOT NULL REFERENCES sets(id),
  size INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  ids BLOB NOT NULL,
  places BLOB NOT NULL,
  factors BLOB NOT NULL,
  codes BLOB NOT NULL
) STRICT;
CREATE INDEX code_segments_size ON code_segments(set_id, size);

-- AUTOINCREMENT: a reader asks only for those that are new.
CREATE TABLE code_tombs(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  segment INTEGER NOT NULL REFERENCES code_segments(id),
  chunk INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX code_tombs_chunk ON code_tombs(segment, chunk);
"""
"""The statements that make an empty database an index."""


def path_matches(path: str, pattern: str) -> bool:
    """Match like SQLite's `GLOB`, whose time grows by another power of the path's length with each `*`."""
    return fnmatchcase(path, pattern)
