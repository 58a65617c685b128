"""Whether a draft answers the question: by how search ranked what it cites, for each part of the question."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from contracts.enums import CheckStatus, DraftKind, PartStatus, RequestType, RequiredAction, Source
from contracts.evidence import EvidenceItem, Fate, PassageFate, PassageTrace, QueryTrace
from contracts.reasons import write_reasons
from contracts.report import Finding
from guards.relevance_check import RelevanceQuestion, check_relevance, list_compared_texts, names_in

A = RequiredAction
OK, FAILED, DOUBTFUL, NOT_ASKED = CheckStatus.OK, CheckStatus.FAILED, CheckStatus.DOUBTFUL, CheckStatus.NOT_ASKED
DELETE = "How do I delete a conversation?"
PROFILE = "What is a profile?"


def item(name: str, snippet: str, **changes: object) -> EvidenceItem:
    return EvidenceItem(
        source=Source.DOC, ref=f"doc:{name}#0", document=name, snippet=snippet, confidence=0.9
    ).model_copy(update=changes)


CHAT = item("chat", "To delete a conversation, press the bin.")
NOTES = item("notes", "A note is deleted by its owner.")
ABOUT = item("about", "A profile makes the assistant somebody's own.")
WORDS = {"delet": 1.5, "conversation": 3.0}


def trace(query: str, *scores: tuple[EvidenceItem, float], **changes: object) -> QueryTrace:
    """Return what a query found, each item with its score."""
    rows = tuple(PassageTrace.of(each.model_copy(update={"score": score})) for each, score in scores)
    return QueryTrace(query=query, source=Source.DOC, passages=rows, found=len(rows)).model_copy(update=changes)


def asked(**changes: object) -> RelevanceQuestion:
    question = RelevanceQuestion(
        request_type=RequestType.KNOWLEDGE_QA,
        kind=DraftKind.ANSWER,
        parts=[DELETE],
        evidence=[CHAT, NOTES],
        traces=[trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS)],
        cited=frozenset({CHAT.ref}),
        sure=0.85,
    )
    return replace(question, **changes)


def found(**changes: object) -> Finding:
    return check_relevance(asked(**changes))


def statuses(finding: Finding) -> list[PartStatus]:
    return [part.status for part in finding.parts]


def test_an_answer_from_a_page_far_ahead_of_the_next_is_sure() -> None:
    """The estimate is the logistic of the fitted sum: here -3.4 + 7.1 * 0.6 + 3.7 * 1."""
    finding = found()
    assert (finding.status, finding.reasons) == (OK, ())
    assert finding.parts[0].estimate == pytest.approx(0.990, abs=0.001)
    assert finding.parts[0].refs == (CHAT.ref,)


@pytest.mark.parametrize(("sentence", "heading", "status"), [(0.7, 0.6, OK), (0.2, 0.1, DOUBTFUL)])
def test_a_draft_that_is_near_the_question_in_meaning_is_surer(
    sentence: float, heading: float, status: CheckStatus
) -> None:
    """By words and meaning alone, both drafts have the same estimate."""
    rows = trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS, spread=0.07)
    fused = [
        row.model_copy(update={"fused": one, "similarity": one})
        for row, one in zip(rows.passages, (1.0, 0.8), strict=True)
    ]
    question = asked(
        draft="To delete a conversation, press the bin [1].",
        evidence=[CHAT.model_copy(update={"title": "Removing chats"}), NOTES],
        traces=[rows.model_copy(update={"passages": tuple(fused)})],
        sure=0.7,
    )
    texts = list_compared_texts(question)
    assert [text.removesuffix(" .") for text in texts] == ["To delete a conversation, press the bin", "Removing chats"]
    near = {DELETE: dict(zip(texts, (sentence, heading), strict=True))}
    assert check_relevance(replace(question, nearness=near)).status is status


def reading(one: float, other: float | None, *, score: float = 20.0, odds: bool = True) -> QueryTrace:
    """Return what a query found and a reranker has read: the logits of the chat's page and of the notes'."""
    rows = trace(DELETE, (CHAT, score), (NOTES, 18.8), words=WORDS, odds=odds)
    read = zip(rows.passages, (one, other), strict=True)
    return rows.model_copy(
        update={"passages": tuple(row.model_copy(update={"rerank_score_raw": raw}) for row, raw in read)}
    )


@pytest.mark.parametrize(
    ("one", "other", "odds", "status"),
    [
        (4.0, 1.0, True, OK),
        (4.0, None, True, DOUBTFUL),
        (4.0, 3.9, True, DOUBTFUL),
        (1.0, 4.0, True, DOUBTFUL),
        (-2.5, -9.0, True, OK),
        (4.0, 1.0, False, DOUBTFUL),
    ],
    ids=[
        "ahead",
        "ahead of nothing that was read",
        "hardly ahead",
        "behind",
        "ahead, and low",
        "on a scale of its own",
    ],
)
def test_a_page_that_reads_as_the_answer_far_more_than_another_is_surer(
    one: float, other: float | None, odds: bool, status: CheckStatus
) -> None:
    """By the ranking it is doubtful; how high the logits are says nothing, and neither does a reranker's own scale."""
    assert found(traces=[reading(one, other, odds=odds)], sure=0.7).status is status


def test_the_estimate_with_a_reranker_is_the_logistic_of_the_fitted_sum() -> None:
    """-0.2 + 0.47 times the logit of before + 0.39 times the lead, which counts up to 6; before is at most 0.6 without a lead."""
    before = found(traces=[reading(4.0, 3.0, odds=False)], sure=0.7).parts[0].estimate
    after = found(traces=[reading(4.0, 3.0)], sure=0.7).parts[0].estimate
    logit = -0.2 + 0.47 * math.log(before / (1 - before)) + 0.39
    assert after == pytest.approx(1 / (1 + math.exp(-logit)), abs=0.001)
    unread = reading(4.0, None)
    assert found(traces=[unread], sure=0.7).parts[0].estimate < after
    far, further = (found(traces=[reading(9.0, 9.0 - by)]).parts[0].estimate for by in (6.0, 8.0))
    assert far == further


def test_what_only_the_told_sentence_found_is_no_sure_answer() -> None:
    """The question's own search brought nothing: whether it is answered, nothing says."""
    told = reading(4.0, -9.0).model_copy(update={"told": True})
    finding = found(traces=[told], sure=0.7)
    assert finding.status is DOUBTFUL
    assert [part.status for part in finding.parts] == [PartStatus.PARTLY]
    assert found(traces=[reading(4.0, -9.0), told], sure=0.7).status is OK


@pytest.mark.parametrize(("behind", "status"), [(NOTES, DOUBTFUL), (CHAT, OK)], ids=["another page", "the same page"])
def test_a_page_that_only_the_bare_question_finds_is_no_sure_answer(behind: EvidenceItem, status: CheckStatus) -> None:
    """Behind what was told before it ("I have a column. How do I get each one once?"), it must find its page, too."""
    own = trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS)
    longer = trace(f"My phone is new. {DELETE}", (behind, 9.0), told=True)
    assert found(traces=[own, longer]).status is status


def test_a_search_that_was_not_made_behind_what_was_told_casts_no_doubt() -> None:
    """It failed, or a drafter searched for something else: the page was found another way."""
    own = trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS)
    longer = trace(f"My phone is new. {DELETE}", (NOTES, 9.0), told=True)
    failed = longer.model_copy(update={"passages": (), "error": "it is down"})
    elsewhere = longer.model_copy(update={"source": Source.POLICY})
    wish = trace("remove a chat", (CHAT, 20.0), words=WORDS)
    partly = {"degraded": "embedder: it is down"}
    halved = longer.model_copy(update=partly)
    assert found(traces=[own, longer]).status is DOUBTFUL
    assert found(traces=[own.model_copy(update=partly), halved]).status is DOUBTFUL
    others = ([failed], [elsewhere, failed], [longer, wish], [halved])
    assert [found(traces=[own, *more]).status for more in others] == [OK] * 4


def test_what_was_told_before_a_question_says_nothing_of_rows_and_of_passages_without_a_document() -> None:
    """A lookup is asked for by name, and never with what was told; a passage without a document is one by itself."""
    row = item("counts", "There are 12 open conversations.", source=Source.DB, found="12", ref="db:counts()#0")
    longer = trace(f"My phone is new. {DELETE}", (NOTES, 9.0), told=True)
    own = trace(DELETE, (row, 20.0), source=Source.DB)
    assert found(evidence=[row, NOTES], cited=frozenset({row.ref}), traces=[own, longer]).status is OK
    bare = CHAT.model_copy(update={"document": ""})
    own = trace(DELETE, (bare, 20.0), (NOTES, 8.0), words=WORDS)
    longer = trace(f"My phone is new. {DELETE}", (bare, 9.0), told=True)
    assert found(evidence=[bare, NOTES], cited=frozenset({bare.ref}), traces=[own, longer]).status is OK


def test_words_that_a_page_lacks_do_not_speak_against_what_reads_as_the_answer() -> None:
    """Users have other words than the documents; a name that no page has is still missing."""
    ahead = reading(-9.0, 3.0)
    others = [row.model_copy(update={"score": 30.0}) if row.ref == NOTES.ref else row for row in ahead.passages]
    traces = [ahead.model_copy(update={"passages": tuple(others)})]
    lacking = {"cited": frozenset({NOTES.ref}), "traces": traces, "sure": 0.6}
    assert found(**lacking).status is OK
    unread = [ahead.model_copy(update={"passages": tuple(others), "odds": False})]
    assert found(**{**lacking, "traces": unread}).status is FAILED
    query = "How do I delete a conversation in FedEx?"
    named = [traces[0].model_copy(update={"query": query})]
    assert write_reasons(found(**{**lacking, "traces": named, "parts": [query]}).reasons) == (
        "does_not_answer=[FedEx]",
    )


def test_a_thing_that_no_page_names_is_asked_for_in_vain_whatever_reads_as_an_answer() -> None:
    """Whether it works with fedex is not said by a page about other carriers; other words for the action are no other thing."""
    other = item("carriers", "It works with UPS.")
    for query, words, status in (
        ("does it work with fedex", {"work": 1.5, "fedex": 3.5}, FAILED),
        ("how do I work with fedex", {"work": 1.5, "fedex": 3.5}, OK),
        ("can I erase the carriers", {"eras": 3.5, "carrier": 1.5}, OK),
    ):
        rows = trace(query, (other, 20.0), (NOTES, 2.0), words=words, odds=True)
        read = [
            row.model_copy(update={"rerank_score_raw": raw})
            for row, raw in zip(rows.passages, (4.0, -5.0), strict=True)
        ]
        traces = [rows.model_copy(update={"passages": tuple(read)})]
        finding = found(parts=[query], traces=traces, evidence=[other, NOTES], cited=frozenset({other.ref}), sure=0.5)
        assert finding.status is status, query


def test_a_page_that_is_hardly_ahead_is_doubtful() -> None:
    """Nothing speaks against it, and too little for it: the draft is not tried again."""
    finding = found(traces=[trace(DELETE, (CHAT, 20.0), (NOTES, 19.0), words=WORDS)])
    assert (finding.status, write_reasons(finding.reasons)) == (DOUBTFUL, (f"relevance_doubtful=[{DELETE}]",))
    assert finding.actions == ()


def test_a_page_without_most_of_the_question_speaks_against_itself() -> None:
    """What it lacks is named, and searched for."""
    finding = found(cited=frozenset({NOTES.ref}), traces=[trace(DELETE, (NOTES, 20.0), words=WORDS)])
    assert (finding.status, write_reasons(finding.reasons)) == (FAILED, ("does_not_answer=[conversation]",))
    assert finding.actions == (A.REFINE_QUERY, A.RETRIEVE_MORE)


def test_a_name_that_no_cited_page_has_speaks_against_them() -> None:
    """However far ahead the page is; the product's own name is none."""
    query = "How do I delete a conversation in FedEx?"
    ahead = [trace(query, (CHAT, 20.0), (NOTES, 2.0), words=WORDS)]
    assert write_reasons(found(parts=[query], traces=ahead).reasons) == ("does_not_answer=[FedEx]",)
    assert found(parts=[query], traces=ahead, ignored=frozenset({"fedex"})).status is OK


def test_a_noun_is_no_name_though_it_has_the_same_stem() -> None:
    """Windows are not Windows; a page that writes the name with its capital has it."""
    query = "How do I delete a conversation on Windows?"
    ahead = [trace(query, (CHAT, 20.0), (NOTES, 2.0), words=WORDS)]
    panes, system = (
        CHAT.model_copy(update={"snippet": f"{CHAT.snippet} {end}"})
        for end in ("Shut all windows.", "On Windows, too.")
    )
    assert write_reasons(found(parts=[query], traces=ahead, evidence=[panes, NOTES]).reasons) == (
        "does_not_answer=[Windows]",
    )
    assert found(parts=[query], traces=ahead, evidence=[system, NOTES]).status is OK


def test_words_that_only_another_passage_of_the_page_has_make_it_no_surer() -> None:
    """What is cited is what was quoted; the page as a whole is asked whether it speaks of the thing at all."""
    elsewhere = CHAT.model_copy(update={"ref": "doc:chat#1", "snippet": "A bin stands below."})
    whole = found(evidence=[CHAT, elsewhere, NOTES]).parts[0].estimate
    part = found(evidence=[CHAT, elsewhere, NOTES], cited=frozenset({elsewhere.ref})).parts[0]
    assert part.estimate < whole
    assert part.missing == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Как выгрузить диалоги в 1С?", ("1С",)),
        ("Можно ли войти через Госуслуги без пароля?", ("Госуслуги",)),
        ("Поддерживается ли МойОфис, и с какой версии?", ("МойОфис",)),
        ("Есть ли у вас ЭДО?", ("ЭДО",)),
        ("Госуслуги поддерживаются?", ()),
        ("Почему Иван Петрович Сидоров не видит диалог?", ()),
        ("Почему у Анны Ивановой нет доступа?", ()),
        ("Как Вам прислать Ваш журнал?", ()),
        ("Влезет ли файл на 2 ТБ?", ()),
        ("Удалил диалог. Как его вернуть?", ()),
    ],
)
def test_names_in_cyrillic_are_names(text: str, named: tuple[str, ...]) -> None:
    """Abbreviations, and words with a capital inside a sentence; persons, polite forms and units are none."""
    assert names_in(text) == named


def test_a_russian_name_is_found_in_any_case() -> None:
    """By its stem, and a page that lacks it does not answer."""
    query = "Как удалить диалог через Госуслуги?"
    page = item("chat", "Чтобы удалить диалог, откройте его.")
    assert write_reasons(
        found(
            parts=[query], evidence=[page], cited=frozenset({page.ref}), traces=[trace(query, (page, 20.0), words={})]
        ).reasons
    ) == ("does_not_answer=[Госуслуги]",)
    named = item("chat", "Чтобы удалить диалог, войдите на Госуслугах и откройте его.")
    asks = {"parts": [query], "evidence": [named], "cited": frozenset({named.ref})}
    assert not found(**asks, traces=[trace(query, (named, 20.0), words={})]).reasons


def test_capitals_are_no_names_where_all_is_in_capitals() -> None:
    """Who shouts names nothing by it."""
    assert found(parts=["HOW DO I DELETE A CONVERSATION NOW?"]).status is OK


def test_copies_of_a_page_are_no_other_page() -> None:
    """A copy has the score of what it copies; it does not stand in its way."""
    rows = trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS).passages
    copy = PassageTrace.of(item("copy", CHAT.snippet, score=20.0), PassageFate(Fate.COPY, copy_of=CHAT.ref))
    with_copy = trace(DELETE, words=WORDS, passages=(*rows, copy), found=3)
    assert found(traces=[with_copy]).parts == found().parts


def test_where_all_that_is_returned_is_of_one_page_the_next_is_as_good_as_its_last() -> None:
    """A page whose passages fill the list is not thereby far ahead of all others."""
    second = item("chat", "Conversations that are deleted are gone.", ref="doc:chat#1")
    one_page = [trace(DELETE, (CHAT, 20.0), (second, 19.0), words=WORDS)]
    assert found(evidence=[CHAT, second], traces=one_page).status is DOUBTFUL


@pytest.mark.parametrize(("similarity", "logit"), [(0.5, 5.5 * 2 / 9), (0.7, 5.5 * 2 / 9), (0.3, 5.5 * 2 / 9 - 1.8)])
def test_a_page_that_another_is_nearer_than_in_meaning_is_less_sure(similarity: float, logit: float) -> None:
    """Nine tenths of a logit for each standard deviation that another page is nearer by; to be nearer itself adds nothing."""
    rows = [
        PassageTrace.of(CHAT, similarity=similarity, fused=0.9),
        PassageTrace.of(NOTES, similarity=0.5, fused=0.7),
    ]
    rows = [row.model_copy(update={"score": score}) for row, score in zip(rows, (20.0, 19.0), strict=True)]
    told = trace(DELETE, passages=tuple(rows), found=2, words=WORDS, spread=0.1)
    assert found(traces=[told]).parts[0].estimate == pytest.approx(1 / (1 + math.exp(2.4 - 3.3 - logit)), abs=0.001)


def test_a_page_without_a_lead_is_never_sure() -> None:
    """If another page is as good, the estimate is at most .6, whatever the words say."""
    close = [trace(DELETE, (CHAT, 20.0), (NOTES, 19.1), words=WORDS)]
    assert found(traces=close).parts[0].estimate <= 0.6 < found().parts[0].estimate


def test_a_place_of_a_long_page_that_another_place_is_as_good_as_is_never_sure() -> None:
    """A long page is ahead of all others by what it says anywhere; what stands right beside the cited passage is no rival."""
    far, beside = (CHAT.model_copy(update={"ref": f"doc:chat#{number}"}) for number in (5, 1))
    of_far, of_beside = (
        found(traces=[trace(DELETE, (CHAT, 20.0), (other, 20.0), (NOTES, 8.0), words=WORDS)]).parts[0].estimate
        for other in (far, beside)
    )
    assert of_far <= 0.6 < of_beside


def test_a_section_about_something_else_is_less_sure() -> None:
    """Words of its heading that neither the question nor the title has lower the estimate; those of the title do not."""
    bare, beside, titled = (
        CHAT.model_copy(update=update)
        for update in (
            {"heading": "Conversations › Deleting a conversation", "title": "Chat"},
            {"heading": "Conversations › Exporting for the archive", "title": "Chat"},
            {"heading": "Conversations › The chat page", "title": "The chat page"},
        )
    )
    about, aside, same = (
        found(evidence=[page, NOTES], traces=[trace(DELETE, (page, 20.0), (NOTES, 8.0), words=WORDS)]).parts[0].estimate
        for page in (bare, beside, titled)
    )
    assert aside < about == same


def test_a_heading_that_is_the_question_is_sure_though_another_page_is_as_good() -> None:
    """Where one passage alone has such a heading, in front of it or inside; the other way round it asks for something else."""
    close = [trace(DELETE, (CHAT, 20.0), (NOTES, 19.9), words=WORDS)]

    def estimate(chat: dict[str, str], notes: dict[str, str]) -> float:
        evidence = [CHAT.model_copy(update=chat), NOTES.model_copy(update=notes)]
        return found(traces=close, evidence=evidence).parts[0].estimate

    asks, inside = (
        {"heading": "Chats › Delete a conversation"},
        {"snippet": f"## Deleting a conversation\n\n{CHAT.snippet}"},
    )
    assert min(estimate(asks, {}), estimate(inside, {})) > 0.85
    assert max(estimate(asks, asks), estimate({"heading": "If a conversation is not deleted"}, {})) <= 0.6


def test_the_opposite_action_does_not_answer() -> None:
    """However far ahead its page is: it has the words of the thing, and tells the reader to do the contrary."""
    finding = found(draft="Create a conversation [1]: press New.")
    assert (finding.status, write_reasons(finding.reasons)) == (FAILED, ("does_not_answer=[delete]",))
    assert found(draft="To delete a conversation, press the bin [1].").status is OK


def test_an_action_that_the_draft_does_not_name_is_doubtful() -> None:
    """A small knowledge base is sure of any page with the other words; another verb for the same is enough."""
    asks = "How do I erase a conversation?"
    traces = [trace(asks, (CHAT, 20.0), (NOTES, 8.0), words=WORDS)]
    finding = found(parts=[asks], traces=traces, draft="Open the conversation [1].")
    assert (finding.status, finding.parts[0].missing) == (DOUBTFUL, ("erase",))
    assert found(parts=[asks], traces=traces, draft="Delete the conversation [1].").status is OK
    assert found(parts=[asks], traces=traces, draft="Get rid of the conversation [1].", verbatim=False).status is OK


def test_the_title_of_a_quoted_section_and_a_synonym_name_the_action() -> None:
    """A quotation leaves its title out, and users say it otherwise than the documents."""
    asks = "How do I log in?"
    page = item("access", "## Sign in\n\nType your name and your password.")
    traces = [trace(asks, (page, 20.0), (NOTES, 8.0), words={"log": 3.0})]
    known: dict[str, object] = {"parts": [asks], "traces": traces, "evidence": [page, NOTES]}
    known |= {"cited": frozenset({page.ref}), "draft": "Type your name and your password [1]."}
    assert found(**known).status is not OK
    words = [trace(asks, (page, 20.0), (NOTES, 8.0), words={"password": 3.0})]
    assert found(**known | {"traces": words, "synonyms": (("sign in", "log in"),)}).status is OK


def test_steps_say_neither_why_nor_when() -> None:
    """They are quoted where somebody asks how."""
    asks = "Why was the conversation cancelled?"
    traces = [trace(asks, (CHAT, 20.0), (NOTES, 8.0), words={"conversation": 3.0})]
    steps = "Cancel a conversation:\n\n1. Open it [1].\n2. Press Cancel [1]."
    assert found(parts=[asks], traces=traces, draft=steps).status is DOUBTFUL
    assert found(parts=[asks], traces=traces, draft="The conversation was too long [1].").status is OK


def test_a_text_without_a_duration_is_no_answer_to_how_long() -> None:
    """The page may be right and the place on it wrong: it is shown, and not stated."""
    asks = "How long is a conversation kept?"
    traces = [trace(asks, (CHAT, 20.0), (NOTES, 8.0), words={"conversation": 3.0})]
    long, none = (
        found(parts=[asks], traces=traces, draft=draft).status
        for draft in ("It is kept for 30 days [1].", "A conversation is kept by its owner [1].")
    )
    assert (long, none) == (OK, DOUBTFUL)


def test_months_are_no_names() -> None:
    """English writes them with a capital, and no page has to have them."""
    assert names_in("What does the schedule do in February, in Jira?") == ("Jira",)
    assert names_in("does Calc have XLOOKUP?") == ("Calc", "XLOOKUP")
    assert names_in("can I sync it with my iPad") == ("iPad",)
    assert names_in("How To Sync The Data") == names_in("How Do I Add Colleagues from My Team") == ()
    assert names_in("Как Настроить Отчёт Продажи") == names_in("How many kWh is that?") == ()


def test_an_answer_that_does_for_one_part_is_drafted_again_without_the_doubtful_one() -> None:
    """The other part is named; where nothing is cited for it, the answer stands as it is."""
    of_delete = trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS)
    near = trace(PROFILE, (ABOUT, 10.0), (NOTES, 9.9), words={"profil": 3.0})
    both: dict[str, object] = {
        "parts": [PROFILE, DELETE],
        "evidence": [CHAT, NOTES, ABOUT],
        "traces": [near, of_delete],
    }
    doubtful = found(**both, cited=frozenset({CHAT.ref, ABOUT.ref}))
    assert statuses(doubtful) == [PartStatus.PARTLY, PartStatus.ANSWERED]
    assert (doubtful.status, doubtful.actions) == (FAILED, (A.REGENERATE_DRAFT,))
    assert write_reasons(doubtful.reasons) == (f"relevance_doubtful=[{PROFILE}]",)
    without = found(**both)
    assert (without.status, statuses(without)) == (OK, [PartStatus.NOT_FOUND, PartStatus.ANSWERED])


def test_what_is_cited_for_no_answered_part_is_left_out_of_the_next_draft() -> None:
    """However plainly its page speaks against itself: an answer does not go on with what answers nothing."""
    key = "How do I add a FedEx key?"
    both: dict[str, object] = {
        "parts": [DELETE, key],
        "evidence": [CHAT, NOTES, ABOUT],
        "traces": [
            trace(DELETE, (CHAT, 20.0), (NOTES, 8.0), words=WORDS),
            trace(key, (ABOUT, 10.0), (NOTES, 2.0), words={"add": 1.0, "fedex": 5.0, "key": 2.0}),
        ],
    }
    beside = found(**both, cited=frozenset({CHAT.ref, ABOUT.ref}))
    assert (beside.status, beside.actions) == (FAILED, (A.REGENERATE_DRAFT,))
    assert write_reasons(beside.reasons) == (f"relevance_doubtful=[{key}]",)
    assert found(**both).status is OK


def test_rows_of_a_lookup_and_sources_without_scores_are_as_sure_as_they_say() -> None:
    """A lookup was asked for by name; who ranks without scores has its confidence alone."""
    row = EvidenceItem(source=Source.DB, ref="turns()#1", snippet="12", confidence=0.9, found="1")
    looked_up = QueryTrace(query=DELETE, source=Source.DB, passages=(PassageTrace.of(row),), found=1)
    assert found(evidence=[row], traces=[looked_up], cited=frozenset({row.ref})).status is OK
    assert found(traces=[trace(DELETE, (CHAT, 0.0), (NOTES, 0.0))]).parts[0].estimate == pytest.approx(
        CHAT.confidence**2
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": DraftKind.ABSTENTION},
        {"request_type": RequestType.CASUAL},
        {"request_type": RequestType.STATUS_LIST},
        {"cited": frozenset[str]()},
        {"traces": []},
        {"parts": []},
    ],
    ids=str,
)
def test_what_is_no_answer_from_documents_is_not_asked(changes: dict[str, object]) -> None:
    """Nor is a draft that cites nothing, which grounding judges, nor one of which nobody knows how it was searched."""
    assert found(**changes).status is NOT_ASKED
