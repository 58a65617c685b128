"""A profile: everything that is specific to one deployment, in one TOML file."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, field_validator, model_validator

from contracts.context import Threshold
from contracts.enums import (
    BlockThreshold,
    Dialect,
    Diversity,
    DraftBy,
    EntailmentMode,
    EvidenceCounted,
    GuardMode,
    Language,
    OnUnavailable,
    PlanTrace,
    RequestType,
    RequiredAction,
    SearchBy,
    Source,
    Tickets,
    Track,
)
from contracts.lookups import LocalText, Lookup, check_different
from contracts.prices import Prices
from contracts.spec import ArchitectSpec, pattern_fault


def _regular_expression(text: str) -> str:
    if fault := pattern_fault(text):
        raise ValueError(fault)
    return text


Pattern = Annotated[str, AfterValidator(_regular_expression)]
Limit = Annotated[Threshold, Strict()]
"""A threshold as a file states it: `"0.5"` and `true` are slips, not numbers."""


class _ProfilePart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KnowledgeFolder(_ProfilePart):
    """A folder of documents, relative to the profile's file, with its kind of source and its Markdown dialect.

    `variables` are the values of `{{ name }}` in a dialect that has variables. With `uploads`, operators may put files
    into the folder from the page Documents.
    """

    path: str
    source: Source = Source.DOC
    version: str | None = None
    uploads: Annotated[bool, Strict()] = False
    dialect: Dialect = Dialect.PLAIN
    variables: dict[str, str] = Field(default_factory=dict[str, str])

    @field_validator("source")
    @classmethod
    def _only_documents(cls, source: Source) -> Source:
        if source not in (Source.DOC, Source.POLICY):
            raise ValueError("a folder of documents is `doc` or `policy`")
        return source


class Thresholds(_ProfilePart):
    """Overrides of a run's default thresholds; `contracts/context.py` defines each."""

    spam: Limit = 0.7
    confidence: Limit = 0.6
    evidence: Limit = 0.5
    mean_confidence_enforced: Limit = 0.60
    mean_confidence_advised: Limit = 0.65
    sure_confidence: Limit = 0.85
    sure_relevance: Limit = 0.7
    norm_midpoint: Limit = 0.12
    """The normalised score at which confidence is one half (docs/evaluation.md)."""


class Behaviour(_ProfilePart):
    """Defaults of the run settings other than thresholds."""

    guard_mode: GuardMode = GuardMode.ENFORCE
    block_threshold: BlockThreshold = BlockThreshold.UNSAFE
    on_unavailable: OnUnavailable = OnUnavailable.FALLBACK
    knowledge_track: Track = Track.QUALITY
    evidence_counted: EvidenceCounted = EvidenceCounted.CITED
    diversity: Diversity = Diversity.ADVISORY
    max_retry: Annotated[int, Strict(), Field(ge=0, le=5)] = 2
    quoting_draft: Annotated[bool, Strict()] = True
    tickets: Tickets = Tickets.NEEDED
    min_evidence: Annotated[int, Strict(), Field(ge=1, le=10)] = 2
    max_clarifications: Annotated[int, Strict(), Field(ge=0, le=10)] = 2
    top_k: Annotated[int, Strict(), Field(ge=1, le=50)] = 8
    source_seconds: Annotated[float, Strict(), Field(gt=0, le=90, allow_inf_nan=False)] = 30.0
    plan_trace: PlanTrace = PlanTrace.SYNTHETIC
    search_by: SearchBy = SearchBy.PLAN
    draft_by: DraftBy = DraftBy.WRITE
    entailment: EntailmentMode = EntailmentMode.ADVISORY


def _ends_a_turn(action: RequiredAction) -> RequiredAction:
    allowed = (RequiredAction.SAFE_REFUSAL, RequiredAction.REDACT_SENSITIVE, RequiredAction.ESCALATE_TO_HUMAN)
    if action not in allowed:
        raise ValueError(f"a policy rule ends the turn with one of {', '.join(allowed)}")
    return action


RuleAction = Annotated[RequiredAction, AfterValidator(_ends_a_turn)]
"""What a violated rule of the policy has for a consequence."""


class Role(_ProfilePart):
    """The rights of one role: kinds of sources, request types, and the view of a turn (DT-004).

    Attributes:
        operator_view: Whether the role sees plan, evidence, report and decisions, not only the answer.
    """

    sources: tuple[Source, ...] = tuple(Source)
    request_types: tuple[RequestType, ...] = tuple(RequestType)
    operator_view: Annotated[bool, Strict()] = False


class PolicyRule(_ProfilePart):
    """A forbidden topic: if its pattern or one of its words matches, a request is denied and a draft fails.

    Attributes:
        pattern: A regular expression over the message.
        words: Words or phrases, matched in any word form.
        except_roles: Roles that may still ask.
    """

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    pattern: Pattern | None = None
    words: tuple[str, ...] = ()
    except_roles: tuple[str, ...] = ()
    action: RuleAction = RequiredAction.SAFE_REFUSAL

    @model_validator(mode="after")
    def _forbids_something(self) -> Self:
        if self.pattern is None and not self.words:
            raise ValueError("a policy rule needs a pattern or words")
        return self


class AnswerRule(_ProfilePart):
    """The consequence for a draft that breaks one rule, and the roles that may read such values."""

    action: RuleAction
    except_roles: tuple[str, ...] = ()


class AnswerPolicy(_ProfilePart):
    """What no answer may say, one rule for each kind.

    Attributes:
        secrets: Keys, tokens, passwords as values, private keys, connection strings.
        personal_data: E-mail addresses, phone and card numbers, Russian passports, SNILS and INN.
        foreign_links: Links outside `allowed_link_domains`.
        low_ids: Articles with a number below `kb_ids_from`.
        contacts: E-mail addresses and phone numbers that answers may say, in addition to those in `contact`.
    """

    secrets: AnswerRule = AnswerRule(action=RequiredAction.REDACT_SENSITIVE)
    personal_data: AnswerRule = AnswerRule(action=RequiredAction.REDACT_SENSITIVE)
    foreign_links: AnswerRule = AnswerRule(action=RequiredAction.SAFE_REFUSAL)
    low_ids: AnswerRule = AnswerRule(action=RequiredAction.SAFE_REFUSAL)
    contacts: tuple[str, ...] = ()


class Scope(_ProfilePart):
    """What the assistant is for."""

    description: LocalText
    words: tuple[str, ...] = ()
    """Words that put a message in scope wherever they occur, in any word form."""


_SQL_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]{0,62}"


class AskedColumn(_ProfilePart):
    """A column that a model's SQL may read: its content and, if they are few, its possible values."""

    name: str = Field(pattern=f"^{_SQL_NAME}$")
    about: LocalText
    values: tuple[str, ...] = ()


class AskedTable(_ProfilePart):
    """A table or view that a model's SQL may read, `name` or `schema.name`, and its columns; it may read no others."""

    name: str = Field(pattern=rf"^(?:{_SQL_NAME}\.)?{_SQL_NAME}$")
    about: LocalText
    columns: Annotated[tuple[AskedColumn, ...], Field(min_length=1)]

    @field_validator("columns")
    @classmethod
    def _column_names_differ(cls, columns: tuple[AskedColumn, ...]) -> tuple[AskedColumn, ...]:
        check_different("column", (column.name.lower() for column in columns))
        return columns


class TextToSql(_ProfilePart):
    """What a language model may query in the database with its own SQL, if no lookup fits.

    `functions` may be called in addition to the built-in ones.
    """

    tables: Annotated[tuple[AskedTable, ...], Field(min_length=1)]
    functions: tuple[Annotated[str, Field(pattern=f"^{_SQL_NAME}$")], ...] = ()

    @field_validator("tables")
    @classmethod
    def _table_names_differ(cls, tables: tuple[AskedTable, ...]) -> tuple[AskedTable, ...]:
        check_different("table", (table.name.rpartition(".")[2].lower() for table in tables))
        return tables

    def missing_in(self, language: Language) -> str:
        """Return the first table or column without a sentence in a language; empty if each has one."""
        for table in self.tables:
            for name, about in ((table.name, table.about), *((c.name, c.about) for c in table.columns)):
                if not about.get(language, "").strip():
                    return name if name == table.name else f"{table.name}.{name}"
        return ""


class Database(_ProfilePart):
    """The limits of one statement on a database; a setting holds the database's address.

    `text_to_sql` lets a language model write statements; without it, no model does.
    """

    max_rows: Annotated[int, Strict(), Field(ge=1, le=1000)] = 50
    max_bytes: Annotated[int, Strict(), Field(ge=1000, le=5_000_000)] = 50_000
    seconds: Annotated[float, Strict(), Field(gt=0, le=60, allow_inf_nan=False)] = 5.0
    text_to_sql: TextToSql | None = None


SynonymGroup = Annotated[tuple[str, ...], Field(min_length=2)]
"""Words that mean the same; the documents use the first. A retry asks again in the documents' words."""


Examples = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=200)], ...], Field(max_length=6)]
"""Questions of one language that a welcome shows."""


class Profile(_ProfilePart):
    """The profile of one deployment. Unknown keys are errors, so a misspelt key never means a silent default."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")
    product: str = Field(min_length=1, max_length=80)
    contact: LocalText = Field(default_factory=dict[Language, str])
    languages: tuple[Language, ...] = (Language.EN, Language.RU)
    examples: dict[Language, Examples] = Field(default_factory=dict[Language, Examples])
    scope: Scope
    knowledge: tuple[KnowledgeFolder, ...] = ()
    default_version: str | None = None
    kb_ids_from: Annotated[int, Strict(), Field(ge=0)] | None = None
    allowed_link_domains: tuple[str, ...] = ()
    roles: dict[str, Role] = Field(default_factory=lambda: {"user": Role(), "operator": Role(operator_view=True)})
    users: dict[str, str] = Field(default_factory=dict[str, str])
    thresholds: Thresholds = Thresholds()
    behaviour: Behaviour = Behaviour()
    contracts: dict[RequestType, ArchitectSpec] = Field(default_factory=dict[RequestType, ArchitectSpec])
    policy: tuple[PolicyRule, ...] = ()
    answer_policy: AnswerPolicy = AnswerPolicy()
    synonyms: tuple[SynonymGroup, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    database: Database = Database()
    prices: Prices = Prices()

    @field_validator("lookups")
    @classmethod
    def _lookup_names_differ(cls, lookups: tuple[Lookup, ...]) -> tuple[Lookup, ...]:
        check_different("lookup", (lookup.name for lookup in lookups))
        return lookups

    @model_validator(mode="after")
    def _speaks_its_languages(self) -> Self:
        if not self.languages:
            raise ValueError("languages: name at least one of en, ru")
        if missing := [str(lang) for lang in self.languages if lang not in self.scope.description]:
            raise ValueError(f"scope.description has no text in {', '.join(missing)}")
        for lookup in self.lookups:
            if missing := [str(lang) for lang in self.languages if lang not in lookup.languages()]:
                raise ValueError(
                    f"lookups.{lookup.name}: title, answers, row or none is missing in {', '.join(missing)}"
                )
        return self

    @model_validator(mode="after")
    def _gives_users_its_roles(self) -> Self:
        for user, role in self.users.items():
            if role not in self.roles:
                raise ValueError(f"users.{user}: there is no role {role!r}")
        return self

    @model_validator(mode="after")
    def _says_what_sql_may_read(self) -> Self:
        asked = self.database.text_to_sql
        for language in self.languages if asked else ():
            if asked and (missing := asked.missing_in(language)):
                raise ValueError(f"database.text_to_sql: about of {missing} is missing in {language}")
        return self

    def sources_for(self, role: str) -> frozenset[Source]:
        """Return the kinds of sources that a role may use; an unknown role may use none."""
        return frozenset(self.roles[role].sources) if role in self.roles else frozenset()

    def sees_all(self, role: str) -> bool:
        """Return whether a role has the operator's view of a turn; a role that the profile does not name has not."""
        return role in self.roles and self.roles[role].operator_view

    def lookups_of(self, source: Source) -> tuple[Lookup, ...]:
        """Return the lookups of one kind of source."""
        return tuple(lookup for lookup in self.lookups if lookup.source is source)

    def spec_for(self, request_type: RequestType) -> ArchitectSpec:
        """Return the contract of a request type; if the profile has none, one without requirements."""
        return self.contracts.get(request_type, ArchitectSpec())


UNNAMED: Final = Profile(
    name="unnamed",
    product="the product",
    scope=Scope(description=dict.fromkeys(Language, "anything")),
    roles={"user": Role()},
)
"""The profile of nobody: every source and request type is allowed, no topic is forbidden, no contract asks for anything."""
