#!/usr/bin/env bash
# Check the ruler (force, distance, contact, motion) on one version of MuJoCo: scripts/selftest.sh VERSION
# Exit status 3: that version cannot be installed here.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=$1
venv=.venv-mujoco-$version
make_venv "$venv"
pip_install "$venv" .
# MuJoCo 4 is several packages and would be broken by removing a 3 after it.
"$venv/bin/python" -m pip uninstall -qq -y mujoco
if ! pip_install "$venv" --no-warn-conflicts "mujoco==$version"; then
    say "skipped: mujoco==$version cannot be installed here"
    exit 3
fi
"$venv/bin/libero-safety" selftest
