"""A memory for AI agents that its owner can read."""
