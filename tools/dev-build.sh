#!/usr/bin/env bash
# Builds the native parts and puts them into the source tree, so that PYTHONPATH=python works.
# usage: tools/dev-build.sh [cmake arguments]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
mkdir -p "$root/build"
exec 9>"$root/build/.lock"
flock 9
cmake -S "$root" -B "$root/build/dev" -G Ninja -DPython_EXECUTABLE="$(command -v "$python")" \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >"$root/build/configure.log" || { cat "$root/build/configure.log"; exit 1; }
cmake --build "$root/build/dev" -j "$(nproc)"
# copied next to the target and renamed, so that a running process keeps the file it has mapped
mkdir -p "$root/python/tvm/lib" "$root/python/tvm/_ffi"
put() { cp "$1" "$2.new" && mv "$2.new" "$2"; }
put "$root/build/dev/libtvm_runtime.so" "$root/python/tvm/lib/libtvm_runtime.so"
if [ -e "$root/build/dev/_core.abi3.so" ]; then
  put "$root/build/dev/_core.abi3.so" "$root/python/tvm/_ffi/_core.abi3.so"
fi
