"""One more draft, quoted from the same evidence, where none of the model's passed."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.fakes.drafting import FakeDrafter
from adapters.fakes.moderation import FakeModerator
from adapters.fakes.planning import FakePlanner
from adapters.fakes.sources import FakeSource
from contracts.enums import DraftKind, Source
from contracts.ports import Draft
from graph.build import Ports, build_graph
from nodes.draft import WITHOUT_THE_MODEL
from tests.support.routes import walk
from tests.support.turn import ANSWER, PROFILE, SAFE, passage, plan

QUOTED = Draft(DraftKind.ANSWER, ANSWER)
WRONG = [Draft(DraftKind.ANSWER, f"The kettle boils at {900 + n} degrees [1].") for n in range(9)]
ABSTAINS = Draft(DraftKind.ABSTENTION, "Nothing.")
UNFIT = Draft(DraftKind.CLARIFICATION, "Which of the 99 kettles is it?")
OFF_CONTRACT = [Draft(DraftKind.ANSWER, f"{ANSWER} The kettle is number {n} [{n}].") for n in (1, 2)]
STEPS = Draft(DraftKind.ANSWER, f"## What to do\n\n{ANSWER}")


async def turn(
    written: Any, quoted: Any = QUOTED, *, found: Any = None, request_type: str = "KNOWLEDGE_QA", **context: Any
) -> tuple[list[str], dict[str, Any], FakeDrafter, FakeDrafter]:
    """Run a turn; return its nodes, its values, the drafter and the quoter."""
    drafter = FakeDrafter([written] if isinstance(written, Draft) else written)
    quoter = FakeDrafter([quoted])
    ports = Ports(
        moderator=FakeModerator(SAFE),
        planner=FakePlanner([plan(request_type=request_type)]),
        sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)] if found is None else found)},
        drafter=drafter,
        quoter=quoter,
    )
    path, values = await walk(build_graph(ports, PROFILE), **context)
    return path, values, drafter, quoter


@pytest.mark.parametrize("track", ["FAST", "QUALITY"])
@pytest.mark.parametrize("written", [WRONG, ABSTAINS, UNFIT], ids=["failed", "abstained", "unfit question"])
async def test_where_no_draft_of_the_model_passed_one_is_quoted(track: str, written: Any) -> None:
    """On both tracks; the quotation is judged, answers, and the turn says that the model did not write it."""
    path, values, drafter, quoter = await turn(written, knowledge_track=track)
    assert values["result"]["outcome"] == "answered"
    assert values["result"]["diagnostics"]["degraded"] == [WITHOUT_THE_MODEL] == ["draft: drafted without the model"]
    assert values["guardian"]["verdict"] == "PASS"
    assert len(quoter.requests) == 1
    # The same evidence: nothing is searched for it.
    assert quoter.requests[0].evidence == drafter.requests[-1].evidence
    assert path[-5:] == ["retry_bump", "retrieve", "draft", "guardian_verify", "finalize"]
    rows = [line for line in values["decisions"] if line["table"] == "DT-005"]
    assert rows[-2]["row"].endswith("-quote")
    assert (values["quoting"], values["quoted"]) == (True, True)


async def test_the_model_has_all_its_retries_first() -> None:
    """Only what would end the turn is quoted instead, whatever number of retries the run allows."""
    for retries in range(6):
        path, values, drafter, quoter = await turn(WRONG, max_retry=retries)
        assert (len(drafter.requests), len(quoter.requests)) == (retries + 1, 1)
        assert path.count("draft") == retries + 2
        assert values["result"]["outcome"] == "answered"


async def test_a_turn_with_searches_of_the_drafter_has_steps_enough_for_it() -> None:
    """The longest turn that there is ends within its steps."""
    searches = Draft(DraftKind.ABSTENTION, "", searches=("boiling point",))
    path, values, _, quoter = await turn([searches, searches, *WRONG], max_retry=5, search_by="model")
    assert path.count("draft") == 2 + 6 + 1
    assert (len(quoter.requests), values["result"]["outcome"]) == (1, "answered")


async def test_a_draft_off_contract_is_quoted_after_its_retries() -> None:
    """The form counts as well: a quotation that has it passes."""
    changes: Any = {"request_type": "HOWTO_POLICY", "max_retry": 1}
    _, values, _, quoter = await turn(OFF_CONTRACT, STEPS, **changes)
    assert (len(quoter.requests), values["result"]["outcome"]) == (1, "answered")


@pytest.mark.parametrize("quoted", [None, ABSTAINS, QUOTED], ids=["no quoting", "abstains", "quotes"])
async def test_a_draft_of_doubtful_relevance_is_followed_by_a_quotation_and_never_becomes_less(
    quoted: Draft | None,
) -> None:
    """A quotation is judged alike; where nothing can be quoted, the turn still says that there are documents."""
    vague = [passage(number, confidence=0.65) for number in (1, 2)]
    _, values, _, quoter = await turn([QUOTED], quoted, found=vague, min_evidence=1, quoting_draft=quoted is not None)
    assert len(quoter.requests) == (quoted is not None)
    assert values["result"]["outcome"] == "pages_shown"
    assert values["guardian"]["reasons"] == ["relevance_doubtful"]


@pytest.mark.parametrize("quoted", [WRONG[0], ABSTAINS, UNFIT, Draft(DraftKind.ANSWER, "password: hunter2hunter2 [1]")])
@pytest.mark.parametrize("retries", [0, 2])
async def test_a_quotation_is_judged_like_any_draft_and_is_the_last(quoted: Draft, retries: int) -> None:
    """One that does not pass ends the turn: it is made once, and nothing is tried after it."""
    path, values, _, quoter = await turn(WRONG, quoted, max_retry=retries)
    assert len(quoter.requests) == 1
    assert values["guardian"]["verdict"] == "FAIL"
    assert path[-2:] == ["guardian_verify", "safe_exit"]
    assert path.count("draft") == retries + 2
    assert values["result"]["outcome"] in ("pages_shown", "refused")


@pytest.mark.parametrize(
    "written",
    [
        Draft(DraftKind.ANSWER, "Here: sk-live-abcdefghijklmnopqrstuvwx [1]."),
        Draft(DraftKind.CLARIFICATION, "What is your password?"),
    ],
    ids=["secret", "asks"],
)
async def test_nothing_is_quoted_after_a_violation_of_policy(written: Draft) -> None:
    """Only a violation ends a turn at once."""
    path, values, _, quoter = await turn(written)
    assert (quoter.requests, "retry_bump" in path) == ([], False)
    assert values["result"]["outcome"] == "refused"


@pytest.mark.parametrize("check", ["check_evidence", "check_grounding", "check_contract", "check_answer"])
async def test_nothing_is_quoted_where_a_check_could_not_be_carried_out(
    monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    """What nobody could judge goes to a person."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(f"nodes.guardian_verify.{check}", broken)
    _, values, _, quoter = await turn(QUOTED)
    assert (quoter.requests, values["result"]["outcome"]) == ([], "handed_off")


async def test_a_question_that_may_be_asked_is_asked() -> None:
    """A drafted question that is fit needs no quotation in its place."""
    _, values, _, quoter = await turn(Draft(DraftKind.CLARIFICATION, "Which kettle is it?"))
    assert (quoter.requests, values["result"]["outcome"]) == ([], "clarification")


async def test_what_passes_is_not_quoted() -> None:
    """And says nothing of being drafted without the model."""
    _, values, _, quoter = await turn(QUOTED)
    assert (quoter.requests, values["degraded"]) == ([], [])


async def test_the_setting_turns_it_off() -> None:
    """Without the quoting draft the turn ends as it would have without a quoter."""
    path, values, _, quoter = await turn(WRONG, quoting_draft=False)
    assert (quoter.requests, values["result"]["outcome"]) == ([], "pages_shown")
    assert path.count("draft") == 3


async def test_what_was_quoted_already_is_not_quoted_again() -> None:
    """Where the model could not be used, its drafter has quoted: one more quotation would be the same."""
    quoted = Draft(DraftKind.ABSTENTION, "Nothing.", quoted=True, degraded=("draft: the model is away",))
    _, values, _, quoter = await turn(quoted)
    assert quoter.requests == []
    assert values["degraded"] == [WITHOUT_THE_MODEL, "draft: the model is away"]


async def test_the_products_own_quoter_answers() -> None:
    """With the drafter that quotes in earnest, a turn whose model fails has an answer out of the documents."""
    ports = Ports(
        moderator=FakeModerator(SAFE),
        planner=FakePlanner([plan()]),
        sources={Source.DOC: FakeSource(Source.DOC, [passage(1), passage(2)])},
        drafter=FakeDrafter(WRONG),
        quoter=ExtractiveDrafter(),
    )
    _, values = await walk(build_graph(ports, PROFILE))
    assert values["result"]["outcome"] == "answered"
    assert "100 degrees" in values["final_answer"]
