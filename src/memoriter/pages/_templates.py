"""The templates of the pages. Every value is escaped unless it is marked as HTML that was sanitised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import jinja2
from markupsafe import Markup, escape

from memoriter.pages._addresses import address_of
from memoriter.pages._markdown import rendered
from memoriter.web import BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).parent / "templates"
FIELDS = {
    "--path": "the filter “in …”",
    "--source": "“Kind”",
    "--since": "“From”",
    "--until": "“To”",
    "--on": "“From” and “To”",
}
"""The names of the filters on the page Search, by the options of the command line."""
_OPTION = re.compile(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*")


class Templates:
    """The templates in `templates/` and in those of packages: HTML of one page or of one fragment each."""

    def __init__(
        self, pages: Sequence[object], static: Callable[[str], str], folders: Sequence[Path] = (), **more: object
    ) -> None:
        """Load templates on demand.

        Args:
            pages: the pages of the navigation.
            static: returns the address of a file in `static/`.
            folders: further folders of templates.
            more: further values for all templates.
        """
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([FOLDER, *folders]),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        values = cast("dict[str, Any]", self._environment.globals)
        filters = self._environment.filters
        values.update(pages=pages, static=static, address=address_of, api=BASE, **more)
        filters.update(figure=figure, day=day, markdown=rendered, code=with_code)

    def render(self, name: str, /, **values: Any) -> str:
        """Return the text of a template with these values. Raises jinja2.UndefinedError if one is missing."""
        return self._environment.get_template(name).render(**values)


def figure(value: float, digits: int = 2) -> str:
    """Return a number with so many digits after the point, and whole numbers with a comma every three digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def with_code(text: str) -> Markup:
    """Return a text as HTML, in which the parts between backticks are code, and options have their names on pages."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if at % 2 else in_page_words(part) for at, part in enumerate(parts)
    )


def in_page_words(text: str) -> str:
    """Return a text in which the options of the command line have the names that they have on pages.

    >>> in_page_words("Leave out --path.")
    'Leave out the filter “in …”.'
    """
    return _OPTION.sub(lambda found: FIELDS.get(found[0], found[0]), text)


def day(time: str) -> str:
    """Return a time in ISO 8601 as a day and minutes in UTC."""
    return f"{time[:10]} {time[11:16]} UTC" if len(time) >= 16 else time
