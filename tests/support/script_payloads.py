"""Texts that run a script where a page shows them without care. Each calls `alert`, which a tab notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from browser import Tab

PAYLOADS = (
    "<script>alert(1)</script>",
    "<ScRiPt>alert(2)</sCrIpT>",
    "<script src=data:text/javascript,alert(3)></script>",
    "</script><script>alert(4)</script>",
    "<img src=x onerror=alert(5)>",
    "<img src='x' onerror='alert(6)'>",
    '"><img src=x onerror=alert(7)>',
    "'><img src=x onerror=alert(8)>",
    "<svg onload=alert(9)>",
    "<svg/onload=alert(10)>",
    "<svg><script>alert(11)</script></svg>",
    "<svg><animate onbegin=alert(12) attributeName=x dur=1s></svg>",
    "<body onload=alert(13)>",
    "<iframe src=javascript:alert(14)></iframe>",
    "<iframe srcdoc='<script>alert(15)</script>'></iframe>",
    "<object data=javascript:alert(16)></object>",
    "<embed src=javascript:alert(17)>",
    "<a href=javascript:alert(18)>click</a>",
    "[click](javascript:alert(19))",
    "[click](JaVaScRiPt:alert(20))",
    "[click](java\tscript:alert(21))",
    "[click](<javascript:alert(22)>)",
    "[click](&#106;avascript:alert(23))",
    "[click](vbscript:alert(24))",
    "[click](data:text/html;base64,PHNjcmlwdD5hbGVydCgyNSk8L3NjcmlwdD4=)",
    "[click][ref]\n\n[ref]: javascript:alert(26)",
    "<javascript:alert(27)>",
    '![x](x "onerror=alert(28)")',
    '![x" onerror="alert(29)](x)',
    "![](javascript:alert(30))",
    '[x](http://a.invalid/"onmouseover="alert(31))',
    "[x](http://a.invalid 'x\" onmouseover=\"alert(32)')",
    "`<script>alert(33)</script>`",
    "```html\n<script>alert(34)</script>\n```",
    '```"><script>alert(35)</script>\nx\n```',
    "    <script>alert(36)</script>",
    "<details open ontoggle=alert(37)>x</details>",
    "<input autofocus onfocus=alert(38)>",
    "<video><source onerror=alert(39)></video>",
    "<math><mi xlink:href='javascript:alert(40)'>x</mi></math>",
    "<form action=javascript:alert(41)><button>x</button></form>",
    "<style>@import 'javascript:alert(42)';</style>",
    "<link rel=stylesheet href=javascript:alert(43)>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(44)'>",
    "<base href='javascript:alert(45)//'>",
    "<table background=javascript:alert(46)><tr><td>x</table>",
    "<div style='background:url(javascript:alert(47))'>x</div>",
    "<x onclick=alert(48) style=position:fixed;inset:0>x</x>",
    "<noscript><p title='</noscript><img src=x onerror=alert(49)>'>",
    "<!--><img src=x onerror=alert(50)>-->",
    "</textarea><script>alert(51)</script>",
    "</title><script>alert(52)</script>",
    "{{ alert(53) }} {% raw %} ${alert(53)}",
    "<template><script>alert(54)</script></template>",
    "| <img src=x onerror=alert(55)> | y |\n|---|---|\n| <svg onload=alert(55)> | z |",
    "&lt;script&gt;alert(56)&lt;/script&gt;",
    "<<script>alert(57)//<</script>",
    "<img src=x:alert(alt) onerror=eval(src) alt=58>",
    "\u2028<script>alert(59)</script>",
    '[x]: data:text/html,<script>alert(60)</script> "x"\n[x]',
)
"""In notes, and in what is found of them."""
NAMES = (
    "<img src=x onerror=alert(101)>.md",
    '"><svg onload=alert(102)>.md',
    "' onmouseover='alert(103).md",
    "javascript:alert(104).md",
    "{{ alert(105) }}.md",
    "&lt;script&gt;alert(106).md",
)
"""As names of files."""
ON_ONE_LINE = tuple(text for text in PAYLOADS if text.isprintable() and "<!--" not in text)
"""As statements and entries."""


def made_by_payloads(tab: Tab, selector: str = "main") -> list[str]:
    """The elements that the pages never make, and so would come from a payload."""
    forbidden = "script, img, iframe, object, embed, style, link, base, svg, math, video, template, form form"
    found = tab.page.locator(f":is({selector}) :is({forbidden})")
    return [str(each) for each in found.evaluate_all("all => all.map(each => each.outerHTML)")]
