"""Blocks of code in the pages of doc/ and in README.md, and functions that run them.

A block that the suite cannot run has a comment before it: ``needs`` names packages that
the tests do not require, and ``not run`` gives the reason why nothing runs the block.
"""

import contextlib
import doctest
import io
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!-- (?P<key>needs|not run): (?P<value>.+?) -->\n+)?"
    r"(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```$"
    r"(?:\n\n(?P=indent)```text\n(?P<output>.*?)^(?P=indent)```$)?",
    re.M | re.S,
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass
class Block:
    """A block of code of a page."""

    code: str
    line: int
    output: str | None = None
    needs: list = field(default_factory=list)
    not_run: str = ""


def blocks(path):
    """Return the blocks of Python code of a page, in their order."""
    text = path.read_text("utf-8")
    found = []
    for match in BLOCK.finditer(text):
        code, indent = match["code"], match["indent"]
        code = re.sub(rf"^{indent}", "", code, flags=re.M)
        block = Block(code, text[: match.start("code")].count("\n"), match["output"])
        if match["key"] == "needs":
            block.needs = match["value"].split(", ")
        elif match["key"]:
            block.not_run = match["value"]
        found.append(block)
    return found


def pages():
    """Return README.md and the pages of doc/ that have blocks of code."""
    paths = [ROOT / "README.md", *sorted((ROOT / "doc").rglob("*.md"))]
    made = {"auto_examples", "generated", "tables"}
    written = (p for p in paths if not made & set(p.parts) and p.exists())
    return [p for p in written if blocks(p)]


def run(block, namespace, name):
    """Run a block; return its output and a description of wrong output.

    In a block with prompts, the output of each example is compared.
    """
    if ">>> " not in block.code:
        printed = io.StringIO()
        code = "\n" * block.line + block.code
        with contextlib.redirect_stdout(printed):
            exec(compile(code, name, "exec"), namespace)
        return printed.getvalue(), ""
    test = doctest.DocTestParser().get_doctest(
        block.code, namespace, name, name, block.line
    )
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    return "", report.getvalue() if runner.summarize(verbose=False).failed else ""
