"""Checks of the predictive scores of rows."""

import numpy as np
from scipy import sparse

from ..model import Powers
from ._case import Skip, close, expect, expect_one_per_row, precision, refuse_rows

#: Steps of coordinate ascent after which parameters are clearly better than the prior.
N_STEPS = 5
#: Largest number of changed values of a row, and number of changed rows.
MOST_VALUES, N_ROWS = 20, 3
#: A score may exceed the bound by the sum of two terms: nats per observation, and a
#: share of the bound.
MOST_EXCESS, SHARE_OF_EXCESS = 1.0, 0.5


def check_predictive_shapes(case):
    """Each row has a finite score, which is 0 without held-out observations."""
    scores, n_held_out = case.predictive_scores()
    for name, rows in (("scores", scores), ("n_held_out", n_held_out)):
        name = f"{name} of predictive_scores"
        expect_one_per_row(rows.shape, case, name)
        refuse_rows(~np.isfinite(rows), rows, f"{name}: expected numbers")
    fault = "scores of predictive_scores where nothing is held out: expected 0"
    refuse_rows((n_held_out == 0) & (scores != 0), scores, fault)
    refuse_rows(n_held_out < 0, n_held_out, "n_held_out: expected no negative numbers")
    if case.model.weighs_observations:
        return
    observed = np.maximum(case.local_step().row_observed, 1)
    fault = "n_held_out: expected no more than row_observed"
    refuse_rows(n_held_out > observed * (1 + 1e-6), n_held_out, fault)


def check_scores_are_those_of_rows(case):
    """A row has the same score at each call and in any block."""
    whole = case.predictive_scores()
    rtol = precision(case.model)
    half = case.n_rows // 2
    for what, rows in {
        "from call to call": slice(0, case.n_rows),
        "with the other rows of the block": slice(half, case.n_rows),
    }.items():
        part = case.predictive_scores(case.take(rows))
        for name, one, all_ in zip(("scores", "n_held_out"), part, whole, strict=True):
            fault = f"{name} of predictive_scores change {what}"
            close(one, all_[rows], fault, rtol, rtol * np.abs(all_).max())


def check_better_parameters_score_better(case):
    """Rows score better under fitted parameters than under the prior."""
    case.require("dense_vectors")
    fitted, prior = case.start, case.prior()
    for _ in range(N_STEPS):
        fitted = case.stepped(fitted, Powers())
    before, after = (
        case.predictive_scores(globals_=g)[0].sum() for g in (prior, fitted)
    )
    fault = "scores of predictive_scores do not follow the parameters"
    expected = f"a sum of more than {before:.10g}, the sum under the prior"
    rises = after > before + precision(case.model) * abs(before)
    expect(rises, fault, expected, f"{after:.10g} after {N_STEPS} steps on these rows")


def check_scores_are_not_better_than_the_bound(case):
    """The mean score of held-out observations is not far above the bound."""
    if case.model.scores_rankings:
        raise Skip(f"{type(case.model).__name__} scores rankings")
    globals_ = case.certain()
    scores, n_held_out = case.predictive_scores(globals_=globals_)
    step = case.local_step(globals_=globals_, want=("bound",))
    # if scores are of whole rows, each row is one observation
    n_observed = step.row_observed.sum() if n_held_out.max() > 1 else case.n_rows
    bound, score = step.bound / n_observed, scores.sum() / max(n_held_out.sum(), 1)
    most = bound + MOST_EXCESS + SHARE_OF_EXCESS * abs(bound)
    fault = "scores of predictive_scores are no held-out log-likelihoods"
    expected = f"at most {most:.4g} per held-out observation, because the bound is "
    expected += f"{bound:.4g} per observation"
    expect(not score > most, fault, expected, f"{score:.4g}")


def check_scores_do_not_see_what_is_held_out(case):
    """The score of a row is a sum over its held-out observations.

    Two values of a row are changed, each alone and both together.  If both are held
    out, and local parameters depend only on the remaining values, the changes of the
    score add up.
    """
    if case.model.scores_whole_rows:
        raise Skip("predictive_scores is the density of whole rows")
    _, n_held_out = case.predictive_scores()
    seen = []
    longest = np.argsort(-n_held_out, kind="stable")[:N_ROWS]
    for row in longest[n_held_out[longest] > 1].tolist():
        X, columns = _change_values(case, row)
        if len(columns) < 4:
            continue
        block = case.model.take(X, slice(0, X.shape[0]))
        scores, _ = case.predictive_scores(block)
        one, both = scores[1 : 1 + len(columns)], scores[1 + len(columns) :]
        first, second = np.triu_indices(len(columns), 1)
        atol = 1000 * np.finfo(case.model.dtype).eps * np.abs(scores).max()
        moves = np.abs(one - scores[0]) > atol
        pairs = moves[first] & moves[second]
        mixed = (both - one[first] - one[second] + scores[0])[pairs]
        if not len(mixed):
            continue
        if (np.abs(mixed) <= atol).any():
            return
        least = np.abs(mixed).argmin()
        names = columns[first[pairs][least]], columns[second[pairs][least]]
        seen.append((row, names, mixed[least]))
    if not seen:
        raise Skip("no row has several held-out values that can be changed")
    row, names, mixed = seen[0]
    raise AssertionError(
        f"predictive_scores sees what is held out: row {row} has {n_held_out[row]:g} "
        "held-out observations, but changes of two values never add up in the score. "
        f"For the values of columns {names[0]} and {names[1]}, which come nearest, the "
        f"joint change of the score exceeds the sum of the changes by {mixed:.4g}"
    )


def _change_values(case, row):
    """Return copies of a row as data, with other values, and the changed columns.

    The copies are the row itself, the row with each of the columns changed, and the row
    with each pair of columns changed.  No value is added or removed, so that the same
    observations are held out.
    """
    is_sparse = sparse.issparse(case.X)
    X = case.X[[row]]
    values = X.toarray()[0] if is_sparse else np.array(X[0])
    columns = np.flatnonzero((values != 0) & (values == values))
    known = case.X.data if is_sparse else np.ravel(case.X)
    known = np.unique(known[(known != 0) & (known == known)])
    chosen = case.random.permutation(columns)[:MOST_VALUES]
    if len(known) < 2 or len(chosen) < 2:
        return X, []
    others = {c: case.random.choice(known[known != values[c]]) for c in chosen}
    first, second = np.triu_indices(len(chosen), 1)
    changes = [
        [],
        *([p] for p in chosen),
        *zip(chosen[first], chosen[second], strict=True),
    ]
    rows = np.tile(values, (len(changes), 1))
    for number, change in enumerate(changes):
        for column in change:
            rows[number, column] = others[column]
    return type(case.X)(rows) if is_sparse else rows, chosen.tolist()
