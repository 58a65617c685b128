"""The labelled drafts themselves, how they are made, and their judging by the product's node."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from assistant.config.profiles import load_profile
from contracts.enums import DraftKind, Language, RequestType, Verdict
from contracts.errors import ConfigError
from evals.cases import CASES, GUARD_OF, MODEL_PASSAGES, DraftCase, DraftLabel, complete_drafts, passages, read_cases
from evals.drafts import judge
from language.words import stems
from tests.support import fork_server
from tools.making.good import HEADINGS
from tools.making.shapes import card, inn, snils

BOTH = list(Language)
PASSAGES = passages()
RAW = {language: read_cases(CASES / f"drafts_{language}.jsonl") for language in BOTH}
DRAFTS = {
    language: complete_drafts([case for case in RAW[language] if isinstance(case, DraftCase)]) for language in BOTH
}
EVERY = [case for language in BOTH for case in DRAFTS[language]]
CITATION = re.compile(r"\[(\d{1,3})\]")


def of_their_own() -> list[DraftCase]:
    """Return the good drafts that are no variants of others."""
    return [case for case in labelled(DraftLabel.GOOD) if not case.base]


def labelled(label: DraftLabel, *languages: Language) -> list[DraftCase]:
    return [case for language in languages or BOTH for case in DRAFTS[language] if case.label is label]


def test_there_are_enough_good_drafts_and_enough_of_them_are_held_back() -> None:
    """At least a thousand good drafts, 480 in each language, of which more than 300 were never looked at while tuning."""
    good = of_their_own()
    assert len(good) >= 1000
    assert all(sum(case.language is language for case in good) >= 480 for language in BOTH)
    assert sum(case.held_back for case in good) > 300


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("label", [*GUARD_OF, DraftLabel.ABSTENTION])
def test_there_are_enough_drafts_of_each_other_label(label: DraftLabel, language: Language) -> None:
    """At least sixty a label and language, all in this language, about a third of them held back."""
    cases = labelled(label, language)
    assert len(cases) >= 60
    assert {case.language for case in cases} == {language}
    assert 0.2 <= sum(case.held_back for case in cases) / len(cases) <= 0.5


async def test_a_small_real_models_drafts_are_kept_and_hardly_any_of_its_nonsense_passes() -> None:
    """At least 300, written in three ways; of what is invented, echoed or beside the question in its own words, nothing."""
    cases = [case for case in read_cases(CASES / "drafts_model.jsonl") if isinstance(case, DraftCase)]
    assert len(cases) >= 300
    own = [case for case in cases if case.note != "from whole sentences only" and case.label in NONSENSE]
    judged = await judge(own, passages(MODEL_PASSAGES), load_profile("handbook"))
    assert len(judged) > 40
    assert [one.case.id for one in judged if one.verdict is Verdict.PASS] == []


NONSENSE = (DraftLabel.INVENTED, DraftLabel.ECHO, DraftLabel.OFF_QUESTION)


def test_a_draft_with_a_base_is_a_good_one_with_one_edit() -> None:
    """Each fault and each variant has a good draft for its base and one edit; of thin evidence, the evidence is it."""
    by_id = {case.id: case for case in EVERY}
    for case in EVERY:
        if not case.base:
            assert case.label in (DraftLabel.GOOD, DraftLabel.ABSTENTION)
            continue
        base = by_id[case.base]
        assert base.label is DraftLabel.GOOD
        assert len(case.edits) == (0 if case.label is DraftLabel.THIN_EVIDENCE else 1)
        assert (case.draft == base.draft) is (case.label is DraftLabel.THIN_EVIDENCE)


def test_no_draft_is_empty_and_all_evidence_is_there() -> None:
    """Every case has a text and a question, and names passages that are kept with the cases."""
    for case in EVERY:
        assert case.draft.strip()
        assert case.question
        assert all(one in PASSAGES for one in case.evidence if isinstance(one, str))


def test_citations_of_good_drafts_resolve() -> None:
    """A good draft cites, and cites nothing but its evidence; of two passages at least."""
    for case in labelled(DraftLabel.GOOD):
        numbers = [int(number) for number in CITATION.findall(re.sub(r"`[^`]*`", "", case.draft))]
        assert numbers
        assert max(numbers) <= len(case.evidence) >= 2
        assert min(numbers) >= 1


def test_good_drafts_have_the_section_that_their_request_type_needs() -> None:
    """A good how-to draft, and one on a fault, has a heading that the handbook's profile counts."""
    for case in labelled(DraftLabel.GOOD):
        if known := HEADINGS.get((case.request_type, case.language)):
            assert re.search(rf"^#+ (?:{'|'.join(known)})$", case.draft, re.MULTILINE), case.id


def test_good_drafts_are_of_many_kinds() -> None:
    """Prose, lists, steps, tables, code, two passages, rewritten sentences and drafts written by hand are among them."""
    kinds = Counter(word for case in labelled(DraftLabel.GOOD) for word in case.note.split("; "))
    for kind in ("quotation", "two passages", "steps", "bullets", "rows", "table", "code", "list of sentences"):
        assert kinds[kind] >= 40, kind
    for edit in (
        "synonym",
        "contraction",
        "dash",
        "marks",
        "grouping",
        "range",
        "bold",
        "bare names",
        "intro",
        "closing",
    ):
        assert kinds[edit] >= 20, edit
    # The handbook has few places for these.
    assert kinds["units"] + kinds["decimal"] + kinds["percent"] + kinds["order"] + kinds["split"] >= 40
    assert kinds["written by hand"] >= 80


@pytest.mark.parametrize("language", BOTH)
def test_few_good_drafts_are_nearly_the_same(language: Language) -> None:
    """At most one in fifty good drafts shares nine tenths of its words with another one."""
    words = [frozenset(stems(case.draft)) for case in of_their_own() if case.language is language]
    alike = {
        n
        for n, mine in enumerate(words)
        for other in words[:n]
        # Sets of too different sizes need no look.
        if 0.9 * len(mine) <= len(other) <= len(mine) / 0.9 and len(mine & other) >= 0.9 * len(mine | other)
    }
    assert len(alike) <= len(words) / 50


def test_a_wrong_number_stands_in_no_passage_that_is_cited() -> None:
    """What an edit puts in the place of a number cannot be read in a cited passage, so that the sources show the fault."""
    number = re.compile(r"\d{1,3}(?:[ ,\u00a0\u202f]\d{3})+|\d+[.,]\d+|\d+")

    def plain(text: str) -> str:
        bare = re.sub(r"[ \u00a0\u202f]|,(?=\d{3}\b)", "", text).replace(",", ".")
        return bare.rstrip("0").rstrip(".") if "." in bare else bare

    by_id = {case.id: case for case in EVERY}
    looked = 0
    for case in labelled(DraftLabel.WRONG_NUMBER):
        if case.note in ("unit", "number word"):
            continue
        old, new = (
            Counter(map(plain, number.findall(CITATION.sub("", text))))
            for text in (case.edits[0].old, case.edits[0].new)
        )
        put = [value for value in new - old if value]
        cites = {int(n) for n in CITATION.findall(by_id[case.base].draft)}
        cited = "\n".join(PASSAGES[str(case.evidence[n - 1])].snippet for n in cites)
        assert put, case.id
        assert not set(put) & set(map(plain, number.findall(cited))), case.id
        looked += 1
    assert looked >= 150


def test_the_cases_are_made_anew_alike_in_the_folder_that_is_named(tmp_path: Path) -> None:
    """`python -m tools.making --to` writes the very bytes of both files there, from kept passages, and nothing else."""
    done = fork_server.run(["tools.making", "--to", str(tmp_path)], cwd=CASES.parents[1], text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drafts_en.jsonl", "drafts_ru.jsonl"]
    for made in tmp_path.iterdir():
        assert made.read_text("utf-8") == (CASES / made.name).read_text("utf-8")


def test_the_files_are_small() -> None:
    """Passages and drafts together stay under three megabytes, and no line of a file shows a key's shape."""
    files = [CASES / name for name in ("passages.jsonl", "drafts_en.jsonl", "drafts_ru.jsonl")]
    assert sum(path.stat().st_size for path in files) < 3_100_000
    shapes = re.compile(
        r"gh[ps]_\w{30}|AKIA\w{16}|sk-[\w-]{30}|sk_live_\w{20}|xoxb-\d|glpat-\w{20}|BEGIN (?:\w+ )?PRIVATE KEY"
    )
    assert not any(shapes.search(path.read_text("utf-8")) for path in files)


def test_made_up_numbers_carry_right_sums() -> None:
    """A card number passes Luhn's formula, a SNILS and an INN their control numbers: else no guard need stop them."""
    from random import Random

    dice = Random(1)  # noqa: S311  # nothing secret is drawn
    for _ in range(50):
        digits = [int(digit) for digit in re.sub(r"\D", "", card(dice))]
        doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
        assert (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
        number = re.sub(r"\D", "", snils(dice))
        total = sum(int(digit) * (9 - place) for place, digit in enumerate(number[:9]))
        assert total % 101 % 100 == int(number[9:])
        assert len(inn(dice)) in (10, 12)


async def test_judging_names_the_guards_that_object() -> None:
    """A good draft passes; with an invented citation, without its section or with a forbidden phrase its guard objects."""
    profile = load_profile("handbook")
    by_id = {case.id: case for case in EVERY}
    base = by_id["en-written-003"]
    assert base.request_type is RequestType.HOWTO_POLICY
    bad = base.model_copy(update={"draft": base.draft.replace("[1].", "[9].", 1)})
    bare = base.model_copy(update={"draft": base.draft.replace("## What to do\n", "")})
    thin = base.model_copy(update={"evidence": base.evidence[:1]})
    good, *others = await judge([base, bad, bare, thin], PASSAGES, profile)
    assert (good.verdict, good.objected, good.unchecked) == (Verdict.PASS, frozenset(), frozenset())
    assert [sorted(one.objected) for one in others] == [["grounding"], ["contract"], ["evidence"]]
    assert others[0].reasons == ("citation_unresolvable=[[9]]",)


async def test_an_abstention_is_judged_as_one() -> None:
    """No guard objects to an honest abstention, and the verdict is the wider search that it gets."""
    cases = [case for case in labelled(DraftLabel.ABSTENTION) if not case.held_back][:10]
    assert {case.draft_kind for case in cases} == {DraftKind.ABSTENTION}
    for one in await judge(cases, PASSAGES, load_profile("handbook")):
        assert not one.objected
        assert one.verdict is Verdict.RETRY


async def test_each_fault_is_found_by_its_guard_at_least_once() -> None:
    """For each label a guard of the product can find, some case of the tuning part is found by it."""
    profile = load_profile("handbook")
    for label, guard in GUARD_OF.items():
        if label is DraftLabel.NEGATION:
            continue  # advice, never an objection
        cases = (case for case in labelled(label) if not case.held_back)
        for case in islice(cases, 10):
            [one] = await judge([case], PASSAGES, profile)
            if guard in one.objected:
                break
        else:
            pytest.fail(f"{guard} finds none of ten: {label}")


def test_an_edit_that_does_not_apply_is_an_error() -> None:
    """What is to be edited must stand once in the base; a case that drifted from its base is never counted."""
    case = labelled(DraftLabel.GOOD)[0]
    twice = DraftCase.model_validate(
        {
            "id": "x",
            "language": "en",
            "label": "negation",
            "base": case.id,
            "edits": [{"old": "no such words", "new": ""}],
        }
    )
    with pytest.raises(ConfigError, match="stands 0 times"):
        complete_drafts([case, twice])
