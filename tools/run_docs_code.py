"""Run the code in Markdown files: ``python tools/run_docs_code.py README.md docs``.

All ``python`` blocks of a file run in order in one fresh process and an empty folder, as a reader
would type them. What a fence's info string says:

``python``
    Runs. A ``text`` block right after it is its expected output.
``python notest``
    Is shown only.
``LANGUAGE file=NAME``
    Is written to the file NAME of the folder, where later blocks find it; blocks of the same NAME
    are joined. So a page can show a C program in pieces, compile it and run it.

``--update`` writes the output that came into the ``text`` blocks; look at the difference before you
keep it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

FENCE = "```"


def blocks(text):
    """Yield (line number, info string, content) of the fenced blocks of a Markdown text."""
    info, content, start = None, [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if info is None and line.startswith(FENCE):
            info, content, start = line[len(FENCE) :].strip(), [], number
        elif info is not None and line.strip() == FENCE:
            yield start, info, "\n".join(content)
            info = None
        elif info is not None:
            content.append(line)
    if info is not None:
        raise ValueError(f"line {start}: the block {FENCE}{info} is not closed")


def target_file(info):
    """The file that a block is for, or None."""
    for word in info.split()[1:]:
        if word.startswith("file="):
            return word[len("file=") :]
    return None


def run_file(path, update=False):
    """Run the blocks of one file in this process and folder; raises on the first failure."""
    scope = {"__name__": "__main__"}
    output = None
    text = path.read_text(encoding="utf-8")
    changes = []
    for number, info, content in blocks(text):
        name = target_file(info)
        if name is not None:
            with open(name, "a", encoding="utf-8") as file:
                file.write(content + "\n")
            output = None
        elif info == "python":
            # line numbers in tracebacks are those of the document
            code = compile("\n" * number + content, str(path), "exec")
            buffer = io.StringIO()
            with contextlib.redirect_stdout(buffer):
                exec(code, scope)
            output = buffer.getvalue()
        elif info == "text" and output is not None:
            if output.strip() != content.strip() and update:
                changes.append((number, output.strip("\n").splitlines()))
            elif output.strip() != content.strip():
                raise AssertionError(
                    f"{path}:{number}: expected output\n{content}\nbut got\n{output}"
                )
            output = None
        else:
            output = None
    if changes:
        lines = text.splitlines()
        for number, new in reversed(changes):
            end = next(k for k in range(number, len(lines)) if lines[k].strip() == FENCE)
            lines[number:end] = new
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    cli = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cli.add_argument("paths", nargs="+", type=pathlib.Path)
    cli.add_argument("--update", action="store_true", help="write the output that came")
    cli.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.one:
        run_file(options.paths[0], options.update)
        return 0
    files = []
    for path in options.paths:
        files += sorted(path.rglob("*.md")) if path.is_dir() else [path]
    # the pages run elsewhere, so that PYTHONPATH=python has to be made absolute
    search = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search)}
    failed = 0
    for path in files:
        count = sum(info == "python" for _, info, _ in blocks(path.read_text(encoding="utf-8")))
        if not count:
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [
                    sys.executable,
                    str(pathlib.Path(__file__).resolve()),
                    "--one",
                    str(path.resolve()),
                    *(["--update"] if options.update else []),
                ],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
        print(f"{'ok' if done.returncode == 0 else 'FAILED':6} {path} ({count} blocks)")
        if done.returncode:
            failed += 1
            print(done.stdout + done.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
