"""Patterns of secrets with a recognizable format: a fixed prefix, and the characters after it.

Every pattern has a bounded lookbehind and starts only at the start of a token, so that no text makes it slow.
"""

from __future__ import annotations

import re

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
