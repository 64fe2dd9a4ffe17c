"""Draw the plots of the report: SVG in the page's colours (dark or light), and PNG on white."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Final

from .shapes import Plot, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH: Final = 5.4
"""The width of a plot in inches. A phone shows a plot at about two thirds."""
LINE_HEIGHT: Final = 0.30
INK: Final = ("#1a1a1a", "#6a6a6a", "#d8d8d8")
"""The colours of text, secondary text and grid, which are the page's variables `--ink0` and so on."""
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b08600", "#3d8fd1", "#7f3c8d", "#666666")
"""The palette of Okabe and Ito, which colour-blind readers can distinguish, as the page's variables `--hue0` and so on."""
MARKERS: Final = "osD^vP*X"
"""The markers of series, because colour alone may not distinguish them."""
LABEL: Final = 34
"""The greatest length of a label in a plot."""
WIDE: Final = 200.0
"""The ratio of largest to smallest value above which the axis is logarithmic."""


@contextmanager
def _settings() -> Iterator[None]:
    import matplotlib as mpl

    quiet: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "groupmock", "text.parse_math": False, "font.size": 9.5, "axes.edgecolor": INK[1],
        "axes.labelcolor": INK[0], "text.color": INK[0], "xtick.color": INK[1], "ytick.color": INK[0], "xtick.labelcolor": INK[0],
        "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False, "axes.axisbelow": True, "grid.color": INK[2],
        "axes.unicode_minus": True, "font.family": "DejaVu Sans",
    }  # fmt: skip
    with mpl.rc_context(quiet), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # A box is drawn in place of a glyph that the font lacks.
        yield


def load() -> None:
    """Import matplotlib's backends, which takes half a second, while something else has to be waited for anyway."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_svg  # noqa: F401  # loaded, not used


def draw(plot: Plot) -> Figure:
    """Return the figure, laid out, without a window or pyplot."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with _settings():
        entries = len([each for each in plot.series if _any(each)]) + any(plot.values)
        legend = entries > 1 or any(plot.values)
        lines = len(plot.labels) * (1.25 if plot.kind == "dots" else 1.0)
        columns = 4 if entries <= 4 else 3
        above = 0.25 * -(-entries // columns) if legend else 0
        figure = Figure(figsize=(WIDTH, 0.75 + LINE_HEIGHT * lines + above), layout="constrained")
        axes = figure.subplots()
        _DRAW[plot.kind](axes, plot)
        _furnish(axes, plot)
        if legend:
            figure.legend(loc="outside upper right", ncols=columns, frameon=False, fontsize=8.5, handletextpad=0.3, columnspacing=1.2)
        FigureCanvasSVG(figure)  # This canvas measures texts as the page renders them.
        # The layout is computed once here, because savefig would compute it for each format again.
        if layout := figure.get_layout_engine():
            layout.execute(figure)
        figure.set_layout_engine(None)
        return figure


def _furnish(axes: Axes, plot: Plot) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    axes.set_yticks(range(len(plot.labels)), [_label(each) for each in plot.labels])
    axes.set_ylim(len(plot.labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    values = [value for each in plot.series for value in each.values if value is not None] + [value for few in plot.values for value in few]
    positive = [value for value in values if value > 0]
    if positive and plot.kind != "bars" and len(positive) == len(values) and max(positive) / min(positive) > WIDE:
        axes.set_xscale("log")
        # matplotlib's default formatter of an axis would write powers in TeX.
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(f"{_printable(plot.axis)} (logarithmic)")
    else:
        axes.set_xlabel(_printable(plot.axis))
        axes.set_xlim(*_limits(values))
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=all(value.is_integer() for value in values)))
    axes.grid(axis="x", linewidth=0.7)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """Return the limits of an axis that includes zero, with room for a whole dot at either end."""
    low, high = min([0.0, *values]), max([0.0, *values])
    room = 0.03 * ((high - low) or 1.0)
    return low - room, (high or 1.0) + room


def _printable(text: str) -> str:
    """Replace line breaks, and characters that XML cannot hold, by a box."""
    return re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]", "\u25a1", text)


def _label(text: str) -> str:
    """Shorten a long label in the middle, because names differ at their begin or end."""
    told = _printable(text)
    return told if len(told) <= LABEL else f"{told[: LABEL // 2]}…{told[1 - LABEL // 2 :]}"


def _bars(axes: Axes, plot: Plot) -> None:
    values = [value or 0.0 for value in plot.series[0].values]
    axes.barh(range(len(values)), values, height=0.62, color=COLOURS[0])


def _range(axes: Axes, plot: Plot) -> None:
    """Draw a line from the first to the third series with a dot at each, or a dot for each of few values. A fourth series is a stroke
    across."""
    (*quantiles,) = plot.series[:3]
    for place in range(len(plot.labels)):
        ends = [value for each in quantiles if (value := each.values[place]) is not None]
        if ends:
            axes.hlines(place, ends[0], ends[-1], color=INK[1], linewidth=1.2, zorder=1)
    few = [(value, place) for place, values in enumerate(plot.values) for value in values]
    if few:
        values, places = zip(*few, strict=True)
        axes.scatter(values, places, s=30, marker="o", facecolors="none", edgecolors=COLOURS[0], label="each value", zorder=3)
    for number, each in enumerate(plot.series):
        if not _any(each):
            continue
        found = _points(each.values, range(len(plot.labels)))
        if number < len(quantiles):
            axes.scatter(*found, s=26, marker=MARKERS[number], color=COLOURS[number], label=_label(each.name), zorder=3)
        else:
            axes.scatter(*found, s=160, marker="|", linewidths=2, color=COLOURS[number], label=_label(each.name), zorder=2)


def _dots(axes: Axes, plot: Plot) -> None:
    """Draw the series slightly above each other, so that equal values stay visible."""
    step = 0.7 / max(1, len(plot.series) - 1)
    for number, each in enumerate(plot.series):
        shift = -0.35 + step * number if len(plot.series) > 1 else 0.0
        places = [place + shift for place in range(len(plot.labels))]
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        axes.scatter(*_points(each.values, places), s=20, marker=marker, color=colour, label=_label(each.name), zorder=3)
    for place in range(len(plot.labels) - 1):
        axes.axhline(place + 0.5, color=INK[2], linewidth=0.5)


def _any(series: Series) -> bool:
    return any(value is not None for value in series.values)


def _points(values: Sequence[float | None], places: Sequence[float]) -> tuple[list[float], list[float]]:
    found = [(value, place) for value, place in zip(values, places, strict=True) if value is not None]
    return [value for value, _ in found], [place for _, place in found]


_DRAW: Final[dict[str, Callable[[Any, Plot], None]]] = {"bars": _bars, "range": _range, "dots": _dots}


def png(figure: Figure) -> bytes:
    """Render on white at twice the page's resolution."""
    with _settings():
        target = io.BytesIO()
        figure.savefig(target, format="png", dpi=160, facecolor="white", metadata={"Software": None})
        return target.getvalue()


def svg(figure: Figure, name: str, told: str) -> str:
    """Render a plot as SVG for embedding into the page: in the page's colours, with `told` as the text for screen readers and ids that
    `name` makes unique."""
    with _settings():
        target = io.StringIO()
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = target.getvalue()
    # matplotlib's style sheet is dropped from the SVG, because its only rule is in the page, which allows no other style sheet.
    text = re.sub(r"<(metadata|style)\b.*?</\1>", "", text[text.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(#|href=\"#)([\w-]+)", text))
    text = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    text = re.sub(r"(url\(#|href=\"#)([\w-]+)", rf"\g<1>{name}-\g<2>", text)
    for place, colour in enumerate(INK):
        text = text.replace(colour, f"var(--ink{place})")
    for place, colour in enumerate(COLOURS):
        text = text.replace(colour, f"var(--hue{place})")
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    opening = f'role="img" aria-label="{escape(told)}">'
    return re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', lambda found: f"<svg {found[1]} {opening}", text, count=1)
