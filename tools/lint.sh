#!/usr/bin/env bash
# Style and types. usage: tools/lint.sh BIN
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$1
"$bin/ruff" check .
"$bin/ruff" format --check . || { echo "run: ruff format ."; exit 1; }
"$bin/mypy" --config-file pyproject.toml
git ls-files 'src/*.cc' 'src/*.h' 'include/*.h' 'tests/*.cc' 'tests/*.c' 'tests/*.h' 'benchmarks/*.cc' |
  xargs "$bin/clang-format" --dry-run --Werror
