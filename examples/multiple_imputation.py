"""
Multiple imputation
===================

In an election survey, the script removes incomes, most of them those of respondents
without a college education. It compares the mean income, and the share of incomes below
10, by four ways: all answers, rows without gaps, gaps filled by expected values, and 20
samples of the gaps that are pooled by Rubin's rules. It takes a few seconds.
"""

import argparse

import numpy as np

from sktemper import AnnealedMixedMixture
from sktemper.datasets import load_election_survey


def main():
    arguments = parse_arguments()
    survey = load_election_survey().data.astype({"income": float})
    random = np.random.default_rng(arguments.seed)
    share = np.where(survey["education"] < 4, 0.7, 0.1)
    is_missing = random.random(len(survey)) < share
    gaps = survey.assign(income=survey["income"].mask(is_missing))

    mixture = AnnealedMixedMixture(20, tol=0.01, random_state=arguments.seed).fit(gaps)
    filled = mixture.impute(gaps, "mean")
    samples = []
    for seed in range(arguments.n_samples):
        # fits to resampled rows have the uncertainty of the classes, too
        rows = gaps.sample(frac=1.0, replace=True, random_state=seed)
        mixture.set_params(random_state=seed).fit(rows.reset_index(drop=True))
        samples.append(mixture.impute(gaps, "sample"))

    print("Mean income and share below 10, with standard errors")
    show("all answers", *statistics(survey))
    show("rows without gaps", *statistics(gaps[~is_missing]))
    show("expected values", *statistics(filled))
    show("pooled samples", *pooled(*zip(*map(statistics, samples), strict=True)))


def statistics(survey):
    """Return the mean income and the share of incomes below 10, and their variances."""
    values = np.transpose([survey["income"], survey["income"] < 10])
    return values.mean(axis=0), values.var(axis=0, ddof=1) / len(values)


def pooled(estimates, variances):
    """Return means of estimates of samples, and their variances by Rubin's rules.

    The variance is that within samples plus that between them, for m samples times
    1 + 1 / m.
    """
    between = np.var(estimates, axis=0, ddof=1)
    total = np.mean(variances, axis=0) + (1.0 + 1.0 / len(estimates)) * between
    return np.mean(estimates, axis=0), total


def show(name, estimates, variances):
    texts = [
        f"{estimate:6.3f} ({error:.3f})"
        for estimate, error in zip(estimates, np.sqrt(variances), strict=True)
    ]
    print(f"{name:<18}", *texts)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n-samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
