-- Version 1 of the schema, as memoriter first made it, with the partitions of space 1.
CREATE TABLE IF NOT EXISTS schema_version(version integer NOT NULL);
INSERT INTO schema_version SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM schema_version);
-- edition: the content that serves; epoch: grows whenever a process takes the right to index
CREATE TABLE IF NOT EXISTS spaces(
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  edition bigint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0
);
-- changes: grows with every write; content: with every change of chunks or vectors; newest: the last id of a chunk
CREATE TABLE IF NOT EXISTS editions(
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  space integer NOT NULL,
  changes bigint NOT NULL DEFAULT 0,
  content bigint NOT NULL DEFAULT 0,
  newest bigint NOT NULL DEFAULT 0
);
CREATE SEQUENCE IF NOT EXISTS file_ids;
CREATE TABLE IF NOT EXISTS meta(space integer NOT NULL, edition bigint NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (space, edition, key)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS sets(space integer NOT NULL, edition bigint NOT NULL, id integer GENERATED ALWAYS AS IDENTITY, fingerprint text NOT NULL, dimensions integer NOT NULL, spec jsonb NOT NULL, created_at double precision NOT NULL, PRIMARY KEY (space, edition, fingerprint)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS files(space integer NOT NULL, edition bigint NOT NULL, id bigint NOT NULL, path text COLLATE "C" NOT NULL, kind text NOT NULL, hash text NOT NULL, size bigint NOT NULL, mtime_ns bigint NOT NULL, chunks bigint NOT NULL, length bigint NOT NULL, tail text NOT NULL, stamp bigint NOT NULL, PRIMARY KEY (space, edition, path)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS tags(space integer NOT NULL, edition bigint NOT NULL, file bigint NOT NULL, tag text COLLATE "C" NOT NULL, PRIMARY KEY (space, edition, file, tag)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS names(space integer NOT NULL, edition bigint NOT NULL, name text COLLATE "C" NOT NULL, file bigint NOT NULL, PRIMARY KEY (space, edition, name, file)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS chunks(space integer NOT NULL, edition bigint NOT NULL, id bigint NOT NULL, file bigint NOT NULL, day integer NOT NULL, ordinal integer NOT NULL, length integer NOT NULL, script text NOT NULL, key bytea NOT NULL, term_counts bytea NOT NULL, start_line integer NOT NULL, end_line integer NOT NULL, heading text NOT NULL, text text NOT NULL, words tsvector NOT NULL, PRIMARY KEY (space, edition, id)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS items(space integer NOT NULL, edition bigint NOT NULL, chunk bigint NOT NULL, first integer NOT NULL, last integer NOT NULL, script text NOT NULL, key bytea NOT NULL, PRIMARY KEY (space, edition, chunk, first)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS frequencies(space integer NOT NULL, edition bigint NOT NULL, term text COLLATE "C" NOT NULL, chunks bigint NOT NULL, PRIMARY KEY (space, edition, term)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS vectors(space integer NOT NULL, edition bigint NOT NULL, set integer NOT NULL, key bytea NOT NULL, used_at double precision NOT NULL, vector vector NOT NULL, PRIMARY KEY (space, edition, set, key)) PARTITION BY LIST (space);
CREATE TABLE IF NOT EXISTS failures(space integer NOT NULL, edition bigint NOT NULL, set integer NOT NULL, key bytea NOT NULL, message text NOT NULL, failed_at double precision NOT NULL, PRIMARY KEY (space, edition, set, key)) PARTITION BY LIST (space);
CREATE INDEX IF NOT EXISTS chunks_index_0 ON chunks USING btree (space, edition, file, ordinal);
CREATE INDEX IF NOT EXISTS chunks_index_1 ON chunks USING btree (space, edition, key);
CREATE INDEX IF NOT EXISTS chunks_index_2 ON chunks USING gin (words);
CREATE INDEX IF NOT EXISTS items_index_0 ON items USING btree (space, edition, key);
CREATE INDEX IF NOT EXISTS names_index_0 ON names USING btree (space, edition, file);
CREATE INDEX IF NOT EXISTS files_index_0 ON files USING btree (space, edition, id);
CREATE INDEX IF NOT EXISTS failures_index_0 ON failures USING btree (space, edition, key);
CREATE TABLE IF NOT EXISTS meta_of_1 PARTITION OF meta FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS sets_of_1 PARTITION OF sets FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS files_of_1 PARTITION OF files FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS tags_of_1 PARTITION OF tags FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS names_of_1 PARTITION OF names FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS chunks_of_1 PARTITION OF chunks FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS items_of_1 PARTITION OF items FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS frequencies_of_1 PARTITION OF frequencies FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS vectors_of_1 PARTITION OF vectors FOR VALUES IN (1);
CREATE TABLE IF NOT EXISTS failures_of_1 PARTITION OF failures FOR VALUES IN (1);
