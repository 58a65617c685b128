"""The digest of a period: how much was asked, how it ended, about what, and which pages were used or are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict

from assistant.review.records import ReviewQuery, TurnRecord, stored_time
from assistant.review.topics import MOST_QUESTIONS, count_stems, group_questions, name_topic
from assistant.turns.feedback import Rating
from contracts.enums import Outcome

if TYPE_CHECKING:
    from adapters.index.ranking.embedder import Embedder
    from assistant.review.desk import ReviewDesk

_UNANSWERED: Final = (Outcome.PAGES_SHOWN, Outcome.DECLINED, Outcome.HANDED_OFF, Outcome.ERROR)
"""Ends at which the user is left without an answer; one who was asked back may still get it."""
_TOPICS: Final = 15
_PAGES: Final = 10
_EXAMPLES: Final = 3
_LONGEST_EXAMPLE: Final = 160


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Topic(_Part):
    """Questions about the same.

    Attributes:
        name: Their commonest words.
        unanswered: How many of them were not answered.
        examples: Some of them, masked.
        pages: The pages that their answers cite or that were shown, the commonest first.
    """

    name: str
    count: int
    unanswered: int
    examples: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()

    @property
    def is_gap(self) -> bool:
        """Whether most of several questions were not answered."""
        return self.count > 1 and self.unanswered * 2 > self.count


class PageUse(_Part):
    """How many answers cite a page, and how many of these were rated bad."""

    page: str
    cited: int
    down: int


class Digest(_Part):
    """What happened in a period.

    Attributes:
        since, until: ISO 8601, UTC; `until` is empty for a period that ends now.
        outcomes: How many turns ended how; `unfinished` for those that did not.
        days: How many turns began on each day, by its date.
        costs: What language models cost on each day, by currency and date; days without a known cost are left out.
        topics: Those with unanswered questions, the most unanswered first.
        gaps: Topics most of whose questions were not answered.
        by: What put questions together: `meaning` or `words`.
        why: Why it was words although there is a model; else empty.
        compared: How many questions were put together: the newest ones.
    """

    since: str
    until: str
    turns: int
    callers: int
    conversations: int
    outcomes: Mapping[str, int]
    days: Mapping[str, int]
    costs: Mapping[str, Mapping[str, float]]
    good: int
    bad: int
    topics: tuple[Topic, ...]
    gaps: tuple[Topic, ...]
    cited: tuple[PageUse, ...]
    down_rated: tuple[PageUse, ...]
    by: str
    why: str
    compared: int

    def share(self, outcome: str) -> float:
        """Return the share of all turns that ended so, 0 to 1."""
        return self.outcomes.get(outcome, 0) / self.turns if self.turns else 0.0


async def make_digest(desk: ReviewDesk, query: ReviewQuery, who: str, embedder: Embedder | None) -> Digest:
    """Return the digest of a query's period; the look is recorded."""
    await desk.record_look(who, f"report {query.describe()}")
    records: list[TurnRecord] = []
    pages: list[tuple[str, ...]] = []
    async with aclosing(desk.all(query)) as found:
        async for record in found:
            records.append(record.model_copy(update={"answer": ""}))
            used = record.outcome in (Outcome.ANSWERED, Outcome.PAGES_SHOWN)
            pages.append(await desk.pages_of(record) if used else ())
    return await sum_up(query, records, pages, embedder)


def _costs(records: Iterable[TurnRecord]) -> dict[str, dict[str, float]]:
    sums: dict[str, dict[str, float]] = {}
    for record in sorted(records, key=lambda one: one.when):
        if record.cost is not None:
            of_days = sums.setdefault(record.currency, {})
            of_days[record.when[:10]] = of_days.get(record.when[:10], 0.0) + record.cost
    return sums


async def sum_up(
    query: ReviewQuery, records: Sequence[TurnRecord], pages: Sequence[tuple[str, ...]], embedder: Embedder | None
) -> Digest:
    """Return the digest of turns.

    Args:
        query: Its period.
        records: The turns, the newest first.
        pages: For each turn the pages that its answer cites or that it shows.
        embedder: Puts questions together; `None` for their words.
    """
    topics, by, why = await _topics(records, pages, embedder)
    uses = _uses(records, pages)
    return Digest(
        since=stored_time(query.since),
        until=stored_time(query.until),
        turns=len(records),
        callers=len({record.caller for record in records}),
        conversations=len({record.thread for record in records}),
        outcomes=Counter(str(record.outcome or "unfinished") for record in records),
        days=dict(sorted(Counter(record.when[:10] for record in records).items())),
        costs=_costs(records),
        good=sum(record.rating is Rating.UP for record in records),
        bad=sum(record.rating is Rating.DOWN for record in records),
        topics=tuple(sorted(filter(_has_unanswered, topics), key=_by_unanswered)[:_TOPICS]),
        gaps=tuple(topic for topic in sorted(topics, key=_by_unanswered) if topic.is_gap)[:_TOPICS],
        cited=tuple(sorted(uses, key=lambda use: (-use.cited, use.page))[:_PAGES]),
        down_rated=tuple(sorted((use for use in uses if use.down), key=lambda use: (-use.down, use.page))[:_PAGES]),
        by=by,
        why=why,
        compared=min(len(records), MOST_QUESTIONS),
    )


def _has_unanswered(topic: Topic) -> bool:
    return topic.unanswered > 0


def _by_unanswered(topic: Topic) -> tuple[int, int, str]:
    return -topic.unanswered, -topic.count, topic.name


async def _topics(
    records: Sequence[TurnRecord], pages: Sequence[tuple[str, ...]], embedder: Embedder | None
) -> tuple[list[Topic], str, str]:
    asked = [record.question for record in records[:MOST_QUESTIONS]]
    grouping = await group_questions(asked, embedder)
    seen = count_stems(asked)
    topics: list[Topic] = []
    for group in grouping.groups:
        mine = [records[place] for place in group]
        named = Counter(page for place in group for page in pages[place])
        examples = dict.fromkeys(" ".join(record.question.split())[:_LONGEST_EXAMPLE] for record in mine)
        topics.append(
            Topic(
                name=name_topic([record.question for record in mine], seen),
                count=len(mine),
                unanswered=sum(record.outcome in _UNANSWERED for record in mine),
                examples=tuple(filter(None, examples))[:_EXAMPLES],
                pages=tuple(page for page, _ in named.most_common(_EXAMPLES)),
            )
        )
    return topics, grouping.by, grouping.why


def _uses(records: Iterable[TurnRecord], pages: Iterable[tuple[str, ...]]) -> list[PageUse]:
    cited: Counter[str] = Counter()
    down: Counter[str] = Counter()
    for record, used in zip(records, pages, strict=True):
        if record.outcome is Outcome.ANSWERED:
            cited.update(used)
            down.update(used if record.rating is Rating.DOWN else ())
    return [PageUse(page=page, cited=count, down=down[page]) for page, count in cited.items()]
