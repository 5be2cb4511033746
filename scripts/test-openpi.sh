#!/usr/bin/env bash
# Test the openpi client against openpi's own server package, which lives in an environment of its own.
# Exit status 3: that package cannot be installed here.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

make_venv .venv-openpi
if ! pip_install .venv-openpi openpi-server==0.1.0 openpi-client==0.1.2 typing_extensions; then
    say "skipped: openpi's packages cannot be installed here"
    exit 3
fi
LIBERO_SAFETY_OPENPI_PYTHON=$PWD/.venv-openpi/bin/python .venv/bin/python -m pytest --color=no -m slow \
    tests/policy/test_openpi_peer.py tests/eval/test_openpi_run.py
