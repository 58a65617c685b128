"""The models and moderators on servers that the settings name, on one HTTP client."""

from __future__ import annotations

from functools import cached_property
from secrets import token_hex
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from assistant.config.settings import LONGEST_MODEL_S
from assistant.turns.tracing import prepare_tracing
from assistant.wiring.rankers import access_of
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ServerFault

if TYPE_CHECKING:
    import openai

    from adapters.drafting.model import ModelDrafter
    from adapters.entailment.checker import RemoteChecker
    from adapters.lookups.text_to_sql.writing import StatementWriter
    from adapters.models.access import ModelAccess
    from adapters.models.chat import ChatModel
    from adapters.models.exchange import AskedModel
    from adapters.models.memory import WireMemory
    from adapters.models.speed import ModelSpeed
    from adapters.models.window import ContextWindow
    from adapters.planning.model import ModelPlanner, Strategy
    from assistant.deployment import Deployment
    from contracts.calls import ModelCall
    from contracts.ports import Drafter, Moderator, Planner, SpeculativePlanner

_TRUTHS: Final = {"true": True, "false": False}
"""Of settings that leave it open with a third word, which is `None` here."""


class Servers:
    """The factory of adapters that ask servers; it imports and opens nothing for servers that are not named.

    Args:
        deployed: The deployment to serve.
    """

    def __init__(self, deployed: Deployment) -> None:
        # Before anything is asked: also the doctor's questions are traced where tracing is on.
        prepare_tracing(keep_content=deployed.settings.tracing.content)
        self._deployed = deployed
        self._settings = deployed.settings
        self._provider = deployed.settings.moderation.provider
        self._opened = False
        self._models: list[ChatModel] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened:
            await self._client.aclose()

    @property
    def moderates(self) -> bool:
        """Whether a server moderates messages; a server can be unavailable."""
        return self._provider in ("vllm", "mosec")

    @property
    def slowest_s(self) -> float:
        """Seconds that a model of a node may take at most; 0 without models."""
        models = self._settings.models
        return models.timeout_s if models.planner or models.drafter else 0.0

    def list_resting(self) -> dict[str, float]:
        """Return the models that are left alone for now, by purpose, with the seconds until they are asked again."""
        left = ((str(model.purpose), model.breaker.rests_s) for model in self._models)
        return {purpose: seconds for purpose, seconds in left if seconds > 0}

    def moderator(self) -> Moderator:
        """Return the moderator that the settings name."""
        match self._provider:
            case "off":
                from adapters.moderation.off import NoModerator

                return NoModerator()
            case "vllm":
                from adapters.moderation.vllm import VllmModerator

                return VllmModerator(self._model(self.access_of_moderator(), CallPurpose.MODERATION))
            case "mosec":
                return self._mosec()
            case _:
                from adapters.moderation.rules import RuleModerator

                return RuleModerator()

    def planner(self, otherwise: Planner) -> ModelPlanner | None:
        """Return the planner that asks a model; `None` if no model is named."""
        models = self._settings.models
        if not models.planner:
            return None
        from adapters.planning.model import ModelPlanner

        asked = self._make_model(models.planner, CallPurpose.PLAN, models.plan_tokens)
        return ModelPlanner(asked, self._memory, otherwise, self.strategies())

    def ahead(self, planner: Planner | None) -> SpeculativePlanner | None:
        """Return the planner that starts during moderation; `None` if that is switched off or would save nothing."""
        if planner is None or not self._settings.models.plan_ahead or not self.moderates:
            return None
        from adapters.planning.speculative import PlanAhead

        access = self._access(self._settings.models.planner)
        return PlanAhead(planner, access.model, access.server)

    def drafter(self, otherwise: Drafter) -> ModelDrafter | None:
        """Return the drafter that asks a model; `None` if no model is named."""
        models = self._settings.models
        if not models.drafter:
            return None
        from adapters.drafting.model import ModelDrafter
        from guards.policy_check import contacts_of

        asked = self._make_model(models.drafter, CallPurpose.DRAFT, models.answer_tokens)
        return ModelDrafter(asked, otherwise, contacts_of(self._deployed.profile), self._memory)

    def statement_writer(self, dialect: str) -> StatementWriter | None:
        """Return the writer of SQL by the planner's model; `None` if the profile allows none or no model is named."""
        models, database = self._settings.models, self._deployed.profile.database
        if database.text_to_sql is None or not models.planner:
            return None
        from adapters.lookups.text_to_sql.writing import StatementWriter

        # The source is given up after so long: the statement is to be written, and run, before that.
        left = self._deployed.profile.behaviour.source_seconds - database.seconds - 1
        asked = self._make_model(models.planner, CallPurpose.STATEMENT, models.plan_tokens, most_s=max(1.0, left))
        return StatementWriter(asked, database.text_to_sql, dialect, database.max_rows)

    def entailment(self) -> RemoteChecker | None:
        """Return the checker of whether claims follow from what they cite; `None` if no server is named."""
        settings, models = self._settings.entailment, self._settings.models
        if not settings.url:
            return None
        from adapters.entailment.checker import RemoteChecker

        if settings.shape == "tei":
            from adapters.entailment.nli import NliModel

            return RemoteChecker(NliModel(access_of(self._settings, settings), settings.labels), settings.languages)
        from adapters.entailment.judge import ChatJudge
        from adapters.models.access import ModelAccess

        access = ModelAccess(
            settings.model,
            settings.url,
            settings.key or None,
            timeout_s=settings.timeout_s,
            max_retries=models.retries,
            # Some models take no temperature at all; whoever says so says it of this one, too.
            temperature=None if models.temperature is None else 0.0,
        )
        return RemoteChecker(ChatJudge(self._model(access, CallPurpose.ENTAIL)), settings.languages)

    def strategies(self) -> list[Strategy]:
        """Return the strategies for requesting a plan that the settings allow."""
        from adapters.planning.model import ToolForm, fallback_chain

        form = self._settings.models.tool_form
        chosen = None if form == "probe" else ToolForm(form)
        return fallback_chain(chosen, strict=_TRUTHS.get(self._settings.models.tool_strict))

    def window(self, access: ModelAccess) -> ContextWindow:
        """Return the context window of a model."""
        from adapters.models.window import ContextWindow

        return ContextWindow(access, self._client, self._memory)

    async def try_out(self, access: ModelAccess, *, measures: bool) -> ModelSpeed | None:
        """Ask a model for a word and, to measure its speed, for a row of numbers behind a longer text.

        Raises:
            ServerFault: The model does not answer. An empty reply counts as an answer, because a thinking model has few
                tokens here.
        """
        from langchain_core.messages import HumanMessage

        from adapters.models.chat import Ask
        from adapters.models.retries import deadline_in
        from adapters.models.speed import TRIAL, speed_of

        model = self._model(access, CallPurpose.DRAFT)

        async def ask(text: str, tokens: int) -> ModelCall:
            try:
                reply = await model.ask(Ask([HumanMessage(text)], tokens), deadline_in(access.timeout_s))
            except ServerFault as fault:
                if fault.kind not in (FaultKind.EMPTY, FaultKind.CUT_SHORT):
                    raise
                return fault.calls[-1]
            return reply.made[-1]

        short = await ask("Reply with the word OK.", 16)
        if not measures:
            return None
        # Servers keep what they have read: a text that begins otherwise each time is read anew.
        text = f"{token_hex(4)}\n\n{TRIAL}\n\nReply with the numbers from 1 to 30."
        return speed_of(short, await ask(text, 48))

    async def names(self, access: ModelAccess) -> list[str] | None:
        """Return the models of a server; `None` if it does not list them."""
        from adapters.models.window import list_models

        return await list_models(access, self._client)

    def accesses(self) -> dict[str, ModelAccess]:
        """Return every model that is asked, by purpose."""
        models = self._settings.models
        named = {"planner": models.planner, "drafter": models.drafter}
        found = {part: self._access(model) for part, model in named.items() if model}
        return {**found, "moderation": self.access_of_moderator()} if self._provider == "vllm" else found

    def access_of_moderator(self) -> ModelAccess:
        """Return the access to the moderation model."""
        from adapters.models.access import ModelAccess

        settings = self._settings.moderation
        return ModelAccess(
            settings.vllm_model,
            settings.vllm_url or None,
            settings.vllm_key or None,
            timeout_s=settings.timeout_s,
            max_retries=settings.retries,
        )

    def _access(self, model: str, most_s: float = LONGEST_MODEL_S) -> ModelAccess:
        from adapters.models.access import ModelAccess

        settings = self._settings.models
        return ModelAccess(
            model,
            settings.url or None,
            settings.key or None,
            timeout_s=min(settings.timeout_s, most_s),
            max_retries=settings.retries,
            window=settings.window,
            temperature=settings.temperature,
            parallel_tool_calls=_TRUTHS.get(settings.parallel_tool_calls),
            system_role=settings.system_role,
            extra=settings.extra,
        )

    def _make_model(self, name: str, purpose: CallPurpose, tokens: int, most_s: float = LONGEST_MODEL_S) -> AskedModel:
        from adapters.models.exchange import AskedModel

        access = self._access(name, most_s)
        model = self._model(access, purpose)
        return AskedModel(model, self.window(access), self._deployed.profile, tokens)

    def _mosec(self) -> Moderator:
        from adapters.moderation.mosec import MosecModerator

        settings = self._settings.moderation
        return MosecModerator(
            settings.mosec_address,
            timeout_s=settings.timeout_s,
            max_retries=settings.retries,
            text_field=settings.mosec_text_field,
            type_field=settings.mosec_type_field,
        )

    def _model(self, access: ModelAccess, purpose: CallPurpose) -> ChatModel:
        from adapters.models.breaker import MISSES, CircuitBreaker
        from adapters.models.chat import ChatModel

        # Who is slow for one message is asked about the next: nothing stands in for a moderator or a judge.
        misses = 0 if purpose in (CallPurpose.MODERATION, CallPurpose.ENTAIL) else MISSES
        breaker = CircuitBreaker(misses=misses)
        made = ChatModel(access, purpose, self._client, breaker=breaker, memory=self._memory)
        self._models.append(made)
        return made

    @cached_property
    def _memory(self) -> WireMemory:
        from adapters.models.memory import WireMemory

        return WireMemory(self._deployed.models_file)

    @cached_property
    def _client(self) -> openai.DefaultAsyncHttpxClient:
        import openai

        self._opened = True
        return openai.DefaultAsyncHttpxClient(proxy=self._settings.models.proxy or None)
