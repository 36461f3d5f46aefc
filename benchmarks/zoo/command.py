"""The command line of the zoo."""

import argparse
import ast
import sys
from pathlib import Path

from . import __doc__ as about
from .cache import Cache, default_folder, key
from .core import ROOT, SPLITS, cases, is_there, source_digest
from .families import families
from .running import Work, be_nice, labelled, run
from .tables import head, section


def main(arguments=None):
    """Run a command."""
    known = families()
    options = _parser(known).parse_args(arguments)
    chosen = [known[name] for name in options.family]
    splits = SPLITS if options.split == "all" else (options.split,)
    options.command(chosen, splits, options)


def _parser(known):
    parser = argparse.ArgumentParser(
        prog="python benchmarks/zoo",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    fit = commands.add_parser("run", help="make the results that are not cached yet")
    fit.set_defaults(command=_run)
    fit.add_argument(
        "--methods",
        nargs="+",
        default=["ours"],
        help='names of methods, or "ours" (default), "peers" or "all"',
    )
    fit.add_argument("--sets", nargs="+", help="names of data sets; default: all")
    fit.add_argument("--seeds", type=int, default=10, help="limit of seeds")
    fit.add_argument(
        "--options",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="parameters of this package's estimators that replace defaults",
    )
    fit.add_argument("--jobs", type=int, default=2, help="processes at a time")
    fit.add_argument("--cap", type=int, help="CPU seconds after which a fit is stopped")
    fit.add_argument("--retry", action="store_true", help="repeat failed fits")
    fit.add_argument("--smallest", action="store_true", help="only a quick check")
    show = commands.add_parser("table", help="print the tables of cached results")
    show.set_defaults(command=_table)
    show.add_argument("--write", action="store_true", help="write pages of results")
    show.add_argument(
        "--commits",
        nargs="+",
        help="commits or digests of this package to show; default: current sources",
    )
    for command in fit, show:
        command.add_argument(
            "--family", nargs="+", choices=known, default=list(known), metavar="FAMILY"
        )
        command.add_argument(
            "--split",
            choices=[*SPLITS, "all"],
            default="development",
            help="do not use results of held-back data to tune defaults",
        )
        command.add_argument(
            "--cache",
            type=Path,
            default=default_folder(),
            help="folder of results; default: the variable SKTEMPER_ZOO or %(default)s",
        )
    return parser


# -- run -------------------------------------------------------------------------------


def _run(chosen, splits, options):
    if not options.smallest:
        be_nice()
    parameters = dict(_parameter(text) for text in options.options)
    caches = {family.name: Cache(options.cache, family.name) for family in chosen}
    work = _missing(chosen, splits, options, parameters, caches)
    n_fits = sum(len(piece.methods) for piece in work)
    print(f"{n_fits} fits; results go to {options.cache}", flush=True)
    failed = 0
    for record in run(work, options.jobs):
        if "family" not in record:
            print(record["error"], file=sys.stderr, flush=True)
            failed += 1
            continue
        caches[record["family"]].add(record)
        print(_line(record), flush=True)
    if failed:
        sys.exit(f"The data of {failed} draws could not be made.")


def _parameter(text):
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _missing(chosen, splits, options, parameters, caches):
    """Return the pieces of work that are not cached.

    They are sorted by seeds. Data sets with few seeds are last, because they are slow.
    """
    pieces = []
    for family in chosen:
        known = caches[family.name].records
        for data_set, seed, number in _draws(family, splits, options):
            methods = []
            for method in _wanted(family, options.methods):
                ours, peers = data_set.seeds
                if number >= (peers if method.role == "peer" else ours):
                    continue
                if method.version is None:
                    continue
                record = known.get(
                    key(
                        {
                            "family": family.name,
                            "set": data_set.name,
                            "seed": seed,
                            "method": labelled(method, parameters),
                            "version": method.version,
                        }
                    )
                )
                again = options.retry and record and record["status"] != "done"
                if record is None or again:
                    methods.append(method)
            if methods:
                cap = options.cap or family.cap
                work = Work(family, data_set, seed, methods, parameters, cap)
                pieces.append(((number, -sum(data_set.seeds)), work))
    return [work for _, work in sorted(pieces, key=lambda piece: piece[0])]


def _draws(family, splits, options):
    if options.smallest:
        yield family.smallest, 0, 0
        return
    for split in splits:
        for data_set, seed, number in cases(family, split):
            if options.sets and data_set.name not in options.sets:
                continue
            if number >= options.seeds:
                continue
            if is_there(data_set):
                yield data_set, seed, number
            elif number == 0:
                print(f"{data_set.name}: skipped, {data_set.needs} is not there")


def _wanted(family, names):
    groups = {"ours", "peers", "all"}
    for method in family.methods:
        group = "ours" if method.is_ours else "peers"
        if {method.name, group, "all"} & set(names):
            yield method
    unknown = set(names) - groups - {method.name for method in family.methods}
    if unknown:
        print(f"{family.name} has no method {', '.join(sorted(unknown))}")


def _line(record):
    name = f"{record['set']}, seed {record['seed']}, {record['method']}"
    if record["status"] != "done":
        return f"{name}: {record['status']} {record.get('error', '')}"
    figures = ", ".join(
        f"{title} {value:.4g}" for title, value in record["figures"].items()
    )
    return f"{name}: {record['seconds']:.2f} s, {figures}"


# -- tables ----------------------------------------------------------------------------


def _table(chosen, splits, options):
    pages = {}
    for family in chosen:
        records = list(Cache(options.cache, family.name).records.values())
        versions = _versions(records, options.commits)
        pages.setdefault(family.page, []).append((family, records, versions))
    for page, parts in pages.items():
        everything = [record for _, records, _ in parts for record in records]
        versions = {version for _, _, own in parts for version in own}
        command = (
            f"python benchmarks/zoo run --methods all --split {options.split} "
            f"--family {' '.join(family.name for family, _, _ in parts)}"
        )
        lines = list(head(f"The zoo: {page}", everything, versions, command))
        for family, records, own in parts:
            lines += section(family, records, splits, own)
        text = "\n".join(lines).rstrip() + "\n"
        if options.write:
            path = ROOT / f"benchmarks/results/zoo_{page}.md"
            path.write_text(text)
            print(path)
        else:
            print(text)


def _versions(records, names):
    """Return the digests of the versions of this package that tables show."""
    if not names:
        return [source_digest()]
    found = [
        record["version"]
        for name in names
        for record in records
        if record["commit"] and name in (record["commit"], record["version"])
    ]
    return list(dict.fromkeys(found))
