#!/usr/bin/env bash
# Make .venv and install this package into it with the extras named: scripts/setup.sh [EXTRA...]
# Does nothing when that is done already.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

extras=$(IFS=, && printf '%s' "$*")
mark=".venv/.installed${extras:+-$extras}"
# An environment is right for one folder and one pyproject.toml.
stamp="$PWD $(cksum <pyproject.toml)"

if [ "$(cat "$mark" 2>/dev/null)" = "$stamp" ]; then exit; fi
if ! .venv/bin/pip --version >/dev/null 2>&1; then make_venv .venv; fi
say "Installing libero-safety${extras:+[$extras]} into .venv ..."
pip_install .venv -e ".${extras:+[$extras]}"
printf '%s\n' "$stamp" >"$mark"
