"""Detection of secrets in text: keys, tokens and passwords, by format, by the name before them, by randomness.

Each pattern of a format has a bounded lookbehind and starts only at the start of a token, so that no text makes it
slow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.masking._words import (
    VALUE_KEY,
    ValueContext,
    is_argument,
    is_chosen,
    is_identifier,
    is_mixed,
    is_ordinary,
    is_password,
    is_placeholder,
    is_random,
    is_text_in_base64,
    is_varied,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""The start of a token, also after `\\n` in JSON and after `%3D` in an address."""
_WORD = r"[A-Za-z0-9_-]"

TOKENS: tuple[tuple[str, str, str], ...] = (
    ("openai", r"sk-(?:proj-|svcacct-|admin-|or-v1-|None-)?", rf"(?!ant-){_WORD}{{20,}}"),
    ("anthropic", r"sk-ant-(?:[a-z]{2,8}\d\d-)?", rf"{_WORD}{{20,}}"),
    ("github", r"gh[pousr]_", r"[A-Za-z0-9]{36,}"),
    ("github_fine", r"github_pat_", r"[A-Za-z0-9_]{40,}"),
    ("gitlab", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt)-", rf"{_WORD}{{20,}}(?:\.[a-z0-9.]{{4,20}})?"),
    ("slack", r"xox[abeoprs]-|xoxe\.xox[bp]-\d-|xapp-\d-", r"[A-Za-z0-9-]{10,}"),
    ("slack_hook", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9/_-]{20,}"),
    ("discord_hook", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,20}/", rf"{_WORD}{{40,}}"),
    ("teams_hook", r"webhook\.office\.com/webhookb2/", r"[A-Za-z0-9@/-]{60,}"),
    ("aws", r"A(?:KIA|SIA)(?=[A-Z0-9]{16}(?![A-Za-z0-9]))", r"[A-Z0-9]{16}"),
    ("bedrock", r"ABSK", r"[A-Za-z0-9+/]{80,}={0,2}"),
    ("google", r"AIza", rf"{_WORD}{{35}}(?!{_WORD})"),
    ("google_secret", r"GOCSPX-", rf"{_WORD}{{28}}"),
    ("google_oauth", r"ya29\.|1//0[A-Za-z0-9]", rf"{_WORD}{{30,}}"),
    ("stripe", r"[rs]k_(?:live|test|prod)_|whsec_", r"[A-Za-z0-9+/]{20,}={0,2}"),
    ("twilio", r"SK(?=[0-9a-f]{32}(?![A-Za-z0-9]))", r"[0-9a-f]{32}"),
    ("sendgrid", r"SG\.", rf"{_WORD}{{16,32}}\.{_WORD}{{30,60}}"),
    ("npm", r"npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("pypi", r"pypi-(?=Ag)", rf"{_WORD}{{50,}}"),
    ("hugging_face", r"(?:hf|api_org)_", r"[A-Za-z0-9]{30,}"),
    ("telegram", r"(?:bot)?\d{8,10}:(?=A)", rf"{_WORD}{{35}}(?!{_WORD})"),
    ("discord", r"(?:mfa\.)?(?=[A-Z])", rf"[MNO]{_WORD}{{22,27}}\.{_WORD}{{6}}\.{_WORD}{{27,40}}(?!{_WORD})"),
    ("jwt", r"(?<![\w-])eyJ", rf"{_WORD}{{10,}}+\.{_WORD}{{10,}}+(?:\.{_WORD}*+)*+"),
    ("databricks", r"dapi(?=[0-9a-f]{32})", r"[0-9a-f]{32}(?:-\d)?"),
    ("shopify", r"shp(?:at|ca|pa|ss)_", r"[0-9a-fA-F]{32}"),
    ("digitalocean", r"do[opr]_v1_", r"[0-9a-f]{64}"),
    ("atlassian", r"AT(?:ATT3x|CTT3x|BB)", rf"{_WORD}{{24,}}(?:=[0-9A-F]{{8}})?"),
    ("mailgun", r"key-(?=[0-9a-f]{32}(?![0-9a-z]))", r"[0-9a-f]{32}"),
    ("mailchimp", r"(?=[0-9a-f]{32}-us\d)", r"[0-9a-f]{32}(?=-us\d{1,2}(?!\d))"),
    ("square", r"sq0[a-z]{3}-|EAAA(?=[A-Za-z0-9_-]{60})", rf"{_WORD}{{22,}}"),
    ("facebook", r"EAA(?=[A-Za-z0-9]{80})", r"[A-Za-z0-9]{80,}"),
    ("vault", r"hv[bsr]\.", rf"{_WORD}{{24,}}"),
    ("terraform", r"[A-Za-z0-9]{14}\.atlasv1\.", rf"{_WORD}{{60,}}"),
    ("airtable", r"pat[A-Za-z0-9]{14}\.", r"[0-9a-f]{64}"),
    ("age", r"AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    ("linear", r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,}"),
    ("doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?", r"[A-Za-z0-9]{40,44}"),
    (
        "prefixed",
        (
            r"gsk_|xai-|pplx-|r8_|PMAK-|gl(?:sa|c)_|sntry[su]_|pscale_(?:tkn|pw|oauth)_|tskey-[a-z]+-|sbp_|figd_|dckr_pat_|fo1_"
            r"|rubygems_|NRAK-|ntn_|nvapi-|fw_|tvly-|pa-|jina_|fly-|cfut_|nfp_|phx_|rnd_|re_|sk-lf-|lsv2_(?:pt|sk)_"
        ),
        rf"{_WORD}{{24,}}",
    ),
    ("azure_storage", r"(?:AccountKey|SharedAccessKey|SharedSecret|EndpointSecret)=", r"[A-Za-z0-9+/]{20,}={0,2}"),
    ("azure_client", r"(?<![\w.~-])[A-Za-z0-9]{3}(?=[0-9]Q~)", r"[0-9]Q~[A-Za-z0-9_.~-]{31,34}"),
)
"""Kind, prefix (kept) and secret part of each token."""

FORMATS = re.compile(f"{_LEFT}(?:" + "|".join(f"(?:{start})(?P<{name}>{rest})" for name, start, rest in TOKENS) + ")")

PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?P<whole>[^-]*+(?:-(?!----)[^-]*+)*)-----END [A-Z0-9 ]{0,48}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?P<torn>(?:\s{0,2}[A-Za-z-]{4,20}: [^\n]{1,80}\n){0,3}(?:(?:\s|\\+[nr]|[\"'+,>|#]){0,8}[A-Za-z0-9+/=]{16,}+)*+"
    r"(?:(?:\s|\\+[nr]|[\"'+,>|#]){0,8}[A-Za-z0-9+/]{1,15}(?:=|\s*$))?=?))"
)
"""A private key on one line or many. In a key that is cut off, all characters that look like a key."""

PUTTY_KEY = re.compile(r"Private-Lines: \d{1,3}(?P<lines>(?:\s{1,2}[A-Za-z0-9+/=]{1,64}(?=\s|$))++)")

HEADERS = re.compile(
    r"(?<![A-Za-z])(?:"
    r"(?:bearer|token)[ \t]{1,4}+(?P<bearer>[A-Za-z0-9_.~+/-]{16,}+=*)"
    r"|basic[ \t]{1,4}+(?P<basic>[A-Za-z0-9+/]{8,}+={0,2})"
    r"|digest[ \t]{1,4}+[^\n]{0,400}?response=\"(?P<digest>[0-9a-f]{32,64})"
    r")",
    re.IGNORECASE,
)

COOKIES = re.compile(
    r"(?<![A-Za-z])(?:set-)?cookie[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?P<line>[^\n\r\"']{3,4096})", re.IGNORECASE
)
COOKIE = re.compile(r"(?<![^;\s])([A-Za-z0-9_.$-]{1,64})=([^;\s\"']{8,}+)")
COOKIE_PLAIN = {"path", "domain", "expires", "max-age", "samesite", "version", "lang", "locale", "theme", "consent"}

ADDRESS = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}+://"
    r"(?:(?P<user>[^\s/:@\"'<>?#`]{0,100}):(?P<password>[^\s/\"'<>`]{1,200})|(?P<lone>[^\s/:@\"'<>?#`]{16,200}))"
    r"@(?=[A-Za-z0-9\[$_{(-])"
)
SIGNED = re.compile(
    r"(?<=[?&;])(?:x-amz-signature|x-amz-security-token|x-goog-signature|sig|signature|oauth_signature"
    r"|access_token|refresh_token|id_token|auth|key|code|client_secret)=(?P<value>[A-Za-z0-9_.~%+/-]{16,4096}+=*)",
    re.IGNORECASE,
)
COMMANDS = re.compile(
    r"(?<![A-Za-z0-9-])(?:"
    r"curl\b[^\n]{0,200}?\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:(?P<curl>[^\s\"']{3,200})"
    r"|sshpass[ \t]+-p[ \t]?[\"']?(?P<sshpass>[^\s\"']{3,200})"
    r"|mysql(?:dump|admin)?\b[^\n]{0,120}?\s-p(?P<mysql>[^\s\"'-][^\s\"']{3,200})"
    r"|identified\s{1,4}by\s{1,4}[\"'](?P<sql>[^\"'\n]{3,200})"
    r"|login[ \t\n]{1,8}[^\s]{1,100}[ \t\n]{1,8}password[ \t]{1,8}(?P<netrc>[^\s]{3,200})"
    r"|requirepass[ \t]{1,8}(?P<redis>[^\s]{6,200})"
    r"|--(?:password|passwd|pass|token|api-?key|secret|auth-?token|access-?token|client-?secret|secret-?key)"
    r"[ \t]{1,4}[\"']?(?P<flag>[^\s\"'`<$-][^\s\"'`]{2,200})"
    r"|(?:ENV|ARG)[ \t]{1,4}[A-Z0-9_]{0,60}(?:PASSWORD|PASSWD|PASS|SECRET|TOKEN|API_KEY|SECRET_KEY)[ \t]{1,4}"
    r"(?P<env>[^\s\"'=$]{3,200})"
    r")",
    re.IGNORECASE,
)


MASK = "***"
_MAX_PASSES = 8
"""Passes over a text before whole lines are masked, and then over whole lines before all of it is masked."""


@dataclass(frozen=True, slots=True)
class Secret:
    """Span of a secret in a text, from `start` to before `end`, without the prefix that names its format."""

    start: int
    end: int
    kind: str


def mask(text: str) -> str:
    """Replace every secret in the text by `***`. A text without secrets is returned as the same object.

    Only the prefix that names a token's format is kept (`ghp_***`, `AKIA***`). The first and last characters of a
    secret would identify it to anyone with a list to compare, and shorten a search for the rest. Masking is idempotent.
    """
    # A masked word may be the one that explained its neighbour, such as the word before a public key. If a text is
    # crafted to need ever more passes, its affected lines are masked, and finally all of it.
    for number in range(2 * _MAX_PASSES):
        secrets = find_secrets(text)
        if not secrets:
            return text
        text = _replace(text, secrets if number < _MAX_PASSES else _widen_to_lines(text, secrets))
    return MASK if find_secrets(text) else text


def _widen_to_lines(text: str, secrets: Sequence[Secret]) -> Sequence[Secret]:
    """Return the spans of the lines that contain secrets."""
    lines = list[Secret]()
    for secret in secrets:
        if not lines or secret.end > lines[-1].end:
            end = text.find("\n", secret.end)
            start = text.rfind("\n", 0, secret.start) + 1
            lines.append(Secret(start, len(text) if end < 0 else end, secret.kind))
    return tuple(_merge(lines))


def _replace(text: str, secrets: Sequence[Secret]) -> str:
    parts: list[str] = []
    position = 0
    for secret in secrets:
        parts += text[position : secret.start], MASK
        position = secret.end
    return "".join((*parts, text[position:]))


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return every secret in the text, in order and without overlaps. The time is linear in the text's length."""
    secrets = [*_find_by_format(text), *_find_by_place(text), *_find_by_name(text), *_find_random(text)]
    return tuple(_merge(secrets)) if secrets else ()


def _merge(secrets: Iterable[Secret]) -> Iterator[Secret]:
    pending: Secret | None = None
    for secret in sorted(secrets, key=lambda secret: (secret.start, -secret.end)):
        if pending is None:
            pending = secret
        elif secret.start < pending.end:
            pending = Secret(pending.start, max(pending.end, secret.end), pending.kind)
        else:
            yield pending
            pending = secret
    if pending is not None:
        yield pending


def _find_by_format(text: str) -> Iterator[Secret]:
    for match in FORMATS.finditer(text):
        kind = match.lastgroup or ""
        if is_varied(match[kind]) and not is_placeholder(match[kind]):
            yield Secret(*match.span(kind), kind.partition("_")[0])
    for pattern in (PRIVATE_KEY, PUTTY_KEY) if "PRIVATE KEY" in text or "Private-" in text else ():
        for match in pattern.finditer(text):
            start, end = match.span(match.lastgroup or 0)
            if sum(character.isalnum() for character in text[start : min(end, start + 200)]) >= 16:
                yield Secret(start, end, "private key")


def _find_by_place(text: str) -> Iterator[Secret]:
    """Yield values in places that hold secrets: headers, cookies, addresses and commands."""
    if "://" in text:
        for match in ADDRESS.finditer(text):
            if match["password"] is not None and not is_placeholder(match["password"]):
                yield Secret(*match.span("password"), "password")
            elif match["lone"] is not None and is_random(match["lone"], 16):
                yield Secret(*match.span("lone"), "token")
        for match in SIGNED.finditer(text):
            if is_varied(match["value"]) and not is_placeholder(match["value"]):
                yield Secret(*match.span("value"), "signature")
    for match in HEADERS.finditer(text):
        kind = match.lastgroup or ""
        if _is_header_secret(kind, match[kind]):
            yield Secret(*match.span(kind), "header")
    for match in COOKIES.finditer(text):
        for cookie in COOKIE.finditer(text, *match.span("line")):
            if cookie[1].lower() not in COOKIE_PLAIN and is_varied(cookie[2]) and not is_placeholder(cookie[2]):
                yield Secret(*cookie.span(2), "cookie")
    for match in COMMANDS.finditer(text):
        kind = match.lastgroup or ""
        value = match[kind]
        following = text[match.end(kind) : match.end(kind) + 2]
        if is_placeholder(value) or (kind == "sql" and not is_password(value)):
            continue
        if kind != "flag" or is_argument(value, following):
            yield Secret(*match.span(kind), "password")


def _is_header_secret(kind: str, value: str) -> bool:
    if kind == "basic":
        return ":" in _decode_base64(value)
    return is_varied(value) and is_password(value) and not is_placeholder(value)


def _decode_base64(value: str) -> str:
    from base64 import b64decode

    try:
        return b64decode(value + "=" * (-len(value) % 4)).decode("utf-8", "replace")
    except ValueError:
        return ""


_NAME = re.compile(
    r"(?P<name>pass(?:word|wort|wd|phrase|code)|(?<![a-z])pass(?![a-z])|(?-i:(?<=[a-z])Pass)(?![a-z])|pwd|(?<![a-z0-9_])pw(?![a-z0-9])|secret(?:[_-]?(?:access)?[_-]?key)?|token|credentials?"
    r"|api[_ -]?key|(?:access|private|auth|secret|encryption|signing|account|shared|master|license|service|app)[_-]?key"
    r"|authorization|kennwort|contrase(?:ñ|n)a|mot de passe|senha|пароль"
    r"|비밀 ?번호|비번|암호|패스워드|토큰|시크릿|密码|密碼|口令|密钥|密鑰|秘钥|金鑰|令牌"
    r"|パスワード|合言葉|トークン|暗証番号|秘密鍵)"
    r"(?P<suffix>(?:[_-](?:prod|production|test|dev|live|staging|value|base64|b64|hash|hex|\d{1,2})|[0-9]|\(s\))?)"
    r"(?P<shut>\\{0,3}[\"'`\]*]{0,3})"
    r"(?P<between>[ \t]{0,4}(?::=|=>|={1,3}|:{1,2}|：|＝|->)[ \t]{0,40}"
    r"|[ \t]{0,4},?[ \t]{0,4}(?:\n[ \t]{0,20})?[\"']?value[\"']?[ \t]{0,4}[:=][ \t]{0,4}|[ \t]{0,2},[ \t]{0,2}"
    r"|[ \t]{0,2}(?:is|was|는|은|이|가|是|为|為|は)[ \t]{0,2}[:：=]?[ \t]{0,2}"
    r"|[ \t]{0,20}\|[ \t]{0,20}|>(?=[^<\s]{3,200}</))"
    r"(?P<open>(?:[bruf]{0,2})\\{0,3}[\"'`「“‘]|\*\*[ \t]{0,4}|)",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?:[!-%(-+\--:=-_a-{}~]|[&;|,](?!\s|$|[\w.%-]{1,40}=|[^\w]))+")
_LINK = re.compile(
    r"!?\[[`*_]{0,3}(?P<label>[^\[\]\n`*]{1,200}?)[`*_]{0,3}\]"
    r"(?:\(<?(?:#[\w%.-]{1,200}|(?:https?://)?[\w.%/~-]{0,200}[./][\w.%/~-]{0,200}(?:[?#][\w=&#%./+-]{0,200})?)>?\)"
    r"|\[[\w .-]{1,100}\])"
)
"""A link of Markdown, to an address or to a reference."""
_HASHED = re.compile(r"(?:sha\d*|md5|bcrypt|argon2\w*|pbkdf2\w*)[:$-]|\$(?:2[aby]|argon2\w*|[156y])\$", re.IGNORECASE)
_CLOSING = {"「": "」", "“": "”", "‘": "’"}
_MAX_VALUE_LENGTH = 400
_CHOSEN_NAMES = (
    *(
        "pass",
        "pw",
        "kennwort",
        "contrase",
        "mot de passe",
        "senha",
        "пароль",
        "비",
        "암",
        "패",
        "密码",
        "密碼",
        "口令",
    ),
    *("パス", "合言葉", "暗"),
)
"""Beginnings of the names of secrets that people choose. Programs generate secrets with other names."""
_PROSE = ("is", "was", "는", "은", "이", "가", "是", "为", "為", "は")


def _find_by_name(text: str) -> Iterator[Secret]:
    """Yield values that follow the name of a secret, such as password, token or key."""
    position = 0
    while match := _NAME.search(text, position):
        position = match.end("name")
        if (secret := _named_secret(text, match)) is not None:
            position = secret.end
            yield secret


def _named_secret(text: str, match: re.Match[str]) -> Secret | None:
    opening = match["open"].strip("* \t")
    between = match["between"].strip()
    if not opening and between == ",":
        return None
    start = match.end("open")
    in_sentence = between.rstrip(":：= ").lower() in (*_PROSE, "|")
    if link := None if opening else _LINK.match(text, start):  # the value is what a reader sees, not the address
        start = link.start("label")
        value = link["label"]
    else:
        value = _quoted_value(text, start) if opening else _bare_value(text, start)
    if not value or match["suffix"].endswith("hash") or _HASHED.match(value) or is_placeholder(value):
        return None
    if value.lower().endswith(f".{match['name'].lower()}"):  # the path of a setting, such as `providers.NAME.apiKey`
        return None
    if _is_secret_value(value, match, text, quoted=bool(opening), in_sentence=in_sentence):
        return Secret(start, start + len(value), "password" if "pass" in match["name"].lower() else "secret")
    return None


def _quoted_value(text: str, start: int) -> str:
    """Return the text up to the matching quotation mark, or an empty string if it is not on the same line."""
    mark = _CLOSING.get(text[start - 1], text[start - 1])
    end = text.find(mark, start, start + _MAX_VALUE_LENGTH)
    return "" if end < 0 or "\n" in text[start:end] else text[start:end].rstrip("\\")


def _bare_value(text: str, start: int) -> str:
    match = _BARE.match(text, start, start + _MAX_VALUE_LENGTH)
    return match[0].rstrip(".,;:!?)}]*") if match else ""


def _is_secret_value(value: str, match: re.Match[str], text: str, *, quoted: bool, in_sentence: bool) -> bool:
    """Return whether a value is a secret, and not a word about one, a count or a variable."""
    name = match["name"].lower()
    separator = match["between"]
    is_password_name = name.startswith(_CHOSEN_NAMES)
    context = ValueContext(
        text,
        *match.span("name"),
        match.end("open"),
        _separator(separator),
        has_blanks=separator != separator.strip(),
        quoted=quoted,
        in_sentence=in_sentence,
        is_password_name=is_password_name,
    )
    if " " not in value and is_chosen(value, context):
        return True
    if value.isdigit():
        return is_password_name and len(value) >= 6
    if " " in value:  # a sentence or a quoted passphrase
        return quoted and name == "passphrase" and not in_sentence
    if is_ordinary(value):
        return False
    if is_password(value, shortest=6 if is_password_name else 8):
        return is_password_name or is_varied(value) or quoted
    return False


def _separator(between: str) -> str:
    """Return the separator without blanks, or `VALUE_KEY` if name and value have keys of their own."""
    return VALUE_KEY if VALUE_KEY in between.lower() else between.strip()


_LONG = re.compile(r"(?<![A-Za-z0-9_+/-])[A-Za-z0-9_+/-]{24,}+={0,2}")
_IDENTIFIER_NAME = re.compile(
    r"(?:\bid|[a-z]Id|_id|hash|sha\d*|digest|checksum|etag|integrity|cursor|nonce|commit|rev|revision|fingerprint|build"
    r"|version|uuid|guid|cid|address|base64|sum|pubkey|public[_ -]?key|verification)"
    r"[\"'\]]{0,2}\s{0,3}[:=,-]?\s{0,3}(?:W/)?[\"'`(]{0,2}$",
    re.IGNORECASE,
)
PUBLIC_VALUES = re.compile(
    r"data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=_%-]*+"
    r"|-----BEGIN (?!(?:[A-Z0-9]{1,12} ){0,3}PRIVATE)[A-Z0-9 ]{1,40}-----[^-]*+(?:-(?!----)[^-]*+)*-----END"
    r"|(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[a-z0-9]{4,12}|sk-ssh-[a-z0-9@.]{4,30}) AAAA[A-Za-z0-9+/=]*+"
    r"|\bsha(?:1|256|384|512)[-:=][A-Za-z0-9+/_-]*+=*"
)
_MAX_RANDOM_LENGTH = 160
"""Longer runs are content, such as a picture, and not keys."""


def _find_random(text: str) -> Iterator[Secret]:
    """Yield long words in which letters and digits alternate at random."""
    public_spans: list[tuple[int, int]] | None = None
    for match in _LONG.finditer(text):
        value = match[0]
        start, end = match.span()
        if end - start > _MAX_RANDOM_LENGTH or not is_random(value.rstrip("="), 24) or is_identifier(value):
            continue
        if public_spans is None:
            public_spans = [public_value.span() for public_value in PUBLIC_VALUES.finditer(text)]
        if any(first <= start < last for first, last in public_spans) or _is_in_path(text, start, end):
            continue
        if not _IDENTIFIER_NAME.search(text, max(0, start - 40), start) and not _is_readable(value, text, start, end):
            yield Secret(start, end, "random")


def _is_readable(value: str, text: str, start: int, end: int) -> bool:
    """Return whether a value is base64 of text, a placeholder, or a line of a longer block of base64."""
    is_whole_line = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] in "\r\n")
    return is_text_in_base64(value) or is_placeholder(value) or (is_whole_line and end - start >= 60)


def _is_in_path(text: str, start: int, end: int) -> bool:
    """Return whether a value is part of an address, a path, a file name or an e-mail address."""
    run = re.search(r"[^\s\"'`<>()\[\]{},;]*$", text[max(0, start - 300) : start])
    before = run[0] if run else ""
    after = text[end : end + 2]
    if "://" in before or before[-1:] in {"/", "\\", "@", "#", ".", "%"} or text[start] == "/":
        return True
    return after[:1] in {"@", "\\"} or (after[:1] == "." and after[1:].isalnum())


_LINE = re.compile(r"(?<!\S)[A-Za-z0-9+/]{60,76}+={0,2}(?!\S)")
"""A line as wide as the lines of a private key."""
_LAST = re.compile(r"(?P<line>[A-Za-z0-9+/]{1,76}={0,2})(?=\s{1,4}-----END [A-Z0-9 ]{0,48}PRIVATE KEY)")


def mask_outgoing(text: str) -> str:
    """Return the text that a service may read. A text without secrets is returned as the same object.

    Notes are cut into chunks before they are embedded. A chunk may begin in the middle of a private key whose first
    line is in the previous chunk. Lines that may belong to a private key are therefore masked too; they would add no
    meaning to a vector.
    """
    masked = mask(text)
    if len(masked) < 60:
        return masked
    public_spans = (
        [public_value.span() for public_value in PUBLIC_VALUES.finditer(masked)] if _LINE.search(masked) else []
    )

    def mask_line(line: re.Match[str]) -> str:
        is_public = any(start <= line.start() < end for start, end in public_spans)
        return line[0] if is_public or not is_mixed(line[0]) or is_text_in_base64(line[0]) else MASK

    outgoing = _LINE.sub(mask_line, masked)
    outgoing = _LAST.sub(MASK, outgoing) if "PRIVATE KEY" in outgoing else outgoing
    return masked if outgoing == masked else outgoing
