# Sourced by the other scripts: messages, system packages, virtual environments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $*"
    exit 1
}

# The apt-get command that a person would type.
apt_command() {
    [ "$(id -u)" -eq 0 ] || printf 'sudo '
    printf 'apt-get install -y %s' "$*"
}

# Install system packages, only where that needs no question (Debian or Ubuntu, root or sudo without a password)
# and NO_APT is not set. Fails quietly otherwise.
apt_install() {
    local sudo=()
    [ -z "${NO_APT:-}" ] && command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        sudo=(sudo -n)
    fi
    say "Installing $* with apt-get ..."
    local get=(${sudo[@]+"${sudo[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120)
    local install=("${get[@]}" install -y --no-install-recommends "$@")
    # The first try fails where package lists are missing or old.
    "${install[@]}" >/dev/null 2>&1 </dev/null && return
    "${get[@]}" update >/dev/null </dev/null && "${install[@]}" >/dev/null </dev/null
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# Print the path of a Python >= 3.11: $PYTHON if given, else the first that works.
find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || die "PYTHON=$PYTHON is not a working Python 3.11 or newer"
        command -v "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
        if new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    die "no Python 3.11 or newer found (python3: $(python3 --version 2>&1 || true))." \
        "Install one ('$(apt_command python3 python3-venv)' on Debian 12 or Ubuntu 24.04)," \
        "or name one: make demo PYTHON=/path/to/python3.12"
}

# make_venv FOLDER: a new virtual environment with pip, also where Debian left ensurepip out of Python.
make_venv() {
    local venv=$1 python package
    python=$(find_python)
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    rm -rf "$venv"
    if "$python" -c 'import ensurepip' >/dev/null 2>&1; then
        "$python" -m venv "$venv"
    elif apt_install "$package"; then
        "$python" -m venv "$venv"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" install -qq pip
    else
        die "$python cannot make a virtual environment here. Run '$(apt_command "$package")', then try again"
    fi
}

# pip_install FOLDER ARGUMENT...: pip inside that environment, without questions.
pip_install() {
    local venv=$1
    shift
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input "$@"
}
