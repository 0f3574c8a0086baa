"""The Markdown form of an entry."""

from __future__ import annotations


def entry_of(text: str) -> str:
    r"""Return a text as lines of Markdown: a paragraph becomes a list item, text with a structure stays as it is.

    >>> entry_of("We chose PostgreSQL.")
    '- We chose PostgreSQL.\n'
    """
    stripped = text.strip()
    if stripped.startswith(("-", "*", "+", "#", ">", "|", "```", "~~~")) or "\n\n" in stripped:
        return f"{stripped}\n"
    first, *rest = stripped.splitlines()
    return "\n".join([f"- {first}", *(f"  {line}" for line in rest)]) + "\n"
