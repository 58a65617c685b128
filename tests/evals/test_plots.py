"""The figures behind the plots of risk and calibration, and that they are drawn the same for the same figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from evals.plots import calibration, plot_calibration, plot_risk, risk_and_coverage

POINTS = [(0.9, False), (0.8, True), (0.8, False), (0.4, True)]


def test_risk_is_the_share_wrong_of_the_surest_answers() -> None:
    """Each threshold gives one point: how many are answered of all, and how many of these are wrong."""
    assert risk_and_coverage(POINTS, of=8) == [(1 / 8, 0.0), (3 / 8, 1 / 3), (4 / 8, 2 / 4)]


def test_calibration_is_the_share_right_by_how_sure() -> None:
    """Bins are of equal width, the last one holds 1, and empty ones are left out."""
    bins = calibration([*POINTS, (1.0, True)], bins=5)
    assert [(round(mean, 2), str(share)[:9]) for mean, share in bins] == [(0.4, "100% (1/1"), (0.88, "50% (2/4;")]


def test_the_same_figures_make_the_same_file(tmp_path: Path) -> None:
    """A page that is written again differs only where its figures do; of nothing no picture is made."""
    for name in ("one", "other"):
        plot_risk(tmp_path / f"{name}.svg", "Risk", {"docs": (POINTS, POINTS, 8)})
        plot_calibration(tmp_path / f"{name}-calibration.svg", "Calibration", {"docs": POINTS})
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()
    assert (tmp_path / "one-calibration.svg").read_bytes() == (tmp_path / "other-calibration.svg").read_bytes()
    plot_risk(tmp_path / "none.svg", "Risk", {"docs": ([], [], 8)})
    assert not (tmp_path / "none.svg").exists()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_ends_of_the_scale_have_a_bin(value: float) -> None:
    """0 is in the first, 1 in the last."""
    assert len(calibration([(value, True)])) == 1
