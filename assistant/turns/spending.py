"""What language models cost today, by caller, and the budgets that end it: the table `model_costs`.

A day is one of UTC. Sums of earlier days are deleted. What an address costs is kept in memory alone, because an address is
personal data: after a restart, its day begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Final

from assistant.turns.thread_table import StoredTable
from assistant.visitors import is_name
from contracts.errors import BudgetSpent

if TYPE_CHECKING:
    from assistant.config.settings import BudgetSettings

_SPENDERS: Final = {
    "day": "all callers together",
    "key": "this API key",
    "visitor": "this visitor",
    "address": "all visitors with this address together",
}
_ALL: Final = "*"
"""In place of a caller's name: all callers together; no name is so written."""


class Spending(StoredTable):
    """Sums by day, caller and currency."""

    made_by: ClassVar[tuple[str, ...]] = (
        (
            "CREATE TABLE IF NOT EXISTS model_costs (day TEXT NOT NULL, who TEXT NOT NULL, amount REAL NOT NULL, "
            "currency TEXT NOT NULL, PRIMARY KEY (day, who, currency)) WITHOUT ROWID"
        ),
    )

    async def add(self, day: str, who: str, amount: float, currency: str) -> None:
        """Add an amount to a caller's day."""
        await self._rows("DELETE FROM model_costs WHERE day < :day", day=day)
        await self._rows(
            """
            INSERT INTO model_costs (day, who, amount, currency) VALUES (:day, :who, :amount, :currency)
            ON CONFLICT (day, who, currency) DO UPDATE SET amount = model_costs.amount + excluded.amount
            """,
            day=day,
            who=who,
            amount=amount,
            currency=currency,
        )

    async def spent(self, day: str, who: str, currency: str) -> float:
        """Return a caller's sum of a day."""
        wanted = "SELECT amount FROM model_costs WHERE day = :day AND who = :who AND currency = :currency"
        rows = await self._rows(wanted, day=day, who=who, currency=currency)
        return float(rows[0][0]) if rows else 0.0

    async def forget(self, who: str) -> int:
        """Delete what is kept of a caller; return how many rows there were."""
        return len(await self._rows("DELETE FROM model_costs WHERE who = :who RETURNING 1", who=who))


class Budget:
    """The budgets of a deployment.

    Args:
        spending: Where sums are kept.
        settings: How much may be spent in a day.
        currency: That of the prices.
        now: The wall clock, with a time zone.
    """

    def __init__(
        self, spending: Spending, settings: BudgetSettings, currency: str, now: Callable[[], datetime]
    ) -> None:
        self._spending = spending
        self._settings = settings
        self._currency = currency
        self._now = now
        self._of_addresses: tuple[str, dict[str, float]] = ("", {})

    async def check(self, caller: str, address: str) -> None:
        """Refuse a question of a caller whose budget of the day is spent.

        Args:
            caller: The caller's name; empty if nobody is told apart.
            address: Of a visitor; empty for everybody else.

        Raises:
            BudgetSpent: The budget of all callers, of this one, or of the caller's address is spent.
        """
        now = self._now().astimezone(UTC)
        day = now.date().isoformat()
        for whose, who, most in self._limits(caller, address):
            if most and await self._spent(day, whose, who) >= most:
                midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
                raise BudgetSpent(
                    f"The language model's budget of the day is spent: {most:g} {self._currency} for {_SPENDERS[whose]}.",
                    f"Ask again after 00:00 UTC, or raise GUARDIAN_BUDGET_{whose.upper()}.",
                    whose=whose,
                    retry_after_s=ceil((midnight - now).total_seconds()),
                )

    async def add(self, caller: str, address: str, amount: float) -> None:
        """Count what requests of a caller cost."""
        day = self._now().astimezone(UTC).date().isoformat()
        for whose, who, _ in self._limits(caller, address):
            if whose == "address":
                sums = self._sums(day)
                sums[who] = sums.get(who, 0.0) + amount
            else:
                await self._spending.add(day, who, amount, self._currency)

    def _limits(self, caller: str, address: str) -> Iterator[tuple[str, str, float]]:
        """Yield whose budgets count for a caller, the name of each, and how much it is; 0 for no bound."""
        yield "day", _ALL, self._settings.day
        if caller:
            visits = is_name(caller)
            yield ("visitor", caller, self._settings.visitor) if visits else ("key", caller, self._settings.key)
        if address:
            yield "address", address, self._settings.address

    async def _spent(self, day: str, whose: str, who: str) -> float:
        return (
            self._sums(day).get(who, 0.0)
            if whose == "address"
            else await self._spending.spent(day, who, self._currency)
        )

    def _sums(self, day: str) -> dict[str, float]:
        if self._of_addresses[0] != day:
            self._of_addresses = (day, {})
        return self._of_addresses[1]
