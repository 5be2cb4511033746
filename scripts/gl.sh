#!/usr/bin/env bash
# See that pictures can be drawn without a screen; install Mesa's software renderer through apt where they cannot.
# Never fails: physics, rules, lint and report work without pictures.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages=(libegl1 libgl1 libgl1-mesa-dri)

draws() {
    .venv/bin/python -c 'from libero_safety.sim.gl import gl_backend; raise SystemExit(not gl_backend().ok)'
}

if draws || { apt_install "${packages[@]}" && draws; }; then exit; fi
say "note: no off-screen OpenGL found, so there will be no pictures; everything else works." \
    "To get them: $(apt_command "${packages[@]}")"
