"""The interface of a vendor: the settings of a provider, its models, and pure functions for requests and responses."""

from __future__ import annotations

import base64
import ipaddress
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

from memoriter.embed.remote._wire import ErrorResponse, json_object, listed, matrix, ordered, usual_error
from memoriter.errors import ConfigError
from memoriter.providers import DEFAULT_MODELS
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.embed.remote._wire import Request
    from memoriter.errors import EmbeddingError
    from memoriter.types import Role

    Build = Callable[[Sequence[str], Role, "RemoteSettings"], Request]
    Parse = Callable[[bytes, int, int | None, str], NDArray[np.float64]]
    ErrorOf = Callable[[ErrorResponse], EmbeddingError]

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VISIBLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
UNMEASURED = (0.3, 0.1)
"""Background of a model that has not been measured: a typical value.

`resolve` measures the model, and a large index measures its own background.
"""

PLAIN = "{text}"
_SEARCHING = "Represent this sentence for searching relevant passages: {text}"
_TASK = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
PROBE = (
    "The tomatoes on the balcony need water twice a day in July, otherwise the leaves curl before noon.",
    "We moved the nightly backup to three o'clock because the old slot collided with the report.",
    "Her flight lands in Lisbon on Thursday evening and the rental car is already paid.",
    "The violin teacher asked for slower scales and a looser wrist in the second position.",
    "Invoices above five thousand euros are signed by two people and kept for ten years.",
    "After the marathon his left knee hurt for a week, so the doctor ordered rest and cold packs.",
    "The compiler warns about an unused variable in the parser, which hides the real mistake.",
    "Grandmother's dumplings want cabbage, a little ginger and dough that rested for an hour.",
    "The council voted to close the bridge for lorries until the cracks have been measured.",
    "Jupiter is bright in the east these nights; four of its moons can be seen through binoculars.",
    "The cat sleeps on the router since it is the warmest place in the flat.",
    "In the third chapter the lighthouse keeper finds the letter that his brother never sent.",
)
_LEAST_DEVIATION = 0.02
"""Lower limit, because there are few pairs: with a smaller deviation, a chance similarity would look like a match."""


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """One model of one service. Secrets are never shown.

    Raises:
        ConfigError: the address, the key or a header cannot be sent; the message does not repeat it.
    """

    vendor: str
    model: str = ""
    """Empty for the vendor's default."""
    base_url: str = field(default="", repr=False)
    """Empty for the vendor's own. `endpoint_of` returns the part that may be shown."""
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with every call; they replace our own headers of the same name."""
    dimensions: int | None = None
    """Known from an earlier response, or requested from a model that supports several."""
    background: tuple[float, float] | None = None
    """Known from an earlier `resolve`."""
    offline: bool = False
    """Refuse every address that is not on this machine."""
    query_seconds: float | None = None
    document_seconds: float | None = None
    """Time limit for a call with its repetitions.

    None is 60 s for a query and 120 s for documents; in the local network, 5 and 10 minutes.
    """

    def __post_init__(self) -> None:
        if self.base_url:
            endpoint_of(self.base_url)
        if self.api_key and not _VISIBLE.fullmatch(self.api_key):
            raise ConfigError(
                f"The key for {self.vendor!r} has characters that no key has, such as a line break.",
                remedy="Copy the key again, or check the variable that it comes from.",
            )
        for name, value in self.headers.items():
            if not _TOKEN.fullmatch(name) or (value and not _VISIBLE.fullmatch(value)):
                raise ConfigError(f"The header {name!r} in remote.headers cannot be sent.", remedy="Use plain ASCII.")
        if self.dimensions is not None and self.dimensions < 1:
            raise ConfigError(f"Vectors cannot have {self.dimensions} dimensions.")

    @property
    def secrets(self) -> tuple[str, ...]:
        """All strings that must never be shown, even if a service repeats them."""
        user, _, password = urlsplit(self.base_url).netloc.rpartition("@")[0].partition(":")
        headers = (*self.headers.values(), *credentials_of(self.base_url).values())
        parts = (part for value in headers for part in value.split()[1:])
        return tuple(filter(None, (self.api_key, *headers, *parts, unquote(password or user), password)))


def endpoint_of(base_url: str) -> str:
    """Return the address without credentials and without a trailing slash.

    Raises ConfigError: it is not the address of a web service.
    """
    try:
        parts = urlsplit(base_url.strip())
        host = (parts.hostname or "").lower()
        port = parts.port
    except ValueError:
        host = ""
        port = None
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment or not host.isascii():
        raise ConfigError(
            "The setting remote.baseUrl is not the address of a service.",
            remedy="Write it as https://host/path, without a query; what else is needed goes into remote.headers.",
        )
    netloc = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{netloc}:{port}" if port else netloc, parts.path.rstrip("/"), "", ""))


def embeddings_address(base_url: str) -> str:
    """Return the address of a service without the method that people paste with it. Raises ConfigError."""
    return endpoint_of(base_url).removesuffix("/embeddings")


def credentials_of(base_url: str) -> dict[str, str]:
    """Return the header for the user and password in the address, or an empty mapping."""
    user = urlsplit(base_url.strip()).netloc.rpartition("@")[0]
    return {"authorization": "Basic " + base64.b64encode(unquote(user).encode()).decode()} if user else {}


def headers_for(settings: RemoteSettings, key_header: str = "authorization", prefix: str = "Bearer ") -> dict[str, str]:
    """Return the headers that identify the caller; headers of the settings take precedence."""
    own = credentials_of(settings.base_url)
    if settings.api_key:
        own[key_header] = prefix + settings.api_key
    return own | {name.lower(): value for name, value in settings.headers.items()}


def is_loopback(url: str) -> bool:
    """Return whether the address is this machine, without a name lookup."""
    host = (urlsplit(url).hostname or "").lower()
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_local_network(url: str) -> bool:
    """Return whether the address is this machine or in the local network, where models are slow and free of charge."""
    host = (urlsplit(url).hostname or "").lower()
    address = _address(host)
    if address is None:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))
    return address.is_loopback or address.is_private or address.is_link_local


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """One model, as a service offers it."""

    dimensions: int | None = None
    """Default dimensions of the vectors; None if only the model's response shows them."""
    sizes: tuple[int, int] | None = None
    """Minimum and maximum dimensions that can be requested."""
    max_tokens: int = 8192
    """Maximum tokens of one text, including its prefix."""
    max_inputs: int = 32
    """Maximum texts in one request."""
    max_request_tokens: int = 100_000
    """Maximum tokens in one request."""
    query_template: str = PLAIN
    document_template: str = PLAIN
    """Templates around a text, applied here or, with a `task`, by the service."""
    tasks: tuple[str, str] = ("", "")
    """The service's names for query and document. With them the service adds its own words."""
    background: tuple[float, float] = UNMEASURED


def _row(
    pattern: str, query: str = PLAIN, document: str = PLAIN, tokens: int = 512
) -> tuple[re.Pattern[str], RemoteModel]:
    return re.compile(pattern), RemoteModel(max_tokens=tokens, query_template=query, document_template=document)


# Templates from the models' cards. Dimensions come from the model itself, because servers cut, pad and rename.
_OPEN_MODELS = (
    _row(r"nomic-embed", "search_query: {text}", "search_document: {text}", 2048),
    _row(r"embedding-?gemma", "task: search result | query: {text}", "title: none | text: {text}", 2048),
    _row(r"qwen3-?(?:vl-)?embed", _TASK + "{text}", tokens=32_768),
    _row(r"e5-mistral|e5-large-instruct|gte-qwen", _TASK.replace("Query:", "Query: ") + "{text}"),
    _row(r"(?:^|[-_])e5[-_:]", "query: {text}", "passage: {text}"),
    _row(r"bge-m3", tokens=8192),
    _row(r"bge-(?:small|base|large)-zh", "为这个句子生成表示以用于检索相关文章:{text}"),
    _row(r"bge-(?:small|base|large)|mxbai-embed", _SEARCHING),
    _row(r"snowflake-arctic-embed[-:]?.*(?:v2|2\.0)|arctic-embed2", "query: {text}", tokens=8192),
    _row(r"arctic-embed", _SEARCHING),
    _row(r"jina-embeddings-v5", "Query: {text}", "Document: {text}", 8192),
    _row(r"all-minilm|paraphrase-multilingual", tokens=256),
    _row(r"granite-embedding"),
)


def open_model(name: str) -> RemoteModel | None:
    """Return the properties of a model with open weights, by any of its names on servers, or None."""
    short = name.lower().rpartition("/")[2]
    return next((model for pattern, model in _OPEN_MODELS if pattern.search(short)), None)


def background_of(vectors: NDArray[np.float32]) -> tuple[float, float]:
    """Return the mean and standard deviation of the cosine of two unrelated texts, from vectors of unit length."""
    import numpy as np

    above = np.triu_indices(len(vectors), 1)
    cosines = (vectors.astype(np.float64) @ vectors.T.astype(np.float64))[above]
    return round(float(cosines.mean()), 3), round(max(float(cosines.std()), _LEAST_DEVIATION), 3)


def parse_data(body: bytes, count: int, dimensions: int | None, service: str) -> NDArray[np.float64]:
    """Return vectors of shape (count, dimensions), in the order of the texts, from the list `data` of a response.

    Raises:
        BadVector: the number of vectors or of dimensions is wrong.
        TransientFailure: the body is not a response of the API.
    """
    rows = ordered(listed(json_object(body, service), "data", service), count, service)
    return matrix(rows, count=count, dimensions=dimensions, service=service)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    plain: float
    batch: float | None
    """Through the vendor's batch interface; None if it has none for embeddings, or if memoriter does not use it."""
    page: str
    """The vendor's page with the current price."""
    seen: str = "2026-05"
    """Year and month of the figure."""
    request: float = 0.0
    """US dollars for each request, where a vendor bills requests."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """A service, or a family of services with the same interface."""

    name: str
    title: str
    """The vendor's own spelling, for messages."""
    base_url: str
    models: Mapping[str, RemoteModel]
    unlisted_model: Callable[[RemoteSettings], RemoteModel]
    """Returns the assumed properties of a model that is not in the table."""
    build_request: Build
    """Texts, role, resolved settings. Texts are sanitized, and templates are already around them."""
    refuse: ErrorOf = usual_error
    """Returns the error that an answer means which is not a success."""
    parse_response: Parse = parse_data
    """Body of a success, number of texts, dimensions if they are known, and the name from `display_name`.

    Raises BadVector or TransientFailure.
    """
    prefixes: tuple[str, ...] = ()
    """Prefixes that the vendor's own service does not accept in a model's name."""
    needs_key: bool = True
    own_models_only_at_home: bool = False
    """Whether the table is valid for the vendor's own address only, because other services reuse its names."""
    address: Callable[[str], str] = endpoint_of
    """Corrects common mistakes in a base URL."""

    prices: Mapping[str, Price] = field(default_factory=dict[str, "Price"])
    """Prices by model. The price of other models is unknown."""

    @property
    def default_model(self) -> str:
        """The model to use if the settings name none; empty if the vendor has no default."""
        return DEFAULT_MODELS.get(self.name, "")

    def display_name(self, endpoint: str) -> str:
        """Return a name for messages: the vendor's title at its own address, otherwise the host."""
        return self.title if endpoint == self.base_url else urlsplit(endpoint).netloc

    def error_of(
        self, status: int, headers: Mapping[str, str], body: bytes, secrets: Sequence[str], service: str = ""
    ) -> EmbeddingError:
        """Return the error that an answer means which is not a success.

        The names of headers are in lower case, secrets are not repeated, and the service is a `display_name`.
        """
        return self.refuse(ErrorResponse(service or self.title, status, headers, body, secrets))

    def resolved(self, settings: RemoteSettings) -> RemoteSettings:
        """Return the settings with address and model filled in.

        Raises ConfigError: the settings name no model, and the vendor has no default.
        """
        base_url = settings.base_url or self.base_url
        model = settings.model.strip() or self.default_model
        if self.address(base_url) == self.base_url:
            for prefix in self.prefixes:
                model = model.removeprefix(prefix)
        if not model:
            raise ConfigError(
                f"No model of {self.title} is named.", remedy="Set memorySearch.model to one that it serves."
            )
        return replace(settings, base_url=base_url, model=model)

    def model_of(self, settings: RemoteSettings) -> RemoteModel:
        """Return the properties of the model in resolved settings, with the configured dimensions.

        Raises ConfigError: the model does not support the configured dimensions.
        """
        row = self.models.get(settings.model)
        if row is None or (self.own_models_only_at_home and self.address(settings.base_url) != self.base_url):
            return replace(self.unlisted_model(settings), dimensions=settings.dimensions)
        wanted = settings.dimensions
        if wanted is None or wanted == row.dimensions:
            return row
        low, high = row.sizes or (row.dimensions or wanted, row.dimensions or wanted)
        if not low <= wanted <= high:
            allowed = f"{low} to {high}" if low < high else f"{low}"
            raise ConfigError(f"{settings.model} gives vectors of {allowed} dimensions, not {wanted}.")
        return replace(row, dimensions=wanted)
