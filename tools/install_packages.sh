#!/bin/sh
# Install the locked packages into a virtual environment, each by its hash.
#
#   tools/install_packages.sh VENV LOCK
#
# uv does it in a quarter of pip's time, and is itself installed by its hash from the lock. uv does not read pip's settings: if it
# fails, because only pip knows the index or its certificate, pip installs the rest.
set -eu

venv=$1
lock=$2
python=$venv/bin/python

wanted=$venv/.uv-requirement
trap 'rm -f "$wanted"' EXIT
# One requirement of the lock: its first line and the indented lines below.
awk '/^[^ ]/ { inside = /^uv==/ } inside' "$lock" >"$wanted"

if [ -s "$wanted" ] && "$python" -m pip install --quiet --no-deps --require-hashes --requirement "$wanted" &&
    "$venv/bin/uv" pip install --quiet --python "$python" --no-config --no-deps --require-hashes --compile-bytecode \
        --requirement "$lock"; then
    exit 0
fi
printf 'uv could not install the packages; pip does, which takes longer.\n' >&2
exec "$python" -m pip install --quiet --no-deps --require-hashes --requirement "$lock"
