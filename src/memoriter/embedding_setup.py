"""The models that the settings name: for embedding, reranking and comparing; and the ledger of what services cost."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from memoriter.backends import Budget, Embedding
from memoriter.config import default_local_model, expand, in_home, names_file, openclaw_keys
from memoriter.embed import ProviderContext, ProviderSettings, ServiceConfig, model_place
from memoriter.errors import ConfigError
from memoriter.index import Ledger, network_of
from memoriter.providers import AUTO, JUDGE, OFF, WITHOUT_MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from memoriter.backends import LanguageModel, Reranking
    from memoriter.config import Configuration, MemorySearch, ModelProvider, RemoteSection, RerankRemote
    from memoriter.embed import BatchRules
    from memoriter.environment import Environment


def ledger_of(env: Environment) -> Ledger:
    """Return the record of spending at services, which all processes with this home share."""
    folder = env.home / "memory"
    return Ledger(folder / "ledger.sqlite", wall=env.wall, network=bool(network_of(folder, env.mounts)))


def embedding_of(
    configuration: Configuration,
    settings: MemorySearch,
    env: Environment,
    scratch: Path | None = None,
    *,
    agent: str = "",
    attended: bool = True,
) -> Embedding:
    """Return the provider that the settings name, without opening it.

    With a `scratch` folder, models store their checks there, and not in the home. `agent` is the one whose keys of
    OpenClaw are used; empty: the default agent. If not `attended`, only services that a person was informed about are
    used.
    """
    found = openclaw_keys(configuration, settings, agent or configuration.default_agent, env.environ, now=env.wall())
    environ = {**found.variables, **env.environ}
    remote = settings.remote
    local = settings.local
    ledger = ledger_of(env)
    entries = configuration.settings.models.providers
    services = {name: _address(entry, entry.api, environ) for name, entry in entries.items()}
    provider_settings = ProviderSettings(
        cache_dir=scratch or env.home / "models",
        name=settings.provider,
        model=settings.model,
        fallback=settings.fallback,
        remote=_address(remote, None, environ),
        services=services,
        local_model=model_place(
            local.model_path or _model_file(settings) or default_local_model(settings) or "", env.user_home
        ),
        model_cache_dir=in_home(local.model_cache_dir, env.user_home) if local.model_cache_dir else env.home / "models",
        offline=settings.offline,
        environ=env.environ,
        found_keys=found.keys,
    )
    outside = ProviderContext(env.wall, env.monotonic, time.sleep, random.random, ledger)
    budget = Budget(remote.budget.tokens_per_day, remote.budget.dollars_per_day)
    rules = _batch_rules(settings)
    return Embedding(provider_settings, outside, ledger, budget, rules, attended=attended)


def reranking_of(
    configuration: Configuration, settings: MemorySearch, env: Environment, embedding: Embedding, *, brief: bool
) -> Reranking | None:
    """Return the reranker that the settings name; nothing is opened yet. None if searches use none.

    It shares the ledger, the budget and the calls of the embedding provider, and its rule about notices. A `brief`
    process ends after one answer, which would take twice as long if it loaded the judge.
    """
    written = settings.query.rerank
    name = written.provider.strip() or OFF
    if name == AUTO:
        name = OFF if brief or settings.provider in WITHOUT_MODEL else JUDGE
    if name == OFF or settings.query.scoring == "classic":
        return None
    from memoriter.backends import Reranking
    from memoriter.embed import RerankSettings

    entries = configuration.settings.models.providers
    rerank_settings = RerankSettings(
        cache_dir=embedding.settings.cache_dir,
        name=name,
        model=written.model,
        candidates=written.candidates,
        remote=_address(written.remote, None, env.environ),
        services={name: _address(entry, entry.api, env.environ) for name, entry in entries.items()},
        local_model=str(in_home(written.local.model_path, env.user_home)) if written.local.model_path else "",
        offline=settings.offline,
        environ=env.environ,
    )
    return Reranking(
        rerank_settings,
        embedding.outside,
        embedding.ledger,
        embedding.budget,
        embedding.calls,
        attended=embedding.attended,
    )


def language_model_of(configuration: Configuration, env: Environment, embedding: Embedding) -> LanguageModel | None:
    """Return the language model of `memory.tidy`; None if the settings name none."""
    written = configuration.settings.memory.tidy
    if not written.model:
        return None
    from memoriter.backends import LanguageModel
    from memoriter.config import ModelProvider

    service = ModelProvider(base_url=written.base_url, api_key=written.api_key)
    return LanguageModel(written.model, _address(service, None, env.environ), embedding)


def _address(
    written: RemoteSection | RerankRemote | ModelProvider, api: str | None, environ: Mapping[str, str]
) -> ServiceConfig:
    """Return a service of the settings, with `${NAME}` replaced; an unset variable is an error only when it is used."""
    try:
        return ServiceConfig(
            expand(written.base_url or "", environ),
            expand(written.api_key or "", environ),
            api or "",
            {name: expand(value, environ) for name, value in written.headers.items()},
        )
    except ConfigError as error:
        return ServiceConfig(api=api or "", problem=error)


def _model_file(settings: MemorySearch) -> str:
    """Return `model` if it names a file, a folder or a model of the hub for a provider that runs one; else nothing."""
    return (
        settings.model.strip() if settings.provider.strip() in {"local", "onnx"} and names_file(settings.model) else ""
    )


def _batch_rules(settings: MemorySearch) -> BatchRules | None:
    batch = settings.remote.batch
    if not batch.enabled:
        return None
    from memoriter.embed import BatchRules

    return BatchRules(batch.wait, batch.concurrency, batch.poll_interval_ms / 1000, float(batch.timeout_minutes))
