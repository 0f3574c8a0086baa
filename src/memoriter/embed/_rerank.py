"""Rerankers behind one Protocol, and the choice between them. A reranker reads a question and each passage together.

Nothing is opened or sent before the first question.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from memoriter.embed._choice import Choice, ServiceConfig, first_key
from memoriter.errors import ConfigError, MemoriterError, ProviderUnavailable, TransientFailure, sentence
from memoriter.extras import install_command, missing_packages
from memoriter.providers import OFF, RERANKERS
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from memoriter.embed._choice import ProviderContext
    from memoriter.embed.bundled._graph import JudgeEngine, Judgement
    from memoriter.embed.remote import RemoteReranker, UsageRecorder

_KEY = "query.rerank.remote.apiKey"
JUDGE_NAME = "memoriter-judge-q4"


JUDGE_THREADS = 2
"""Threads of one question. More would take processors from other work for few milliseconds."""


class PassageLike(Protocol):
    """A passage as the judge reads it: the parts around the best one, as many as fit."""

    @property
    def heading(self) -> str: ...
    @property
    def parts(self) -> Sequence[str]: ...
    @property
    def best(self) -> int: ...


class Reranker(Protocol):
    """Scores passages for a question. Safe to share between threads."""

    @property
    def service(self) -> str:
        """The name of the service or model, for messages."""
        ...

    def scores(self, query: str, passages: Sequence[str], *, seconds: float) -> list[float]:
        """Return one finite score for each passage, in order; larger is more relevant, on a scale of its own.

        Raises:
            EmbeddingError: there are no scores.
        """
        ...

    def close(self) -> None:
        """Release the model or the connections. Closing twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """The settings of a reranker, with `${NAME}` and `~` already replaced."""

    cache_dir: Path
    """Folder for files that can be created again."""
    name: str = OFF
    model: str = ""
    candidates: int | None = None
    """The number of hits that are read; None: as many as the kind of reranker reads."""
    remote: ServiceConfig = field(default_factory=ServiceConfig)
    """The address, key and headers of `query.rerank.remote`."""
    services: Mapping[str, ServiceConfig] = field(default_factory=dict[str, ServiceConfig])
    """The entries of `models.providers`."""
    local_model: str = ""
    """A GGUF file, or a folder with an ONNX cross-encoder."""
    offline: bool = False
    environ: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


def choose_reranker(settings: RerankSettings) -> Choice:
    """Return the reranker that the settings name; the kind `none` for `off`.

    Raises:
        ConfigError: there is no such reranker, or its settings are invalid.
        ProviderUnavailable: it cannot be used here, such as a service without a key.
    """
    name = settings.name.strip() or OFF
    row = RERANKERS.get(name)
    if name == OFF:
        return Choice(OFF, "none")
    if row is not None and row.kind == "bundled":
        return Choice(name, "bundled", model=JUDGE_NAME)
    if row is not None and row.kind == "process":
        return _of_a_file(name, settings)
    if row is not None or name in settings.services:
        return _of_a_service(name, settings)
    raise ConfigError(
        f"There is no reranker {name!r}.",
        remedy=f"Set memorySearch.query.rerank to one of: {', '.join((OFF, *RERANKERS, *settings.services))}.",
    )


def _of_a_file(name: str, settings: RerankSettings) -> Choice:
    if not settings.local_model:
        what = "a GGUF file" if name == "local" else "a folder with model.onnx and tokenizer.json"
        raise ConfigError(
            f"The setting memorySearch.query.rerank.provider is {name!r}, but no model is named.",
            remedy=f"Set memorySearch.query.rerank.local.modelPath to {what}.",
        )
    return Choice(name, "onnx" if name == "onnx" else "local", model=Path(settings.local_model).name)


def _of_a_service(name: str, settings: RerankSettings) -> Choice:
    if missing := missing_packages("remote"):
        raise ProviderUnavailable(
            f"The reranker {name!r} needs the extra 'remote': {', '.join(missing)} is not installed.",
            remedy=f"Run `{install_command('remote')}`.",
        )
    from memoriter.embed.remote import RemoteSettings, is_local_network, is_loopback, rerank_vendor_of

    entry = settings.services.get(name, ServiceConfig())
    if (problem := settings.remote.problem or entry.problem) is not None:
        raise problem
    vendor = rerank_vendor_of(_interface(name, entry))
    written = settings.remote.base_url or entry.base_url
    endpoint = vendor.address(written) if written or vendor.base_url else ""
    official = bool(endpoint) and endpoint == vendor.base_url
    # The variables of a vendor are never sent to another address.
    variables = RERANKERS[name].key_variables if official and name in RERANKERS else ()
    key, key_source = first_key(
        (settings.remote.api_key, _KEY),
        (entry.api_key, f"models.providers.{name}.apiKey"),
        *((settings.environ.get(variable, ""), f"environment {variable}") for variable in variables),
    )
    remote = vendor.resolved(
        RemoteSettings(
            vendor=vendor.name,
            model=settings.model,
            base_url=written,
            api_key=key,
            headers={**entry.headers, **settings.remote.headers},
            offline=settings.offline,
        )
    )
    if official and not remote.secrets:
        variables = " or ".join(RERANKERS[vendor.name].key_variables)
        raise ProviderUnavailable(
            f"There is no key for the reranker {name!r}.",
            remedy=f"Set memorySearch.{_KEY}, models.providers.{name}.apiKey or {variables}.",
        )
    leaves = not is_loopback(endpoint)
    if settings.offline and leaves:
        raise ProviderUnavailable(
            f"The reranker {name!r} is at {endpoint}, and memorySearch.offline forbids the network.",
            remedy="Set memorySearch.query.rerank to off, or use a reranker on this machine.",
        )
    return Choice(
        name,
        "remote",
        remote,
        endpoint,
        leaves,
        metered=not is_local_network(endpoint),
        key_source=key_source,
        vendor=vendor.name,
        model=remote.model,
        official_endpoint=official,
    )


def _interface(name: str, entry: ServiceConfig) -> str:
    """Return the interface of a service: its own, the one that `api` names, or that of most servers."""
    from memoriter.embed.remote import rerank_vendors

    api = entry.api.strip().lower()
    return next((each for each in (name, api) if each in rerank_vendors()), "compatible")


def open_reranker(
    choice: Choice, settings: RerankSettings, outside: ProviderContext, account: UsageRecorder | None = None
) -> Reranker:
    """Return the reranker, ready to be asked. Models are loaded at the first question, and nothing is sent before.

    Raises:
        EmbeddingError: it cannot be used now; the message gives the reason, the remedy the next step.
    """
    match choice.kind:
        case "remote":
            return _open_remote(choice, outside, account)
        case "onnx":
            from memoriter.embed.local._onnx import open_onnx_reranker

            return open_onnx_reranker(Path(settings.local_model), clock=outside.monotonic)
        case "local":
            from memoriter.embed.local._gguf import open_gguf_reranker

            path = Path(settings.local_model)
            return open_gguf_reranker(path, cache_dir=settings.cache_dir, clock=outside.monotonic)
        case "bundled" | "none" | "fake":
            raise ProviderUnavailable("No reranker is configured.", remedy="Set memorySearch.query.rerank.")


class Judge:
    """The judge of memoriter, loaded at the first question. Safe to share between threads."""

    def __init__(self, cache_dir: Path, clock: Callable[[], float]) -> None:
        """Prepare the judge; `clock` returns monotonic seconds."""
        self._cache_dir = cache_dir
        self._clock = clock
        self._lock = threading.Lock()
        self._engine: JudgeEngine | None = None
        self._pool: ThreadPoolExecutor | None = None

    def judge(self, question: str, passages: Sequence[PassageLike], *, seconds: float) -> list[Judgement]:
        """Return what the judge says of each passage, in order.

        `seconds` is the time after which no further passage is read; loading the model does not count.

        Raises:
            ProviderUnavailable: the model cannot be loaded.
            TransientFailure: it took too long.
        """
        engine, pool = self._opened()
        end = self._clock() + seconds

        def read(passage: PassageLike) -> Judgement:
            if self._clock() > end:
                raise TransientFailure("The judge took too long.", remedy="Ask again.")
            return engine.judge(question, passage.heading, passage.parts, passage.best)

        return list(pool.map(read, passages))

    @property
    def loaded(self) -> bool:
        """Whether a question need not wait for the model."""
        return self._engine is not None

    def load(self) -> None:
        """Load the model, so that the first question does not wait for it. Raises ProviderUnavailable."""
        self._opened()

    def close(self) -> None:
        """Release the model. Closing twice is harmless."""
        with self._lock:
            pool = self._pool
            self._pool = self._engine = None
        if pool is not None:
            pool.shutdown()

    def _opened(self) -> tuple[JudgeEngine, ThreadPoolExecutor]:
        from concurrent.futures import ThreadPoolExecutor

        with self._lock:
            if self._engine is None:
                self._engine = open_judge(self._cache_dir)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(JUDGE_THREADS, "memoriter-judge")
            return self._engine, self._pool


_ENGINES: WeakValueDictionary[Path, JudgeEngine] = WeakValueDictionary()
"""The engine of each weight file, which all memories of this process share (it holds about 130 MB)."""
_OPENING = threading.Lock()


def open_judge(cache_dir: Path) -> JudgeEngine:
    """Return the judge, loaded. Raises ProviderUnavailable, with the reason, if it cannot run here."""
    from memoriter.embed.bundled import released_weights

    weights = released_weights(cache_dir)
    try:
        from memoriter.embed.bundled._graph import JudgeEngine

        with _OPENING:
            engine = _ENGINES.get(weights) or JudgeEngine(weights, cache_dir)
            _ENGINES[weights] = engine
    except MemoriterError:
        raise
    except Exception as error:  # of onnxruntime, which is native code
        raise ProviderUnavailable(
            f"The judge does not load: {sentence(error)}",
            remedy="Run `memoriter doctor`, or set memorySearch.query.rerank to off.",
        ) from error
    return engine


def _open_remote(choice: Choice, outside: ProviderContext, account: UsageRecorder | None) -> RemoteReranker:
    from memoriter.embed.remote import HttpClient, RemoteReranker

    assert choice.remote is not None
    http = HttpClient(
        clock=outside.monotonic, sleep=outside.sleep, random=outside.random, offline=choice.remote.offline
    )
    return RemoteReranker(choice.remote, http, wall=outside.wall, store=outside.store, account=account)
