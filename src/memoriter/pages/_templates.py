"""The templates of the pages. Every value is escaped unless it is marked as HTML that was sanitised."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jinja2

from memoriter.pages._addresses import address_of
from memoriter.pages._markdown import rendered
from memoriter.web import BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).parent / "templates"


class Templates:
    """The templates in `templates/`, which are HTML of one page or of one fragment each."""

    def __init__(self, pages: Sequence[object], static: Callable[[str], str]) -> None:
        """Load templates on demand.

        Args:
            pages: the pages of the navigation.
            static: returns the address of a file in `static/`.
        """
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        values, filters = cast("dict[str, Any]", self._environment.globals), self._environment.filters
        values.update(pages=pages, static=static, address=address_of, api=BASE)
        filters.update(figure=figure, day=day, markdown=rendered)

    def render(self, name: str, **values: Any) -> str:
        """Return the text of a template with these values. Raises jinja2.UndefinedError if one is missing."""
        return self._environment.get_template(name).render(**values)


def figure(value: float, digits: int = 2) -> str:
    """Return a number with so many digits after the point, and whole numbers with a comma every three digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def day(time: str) -> str:
    """Return a time in ISO 8601 as a day and minutes in UTC."""
    return f"{time[:10]} {time[11:16]} UTC" if len(time) >= 16 else time
