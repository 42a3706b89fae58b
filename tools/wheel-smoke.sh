#!/usr/bin/env bash
# Installs one wheel under several Pythons and runs the workflow. usage: tools/wheel-smoke.sh WHEEL
# Pythons are looked for on PATH and under pyenv; TVM_TEST_REQUIRE with "pythons" makes a missing one an error.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
wheel=$(realpath "$1")
size=$(stat -c %s "$wheel")
echo "wheel: $(basename "$wheel") $((size / 1024)) KiB"
[ "$size" -le $((3 * 1024 * 1024)) ] || { echo "the wheel is larger than 3 MiB"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in 3.10 3.12 3.13; do
  python=""
  for candidate in "$(command -v python$version || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/$version*/bin/python; do
    if [ -n "$candidate" ] && "$candidate" -c "" 2>/dev/null; then python=$candidate; break; fi
  done
  if [ -z "$python" ]; then
    case ",${TVM_TEST_REQUIRE:-}," in
      *,pythons,*) echo "Python $version is required and was not found"; exit 1 ;;
      *) echo "skipped: Python $version was not found"; continue ;;
    esac
  fi
  "$python" -m venv "$work/$version"
  "$work/$version/bin/python" -m pip install -q --disable-pip-version-check "$wheel"
  (cd "$work" && "$work/$version/bin/python" "$root/examples/workflow.py" >"$work/$version.log") ||
    { cat "$work/$version.log"; exit 1; }
  echo "Python $version: $(tail -n 1 "$work/$version.log")"
done
