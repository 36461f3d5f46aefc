"""The corpus of the package, readers of ratings, and generators of data."""

import zipfile

import numpy as np
import pytest
from fits import peak_of
from scipy import sparse
from sklearn import config_context, get_config

from sktemper.datasets import (
    _generators,
    _lines,
    interactions_matrix,
    load_debian_descriptions,
    load_election_survey,
    load_movielens,
    make_factorial_mixture,
    make_lda_documents,
    make_ratings,
    ratings_matrix,
)


@pytest.fixture(scope="module")
def debian():
    return load_debian_descriptions()


def test_debian_names(debian):
    words, packages = debian.feature_names, debian.document_names
    assert words.shape == (6_000,)
    assert packages.shape == (52_189,)
    assert all(isinstance(name, str) for name in [*words, *packages])
    assert words.tolist() == sorted(set(words))
    assert len(set(packages)) == 52_138


def test_debian_rows_and_columns_belong_to_their_names(debian):
    row = debian.document_names.tolist().index("python3-sklearn")
    words = debian.feature_names[debian.data[[row]].indices]
    assert {"gaussian", "learning", "machine", "mixture", "python", "svm"} <= {*words}


def test_debian_description_agrees_with_data(debian):
    X = debian.data
    lengths = X.sum(axis=1)
    for figure in (
        *(f"{n:,}" for n in (*X.shape, X.nnz, lengths.sum())),
        f"{lengths.min()} to {lengths.max():,}",
        f"median {np.median(np.asarray(lengths)):.0f}, mean {lengths.mean():.1f}",
    ):
        assert figure in debian.DESCR
    unused = debian.feature_names[X.getnnz(axis=0) == 0]
    assert unused.tolist() == ["localises"]


def test_election_survey():
    survey = load_election_survey()
    frame = survey.data
    assert frame.shape == (944, 10) and not frame.isna().any(axis=None)
    assert all(name in survey.DESCR for name in frame.columns)
    for name, least, most in (("tv_news", 0, 7), ("dole", 1, 7), ("income", 1, 24)):
        assert (frame[name].min(), frame[name].max()) == (least, most)
    other = load_election_survey(output="polars").data
    assert other.to_dict(as_series=False) == frame.to_dict("list")


@pytest.mark.parametrize(
    "load", [load_debian_descriptions, make_lda_documents, make_ratings]
)
@pytest.mark.parametrize("interface", [None, "spmatrix", "sparray"])
def test_sparse_interface_of_scikit_learn_is_followed(load, interface):
    given = {} if interface is None else {"sparse_interface": interface}
    if not given.keys() <= get_config().keys():
        pytest.skip("scikit-learn has sparse_interface from 1.9 on")
    with config_context(**given):
        data = load()
    X = data.data if load is load_debian_descriptions else data
    assert isinstance(X, sparse.csr_array) == (interface == "sparray")
    assert X.format == "csr"


#: Small data of each generator, and the parameter that returns their distributions.
GENERATORS = {
    make_lda_documents: ({"n_samples": 50}, "return_distributions"),
    make_factorial_mixture: ({"n_samples": 50}, "return_components"),
    make_ratings: ({"n_users": 50, "n_items": 40, "n_ratings": 90}, "return_factors"),
}


def same(one, other):
    one, other = (X.toarray() if sparse.issparse(X) else X for X in (one, other))
    return np.array_equal(one, other)


@pytest.mark.parametrize("make", GENERATORS)
def test_data_are_determined_by_the_seed(make):
    size, truth = GENERATORS[make]
    parts = make(**size, **{truth: True}, random_state=1)
    again = make(**size, **{truth: True}, random_state=np.random.RandomState(1))
    for one, other in zip(parts, again, strict=True):
        assert same(one, other)
    assert same(parts[0], make(**size, random_state=1))
    assert not same(parts[0], make(**size, random_state=2))
    single = make(**size, dtype=np.float32, random_state=1)
    assert single.dtype == np.float32 and same(parts[0].astype(np.float32), single)


def test_shapes_and_types():
    X, doc_topic, topic_word = make_lda_documents(
        50, 30, 4, return_distributions=True, random_state=0
    )
    assert X.shape == (50, 30) and X.dtype == np.int32
    assert doc_topic.shape == (50, 4) and topic_word.shape == (4, 30)
    Y, *factors = make_ratings(
        80, 40, 3, n_ratings=700, return_factors=True, random_state=0
    )
    assert Y.shape == (80, 40) and Y.nnz == 700 and Y.dtype == np.float64
    assert [part.shape for part in factors] == [(80, 3), (3, 40), (80,), (40,)]
    for matrix in X, Y:
        assert sparse.isspmatrix_csr(matrix) and matrix.has_canonical_format
        assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    X = make_lda_documents(10, 1, 1, doc_length=2e5, random_state=0)
    np.testing.assert_allclose(X.toarray(), 2e5, rtol=0.01)
    X = make_lda_documents(20, doc_length=1e-9, random_state=0)
    assert X.shape == (20, 500) and X.nnz == 0


BAD_PARAMETERS = {
    make_lda_documents: [
        ({"n_samples": 0}, "'n_samples' parameter of make_lda_documents"),
        ({"n_features": 2.5}, "'n_features' parameter"),
        ({"doc_length": 0}, "'doc_length' parameter"),
        ({"doc_topic_prior": 0}, "'doc_topic_prior' parameter"),
        ({"doc_topic_prior": [0.1, 0.1]}, "doc_topic_prior must be"),
        ({"topic_word_prior": [1.0] * 499 + [0]}, "topic_word_prior must be"),
        ({"topic_word_prior": [np.nan] * 500}, "topic_word_prior must be"),
        ({"random_state": "seed"}, "'random_state' parameter"),
    ],
    make_factorial_mixture: [
        ({"n_samples": 0}, "'n_samples' parameter of make_factorial_mixture"),
        ({"components": [1.0, 2.0]}, "Expected 2D array"),
        ({"components": [[np.nan]]}, "Input components contains NaN"),
        ({"inclusion_probability": 1.5}, "'inclusion_probability' parameter"),
        ({"inclusion_probability": [0.5, 0.5]}, "inclusion_probability must be"),
        ({"inclusion_probability": [0.5] * 7 + [2]}, "inclusion_probability must be"),
        ({"noise_variance": -1}, "'noise_variance' parameter"),
    ],
    make_ratings: [
        ({"n_users": 0}, "'n_users' parameter of make_ratings"),
        ({"n_items": 2.5}, "'n_items' parameter"),
        ({"n_users": 9, "n_items": 9, "n_ratings": 82}, "there are only 81 pairs"),
        ({"inequality": -1}, "'inequality' parameter"),
        ({"noise_variance": -1}, "'noise_variance' parameter"),
        ({"n_stars": 0}, "'n_stars' parameter"),
        ({"inequality": 1e6}, "makes factors that overflow"),
    ],
}


@pytest.mark.parametrize("make", BAD_PARAMETERS)
def test_generators_refuse_bad_parameters(make):
    for parameters, message in BAD_PARAMETERS[make]:
        with pytest.raises(ValueError, match=message):
            make(**parameters)


def test_memory_does_not_grow_with_the_dense_shape(monkeypatch):
    monkeypatch.setattr(_generators, "VALUES_AT_ONCE", 20_000)
    peak, X = peak_of(
        make_lda_documents, 20_000, 10_000, 5, doc_length=20, random_state=0
    )
    # The peak has the chunks and their concatenation. Drawing everything together would
    # take seven times the result, and dense counts 250 times.
    assert peak < 3.5 * (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    peak, X = peak_of(make_ratings, 50_000, 20_000, n_ratings=200_000, random_state=0)
    # The factors are of 70,000 users and items; dense ratings would be 8 GB.
    assert peak < 8 * (X.data.nbytes + X.indices.nbytes + 8 * 5 * 70_000)


def test_documents_have_the_rates_of_their_distributions(monkeypatch):
    monkeypatch.setattr(_generators, "VALUES_AT_ONCE", 20_000)  # several chunks
    X, doc_topic, topic_word = make_lda_documents(
        3_000, 40, 5, doc_length=50, return_distributions=True, random_state=0
    )
    lengths = np.asarray(X.sum(axis=1))
    # The variance of a Poisson mean over 3,000 documents is 50 / 3,000.
    assert lengths.mean() == pytest.approx(50, abs=4 * np.sqrt(50 / 3_000))
    assert lengths.var() == pytest.approx(50, rel=0.15)

    # Given N_d, the counts are multinomial with probabilities p_d = theta_d @ beta.
    probability = doc_topic @ topic_word
    excess = X.toarray() - lengths * probability
    of_words = (lengths * probability * (1 - probability)).sum(axis=0)
    assert np.mean(excess.sum(axis=0) ** 2 / of_words) == pytest.approx(1, abs=0.7)

    # A fixed linear statistic of the cells detects permuted documents.
    def standardised(weights):
        spread = (weights**2 * probability).sum(axis=1, keepdims=True)
        spread -= (weights * probability).sum(axis=1, keepdims=True) ** 2
        return (excess * weights).sum() / np.sqrt((lengths * spread).sum())

    assert abs(standardised(probability)) < 4
    # Its power is sufficient: with the counts of the next document it is large.
    excess = np.roll(X.toarray(), 1, axis=0) - lengths * probability
    assert abs(standardised(probability)) > 40


def test_distributions_have_their_priors():
    _, doc_topic, topic_word = make_lda_documents(
        20_000,
        200,
        4,
        doc_length=1,
        doc_topic_prior=[0.1, 0.2, 0.3, 0.4],
        topic_word_prior=0.5,
        return_distributions=True,
        random_state=0,
    )
    mean = np.array([0.1, 0.2, 0.3, 0.4])
    variance = mean * (1 - mean) / 2  # the concentrations sum to 1
    np.testing.assert_allclose(doc_topic.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(doc_topic.var(axis=0), variance, rtol=0.05)
    assert topic_word.var() == pytest.approx(1 / 200 * (1 - 1 / 200) / 101, rel=0.3)


@pytest.mark.parametrize("prior", [1e-6, 1e3])
def test_documents_of_extreme_priors(prior):
    X, doc_topic, topic_word = make_lda_documents(
        100,
        doc_topic_prior=prior,
        topic_word_prior=prior,
        return_distributions=True,
        random_state=0,
    )
    assert X.sum() > 0
    assert np.isfinite(doc_topic).all()
    assert np.isfinite(topic_word).all()


def test_shapes_are_the_toy_of_the_paper():
    X, features, components = make_factorial_mixture(
        50, return_components=True, random_state=0
    )
    assert X.shape == (50, 16)
    assert X.dtype == components.dtype == np.float64
    assert features.shape == (50, 8)
    assert features.dtype == bool
    assert components.shape == (8, 16)
    weights = components.max(axis=1, keepdims=True)
    assert ((weights >= 0.5) & (weights <= 1)).all()
    assert len(np.unique(weights)) == 8
    np.testing.assert_array_equal(components, weights * (components > 0))
    assert np.linalg.matrix_rank(components) == 8
    overlaps = components @ components.T > 0
    assert (overlaps.sum(axis=1) > 2).all()


def test_samples_are_sums_of_their_features_and_noise(monkeypatch):
    monkeypatch.setattr(_generators, "VALUES_AT_ONCE", 1_000)  # several chunks
    probability = np.linspace(0.1, 0.8, 8)
    X, features, components = make_factorial_mixture(
        5_000,
        inclusion_probability=probability,
        noise_variance=0.04,
        return_components=True,
        random_state=0,
    )
    np.testing.assert_allclose(features.mean(axis=0), probability, atol=0.03)
    noise = X - features @ components
    assert abs(noise.mean()) < 4 * np.sqrt(0.04 / noise.size)
    np.testing.assert_allclose(np.cov(noise.T), 0.04 * np.eye(16), atol=0.004)


def test_samples_of_given_components():
    given = [[1, 0, 2], [0, -1, 1]]
    X, features, components = make_factorial_mixture(
        20,
        given,
        noise_variance=0,
        inclusion_probability=1,
        dtype=np.float32,
        return_components=True,
    )
    assert features.all()
    assert X.dtype == np.float32
    np.testing.assert_array_equal(components, given)
    np.testing.assert_array_equal(X, [[1, -1, 3]] * 20)


# -- ratings ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_ratings", "inequality"), [(0, 1), (90, 1), (90, 3), (1500, 2), (2000, 0)]
)
def test_no_rating_is_there_twice(n_ratings, inequality):
    X = make_ratings(50, 40, n_ratings=n_ratings, inequality=inequality, random_state=0)
    assert X.nnz == n_ratings
    assert X.has_canonical_format
    again = X.copy()
    again.has_canonical_format = False
    again.sum_duplicates()
    assert again.nnz == n_ratings


@pytest.mark.parametrize("dense_share", [0, 1])
def test_ratings_are_those_of_the_model(monkeypatch, dense_share):
    monkeypatch.setattr(_generators, "VALUES_AT_ONCE", 10_000)  # several chunks
    monkeypatch.setattr(_generators, "_DENSE_SHARE", dense_share)
    X, user_factors, components, user_biases, item_biases = make_ratings(
        500,
        300,
        4,
        n_ratings=60_000,
        global_mean=-2,
        noise_variance=0.3,
        return_factors=True,
        random_state=0,
    )
    expected = user_factors @ components - 2 + user_biases[:, None] + item_biases
    X = X.tocoo()
    noise = X.data - expected[X.row, X.col]
    assert abs(noise.mean()) < 4 * np.sqrt(0.3 / X.nnz)
    assert noise.var() == pytest.approx(0.3, rel=0.03)
    assert user_factors.var() == pytest.approx(0.3, rel=0.15)
    assert components.var() == pytest.approx(0.3, rel=0.15)
    assert np.r_[user_biases, item_biases].var() == pytest.approx(0.2, rel=0.2)


@pytest.mark.parametrize("dense_share", [0, 1])
def test_users_are_more_or_less_active_and_items_popular(monkeypatch, dense_share):
    monkeypatch.setattr(_generators, "_DENSE_SHARE", dense_share)
    few = dict(n_ratings=50_000, random_state=0)
    alike = make_ratings(2_000, 500, inequality=0, **few)
    unlike = make_ratings(2_000, 500, inequality=1, **few)
    for axis, mean in ((0, 100), (1, 25)):
        # Numbers of ratings are binomial if all users are alike, and otherwise
        # log-normal with the variance (e - 1) mean^2, less the effect of pairs that are
        # drawn twice.
        assert alike.getnnz(axis=axis).var() == pytest.approx(mean, rel=0.25)
        assert 0.6 < unlike.getnnz(axis=axis).var() / (mean**2 * (np.e - 1)) < 1.4


def test_stars_and_dtype():
    X = make_ratings(100, 50, n_ratings=2_000, random_state=0)
    stars = make_ratings(
        100, 50, n_ratings=2_000, n_stars=5, dtype=np.float32, random_state=0
    )
    assert stars.dtype == np.float32
    np.testing.assert_array_equal(stars.indices, X.indices)
    np.testing.assert_array_equal(stars.data, X.data.round().clip(1, 5))
    assert np.unique(stars.data).tolist() == [1, 2, 3, 4, 5]


def test_variances_may_be_large_integers():
    for name in ("component_variance", "bias_variance", "noise_variance"):
        X = make_ratings(9, 9, n_ratings=20, random_state=0, **{name: 10**30})
        assert np.isfinite(X.data).all()
    assert np.isfinite(make_factorial_mixture(9, noise_variance=10**30)).all()


def long_table(X, order):
    X = X.tocoo()
    return X.row[order], X.col[order], X.data[order]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_long_tables_become_matrices(dtype):
    X = make_ratings(30, 20, n_ratings=300, n_stars=5, random_state=0)
    X.data -= 1  # zeros are ratings
    X = X.astype(dtype)
    users, items, ratings = long_table(X, np.random.default_rng(0).permutation(300))
    again, user_labels, item_labels = ratings_matrix(10 * users, items - 7, ratings)
    assert sparse.isspmatrix_csr(again)
    assert again.has_canonical_format
    assert again.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert again.nnz == 300
    assert (again.data == 0).any()
    rows, columns = user_labels // 10, item_labels + 7
    np.testing.assert_array_equal(again.toarray(), X.toarray()[np.ix_(rows, columns)])
    np.testing.assert_array_equal(rows, np.unique(users))
    np.testing.assert_array_equal(columns, np.unique(items))


@pytest.mark.parametrize(
    "kind", ["object", "category", "string", "Int64", "datetime64[ns]"]
)
def test_columns_of_data_frames(kind):
    pandas = pytest.importorskip("pandas")
    labels = ["2001", "1999", "2001", "2010"]
    if kind == "Int64":
        labels = [int(label) for label in labels]
    table = pandas.DataFrame({"u": pandas.Series(labels, dtype=kind)})
    table["i"], table["r"] = [3, 3, 1, 3], [1, 2, 3, 4]
    X, users, items = ratings_matrix(table["u"], table["i"], table["r"])
    np.testing.assert_array_equal(X.toarray(), [[0, 2], [3, 1], [0, 4]])
    assert items.tolist() == [1, 3]
    back, *_ = ratings_matrix(table["u"], table["i"], table["r"], user_labels=users)
    np.testing.assert_array_equal(back.toarray(), X.toarray())


def test_new_users_are_reindexed_to_known_columns():
    given = ["c", "a", "b"]  # any order
    table = ["x", "y", "x"], ["b", "z", "c"], [4, 5, 3]
    X, users, items = ratings_matrix(*table, item_labels=given, unknown="ignore")
    np.testing.assert_array_equal(X.toarray(), [[3, 0, 4], [0, 0, 0]])
    assert users.tolist() == ["x", "y"]
    assert items.tolist() == given
    X, *_ = ratings_matrix(
        *table, item_labels=given, user_labels=["q", "x"], unknown="ignore"
    )
    np.testing.assert_array_equal(X.toarray(), [[0, 0, 0], [3, 0, 4]])
    with pytest.raises(ValueError, match="1 items are not in item_labels: 'z'"):
        ratings_matrix(*table, item_labels=given)
    with pytest.raises(ValueError, match="1 users are not in user_labels: 'y'"):
        ratings_matrix(*table, user_labels=["x"])
    X, *_ = ratings_matrix([], [], [], user_labels=[1, 2], item_labels=[3])
    assert X.shape == (2, 1) and X.nnz == 0
    assert ratings_matrix([], [], [])[0].shape == (0, 0)
    # labels of another type are all unknown
    with pytest.raises(ValueError, match="3 items are not in item_labels: 'b'"):
        ratings_matrix(*table, item_labels=[1, 2, 3])


@pytest.mark.parametrize(
    ("duplicates", "expected"), [("first", 1.0), ("last", 5.0), ("mean", 2.0)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_duplicates(duplicates, expected, dtype):
    table = [7, 8, 7, 7], [1, 1, 1, 1], np.array([1, 3, 0, 5], dtype=dtype)
    X, *_ = ratings_matrix(*table, duplicates=duplicates)
    assert X.dtype == dtype
    np.testing.assert_array_equal(X.toarray(), [[expected], [3]])
    with pytest.raises(ValueError, match="2 duplicate ratings.* user 7 for item 1"):
        ratings_matrix(*table)


@pytest.mark.parametrize(
    ("table", "parameters", "error", "message"),
    [
        (([1], [1, 2], [3]), {}, ValueError, "inconsistent numbers of samples"),
        (([1], [1], [np.nan]), {}, ValueError, "Input ratings contains NaN"),
        (([1], [1], [[3]]), {}, ValueError, "ratings must be of one dimension"),
        (([[1]], [1], [3]), {}, ValueError, "users must be of one dimension"),
        (([1.0, np.nan], [1, 2], [3, 3]), {}, ValueError, "users has missing labels"),
        (([1, 2], ["a", None], [3, 3]), {}, ValueError, "items has missing labels"),
        ((np.array([1, "a"], object), [1, 2], [3, 3]), {}, TypeError, "users has lab"),
        (([1], [1], [3]), {"item_labels": [1, 1]}, ValueError, "that occur twice"),
        (([1], [1], [3]), {"duplicates": "sum"}, ValueError, "'duplicates' parameter"),
    ],
)
def test_tables_that_are_refused(table, parameters, error, message):
    with pytest.raises(error, match=message):
        ratings_matrix(*table, **parameters)


#: Three releases: the file of ratings, and that of films.
MOVIELENS = {
    "u.data": (
        "196\t242\t3\t881250949\n186\t302\t4\t891717742\n196\t302\t1\t1\n",
        "u.item",
        "242|Kolya (1996)|24-Jan-1997||x\n302|L.A. Confidential (1997)|01|\n".encode(
            "latin-1"
        ),
    ),
    "ratings.dat": (
        "196::242::3::881250949\n186::302::4::891717742\n196::302::1::1\n",
        "movies.dat",
        "242::Kolja, Zażółć (1996)::Comedy\n1::Toy Story (1995)::Animation\n".encode(),
    ),
    "ratings.csv": (
        "userId,movieId,rating,timestamp\n196,242,3.0,1\n186,302,4.0,1\n196,302,1,1\n",
        "movies.csv",
        b'movieId,title,genres\n242,"American President, The (1995)",Comedy\n',
    ),
}
TITLES = {
    "u.data": ["Kolya (1996)", "L.A. Confidential (1997)"],
    "ratings.dat": ["Kolja, Zażółć (1996)", ""],
    "ratings.csv": ["American President, The (1995)", ""],
}


@pytest.mark.parametrize("release", MOVIELENS)
@pytest.mark.parametrize("form", ["folder", "file", "renamed", "zip"])
def test_movielens(tmp_path, release, form):
    ratings, films, titles = MOVIELENS[release]
    name = release if form != "renamed" else "mine.txt"
    (tmp_path / name).write_text(ratings, encoding="utf-8")
    (tmp_path / films).write_bytes(titles)
    path = tmp_path if form == "folder" else tmp_path / name
    if form == "zip":
        path = tmp_path / "ml.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / name, f"ml-100k/{name}")
            archive.write(tmp_path / films, f"ml-100k/{films}")
    movielens = load_movielens(str(path))
    np.testing.assert_array_equal(movielens.data.toarray(), [[0, 4], [3, 1]])
    assert movielens.data.dtype == np.float32
    assert movielens.user_labels.tolist() == [186, 196]
    assert movielens.item_labels.tolist() == [242, 302]
    assert movielens.item_titles.tolist() == TITLES[release]


def test_titles_in_latin_1_and_no_titles(tmp_path):
    (tmp_path / "u.data").write_text("1\t2\t3\t4\n")
    assert load_movielens(tmp_path).item_titles is None
    (tmp_path / "u.item").write_bytes("2|Misérables, Les (1995)|x\n".encode("latin-1"))
    titles = load_movielens(tmp_path).item_titles
    assert titles.tolist() == ["Misérables, Les (1995)"]


def test_files_that_are_not_movielens_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no"):
        load_movielens(tmp_path / "ml-100k")
    with pytest.raises(FileNotFoundError, match=r"has none of ratings\.csv"):
        load_movielens(tmp_path)
    (tmp_path / "u.data").write_text("some text\n")
    with pytest.raises(ValueError, match="line 1: expected user, film and rating"):
        load_movielens(tmp_path)


# -- invalid files of ratings ----------------------------------------------------------

CSV = "userId,movieId,rating,timestamp\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("u.data", "", "has no ratings"),
        ("ratings.csv", CSV, "has no ratings"),
        # letters before the first digit do not make a line a header
        (
            "u.data",
            "x1\t2\t3\t4\n1\t2\t3\t4\n",
            "line 1: expected user, film and rating",
        ),
        ("u.data", "#no\n1\t2\t3\t4\n", "line 1: expected .* tab, comma or ::"),
        ("ratings.csv", "user,film,stars\n1,2,3\n", "line 1: .* header with userId"),
        (
            "ratings.csv",
            "userId,movieId,rating,rating\n1,2,3,4\n",
            "line 1: .* a header",
        ),
        ("u.data", "1\t2\t" + "3" * 70_000, "line 1: expected a finite rating"),
        ("u.data", "1\t2\t3\t4\n\n5\t6\tx\t4\n", "line 3: .* as numbers"),
        ("u.data", "1\t2\t3\t4\n5\t6\t3\n", "line 2: expected 4 fields"),
        ("u.data", "1\t2\t3\t4\n5\t6,3,4\n", "line 2: expected 4 fields"),
        ("ratings.csv", CSV + '1,2,3,4\n"5",6,3,4\n', "line 3: .* as numbers"),
        ("ratings.dat", "1::2::3::4\n5::6::3:x:4\n", "line 2: expected 4 fields"),
        ("ratings.dat", "1::2::3::4\n5\t6\t3\t4::7::8::9\n", "line 2: .* as numbers"),
        # numbers that cannot be those of users or films
        ("u.data", "1\t2\t3\t4\n1.7\t2\t3\t4\n", "line 2: .* as whole numbers"),
        ("u.data", "1\t2\t3\t4\n1\t1e300\t3\t4\n", "line 2: .* as whole numbers"),
        (
            "u.data",
            "1\t2\t3\t4\n9007199254740993\t2\t3\t4\n",
            "line 2: .* as whole numbers",
        ),
        ("u.data", "1\t2\t3\t4\n2\t2\tinf\t4\n", "line 2: expected a finite rating"),
        ("u.data", "1\t2\t3\t4\n2\t2\t1e39\t4\n", "line 2: expected a finite rating"),
    ],
)
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_lines_that_are_no_ratings_are_named(tmp_path, name, text, message, form):
    path = tmp_path
    if form == "folder":
        (tmp_path / name).write_text(text)
    else:
        path = tmp_path / "ml.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"ml/{name}", text)
    with pytest.raises(ValueError, match=rf"{name}.*{message}"):
        load_movielens(path)


def test_the_line_at_fault_is_found_among_many(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "BYTES_AT_ONCE", 700)
    lines = [f"{i}\t{i}\t3\t4" for i in range(350)]
    lines[50] = ""
    (tmp_path / "u.data").write_text("\n".join(lines))
    assert load_movielens(tmp_path).data.nnz == 349
    for place in (0, 99, 100, 257, 349):
        spoilt = lines.copy()
        spoilt[place] = "x" + spoilt[place]
        (tmp_path / "u.data").write_text("\n".join(spoilt))
        with pytest.raises(ValueError, match=rf"u\.data, line {place + 1}: expected"):
            load_movielens(tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        "rating,timestamp,movieId,userId",
        "rating,timestamp,movie_id,user_id",
        '"Rating","x","itemId","USERID"',
    ],
)
@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_names_of_columns_are_honoured(tmp_path, header, bom, newline):
    lines = [header, "4,not read,302,186", "", "3,,242,196", "1,,302,196", ""]
    text = (bom + newline.join(lines)).encode()
    (tmp_path / "ratings.csv").write_bytes(text)
    movielens = load_movielens(tmp_path)
    np.testing.assert_array_equal(movielens.data.toarray(), [[0, 4], [3, 1]])
    assert movielens.user_labels.tolist() == [186, 196]
    (tmp_path / "movies.csv").write_text("title,genres,movieId\nKolya,x,242\n")
    assert load_movielens(tmp_path).item_titles.tolist() == ["Kolya", ""]


@pytest.mark.parametrize(
    ("ratings", "films", "text", "message"),
    [
        ("u.data", "u.item", "2|Kolya\n3\n", "line 2: expected the number of a film"),
        ("u.data", "u.item", "2|Kolya\nx|Kolya\n", "line 2: .* a film .*'x'"),
        ("u.data", "u.item", "2|Kolya\n\u00b2|Kolya\n", "line 2: .* a film"),
        ("u.data", "u.item", "9" * 5000 + "|Kolya\n", "line 1: .* a film"),
        ("ratings.dat", "movies.dat", "2::Kolya\n\n3:x\n", "line 3: .* a film"),
        ("ratings.csv", "movies.csv", "movieId,title\n2\n", "line 2: .* a film"),
        (
            "ratings.csv",
            "movies.csv",
            'movieId,title\n2,"Kolya\n3,Z\n',
            "line 3: unexp",
        ),
        ("ratings.csv", "movies.csv", "2," + "x" * 200_000, "line 1: field larger"),
    ],
)
def test_lines_that_are_no_titles_are_named(tmp_path, ratings, films, text, message):
    line = MOVIELENS[ratings][0].splitlines(keepends=True)[-1]
    (tmp_path / ratings).write_text(line)
    (tmp_path / films).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"{films}, {message}"):
        load_movielens(tmp_path)


def test_titles_may_have_any_character_but_newlines(tmp_path):
    (tmp_path / "u.data").write_text("1\t2\t3\t4\n")
    title = "A\x85B\u2028C"
    (tmp_path / "u.item").write_text(f"2|{title}|x\r\n", encoding="utf-8")
    assert load_movielens(tmp_path).item_titles.tolist() == [title]


def test_several_matching_files_are_refused(tmp_path):
    line = "1\t2\t3\t4\n"
    path = tmp_path / "ml.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("u.data/", "")  # a folder
        archive.writestr("ml/u.data", line)
    assert load_movielens(path).data.nnz == 1
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("old/u.data", line)
    with pytest.raises(ValueError, match=r"choose: .*ml/u\.data, .*old/u\.data"):
        load_movielens(path)
    for name in ("u.data", "ratings.csv"):
        (tmp_path / name).write_text(line)
    with pytest.raises(ValueError, match=r"choose: .*ratings\.csv, .*u\.data"):
        load_movielens(tmp_path)
    assert load_movielens(tmp_path / "u.data").data.nnz == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_zip_file_is_refused(tmp_path, method):
    path = tmp_path / "ml.zip"
    text = "".join(f"{i}\t{i}\t3\t4\n" for i in range(300))
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("ml/u.data", text)
    data = path.read_bytes()
    for size in (0, 3, 30, 200, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(
            ValueError, match=r"ml\.zip.* (is no zip file|is damaged or cut off)"
        ):
            load_movielens(path)
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    renamed = tmp_path / "ml"  # recognized by its first bytes
    for damaged in (changed, data[:-1]):
        renamed.write_bytes(damaged)
        with pytest.raises(
            ValueError, match="ml.* (is no zip file|is damaged or cut off)"
        ):
            load_movielens(renamed)


def test_a_file_in_a_zip_file_with_a_wrong_size_is_refused(tmp_path):
    path = tmp_path / "ml.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("u.data", "1\t2\t3\t4\n" * 10_000)
        archive.filelist[0].file_size = 8
    with pytest.raises(ValueError, match="is no zip file|is damaged or cut off"):
        load_movielens(path)


@pytest.mark.parametrize("missing", [None, np.nan, "NaT", "NA"])
def test_missing_labels_among_objects_are_refused(missing):
    if missing in ("NaT", "NA"):
        missing = getattr(pytest.importorskip("pandas"), missing)
    for labels in ([missing], [missing, missing], ["a", missing], [1.5, missing]):
        labels = np.array(labels, dtype=object)
        table = np.arange(len(labels)), np.ones(len(labels))
        with pytest.raises(ValueError, match="users has missing labels"):
            ratings_matrix(labels, *table)


def test_masked_and_dated_numbers_are_refused():
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    labels = ["a", "b"], ["x", "y"]
    days = np.array([1, 2], dtype="datetime64[D]")
    for make, name in ((ratings_matrix, "ratings"), (interactions_matrix, "weights")):
        with pytest.raises(TypeError, match=f"{name} is a masked array"):
            make(*labels, masked)
        with pytest.raises(TypeError, match=f"{name} must be numbers, got datetime64"):
            make(*labels, days)
        with pytest.raises(TypeError, match="labels is a masked array"):
            make(masked, labels[1], [1, 2])
