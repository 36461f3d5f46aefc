"""The Gamma-Poisson factorization of doc/own_model.md, and generated data for it."""

import numpy as np
from pages import ROOT, blocks
from scipy.special import gammaln  # noqa: F401 (imported by an earlier block)
from sklearn.utils.validation import validate_data  # noqa: F401

from sktemper.base import TemperedEstimator  # noqa: F401
from sktemper.model import GammaFamily  # noqa: F401

SECTION = "## A model that is no mixture"


def code():
    """Return the code of the page's section, without examples with prompts."""
    page = ROOT / "doc" / "own_model.md"
    first = page.read_text("utf-8").partition(SECTION)[0].count("\n")
    found = [block for block in blocks(page) if block.line > first]
    parts = [b.code for b in found if ">>> " not in b.code and not b.not_run]
    return "\n".join(parts)


exec(compile(code(), "own_model.md", "exec"))


def counts_of(n_samples=120, n_features=8, n_components=2):
    """Return counts drawn from the model, up to about 30."""
    random = np.random.default_rng(0)
    beta = random.gamma(C, 1 / C, (n_components, n_features))  # noqa: F821
    theta = random.gamma(A, 2 / A, (n_samples, n_components))  # noqa: F821
    return random.poisson(theta @ beta)
