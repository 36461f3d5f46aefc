"""Readers of files: invalid arguments and files, byte order marks, sizes in headers."""

import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from sktemper.datasets import (
    _lines,
    load_movielens,
    read_gensim,
    read_lda_c,
    read_matrix_market,
    read_svmlight,
    read_text,
    read_triples,
    read_uci,
)

UCI = "2\n3\n3\n1 1 5\n1 3 1\n2 2 4\n"
MARKET = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 5\n1 3 1\n2 2 4\n"
SVMLIGHT = "+1 1:5 3:1\n-1 2:4\n"
LDA_C = "2 0:5 2:1\n1 1:4\n"
COUNTS = [[5, 0, 1], [0, 4, 0]]
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


def dense(batches):
    return sparse.vstack(list(batches)).toarray().tolist()


def parquet(path, **columns):
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


# -- arguments -------------------------------------------------------------------------

NUMBERS = [0, -1, True, 1.5, 2.0, np.nan, "3", 2**31, 2**70, [3]]


@pytest.mark.parametrize("value", NUMBERS)
def test_numbers_are_checked(value, write):
    path, bags = write("a.svm", SVMLIGHT), [[(0, 1)]]
    for read, name in (
        (lambda: read_text(write("a.txt", "tea\n"), batch_size=value), "batch_size"),
        (lambda: read_gensim(bags, batch_size=value), "batch_size"),
        (lambda: read_svmlight(path, n_features=value), "n_features"),
        (lambda: read_lda_c(path, n_features=value), "n_features"),
        (lambda: read_gensim(bags, n_features=value), "n_features"),
    ):
        with pytest.raises(ValueError, match=f"'{name}' parameter .* must be an"):
            read()


@pytest.mark.parametrize("zero_based", ["yes", 1, 0, None, 0.0, np.arange(2)])
def test_zero_based_is_checked(zero_based, write):
    with pytest.raises(ValueError, match="'zero_based' parameter .* must be an"):
        read_svmlight(write("a.svm", SVMLIGHT), zero_based=zero_based)


READERS = {
    "uci": read_uci,
    "vocab": lambda path: read_uci(__file__, path),
    "market": read_matrix_market,
    "svmlight": read_svmlight,
    "lda_c": read_lda_c,
    "lda_c_vocab": lambda path: read_lda_c(__file__, path),
    "text": read_text,
    "triples": read_triples,
}


@pytest.mark.parametrize("name", READERS)
def test_paths_are_checked(name, tmp_path, pyarrow):
    read = READERS[name]
    if name == "vocab":
        (tmp_path / "docword.txt").write_text(UCI)

        def read(path):
            return read_uci(tmp_path / "docword.txt", path)

    for path in 3, b"a.csv", [3], object():
        with pytest.raises(TypeError, match="os.PathLike"):
            read(path)
    for path in tmp_path / "none.csv", "a\0b.csv":
        with pytest.raises(FileNotFoundError):
            read(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        with pytest.raises(ValueError, match="is a pipe or a device"):
            read(tmp_path / "pipe.csv")
        with pytest.raises(ValueError, match="is a pipe or a device"):
            read("/dev/zero")
    if name not in ("text", "triples"):
        with pytest.raises(ValueError, match="is a folder"):
            read(tmp_path)


def test_arguments_of_tables_are_checked(write, pyarrow):
    path = write("a.csv", "user,item,rating\n1,2,3\n")
    for arguments, message in (
        ((path, "abc"), "must be a tuple of three different"),
        ((path, 3), "must be a tuple of three different"),
        ((path, ("a", "b", 3)), "must be a tuple of three different"),
        ((path, ("user", "user", "rating")), "a tuple of three different"),
        (([],), "paths is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            read_triples(*arguments)
    with pytest.raises(ValueError, match="label_type.* must be a type among"):
        read_triples(path, label_type=np.array([1, 2]))
    with pytest.raises(ValueError, match="'column' parameter .* must be an"):
        read_text(path, 3)
    with pytest.raises(ValueError, match="paths is empty"):
        read_text(iter([]))


# -- byte order marks ------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [False, True])
def test_byte_order_marks_are_dropped(zipped, write, pyarrow):
    def marked(name, text):
        data = BOM + text.encode()
        return write(name + ".gz", gzip.compress(data)) if zipped else write(name, data)

    vocab = marked("vocab.txt", "tea\nrum\ngin\n")
    for batches in (
        read_uci(marked("docword.txt", UCI), vocab),
        read_matrix_market(marked("a.mtx", MARKET), vocab),
        read_svmlight(marked("a.svm", SVMLIGHT)),
        read_lda_c(marked("a.lda-c", LDA_C), vocab),
    ):
        assert dense(batches) == COUNTS
        assert batches.feature_names in (None, ["tea", "rum", "gin"])
    assert list(read_text(marked("a.txt", "tea\n\ufeffrum\n"))) == [
        ["tea", "\ufeffrum"]
    ]
    assert list(read_text(marked("a.csv", "text\ntea\n"))) == [["tea"]]
    (triple,) = read_triples(marked("b.csv", "user,item,rating\n1,2,3\n"))
    assert [column.tolist() for column in triple] == [[1], [2], [3.0]]


def test_a_line_with_only_a_byte_order_mark(write):
    path = write("u.data", BOM + b"\n1\t2\t3\t0\n")
    assert load_movielens(path).data.toarray().tolist() == [[3.0]]
    assert list(read_text(write("a.txt", BOM + b"\ntea\n"))) == [["", "tea"]]
    assert list(read_text(write("b.txt", BOM))) == []


def test_two_ratings_of_a_film_are_named_with_the_file(write):
    path = write("u.data", "1\t2\t3\t0\n1\t3\t3\t0\n1\t2\t4\t0\n")
    with pytest.raises(ValueError, match="u.data .* duplicate .* user 1 for item 2"):
        load_movielens(path)


# -- sizes in headers ------------------------------------------------------------------


@pytest.mark.parametrize(
    "header, number, what",
    [
        ("2\n99999999999\n1\n", 2, "1 to 2,147,483,647 columns"),
        (f"2\n{2**63}\n1\n", 2, "the number of documents, words or entries"),
        (f"{2**63}\n3\n1\n", 1, "the number of documents, words or entries"),
        ("10000000000000\n3\n1\n", 1, "1 to 16,777,216 rows, as the file announces 1"),
        ("16777217\n3\n1\n", 1, "1 to 16,777,216 rows"),
        ("2\n3\n10000000000000\n", 3, "0 to 4 entries, as the file has at most"),
        (f"2\n3\n1{'0' * 5000}\n", 3, "the number of documents, words or entries"),
        ("0\n3\n1\n", 1, "from 1 to"),
        ("2\n0\n1\n", 2, "from 1 to"),
        ("2\nx\n1\n", 2, "the number of documents"),
    ],
)
def test_sizes_larger_than_the_file_are_refused(header, number, what, write):
    path = write("docword.txt", header + "1 1 1\n")
    what = f"docword.txt, line {number}: expected .*{what}"
    with pytest.raises(ValueError, match=what):
        read_uci(path)
    sizes = header.split()
    text = f"%%MatrixMarket matrix coordinate integer general\n{' '.join(sizes)}\n"
    path = write("a.mtx", text + "1 1 1\n")
    with pytest.raises(ValueError, match="a.mtx, line 2: expected"):
        read_matrix_market(path)
    rows, columns, entries = sizes
    turned = text.replace(" ".join(sizes), f"{columns} {rows} {entries}")
    path = write("a.mtx", turned + "1 1 1\n")
    with pytest.raises(ValueError, match="a.mtx, line 2: expected"):
        read_matrix_market(path, documents="columns")
    with pytest.raises(ValueError, match="'documents' parameter .* must be"):
        read_matrix_market(path, documents="both")


def test_sizes_of_valid_files_are_accepted(write):
    assert dense(read_uci(write("a", "2\n2\n4\n1 1 1\n1 2 1\n2 1 1\n2 2 1"))) == [
        [1, 1],
        [1, 1],
    ]
    pattern = "%%MatrixMarket matrix coordinate pattern general\n1 9 9\n"
    pattern += "\n".join(f"1 {n}" for n in range(1, 10))
    assert dense(read_matrix_market(write("b", pattern))) == [[1] * 9]
    # repeated lines of four bytes have the highest ratio of compression
    n_entries = 10**5
    lines = b"1 1\n" * n_entries
    text = b"%%MatrixMarket matrix coordinate pattern general\n1 1 100000\n" + lines
    path = write("c.gz", gzip.compress(text))
    assert path.stat().st_size < 4 * n_entries / 100
    (X,) = read_matrix_market(path)
    assert X.sum() == n_entries
    # empty documents need no bytes in the file
    rows = [X.shape[0] for X in read_uci(write("d", "3000000\n2\n1\n2000000 1 7\n"))]
    assert sum(rows) == 3_000_000 and max(rows) <= 2**20
    assert dense(read_uci(write("e", "2\n2\n0\n"))) == [[0, 0], [0, 0]]


# -- bad files -------------------------------------------------------------------------
REAL = "%%MatrixMarket matrix coordinate real general\n"
TRIPLES = "user,item,rating\n"
one_based = partial(read_svmlight, n_features=40, zero_based=False)


def bad_lines():
    """Yield readers, 60 good lines with a bad one at the end, and the message."""
    counts = "-1", "nan", "inf", "-inf", "1e400", "0x1"
    entries = "1 2 x", "1 2", "1 2 3 4", "2 2 1.5", "2 2 1e3", "2 2 1.0"
    # "1:5 3:1" has no target; the last digit is Arabic
    pairs = "1:5 3:1", "1 1:1_0", "1 1 :1", "1 1:1\0", "1 1:1:1", "1 -1:1", "1 1.0:1"
    pairs += "1 1: 1", "1 2:x", "1 abc", "1 3:1 2", "1 1:\u0663"
    for read, head, good, cases in (
        (
            read_uci,
            "100\n40\n61\n",
            "2 1 1\n",
            {
                "expected row, column and value": entries,
                "from 1 to 100": ["9999 1 1"],
                "from 1 to 40": ["2 0 1", "2 41 1"],
                "in the order of the rows": ["1 4 1"],
                "expected": [f"2 2 {count}" for count in counts],
            },
        ),
        (
            read_matrix_market,
            f"{REAL}100 40 61\n",
            "2 1 1\n",
            {
                "sort the file": ["1 1 1"],
                "expected": ["1 1.5 2", *(f"2 2 {count}" for count in counts)],
            },
        ),
        (
            read_svmlight,
            "# a comment\n\n",
            "1 1:1\n",
            {
                "expected a target and pairs": pairs,
                "expected each index once": ["1 1:1 1:2", "1 2:1 1:2 2:4"],
                "expected indices up to 2,147,483,646": [
                    "1 4294967296:1",
                    f"1 {'9' * 400}:1",
                ],
                "expected": [f"1 1:1 2:{count}" for count in counts],
            },
        ),
        (one_based, "", "1 1:1 40:2\n", {"expected .*, got '1 ": ["1 0:4", "1 41:1"]}),
        (
            read_lda_c,
            "",
            "1 1:1\n",
            {
                "expected 2 as the number of words": [
                    f"{number} 1:1 2:1" for number in ("1", "9" * 5000, "x", "2.0")
                ],
                "expected": [f"2 1:1 2:{count}" for count in counts],
            },
        ),
    ):
        number = head.count("\n") + 61
        for what, lines in cases.items():
            for line in lines:
                text = f"{head}{60 * good}{line}\n"
                yield "a", read, text, f"a, line {number}: .*{what}"


def bad_files():
    """Yield names, readers and contents of other bad files, and the message."""
    for text, what in (
        ("", "cut off"),
        (REAL, "cut off"),
        (REAL.replace("coordinate", "array"), "line 1"),
        (REAL.replace("real", "complex"), "line 1"),
        (REAL.replace("general", "symmetric"), "line 1"),
        (f"{REAL}%\n2 2\n", "line 3"),
        (REAL.replace("real", "pattern") + "2 2 1\n1 1 2\n", "line 3"),
    ):
        yield "a.mtx", read_matrix_market, text, f"a.mtx.*{what}"
    for text, what in (
        (b"tea and rum\rgin\rale\r", "carriage returns alone"),
        ("tea and rum\ngin\n".encode("utf-16-le"), "line 1: .* null character"),
        (b"PK\x03\x04\x00\x00", "line 1: .* null character"),
    ):
        yield "a.txt", read_text, text, what
    for row, what in (
        ("1,2,inf", "row 3: rating is not finite"),
        ("1,2,-inf", "row 3: rating is not finite"),
        ("1,2,1e400", "row 3: rating is not finite"),
        ("1,2,nan", "row 3: rating is missing"),
        ("1,,3", "row 3: item is missing"),
    ):
        for label_type in None, int, str:
            read = partial(read_triples, label_type=label_type)
            yield "a.csv", read, f"{TRIPLES}1,2,3\n{row}\n", f"a.csv, {what}"
    for text, what in (
        (f"{TRIPLES}2020-01-01,tea,3\n", "the column user has the type date32"),
        (f"{TRIPLES}true,tea,3\n", "the column user has the type bool"),
        (f"{TRIPLES}1.5,tea,3\n", "row 2: user is no whole number"),
        (f"{TRIPLES}{'9' * 20},tea,3\n", "row 2: user is no whole number"),
        (f"{TRIPLES}a\0,tea,3\n", "row 2: user is a string that ends with a null"),
        (f"{TRIPLES}1,2,3\n1,2\n", "Row #3"),
        (f"{TRIPLES}1,2,3\n1,2,x\n", "Row #3.*'x'"),
        ("user,thing,rating\n1,2,3\n", "no column item"),
        ("", "Empty CSV file"),
    ):
        yield "a.csv", read_triples, text, f"a.csv.*{what}"


@pytest.mark.parametrize(("name", "read", "text", "what"), [*bad_lines(), *bad_files()])
def test_bad_files_are_refused(name, read, text, what, write, monkeypatch):
    """The message names the file and the line or row."""
    if name == "a.csv":
        pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(_lines, "BYTES_AT_ONCE", 20)
    with pytest.raises(ValueError, match=what):
        list(read(write(name, text)))


def test_bad_counts_of_bags_name_the_document():
    good = [[(0, 1)], [(1, 2), (2, 1)]]
    for bad, what in (
        ([(0, -1)], "expected values that are finite and at least 0"),
        ([(0, np.nan)], "expected values that are finite"),
        ([(0, np.inf)], "expected values that are finite"),
        ([(-1, 1)], "expected indices from 0 to 2"),
        ([(0.5, 1)], "expected words that are numbered by whole numbers"),
        ([(2**40, 1)], "expected words that are numbered"),
        ([(0, 1, 2)], "expected a list of pairs"),
        ([("a", 1)], "expected a list of pairs"),
        ([("1", "2")], "expected a list of pairs"),
        ([[(0, 1)]], "expected a list of pairs"),
        ([None], "expected a list of pairs"),
        (None, "expected a list of pairs"),
        (3, "expected a list of pairs"),
        ("12", "expected a list of pairs"),
        (iter([(0, 1, 2)]), "expected a list of pairs"),
    ):
        for n_features in 3, None:
            batches = read_gensim([*good, bad, *good], n_features=n_features)
            with pytest.raises(ValueError, match=f"Document 2: {what}"):
                list(batches)
            if not isinstance(bad, (list, str, int, type(None))):
                break  # a generator can be used only once


# -- pairs -----------------------------------------------------------------------------


def test_words_of_lda_c_may_be_in_any_order(write):
    path = write("ap.dat", "3 5:1 0:2 3:4\n2 1:1 0:1\n")
    assert dense(read_lda_c(path)) == [[2, 0, 0, 4, 0, 1], [1, 1, 0, 0, 0, 0]]


def test_documents_of_lda_c_without_words_are_lines_of_0(write):
    path = write("ap.dat", "1 1:3\n0\n0 \n\n1 0:2\n\n")
    assert dense(read_lda_c(path)) == [[0, 3], [0, 0], [0, 0], [2, 0]]


def test_the_number_of_columns_must_fit_into_int32(write):
    path = write("a.svm", "1 0:1\n2 2147483646:1\n")
    assert next(iter(read_svmlight(path))).shape == (2, 2**31 - 1)
    path = write("b.lda-c", "1 2147483647:1\n")
    with pytest.raises(
        ValueError, match="b.lda-c, line 1: .* indices up to 2,147,483,646"
    ):
        list(read_lda_c(path))


def test_lines_of_svmlight_may_have_queries_comments_and_fractions(write):
    path = write("a.svm", "1,3 qid:7 1:.5 3:1e1 # 2:9\n\n-1 qid:8\n0.5 2:2.\r\n")
    assert dense(read_svmlight(path)) == [[0.5, 0, 10], [0, 0, 0], [0, 2, 0]]


def test_files_without_pairs_need_a_number_of_columns(write):
    path = write("a", "0\n0\n")
    for read in read_svmlight, read_lda_c:
        with pytest.raises(ValueError, match="has no pairs.*give n_features"):
            list(read(path))
        assert dense(read(path, n_features=2)) == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match="has no pairs"):
        list(read_svmlight(path, zero_based=False))


def test_vocabularies_are_checked(write):
    counts = write("a.lda-c", LDA_C)
    with pytest.raises(ValueError, match="empty.txt has no words"):
        read_lda_c(counts, write("empty.txt", "\n\n"))
    vocab = write("vocab.txt", "tea\nrum\ngin\n")
    with pytest.raises(ValueError, match="has 3 words, but n_features is 4"):
        read_lda_c(counts, vocab, n_features=4)
    assert dense(read_lda_c(counts, vocab, n_features=3)) == COUNTS
    with pytest.raises(ValueError, match="bad.txt, line 2: the text is not in UTF-8"):
        read_lda_c(counts, write("bad.txt", b"tea\n\xff\ngin\n"))


# -- gensim ----------------------------------------------------------------------------


class Corpus:
    def __init__(self, bags, **attributes):
        self.bags = bags
        vars(self).update(attributes)

    def __iter__(self):
        return iter(self.bags)


BAGS = [[(0, 5), (2, 1)], [(1, 4)]]


def test_a_generator_is_read_once_or_refused():
    with pytest.raises(ValueError, match="corpus is a generator.*Give n_features"):
        read_gensim(bag for bag in BAGS)
    batches = read_gensim((bag for bag in BAGS), n_features=3)
    assert dense(batches) == COUNTS
    with pytest.raises(ValueError, match="corpus is a generator.* was read before"):
        list(batches)
    batches = read_gensim(iter(BAGS), ["tea", "rum", "gin"])
    assert dense(batches) == COUNTS
    assert dense(read_gensim(BAGS)) == COUNTS


@pytest.mark.parametrize("corpus", [3, None, "text", b"text"])
def test_a_corpus_can_be_iterated_over(corpus):
    with pytest.raises(TypeError, match="corpus must be an iterable of documents"):
        read_gensim(corpus)


def test_words_of_ids_are_checked():
    for words in ["tea", "rum", "gin"], np.array(["tea", "rum", "gin"]):
        assert read_gensim(BAGS, words).feature_names == ["tea", "rum", "gin"]
        assert read_gensim(Corpus(BAGS, id2word=words)).feature_names[0] == "tea"
    for words in "tea", 3, {"tea", "rum"}:
        with pytest.raises(ValueError, match="must be a mapping or a sequence"):
            read_gensim(BAGS, words)
    for number in -1, 1.5, "0", True, 2**31, None:
        with pytest.raises(ValueError, match="id2word has a word with the number"):
            read_gensim(BAGS, {number: "tea"})
    with pytest.raises(
        ValueError, match="number 3; expected whole numbers from 0 to 2"
    ):
        read_gensim(BAGS, {0: "tea", 3: "ale"}, n_features=3)
    with pytest.raises(ValueError, match="number 1073741824; expected .*n_features"):
        read_gensim(BAGS, {2**30: "tea"})


def test_bags_without_words_need_a_number_of_columns():
    for bags in [], [[], []]:
        with pytest.raises(ValueError, match="no pairs.*give n_features"):
            list(read_gensim(bags))
    assert dense(read_gensim([[], []], n_features=2)) == [[0, 0], [0, 0]]
    assert dense(read_gensim([[], *BAGS, []], batch_size=1)) == [
        [0, 0, 0],
        *COUNTS,
        [0, 0, 0],
    ]


# -- lines -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_lines_are_those_of_the_file(size, write, monkeypatch):
    monkeypatch.setattr(_lines, "BYTES_AT_ONCE", size)
    for text in "", "\n", "a", "a\n", "\na", "a\r\n\r\nlong one\n\n", "\n\n\nb":
        path = write("a.txt", text)
        lines = [line.rstrip("\r\n") for line in text.splitlines(keepends=True)]
        found = list(_lines.TextFile(path))
        assert [line.decode() for chunk in found for line in chunk.lines] == lines
        numbers = [number for chunk in found for number in chunk.numbers]
        assert numbers == list(range(1, len(lines) + 1))


def test_a_line_that_never_ends_is_refused(write, monkeypatch):
    monkeypatch.setattr(_lines, "BYTES_AT_ONCE", 100)
    monkeypatch.setattr(_lines, "LONGEST_LINE", 1000)
    path = write("a.txt.gz", gzip.compress(b"tea\n" + b"x" * 10_000))
    with pytest.raises(ValueError, match="a.txt.gz, line 2: the line is longer than"):
        list(read_text(path))
    assert list(read_text(write("b.txt", b"x" * 900))) == [["x" * 900]]


def test_small_batches_of_many_lines_take_no_longer(write):
    path = write("a.txt", "a\n" * 100_000)
    assert sum(1 for _ in read_text(path, batch_size=1)) == 100_000


# -- tables ----------------------------------------------------------------------------


def test_columns_of_one_name_are_refused(write, pyarrow, tmp_path):
    path = write("a.csv", "text,text\ntea,rum\n")
    with pytest.raises(ValueError, match="a.csv has 2 columns text"):
        list(read_text(path))
    path = write("b.tsv", "user\titem\trating\titem\n1\t2\t3\t4\n")
    with pytest.raises(ValueError, match="b.tsv has 2 columns item"):
        list(read_triples(path))
    table = pyarrow.table([["a"], ["b"]], names=["text", "text"])
    pyarrow.parquet.write_table(table, tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="c.parquet has 2 columns text"):
        list(read_text(tmp_path / "c.parquet"))


def test_a_message_lists_few_of_many_columns(write, pyarrow):
    header = ",".join(f"{n}{'x' * 1000}" for n in range(500))
    path = write("a.csv", f"{header}\n{header}\n")
    with pytest.raises(ValueError, match="no column text; it has 0x") as refused:
        list(read_text(path))
    assert len(str(refused.value)) < 2000


def test_labels_are_of_one_kind_in_all_files(write, pyarrow, tmp_path):
    write("a.csv", "user,item,rating\n1,tea,3\n")
    write("b.csv", "user,item,rating\nann,tea,3\n")
    with pytest.raises(ValueError, match="b.csv: .*user has strings, but in .*a.csv"):
        list(read_triples(tmp_path))
    users = [batch[0].tolist() for batch in read_triples(tmp_path, label_type=str)]
    assert users == [["1"], ["ann"]]
    path = parquet(tmp_path / "c.parquet", user=["1", "x"], item=[1, 2], rating=[1, 2])
    with pytest.raises(ValueError, match="c.parquet, row 2: user is no int64"):
        list(read_triples(path, label_type=int))


def test_columns_of_parquet(pyarrow, tmp_path):
    import decimal

    path = parquet(
        tmp_path / "a.parquet",
        rating=[decimal.Decimal("1.5"), decimal.Decimal("2.0")],
        item=[1.0, 2.0],
        user=pyarrow.array(["b", "a"]).dictionary_encode(),
        text=pyarrow.array(["tea", "rum"]).dictionary_encode(),
    )
    ((users, items, ratings),) = read_triples(path)
    assert (users.tolist(), items.tolist()) == (["b", "a"], [1, 2])
    assert items.dtype == np.int64 and ratings.tolist() == [1.5, 2.0]
    assert list(read_text(path)) == [["tea", "rum"]]
    path = parquet(tmp_path / "b.parquet", user=[1], item=[1], rating=["good"])
    with pytest.raises(ValueError, match="b.parquet: the column rating is no number"):
        list(read_triples(path))
    bad = pyarrow.array([b"fine", b"\xff"]).view(pyarrow.string())
    path = parquet(tmp_path / "c.parquet", text=bad)
    with pytest.raises(ValueError, match="c.parquet cannot be read: .*utf-8"):
        list(read_text(path))


def test_a_quote_that_is_never_closed(write, pyarrow, monkeypatch):
    from sktemper.datasets import _read_tables

    monkeypatch.setattr(_read_tables, "BLOCK_BYTES", 1000)
    path = write("a.csv", 'text\ntea\n"' + "rum\n" * 1000)
    with pytest.raises(ValueError, match="a.csv .*a quote is never closed"):
        list(read_text(path))


def test_readers_can_be_used_by_threads(write, monkeypatch):
    monkeypatch.setattr(_lines, "BYTES_AT_ONCE", 40)
    batches = read_svmlight(write("a.svm", SVMLIGHT * 60))
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(dense, [batches] * 4)) == [COUNTS * 60] * 4


def test_carriage_returns_inside_of_texts_are_kept(write):
    path = write("a.txt", b"tea\rrum\r\ngin\n")
    assert list(read_text(path)) == [["tea\rrum", "gin"]]
