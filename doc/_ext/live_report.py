"""The page of topics that the tutorial writes, built by the code of the tutorial."""

import contextlib
import io
import re
from pathlib import Path

PAGE = "guide/topics_over_time"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def write(app, exception):
    """Run the blocks of the tutorial up to the report, beside its built page."""
    if exception or app.builder.name != "html":
        return
    text = (Path(app.srcdir) / f"{PAGE}.md").read_text("utf-8")
    end = text.index("\n```\n", text.index("topic_report(")) + 5
    code = "\n".join(BLOCK.findall(text[:end]))
    folder = (Path(app.outdir) / PAGE).parent
    texts = "python_changes.csv.gz"
    code = code.replace(f'"{texts}"', repr(str(Path(app.srcdir) / "data" / texts)))
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, PAGE, "exec"), {"__name__": "__main__"})


def setup(app):
    """Write the report before the links of all pages are checked."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
