#!/usr/bin/env bash
# Build and install memoriter for the Python given, in a new environment with exactly the pinned packages, and ask it something.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
checkout=$PWD

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MEMORITER_HOME="$scratch/home"
unset PYTHONPATH MEMORITER_CONFIG MEMORITER_WORKSPACE

"${1:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --require-hashes -r requirements/run.txt
"$scratch/venv/bin/pip" install --quiet .
"$scratch/venv/bin/pip" check

cd "$scratch" # away from the checkout, so that what answers is what was installed
"$scratch/venv/bin/python" "$checkout/tests/smoke/ask.py" "$checkout/examples/workspace"
