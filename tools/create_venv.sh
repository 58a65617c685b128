#!/bin/sh
# Make a virtual environment with the first Python that can, or say what is missing.
#
#   tools/create_venv.sh DIR          PYTHON=/path/to/python picks one
#
# An environment that is there and works is kept.
set -eu

target=$1
oldest="3.11"
supported='import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] < (3, 14))'

fail() {
    printf '\n%s\n\n' "$1" >&2
    shift
    for line in "$@"; do printf '    %s\n' "$line" >&2; done
    exit 1
}

if [ -x "$target/bin/python" ] && "$target/bin/python" -c "$supported" 2>/dev/null &&
    "$target/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

seen=""
broken=""
for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    # A name on PATH may be a stub that runs nothing, so each is asked.
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    seen="$seen $python ($version)"
    "$python" -c "$supported" 2>/dev/null || continue
    if "$python" -m venv --clear "$target" >/dev/null 2>&1; then
        printf 'Python %s makes %s\n' "$version" "$target"
        exit 0
    fi
    rm -rf "$target"
    broken="$broken python$version"
done

if [ -n "$broken" ]; then
    set -- $broken
    fail "A Python is here, but it cannot make a virtual environment: its venv or ensurepip module is missing." \
        "Debian and Ubuntu keep them in a package of their own:  sudo apt-get install $1-venv" \
        "Elsewhere, or with several Pythons, name a complete one:  make install PYTHON=/path/to/python3"
fi
if [ -n "${PYTHON:-}" ]; then
    fail "PYTHON=$PYTHON is not a Python from $oldest to 3.13${seen:+ (found:$seen)}." \
        "Name another, or none:  make install"
fi
fail "No Python from $oldest to 3.13 was found${seen:+ (only:$seen)}." \
    "Debian and Ubuntu:  sudo apt-get install python3 python3-venv" \
    "If it is not on PATH:  make install PYTHON=/path/to/python3"
