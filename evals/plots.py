"""Plots of shares with intervals, of risk and of calibration, as SVG; the same figures give the same file."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from evals.scores import Share

Bars = Mapping[str, Sequence[tuple[str, Share]]]
"""Per series the named shares, the names in one order for all."""

_COLOURS: Final = ("#3b6ea5", "#d1803a", "#5f9e6e", "#8d6bb0")
_INK: Final = "#444444"


def plot_shares(path: Path, title: str, series: Bars) -> None:
    """Draw shares as bars with 95 % intervals, one colour a series, and write them to a file.

    Empty series are left out; if all are empty, no file is written.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    series = {label: shares for label, shares in series.items() if any(share.of for _, share in shares)}
    if not series:
        return
    names = list(dict.fromkeys(name for shares in series.values() for name, _ in shares))
    size = (8.0, 0.9 + 0.22 * len(names) * (len(series) + 1))
    with _draw(path, title, size) as (figure, axes):
        height = 0.8 / len(series)
        for place, (label, shares) in enumerate(series.items()):
            found = [(names.index(name), share) for name, share in shares if share.of]
            rows = [row + place * height for row, _ in found]
            values = [100 * share.value for _, share in found]
            ends = [share.interval() for _, share in found]
            low = [max(0.0, value - 100 * end[0]) for value, end in zip(values, ends, strict=True)]
            high = [max(0.0, 100 * end[1] - value) for value, end in zip(values, ends, strict=True)]
            colour = _COLOURS[place % len(_COLOURS)]
            axes.barh(rows, values, height * 0.92, color=colour, label=label, xerr=[low, high], error_kw={"lw": 0.8})
            for row, value in zip(rows, values, strict=True):
                axes.text(101, row, f"{value:.0f} %", va="center", fontsize=8)
        axes.set_yticks([row + height * (len(series) - 1) / 2 for row in range(len(names))], names)
        axes.set_xlim(0, 110)
        axes.set_xticks(range(0, 101, 20), [f"{share} %" for share in range(0, 101, 20)])
        axes.invert_yaxis()
        figure.legend(loc="outside lower right", ncols=len(series), frameon=False)


Points = Sequence[tuple[float, bool]]
"""How sure something was, 0 to 1, and whether what is counted is true of it."""


def risk_and_coverage(points: Points, of: int) -> list[tuple[float, float]]:
    """Return the share of questions answered and the counted share of the answers, from the surest answers on.

    Equally sure answers come together, because no threshold separates them (El-Yaniv and Wiener 2010).

    Args:
        points: The points of the stated answers; wrong answers are counted.
        of: The number of questions asked.
    """
    curve: list[tuple[float, float]] = []
    stated = wrong = 0
    for _, group in groupby(sorted(points, reverse=True), key=lambda point: point[0]):
        same = [counted for _, counted in group]
        stated, wrong = stated + len(same), wrong + sum(same)
        curve.append((stated / of, wrong / stated))
    return curve


def plot_risk(path: Path, title: str, series: Mapping[str, tuple[Points, Points, int]]) -> None:
    """Draw the wrong share of stated answers over the share of questions answered, one colour a series.

    Args:
        path: The file to write; none is written if nothing was stated.
        title: The title above the plot.
        series: For each series: wrong answers, wrong or unread answers (dashed), and the number of questions.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    series = {label: one for label, one in series.items() if one[0]}
    if not series:
        return
    with _draw(path, title, (8.0, 4.5)) as (figure, axes):
        for place, (label, (wrong, unread, of)) in enumerate(series.items()):
            colour = _COLOURS[place % len(_COLOURS)]
            for points, style, name in ((wrong, "-", label), (unread, "--", None)):
                curve = risk_and_coverage(points, of)
                x, y = [100 * one for one, _ in curve], [100 * one for _, one in curve]
                axes.plot(x, y, style, color=colour, label=name, lw=1.4)
        _percentages(axes, "questions answered", "of these wrong (dashed: or unread)")
        figure.legend(loc="outside lower right", ncols=len(series), frameon=False)


def calibration(points: Points, bins: int = 10) -> list[tuple[float, Share]]:
    """Return the mean sureness and the counted share of each bin of equal width that is not empty."""
    found: dict[int, list[tuple[float, bool]]] = {}
    for point in points:
        found.setdefault(min(bins - 1, int(point[0] * bins)), []).append(point)
    return [
        (sum(value for value, _ in mine) / len(mine), Share(sum(counted for _, counted in mine), len(mine)))
        for _, mine in sorted(found.items())
    ]


def plot_calibration(path: Path, title: str, series: Mapping[str, Points]) -> None:
    """Draw the right share of answers over their sureness, with 95 % intervals; both are equal on the dotted line.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    series = {label: points for label, points in series.items() if points}
    if not series:
        return
    with _draw(path, title, (6.0, 5.0)) as (figure, axes):
        axes.plot([0, 100], [0, 100], ":", color=_INK, lw=1)
        for place, (label, points) in enumerate(series.items()):
            bins = calibration(points)
            y = [100 * share.value for _, share in bins]
            ends = [share.interval() for _, share in bins]
            low = [max(0.0, value - 100 * end[0]) for value, end in zip(y, ends, strict=True)]
            high = [max(0.0, 100 * end[1] - value) for value, end in zip(y, ends, strict=True)]
            colour = _COLOURS[place % len(_COLOURS)]
            x = [100 * mean for mean, _ in bins]
            axes.errorbar(x, y, yerr=[low, high], fmt="o-", color=colour, label=label, lw=1.2, elinewidth=0.8, ms=4)
        _percentages(axes, "estimate", "correct or partly, of what was read")
        figure.legend(loc="outside lower right", ncols=len(series), frameon=False)


def _percentages(axes: Any, x: str, y: str) -> None:
    ticks = range(0, 101, 20)
    for set_limits, set_ticks in ((axes.set_xlim, axes.set_xticks), (axes.set_ylim, axes.set_yticks)):
        set_limits(0, 102)
        set_ticks(ticks, [f"{tick} %" for tick in ticks])
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(color="#dddddd", lw=0.6)


@contextmanager
def _draw(path: Path, title: str, size: tuple[float, float]) -> Generator[tuple[Any, Any]]:
    """Open a figure with one pair of axes; what was drawn is written to the file."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    settings: Any = {
        "svg.hashsalt": "guardian",  # ids inside the file are drawn by chance without one
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
    }
    with plt.rc_context(settings):
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        yield figure, axes
        axes.spines[["top", "right"]].set_visible(b=False)
        axes.set_title(title, loc="left", fontsize=10)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
