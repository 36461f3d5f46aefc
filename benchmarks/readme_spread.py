"""Spread over seeds of the numbers in README.md.

The script repeats the fits of the first code block of README.md with other seeds. They
change the random start and the order of the documents, and not the split into training
and test data. The script writes ``benchmarks/results/readme_spread.md`` and ``.csv``.

    python benchmarks/readme_spread.py --seeds 10
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from stages import head_of

from sktemper import AnnealedLDA, TemperedLDA
from sktemper.datasets import load_debian_descriptions

COLUMNS = ["annealed", "plain", "difference", "annealed seconds", "plain seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0, 1, ...")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results"
    )
    arguments = parser.parse_args()

    docs = load_debian_descriptions()
    X_train, X_test = train_test_split(docs.data, test_size=0.1, random_state=0)
    rows = []
    for seed in range(arguments.seeds):
        models = [
            AnnealedLDA(n_components=50, random_state=seed),
            TemperedLDA(50, tempering=None, init_params="random", random_state=seed),
        ]
        seconds = [fit_time(model, X_train) for model in models]
        annealed, plain = (model.score(X_test) for model in models)
        rows.append([annealed, plain, annealed - plain, *seconds])
        print(f"seed {seed}: annealed {annealed:.3f}, plain {plain:.3f}", flush=True)
    write_tables(np.array(rows), arguments.output)


def fit_time(model, X):
    """Fit a model, and return the CPU seconds of the fit."""
    begin = time.process_time()
    model.fit(X)
    return time.process_time() - begin


def write_tables(table, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "readme_spread.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["seed", *COLUMNS])
        for seed, row in enumerate(table):
            writer.writerow([seed, *(f"{value:.4f}" for value in row)])
    statistics = {
        "mean": table.mean(axis=0),
        "standard deviation": table.std(axis=0, ddof=1),
        "lowest": table.min(axis=0),
        "highest": table.max(axis=0),
    }
    lines = [
        *head_of("Spread of the numbers in README.md", "readme_spread"),
        "",
        f"The fits of its first code block with seeds 0 to {len(table) - 1}: held-out "
        "nats per token of 5,219 documents, and seconds of CPU time.",
        "",
        "| | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
        *(
            f"| {name} | "
            + " | ".join(f"{value:.3f}" for value in values[:3])
            + " | "
            + " | ".join(f"{value:.1f}" for value in values[3:])
            + " |"
            for name, values in statistics.items()
        ),
    ]
    (folder / "readme_spread.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
