#!/usr/bin/env bash
# Install a wheel with pip for the Python given, in a new environment with exactly the pinned packages, and ask it
# something: first without extras, then with those of a server. Without a second argument, it is a wheel of this checkout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
checkout=$PWD

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MEMORITER_HOME="$scratch/home"
unset PYTHONPATH MEMORITER_CONFIG MEMORITER_WORKSPACE

"${1:-python3}" -m venv "$scratch/venv"
python="$scratch/venv/bin/python"
if [ "$#" -gt 1 ]; then
  wheel=$(realpath "$2")
else
  "$python" -m pip wheel --quiet --no-deps --wheel-dir "$scratch" .
  wheel=$(echo "$scratch"/*.whl)
fi
"$python" -m pip install --quiet --require-hashes -r requirements/run.txt
# The packages are there, and nothing is downloaded any more.
PIP_NO_INDEX=1 "$python" -m pip install --quiet "$wheel"
"$python" -m pip check

cd "$scratch" # away from the checkout, so that what answers is what was installed
"$python" "$checkout/tests/smoke/ask.py" "$checkout/examples/workspace"
"$python" "$checkout/tests/smoke/extras.py" absent >"$scratch/commands"

"$python" -m pip install --quiet --require-hashes -r "$checkout/requirements/serve.txt"
PIP_NO_INDEX=1 PIP_QUIET=1 bash -euo pipefail "$scratch/commands"
"$python" -m pip check
"$python" "$checkout/tests/smoke/ask.py" "$checkout/examples/workspace"
"$python" "$checkout/tests/smoke/extras.py" present
