"""DT-001: may this message be worked on at all?"""

from __future__ import annotations

from typing import Final

from contracts.decisions.engine import Choice, DecisionTable, HitPolicy, Row, one_of
from contracts.enums import BlockThreshold, GuardMode, ModerationDecision, ModerationState, OnUnavailable

_S, _M, _T, _U = ModerationState, GuardMode, BlockThreshold, OnUnavailable
_ASKED = (_M.ENFORCE, _M.REPORT)

MODERATION: Final = DecisionTable(
    id="DT-001",
    title="Moderation enforcement",
    hit=HitPolicy.UNIQUE,
    columns={
        "state": Choice(tuple(ModerationState)),
        "mode": Choice(_ASKED),
        "block_threshold": Choice(tuple(BlockThreshold)),
        "on_unavailable": Choice(tuple(OnUnavailable)),
    },
    rows=(
        Row(
            "unsafe-enforce",
            {"state": one_of(_S.UNSAFE), "mode": one_of(_M.ENFORCE)},
            ModerationDecision.BLOCK,
            "an unsafe message is refused at once, without planning",
        ),
        Row(
            "unsafe-report",
            {"state": one_of(_S.UNSAFE), "mode": one_of(_M.REPORT)},
            ModerationDecision.CONTINUE,
            "goes on with the moderation context, and DT-002 then refuses",
        ),
        Row(
            "controversial-enforce-strict",
            {
                "state": one_of(_S.CONTROVERSIAL),
                "mode": one_of(_M.ENFORCE),
                "block_threshold": one_of(_T.CONTROVERSIAL),
            },
            ModerationDecision.BLOCK,
            "the deployment stops controversial messages, too",
        ),
        Row(
            "controversial-enforce",
            {"state": one_of(_S.CONTROVERSIAL), "mode": one_of(_M.ENFORCE), "block_threshold": one_of(_T.UNSAFE)},
            ModerationDecision.CONTINUE,
            "goes on with the moderation context",
        ),
        Row(
            "controversial-report",
            {"state": one_of(_S.CONTROVERSIAL), "mode": one_of(_M.REPORT)},
            ModerationDecision.CONTINUE,
            "report never stops a turn by itself",
        ),
        Row("safe", {"state": one_of(_S.SAFE)}, ModerationDecision.CONTINUE, "nothing was found"),
        Row("off", {"state": one_of(_S.OFF)}, ModerationDecision.CONTINUE, "nobody was asked; the level is N/A"),
        Row(
            "unavailable-lenient",
            {"state": one_of(_S.UNAVAILABLE), "on_unavailable": one_of(_U.FALLBACK, _U.OPEN)},
            ModerationDecision.CONTINUE,
            "level N/A, and the result says that moderation was degraded",
        ),
        Row(
            "unavailable-closed-enforce",
            {"state": one_of(_S.UNAVAILABLE), "mode": one_of(_M.ENFORCE), "on_unavailable": one_of(_U.CLOSED)},
            ModerationDecision.BLOCK,
            "the refusal says that the check is unavailable",
        ),
        Row(
            "unavailable-closed-report",
            {"state": one_of(_S.UNAVAILABLE), "mode": one_of(_M.REPORT), "on_unavailable": one_of(_U.CLOSED)},
            ModerationDecision.CONTINUE,
            "report never stops a turn by itself; level N/A, degraded",
        ),
    ),
)
"""`mode` is `enforce` or `report`: where it is `off`, nobody is asked and the state is `off` under either."""
