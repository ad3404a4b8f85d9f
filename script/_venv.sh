# Sourced by the scripts beside it, from the root of the checkout: makes .venv and fills it.
#
#   . script/_venv.sh
#   make_venv                              # .venv, with Python >= 3.11 or $PYTHON
#   install_requirements requirements.txt  # only when the file or the Python changed

die() {
    echo "$*" >&2
    exit 1
}

is_new_enough() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

can_make_venv() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# Prints the first Python that will do; without one, says why on stderr and fails.
find_python() {
    found=
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        is_new_enough "$candidate" || continue
        found=$candidate
        if can_make_venv "$candidate"; then
            echo "$candidate"
            return 0
        fi
    done
    if [ -n "$found" ]; then
        echo "$found has no venv module: install it (on Debian and Ubuntu: apt-get install python3-venv)." >&2
    elif [ -n "${PYTHON:-}" ]; then
        echo "PYTHON=$PYTHON is not a Python 3.11 or newer." >&2
    else
        echo "KDB needs Python 3.11 or newer on the PATH, or its path in PYTHON." >&2
    fi
    return 1
}

make_venv() {
    # One that was left half made, or whose Python is gone, is made again.
    if .venv/bin/python -m pip --version >/dev/null 2>&1; then
        return 0
    fi
    python=$(find_python) || exit 1
    echo "Making .venv with $("$python" --version)."
    "$python" -m venv --clear .venv || die "$python -m venv .venv failed; see the lines above."
}

install_requirements() {
    [ -f "$1" ] || die "$1 is missing from $(pwd)."
    stamp=.venv/installed-$(basename "$1")
    # All requirements files count, because one may include another.
    wanted="$(cat requirements*.txt | cksum) $(.venv/bin/python --version)"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return 0
    fi
    echo "Installing $1."
    .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input -r "$1" ||
        die "pip could not install $1; see the lines above."
    echo "$wanted" >"$stamp"
}
