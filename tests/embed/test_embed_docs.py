"""The page about providers: its configurations, prices, limits and answers are those of the program.

`just docs` writes the tables of the page.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from memoriter.app import Environment
from memoriter.backends import Budget
from memoriter.backends._embedding import FALLBACK_SECONDS
from memoriter.backends._service_records import UsageMeter
from memoriter.cli import main
from memoriter.config import load
from memoriter.embed import ProviderSettings, ServiceConfig, batch_vendors, choose, price_row, provider_choices
from memoriter.embed.remote._remote import vendor_of
from memoriter.embedding_setup import embedding_of, ledger_of
from memoriter.service_guard import MOST_CALLS
from memoriter.sync import WORTH_A_BATCH
from servers import OpenAIServer
from servers.base import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.embed import Choice

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "services.md"
TEXT = PAGE.read_text(encoding="utf-8")
PRIVACY = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
OF_RERANKERS = "Rerankers"
"""The heading of the part that `tests/cli/test_cli_rerank.py` checks."""
KEYS = {
    "OPENAI_API_KEY": "o",
    "GEMINI_API_KEY": "g",
    "VOYAGE_API_KEY": "v",
    "MISTRAL_API_KEY": "m",
    "OPENROUTER_API_KEY": "router",
    "GATEWAY_KEY": "gate",
}
VENDORS = ("openai", "gemini", "voyage", "mistral")
PRICES = {"openai": "OpenAI", "gemini": "Gemini", "voyage": "Voyage AI", "mistral": "Mistral"}


class Shown(NamedTuple):
    """What a block must choose."""

    name: str
    kind: str
    endpoint: str = ""
    key_source: str = ""

    @classmethod
    def of(cls, choice: Choice) -> Shown:
        return cls(choice.name, choice.kind, choice.endpoint, choice.key_source)


OPENAI = Shown("openai", "remote", "https://api.openai.com/v1", "environment OPENAI_API_KEY")
EXPECTED = {
    "`auto`": [Shown("bundled", "bundled")],
    "`bundled`": [Shown("bundled", "bundled")],
    "`none`": [Shown("none", "none")],
    "`local`": [Shown("local", "local")] * 2,
    "`onnx`": [Shown("onnx", "onnx")],
    "`openai`": [OPENAI],
    "`gemini`": [
        Shown(
            "gemini",
            "remote",
            "https://generativelanguage.googleapis.com/v1beta",
            "environment GEMINI_API_KEY",
        )
    ],
    "`voyage`": [Shown("voyage", "remote", "https://api.voyageai.com/v1", "environment VOYAGE_API_KEY")],
    "`mistral`": [Shown("mistral", "remote", "https://api.mistral.ai/v1", "environment MISTRAL_API_KEY")],
    "OpenAI-compatible endpoints": [
        Shown("lmstudio", "remote", "http://127.0.0.1:1234/v1"),
        Shown("openai-compatible", "remote", "http://127.0.0.1:8000/v1"),
        Shown("openrouter", "remote", "https://openrouter.ai/api/v1", "models.providers.openrouter.apiKey"),
        Shown("openai-compatible", "remote", "https://gateway.example/v1", "remote.apiKey"),
    ],
    "`ollama`": [Shown("ollama", "remote", "http://127.0.0.1:11434")],
    "Daily budget": [OPENAI],
    "Batches": [OPENAI],
    "Fallback": [OPENAI],
    "Offline": [Shown("bundled", "bundled")],
}
SECRETS = {"openrouter": "router", "openai-compatible": "gate"}


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Heading and content of each fenced block."""
    heading = ""
    for line, kind, content in re.findall(r"^#+ ([^\n]*)$|^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        heading = line or heading
        if kind == language and heading != OF_RERANKERS:
            yield heading, content


CONFIGURATIONS = list(blocks("json5"))


def chosen(content: str, tmp_path: Path, environ: dict[str, str]) -> Choice:
    """What a whole configuration file chooses, by the way that the program takes."""
    file = tmp_path / "memoriter.json5"
    file.write_text(content, encoding="utf-8")
    environment = Environment(environ, tmp_path, tmp_path, time.time, time.monotonic)
    configuration = load(file, home=tmp_path, environ=environ)
    embedding = embedding_of(configuration, configuration.search_for("main"), environment)
    try:
        assert embedding.slot().choice is not None, embedding.slot().problem
        return embedding.slot().choice
    finally:
        embedding.close()


def test_every_configuration_of_the_page_is_a_whole_file_that_chooses_what_its_heading_says(tmp_path: Path) -> None:
    found: dict[str, list[Shown]] = {}
    for heading, content in CONFIGURATIONS:
        found.setdefault(heading, []).append(Shown.of(chosen(content, tmp_path, KEYS)))
    assert found == EXPECTED


def test_the_page_on_privacy_shows_how_to_stay_on_this_machine(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^```json5\n(.*?)^```$", PRIVACY, re.MULTILINE | re.DOTALL)
    assert Shown.of(chosen(shown, tmp_path, KEYS)) == Shown("bundled", "bundled")


def test_a_key_that_the_page_takes_from_the_environment_is_the_one_that_is_sent(tmp_path: Path) -> None:
    sent = [choice for _, content in CONFIGURATIONS if "${" in content for choice in [chosen(content, tmp_path, KEYS)]]
    assert {choice.name: choice.remote.api_key for choice in sent if choice.remote} == SECRETS


def test_every_provider_that_can_be_configured_is_on_the_page() -> None:
    shown = {name for rows in EXPECTED.values() for name, *_ in rows} | {"auto"}
    assert set(provider_choices(ProviderSettings(cache_dir=Path()))) - {"fake"} <= shown


def test_auto_goes_down_the_list_of_the_page(tmp_path: Path) -> None:
    section = TEXT.partition("\n## `auto`\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\d+\. `(\w+)`", section, re.MULTILINE)
    assert listed == ["local", "openai", "bundled"]
    settings = ProviderSettings(
        cache_dir=tmp_path, local_model=str(tmp_path), remote=ServiceConfig(api_key="k"), environ=KEYS
    )
    assert choose(settings).name == listed[0]
    assert choose(replace(settings, local_model="")).name == listed[1]
    assert choose(replace(settings, local_model="", offline=True)).name == listed[2]
    assert choose(replace(settings, local_model="", remote=ServiceConfig())).name == listed[2]


def test_the_vendors_with_a_batch_interface_are_the_ones_that_the_page_names() -> None:
    documented = {vendor for vendor in VENDORS if "has a [batch interface]" in section_of(f"`{vendor}`")}
    assert documented == set(batch_vendors())


def section_of(heading: str) -> str:
    return re.split(r"\n#+ ", TEXT.partition(f" {heading}\n")[2], maxsplit=1)[0]


def test_the_figures_of_the_page_are_those_of_the_program() -> None:
    assert f"at most {MOST_CALLS} times an hour" in TEXT
    assert f"After {FALLBACK_SECONDS / 60:.0f} minutes" in TEXT
    assert f"From {WORTH_A_BATCH} waiting passages" in TEXT


# What commands say.


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MEMORITER_WORKSPACE", "MEMORITER_CONFIG", *KEYS, "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORITER_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "notes").mkdir()
    return tmp_path / "home"


def output_of(*words: str) -> str:
    done = CliRunner().invoke(main, list(words))
    return done.stdout + done.stderr


def with_figures_left_out(text: str) -> str:
    """Ports, times and counts differ between runs; the words around them do not."""
    return re.sub(r"\d[\d.,]*", "0", text)


def test_the_line_before_notes_leave_the_machine_is_the_one_of_the_page(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "never-sent")
    output_of("config", "set", "provider", "openai")
    notes = str(home.parent / "notes")
    notice, status = [content for heading, content in blocks("text") if heading == "`auto`"]
    assert notice in PRIVACY
    assert notice in output_of("-w", notes, "index")
    assert notice not in output_of("-w", notes, "index")
    assert status in output_of("-w", notes, "status")


def test_a_dry_run_prices_the_examples_as_the_page_shows(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "never-sent")
    ((_, shown),) = [block for block in blocks("console") if "--dry-run" in block[1]]
    chosen, _, command, answer = shown.split("\n", 3)
    assert (home / "memoriter.json5").exists() is False
    output_of(*chosen.removeprefix("$ memoriter ").split())
    assert command == "$ OPENAI_API_KEY=… memoriter -w examples/workspace index --dry-run"
    output = output_of("-w", str(ROOT / "examples" / "workspace"), "index", "--dry-run")
    assert with_figures_left_out(output) == with_figures_left_out(answer)
    assert "about $" in output
    assert home.is_dir()


def test_the_record_of_what_was_spent_looks_as_on_the_page(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((_, shown),) = [block for block in blocks("console") if "memoriter cost" in block[1]]
    noon = 1_795_348_800.0
    environment = Environment({"MEMORITER_HOME": str(home)}, home, home.parent / "notes", lambda: noon, time.monotonic)
    monkeypatch.setattr("memoriter.environment.read_environment", lambda: environment)
    ledger = ledger_of(environment)
    own = UsageMeter(ledger, Budget(), "openai", "text-embedding-3-small", priced=True)
    own.add(700_000)
    own.add(504_000)
    UsageMeter(ledger, Budget(), "openai", "openai/text-embedding-3-small", priced=False).add(3_500)
    ledger.close()
    assert output_of("cost", "--days", "7") == shown.partition("\n")[2]


@pytest.mark.slow
def test_the_doctor_says_of_a_service_what_the_page_shows(home: Path) -> None:
    good, bad = [content for heading, content in blocks("text") if heading == "`memoriter doctor`"]
    for key, shown in ((KEY, good), ("another", bad)):
        with OpenAIServer() as server:
            settings = f'remote: {{baseUrl: "{server.base_url}", apiKey: "{key}"}}'
            provider = f'provider: "openai-compatible", model: "{server.model}", {settings}'
            content = f"{{agents: {{defaults: {{memorySearch: {{{provider}}}}}}}}}"
            (home / "memoriter.json5").write_text(content, encoding="utf-8")
            output = output_of("-w", str(home.parent / "notes"), "doctor")
        assert with_figures_left_out(shown) in with_figures_left_out(output)


# The tables that are written.


def model_table() -> str:
    """Every model of a vendor that is known, with its limits and prices."""
    rows = ["| model | dimensions | tokens per text | texts, tokens per request | price | batch price |"]
    rows.append("|---|---|---|---|---|---|")
    for name in VENDORS:
        vendor = vendor_of(name)
        for model, known in vendor.models.items():
            price = price_row(name, model)
            usual = ", the default" if model == vendor.default_model else ""
            limits = f"{known.dimensions:,} | {known.max_tokens:,} | {known.max_inputs:,}, {known.max_request_tokens:,}"
            plain = f"{price.plain:g}" if price else "unknown"
            batch = f"{price.batch:g}" if price and price.batch is not None else "none"
            rows.append(f"| {name} `{model}`{usual} | {limits} | {plain} | {batch} |")
    seen = {
        name: (row.seen, row.page)
        for name in VENDORS
        for row in [price_row(name, vendor_of(name).default_model)]
        if row
    }
    pages = ", ".join(f"[{PRICES[name]}]({page}) {month}" for name, (month, page) in seen.items())
    return "\n".join([*rows, "", f"Prices as of: {pages}."])


TABLES = {"models": model_table}


def page() -> str:
    """The page with its tables as they should be."""
    text = TEXT
    for name, table in TABLES.items():
        start = rf"<!-- {name}:[^\n]*-->\n"
        end = f"<!-- /{name} -->"
        text = re.sub(
            f"({start}).*?({end})",
            lambda found, table=table: f"{found[1]}\n{table()}\n\n{found[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


def test_the_tables_of_the_page_are_those_of_the_program() -> None:
    assert page() == TEXT
    assert all(f"<!-- /{name} -->" in TEXT for name in TABLES)


def test_every_price_is_as_old_as_the_page_says() -> None:
    for name in VENDORS:
        vendor = vendor_of(name)
        usual = price_row(name, vendor.default_model)
        assert usual
        rows = [row for model in vendor.models if (row := price_row(name, model))]
        assert {(row.seen, row.page) for row in rows} == {(usual.seen, usual.page)}


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
