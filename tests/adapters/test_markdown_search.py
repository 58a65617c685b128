from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.index.embedded import DocumentSource, Folder, KnowledgeBase, ingest, search
from adapters.index.embedded.index import our_errors
from adapters.index.scoring import confidence, feedback
from adapters.index.spelling import Vocabulary, allowed_edits, edit_distance
from contracts.enums import Language, Source
from contracts.errors import KnowledgeError, SourceUnavailable
from contracts.ports import SearchRequest
from tests.support.markdown_pages import documents, find, write

RU = "Как назначить роль пользователю и настроить доступ к приложению"
EN = "How to assign a role to a user and configure access to the application"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def indexed(root: Path, pages: dict[str, str | bytes], **more: object) -> Path:
    ingest(Folder(write(root / "docs", pages), **more), directory=root / "kb")  # type: ignore[arg-type]
    return root / "kb"


def keys(names: list[str]) -> list[str]:
    return [f"docs/{name}.md" for name in names]


# ------------------------------------------------------------------------------------------------------- matching


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("назначение ролей пользователям", "ru"),
        ("РОЛЬ", "ru"),
        ("ещё приложения", "ru"),
        ("assigning roles", "en"),
        ("ROLES!", "en"),
        ("configured applications", "en"),
    ],
)
def test_word_forms_of_both_languages_match(root: Path, query: str, page: str) -> None:
    """Case, endings and ё do not matter, in either language, in one index."""
    kb = indexed(root, {"ru.md": RU, "en.md": EN})
    assert documents(kb, query) == keys([page])


def test_a_title_and_a_heading_count_beside_the_text(root: Path) -> None:
    """Words that stand in the title or above a section find it, also where its text has none of them."""
    text = "Open the page and save it. " * 40
    kb = indexed(
        root, {"a.md": f"---\ntitle: Licence keys\n---\n# Overview\n\n{text}\n\n## Renewal\n\n{text}\n", "b.md": text}
    )
    assert find(kb, "licence")[0].document == "docs/a.md"
    assert find(kb, "renewal")[0].heading == "Overview › Renewal"


@pytest.mark.parametrize(
    ("typed", "page"),
    [("aplication", "en"), ("confgiure", "en"), ("приложенее", "ru"), ("настрить", "ru"), ("пользвателью", "ru")],
)
def test_a_misspelt_word_finds_the_nearest_one(root: Path, typed: str, page: str) -> None:
    """A word that nothing has is taken for a known one that is one slip away, or two in a long word."""
    assert documents(indexed(root, {"ru.md": RU, "en.md": EN}), typed) == keys([page])


def test_a_word_that_is_known_is_taken_as_it_is(root: Path) -> None:
    """A slip away from a frequent word is no reason to search for that when the word itself is there."""
    kb = indexed(root, {"a.md": "A table of prices", "b.md": "A cable and its price", "c.md": "The table"})
    assert documents(kb, "cable") == keys(["b"])


@pytest.mark.parametrize("typed", ["8081", "v12", "abd", "xyzzyplugh"])
def test_numbers_and_short_words_are_not_guessed(root: Path, typed: str) -> None:
    """8081 is not 8080, and a word far from all others finds nothing."""
    assert find(indexed(root, {"a.md": "Port 8080, v13, abc"}), typed) == []


def test_text_of_users_has_no_operators(root: Path) -> None:
    """Quotes, brackets, stars, colons and the words AND, OR, NOT change nothing but through their words."""
    kb = indexed(
        root, {"a.md": "apple pie", "b.md": "banana bread", "c.md": "apple and banana", "d.md": "title body doc"}
    )
    plain = find(kb, "apple banana")
    assert len(plain) == 3
    for text in (
        '"apple banana"',
        "apple AND banana",
        "apple OR banana",
        "apple NOT banana",
        "+apple -banana",
        "apple* ~banana~",
        "(apple) [banana TO *]",
        "/apple/ ^ banana^ \\",
        "'; -- apple {banana}",
    ):
        assert find(kb, text) == plain, text
    assert documents(kb, "title:apple") != documents(kb, "apple")
    assert documents(kb, "title:apple") == documents(kb, "title apple")


@pytest.mark.parametrize("query", ["", "   ", "и в на the of", "?!…", "🙂", "\u200b"])
def test_without_content_words_nothing_is_found(root: Path, query: str) -> None:
    """Stop words, punctuation and blanks find nothing, and are on no topic."""
    kb = indexed(root, {"a.md": EN})
    assert find(kb, query) == []
    with KnowledgeBase(kb) as knowledge:
        assert knowledge.on_topic_now(query) == 0.0


@given(st.text(max_size=300))
def test_any_text_is_searched(text: str) -> None:
    """No text makes a search fail, and every confidence is from 0 to 1."""
    items = _shared().search_now(SearchRequest(text, language=Language.RU, expand=True), Source.DOC).items
    assert all(0 <= item.confidence <= 1 for item in items)
    assert 0 <= _shared().on_topic_now(text) <= 1


_opened: list[KnowledgeBase] = []


def _shared() -> KnowledgeBase:
    return _opened[0]


@pytest.fixture(autouse=True, scope="module")
def _small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    _opened.append(KnowledgeBase(indexed(tmp_path_factory.mktemp("small"), {"ru.md": RU, "en.md": EN})))
    yield
    _opened.pop().close()


def test_a_very_long_message_is_searched_by_its_ends(root: Path) -> None:
    """A question before a long log, or after it, is found; 100,000 characters take no second."""
    kb = indexed(root, {"a.md": EN, "b.md": RU})
    log = " ".join(f"entry{n}" for n in range(12_000))
    assert len(log) > 100_000
    assert find(kb, f"assign a role {log}")[0].document == "docs/a.md"
    assert find(kb, f"{log} назначить роль")[0].document == "docs/b.md"


# -------------------------------------------------------------------------------------------------------- filters


VERSIONED: dict[str, str | bytes] = {
    "v4.md": "---\nversion: 4.9\n---\napple four",
    "v5.md": "---\nversion: 4.10\n---\napple five",
    "any.md": "apple always",
}


def test_a_version_is_always_chosen(root: Path) -> None:
    """A request's version counts, else the deployment's, else the newest; what has no version is always in."""
    kb = indexed(root, VERSIONED)
    assert sorted(documents(kb, "apple")) == keys(["any", "v5"])
    assert sorted(documents(kb, "apple", version="4.9")) == keys(["any", "v4"])
    assert sorted(documents(kb, "apple", version="3")) == keys(["any"])
    with KnowledgeBase(kb, default_version="4.9") as knowledge:
        items = knowledge.search_now(SearchRequest("apple four five"), Source.DOC).items
        assert {item.document for item in items} == set(keys(["any", "v4"]))
        assert knowledge.on_topic_now("five") == 0.0
        assert knowledge.on_topic_now("four") > 0.3
    (root / "docs/v5.md").unlink()
    ingest(root / "docs", directory=kb)
    assert sorted(documents(kb, "apple")) == keys(["any", "v4"])


def test_a_source_has_only_its_own_kind_and_the_probe_has_both(root: Path) -> None:
    """Documents do not answer for policies; how far a text is on topic is asked of both."""
    kb = indexed(root, {"a.md": "apple pie", "b.md": "---\nsource: policy\n---\nbanana rule"})
    assert [documents(kb, "apple banana", kind) for kind in (Source.DOC, Source.POLICY)] == [keys(["a"]), keys(["b"])]
    with KnowledgeBase(kb) as knowledge:
        assert knowledge.on_topic_now("apple pie") > 0.5
        assert knowledge.on_topic_now("banana rule") > 0.5
        assert knowledge.count() == {"doc": 1, "policy": 1}


def test_an_index_is_opened_anew_for_a_count_once_in_a_while(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each opening leaves a thread for half a second, and anybody may ask a server for it; what failed is tried again."""
    kb = indexed(root, {"a.md": "apple pie"})
    with KnowledgeBase(kb) as knowledge:
        monkeypatch.setattr(search, "_OPENED_EVERY_S", math.inf)
        knowledge.count()
        [file] = (kb / "index").glob("*.store")
        file.rename(kb / "away")
        assert knowledge.count() == {"doc": 1}
        monkeypatch.setattr(search, "_OPENED_EVERY_S", 0.0)
        for _ in range(2):
            with pytest.raises(SourceUnavailable) as caught:
                knowledge.count()
            assert caught.value.way_out == "Let this user read its files, or index the documents again."
        (kb / "away").rename(file)
        assert knowledge.count() == {"doc": 1}


def test_the_language_asked_for_is_searched_first(root: Path) -> None:
    """Where documents in the language answer, others stay out; where none does, all are searched."""
    pages: dict[str, str | bytes] = {
        "ru.md": "Настройка docker: запустите контейнер",
        "en.md": "Docker setup: run the container",
        "only.md": "The kubernetes cluster in English",
    }
    kb = indexed(root, pages)
    assert documents(kb, "docker", language=Language.RU) == keys(["ru"])
    assert documents(kb, "docker", language=Language.EN) == keys(["en"])
    assert set(documents(kb, "docker")) == set(keys(["ru", "en"]))
    assert documents(kb, "как настроить kubernetes", language=Language.RU, threshold=0.9)[0] in keys(["only", "ru"])
    assert documents(kb, "kubernetes", language=Language.RU) == keys(["only"])


def test_excluded_documents_leave_their_place_to_others(root: Path) -> None:
    """What is excluded is left out before the best are chosen, not after."""
    kb = indexed(root, {f"{n}.md": f"apple number {n}" for n in range(10)})
    best = documents(kb, "apple", top_k=3)
    others = documents(kb, "apple", top_k=3, exclude=frozenset(best))
    assert len(others) == 3
    assert not set(best) & set(others)


# ----------------------------------------------------------------------------------------------------- confidence


def test_confidence_is_one_half_at_the_midpoint() -> None:
    """The formula: a normalised score equal to the midpoint is one half, more is more, nothing is 0."""
    ceiling = 2.2 * 2.2
    assert confidence(0.12 * ceiling * 7, 7, 0.12) == pytest.approx(0.5)
    assert confidence(0.24 * ceiling * 7, 7, 0.12) == pytest.approx(0.8)
    assert confidence(0.0, 7, 0.12) == confidence(3.0, 0.0, 0.12) == 0.0


def test_the_score_is_that_of_bm25(root: Path) -> None:
    """The inverse document frequencies behind the confidence are those that the engine scores with."""
    kb = indexed(root, {"a.md": "apple apple pie", "b.md": "banana", "c.md": "cherry pie", "d.md": "damson"})
    (item,) = find(kb, "apple")
    idf = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    length = 1 - 0.75 + 0.75 * 3 / (7 / 4)
    assert item.score == pytest.approx(idf * 2.2 * 2 / (2 + 1.2 * length), rel=0.01)
    assert item.confidence == pytest.approx(confidence(item.score, idf, 0.12), rel=1e-6)


def test_words_that_nothing_has_lower_the_confidence(root: Path) -> None:
    """A passage on half of a question is less on topic than one on all of it, and a slip costs less than a stranger."""
    kb = indexed(root, {"en.md": EN, **{f"{n}.md": f"Page {n} on something else" for n in range(20)}})
    known, misspelt, half = (
        find(kb, query, top_k=1)[0].confidence
        for query in ("assign role access", "asign role access", "assign role access galaxy quasar nebula")
    )
    assert half < misspelt <= known
    assert known > 0.5


def test_a_midpoint_is_a_setting(root: Path) -> None:
    """A higher midpoint asks for more before it is sure."""
    kb = indexed(root, {"a.md": EN, "b.md": RU})
    sure = []
    for midpoint in (0.06, 0.12, 0.24):
        with KnowledgeBase(kb, norm_midpoint=midpoint) as knowledge:
            sure.append(knowledge.on_topic_now("assign a role"))
    assert sure == sorted(sure, reverse=True)
    assert len(set(sure)) == 3


# ------------------------------------------------------------------------------------------------------ expansion


def test_a_widened_query_finds_what_shares_no_word_with_it(root: Path) -> None:
    """Feedback terms bring in passages that the query alone misses, and their confidence stays the query's own."""
    pages: dict[str, str | bytes] = {
        "a.md": "Resetting a password: open the vestibule and press amaranth",
        "b.md": "The password vestibule has an amaranth button",
        "c.md": "The vestibule and its amaranth button",
        **{f"{n}.md": f"Something else entirely, number {n}" for n in range(20)},
    }
    kb = indexed(root, pages)
    assert "docs/c.md" not in documents(kb, "reset password")
    widened = find(kb, "reset password", expand=True)
    assert "docs/c.md" in {item.document for item in widened}
    assert next(item for item in widened if item.document == "docs/c.md").confidence == 0.0
    assert widened[0].confidence == pytest.approx(find(kb, "reset password")[0].confidence)


def test_feedback_keeps_most_of_the_weight_with_the_query() -> None:
    """The query's own words have seven tenths of the weight, ten words of the passages share the rest."""
    weights = dict(feedback(["a", "b"], [(["a", *(f"w{n}" for n in range(20))], 2.0), (["w1"], 1.0), ([], 3.0)]))
    assert sum(weights.values()) == pytest.approx(2.0)
    assert weights["b"] == pytest.approx(0.7)
    assert weights["a"] > 0.7
    assert len(set(weights) - {"b"}) == 10
    assert dict(feedback(["a"], [])) == {"a": pytest.approx(0.7)}


# ---------------------------------------------------------------------------------------------------- edit distance


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("роль", "роль", 0),
        ("роль", "рол", 1),
        ("роль", "орль", 1),
        ("роль", "моль", 1),
        ("abcd", "badc", 2),
        ("ab", "xyz", 3),
    ],
)
def test_slips_are_counted(one: str, other: str, distance: int) -> None:
    """An insertion, a deletion, a substitution and a swap of neighbours are one slip each."""
    assert edit_distance(one, other, 5) == edit_distance(other, one, 5) == distance


words = st.text(alphabet="abcя", max_size=9)


def _slow_distance(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    best = min(
        _slow_distance(one[1:], other) + 1,
        _slow_distance(one, other[1:]) + 1,
        _slow_distance(one[1:], other[1:]) + (one[0] != other[0]),
    )
    if len(one) > 1 and len(other) > 1 and one[0] == other[1] and one[1] == other[0]:
        best = min(best, _slow_distance(one[2:], other[2:]) + 1)
    return best


@given(st.text(alphabet="abя", max_size=5), st.text(alphabet="abя", max_size=5), st.integers(0, 3))
def test_the_limit_changes_only_what_is_above_it(one: str, other: str, most: int) -> None:
    """Against the definition: exact up to the limit, above it beyond it."""
    exact = _slow_distance(one, other)
    quick = edit_distance(one, other, most)
    assert quick == exact if exact <= most else quick > most


@given(words, st.dictionaries(words.filter(bool), st.integers(1, 9), max_size=30))
def test_no_near_word_is_overlooked(word: str, vocabulary: dict[str, int]) -> None:
    """The quick looks at ends and letters throw away nothing that is near enough; the nearest win, then the frequent."""
    edits = allowed_edits(word)
    near = sorted(
        (edit_distance(word, candidate, 99), -frequency, candidate)
        for candidate, frequency in vocabulary.items()
        if word and (candidate[0] == word[0] or candidate[-1] == word[-1])
    )
    expected = [candidate for distance, _, candidate in near if distance == near[0][0] <= edits][:3] if edits else []
    known = Vocabulary(vocabulary.items())
    assert known.nearest(word) == expected
    assert known.nearest(word) == expected


@given(st.text(alphabet="abcя", min_size=4, max_size=7), st.data())
def test_one_slip_is_found_wherever_it_is(word: str, data: st.DataObject) -> None:
    """A single slip of any kind, at either end or between, leads back to the word."""
    at = data.draw(st.integers(0, len(word) - 1))
    slips = [word[:at] + word[at + 1 :], word[:at] + "x" + word[at:], word[:at] + "x" + word[at + 1 :]]
    slips += [word[:at] + word[at + 1] + word[at] + word[at + 2 :]] if at + 1 < len(word) else []
    for slip in slips:
        if allowed_edits(slip) and slip != word:
            assert Vocabulary([(word, 1)]).nearest(slip) == [word]


def test_long_words_may_hold_two_slips() -> None:
    """One slip from four letters, two from eight, none with digits."""
    assert [allowed_edits(word) for word in ("abc", "abcd", "abcdefg", "abcdefgh", "port8080")] == [0, 1, 1, 2, 0]


# -------------------------------------------------------------------------------------------------------- threads


async def test_many_searches_at_once_are_answered_alike(root: Path) -> None:
    """One knowledge base serves parallel searches from several threads, and each gets its own answer."""
    kb = indexed(root, {f"{n}.md": f"apple number{n} word{n}" for n in range(30)})
    with KnowledgeBase(kb) as knowledge:
        source = DocumentSource(knowledge)
        requests = [SearchRequest(f"number{n % 30}", top_k=1) for n in range(300)]
        replies = await asyncio.gather(*(source.search(request) for request in requests))
        topics = await asyncio.gather(*(knowledge.on_topic(f"word{n}") for n in range(30)))
    assert [reply.items[0].document for reply in replies] == [f"docs/{n % 30}.md" for n in range(300)]
    assert all(topic > 0.5 for topic in topics)


def test_a_closed_knowledge_base_leaves_no_connection(root: Path) -> None:
    """Connections are given back from every thread, and closing closes all of them."""
    knowledge = KnowledgeBase(indexed(root, {"a.md": "apple"}))
    threads = [
        threading.Thread(target=knowledge.search_now, args=(SearchRequest("apple"), Source.DOC)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert knowledge._idle
    knowledge.close()
    assert not knowledge._idle
    assert knowledge.search_now(SearchRequest("apple"), Source.DOC).items
    knowledge.close()


def test_a_panic_of_the_engine_is_an_error_of_ours(capfd: pytest.CaptureFixture[str]) -> None:
    """What the engine says by panicking, which Python takes for no ordinary exception, ends as an error like others."""
    import tantivy

    index = tantivy.Index(tantivy.SchemaBuilder().build())
    with pytest.raises(KnowledgeError), our_errors():
        index.searcher().search(tantivy.Query.all_query(), 0)
    assert "panicked" in capfd.readouterr().err
