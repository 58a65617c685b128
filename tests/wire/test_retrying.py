from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.retries import Pauses, deadline_in, fault_of_status, retry_after, with_retries
from contracts.enums import FaultKind
from contracts.errors import ServerFault


class Tries:
    """Work that fails as it is told, and the pauses between its tries on a clock that takes no time."""

    def __init__(self, *faults: ServerFault | None, dice: float = 1.0) -> None:
        self.faults = list(faults)
        self.made = 0
        self.slept: list[float] = []
        self.pauses = Pauses(sleep=self._sleep, dice=lambda: dice)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def work(self) -> str:
        fault = self.faults[min(self.made, len(self.faults) - 1)]
        self.made += 1
        if fault is not None:
            raise fault
        return "done"

    async def run(self, *, retries: int = 5, seconds: float = 1000.0) -> str:
        return await with_retries(self.work, retries=retries, deadline=deadline_in(seconds), pauses=self.pauses)


def fault(kind: FaultKind = FaultKind.SERVER_ERROR, after: float | None = None) -> ServerFault:
    return ServerFault("x", kind=kind, retry_after_s=after)


@given(retry=st.integers(0, 60), dice=st.floats(0, 1))
def test_a_pause_is_half_to_the_whole_of_what_has_doubled(retry: int, dice: float) -> None:
    """Pauses double from 0.4 s to 8 s at most; chance takes up to a half away, never adds."""
    whole = min(8.0, 0.4 * 2**retry)
    assert whole / 2 <= Pauses(dice=lambda: dice).before(retry) <= whole


async def test_a_fault_that_passes_is_tried_again_after_growing_pauses() -> None:
    """Three faults and a success are four tries, with the pauses of the first three retries between them."""
    tries = Tries(fault(), fault(), fault(), None)
    assert await tries.run() == "done"
    assert tries.slept == [0.4, 0.8, 1.6]


@pytest.mark.parametrize("kind", FaultKind)
async def test_only_what_may_pass_is_tried_again(kind: FaultKind) -> None:
    """A wrong key, a missing model or a refused request would fail alike: it is tried once."""
    tries = Tries(fault(kind))
    with pytest.raises(ServerFault) as caught:
        await tries.run(retries=2)
    assert caught.value.kind is kind
    assert tries.made == (3 if kind.may_pass else 1)


async def test_no_retries_are_one_try() -> None:
    """With 0 retries nothing is sent twice, and nothing is waited for."""
    tries = Tries(fault())
    with pytest.raises(ServerFault):
        await tries.run(retries=0)
    assert (tries.made, tries.slept) == (1, [])


async def test_the_servers_wish_is_the_pause() -> None:
    """Retry-After stands in the place of our own pause, longer or shorter, without jitter."""
    tries = Tries(fault(FaultKind.BUSY, 30.0), fault(FaultKind.BUSY, 0.0), None, dice=0.0)
    assert await tries.run() == "done"
    assert tries.slept == [30.0, 0.0]


@pytest.mark.parametrize("after", [11.0, 120.0, float("inf")])
async def test_a_wish_beyond_the_deadline_is_not_waited_for(after: float) -> None:
    """Where the server asks for more than the time that is left, its fault comes at once."""
    tries = Tries(fault(FaultKind.BUSY, after))
    with pytest.raises(ServerFault) as caught:
        await tries.run(seconds=10.0)
    assert (caught.value.kind, tries.made, tries.slept) == (FaultKind.BUSY, 1, [])


async def test_work_that_hangs_ends_at_the_deadline() -> None:
    """The deadline ends a try in its middle, as a fault of its own kind."""

    async def hang() -> None:
        await asyncio.Event().wait()

    began = asyncio.get_running_loop().time()
    with pytest.raises(ServerFault) as caught:
        await with_retries(hang, retries=5, deadline=deadline_in(0.1))
    assert caught.value.kind is FaultKind.DEADLINE
    assert asyncio.get_running_loop().time() - began < 1.0


async def test_being_cancelled_is_no_fault() -> None:
    """Who ends a turn from outside is not answered with a retry."""
    tries = Tries(fault())
    task = asyncio.create_task(with_retries(asyncio.Event().wait, retries=5, deadline=deadline_in(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tries.made == 0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("", None),
        ("-1", None),
        ("0.5", 0.5),
        ("2.5", 2.5),
        ("2.", None),
        ("1e3", None),
        ("soon", None),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2024 00:00:00 +9999999999999999", None),
        ("9" * 500, float("inf")),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """A moment that has passed is no wait; what is neither a number nor a date says nothing."""
    assert retry_after({"retry-after": value}) == seconds


@pytest.mark.parametrize(
    ("ms", "seconds"),
    [("250", 0.25), ("1500.5", 1.5005), ("0", 0.0), ("", 7.0), ("soon", 7.0), ("-1", 7.0), ("9" * 500, float("inf"))],
)
def test_milliseconds_stand_above_seconds(ms: str, seconds: float) -> None:
    """They are the more exact of the two; what is no number of them leaves it to the seconds."""
    assert retry_after({"retry-after-ms": ms, "retry-after": "7"}) == seconds


def test_a_date_to_come_is_waited_for() -> None:
    """A date is turned into seconds from now."""
    soon = datetime.now(UTC) + timedelta(seconds=90)
    wait = retry_after({"retry-after": format_datetime(soon, usegmt=True)})
    assert wait is not None
    assert 85 < wait <= 90


@given(value=st.text(max_size=40))
def test_no_value_of_retry_after_raises(value: str) -> None:
    """Whatever a server writes there, it is a number from 0 up, or nothing."""
    for name in ("retry-after", "retry-after-ms"):
        wait = retry_after({name: value})
        assert wait is None or wait >= 0


@given(status=st.integers(400, 599))
def test_every_status_is_some_fault(status: int) -> None:
    """Faults of the server may pass; those of the request do not, but for four that say so themselves."""
    kind = fault_of_status(status)
    assert kind.may_pass is (status in (408, 409, 425, 429) or (status >= 500 and status != 501))
