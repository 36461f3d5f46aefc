"""Renderer of formulas as MathML, which browsers draw without scripts or fonts."""

import html
import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)
#: Commands that docutils does not support, and their replacements.
INSTEAD = {r"\dots": r"\ldots"}
COMMAND = re.compile(r"\\[a-zA-Z]+")


#: Names of functions.  A space is added on each side without an operator.
FUNCTION = r"<mi>(?:exp|log|logit)</mi>"
BEFORE = re.compile(rf"(</(?:mi|mn|mrow|msub|msubsup|msup)>\s*)(?={FUNCTION})")
APPLIED = r"(?:\s*<mo>&ApplyFunction;</mo>)?"
AFTER = re.compile(rf"({FUNCTION}{APPLIED})(?=\s*<(?!mo>|mo |/))")
SPACE = r'\1<mspace width="0.17em"></mspace>'

#: An accented letter with an index.  docutils writes the index below the letter, like
#: the limit of a sum; `BESIDE` writes it as a subscript.
UNDER = re.compile(
    r"<munderover>\s*(<mi>[^<]*</mi>)\s*(\S.*?\S)\s*"
    r"(<mo [^>]*>[ˆˉ˜¯~^]</mo>)\s*</munderover>",
    re.DOTALL,
)
BESIDE = r"<msub><mover>\1\3</mover>\2</msub>"


def mathml(node, as_block):
    """Return a formula as MathML; warn and return its source if docutils fails."""
    source = node.astext()
    source = COMMAND.sub(lambda match: INSTEAD.get(match[0], match[0]), source)
    try:
        found = tex2mathml(source, as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", source, error, location=node)
        return f"<code>{html.escape(source)}</code>"
    found = UNDER.sub(BESIDE, found)
    return AFTER.sub(SPACE, BEFORE.sub(SPACE, found))


def visit_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator, node):
    """Write a formula as a separate block."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(mathml(node, as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer, and select it."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
