"""DT-001: may Guardian process this message?"""

from __future__ import annotations

from typing import Final

from contracts.decisions.engine import ChoiceColumn, DecisionRow, DecisionTable, HitPolicy, one_of
from contracts.enums import BlockThreshold, GuardMode, ModerationDecision, ModerationState, OnUnavailable

_S, _M, _T, _U = ModerationState, GuardMode, BlockThreshold, OnUnavailable
_ASKED = (_M.ENFORCE, _M.REPORT)

MODERATION: Final = DecisionTable(
    id="DT-001",
    title="Moderation enforcement",
    hit=HitPolicy.UNIQUE,
    columns={
        "state": ChoiceColumn(tuple(ModerationState)),
        "mode": ChoiceColumn(_ASKED),
        "block_threshold": ChoiceColumn(tuple(BlockThreshold)),
        "on_unavailable": ChoiceColumn(tuple(OnUnavailable)),
    },
    rows=(
        DecisionRow(
            "unsafe-enforce",
            {"state": one_of(_S.UNSAFE), "mode": one_of(_M.ENFORCE)},
            ModerationDecision.BLOCK,
            "an unsafe message is refused at once, without planning",
        ),
        DecisionRow(
            "unsafe-report",
            {"state": one_of(_S.UNSAFE), "mode": one_of(_M.REPORT)},
            ModerationDecision.CONTINUE,
            "goes on with the moderation context, and DT-002 then refuses",
        ),
        DecisionRow(
            "controversial-enforce-strict",
            {
                "state": one_of(_S.CONTROVERSIAL),
                "mode": one_of(_M.ENFORCE),
                "block_threshold": one_of(_T.CONTROVERSIAL),
            },
            ModerationDecision.BLOCK,
            "the deployment stops controversial messages, too",
        ),
        DecisionRow(
            "controversial-enforce",
            {"state": one_of(_S.CONTROVERSIAL), "mode": one_of(_M.ENFORCE), "block_threshold": one_of(_T.UNSAFE)},
            ModerationDecision.CONTINUE,
            "goes on with the moderation context",
        ),
        DecisionRow(
            "controversial-report",
            {"state": one_of(_S.CONTROVERSIAL), "mode": one_of(_M.REPORT)},
            ModerationDecision.CONTINUE,
            "report never stops a turn by itself",
        ),
        DecisionRow("safe", {"state": one_of(_S.SAFE)}, ModerationDecision.CONTINUE, "nothing was found"),
        DecisionRow(
            "off", {"state": one_of(_S.OFF)}, ModerationDecision.CONTINUE, "nobody was asked; the level is N/A"
        ),
        DecisionRow(
            "unavailable-lenient",
            {"state": one_of(_S.UNAVAILABLE), "on_unavailable": one_of(_U.FALLBACK, _U.OPEN)},
            ModerationDecision.CONTINUE,
            "level N/A, and the result says that moderation was degraded",
        ),
        DecisionRow(
            "unavailable-closed-enforce",
            {"state": one_of(_S.UNAVAILABLE), "mode": one_of(_M.ENFORCE), "on_unavailable": one_of(_U.CLOSED)},
            ModerationDecision.BLOCK,
            "the refusal says that the check is unavailable",
        ),
        DecisionRow(
            "unavailable-closed-report",
            {"state": one_of(_S.UNAVAILABLE), "mode": one_of(_M.REPORT), "on_unavailable": one_of(_U.CLOSED)},
            ModerationDecision.CONTINUE,
            "report never stops a turn by itself; level N/A, degraded",
        ),
    ),
)
"""`mode` is `enforce` or `report`: where it is `off`, nobody is asked and the state is `off` under either."""
