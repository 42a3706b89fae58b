"""The documentation: the tool that runs its code, and that it names what there is."""

import pathlib
import re
import subprocess
import sys

import pytest
import tvm

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "run_docs_code.py"
API = "\n".join(path.read_text() for path in sorted((ROOT / "docs" / "api").glob("*.md")))


def run_tool(page, *options):
    return subprocess.run(
        [sys.executable, str(TOOL), *options, str(page)], capture_output=True, text=True
    )


def write(folder, *blocks):
    page = folder / "page.md"
    page.write_text("# Title\n\n" + "\n".join(f"```{info}\n{text}\n```" for info, text in blocks))
    return page


def test_blocks_share_their_names_and_show_their_output(tmp_path):
    page = write(tmp_path, ("python", "x = 3"), ("python", "print(x)"), ("text", "3"))
    done = run_tool(page)
    assert done.returncode == 0 and "ok" in done.stdout and "2 blocks" in done.stdout


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([("python", "print(1)"), ("text", "2")], "expected output"),
        ([("python", "x = 1"), ("python", "x.y")], "page.md.*line 7"),
        ([("python", "import sys; sys.exit(3)")], "FAILED"),
    ],
)
def test_failures_are_shown(tmp_path, blocks, message):
    done = run_tool(write(tmp_path, *blocks))
    assert done.returncode == 1
    assert re.search(message, done.stdout, re.DOTALL)


def test_blocks_that_do_not_run(tmp_path):
    page = write(
        tmp_path,
        ("python notest", "1 / 0"),
        ("text", "nobody's output"),
        ("sh", "false"),
        ("python", "print(2)"),
        ("c file=a.c", "int a;"),
        ("text", "not the output of the block before the last"),
    )
    assert run_tool(page).returncode == 0


def test_blocks_that_are_files_are_joined(tmp_path):
    page = write(
        tmp_path,
        ("c file=a.txt", "one"),
        ("c file=a.txt", "two"),
        ("python", "print(open('a.txt').read())"),
        ("text", "one\ntwo"),
    )
    assert run_tool(page).returncode == 0
    assert not (ROOT / "a.txt").exists() and not (tmp_path / "a.txt").exists()


def test_update_writes_the_output(tmp_path):
    page = write(
        tmp_path,
        ("python", "print('a\\nb')"),
        ("text", ""),
        ("python", "print(5)"),
        ("text", "4\n4\n4"),
        ("python", "print(6)"),
        ("text", "6"),
    )
    assert run_tool(page, "--update").returncode == 0
    assert re.findall(r"```text\n(.*?)\n```", page.read_text(), re.DOTALL) == ["a\nb", "5", "6"]
    assert run_tool(page).returncode == 0


def test_a_block_that_is_not_closed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nprint(1)\n")
    done = run_tool(page)
    assert done.returncode == 1 and "line 3" in done.stdout + done.stderr


def test_environment_variables_are_documented():
    read = re.compile(r"""(?:getenv\(|PositiveFromEnv\(|environ(?:\.get\(|\[))\s*["'](\w+)["']""")
    found = set()
    for folder, ending in (("src", "*.cc"), ("src", "*.h"), ("python", "*.py")):
        for path in (ROOT / folder).rglob(ending):
            found.update(read.findall(path.read_text()))
    assert {"TVM_NUM_THREADS", "TVM_BIND_THREADS", "TVM_DUMP_IR", "CC"} <= found
    page = (ROOT / "docs" / "environment.md").read_text()
    of_the_system = {"PATH", "HOME", "TMPDIR", "LD_PRELOAD"}
    missing = {name for name in found - of_the_system if f"`{name}`" not in page}
    assert not missing


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def documented(name):
    return re.search(rf"\b{re.escape(name)}\b", API) is not None


@pytest.mark.parametrize("owner", [tvm.nd, tvm.runtime])
def test_reference_has_the_public_names(owner):
    modules = {name for name, value in vars(owner).items() if isinstance(value, type(tvm))}
    skip = modules | {"TYPE_CHECKING", "annotations"}
    names = {name for name in dir(owner) if not name.startswith("_")} - skip
    assert len(names) > 15
    assert not sorted(name for name in names if not documented(name))


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text().splitlines()
    for page in (ROOT / "docs").rglob("*.md"):
        name = str(page.relative_to(ROOT / "docs").with_suffix(""))
        assert name == "index" or name in index or name.startswith("_build")
