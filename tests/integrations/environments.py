"""Which agent frameworks are tested in which environment."""

from __future__ import annotations

ENVIRONMENTS = ("integrations", "integrations-crewai")
"""Names of files in `requirements/`. The first one holds every framework that is not named below."""
ALONE = {"crewai": "integrations-crewai"}
"""Adapters whose framework cannot be installed beside the others."""
