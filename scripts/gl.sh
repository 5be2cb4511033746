#!/usr/bin/env bash
# See that MuJoCo can draw without a screen; install Mesa's software renderer through apt where it cannot.
# Never fails: physics, lint, rules and reports work without it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages=(libegl1 libgl1 libgl1-mesa-dri)

draws() {
    local backend
    for backend in ${MUJOCO_GL:-egl osmesa}; do
        MUJOCO_GL=$backend .venv/bin/python -c 'import mujoco; mujoco.GLContext(8, 8).make_current()' \
            >/dev/null 2>&1 && return
    done
    return 1
}

if draws || { apt_install "${packages[@]}" && draws; }; then exit; fi
say "note: no off-screen OpenGL found, so there will be no pictures; everything else works. To get them:" \
    "$(apt_command "${packages[@]}")"
