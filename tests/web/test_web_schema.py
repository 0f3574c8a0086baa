"""The OpenAPI document and the behaviour of the server agree: schemathesis makes requests from the document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from mcp_endpoints import bearer
from memoriter.web import all_operations, openapi_document
from web_client import api_of

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = 8
"""Requests per operation."""


def test_every_operation_is_in_the_document_and_every_reference_leads_somewhere() -> None:
    document = openapi_document()
    named = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert named == {(each.path, each.method.lower()) for each in all_operations().values()} | {("/events", "get")}
    schemas = document["components"]["schemas"]
    text = str(document)
    assert {part.partition("'")[0] for part in text.split("#/components/schemas/")[1:]} <= set(schemas)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("default")
def test_no_request_that_the_document_allows_or_forbids_gets_an_answer_that_it_does_not_describe(
    tmp_path: Path,
) -> None:
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    )

    from long_term import long_term_env

    checks = [
        not_a_server_error,
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    ]
    env = long_term_env(tmp_path)
    seen = set[str]()
    with api_of(env, "--no-watch") as (server, _):
        schema = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json", headers=bearer(server.token))
        schema.config.update(base_url=f"{server.url}/api/v1")
        for result in schema.get_all_operations():
            operation = result.ok()
            if operation.path == "/events":  # a stream has no end
                continue

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @schemathesis_given(operation)
            def check(case: schemathesis.Case) -> None:
                case.call_and_validate(headers=bearer(server.token), checks=checks)

            check()
            seen.add(operation.path)
    assert seen == {each.path for each in all_operations().values()}
    assert (env.notes / "MEMORY.md").exists()


def schemathesis_given(operation: object) -> object:
    """Hypothesis' decorator for requests to one operation, those that the document forbids among them."""
    from hypothesis import given, strategies
    from schemathesis import GenerationMode

    cases = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]  # type: ignore[attr-defined]
    return given(case=strategies.one_of(cases))
