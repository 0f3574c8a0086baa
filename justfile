# One list of verbs for people, agents and CI. `.venv/bin/just` lists them.

set positional-arguments

# The tools of the environment that this just belongs to; with a just from elsewhere, those of .venv.
beside := parent_directory(just_executable())
bin := if path_exists(parent_directory(beside) / "pyvenv.cfg") == "true" { beside } else { justfile_directory() / ".venv/bin" }
python := quote(bin / "python")
# Tests that take more than a third of a second, and most cases of large matrices, are for CI, which sets CI.
proofs := if env("CI", "") == "" { "-m 'not slow'" } else { "" }
in_parallel := "-n auto --maxprocesses 4 --dist worksteal"
compile := quote(bin / "uv") + " pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --annotation-style line"
# Every framework that can be installed beside the others; CrewAI has an environment of its own.
frameworks := "--extra " + replace("agent-framework agno anthropic claude-agent-sdk google-adk langchain langgraph llama-index openai-agents pydantic-ai smolagents strands", " ", " --extra ")

# Where byte code is not written, every process of a test run compiles everything again.
export PYTHONDONTWRITEBYTECODE := ""
export PYTHONPATH := justfile_directory() / "src"
export UV_CUSTOM_COMPILE_COMMAND := "just lock"

# show this list
help:
    @{{ quote(just_executable()) }} --list --unsorted

# install what the requirements pin, and memoriter itself, editable
setup:
    {{ python }} -m pip install --require-hashes -r requirements/dev.txt
    {{ python }} -m pip install --no-deps --editable .

# all that must hold before a change is done; CI runs the same
check: format lint imports deps types-and-tests

# The check of the types uses only one core, so the tests run beside it.
[parallel]
[private]
types-and-tests: types test

# run the tests; arguments go to pytest: just test tests/search -k decay. CI also runs those marked slow
test *ARGS:
    {{ python }} -m pytest {{ in_parallel }} {{ proofs }} "$@"

# the tests that take longer the longer they are let: ten processes for five minutes, a hundred kills, 72,000 requests. just soak 10
soak FACTOR="60":
    MEMORITER_SOAK={{ quote(FACTOR) }} {{ python }} -m pytest -m soak -n 0 -s -o timeout=7200

# look for inputs that break a promise, so many minutes for each target: just fuzz 10 chunks secrets
fuzz MINUTES="1" *TARGETS:
    {{ python }} -m pip install --quiet --only-binary :all: --require-hashes -r requirements/fuzz.txt
    {{ python }} tests/fuzz/run.py "$@"

# is every file formatted?
format:
    {{ python }} -m ruff format --check .

# is every rule of pyproject kept?
lint:
    {{ python }} -m ruff check .

# do the types hold, strictly?
types:
    {{ python }} -m basedpyright --pythonpath {{ python }}

# do imports only point down?
imports:
    {{ quote(bin / "lint-imports") }} --no-logo

# is each dependency declared, and used?
deps:
    {{ python }} -m deptry src

# format, and apply safe fixes
fmt:
    {{ python }} -m ruff check --fix-only --quiet .
    {{ python }} -m ruff format .

# which lines and branches do the tests reach?
cover *ARGS:
    {{ python }} -m coverage erase
    {{ python }} -m coverage run -m pytest {{ in_parallel }} "$@"
    {{ python }} -m coverage combine --quiet
    {{ python }} -m coverage report

# does a wheel built from this checkout answer, installed for another Python? just smoke python3.13
smoke PYTHON=(bin / "python"):
    tests/smoke/run.sh "$1"

# build a release of the last commit into dist, twice, and try its wheel; it publishes nothing
release:
    test -z "$(git status --porcelain)" || { git status --short; echo "Commit this first: a release holds what is committed."; exit 1; }
    {{ python }} scripts/release.py dist
    tests/smoke/run.sh {{ python }} dist/memoriter-*.whl

# edit a workspace for ten minutes while it is watched: is every change found, and how soon?
soak-watch *ARGS:
    {{ python }} tests/soak/watch.py "$@"

# compile requirements/ from pyproject.toml; `just lock --upgrade` takes newer versions
lock *ARGS:
    {{ compile }} "$@" --output-file requirements/run.txt pyproject.toml
    {{ compile }} "$@" --output-file requirements/serve.txt --constraint requirements/run.txt --extra serve --extra remote --extra postgres pyproject.toml
    {{ compile }} "$@" --output-file requirements/dev.txt --constraint requirements/serve.txt --extra all --group dev pyproject.toml
    {{ compile }} "$@" --output-file requirements/fuzz.txt --group fuzz
    {{ compile }} "$@" --output-file requirements/docs.txt --group docs
    {{ compile }} "$@" --output-file requirements/integrations.txt --constraint requirements/run.txt {{ frameworks }} --group integrations pyproject.toml
    {{ compile }} "$@" --output-file requirements/integrations-crewai.txt --extra crewai --group integrations-crewai pyproject.toml

# write the graph of the bundled model, without its weights, after a change of scripts/bundled_graph.py
graph:
    {{ python }} scripts/bundled_graph.py

# write the plugins for Claude Code, Codex and Gemini CLI from plugins/source
plugins:
    {{ python }} scripts/plugins.py

# embed the general questions with the bundled model, after a change of scripts/question_centres.py
questions:
    {{ python }} scripts/question_centres.py

# record the public names of each package, after a change that means it
api:
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/test_conventions.py

# write docs/reference, after a change of help texts, settings, docstrings, limits or prices
docs:
    {{ python }} tests/cli/test_cli_help.py
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/embed/test_embed_docs.py
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/config/test_config_every_key.py
    {{ python }} tests/mcp_server/test_mcp_docs.py
    {{ python }} scripts/python_reference.py
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/cli/test_cli_json_page.py
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/web/test_web_docs.py
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/test_translations.py

# run the commands of the pages in docs, and write what they print; names of pages select them
start-pages *PAGES:
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/e2e/test_e2e_start_pages.py "$@"
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/test_translations.py

# take the screenshots in docs/images, in Chromium: just screenshots, or just screenshots notes
screenshots *NAMES:
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} scripts/screenshots.py "$@"

# build the documentation site into build/site; fails if a link leads nowhere, or if a page loads a file from elsewhere
site:
    {{ python }} -m venv build/site-env
    build/site-env/bin/python -m pip install --quiet --require-hashes -r requirements/docs.txt
    rm -rf build/pages && mkdir -p build/pages/benchmarks
    cp -R docs build/pages/ && cp -R benchmarks/*.md benchmarks/results build/pages/benchmarks/
    build/site-env/bin/zensical build --clean --strict
    ! grep -rE '<(script|img|link)[^>]+(src|href)="https?:' build/site --include='*.html'
    printf '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">' >build/site/index.html

# test the adapters with the real agent frameworks, in environments of their own, and check their types there
integrations *ARGS:
    {{ python }} tests/integrations/run.py "$@"

# run the benchmarks, with results in benchmarks/results: just bench --help
bench *ARGS:
    {{ python }} -m benchmarks --date "$(date +%F)" --results benchmarks/results "$@"

# fail if a ratio of two measurements of one run is past its limit, whatever the times; half a minute, not part of check
bench-check:
    {{ python }} -m benchmarks --check --quick --sizes 10000 --only peer
    {{ python }} -m benchmarks --check --quick --sizes 2000 --only items,command,cold,sync,churn,web

# measure the index on PostgreSQL beside SQLite, with two replicas, and write benchmarks/scale.md; --quick only prints figures
bench-postgres *ARGS:
    {{ python }} -m benchmarks.postgres --date "$(date +%F)" --json benchmarks/results/postgres.json "$@"; equal=$?; {{ python }} -m benchmarks.scale_page; exit $equal

# measure long-term memories at scale in half an hour or more, and write benchmarks/scale.md; fails if a bound does not hold
bench-longterm:
    {{ python }} -m benchmarks.long_term --sizes 10000,100000,1000000 --bucket-sizes 1000,10000,100000,1000000 --date "$(date +%F)" --json benchmarks/results/long-term.json >/dev/null; held=$?; {{ python }} -m benchmarks.scale_page; exit $held

# measure the quality of answers on sets of yours, the example's questions and the second set: just eval DATASETS_DIR
eval *ARGS:
    {{ python }} -m memoriter eval run tests/e2e/sets "$@"

# copy the tables of the reports that `just eval … --report DIR` wrote into benchmarks/results.md: just results DIR...
results *DIRS:
    {{ python }} scripts/paste_tables.py benchmarks/results.md "$@"

# write the bundled model as a GGUF file, which QMD can use: just gguf multilingual-e5-small.gguf
gguf FILE:
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/support/repacked.py "$1"

# measure what `memoriter tidy` proposes for notes of which it is known what may be proposed
eval-tidy:
    {{ python }} -m benchmarks.tidy

# measure what long-term memories capture, recall, replace and resist, and write the report
eval-longterm:
    PYTHONPATH="$PYTHONPATH:{{ justfile_directory() }}/tests/support" {{ python }} tests/support/long_term_report.py | tee benchmarks/long-term-report.md
