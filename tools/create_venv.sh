#!/bin/sh
# Make a virtual environment with the first Python that can, or say what is missing.
#
#   tools/create_venv.sh DIR          PYTHON=/path/to/python picks one
#
# An environment that is there and works is kept.
set -eu

target=$1

fail() {
    printf '\n%s\n\n' "$1" >&2
    shift
    for line in "$@"; do printf '    %s\n' "$line" >&2; done
    printf '\n' >&2
    exit 1
}

# A name on PATH may be a stub that runs nothing, so each is asked.
version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

supported() {
    case $1 in 3.11 | 3.12 | 3.13) return 0 ;; *) return 1 ;; esac
}

if version=$(version_of "$target/bin/python") && supported "$version" &&
    "$target/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

seen=""
broken=""
for python in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
    version=$(version_of "$python") || continue
    seen="$seen${seen:+, }$python is $version"
    supported "$version" || continue
    if "$python" -m venv --clear "$target" >/dev/null 2>&1; then
        printf 'Python %s makes %s\n' "$version" "$target"
        exit 0
    fi
    # What is left of the attempt would look like an environment.
    rm -rf "$target"
    broken=${broken:-$version}
done

if [ -n "$broken" ]; then
    fail "Python $broken is here, but it cannot make a virtual environment: its venv or ensurepip module is missing." \
        "Debian and Ubuntu keep them in a package of their own:  sudo apt-get install python$broken-venv" \
        "Elsewhere, or with several Pythons, name a complete one:  make install PYTHON=/path/to/python3"
fi
if [ -n "${PYTHON:-}" ]; then
    fail "PYTHON=$PYTHON is not a Python from 3.11 to 3.13${seen:+ ($seen)}." \
        "Name another, or let it be found:  make install"
fi
fail "No Python from 3.11 to 3.13 was found${seen:+ ($seen)}." \
    "Debian and Ubuntu:  sudo apt-get install python3 python3-venv" \
    "If it is not on PATH:  make install PYTHON=/path/to/python3"
