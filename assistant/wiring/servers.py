"""The models and moderators behind servers, as the settings name them, on one HTTP client."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from assistant.config.model_settings import LONGEST_TIMEOUT_S, ModelSettings
from assistant.turns.tracing import prepare_tracing
from assistant.wiring.rankers import access_of
from contracts.enums import CallPurpose, FaultKind
from contracts.errors import ServerFault

if TYPE_CHECKING:
    import openai

    from adapters.entailment.checker import RemoteChecker
    from adapters.lookups.text_to_sql.writing import StatementWriter
    from adapters.models.access import ModelAccess
    from adapters.models.chat import ChatModel
    from adapters.models.exchange import AskedModel
    from adapters.models.memory import WireMemory
    from adapters.models.window import Window
    from adapters.planning.model import ModelPlanner, Strategy
    from assistant.deployment import Deployment
    from contracts.ports import Drafter, Moderator, Planner, SpeculativePlanner


class Servers:
    """Makes the adapters that ask servers; nothing is imported or opened for those that are not named.

    Args:
        deployed: What is served.
    """

    def __init__(self, deployed: Deployment) -> None:
        # Before anything is asked: also the doctor's questions are traced where tracing is on.
        prepare_tracing(keep_content=deployed.settings.trace_content)
        self._deployed = deployed
        self._settings: ModelSettings = deployed.settings.models
        self._provider = deployed.settings.guard_provider
        self._opened = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened:
            await self._client.aclose()

    @property
    def moderates(self) -> bool:
        """Whether messages are moderated by a server, which can be unavailable."""
        return self._provider in ("vllm", "mosec")

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
        """Return the model's planner; `None` where no model is named."""
        if not self._settings.planner:
            return None
        from adapters.planning.model import ModelPlanner

        asked = self._make_model(self._settings.planner, CallPurpose.PLAN, "GUARDIAN_PLAN_TOKENS")
        return ModelPlanner(asked, self._memory, otherwise, self.rungs())

    def ahead(self, planner: Planner | None) -> SpeculativePlanner | None:
        """Return the planner that begins beside moderation; `None` where that is not wanted, or would save nothing."""
        if planner is None or not self._deployed.settings.plan_ahead or not self.moderates:
            return None
        from adapters.planning.speculative import PlanAhead

        access = self._access(self._settings.planner)
        return PlanAhead(planner, access.model, access.server)

    def drafter(self, otherwise: Drafter) -> Drafter | None:
        """Return the model's drafter; `None` where no model is named."""
        if not self._settings.drafter:
            return None
        from adapters.drafting.model import ModelDrafter

        asked = self._make_model(self._settings.drafter, CallPurpose.DRAFT, "GUARDIAN_ANSWER_TOKENS")
        return ModelDrafter(asked, otherwise)

    def statement_writer(self, dialect: str) -> StatementWriter | None:
        """Return who has the planner's model write SQL; `None` where the profile lets none, or no model is named."""
        database = self._deployed.profile.database
        if database.text_to_sql is None or not self._settings.planner:
            return None
        from adapters.lookups.text_to_sql.writing import StatementWriter

        # The source is given up after so long: the statement is to be written, and run, before that.
        left = self._deployed.profile.behaviour.source_seconds - database.seconds - 1
        asked = self._make_model(
            self._settings.planner, CallPurpose.STATEMENT, "GUARDIAN_PLAN_TOKENS", most_s=max(1.0, left)
        )
        return StatementWriter(asked, database.text_to_sql, dialect, database.max_rows)

    def entailment(self) -> RemoteChecker | None:
        """Return who tells whether claims follow from what they cite; `None` where no server is named."""
        settings = self._settings
        if not settings.value["GUARDIAN_ENTAIL_URL"]:
            return None
        from adapters.entailment.checker import RemoteChecker

        languages = settings.languages("GUARDIAN_ENTAIL_LANGUAGES")
        if settings.value["GUARDIAN_ENTAIL_SHAPE"] == "tei":
            from adapters.entailment.nli import NliModel

            return RemoteChecker(
                NliModel(access_of(settings, "GUARDIAN_ENTAIL"), settings.entailment_labels), languages
            )
        from adapters.entailment.judge import ChatJudge

        access = self._make_access(
            model=settings.value["GUARDIAN_ENTAIL_MODEL"],
            base_url=settings.address("GUARDIAN_ENTAIL_URL"),
            api_key=settings.value["GUARDIAN_ENTAIL_KEY"],
            timeout_s=settings.number("GUARDIAN_ENTAIL_TIMEOUT"),
            max_retries=settings.whole("GUARDIAN_MODEL_RETRIES"),
            # Some models take no temperature at all; whoever says so says it of this one, too.
            temperature=None if settings.temperature is None else 0.0,
        )
        return RemoteChecker(ChatJudge(self._model(access, CallPurpose.ENTAIL)), languages)

    def rungs(self) -> list[Strategy]:
        """Return the ways of asking for a plan that the settings allow."""
        from adapters.planning.model import ToolForm, fallback_chain

        form = self._settings.value["GUARDIAN_TOOL_FORM"]
        chosen = None if form == "probe" else ToolForm(form)
        return fallback_chain(chosen, strict=self._settings.yes_no_or_none("GUARDIAN_TOOL_STRICT"))

    def window(self, access: ModelAccess) -> Window:
        """Return how much a model takes."""
        from adapters.models.window import Window

        return Window(access, self._client, self._memory)

    async def ping(self, access: ModelAccess) -> None:
        """Ask a model for one word.

        Raises:
            ServerFault: It does not answer. A reply without a word is an answer: a thinking model has few tokens here.
        """
        from langchain_core.messages import HumanMessage

        from adapters.models.chat import Ask
        from adapters.models.retries import deadline_in

        model = self._model(access, CallPurpose.DRAFT)
        ask = Ask([HumanMessage("Reply with the word OK.")], max_tokens=16)
        try:
            await model.ask(ask, deadline_in(access.timeout_s))
        except ServerFault as fault:
            if fault.kind not in (FaultKind.EMPTY, FaultKind.CUT_SHORT):
                raise

    async def names(self, access: ModelAccess) -> list[str] | None:
        """Return the models that a server has; `None` where it does not say."""
        from adapters.models.window import list_models

        return await list_models(access, self._client)

    def accesses(self) -> dict[str, ModelAccess]:
        """Return every model that is asked, by what it is asked for."""
        named = {"planner": self._settings.planner, "drafter": self._settings.drafter}
        found = {part: self._access(model) for part, model in named.items() if model}
        return {**found, "moderation": self.access_of_moderator()} if self._provider == "vllm" else found

    def access_of_moderator(self) -> ModelAccess:
        """Return what asking the moderation model takes."""
        value = self._settings.value
        return self._make_access(
            model=value["GUARD_VLLM_MODEL"],
            base_url=self._settings.address("GUARD_VLLM_URL"),
            api_key=value["GUARD_VLLM_API_KEY"],
            timeout_s=self._settings.number("GUARD_TIMEOUT"),
            max_retries=self._settings.whole("GUARD_MAX_RETRIES"),
        )

    def _access(self, model: str, most_s: float = LONGEST_TIMEOUT_S) -> ModelAccess:
        settings = self._settings
        return self._make_access(
            model=model,
            base_url=settings.address("OPENAI_BASE_URL"),
            api_key=settings.value["OPENAI_API_KEY"],
            timeout_s=min(settings.number("GUARDIAN_MODEL_TIMEOUT"), most_s),
            max_retries=settings.whole("GUARDIAN_MODEL_RETRIES"),
            window=settings.whole("GUARDIAN_MODEL_WINDOW"),
            temperature=settings.temperature,
            parallel_tool_calls=settings.yes_no_or_none("GUARDIAN_PARALLEL_TOOL_CALLS"),
            system_role=settings.value["GUARDIAN_SYSTEM_ROLE"],
            extra=settings.extra(),
        )

    def _make_access(self, *, api_key: str, **fields: Any) -> ModelAccess:
        from pydantic import SecretStr

        from adapters.models.access import ModelAccess

        return ModelAccess(api_key=SecretStr(api_key) if api_key else None, **fields)

    def _make_model(
        self, name: str, purpose: CallPurpose, tokens: str, most_s: float = LONGEST_TIMEOUT_S
    ) -> AskedModel:
        from adapters.models.exchange import AskedModel

        access = self._access(name, most_s)
        model = self._model(access, purpose)
        return AskedModel(model, self.window(access), self._deployed.profile, self._settings.whole(tokens))

    def _mosec(self) -> Moderator:
        from adapters.moderation.mosec import MosecModerator

        value = self._settings.value
        return MosecModerator(
            self._settings.mosec_address,
            timeout_s=self._settings.number("GUARD_TIMEOUT"),
            max_retries=self._settings.whole("GUARD_MAX_RETRIES"),
            text_field=value["GUARD_MOSEC_TEXT_FIELD"],
            type_field=value["GUARD_MOSEC_TYPE_FIELD"],
        )

    def _model(self, access: ModelAccess, purpose: CallPurpose) -> ChatModel:
        from adapters.models.chat import ChatModel

        return ChatModel(access, purpose, self._client)

    @cached_property
    def _memory(self) -> WireMemory:
        from adapters.models.memory import WireMemory

        return WireMemory(self._deployed.models_file)

    @cached_property
    def _client(self) -> openai.DefaultAsyncHttpxClient:
        import openai

        self._opened = True
        return openai.DefaultAsyncHttpxClient(proxy=self._settings.address("OPENAI_PROXY"))
