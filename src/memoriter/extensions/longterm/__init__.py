"""The plugin `memory-lancedb` and `memoriter ltm`: long-term memories; `api` has the classes for programs."""
