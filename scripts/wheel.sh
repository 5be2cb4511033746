#!/usr/bin/env bash
# Build the source archive and the wheel; install the wheel into a fresh environment and use it from an empty folder.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rm -rf dist
.venv/bin/python -m build
make_venv .venv-wheel
pip_install .venv-wheel dist/*.whl

bin=$PWD/.venv-wheel/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$bin/python" -c 'import libero_safety; print("libero_safety", libero_safety.__version__, "from", libero_safety.__file__)'
"$bin/libero-safety" --help >/dev/null
"$bin/libero-safety" list
"$bin/libero-safety" eval --suite aag --policy noop --level 0 --episodes 1 --horizon 20 --out run
echo "The wheel works."
