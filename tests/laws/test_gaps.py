"""Expected values of gaps follow the correlations that remain within classes.

They are those of regressions on the shrunk correlations of residuals, and nearly those
of the classes alone if columns are independent given these.
"""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sktemper import (
    AnnealedBernoulliMixture,
    AnnealedGaussianMixture,
    AnnealedLDA,
    AnnealedMixedMixture,
)

from .draws import generator


def correlated(random, n=400, n_columns=5):
    mixing = 3.0 * np.eye(n_columns) + random.normal(size=(n_columns, n_columns))
    return random.normal(size=(n, n_columns)) @ mixing + random.normal(size=n_columns)


def gapped(random, X, share=0.3):
    return np.where(random.random(X.shape) < share, np.nan, X)


def one_class(X, kinds="gaussian", **parameters):
    mixture = AnnealedMixedMixture(1, kinds=kinds, random_state=0, **parameters)
    return mixture.fit(X)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_regressions_are_those_of_shrunk_correlations(is_weighted):
    """Schaefer and Strimmer, with 1 / n as the variance of a correlation."""
    random = generator("gaps", is_weighted)
    X = correlated(random)
    weight = random.integers(0, 4, len(X)).astype(float)
    weight = weight if is_weighted else np.ones(len(X))
    mixture = AnnealedMixedMixture(1, kinds="gaussian", random_state=0)
    rows = gapped(random, X[:40])
    filled = mixture.fit(X, sample_weight=weight).impute(rows)
    covariance = np.cov(X.T, aweights=weight, ddof=0)
    mean, widths = np.average(X, axis=0, weights=weight), np.sqrt(np.diag(covariance))
    matrix = covariance / np.outer(widths, widths) - np.eye(5)
    kept = 1.0 - 20.0 / weight.sum() / (matrix**2).sum()
    matrix = kept * matrix + np.eye(5)
    z = (rows - mean) / widths
    for row, found in zip(z, (filled - mean) / widths, strict=True):
        known, gaps = ~np.isnan(row), np.isnan(row)
        slopes = np.linalg.solve(matrix[known][:, known], matrix[known][:, gaps])
        np.testing.assert_allclose(found[gaps], row[known] @ slopes, atol=1e-6)
        np.testing.assert_array_equal(found[known], row[known])


def test_other_kinds_follow_in_their_units():
    """A log-normal column by logarithms, and a column of gaps as by least squares."""
    random = generator("gaps", "kinds")
    X = correlated(random, 20_000)
    logs = X.copy()
    logs[:, 0] = np.exp(X[:, 0])
    rows = X[:20].copy()
    rows[:, 0] = np.nan
    expected = LinearRegression().fit(X[:, 1:], X[:, 0]).predict(rows[:, 1:])
    kinds = ["lognormal", *["gaussian"] * 4]
    found = one_class(logs, kinds).impute(rows)[:, 0]
    width = np.std(X[:, 0])
    np.testing.assert_allclose(np.log(found) / width, expected / width, atol=0.05)
    answers = np.clip(np.rint(X / X.std(axis=0) + 3), 1, 5)
    mixture = one_class(answers, "categorical")
    rows = gapped(random, answers[:500])
    gaps = np.isnan(rows)
    filled = mixture.impute(rows)
    assert filled.min() >= 1 and filled.max() <= 5
    errors = [
        ((found - answers[:500])[gaps] ** 2).mean()
        for found in (filled, np.broadcast_to(answers.mean(axis=0), rows.shape))
    ]
    assert errors[0] < errors[1]
    counts = random.poisson(np.exp(0.5 * random.normal(size=(500, 1)) + [0, 1, 1]))
    filled = one_class(counts, "poisson").impute(gapped(random, counts[:200]))
    assert (filled >= 0).all()


@pytest.mark.filterwarnings("ignore:sample_weight sums to")
def test_a_gap_has_the_value_of_a_negative_copy_of_its_column():
    """Weights as large as these make the correlations of copies 1 up to rounding."""
    random = generator("gaps", "copies")
    X = correlated(random, 300, 2)
    X = np.hstack([X, -X])
    rows = X[:20].copy()
    rows[:, 0] = np.nan
    mixture = AnnealedMixedMixture(1, kinds="gaussian", random_state=0)
    filled = mixture.fit(X, sample_weight=np.full(300, 1e14)).impute(rows)
    np.testing.assert_allclose(filled, X[:20], rtol=1e-6)


def test_where_classes_tell_all_their_means_stay():
    """So do those of streams, of wide tables, and of columns of one value."""
    random = generator("gaps", "independent")
    y = np.arange(600) % 2
    X = random.normal(4.0 * y[:, None], size=(600, 6))
    mixture = AnnealedMixedMixture(2, kinds="gaussian", random_state=0).fit(X)
    rows = gapped(random, X)
    rows = rows[~np.isnan(rows).all(axis=1)]
    means = [X[mixture.labels_ == k].mean(axis=0) for k in range(2)]
    own, gaps = mixture.predict_proba(rows) @ means, np.isnan(rows)
    np.testing.assert_allclose(mixture.impute(rows)[gaps], own[gaps], atol=0.5)
    X, others = correlated(random, 200), random.normal(size=(200, 145))
    stream = AnnealedMixedMixture(1, kinds="gaussian", random_state=0).partial_fit(X)
    wide = one_class(np.hstack([X, others]))
    constant = one_class(np.hstack([X, np.ones((200, 1))]), "histogram")
    for one, columns in ((stream, X), (wide, np.hstack([X, others]))):
        rows = columns[:1].copy()
        rows[:, 0] = np.nan
        assert one.impute(rows)[0, 0] == pytest.approx(X[:, 0].mean(), abs=0.1)
    assert constant.impute(np.full((1, 6), np.nan))[0, 5] == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_faults_of_columns_are_told_of_each_form_of_data():
    random = generator("gaps", "faults")
    X = np.hstack([random.integers(2, size=(60, 3)), np.zeros((60, 9))])
    for form in (X, [X[:30], X[30:]]):
        with pytest.warns(UserWarning, match="^Each of .* has one value only"):
            AnnealedBernoulliMixture(2, random_state=0).fit(form)
    answers = random.integers(1, 4, size=(300, 4)).astype(float)
    with pytest.warns(UserWarning, match="few or frequent values"):
        AnnealedGaussianMixture(2, random_state=0).partial_fit(answers)


def test_documents_without_covariates_age_cells():
    """Sums of cells are halved in a half-life, and shares stay."""
    random = generator("gaps", "cells")
    X, cells = random.poisson(0.5, size=(400, 30)), np.arange(400) % 3
    lda = AnnealedLDA(3, half_life=50, renewals=None, random_state=0)
    lda.partial_fit(X[:200], covariates=cells[:200])
    before = lda.state_.globals_.cells[:, :-3]
    lda.partial_fit(X[200:])
    ratio = lda.state_.globals_.cells[:, :-3] / before
    assert np.ptp(ratio) < 1e-9 and ratio.max() < 0.5
