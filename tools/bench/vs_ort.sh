#!/bin/sh
# vs_ort.sh BUILD [OPTION] [MODEL...]: vs_ort.py with its pinned packages (needs python3-venv, pip).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=$(sh "$here/../venv.sh" "$here/requirements.txt")
exec "$python" "$here/vs_ort.py" "$@"
