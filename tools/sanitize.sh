#!/usr/bin/env bash
# The native tests under address+undefined and thread sanitizers, then the runtime's Python tests
# under address+undefined. usage: tools/sanitize.sh BIN
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
"$root/tools/native-tests.sh" "$bin" address,undefined
"$root/tools/native-tests.sh" "$bin" thread

build="$root/build/asan-python"
export PATH="$bin:$PATH"
cmake -S "$root" -B "$build" -DPython_EXECUTABLE="$bin/python" -DTVM_SANITIZE=address,undefined \
  >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" -j "${JOBS:-2}" >>"$build.log" 2>&1 || { tail -n 60 "$build.log"; exit 1; }
tree="$build/tree"
rm -rf "$tree" && mkdir -p "$tree"
cp -r "$root/python/tvm" "$tree/tvm"
mkdir -p "$tree/tvm/lib" "$tree/tvm/include"
cp -r "$root/include/tvm" "$tree/tvm/include/"
cp "$build/libtvm_runtime.so" "$tree/tvm/lib/"
cp "$build/_core.abi3.so" "$tree/tvm/_ffi/"
# Python itself is not instrumented: the sanitizer's library, and libstdc++ whose exceptions it
# intercepts, must be there before anything else. Python's own arena leaks are not ours to report.
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)"
cd "$root"
LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1 PYTHONMALLOC=malloc \
  PYTHONPATH="$tree" TVM_TEST_SANITIZED=1 \
  "$bin/python" -m pytest -p no:cacheprovider -q tests/python/runtime -m "not nightly"
