"""An index in a server ranks, limits and weighs as the embedded one does."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import pytest

from adapters.index.embedded import DocumentSource, Folder, KnowledgeBase, ingest
from adapters.index.remote.engines import engine_at
from adapters.index.remote.search import RemoteKnowledge
from contracts.enums import Language, Source
from contracts.evidence import EvidenceItem
from contracts.ports import EvidenceSource, SearchRequest
from tests.support.engines.gains import ROOT, measure_ndcg, pick_questions
from tests.support.engines.kinds import KINDS, Servers
from tests.support.ports.probe_conformance import RULES
from tests.support.ports.source_conformance import SourceConformance

# --------------------------------------------------------------------------------------------------------- the port


@pytest.fixture(scope="module")
def apples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("apples")
    (root / "docs").mkdir()
    for number in range(4):
        (root / "docs" / f"{number}.md").write_text(f"# Page {number}\n\nAn apple and {'pear ' * number * 5}\n")
    ingest(root / "docs", directory=root / "kb")
    return root / "kb"


@pytest.fixture(scope="class")
def knowledge(request: pytest.FixtureRequest, servers: Servers, apples: Path) -> Iterator[RemoteKnowledge]:
    """The apples in a server of the class's kind, which its tests only search."""
    assert request.cls is not None
    with servers.filled(request.cls.kind, apples) as filled:
        yield filled


class _Remote(SourceConformance):
    kind: str

    @pytest.fixture
    def source(self, knowledge: RemoteKnowledge) -> EvidenceSource:
        return DocumentSource(knowledge)

    @pytest.fixture
    def broken(self) -> EvidenceSource:
        scheme = "postgresql" if self.kind == "postgres" else "qdrant"
        return DocumentSource(RemoteKnowledge(engine_at(f"{scheme}://127.0.0.1:1/nothing", profile="nothing")))

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
    async def test_it_keeps_the_rules_of_probes(
        self, knowledge: RemoteKnowledge, rule: Callable[[RemoteKnowledge], object]
    ) -> None:
        """Planning without a model can ask it how far a text is on topic."""
        await rule(knowledge)  # type: ignore[misc]


class TestQdrant(_Remote):
    kind = "qdrant"


class TestPostgres(_Remote):
    kind = "postgres"


# ---------------------------------------------------------------------------------------------------------- ranking


@pytest.fixture(scope="module")
def handbook(handbook_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The handbook by its words alone: whoever opens an index writes beside it."""
    return Path(shutil.copytree(handbook_index, tmp_path_factory.mktemp("handbook") / "kb"))


@pytest.fixture(scope="module", params=KINDS)
def remote_handbook(request: pytest.FixtureRequest, servers: Servers, handbook: Path) -> Iterator[RemoteKnowledge]:
    with servers.filled(request.param, handbook) as filled:
        yield filled


@pytest.fixture(scope="module")
def embedded_handbook(handbook: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(handbook) as opened:
        yield opened


@pytest.mark.parametrize("language", ["en", "ru"])
def test_questions_find_their_pages_as_well_as_in_the_embedded_index(
    embedded_handbook: KnowledgeBase, remote_handbook: RemoteKnowledge, language: str
) -> None:
    """On thirty labelled questions nDCG@10 is that of the embedded index, within .02, and that is a good one."""
    assert len(pick_questions(language)) == 30
    here = measure_ndcg(lambda request, kind: embedded_handbook.search_now(request, kind).items, language)
    there = measure_ndcg(lambda request, kind: remote_handbook.search_now(request, kind).items, language)
    assert here > 0.5
    assert there == pytest.approx(here, abs=0.02)


# ---------------------------------------------------------------------------------------------------------- limits


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of the handbook in both languages, some again for two versions, some as policies, each told apart."""
    root = tmp_path_factory.mktemp("shelf")
    folders = (("en", 0, 12), ("ru", 0, 12), ("old", 12, 18), ("new", 12, 18), ("rules", 20, 26))
    for name, first, last in folders:
        (root / name).mkdir()
        for page in sorted((ROOT / "knowledge" / ("ru" if name == "ru" else "en")).glob("*.md"))[first:last:2]:
            text = page.read_text("utf-8")
            (root / name / page.name).write_text(f"{text}\n\nThis page belongs to the {name} shelf.\n", "utf-8")
    versions = {"old": "4.9", "new": "4.10"}
    ingest(
        [
            Folder(root / name, Source.POLICY if name == "rules" else Source.DOC, versions.get(name))
            for name, _, _ in folders
        ],
        directory=root / "kb",
    )
    return root / "kb"


@pytest.fixture(scope="module", params=KINDS)
def remote_shelf(request: pytest.FixtureRequest, servers: Servers, shelf: Path) -> Generator[RemoteKnowledge]:
    with servers.filled(request.param, shelf) as filled:
        yield filled


@pytest.fixture(scope="module")
def embedded(shelf: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(shelf) as opened:
        yield opened


def told(items: Sequence[EvidenceItem]) -> list[dict[str, object]]:
    """Return items without what is only nearly the same, which is compared by itself."""
    return [item.model_dump(exclude={"score", "confidence"}) for item in items]


def settled(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """Return items without those that share the last place: which of them are among the first so many, is open."""
    return [item for item in items if item.score > items[-1].score * (1 + 1e-4)] if len(items) > 1 else list(items)


REQUESTS = {
    "documents": SearchRequest("command line options", top_k=10),
    "in Russian": SearchRequest("параметры командной строки", top_k=10),
    "English preferred": SearchRequest("guardian index", top_k=10, language=Language.EN),
    "Russian preferred": SearchRequest("guardian index", top_k=10, language=Language.RU),
    "none in that language": SearchRequest("wie viele documents", top_k=10, language=Language.RU, threshold=0.99),
    "a version": SearchRequest("which decisions are there", top_k=20, version="4.9"),
    "a version that is named": SearchRequest("which decisions are there in version 4.9", top_k=20),
    "a version that is not there": SearchRequest("which decisions are there", top_k=20, version="1.0"),
    "no more than one": SearchRequest("conversation", top_k=1),
    "all there is": SearchRequest("conversation", top_k=10_000),
    "slips": SearchRequest("modreation of mesages", top_k=10),
    "a slip with two meanings": SearchRequest("converstion comand", top_k=10),
    "widened": SearchRequest("delete a conversation", top_k=10, expand=True),
    "widened with slips": SearchRequest("delete a converstion", top_k=10, expand=True),
    "unknown words": SearchRequest("zzyzx qwertyuiop", top_k=10),
}


@pytest.mark.parametrize("kind", [Source.DOC, Source.POLICY])
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_same_is_found_under_every_limit(
    embedded: KnowledgeBase, remote_shelf: RemoteKnowledge, request_: SearchRequest, kind: Source
) -> None:
    """Kind, version, language, slips and widening: item for item, with the scores and the confidence of the index."""
    here = embedded.search_now(request_, kind).items
    there = remote_shelf.search_now(request_, kind).items
    assert told(settled(there)) == told(settled(here))
    assert [item.score for item in there] == pytest.approx([item.score for item in here], rel=1e-4)
    assert [item.confidence for item in there] == pytest.approx([item.confidence for item in here], abs=1e-4)


async def test_a_whole_article_is_read_there_too(embedded: KnowledgeBase, remote_shelf: RemoteKnowledge) -> None:
    """By its key or its number, a document's passages come in order, and all of the same number with it."""
    (first, *_) = embedded.search_now(SearchRequest("page", top_k=1), Source.DOC).items
    for key, number in ((first.document, None), ("", first.kb_id), ("nothing", -1), ("\x00", None)):
        expected = await embedded.articles(key, number)
        assert bool(expected) == (first.document == key or first.kb_id == number)
        assert await remote_shelf.articles(key, number) == expected


def test_excluded_documents_are_left_out_there_too(embedded: KnowledgeBase, remote_shelf: RemoteKnowledge) -> None:
    """What the first search found is not found again, and the next best is."""
    first = embedded.search_now(SearchRequest("settings of a profile", top_k=5), Source.DOC).items
    again = SearchRequest("settings of a profile", top_k=5, exclude=frozenset(item.document for item in first))
    here = embedded.search_now(again, Source.DOC).items
    assert here
    assert told(remote_shelf.search_now(again, Source.DOC).items) == told(here)


@pytest.mark.parametrize("text", ["command line options", "погода на завтра", "who won the cup", "version 4.9"])
def test_texts_are_on_topic_as_much_as_in_the_embedded_index(
    embedded: KnowledgeBase, remote_shelf: RemoteKnowledge, text: str
) -> None:
    """The probe of planning without a model says the same."""
    assert remote_shelf.on_topic_now(text) == pytest.approx(embedded.on_topic_now(text), abs=1e-4)
    assert remote_shelf.count() == embedded.count()


@pytest.mark.parametrize(
    "text", ["How do I send a profile to Zubrowka?", "Как отправить профиль в Zubrowka?", "settings"]
)
@pytest.mark.parametrize("kinds", [{Source.DOC, Source.POLICY}, {Source.DOC}, {Source.POLICY}, set[Source]()])
def test_the_same_words_are_unknown_as_in_the_embedded_index(
    embedded: KnowledgeBase, remote_shelf: RemoteKnowledge, text: str, kinds: set[Source]
) -> None:
    """Of all documents, and of those of some kinds alone."""
    said = embedded.unknown_now(text, frozenset(kinds))
    assert remote_shelf.unknown_now(text, frozenset(kinds)) == said
    assert ("Zubrowka" in said) == ("Zubrowka" in text)


def test_a_profile_may_have_a_default_version(shelf: Path, remote_shelf: RemoteKnowledge) -> None:
    """The deployment's default stands above the newest."""
    request = SearchRequest("what does guardian doctor check before I deploy the server", top_k=8)
    older = RemoteKnowledge(remote_shelf._engine, default_version="4.9")
    with KnowledgeBase(shelf, default_version="4.9") as embedded:
        here = embedded.search_now(request, Source.DOC).items
    assert told(older.search_now(request, Source.DOC).items) == told(here)
    assert told(here) != told(remote_shelf.search_now(request, Source.DOC).items)
