#!/usr/bin/env bash
# Builds and runs the C and C++ tests. usage: tools/native-tests.sh BIN [sanitizers]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
sanitize=${2:-}
build="$root/build/native${sanitize:+-${sanitize//,/-}}"
mkdir -p "$root/build"
export PATH="$bin:$PATH"
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
cmake -S "$root" -B "$build" "${generator[@]}" -DTVM_BUILD_PYTHON=OFF -DTVM_BUILD_TESTS=ON \
  -DTVM_SANITIZE="$sanitize" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -j "${JOBS:-2}" >>"$build.log" 2>&1 || { tail -n 60 "$build.log"; exit 1; }
ctest --test-dir "$build" --output-on-failure --timeout 300
