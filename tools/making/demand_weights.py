"""`python -m tools.making.demand_weights FOLDER...`: fit the weights of `language/attacks/demand_score.py` again.

The texts are those of `demands.jsonl`, by people who had not seen the rules and by a reader who had, and, as harmless
ones, the sentences of the manuals in the given folders. `demands_held_back.jsonl` is another person's: it is judged, and never fitted on.

    python -m tools.making.demand_weights ~/manuals/gnome ~/manuals/debian    fit, write the weights, and judge them
    python -m tools.making.demand_weights --judge ~/manuals/gimp              judge the weights that stand there
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from language.attacks import demand_score
from language.attacks.demand_score import SIGN_SCALE, list_terms, pair_signs
from language.attacks.demands import as_read, asks_for_secrets, list_windows, question_asks_for_secrets, signs_of

Floats = NDArray[np.float32]

HERE: Final = Path(__file__).parent
WEIGHTS: Final = Path(demand_score.__file__).with_name("demand_weights.toml")
FEWEST: Final = 3
"""Texts that have a word or pair that is weighed: a rarer one says nothing."""
MOST_TERMS: Final = 3_000
PENALTY: Final = 0.1
"""Of a weight's square, beside the loss of one text: 1/C of the usual notation, C = 10."""
MANUAL_WEIGHT: Final = 0.5
"""Of a manual's sentence beside a written text: there are ten times as many."""
STEPS: Final = 1_500


class Text(NamedTuple):
    """One text to fit or judge on."""

    text: str
    demands: bool
    question: bool = False
    manual: bool = False


def main() -> None:
    """Fit and judge, or only judge."""
    parser = argparse.ArgumentParser(prog="python -m tools.making.demand_weights", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="folders of manuals, .md, .html and .txt")
    parser.add_argument("--judge", action="store_true", help="judge the weights that stand there")
    options = parser.parse_args()
    manuals = list(read_manuals(options.folders))
    if not options.judge:
        WEIGHTS.write_text(fit([*read_texts("demands.jsonl"), *manuals]), "utf-8")
        demand_score.weights.cache_clear()
    for name in ("demands.jsonl", "demands_held_back.jsonl"):
        for line in judge(list(read_texts(name))):
            print(f"{name}: {line}")
    wrong = [text.text for text in manuals if asks_for_secrets(text.text)]
    print(f"manuals: {len(wrong)} of {len(manuals)} sentences with such a word taken for a demand", *wrong, sep="\n  ")


def read_texts(name: str) -> Iterator[Text]:
    """Yield the written texts of a file beside this one."""
    for line in (HERE / name).read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Text(row["text"], row["demands"], question=row["kind"] == "question")


def read_manuals(folders: Iterable[Path]) -> Iterator[Text]:
    """Yield what is judged at once of manuals, as far as it has a word that may be wanted."""
    seen: set[str] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix not in {".md", ".html", ".txt"}:
                continue
            text = path.read_text("utf-8", errors="replace")
            if path.suffix == ".html":
                text = re.sub(r"<[^<>]*>", " ", text)
            for window in (
                one for block in text.split("\n\n") for plain in as_read(block)[:1] for one in list_windows(plain)
            ):
                if window not in seen:
                    seen.add(window)
                    yield Text(window, demands=False, manual=True)


def judge(texts: Sequence[Text]) -> Iterator[str]:
    """Yield the figures of a file, answers and questions apart."""
    for question, finds in ((False, asks_for_secrets), (True, question_asks_for_secrets)):
        of_kind = [text for text in texts if text.question is question]
        found = Counter(text.demands for text in of_kind if finds(text.text))
        there = Counter(text.demands for text in of_kind)
        yield (
            f"{'questions' if question else 'answers'}: {found[True]} of {there[True]} demands found, "
            f"{found[False]} of {there[False]} harmless texts taken for one"
        )


def fit(texts: Sequence[Text]) -> str:
    """Return the fitted weights as TOML.

    A logistic regression with a square penalty, minimised by Nesterov's accelerated gradient. Where a demand stands in its
    text is not written down: the first fit is on whole texts, the second on the window of each demand that the first one
    finds most like a demand, and on all windows of harmless texts. It keeps the most telling terms.
    """
    whole = [(text, plain) for text in texts for plain in as_read(text.text)[:1]]
    first = _Fit.of(whole, most=len(whole))
    chosen = [
        (text, window)
        for text, plain in whole
        for window in ([max(list_windows(plain) or [plain], key=first.sum)] if text.demands else list_windows(plain))
    ]
    return _as_toml(_Fit.of(chosen, most=MOST_TERMS))


class _Fit(NamedTuple):
    """Fitted weights of terms and signs."""

    terms: dict[str, float]
    signs: dict[str, float]
    intercept: float

    def sum(self, window: str) -> float:
        known = [self.terms[term] for term in list_terms(window) if term in self.terms]
        signed = sum(self.signs.get(sign, 0.0) for sign in pair_signs(signs_of(window)))
        return self.intercept + sum(known) / max(1.0, len(known) ** 0.5) + SIGN_SCALE * signed

    @classmethod
    def of(cls, windows: Sequence[tuple[Text, str]], *, most: int) -> _Fit:
        terms = [list_terms(window) for _, window in windows]
        signs = [pair_signs(signs_of(window)) for _, window in windows]
        demanded = np.array([text.demands for text, _ in windows], dtype=np.float32)
        weight = np.array([MANUAL_WEIGHT if text.manual else 1.0 for text, _ in windows], dtype=np.float32)
        counted = Counter(
            term for listed, (text, _) in zip(terms, windows, strict=True) if not text.manual for term in listed
        )
        known = sorted(term for term, times in counted.items() if times >= FEWEST)
        known_signs = sorted(frozenset[str]().union(*signs))
        if len(known) > most:
            fitted, _ = _minimise(_matrix(terms, signs, known, known_signs), demanded, weight)
            telling = map(int, np.argsort(-np.abs(fitted[: len(known)]))[:most])
            known = sorted(known[at] for at in telling)
        fitted, intercept = _minimise(_matrix(terms, signs, known, known_signs), demanded, weight)
        weights = list(map(float, fitted))
        return cls(
            dict(zip(known, weights[: len(known)], strict=True)),
            dict(zip(known_signs, weights[len(known) :], strict=True)),
            intercept,
        )


def _matrix(
    terms: Sequence[frozenset[str]], signs: Sequence[frozenset[str]], known: Sequence[str], known_signs: Sequence[str]
) -> Floats:
    place = {name: at for at, name in enumerate(known)}
    sign_place = {name: len(known) + at for at, name in enumerate(known_signs)}
    values = np.zeros((len(terms), len(known) + len(known_signs)), dtype=np.float32)
    for row, (listed, signed) in enumerate(zip(terms, signs, strict=True)):
        there = [place[term] for term in listed if term in place]
        values[row, there] = 1 / max(1.0, len(there) ** 0.5)
        values[row, [sign_place[sign] for sign in signed]] = SIGN_SCALE
    return values


def _minimise(values: Floats, demanded: Floats, weight: Floats) -> tuple[Floats, float]:
    """Return the weights and the intercept; the intercept is not penalised."""
    columns = np.hstack([values, np.ones((len(values), 1), dtype=np.float32)])
    penalty = np.append(np.full(values.shape[1], PENALTY, dtype=np.float32), np.float32(1e-6))
    top = np.ones(columns.shape[1], dtype=np.float32)
    for _ in range(30):
        top = columns.T @ (weight * (columns @ top))
        top /= np.linalg.norm(top)
    steepest = 0.25 * float(np.linalg.norm(columns.T @ (weight * (columns @ top)))) + PENALTY
    at = ahead = np.zeros(columns.shape[1], dtype=np.float32)
    for step in range(STEPS):
        slope = columns.T @ (weight * (1 / (1 + np.exp(-(columns @ ahead))) - demanded)) + penalty * ahead
        following = ahead - slope / steepest
        ahead = following + (step / (step + 3)) * (following - at)
        at = following
    return at[:-1].astype(np.float32), float(at[-1])


def _as_toml(fit: _Fit) -> str:
    lines = [
        "# The weights of `demand_score.py`, as `python -m tools.making.demand_weights` fitted them: not edited by hand.",
        "# A weight, and the stems, pairs of stems or signs that have it.",
        "",
        "[sums]",
        f"intercept = {fit.intercept:.3f}",
    ]
    for kind, fitted in (("terms", fit.terms), ("signs", fit.signs)):
        by_weight: dict[str, list[str]] = {}
        for name, weight in fitted.items():
            if abs(weight) >= 0.05:
                by_weight.setdefault(f"{weight:+.1f}", []).append(name)
        rows = (
            f'"{weight}" = {json.dumps(" ".join(by_weight[weight]), ensure_ascii=False)}'
            for weight in sorted(by_weight, key=float)
        )
        lines += ["", f"[{kind}]", *rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
