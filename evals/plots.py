"""Plots of shares with their intervals, as SVG that is the same for the same figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evals.scores import Share

Bars = Mapping[str, Sequence[tuple[str, Share]]]
"""Per series the named shares, the names in one order for all."""

_COLOURS: Final = ("#3b6ea5", "#d1803a", "#5f9e6e", "#8d6bb0")
_INK: Final = "#444444"


def plot_shares(path: Path, title: str, series: Bars) -> None:
    """Draw shares as bars with their 95 % intervals, one colour a series, and write them to a file.

    Series of nothing are left out, and where there are only such, nothing is written.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    series = {label: shares for label, shares in series.items() if any(share.of for _, share in shares)}
    if not series:
        return
    names = list(dict.fromkeys(name for shares in series.values() for name, _ in shares))
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
        figure, axes = plt.subplots(figsize=(8.0, 0.9 + 0.22 * len(names) * (len(series) + 1)), layout="constrained")
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
        axes.spines[["top", "right"]].set_visible(b=False)
        axes.set_title(title, loc="left", fontsize=10)
        figure.legend(loc="outside lower right", ncols=len(series), frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
