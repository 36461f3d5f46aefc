"""Thumbnails of examples that only print text."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.stats import poisson

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"


def a_grid(ax):
    """Draw scores over two parameters; one cell is the best."""
    x, y = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 4))
    ax.imshow(-((x - 0.5) ** 2) - (y + 0.3) ** 2, cmap="Blues")
    ax.add_patch(_rectangle(2.5, 0.5, 1, 1, fill=False, edgecolor=ORANGE, lw=4))
    ax.set(xlabel="length", ylabel="first temperature", xticks=[], yticks=[])


def shards(ax):
    """Draw shards on disk that two workers read to fit one model."""
    for i in range(8):
        ax.add_patch(_rectangle(0.2, i * 1.2, 2.2, 0.9, color=BLUE, alpha=0.8))
        ax.plot([2.4, 4.6], [i * 1.2 + 0.45, 2.4 + 4.6 * (i > 3)], color="0.6")
    for i, y in enumerate((1.6, 6.2)):
        ax.add_patch(_rectangle(4.6, y, 2, 1.8, color=GREEN))
        ax.plot([6.6, 8.4], [y + 0.9, 4.8], color="0.6")
        ax.text(5.6, y + 0.9, f"worker {i + 1}", ha="center", va="center", color="w")
    ax.add_patch(_rectangle(8.4, 3.7, 2, 2.2, color=ORANGE))
    ax.text(9.4, 4.8, "topics", ha="center", va="center", color="w")
    ax.set(xlim=(0, 10.6), ylim=(-0.3, 9.8))
    ax.axis("off")


def poissons(ax):
    """Draw three components of a mixture of Poisson distributions."""
    counts = np.arange(25)
    for rate, color in ((3, BLUE), (8, ORANGE), (15, GREEN)):
        ax.plot(counts, poisson.pmf(counts, rate), "o-", color=color, lw=2, ms=4)
    ax.set(xlabel="events", yticks=[])


def ratings(ax):
    """Draw a sparse table of users and items, with one recommended item."""
    known = np.random.default_rng(1).random((8, 12)) < 0.35
    known[4, 7] = False
    ax.imshow(np.where(known, 0.7, 0.05), cmap="Blues", vmin=0, vmax=1)
    ax.add_patch(Rectangle((6.5, 3.5), 1, 1, fill=False, edgecolor=ORANGE, lw=4))
    ax.set(xlabel="items", ylabel="users", xticks=[], yticks=[])


def requests(ax):
    """Draw requests that arrive one by one and are answered in batches."""
    random = np.random.default_rng(3)
    times = np.sort(random.uniform(0, 8, 28))
    for time in times:
        ax.plot([time, 2 * np.ceil(time / 2)], [2, 1], color="0.7", lw=1)
    ax.plot(times, np.full(len(times), 2), "o", color=BLUE, ms=5)
    ax.plot(np.arange(2, 9, 2), np.ones(4), "s", color=ORANGE, ms=16)
    ax.set(ylim=(0.6, 2.4), xlim=(-0.3, 8.6), xlabel="milliseconds", yticks=[])


PICTURES = {
    "grid_search_temperature": a_grid,
    "larger_than_memory": shards,
    "own_model_poisson": poissons,
    "recommender": ratings,
    "serve_recommendations": requests,
}


def _rectangle(x, y, width, height, **style):
    return Rectangle((x, y), width, height, **style)


def draw(app):
    """Draw the missing pictures into a folder of generated files."""
    folder = Path(app.srcdir, "auto_thumbnails")
    folder.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        path = folder / f"{name}.png"
        if not path.exists():
            figure = Figure(figsize=(4, 2.8), layout="constrained")
            picture(figure.subplots())
            figure.savefig(path, dpi=100)


def setup(app):
    """Draw the pictures before the gallery needs them."""
    app.connect("builder-inited", draw, priority=10)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
