#!/usr/bin/env bash
# Install a wheel as readers do: with `uv tool install` and with pipx, and run it with `uvx` without an installation. Each
# tool then runs the command that memoriter names for a missing extra. The tools have to get the packages from an index;
# where they cannot, this step is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

wheel=$(realpath "$1")
bin=${2:-$PWD/.venv/bin}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export MEMORITER_HOME="$scratch/home" PIPX_HOME="$scratch/pipx" PIPX_BIN_DIR="$scratch/pipx-bin" PIPX_DEFAULT_PYTHON="$bin/python"
export UV_TOOL_DIR="$scratch/tools" UV_TOOL_BIN_DIR="$scratch/uv-bin" UV_PYTHON="$bin/python" UV_NO_PROGRESS=1
export PATH="$UV_TOOL_BIN_DIR:$bin:$PATH"
unset PYTHONPATH MEMORITER_CONFIG MEMORITER_WORKSPACE

if ! uvx --from "$wheel" memoriter --version >"$scratch/version" 2>"$scratch/error"; then
  if grep --quiet --ignore-case --extended-regexp 'failed to fetch|error sending request|dns error|connect' "$scratch/error"; then
    printf 'LEFT OUT: uv reaches no index of packages, so the wheel was not run with uvx:\n%s\n' "$(tail -n 3 "$scratch/error")" >&2
    exit
  fi
  cat "$scratch/error" >&2
  exit 1
fi
cat "$scratch/version"
python tests/smoke/ask.py "$PWD/examples/workspace" uvx --from "$wheel" memoriter

uv tool install --quiet "$wheel"
python tests/smoke/extras.py add "$UV_TOOL_BIN_DIR/memoriter"

uv tool install --quiet pipx
pipx install --quiet "$wheel"
python tests/smoke/extras.py add "$PIPX_BIN_DIR/memoriter"
