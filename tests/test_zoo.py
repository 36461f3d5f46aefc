"""Tests of the benchmarks' zoo of data sets: metrics, tables and runs of families."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.mixture import BayesianGaussianMixture

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
if not (BENCHMARKS / "zoo").exists():
    pytest.skip("benchmarks/ is not beside these tests", allow_module_level=True)
pytest.importorskip("resource", reason="limits of CPU time are POSIX's")


@pytest.fixture(scope="module")
def zoo():
    """Import the modules of the zoo from the folder of benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import zoo.cache
        import zoo.command
        import zoo.core
        import zoo.families
        import zoo.measures
        import zoo.running
        import zoo.samplers
        import zoo.tables

        yield zoo


@pytest.fixture(scope="module")
def families(zoo):
    return zoo.families.families()


# -- figures of merit ------------------------------------------------------------------


def test_topics_found_are_counted_by_the_best_assignment(zoo):
    random = np.random.default_rng(0)
    for _ in range(20):
        truth = random.dirichlet(np.full(6, 0.3), 4)
        topics = 0.7 * truth[random.permutation(4)] + 0.3 * random.dirichlet(
            np.full(6, 0.3), 4
        )
        cosine = np.array(
            [
                [t @ f / np.linalg.norm(t) / np.linalg.norm(f) for f in topics]
                for t in truth
            ]
        )
        best = max(
            itertools.permutations(range(4)),
            key=lambda order: sum(cosine[i, j] for i, j in enumerate(order)),
        )
        expected = sum(cosine[i, j] > 0.8 for i, j in enumerate(best))
        assert zoo.measures.n_found(topics, truth) == expected


def test_document_weights_equal_scikit_learn(zoo):
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(30, 0.2), 4)
    X = sparse.csr_matrix(random.poisson(0.5, (20, 30)))
    peer = LatentDirichletAllocation(
        4, doc_topic_prior=0.3, max_doc_update_iter=500, mean_change_tol=1e-9
    )
    peer.partial_fit(X)
    peer.components_ = peer.exp_dirichlet_component_ = topics
    judge = zoo.measures.Judge(7 * topics, 0.3, max_iter=500, tol=1e-9)
    np.testing.assert_allclose(judge.transform(X), peer.transform(X), atol=1e-6)
    # the mean of a document without words is that of the prior
    prior = np.array([1.0, 2.0, 3.0, 4.0])
    empty = sparse.csr_matrix((1, 30))
    weights = zoo.measures.Judge(topics, prior).transform(empty)
    np.testing.assert_allclose(weights, prior[None] / 10)


def test_probabilities_of_all_answers_sum_to_one(zoo):
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(3))
    density = zoo.measures.categorical_log_density
    question = np.array([0, 0, 1, 1, 1])
    answers = [
        np.concatenate([np.eye(2)[i], np.eye(3)[j]])
        for i, j in itertools.product(range(2), range(3))
    ]
    p = random.random((3, 5))  # each question's probabilities are rescaled
    total = sum(np.exp(density(weights, p, x[None], question)) for x in answers)
    assert total == pytest.approx(1)
    p = random.random((3, 4))
    total = sum(np.exp(density(weights, p, x[None])) for x in np.eye(4))
    assert total == pytest.approx(1)
    rows = np.array(list(itertools.product((0, 1), repeat=4)))
    total = sum(
        np.exp(zoo.measures.bernoulli_log_density(weights, p, x[None])) for x in rows
    )
    assert total == pytest.approx(1)


def test_metrics_of_a_partition(zoo):
    truth = np.repeat([0, 1, -1], [50, 45, 5])
    perfect = np.repeat([7, 3, 3], [50, 45, 5])
    found = zoo.measures.partition_figures(perfect, truth)
    assert found == {"used": 2, "large": 2, "ari": 1.0, "exact": 1.0}
    perfect[0] = 5  # a small component
    found = zoo.measures.partition_figures(perfect, truth)
    assert (found["used"], found["large"], found["exact"]) == (3, 2, 0.0)
    noise = np.repeat([0, -1], [50, 50])  # rows without a component
    found = zoo.measures.partition_figures(noise)
    assert found == {"used": 1, "large": 1}


def test_bic_search_finds_the_least_value(zoo, families):
    search = sys.modules["zoo.families.clusters"].search
    for best in range(1, 33):
        assert search(lambda k, best=best: abs(k - best), [1, 2, 4, 8, 16, 32]) == best


def test_density_of_bayesian_mixtures_is_a_density(zoo, families):
    density = sys.modules["zoo.families.clusters"].density
    X = np.random.default_rng(0).normal(size=(60, 2))
    mixture = BayesianGaussianMixture(n_components=2, tol=1, random_state=0).fit(X)
    parts = [
        weight * multivariate_normal(mean, covariance).pdf(X)
        for weight, mean, covariance in zip(
            mixture.weights_, mixture.means_, mixture.covariances_, strict=True
        )
    ]
    expected = np.log(np.sum(parts, axis=0)).mean()
    assert density(mixture, X) == pytest.approx(expected)


# -- data ------------------------------------------------------------------------------


def test_generated_answers_and_documents_have_their_means(zoo):
    random = np.random.default_rng(0)
    profiles = random.dirichlet(np.ones(3), (2, 4))
    X = zoo.samplers.item_answers(random, np.full((20_000, 2), 0.5), profiles)
    assert (X.sum(axis=1) == 4).all()
    expected = profiles.mean(axis=0).ravel()
    # six standard deviations of a proportion
    np.testing.assert_allclose(
        np.asarray(X.mean(axis=0)).ravel(), expected, atol=6 * 0.5 / 20_000**0.5
    )
    topics = random.dirichlet(np.ones(7), 2)
    weights = np.tile([0.25, 0.75], (2000, 1))
    lengths = random.poisson(20, 2000)
    for sample, more in (
        (zoo.samplers.documents_of_tokens, ()),
        (zoo.samplers.doubly_sampled, (1e-4,)),
    ):
        X = sample(random, weights, topics, lengths, *more)
        assert np.array_equal(np.asarray(X.sum(axis=1)).ravel(), lengths)
        p = np.asarray(X.sum(axis=0)).ravel() / lengths.sum()
        np.testing.assert_allclose(p, [0.25, 0.75] @ topics, atol=0.02)


def test_counts_of_overlapping_dna_words_are_consistent(zoo):
    topics = zoo.samplers.kmer_topics(3, 4)(np.random.default_rng(0))
    words = topics.reshape(3, 4, 4, 4, 4)
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    # the chain is stationary: the first three bases are distributed as the last three
    np.testing.assert_allclose(words.sum(axis=4), words.sum(axis=1), atol=1e-9)


def test_draws_depend_only_on_the_seed(families):
    for family in families.values():
        draws = [family.smallest.draw(seed).fingerprint for seed in (0, 0, 1)]
        assert draws[0] == draws[1] != draws[2]


def test_held_out_shapes_and_seeds_are_not_used_in_development(zoo, families):
    assert not set(zoo.core.DEVELOPMENT_SEEDS) & set(zoo.core.REPORTED_SEEDS)
    for family in families.values():
        names = [data_set.name for data_set in family.data_sets]
        assert len(names) == len(set(names))
        assert sum(d.held_back for d in family.data_sets) >= len(names) / 3
        seen = list(zoo.core.cases(family, "development"))
        assert not any(data_set.held_back for data_set, _, _ in seen)
        reported = {seed for _, seed, _ in zoo.core.cases(family, "held_back")}
        assert reported == set(zoo.core.REPORTED_SEEDS)


# -- cache and tables ------------------------------------------------------------------


def record(method, seed, value, *, version="v1", commit="", status="done"):
    return {
        "family": "invented",
        "set": "a set",
        "seed": seed,
        "method": method,
        "version": version,
        "commit": commit,
        "facts": {"rows": 5},
        "fingerprint": 1,
        "date": "2026-01-01",
        "processor": "a processor",
        "status": status,
        "cap": 9,
        "seconds": 1.0,
        "figures": {"score": value},
    }


@pytest.fixture
def invented(zoo):
    core = zoo.core
    return core.Family(
        name="invented",
        title="Invented",
        page="invented",
        about="Nothing.",
        data_sets=(core.DataSet("a set", None, held_back=False),),
        methods=(
            core.Method("ours", None, role="default"),
            core.Method("a peer", None, "a package"),
        ),
        figures=(
            core.Figure("score", "Score", 2, 1, 0.01),
            core.Figure("seconds", "CPU seconds", 1, 0, summary="sum"),
        ),
        judge=None,
        facts=("rows",),
        smallest=core.DataSet("smallest", None, held_back=False),
    )


def test_a_loss_is_reported_if_it_exceeds_the_spread_of_seeds(zoo, invented):
    # the standard deviation of "ours" is 1
    own = [record("ours", seed, seed, commit="abc") for seed in range(3)]

    def losses(lead):
        peers = [record("a peer", 1, 1 + lead)]  # "ours" has 1 at this seed
        results = zoo.tables.Results(invented, "development", own + peers, ["v1"])
        return zoo.tables.losses(results, "ours")

    assert losses(0.9) == []
    stopped = [record("ours", 1, None, commit="abc", status="capped")]
    found = zoo.tables.Results(
        invented, "development", [*stopped, record("a peer", 1, 5)], ["v1"]
    )
    (lost,) = zoo.tables.losses(found, "ours")
    assert (lost["own"], lost["best"]) == ("> 9 s", 5)
    (lost,) = losses(1.1)
    assert (lost["own"], lost["best"], lost["peer"]) == (1, 2.1, "a peer")


def test_tables_show_the_requested_version_and_stopped_fits(zoo, invented):
    records = [
        record("ours", 0, 3.0, commit="new", version="v2"),
        record("ours", 0, 1.0, commit="old", version="v1"),
        record("a peer", 0, None, status="capped"),
    ]
    text = "\n".join(zoo.tables.section(invented, records, ["development"], ["v2"]))
    assert "| a set | 3.00 | > 9 s |" in text
    assert "a set, a peer, seed 0: > 9 s" in text
    both = "\n".join(
        zoo.tables.section(invented, records, ["development"], ["v1", "v2"])
    )
    assert "| a set | 3.00 | 1.00 | > 9 s |" in both
    assert "Held back" not in both


def test_data_sets_without_a_fit_are_named(zoo, invented):
    records = [record("ours", seed, 1.0, commit="new") for seed in (0, 1)]
    # a fit of another version, and a fit of the other split
    records.append(record("ours", 2, 1.0, commit="old", version="v0"))
    records.append(record("a peer", 1001, 1.0))

    def said(split):
        return " ".join(zoo.tables.coverage(invented, split, records, ["v1"]))

    assert "ours 2 of 3; a peer 0 of 3" in said("development")
    assert "Not yet" not in said("development")
    assert "ours 0 of 3; a peer 1 of 3" in said("held_back")
    assert "Not yet fitted by our default: a set." in said("held_back")


def test_changed_data_are_noticed(zoo, invented):
    records = [record("ours", 0, 3.0, commit="new"), record("a peer", 0, 3.0)]
    records[1]["fingerprint"] = 2
    with pytest.raises(ValueError, match="'a set', seed 0, have changed"):
        zoo.tables.Results(invented, "development", records, ["v1"])


# -- fits ------------------------------------------------------------------------------


@pytest.mark.deep
def test_the_smallest_data_sets_run_end_to_end(zoo, families, tmp_path):
    def run(*arguments):
        done = subprocess.run(
            [sys.executable, BENCHMARKS / "zoo", *arguments, "--cache", tmp_path],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    command = ["run", "--smallest", "--methods", "all"]
    first = run(*command)
    installed = [
        (family.name, method.name)
        for family in families.values()
        for method in family.methods
        if method.version is not None
    ]
    records = [
        json.loads(line)
        for family in families
        for line in (tmp_path / f"{family}.jsonl").read_text().splitlines()
    ]
    assert {(r["family"], r["method"]) for r in records} == set(installed)
    assert first[0].startswith(f"{len(installed)} fits;")
    for found in records:
        assert found["status"] == "done", found
        assert found["seconds"] > 0
        assert all(np.isfinite(value) for value in found["figures"].values()), found
    assert run(*command)[0].startswith("0 fits;")


@pytest.mark.deep
def test_a_time_limit_stops_one_fit_and_others_continue(tmp_path):
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from zoo.core import Data, Family, Method
from zoo.running import in_own_process

def forever(data, seed):
    while True:
        pass

def wrong(data, seed):
    raise ValueError("a reason")

def judge(data, fitted):
    return {"a": fitted}

family = Family("f", "", "", "", (), (), (), judge, (), None)
data = Data(np.ones((2, 2)), None, 1)
for fit in (forever, wrong, lambda data, seed: 1):
    print(in_own_process(family, Method("m", fit), data, 0, {}, 1))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, BENCHMARKS],
        capture_output=True,
        text=True,
        check=True,
    )
    stopped, failed, finished = map(eval, done.stdout.splitlines())
    assert stopped == {"status": "capped", "cap": 1}
    assert failed == {"status": "failed", "error": "ValueError: a reason"}
    assert (finished["status"], finished["figures"]) == ("done", {"a": 1.0})
