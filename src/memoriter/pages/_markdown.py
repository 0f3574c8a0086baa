"""Markdown of notes as HTML. HTML in a note is shown as text, and what is made of Markdown is sanitised once more."""

from __future__ import annotations

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "*": {"id"}}
SCHEMES = {"http", "https", "mailto"}
"""Schemes of links; relative links are kept. Pictures are not shown, because they would be loaded from elsewhere."""


def rendered(text: str) -> Markup:
    """Return Markdown as HTML that runs nothing and loads nothing."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    html = str(parser.render(text))
    clean = nh3.clean(html, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noopener noreferrer")
    return Markup(clean)  # noqa: S704 - sanitised above
