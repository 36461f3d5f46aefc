"""Tables of cached results, in Markdown."""

import datetime
import math
import statistics
from collections import defaultdict

from .core import DEVELOPMENT_SEEDS, REPORTED_SEEDS, cases

TITLES = {
    "development": "Development: shapes and seeds that may be tuned on",
    "held_back": "Held back: all shapes with reported seeds",
}
UNDONE = {"capped": "> {cap} s", "failed": "failed", "ended": "ended"}


class Results:
    """The results of one family on one split.

    Parameters
    ----------
    family : Family
    split : str
    records : iterable of dict
        Records of all methods and versions.
    versions : list of str
        Versions of this package to show. For each peer, the last cached version is
        shown.
    """

    def __init__(self, family, split, records, versions):
        self.family, self.split = family, split
        wanted = {(d.name, seed) for d, seed, _ in cases(family, split)}
        self.cells = defaultdict(dict)
        self.commits, fingerprints = {}, {}
        self.facts = {}
        for record in records:
            draw = record["set"], record["seed"]
            if draw not in wanted or record["status"] == "not applicable":
                continue
            column = self._column(record, versions)
            if column is None:
                continue
            known = fingerprints.setdefault(draw, record["fingerprint"])
            if known != record["fingerprint"]:
                raise ValueError(
                    f"The data of {draw[0]!r}, seed {draw[1]}, have changed: remove "
                    "lines for older data from the cache."
                )
            self.facts.setdefault(draw[0], record["facts"])
            self.cells[draw[0], column][draw[1]] = record
        self.data_sets = [d for d in family.data_sets if d.name in self.facts]
        self.columns = self._ordered()

    def _column(self, record, versions):
        base = record["method"].split(" [")[0]
        if not any(method.name == base for method in self.family.methods):
            return None
        if not record["commit"]:
            return record["method"]
        if record["version"] not in versions:
            return None
        if len(versions) == 1:
            return record["method"]
        return f"{record['method']}, {record['commit']}"

    def _ordered(self):
        names = [method.name for method in self.family.methods]
        shown = {column for _, column in self.cells}

        def place(column):
            first = [i for i, name in enumerate(names) if column.startswith(name)]
            return max(first, key=lambda i: len(names[i])), column

        return sorted(shown, key=place)

    def role(self, column):
        """Return the role of a column's method: "default", "variant" or "peer"."""
        methods = [m for m in self.family.methods if column.startswith(m.name)]
        return max(methods, key=lambda method: len(method.name)).role

    def values(self, name, column, figure):
        """Return a dict from seeds to values of a figure for a data set."""
        found = {}
        for seed, record in sorted(self.cells.get((name, column), {}).items()):
            if record["status"] == "done":
                value = (
                    record["seconds"]
                    if figure.name == "seconds"
                    else record["figures"].get(figure.name)
                )
                if value is not None and value == value:
                    found[seed] = value
        return found

    def mean(self, name, column, figure):
        """Return the mean of a figure over the seeds of a data set, or None."""
        values = self.values(name, column, figure)
        return statistics.fmean(values.values()) if values else None

    def undone(self, name, column):
        """Return why a data set has no value, or an empty string."""
        for record in self.cells.get((name, column), {}).values():
            if record["status"] in UNDONE:
                return UNDONE[record["status"]].format(**record)
        return ""


# -- rows ------------------------------------------------------------------------------


def _cell(results, name, column, figure):
    """Return the text of a cell: the mean over seeds, and the worst in parentheses."""
    values = list(results.values(name, column, figure).values())
    if not values:
        return results.undone(name, column)
    text = f"{statistics.fmean(values):.{figure.digits}f}"
    if figure.better and len(values) > 1:
        worst = min(values) if figure.better > 0 else max(values)
        text += f" ({worst:.{figure.digits}f})"
    return text


def _summaries(results, figure):
    """Yield the last rows of a figure's table: a title and a cell for each column.

    The first of them has the number of data sets, because methods may have run on
    different data sets.
    """
    means = {
        (d.name, column): mean
        for d in results.data_sets
        for column in results.columns
        if (mean := results.mean(d.name, column, figure)) is not None
    }
    shown = defaultdict(list)
    for (name, column), mean in means.items():
        if figure.summary == "share":
            mean /= results.facts[name][figure.of]
        elif figure.summary == "gap":
            row = [m for (other, _), m in means.items() if other == name]
            if len(row) == 1:  # no other method to compare with
                continue
            mean -= max(row) if figure.better > 0 else min(row)
        shown[column].append(mean)
    digits = max(figure.digits, 2) if figure.summary == "share" else figure.digits
    titles = {
        "share": ("mean share", "worst share"),
        "gap": ("mean gap to the best", "worst gap"),
        "mean": ("mean", "worst"),
        "sum": ("sum", None),
    }
    average, extreme = titles[figure.summary]
    yield "data sets", [str(len(shown[column])) for column in results.columns]
    reduce = sum if figure.summary == "sum" else statistics.fmean
    yield (
        average,
        [
            f"{reduce(shown[column]):.{digits}f}" if shown[column] else ""
            for column in results.columns
        ],
    )
    if extreme and figure.better:
        worst = min if figure.better > 0 else max
        yield (
            extreme,
            [
                f"{worst(shown[column]):.{digits}f}" if shown[column] else ""
                for column in results.columns
            ],
        )


def _described(results):
    """Yield the lines of the table of facts."""
    facts = results.family.facts
    yield "| data set | " + " | ".join(facts) + " |"
    yield "|---|" + "---:|" * len(facts)
    for data_set in results.data_sets:
        about = [str(results.facts[data_set.name].get(fact, "")) for fact in facts]
        yield f"| {data_set.name} | " + " | ".join(about) + " |"
    yield ""


def _table(results, figure):
    """Yield the lines of the table of one figure."""
    names = [
        d.name
        for d in results.data_sets
        if any(results.values(d.name, c, figure) for c in results.columns)
    ]
    if not names:
        return
    yield f"#### {figure.title}"
    yield ""
    yield "| data set | " + " | ".join(results.columns) + " |"
    yield "|---|" + "---:|" * len(results.columns)
    for name in names:
        cells = [_cell(results, name, column, figure) for column in results.columns]
        yield f"| {name} | " + " | ".join(cells) + " |"
    for title, cells in _summaries(results, figure):
        yield f"| **{title}** | " + " | ".join(cells) + " |"
    yield ""


# -- data sets where a peer is better --------------------------------------------------


def losses(results, column):
    """Return the data sets and figures where a peer is clearly better than a column.

    The column is a method of this package.  For each data set and figure, it is
    compared with the best peer.  The difference of means, over seeds that both have,
    must exceed the larger of the two standard deviations over seeds.  If no fit of the
    column was finished, a peer with a finished fit is better by the first figure.

    Returns
    -------
    lost : list of dict
        Sorted by figure, with the largest difference first.
    """
    peers = [c for c in results.columns if results.role(c) == "peer"]
    lost = []
    for figure in results.family.figures:
        found = [
            _behind(results, data_set.name, column, peers, figure)
            for data_set in results.data_sets
            if figure.better
        ]
        lost += sorted((row for row in found if row), key=lambda row: -row["lead"])
    return lost


def _behind(results, name, column, peers, figure):
    """Return the loss of a column to the best peer on a data set, or None."""
    own = results.values(name, column, figure)
    if not own:
        return _unfinished(results, name, column, peers, figure)
    best = None
    for peer in peers:
        other = results.values(name, peer, figure)
        shared = own.keys() & other.keys()
        if not shared:
            continue
        mine, theirs = (
            statistics.fmean(values[seed] for seed in shared) for values in (own, other)
        )
        lead = figure.better * (theirs - mine)
        if best is None or lead > best["lead"]:
            best = {
                "set": name,
                "figure": figure,
                "own": mine,
                "peer": peer,
                "best": theirs,
                "lead": lead,
                "spread": max(_deviation(own), _deviation(other)),
                "ratio": _ratio(results, name, peer, column),
            }
    if best and best["lead"] > max(best["spread"], figure.tolerance):
        return best
    return None


def _unfinished(results, name, column, peers, figure):
    """Return the loss of a column that has no finished fit to a peer, or None."""
    means = {peer: results.mean(name, peer, figure) for peer in peers}
    means = {peer: mean for peer, mean in means.items() if mean is not None}
    first = next(f for f in results.family.figures if f.better)
    if figure != first or not means or not results.undone(name, column):
        return None
    best = max(means, key=lambda peer: figure.better * means[peer])
    return {
        "set": name,
        "figure": figure,
        "own": results.undone(name, column),
        "peer": best,
        "best": means[best],
        "lead": math.inf,
        "spread": 0.0,
        "ratio": None,
    }


def _deviation(values):
    return statistics.stdev(values.values()) if len(values) > 1 else 0.0


def _ratio(results, name, peer, column):
    """Return the CPU seconds of a peer divided by those of a column."""
    seconds = next(f for f in results.family.figures if f.name == "seconds")
    own, other = (results.mean(name, c, seconds) for c in (column, peer))
    return other / max(own, 1e-3)


def _lost(results, column, split):
    """Yield the lines that list the losses of a column on a split."""
    rows = losses(results, column)
    rivals = [c for c in results.columns if results.role(c) == "peer"]
    compared = sum(
        (d.name, column) in results.cells
        and any((d.name, peer) in results.cells for peer in rivals)
        for d in results.data_sets
    )
    sets = len({row["set"] for row in rows})
    title = TITLES[split].partition(":")[0]
    yield f"### {title}: `{column}` is behind a peer on {sets} of {compared} data sets"
    yield ""
    if not rows:
        return
    yield (
        "| figure | data set | ours | best peer | its name | spread of seeds "
        "| its CPU time / ours |"
    )
    yield "|---|---|---:|---:|---|---:|---:|"
    for row in rows:
        digits, own, ratio = row["figure"].digits, row["own"], row["ratio"]
        own = own if isinstance(own, str) else f"{own:.{digits}f}"
        ratio = "" if ratio is None else f"{ratio:.1f}"
        yield (
            f"| {row['figure'].title} | {row['set']} | {own} "
            f"| {row['best']:.{digits}f} | {row['peer']} | {row['spread']:.{digits}f} "
            f"| {ratio} |"
        )
    yield ""


# -- what is missing -------------------------------------------------------------------


def coverage(family, split, records, versions):
    """Yield lines with the number of cached fits of a split.

    They name the data sets without a fit by this package's default.
    """
    draws = {
        method.name: {
            (data_set.name, seed)
            for data_set, seed, number in cases(family, split)
            if number < data_set.seeds[method.role == "peer"]
        }
        for method in family.methods
    }
    counts = []
    for method in family.methods:
        made = {
            (record["set"], record["seed"])
            for record in records
            if record["method"] == method.name
            and (not record["commit"] or record["version"] in versions)
        }
        wanted = draws[method.name]
        counts.append(f"{method.name} {len(made & wanted)} of {len(wanted)}")
        if method.role == "default":
            seen = {name for name, _ in made & wanted}
            names = dict.fromkeys(d.name for d, _, _ in cases(family, split))
            lacking = [name for name in names if name not in seen]
    yield f"Fits made so far: {'; '.join(counts)}."
    if lacking:
        yield f"Not yet fitted by our default: {'; '.join(lacking)}."
    yield ""


# -- pages -----------------------------------------------------------------------------


def section(family, records, splits, versions):
    """Yield the lines of a family's section."""
    found = {split: Results(family, split, records, versions) for split in splits}
    found = {split: results for split, results in found.items() if results.data_sets}
    yield f"## {family.title}"
    yield ""
    for split, results in found.items():
        for column in results.columns:
            if results.role(column) == "default":
                yield from _lost(results, column, split)
    yield family.about
    yield ""
    for split, results in found.items():
        yield f"### {family.title}. {TITLES[split]}"
        yield ""
        yield from coverage(family, split, records, versions)
        yield from _described(results)
        for figure in family.figures:
            yield from _table(results, figure)
        yield from _stopped(results)


def _stopped(results):
    """Yield lines about the fits that have no result."""
    rows = [
        f"- {name}, {column}, seed {seed}: {UNDONE[record['status']].format(**record)}"
        + (f", {record['error']}" if "error" in record else "")
        for (name, column), seeds in sorted(results.cells.items())
        for seed, record in seeds.items()
        if record["status"] in UNDONE
    ]
    if rows:
        yield "#### Fits without a result: stopped by the limit of CPU time, or failed"
        yield ""
        yield from rows
        yield ""


def head(title, records, versions, command):
    """Yield the first lines of a page: commit, processor, dates, command."""
    shown = [r for r in records if not r["commit"] or r["version"] in versions]
    commits = sorted({r["commit"] for r in shown if r["commit"]})
    packages = sorted({r["version"] for r in shown if not r["commit"]})
    dates = sorted({r["date"] for r in shown}) or [datetime.date.today().isoformat()]
    held_back = ", ".join(str(seed) for seed in REPORTED_SEEDS)
    development = ", ".join(str(seed) for seed in DEVELOPMENT_SEEDS)
    yield f"# {title}"
    yield ""
    yield f"- commit of the package: {', '.join(commits)}"
    if commits[1:]:
        yield (
            "- why several commits: methods are named with their commit, and earlier "
            "ones stay for comparison"
        )
    yield f"- peers: {', '.join(packages)}"
    yield f"- processor: {', '.join(sorted({r['processor'] for r in shown}))}, 1 thread"
    yield f"- date: {dates[0]}" + (f" to {dates[-1]}" if dates[1:] else "")
    yield f"- command: `{command}`"
    yield f"- seeds: development {development}; held back {held_back}"
    yield ""
    yield (
        "Cells are means over seeds, with the worst seed in parentheses. Seconds are "
        "CPU times of fits, each in a new process. A peer is ahead if its mean is "
        "better by more than the standard deviation over seeds. Slow fits have one "
        "seed in each split. A cell is empty if the fit was not run, or if the figure "
        "is not defined."
    )
    yield ""
