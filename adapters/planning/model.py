"""The model's planner: one planning exchange, in the most binding form that the server supports, else the offline plan.

    named -> required -> auto -> json_schema -> one repair request -> small -> the offline planner, `degraded`

The planner moves on to the next form if the server refuses one, or if the reply shows that it was ignored. A model that
fills the whole plan in wrongly, and again after the repair request, gets the small form. The planner remembers by model
and endpoint which form worked, and tries that one first from then on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from adapters.models.chat import Reply
from adapters.models.exchange import AskedModel, ModelExchange, history_messages
from adapters.models.memory import WireMemory
from adapters.models.window import Parts
from adapters.planning.form import (
    FilledPlan,
    InvalidPlan,
    flat_schema,
    plan_schema,
    plan_tool,
    read_arguments,
    read_text,
)
from adapters.planning.prompt import repair_request, small_prompt, system_prompt
from adapters.planning.small_form import offered_lookups, read_small, small_form
from contracts.calls import ModelCall
from contracts.decisions.planning import ToolBinding
from contracts.enums import FaultKind
from contracts.errors import PlanningFailed, ServerFault
from contracts.lookups import Lookup
from contracts.plan import PLAN_TOOL
from contracts.ports import Planner, PlanReply, PlanRequest
from language.truncation import bytes_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

NAME: Final = "model"
_MOST_MISSED: Final = 2


class ToolForm(StrEnum):
    """How the call is asked for, most binding first: the strategies in order."""

    NAMED = "named"
    REQUIRED = "required"
    AUTO = "auto"
    JSON_SCHEMA = "json_schema"
    SMALL = "small"
    """JSON again, of few fields; what they leave open is the offline plan's."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way of asking for a plan; `strict` makes the server enforce the schema if it can."""

    form: ToolForm
    strict: bool

    def __str__(self) -> str:
        return f"{self.form} strict" if self.strict else str(self.form)

    def options(self, offered: Sequence[Lookup] = (), *, parallel: bool | None = None) -> dict[str, Any]:
        """Return the options of the request, in addition to the messages.

        Args:
            offered: The lookups that the small form offers.
            parallel: Whether several calls at once are allowed; `None`: it is not said.
        """
        if self.form in (ToolForm.JSON_SCHEMA, ToolForm.SMALL):
            fields = plan_schema() if self.form is ToolForm.JSON_SCHEMA else flat_schema(small_form(offered))
            schema: dict[str, Any] = {"name": PLAN_TOOL, "schema": fields}
            return {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {**schema, "strict": True} if self.strict else schema,
                }
            }
        choice = {
            ToolForm.NAMED: {"type": "function", "function": {"name": PLAN_TOOL}},
            ToolForm.REQUIRED: "required",
        }.get(self.form, "auto")
        options: dict[str, Any] = {"tools": [plan_tool(strict=self.strict)], "tool_choice": choice}
        return options if parallel is None else {**options, "parallel_tool_calls": parallel}


def fallback_chain(form: ToolForm | None = None, *, strict: bool | None = None) -> list[Strategy]:
    """Return the strategies, from the top.

    Args:
        form: The only one to use; `None` for all.
        strict: Whether the schema is enforced; `None` to try it on the first strategy and on the last.
    """
    if strict is not None:
        return [Strategy(each, strict) for each in ([form] if form else ToolForm)]
    if form:
        return [Strategy(form, strict=True), Strategy(form, strict=False)]
    return [
        Strategy(ToolForm.NAMED, strict=True),
        Strategy(ToolForm.NAMED, strict=False),
        Strategy(ToolForm.REQUIRED, strict=False),
        Strategy(ToolForm.AUTO, strict=False),
        Strategy(ToolForm.JSON_SCHEMA, strict=True),
        Strategy(ToolForm.SMALL, strict=True),
    ]


@dataclass(frozen=True, slots=True)
class StrategyProbe:
    """The result of one strategy, for people: `guardian doctor` shows it."""

    strategy: Strategy
    result: str
    works: bool = False


class ModelPlanner:
    """Plans with a language model.

    Args:
        asked: The model.
        memory: Which strategy worked.
        otherwise: The planner to use if the model cannot plan, or if there are no words to ask it about.
        strategies: In order of preference.
    """

    def __init__(
        self, asked: AskedModel, memory: WireMemory, otherwise: Planner, strategies: list[Strategy] | None = None
    ) -> None:
        self._asked = asked
        self._access = asked.model.access
        self._memory = memory
        self._otherwise = otherwise
        self._strategies = strategies or fallback_chain()
        self._missed = 0

    async def plan(self, request: PlanRequest) -> PlanReply:
        """Return the model's plan, or the offline planner's, marked `degraded`.

        Raises:
            PlanningFailed: Neither could plan.
        """
        if not request.message.strip():
            return await self._otherwise.plan(request)
        if request.tool is ToolBinding.UNAVAILABLE:
            reply = await self._otherwise.plan(request)
            degraded = ("plan: DT-003 does not offer the tool", *reply.degraded)
            return PlanReply(reply.plan, reply.trace, degraded, reply.calls)
        exchange = _PlanExchange(self._asked, request, self._otherwise)
        try:
            strategy, filled = await exchange.run(self._order())
        except ServerFault as fault:
            return await self._plan_otherwise(request, fault, exchange.made)
        except PlanningFailed as error:
            # The small form needs the offline plan.
            raise PlanningFailed(error.message, error.way_out, calls=tuple(exchange.made), tried=True) from error
        await self._remember(str(strategy), refused=exchange.refused)
        trace: dict[str, object] = {
            "planner": NAME,
            "model": self._access.model,
            "form": str(strategy),
            "tool": PLAN_TOOL,
            "arguments": filled.plan.model_dump(mode="json"),
            "raw": filled.raw,
            "repaired": list(filled.repaired),
        }
        if exchange.offline and strategy.form is ToolForm.SMALL:
            return PlanReply(filled.plan, trace, exchange.offline.degraded, (*exchange.made, *exchange.offline.calls))
        return PlanReply(filled.plan, trace, calls=tuple(exchange.made))

    async def probe(self, request: PlanRequest) -> list[StrategyProbe]:
        """Try every strategy once, return the result of each, and remember the first that works."""
        tried: list[StrategyProbe] = []
        for strategy in self._strategies:
            # Each form is tried, however late the others were.
            self._asked.model.breaker.settle(None)
            exchange = _PlanExchange(self._asked, request, self._otherwise)
            began = time.monotonic()
            works = False
            try:
                reading = await exchange.reading_of(strategy, await exchange.ask(strategy))
            except ServerFault as fault:
                result = fault.message
            else:
                result = _describe_probe(reading, time.monotonic() - began)
                works = isinstance(reading, FilledPlan)
            tried.append(StrategyProbe(strategy, result, works))
        first = next((str(each.strategy) for each in tried if each.works), None)
        await self._memory.put(self._access, "form", first)
        return tried

    async def _remember(self, form: str, *, refused: bool) -> None:
        """Remember the form that worked; in the place of another one only where that was refused, or failed twice.

        A model that once wrote text instead of a call is not asked for text for ever.
        """
        known = self._memory.get(self._access, "form")
        self._missed = self._missed + 1 if known not in (None, form) else 0
        if known is None or refused or self._missed >= _MOST_MISSED:
            self._missed = 0
            await self._memory.put(self._access, "form", form)

    def _order(self) -> Iterator[Strategy]:
        """Yield the strategy that worked before, then the ladder from its top."""
        known = self._memory.get(self._access, "form")
        first = [strategy for strategy in self._strategies if str(strategy) == known]
        yield from first
        yield from (strategy for strategy in self._strategies if strategy not in first)

    async def _plan_otherwise(self, request: PlanRequest, fault: ServerFault, made: list[ModelCall]) -> PlanReply:
        try:
            reply = await self._otherwise.plan(request)
        except PlanningFailed as error:
            raise PlanningFailed(error.message, error.way_out, calls=tuple(made), tried=True) from fault
        return PlanReply(reply.plan, reply.trace, (f"plan: {fault}", *reply.degraded), (*made, *reply.calls))


class _PlanExchange(ModelExchange):
    """One planning exchange: at most one of its requests asks for a repair."""

    def __init__(self, asked: AskedModel, request: PlanRequest, otherwise: Planner) -> None:
        super().__init__(asked)
        self._request = request
        self._otherwise = otherwise
        self._offered = offered_lookups(asked.profile.lookups, request.sources)
        self._repaired = False
        self.offline: PlanReply | None = None
        self.refused = False

    async def run(self, strategies: Iterator[Strategy]) -> tuple[Strategy, FilledPlan]:
        """Try the strategies in order.

        Raises:
            ServerFault: No strategy gave a plan.
        """
        last: ServerFault | None = None
        whole = True
        for strategy in strategies:
            small = strategy.form is ToolForm.SMALL
            if not (whole or small):
                continue
            try:
                reply = await self.ask(strategy)
            except ServerFault as fault:
                if fault.kind not in _NEXT_RUNG and (small or fault.kind is not FaultKind.TOO_LONG):
                    raise
                self.refused = self.refused or fault.kind is FaultKind.BAD_REQUEST
                # What has no room for the whole form has none for it under another name.
                whole = whole and fault.kind is not FaultKind.TOO_LONG
                last = fault
                continue
            reading = await self.reading_of(strategy, reply)
            if isinstance(reading, InvalidPlan) and not self._repaired:
                reading = await self._repair(strategy, reading)
            if isinstance(reading, FilledPlan):
                return strategy, reading
            last = self._misfilled(reading)
            if small and self._repaired:
                break
            whole = whole and not self._repaired
        raise last or self.asked.fault(FaultKind.NOT_AS_ASKED, "there is no way of asking left")

    def _misfilled(self, reading: InvalidPlan | None) -> ServerFault:
        said = f"the plan could not be used ({'; '.join(reading.faults)})" if reading else "it did not fill in the plan"
        return self.asked.fault(FaultKind.NOT_AS_ASKED, said)

    async def ask(self, strategy: Strategy, repair: str = "") -> Reply:
        """Send one request by one strategy, cut to the window.

        It is sent once more in two cases. If it was too long after all, it is cut by bytes. If the reply used up all
        tokens before any text, as a thinking model's may, the limit of tokens is doubled.
        """
        try:
            return await self._send(strategy, repair, by_bytes=False)
        except ServerFault as fault:
            match fault.kind:
                case FaultKind.TOO_LONG:
                    await self.asked.window.forget()
                case FaultKind.CUT_SHORT if self.tokens == self.asked.max_tokens:
                    self.tokens *= 2
                case _:
                    raise
            return await self._sent_again(strategy, repair, fault)

    async def _sent_again(self, strategy: Strategy, repair: str, before: ServerFault) -> Reply:
        try:
            return await self._send(strategy, repair, by_bytes=before.kind is FaultKind.TOO_LONG)
        except ServerFault as fault:
            # No room for more tokens: what was wrong is still that there were too few.
            raise (before if fault.kind is FaultKind.TOO_LONG else fault) from None

    async def reading_of(self, strategy: Strategy, reply: Reply) -> FilledPlan | InvalidPlan | None:
        """Return the plan in a reply; `None` if it holds no call and no form. The reply's record says which."""
        small = strategy.form is ToolForm.SMALL
        reading = await self._read_small(reply) if small else self._read(reply)
        if not isinstance(reading, FilledPlan):
            kind = FaultKind.CUT_SHORT if reply.cut_short else FaultKind.NOT_AS_ASKED
            self.blame(kind)
        return reading

    def _read(self, reply: Reply) -> FilledPlan | InvalidPlan | None:
        named = [call for call in reply.calls if call.name == PLAN_TOOL]
        distinct = list(dict.fromkeys(call.arguments for call in named))
        if distinct == ["{}"]:
            # Nothing was filled in: the server does not hold a call to its schema, and 0 or null have become this.
            return None
        if len(distinct) == 1:
            reading = read_arguments(distinct[0])
            if isinstance(reading, InvalidPlan) and reply.cut_short:
                self.tokens = 2 * self.asked.max_tokens
                return InvalidPlan(
                    reading.raw, ("the form was longer than there is room for: write less in each field",)
                )
            return reading
        if distinct:
            return InvalidPlan(distinct[0], (f"{PLAN_TOOL} was called {len(distinct)} times with different arguments",))
        if reply.calls:
            other = reply.calls[0]
            return InvalidPlan(other.arguments, (f"the function is called {PLAN_TOOL}, not {other.name[:60]!r}",))
        return read_text(reply.text)

    async def _read_small(self, reply: Reply) -> FilledPlan | InvalidPlan | None:
        self.offline = self.offline or await self._otherwise.plan(self._request)
        return read_small(reply.text, self._offered, self.offline.plan)

    async def _repair(self, strategy: Strategy, misfilled: InvalidPlan) -> FilledPlan | InvalidPlan | None:
        self._repaired = True
        return await self.reading_of(
            strategy, await self.ask(strategy, repair_request(misfilled.raw, misfilled.faults))
        )

    async def _send(self, strategy: Strategy, repair: str, *, by_bytes: bool) -> Reply:
        asked, request = self.asked, self._request
        options = strategy.options(self._offered, parallel=asked.model.access.parallel_tool_calls)
        system = self._system_prompt(strategy.form)
        # The schema is part of the prompt in every form: servers write it out for the model.
        fixed = bytes_of(system) + bytes_of(repair) + bytes_of(str(options))
        parts = Parts(fixed, request.message, request.history)

        def messages(fitting: Parts) -> list[BaseMessage]:
            return _messages(system, fitting, repair)

        return await self.send(parts, messages, form=str(strategy), options=lambda: options, by_bytes=by_bytes)

    def _system_prompt(self, form: ToolForm) -> str:
        profile, request = self.asked.profile, self._request
        if form is ToolForm.SMALL:
            return small_prompt(profile.product, self._offered)
        return system_prompt(
            profile,
            request.moderation,
            sources=request.sources,
            clarifications=request.clarifications,
            with_form=form is ToolForm.JSON_SCHEMA,
        )


_NEXT_RUNG: Final = (FaultKind.BAD_REQUEST, FaultKind.EMPTY, FaultKind.NOT_AS_ASKED)
"""What may be the form's fault. A wrong key, a missing model or a busy server would answer every form alike."""


def _describe_probe(reading: FilledPlan | InvalidPlan | None, seconds: float) -> str:
    match reading:
        case FilledPlan():
            return f"works, {seconds:.1f} s"
        case InvalidPlan():
            return f"filled in wrongly: {reading.faults[0]}"
        case None:
            return "ignored"


def _messages(system: str, parts: Parts, repair: str) -> list[BaseMessage]:
    from langchain_core.messages import HumanMessage, SystemMessage

    asked = [HumanMessage(parts.question), *([HumanMessage(repair)] if repair else [])]
    return [SystemMessage(system), *history_messages(parts.history), *asked]
