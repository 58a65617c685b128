"""The fault matrix: every fault of `faults.toml`, played over real sockets by a server in another process.

All faults are played once, together, before the first test; each test then looks at its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from contracts.calls import ModelCall
from contracts.enums import FaultKind, Outcome, Verdict
from tests.support.wire.fault_data import ALONE, CALLS, CASES, EXPECTED, FAULTS, KINDS, OUTCOMES, Case, Fault, Run
from tests.support.wire.fault_runs import KEY, RETRIES, Record, Request, Turn, became, play_all
from tests.support.wire.server_process import fake_server

SLACK_S = 25.0
"""What a busy machine may take beyond a deadline; a wait without one would take ten minutes."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def record() -> Iterator[Record]:
    with fake_server() as server:
        yield play_all(server)


@pytest.mark.parametrize("run", ALONE)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_fault_becomes_what_the_page_of_faults_says(record: Record, fault: Fault, run: Run) -> None:
    """What each adapter makes of a fault, and of one that passes, is what `faults.toml` promises.

    Each request that the server got is on record, no more than the retries allow, in time, without the key.
    """
    for case in CASES:
        if case.fault is fault:
            _check_alone(record, case, run)


def _check_alone(record: Record, case: Case, run: Run) -> None:
    played = record.alone(case, run)
    assert became(case, played, record.asked(case, run)) == case.expected(run), (case, played.words)
    assert played.calls, case
    _check_calls(case, played.calls, record.asked(case, run))
    assert all(call.fault in ("", *FaultKind) and call.purpose == case.call for call in played.calls)
    assert max(Counter(call.form for call in played.calls).values()) <= 2 * (RETRIES + 1)
    assert played.seconds < case.fault.timeout_s + SLACK_S
    assert KEY not in played.words
    assert "Traceback" not in played.words


@pytest.mark.parametrize("case", KINDS, ids=str)
def test_a_turn_with_a_fault_ends_in_an_answer_that_was_judged(record: Record, case: Case) -> None:
    """Whichever call meets a fault for good, the turn answers all the same, and says where it was degraded."""
    turn = record.turn(case, "turn")
    result = turn.result
    assert (result.outcome, result.guardian and result.guardian.verdict) == (Outcome.ANSWERED, Verdict.PASS)
    degraded = {entry.partition(":")[0] for entry in result.diagnostics.degraded}
    assert degraded == ({case.call} if record.alone(case, "always").degraded else set())
    _check_accounts(record, case, "turn")


@pytest.mark.parametrize("case", [case for case in CASES if case.call == "moderation"], ids=str)
def test_a_message_that_could_not_be_checked_is_refused_where_the_deployment_says_so(
    record: Record, case: Case
) -> None:
    """With `on_unavailable: closed`, what cannot be moderated is refused, and nothing is planned or drafted."""
    turn = record.turn(case, "closed")
    asked = {request["purpose"] for request in record.asked(case, "closed")}
    if record.alone(case, "always").degraded:
        got = "refused"
        assert (turn.result.outcome, turn.result.guardian, turn.draft) == (Outcome.REFUSED, None, "")
        assert asked <= {"moderation"}
        assert turn.result.diagnostics.degraded
    else:
        got = case.expected("always")
        assert (turn.result.outcome, turn.result.diagnostics.degraded) == (Outcome.ANSWERED, [])
    assert got == case.expected("closed")
    _check_accounts(record, case, "closed")


def test_nothing_was_logged_as_an_error(record: Record) -> None:
    """No fault leaves a stack trace or a lost task behind in the log."""
    assert record.logged == []


def test_every_word_of_the_data_is_explained_and_used() -> None:
    """The file names no outcome that it does not explain, explains none that never comes, and leaves none out."""
    named = {word for fault in FAULTS for words in fault.becomes.values() for word in words}
    assert named == set(OUTCOMES)
    for fault in FAULTS:
        assert fault.becomes
        for call, words in fault.becomes.items():
            assert len(words) == len(EXPECTED[call]), fault.id


def test_every_call_meets_the_faults_that_any_server_can_have() -> None:
    """What has to do with statuses, connections, waits and bodies is played for all three calls."""
    common = [fault for fault in FAULTS if len(fault.becomes) == len(CALLS)]
    assert len(common) > 40
    assert all(len(fault.becomes) in (1, len(CALLS)) for fault in FAULTS)


def _check_accounts(record: Record, case: Case, run: Run) -> None:
    """Hold a turn to its time, and its result to name every request and no secret."""
    turn: Turn = record.turn(case, run)
    shown = turn.result.model_dump_json()
    assert KEY not in shown
    assert "Traceback" not in shown
    assert turn.seconds < case.fault.timeout_s + SLACK_S
    _check_calls(case, turn.result.diagnostics.calls, record.asked(case, run))


def _check_calls(case: Case, calls: Iterable[ModelCall], requests: Iterable[Request]) -> None:
    """Hold the records of calls to what the server heard."""
    made = Counter(str(call.purpose) for call in calls if call.fault != FaultKind.UNREACHABLE)
    heard = Counter(request["purpose"] for request in requests)
    # A deadline may end a request before it was sent; and who came late to an address heard what this server did not.
    assert heard <= made if case.fault.is_slow or case.fault.reply is None else heard == made
