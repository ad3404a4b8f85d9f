# shellcheck shell=sh
# Sourced by the scripts beside it, from the root of the checkout: makes .venv and fills it.
#
#   . script/_venv.sh
#   make_venv                              # .venv, with Python >= 3.11 or $PYTHON
#   install_requirements requirements.txt  # only when the file or the Python changed

VENV_HINT="on Debian and Ubuntu, apt-get install python3-venv brings it"

die() {
    echo "$*" >&2
    exit 1
}

is_new_enough() {
    command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

# Prints the first module that this Python lacks, if any: distributions split them off.
missing_module() {
    "$1" -c '
import importlib
for name in ("venv", "ensurepip", "ctypes", "sqlite3", "ssl", "zlib"):
    try:
        importlib.import_module(name)
    except ImportError:
        raise SystemExit(name)
' 2>&1 >/dev/null | tail -n 1
}

# Prints the first Python that will do; without one, says why on stderr and fails.
find_python() {
    found=
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if is_new_enough "$candidate"; then
            found=$candidate
            break
        fi
    done
    if [ -n "$found" ]; then
        missing=$(missing_module "$found")
        case $missing in
        "") echo "$found" && return 0 ;;
        *venv* | *ensurepip*) echo "$found lacks the module $missing: $VENV_HINT." >&2 ;;
        *) echo "$found lacks the module $missing, which KDB needs." >&2 ;;
        esac
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
    if ! said=$("$python" -m venv --clear .venv 2>&1); then
        rm -rf .venv
        die "$python -m venv .venv failed ($(echo "$said" | head -n 1)): $VENV_HINT."
    fi
}

install_requirements() {
    [ -f "$1" ] || die "$1 is missing from $(pwd)."
    stamp=.venv/installed-$(basename "$1")
    # All requirements files count, because one may include another.
    wanted="$(cat requirements*.txt requirements.lock | cksum) $(.venv/bin/python --version)"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return 0
    fi
    list=$1 what=$1
    if [ "$1" = requirements.txt ]; then # what KDB runs on comes with the digest of each file
        list="requirements.lock --require-hashes" what="$(grep -c == requirements.lock) packages"
    fi
    echo "Installing $what."
    # Python compiles what is used when it is first imported, two fifths of all; where it may not keep that, pip does.
    [ -n "${PYTHONDONTWRITEBYTECODE:-}" ] || list="$list --no-compile"
    # shellcheck disable=SC2086 # a name and options
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --retries 2 -r $list \
        >.venv/pip.log 2>&1 ||
        die "pip could not install $1, is a package index reachable? $(grep -m 1 ERROR .venv/pip.log || tail -n 1 .venv/pip.log)"
    echo "$wanted" >"$stamp"
}
