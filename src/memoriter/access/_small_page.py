"""One small page of HTML that loads nothing, which needs no session."""

from __future__ import annotations

from html import escape


def small_page(
    title: str, *paragraphs: str, link: tuple[str, str, str] | None, body: str = "", refresh: bool = False
) -> bytes:
    """Return a page with a title, paragraphs and a link.

    Args:
        title: its title.
        paragraphs: sentences, in which the parts between backticks are code; empty ones are left out.
        link: the text before the link, its address on this server, and its text; None: there is none.
        body: HTML after the paragraphs.
        refresh: whether the browser opens the address by itself.
    """
    before, address, text = map(escape, link or ("", "", ""))
    moves = f'<meta http-equiv="refresh" content="0; url={address}">\n' if refresh else ""
    leads = f'<p>{before}<a href="{address}">{text}</a></p>' if link else ""
    shown = "".join(f"<p>{_with_code(each)}</p>\n" for each in paragraphs if each)
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(title)} · memoriter</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{moves}</head>
<body>
<main>
<h1>{escape(title)}</h1>
{shown}{body}{leads}
</main>
</body>
</html>
"""
    return page.encode("utf-8", "replace")


def _with_code(text: str) -> str:
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{escape(part)}</code>" if at % 2 else escape(part) for at, part in enumerate(parts))
