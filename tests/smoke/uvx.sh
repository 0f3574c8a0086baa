#!/usr/bin/env bash
# Build a wheel and run it as a reader without an installation would: `uvx --from dist/*.whl memoriter`. uv has to get the
# packages from an index; where it cannot, this step is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MEMORITER_HOME="$scratch/home"
unset PYTHONPATH MEMORITER_CONFIG MEMORITER_WORKSPACE
bin=${1:-$PWD/.venv/bin}

"$bin/python" -m hatchling build --target wheel --directory "$scratch/dist" >/dev/null
uvx=("$bin/uvx" --python "$bin/python" --from "$scratch"/dist/*.whl memoriter)
if ! "${uvx[@]}" --version >"$scratch/version" 2>"$scratch/error"; then
  if grep --quiet --ignore-case --extended-regexp 'failed to fetch|error sending request|dns error|connect' "$scratch/error"; then
    printf 'LEFT OUT: uv reaches no index of packages, so the wheel was not run with uvx:\n%s\n' "$(tail -n 3 "$scratch/error")" >&2
    exit
  fi
  cat "$scratch/error" >&2
  exit 1
fi
cat "$scratch/version"
"$bin/python" tests/smoke/ask.py "$PWD/examples/workspace" "${uvx[@]}"
