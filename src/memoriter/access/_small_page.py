"""One small page of HTML that loads nothing, which needs no session, and looks like the others."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;font:1rem/1.55 system-ui,sans-serif;background:#f5f6f8;color:#1c2128}"
    "main{max-width:34rem;margin:12vh auto 0;padding:2rem;background:#fff;border:1px solid #dde1e6;border-radius:12px}"
    "h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25}"
    "code{padding:.1rem .3rem;background:#f5f6f8;border-radius:4px}"
    "a,button,input{display:inline-block;margin-top:.5rem;padding:.4rem .9rem;border:1px solid #868f9a;"
    "border-radius:8px;"
    "color:inherit;font:inherit;background:none;text-decoration:none;max-width:100%;box-sizing:border-box}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse}td,th{text-align:start;padding:.2rem .8rem .2rem 0}"
    "@media(max-width:40rem){main{margin:1rem}}"
    "@media(prefers-color-scheme:dark){body{background:#14181d;color:#e3e7ec}"
    "main{background:#1c2127;border-color:#313942}code{background:#14181d}}"
)
"""How the page looks. It stands in the page, because files of the server need a session."""
STYLE_SOURCE = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""What allows this style alone in a Content-Security-Policy."""
PAGE_POLICY = (
    f"default-src 'none'; style-src {STYLE_SOURCE}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page."""


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
{moves}<style>{STYLE}</style>
</head>
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
