"""The index on a PostgreSQL server; `api` has the classes for programs."""
