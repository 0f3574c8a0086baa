"""Made-up secrets and what only looks like them; put together when asked for, so that no file holds what looks live."""

from __future__ import annotations

import base64
import random
import string
import uuid
from dataclasses import dataclass

LOWER = string.ascii_lowercase
UPPER = string.ascii_uppercase
DIGITS = string.digits
MIXED = LOWER + UPPER + DIGITS
URLSAFE = MIXED + "-_"
BASE64 = MIXED + "+/"
HEX = DIGITS + "abcdef"
CAPITALS = UPPER + "234567"


@dataclass(frozen=True)
class Sample:
    kind: str
    text: str
    secret: str
    """What must not be read afterwards."""


@dataclass(frozen=True)
class Format:
    kind: str
    start: str
    alphabet: str
    length: int
    end: str = ""


FORMATS = (
    Format("openai", "sk-", MIXED, 48),
    Format("openai project", "sk-" + "proj-", URLSAFE, 120),
    Format("anthropic", "sk-" + "ant-api03-", URLSAFE, 95),
    Format("github", "gh" + "p_", MIXED, 36),
    Format("github server", "gh" + "s_", MIXED, 36),
    Format("github fine-grained", "github" + "_pat_", MIXED, 82),
    Format("gitlab", "gl" + "pat-", URLSAFE, 20),
    Format("slack bot", "xox" + "b-", DIGITS + LOWER, 50),
    Format("slack app", "xapp" + "-1-", MIXED, 60),
    Format("slack hook", "https://hooks.slack" + ".com/services/T0", MIXED, 38),
    Format("aws id", "AK" + "IA", CAPITALS, 16),
    Format("google", "AI" + "za", URLSAFE, 35),
    Format("google client", "GOC" + "SPX-", URLSAFE, 28),
    Format("google access", "ya2" + "9.", URLSAFE, 120),
    Format("stripe", "sk_" + "live_", MIXED, 24),
    Format("stripe hook", "wh" + "sec_", MIXED, 32),
    Format("twilio", "S" + "K", HEX, 32),
    Format("npm", "np" + "m_", MIXED, 36),
    Format("pypi", "pypi-" + "AgEIcHlwaS5vcmc", URLSAFE, 120),
    Format("hugging face", "h" + "f_", LOWER + UPPER, 34),
    Format("databricks", "da" + "pi", HEX, 32),
    Format("shopify", "shp" + "at_", HEX, 32),
    Format("digitalocean", "dop" + "_v1_", HEX, 64),
    Format("groq", "gs" + "k_", MIXED, 52),
    Format("vault", "hv" + "s.", URLSAFE, 40),
    Format("mailgun", "ke" + "y-", HEX, 32),
    Format("linear", "lin_" + "api_", MIXED, 40),
    Format("age", "AGE-SECRET" + "-KEY-1", UPPER + DIGITS, 58),
    Format("mailchimp", "", HEX, 32, "-us" + "12"),
    Format("grafana", "gl" + "sa_", MIXED, 32),
)

AROUND = (
    '{{"service": "mail", "value": "{0}", "retries": 3}}',
    "export SERVICE={0}\n",
    "I put {0} into the settings; please rotate it next week.",
    "열쇠는 {0}이고 다음 주에 바꿉니다.",
    "新的密钥{0}已经写进配置了。",
    "鍵は「{0}」です。",
    'client = Client("{0}", timeout=5)',
    "X-Service: {0}\r\nAccept: */*\r\n",
    "https://api.service.test/v1/items?access={0}&page=2",
    "- {0}\n- another line of the list\n",
    '"stdout": "done\\n{0}\\n"',
    "`{0}`",
    "<{0}>",
    "# {0} (old)\n",
)


class Secrets:
    """A source of secrets that gives the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self, alphabet: str, length: int) -> str:
        """Random characters, of every class that the alphabet has, as real keys are."""
        classes = [set(each) & set(alphabet) for each in (LOWER, UPPER, DIGITS)]
        while True:
            word = "".join(self.random.choices(alphabet, k=length))
            if all(not each or set(word) & each for each in classes) and word[-1].isalnum() and word[0].isalnum():
                return word

    def password(self) -> str:
        words = ("winter", "Tiger", "correct", "Moon", "hunter", "Blau", "castle", "Kimchi", "dragon", "Paris")
        middle = self.random.choice(("", "!", "_", "#", "-", "$"))
        return self.random.choice(words) + middle + str(self.random.randrange(10, 9999)) + self.random.choice("!?xQz7%")

    def pem(self) -> tuple[str, str]:
        lines = [self.word(BASE64, 64) for _ in range(self.random.randrange(4, 25))]
        kind = self.random.choice(("", "RSA ", "EC ", "OPENSSH "))
        head, foot = (f"-----{word} {kind}PRIVATE " + "KEY-----" for word in ("BEGIN", "END"))
        return "\n".join([head, *lines, self.word(BASE64, 20) + "==", foot]), lines[1]

    def samples(self, count: int) -> list[Sample]:
        """So many, over all formats and contexts in turn."""
        makers = (self.formatted, self.formatted, self.formatted, self.placed, self.named)
        return [makers[number % len(makers)](number) for number in range(count)]

    def formatted(self, number: int) -> Sample:
        chosen = FORMATS[(number // 5 * 3 + number % 5) % len(FORMATS)]
        body = self.word(chosen.alphabet, chosen.length)
        around = self.random.choice(AROUND)
        return Sample(chosen.kind, around.format(chosen.start + body + chosen.end), body)

    def placed(self, number: int) -> Sample:
        makers = (
            *(self._database, self._basic_url, self._bearer, self._basic, self._cookie, self._pem, self._pem_line),
            *(
                self._azure,
                self._jwt,
                self._telegram,
                self._discord,
                self._sendgrid,
                self._aws,
                self._curl,
                self._netrc,
            ),
            *(self._flag, self._signed, self._random),
        )
        return makers[number // 5 % len(makers)]()

    def named(self, number: int) -> Sample:
        password = self.password()
        token = self.word(MIXED, self.random.randrange(16, 48))
        digest = self.word(HEX, 40)
        texts = (
            (f"DB_PASSWORD={password}\n", password),
            (f'password: "{password}"\n', password),
            (f"password = '{password}'", password),
            (f'{{"user": "kim", "password": "{password}"}}', password),
            (f'"{{\\"api_key\\": \\"{token}\\"}}"', token),
            (f"api_key: {token}", token),
            (f"SECRET_TOKEN={token}", token),
            (f"const clientSecret = '{token}';", token),
            (f"X-Api-Key: {token}", token),
            (f"The password is {password}, tell nobody.", password),
            (f"비밀번호는 {password}입니다.", password),
            (f"비밀번호: {password}", password),
            (f"密码是{password}，不要告诉别人。", password),
            (f"密码：{password}", password),
            (f"パスワードは{password}です。", password),
            (f"auth_token = {digest}", digest),
            (f"//registry.test/:_authToken={token}", token),
            (f"Server=db;Database=x;User Id=sa;Password={password};Encrypt=true", password),
            (f"docker run -e TOKEN={token} image", token),
            (f"| password | `{password}` |\n| user | kim |", password),
            (f"HEROKU_API_KEY={uuid.UUID(int=self.random.getrandbits(128), version=4)}", ""),
            (f'os.environ["ACCESS_TOKEN"] = "{token}"', token),
        )
        text, secret = texts[number // 5 % len(texts)]
        return Sample("named", text, secret or text.partition("=")[2])

    def _database(self) -> Sample:
        password = self.password().replace("#", "-").replace("?", "x")
        scheme = self.random.choice(("postgres", "mysql", "mongodb+srv", "redis", "amqp"))
        return Sample("database address", f"DATABASE_URL={scheme}://app:{password}@db.internal:5432/app", password)

    def _basic_url(self) -> Sample:
        password = self.word(MIXED, 14)
        return Sample("address", f"git clone https://kim:{password}@git.test/team/notes.git", password)

    def _bearer(self) -> Sample:
        token = self.word(URLSAFE, 40)
        return Sample("bearer", f"curl -H 'Authorization: Bearer {token}' https://api.test/v1", token)

    def _basic(self) -> Sample:
        value = base64.b64encode(f"kim:{self.password()}".encode()).decode()
        return Sample("basic", f"Authorization: Basic {value}\r\n", value.rstrip("="))

    def _cookie(self) -> Sample:
        value = self.word(MIXED, 32)
        return Sample("cookie", f"Cookie: theme=dark; sid={value}; lang=en", value)

    def _pem(self) -> Sample:
        key, line = self.pem()
        return Sample("pem", f"Here it is:\n{key}\nKeep it.\n", line)

    def _pem_line(self) -> Sample:
        key, line = self.pem()
        return Sample("pem on one line", " ".join(key.split()), line)

    def _azure(self) -> Sample:
        key = self.word(BASE64, 86) + "=="
        text = f"DefaultEndpointsProtocol=https;AccountName=notes;AccountKey={key};EndpointSuffix=core.windows.net"
        return Sample("azure", text, key)

    def _jwt(self) -> Sample:
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        body = base64.urlsafe_b64encode(f'{{"sub":"{self.word(DIGITS, 8)}"}}'.encode()).decode().rstrip("=")
        sign = self.word(URLSAFE, 43)
        return Sample("jwt", self.random.choice(AROUND).format(f"{head}.{body}.{sign}"), sign)

    def _telegram(self) -> Sample:
        rest = self.word(URLSAFE, 33)
        return Sample("telegram", f"bot {self.word('123456789', 10)}:AA{rest} is ready", rest)

    def _discord(self) -> Sample:
        rest = self.word(URLSAFE, 38)
        return Sample("discord", f'client.run("M{self.word(MIXED, 25)}.{self.word(MIXED, 6)}.{rest}")', rest)

    def _sendgrid(self) -> Sample:
        rest = self.word(URLSAFE, 43)
        return Sample("sendgrid", f"SG.{self.word(URLSAFE, 22)}.{rest}", rest)

    def _aws(self) -> Sample:
        key = self.word(BASE64, 40)
        return Sample("aws secret", f"aws_secret_access_key = {key}\nregion = eu-west-1\n", key)

    def _curl(self) -> Sample:
        password = self.word(MIXED, 12)
        return Sample("curl", f"curl -s -u admin:{password} https://ci.test/job", password)

    def _netrc(self) -> Sample:
        password = self.password()
        return Sample("netrc", f"machine git.test login kim password {password}\n", password)

    def _flag(self) -> Sample:
        token = self.word(MIXED, 24)
        return Sample("flag", f"deploy --token {token} --region eu", token)

    def _signed(self) -> Sample:
        signature = self.word(HEX, 64)
        return Sample(
            "signed address", f"https://b.s3.test/x.png?X-Amz-Expires=60&X-Amz-Signature={signature}", signature
        )

    def _random(self) -> Sample:
        token = self.word(MIXED, self.random.randrange(30, 50))
        text = self.random.choice(("it says {0} on the card", "{0}", "값: {0}", 'send("{0}")', "value={0}")).format(
            token
        )
        return Sample("random", text, token)


class LookAlikes:
    """A source of texts without a secret, of the kinds that rules take for secrets."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.word = Secrets(seed + 1).word

    def samples(self, count: int) -> list[str]:
        """So many, over all kinds in turn."""
        makers = self._makers()
        return [self._text(makers[number % len(makers)]) for number in range(count)]

    def _text(self, maker: object) -> str:
        assert callable(maker)
        return str(maker())

    def _name(self) -> str:
        words = (
            "user",
            "profile",
            "memory",
            "search",
            "query",
            "hybrid",
            "index",
            "vector",
            "token",
            "count",
            "loader",
        )
        return "".join(word.title() for word in self.random.choices(words, k=self.random.randrange(3, 7)))

    def _makers(self) -> tuple[object, ...]:
        word = self.word
        pick = self.random.choice
        number = self.random.randrange
        names = ("max_tokens", "total_tokens", "token_count", "tokens", "tokenLimit", "passwordMinLength", "secretName")
        calls = ("get_password()", "os.environ['DB_PASSWORD']", "${DB_PASSWORD}", "process.env.TOKEN", "<your-token>")
        prose = (
            "The password is required and must have at least 12 characters.",
            "Reset your password: open the settings and choose a new one.",
            "token: the smallest unit that a model reads",
            "비밀번호는 12자 이상이어야 합니다.",
            "密码必须至少有12个字符。",
            "パスワードは忘れないでください。",
            "Secret: nobody knows who wrote it.",
            "Donaudampfschifffahrtsgesellschaftskapitän und Rechtsschutzversicherungsgesellschaften",
            "Authorization: see the chapter on roles and permissions",
            "The bearer of this document may enter the building.",
            "basic understanding of databases is enough",
            "a cookie: flour, butter and sugar; bake for 12 minutes",
        )
        return (
            lambda: f"commit {word(HEX, 40)}",
            lambda: f"fixed in {word(HEX, 7)} and {word(HEX, 12)}",
            lambda: f'"id": "{uuid.UUID(int=self.random.getrandbits(128), version=4)}"',
            lambda: f"key: {uuid.UUID(int=self.random.getrandbits(128), version=4)}",
            lambda: f"--hash=sha256:{word(HEX, 64)}",
            lambda: f"{word(HEX, 64)}  notes.tar.gz",
            lambda: f'"integrity": "sha512-{word(BASE64, 86)}=="',
            lambda: f"SHA256:{word(BASE64, 43)} kim@laptop (ED25519)",
            lambda: f"src/components/{self._name()}/{self._name()}.tsx",
            lambda: f"/home/kim/.cache/{word(MIXED, 21)}/{word(HEX, 32)}.bin",
            lambda: "C:\\Users\\kim\\AppData\\Local\\" + self._name() + "\\" + self._name(),
            lambda: f"![x](data:image/png;base64,{word(BASE64, 120)}==)",
            lambda: base64.b64encode(
                f"The meeting is on {self._name()} at ten o'clock, bring the papers".encode()
            ).decode(),
            lambda: f"https://docs.test/d/{word(URLSAFE, 44)}/edit#gid=0",
            lambda: f"https://cdn.test/assets/main.{word(HEX, 8)}.js?v={number(1, 99)}.{number(99)}",
            lambda: f"https://video.test/watch?v={word(URLSAFE, 11)}&t={number(900)}s",
            lambda: f"2026-0{number(1, 9)}-1{number(9)}T10:{number(10, 59)}:00.{number(100, 999)}Z",
            lambda: f"INVOICE-2026-{number(10**8, 10**9)}-{number(10, 99)}",
            lambda: f"{self._name()}Factory{self._name()}",
            lambda: "".join(f".{word(LOWER, 2)}{{{word(LOWER, 1)}:{number(9)}px}}" for _ in range(12)),
            lambda: f"function {word(LOWER, 2)}(e,t,n){{return {word(LOWER, 1)}.{word(LOWER, 2)}(e)&&t?n:void 0}}",
            lambda: f"v{number(9)}.{number(20)}.{number(9)}-rc.{number(9)}+{word(HEX, 12)}",
            lambda: f"color: #{word(HEX, 6)}; background: #{word(HEX, 8)};",
            lambda: ":".join(word(HEX, 4) for _ in range(8)),
            lambda: (
                f'class="btn btn-primary sk-fading-circle-{word(LOWER, 8)}-wrapper-large {self._name()}_root__3xK9z"'
            ),
            lambda: f'"ulid": "01{word(DIGITS + "ABCDEFGHJKMNPQRSTVWXYZ", 24)}"',
            lambda: f"cache/{word(URLSAFE, 21)}/index.json",
            lambda: f"api-server-{word(DIGITS + 'bcdfghjk', 9)}-{word(DIGITS + 'bcdfghjk', 5)} 1/1 Running",
            lambda: "memorySearch.query.hybrid.vectorWeight and memorySearch.sync.sessions.deltaBytes",
            lambda: f"{pick(names)}: {number(1, 9999)}",
            lambda: f"{pick(names)}={number(1, 9999)}",
            lambda: f"password = {pick(calls)}",
            lambda: f"connect(user=user, password=password, token=self.{self._name()}.token)",
            lambda: f"def login(password: str, token: str | None = None) -> {self._name()}:",
            lambda: pick(prose),
            lambda: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{word(BASE64, 43)} kim@laptop",
            lambda: f"-----BEGIN CERTIFICATE-----\n{word(BASE64, 64)}\n{word(BASE64, 64)}\n-----END CERTIFICATE-----",
            lambda: f'ETag: W/"{word(BASE64, 27)}"',
            lambda: f"Message-ID: <{word(MIXED, 30)}@mail.test>",
            lambda: f"kim.{word(LOWER, 5)}+notes{number(99)}@mail.test",
            lambda: f"image: registry.test/team/app@sha256:{word(HEX, 64)}",
            lambda: f"+82-10-{number(1000, 9999)}-{number(1000, 9999)}, 4{number(10**2, 10**3)} 1234 5678 9012",
            lambda: f"ISBN 978-3-16-148410-{number(9)}, DOI 10.1000/{word(LOWER, 4)}.2026.{number(10**5)}",
            lambda: f"postgres://app:{pick(('password', '${PASS}', '<password>', '***'))}@localhost:5432/app",
            lambda: f"nextPageCursor: {word(BASE64, 40)}",
            lambda: "안녕하세요 " * 3 + "데이터베이스마이그레이션계획문서최종본",
            lambda: f"pk_live_{word(HEX, 8)} is not it; keyboard-shortcut-{word(LOWER, 14)}",
            lambda: f"sk-{'x' * 40} or sk-your-key-goes-here-please-{number(9)}",
            lambda: f"Test{number(10**6)}ShouldReturn{self._name()}WhenTheIndexIsEmpty",
            lambda: f"{word(UPPER, 5)}_{word(UPPER, 8)}_{word(UPPER, 6)}_{word(UPPER, 9)}={number(9)}",
        )
