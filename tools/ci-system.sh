#!/usr/bin/env bash
# Debian packages that the complete test run needs, by name. Run as root on Debian 12.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends \
  g++ make python3-venv python3-dev ninja-build valgrind \
  qemu-user lld gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu \
  libc6-dev-riscv64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross >/dev/null
