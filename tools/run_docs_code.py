"""Run the Python code in Markdown files: ``python tools/run_docs_code.py README.md docs``.

All ``python`` blocks of a file run in order in one fresh process, as a reader would type them. A block
fenced as ``python notest`` is shown only. A ``text`` block right after a Python block is its expected output.
"""

import argparse
import contextlib
import io
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


def run_file(path):
    """Run the blocks of one file in this process; raises on the first failure."""
    scope = {"__name__": "__main__"}
    output = None
    for number, info, content in blocks(path.read_text(encoding="utf-8")):
        if info == "python":
            # line numbers in tracebacks are those of the document
            code = compile("\n" * number + content, str(path), "exec")
            buffer = io.StringIO()
            with contextlib.redirect_stdout(buffer):
                exec(code, scope)
            output = buffer.getvalue()
        elif info == "text" and output is not None:
            if output.strip() != content.strip():
                raise AssertionError(
                    f"{path}:{number}: expected output\n{content}\nbut got\n{output}"
                )
            output = None
        else:
            output = None


def main():
    cli = argparse.ArgumentParser(description=__doc__)
    cli.add_argument("paths", nargs="+", type=pathlib.Path)
    cli.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = cli.parse_args()
    if options.one:
        run_file(options.paths[0])
        return 0
    files = []
    for path in options.paths:
        files += sorted(path.rglob("*.md")) if path.is_dir() else [path]
    failed = 0
    for path in files:
        count = sum(info == "python" for _, info, _ in blocks(path.read_text(encoding="utf-8")))
        if not count:
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, str(pathlib.Path(__file__).resolve()), "--one", str(path.resolve())],
                cwd=folder,
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
