#!/usr/bin/env bash
# Builds the documentation; the code in it runs first. usage: tools/docs.sh BIN
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(cd "$1" && pwd)
"$bin/python" tools/run_docs_code.py README.md docs
"$bin/python" -m sphinx -q -W --keep-going -b html docs docs/_build/html
