"""Install what an extra of the installed package asks for, without building the package again.

usage: python tools/install-extra.py EXTRA...
"""

import subprocess
import sys
from importlib.metadata import requires


def main(extras):
    """Install the requirements that stand under these extras."""
    wanted = []
    for requirement in requires("tvm-lite") or []:
        name, _, marker = requirement.partition(";")
        if any(f'extra == "{extra}"' in marker.replace("'", '"') for extra in extras):
            wanted.append(name.strip())
    if not wanted:
        sys.exit(f"no requirements for {extras}: is the package installed?")
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    return subprocess.run([*command, *wanted]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
