"""Figures of a report, which Bokeh draws in the browser."""

import numpy as np

from .._utils._labels import place_labels
from ..plotting import topic_map_layout
from ._models import MOST_IN_LABEL

#: Assumed width of a letter and height of a line, in pixels.
LETTER, LINE = 6.9, 15.0
#: Gaps between a circle and its label, in pixels, in the order in which they are tried.
GAPS = (2.0, 9.0)


def places_around(centre, radius, half):
    """Yield places for a label: below, above, to the sides and diagonally."""
    for gap in GAPS:
        away = radius + gap + half
        for x, y in (0, -1), (0, 1), (1, 0), (-1, 0):
            yield centre + away * (x, y)
        corner = np.sqrt(0.5) * (radius + gap) + half
        for x, y in (1, -1), (-1, -1), (1, 1), (-1, 1):
            yield centre + corner * (x, y)


# -- figures ---------------------------------------------------------------------------
#: Size of the map in pixels, and height of the toolbar above the map.  Labels are
#: placed for this size, but a page may draw the map larger.
WIDTH, HEIGHT, TOOLS = 500, 480, 30
#: Colours of circles, outlines, the selection and text.  Colour-blind people can
#: distinguish them.
BLUE, DARK_BLUE, ORANGE, INK = "#8fb8de", "#2b5c8a", "#f0a830", "#1b1b1b"
FONT = "system-ui, sans-serif"


def map_figure(facts):
    """Return the map of topics; the name of its data source is "topics"."""
    from bokeh.models import HoverTool, TapTool
    from bokeh.plotting import figure

    source = _map_source(facts)
    drawn = figure(
        width=WIDTH,
        height=HEIGHT + TOOLS,
        sizing_mode="scale_width",
        x_range=(-WIDTH / 2, WIDTH / 2),
        y_range=(-HEIGHT / 2, HEIGHT / 2),
        tools="pan,wheel_zoom,tap,reset,save",
        active_drag=None,  # with a drag tool, touches would not scroll the page
        active_scroll=None,
        toolbar_location="above",
        min_border=0,
        outline_line_color=None,
    )
    drawn.toolbar.logo = None
    drawn.axis.visible = False
    drawn.grid.visible = False
    circles = _circles(drawn, source)
    tooltips = [("topic", "@topic"), ("words", "@words"), ("share", "@share")]
    drawn.add_tools(HoverTool(renderers=[circles], tooltips=tooltips))
    drawn.select_one(TapTool).renderers = [circles]
    size = "12px" if len(facts.prevalence) <= 50 else "10px"
    style = {"text_align": "center", "text_baseline": "middle"}
    style |= {"text_font": {"value": FONT}, "text_color": INK}
    style |= {"source": source, "nonselection_text_alpha": 1.0}
    drawn.text("x", "y", text="number", text_font_size=size, **style)
    drawn.text("label_x", "label_y", text="label", text_font_size="11px", **style)
    return drawn


def line_figure(table):
    """Return a plot of topic shares over dates; the chosen topic has a coloured line.

    The lines of all topics are grey.  The page's script sets the coloured line, whose
    data source is named "line".
    """
    from bokeh.models import ColumnDataSource, NumeralTickFormatter
    from bokeh.plotting import figure

    places, shares = table["places"], table["shares"]
    line = ColumnDataSource({"x": places, "y": shares[0]}, name="line")
    drawn = figure(
        height=HEIGHT // 2,
        sizing_mode="stretch_width",
        x_axis_type="datetime" if table["are_dates"] else "linear",
        tools="",
        toolbar_location=None,
        y_axis_label="share of the tokens",
        outline_line_color=None,
    )
    drawn.multi_line([places] * len(shares), shares, line_color="#d0d0d0", line_width=1)
    drawn.line("x", "y", source=line, line_color=DARK_BLUE, line_width=2.5)
    drawn.scatter("x", "y", source=line, color=DARK_BLUE, size=6)
    drawn.y_range.start = 0
    drawn.yaxis.formatter = NumeralTickFormatter(format="0.[0]%")
    drawn.grid.grid_line_color = "#eeeeee"
    return drawn


def _map_source(facts):
    """Return the columns of the map: circles, labels and tooltips."""
    from bokeh.models import ColumnDataSource

    centres, radii = topic_map_layout(
        facts.topic_word, facts.prevalence, width=WIDTH, height=HEIGHT
    )
    topics = range(len(radii))
    labels = [_plain(facts.label(k, 2)) for k in topics]
    # pixels, from the centre of the map
    halves = np.array([[LETTER * len(label), LINE] for label in labels]) / 2
    frame = np.outer([-0.5, 0.5], [WIDTH, HEIGHT])
    circles = centres, radii
    places = place_labels(places_around, halves, circles, facts.prevalence, frame)
    return ColumnDataSource(
        {
            "x": centres[:, 0],
            "y": centres[:, 1],
            "radius": radii,
            "topic": facts.numbers,
            # a number needs a circle that is two letters wide
            "number": [
                str(facts.numbers[k]) if radii[k] >= LETTER else "" for k in topics
            ],
            "label": labels,
            "label_x": places[:, 0],
            "label_y": places[:, 1],
            "words": [_plain(facts.label(k, MOST_IN_LABEL)) for k in topics],
            "share": [f"{share:.1%}" for share in facts.prevalence],
            "strength": np.full(len(radii), 0.6),
        },
        name="topics",
    )


def _circles(drawn, source):
    usual = {"fill_color": BLUE, "fill_alpha": "strength", "line_color": DARK_BLUE}
    chosen = {"fill_color": ORANGE, "fill_alpha": 1.0, "line_color": INK}
    return drawn.circle(
        "x",
        "y",
        radius="radius",
        radius_dimension="min",
        source=source,
        selection_line_width=2.5,
        nonselection_line_alpha=1.0,
        **usual,
        **{f"selection_{name}": value for name, value in chosen.items()},
        **{f"nonselection_{name}": value for name, value in usual.items()},
    )


def _plain(text):
    """Return a text without formulas, because Bokeh would load MathJax to draw them."""
    return text.replace("$", "$\N{ZERO WIDTH SPACE}").replace("\\", "\\\u200b")
