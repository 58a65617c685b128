"""The one place that wires: settings and profile in, ports, graph and turn runner out."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from assistant.profiles import load_profile, run_settings
from assistant.settings import Settings
from contracts.errors import ConfigError, KnowledgeError, NoIndex
from contracts.profile import Profile

if TYPE_CHECKING:
    from adapters.sources.database import DatabaseSource
    from adapters.sources.markdown.asking import Knowledge
    from adapters.sources.remote import Engine
    from adapters.sources.text_to_sql.writing import StatementWriter
    from assistant.servers import Servers
    from assistant.transcript import TurnStore
    from assistant.turns import TurnRunner
    from contracts.context import Context
    from contracts.ports import EvidenceSource, HandOffDesk
    from contracts.values import Source
    from graph.build import Ports

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a process serves.

    Attributes:
        settings, profile: Where its data is, and what is served.
        context_type: The class of its run settings.
        conversations: The folder of conversations where that is not the profile's own.
    """

    settings: Settings
    profile: Profile
    context_type: type[Context]
    conversations: Path | None = None

    @property
    def folder(self) -> Path:
        """Everything of this profile's own."""
        return self.settings.folder(self.profile)

    @property
    def knowledge_folder(self) -> Path:
        """The record and the index of its documents."""
        return self.folder / "knowledge"

    @property
    def graph_folder(self) -> Path:
        """The graph of its documents."""
        return self.folder / "graph"

    @property
    def models_file(self) -> Path:
        """What was found out about models and their servers."""
        return self.folder / "models.json"

    @property
    def threads_file(self) -> Path:
        """Checkpoints and transcripts."""
        return (self.conversations or self.folder) / "threads.db"

    @property
    def locks_folder(self) -> Path:
        """The locks of conversations."""
        return (self.conversations or self.folder) / "locks"


def deployment(profile: str | None = None, environment: Mapping[str, str] | None = None) -> Deployment:
    """Read the settings and the profile of this process.

    Args:
        profile: Name or path; else GUARDIAN_PROFILE.
        environment: Stands in for the process's.

    Raises:
        ConfigError: Either is wrong.
    """
    settings = Settings.read(environment, profile=profile)
    loaded = load_profile(settings.profile)
    return Deployment(settings, loaded, run_settings(settings, loaded))


def engine_of(deployed: Deployment, url: str) -> Engine:
    """Return the index of a deployment in a server; nothing is asked of it yet.

    Raises:
        ConfigError: The address is wrong, or a package is missing.
    """
    from adapters.sources.engines import engine_at

    key, lock = deployed.settings.index_key, deployed.folder / "fill.lock"
    return engine_at(url, profile=deployed.profile.name, key=key, lock=lock)


def knowledge_base(deployed: Deployment) -> Knowledge:
    """Open the deployment's documents; those in a server are not looked for before they are asked for.

    Raises:
        NoIndex: Nothing has been indexed for its profile.
        KnowledgeError: They cannot be read.
        ConfigError: The address of the server is wrong, or a package is missing.
    """
    from adapters.sources.markdown import KnowledgeBase
    from assistant.rankers import embedder

    profile = deployed.profile
    if url := deployed.settings.index_url:
        from adapters.sources.remote import RemoteKnowledge

        return RemoteKnowledge(
            engine_of(deployed, url),
            norm_midpoint=profile.thresholds.norm_midpoint,
            default_version=profile.default_version,
            embedder=embedder(deployed.settings.models),
        )
    try:
        knowledge = KnowledgeBase(
            deployed.knowledge_folder,
            norm_midpoint=profile.thresholds.norm_midpoint,
            default_version=profile.default_version,
            embedder=embedder(deployed.settings.models),
        )
    except NoIndex as error:
        raise NoIndex(
            f"Nothing has been indexed for the profile {profile.name!r} in {deployed.settings.data_dir}.",
            f"Run `{index_command(deployed)}`, or set GUARDIAN_DATA_DIR to where the index is.",
        ) from error
    if knowledge.outdated and deployed.knowledge_folder not in _outdated:
        _renew(deployed)
    return knowledge


_outdated: Final[set[Path]] = set()
"""Indexes of earlier versions that cannot be made again: it is said of each once in a process."""


def _renew(deployed: Deployment) -> None:
    """Make the index of an earlier version again; where it cannot be written, it is searched as it is, and that is said."""
    from adapters.sources.markdown import renew

    _LOG.warning("The index was made by another version of this program: it is made again, which is done once.")
    try:
        renew(deployed.knowledge_folder)
    except KnowledgeError as error:
        _outdated.add(deployed.knowledge_folder)
        _LOG.warning("%s Until then some words are not found. Run `%s`.", error, index_command(deployed))


@contextmanager
def storing(deployed: Deployment) -> Generator[Deployment]:
    """Yield a deployment whose conversations can be written; one in a folder that cannot be, keeps them for this block alone."""
    from adapters.data_folder import can_write

    # One that is not there yet is made, or says why it cannot be.
    if not deployed.folder.is_dir() or can_write(deployed.folder):
        yield deployed
        return
    with TemporaryDirectory(prefix="guardian-") as folder:
        yield replace(deployed, conversations=Path(folder))


def index_command(deployed: Deployment) -> str:
    """Return what to type for an index: the profile's own folders, or one to be named."""
    path = "" if deployed.profile.knowledge else " path/to/docs"
    name = deployed.settings.profile
    return f"guardian index{path}" + ("" if name == "handbook" else f" --profile {name}")


def ports(
    deployed: Deployment, knowledge: Knowledge, servers: Servers | None = None, desk: HandOffDesk | None = None
) -> Ports:
    """Return the adapters of a deployment. Where no server is named, everything works without a key or a network.

    Args:
        deployed: What is served.
        knowledge: Its documents.
        servers: The models and moderators behind servers; made here, and then never closed, where it is left out.
        desk: Where hand-offs go; who only measures turns has none, so that nobody is called.
    """
    from adapters.drafting.extractive import ExtractiveDrafter
    from adapters.moderation.rules import RuleModerator
    from adapters.planning.offline import OfflinePlanner
    from assistant.servers import Servers
    from graph.build import Ports
    from guards.policy_check import contacts_of

    read_words()
    servers = servers or Servers(deployed)
    profile = deployed.profile
    offline = OfflinePlanner(knowledge, profile)
    quoting = ExtractiveDrafter(profile.allowed_link_domains, profile.product, contacts_of(profile))
    planner, drafter = servers.planner(offline), servers.drafter(quoting)
    return Ports(
        moderator=servers.moderator(),
        fallback_moderator=RuleModerator() if servers.moderates else None,
        planner=planner or offline,
        ahead=servers.ahead(planner),
        sources={**document_sources(deployed, knowledge), **lookup_sources(deployed, servers)},
        drafter=drafter or quoting,
        quoter=quoting if drafter else None,
        entailment=servers.entailment(),
        desk=desk,
        probe=knowledge,
    )


def document_sources(deployed: Deployment, knowledge: Knowledge) -> dict[Source, EvidenceSource]:
    """Return the sources of a deployment's documents, with the rankers that its settings name."""
    from adapters.sources.markdown import DocumentSource
    from assistant.rankers import reranked
    from contracts.values import Source

    return {
        kind: reranked(DocumentSource(knowledge, kind), deployed.settings.models)
        for kind in (Source.DOC, Source.POLICY)
    }


def lookup_sources(deployed: Deployment, servers: Servers | None = None) -> dict[Source, EvidenceSource]:
    """Return the sources of a profile's lookups; of a kind that it has none for, there is none.

    Args:
        deployed: What is served.
        servers: The models behind servers; a profile that lets one write SQL needs them.

    Raises:
        ConfigError: GUARDIAN_DATABASE_URL or GUARDIAN_GRAPH_URL is wrong, a statement does more than read a graph, or
            a model is to write SQL, and there is none.
    """
    from assistant.graphs import graph_source
    from contracts.values import Source

    found: dict[Source, EvidenceSource] = {}
    if asks_database(deployed.profile):
        database = database_source(deployed)
        writer = servers.statement_writer(database.dialect) if servers else None
        found[Source.DB] = database if writer is None else _asking_in_sql(database, writer)
    if graph := graph_source(deployed):
        found[Source.NEO4J] = graph
    return found


def asks_database(profile: Profile) -> bool:
    """Whether a profile has anything to ask a database, by lookups or in a model's SQL."""
    from contracts.values import Source

    return bool(profile.lookups_of(Source.DB)) or profile.database.text_to_sql is not None


def _asking_in_sql(database: DatabaseSource, writer: StatementWriter) -> EvidenceSource:
    from adapters.sources.text_to_sql.source import TextToSqlSource

    return TextToSqlSource(database, writer)


def database_source(deployed: Deployment) -> DatabaseSource:
    """Return the source of a profile's lookups in SQL; without an address it asks the assistant's own conversations.

    Raises:
        ConfigError: GUARDIAN_DATABASE_URL is wrong, or a model is to write SQL, and there is none.
    """
    from importlib.util import find_spec

    from adapters.sources.database import DatabaseSource

    if deployed.profile.database.text_to_sql is not None:
        if not deployed.settings.models.planner:
            raise ConfigError(
                f"The profile {deployed.profile.name!r} has a language model write SQL (database.text_to_sql), but no "
                "model is named.",
                "Set GUARDIAN_MODEL or GUARDIAN_PLANNER_MODEL, or take database.text_to_sql out of the profile.",
            )
        if find_spec("sqlglot") is None:
            raise ConfigError(
                "The profile has a language model write SQL (database.text_to_sql), and what checks it is missing.",
                "Install it: pip install 'guardian-assistant[sql]'.",
            )

    url = deployed.settings.database_url or deployed.threads_file
    return DatabaseSource(deployed.profile.lookups, url, deployed.profile.database)


def read_words() -> None:
    """Read the words and texts that turns look up: a node that did would keep all other turns of the process waiting."""
    from contracts.values import Language
    from language.lexicon import lexicon
    from language.words import stop_words
    from rendering.texts import texts

    lexicon()
    stop_words()
    for language in Language:
        texts(language)


@asynccontextmanager
async def open_store(deployed: Deployment) -> AsyncGenerator[TurnStore]:
    """Open the transcript."""
    from assistant.transcript import TurnStore

    async with await TurnStore.open(deployed.threads_file) as store:
        yield store


async def _forget(deployed: Deployment, thread_id: str) -> int:
    """Delete what is kept of a conversation beside its transcript and its checkpoints; return how much that was."""
    from assistant.feedback import FeedbackStore
    from assistant.hand_offs import outbox
    from assistant.histories import Histories

    forgotten = await outbox(deployed).forget(thread_id)
    for table in (FeedbackStore, Histories):
        async with await table.open(deployed.threads_file) as kept:
            forgotten += await kept.forget(thread_id)
    return forgotten


def idle_ports() -> Ports:
    """Return ports for a graph that is drawn, or only asked for its checkpoints: no turn can run on them."""
    from adapters.drafting.extractive import ExtractiveDrafter
    from adapters.fakes.planning import FakePlanner
    from adapters.moderation.rules import RuleModerator
    from graph.build import Ports

    return Ports(moderator=RuleModerator(), planner=FakePlanner([]), sources={}, drafter=ExtractiveDrafter())


@asynccontextmanager
async def open_ports(deployed: Deployment) -> AsyncGenerator[Ports]:
    """Open the adapters of a deployment.

    Raises:
        NoIndex: Nothing has been indexed for its profile.
        GuardianError: Something else that a person can fix; it says how.
    """
    from adapters.sources.graph.source import GraphSource
    from assistant.hand_offs import desk
    from assistant.servers import Servers

    async with AsyncExitStack() as opened:
        servers = await opened.enter_async_context(Servers(deployed))
        knowledge = knowledge_base(deployed)
        opened.callback(knowledge.close)
        taking = desk(deployed)
        if taking is not None:
            await opened.enter_async_context(taking)
        chosen = ports(deployed, knowledge, servers, taking)
        for source in chosen.sources.values():
            if isinstance(source, GraphSource):
                opened.callback(source.close)
        yield chosen


@asynccontextmanager
async def open_runner(deployed: Deployment, *, answering: bool = True) -> AsyncGenerator[TurnRunner]:
    """Open all that running turns takes: documents, checkpoints, transcript.

    Args:
        deployed: What is served.
        answering: Whether turns are run; a conversation can be deleted without any document indexed.
    """
    from adapters.checkpoints.sqlite import open_saver
    from assistant.turns import TurnRunner
    from graph.build import build_graph

    async with AsyncExitStack() as opened:
        chosen = await opened.enter_async_context(open_ports(deployed)) if answering else idle_ports()
        saver = await opened.enter_async_context(open_saver(deployed.threads_file))
        store = await opened.enter_async_context(open_store(deployed))
        graph = build_graph(chosen, deployed.profile, settings=deployed.context_type, checkpointer=saver)
        yield TurnRunner(
            graph,
            store,
            deployed.locks_folder,
            context_type=deployed.context_type,
            forget=partial(_forget, deployed),
        )
