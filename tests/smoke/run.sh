#!/usr/bin/env bash
# Build and install memoriter for the Python given, in a new environment with exactly the pinned packages, and ask it something:
# first without extras, then with those of a server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
checkout=$PWD

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MEMORITER_HOME="$scratch/home"
unset PYTHONPATH MEMORITER_CONFIG MEMORITER_WORKSPACE

"${1:-python3}" -m venv "$scratch/venv"
python="$scratch/venv/bin/python"
"$python" -m pip install --quiet --require-hashes -r requirements/run.txt
"$python" -m pip install --quiet .
"$python" -m pip check

cd "$scratch" # away from the checkout, so that what answers is what was installed
"$python" "$checkout/tests/smoke/ask.py" "$checkout/examples/workspace"
"$python" "$checkout/tests/smoke/extras.py" absent

"$python" -m pip install --quiet --require-hashes -r "$checkout/requirements/serve.txt"
"$python" -m pip check
"$python" "$checkout/tests/smoke/ask.py" "$checkout/examples/workspace"
"$python" "$checkout/tests/smoke/extras.py" present
