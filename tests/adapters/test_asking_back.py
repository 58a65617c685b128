"""What is missing in a message, and whether the next message brings it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import pytest

from adapters.drafting.extractive import ExtractiveDrafter
from adapters.planning.clarification import (
    LONGEST_JOINED,
    asks_of_nothing,
    gap_in,
    join_answer,
    names_nothing,
    object_of,
    stands_alone,
    without_mark,
)
from adapters.planning.offline import OfflinePlanner
from contracts.enums import DraftKind, Language, RequestType, SGRAction, Source
from contracts.evidence import EvidenceItem
from contracts.ports import DraftRequest, Exchange, PlanRequest
from contracts.spec import ArchitectSpec
from tests.support.ports.probes import Probe
from tests.support.turn import PROFILE

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("How do I restore it?", "it"),
        ("Hello! How do I restore it?", "it"),
        ("How can I completely delete them now?", "them"),
        ("Can I do that?", "that"),
        ("I want to delete this.", "this"),
        ("Is it possible to move it back?", "it"),
        ("Как это удалить?", "это"),
        ("Здравствуйте! Как его восстановить?", "его"),
        ("Как мне её потом включить обратно?", "её"),
        ("Можно ли их удалить?", "их"),
        ("Как удалить это?", "это"),
        ("Can it be deleted?", "it"),
        ("Delete it", "it"),
        ("Please remove them!", "them"),
        ("Его можно удалить?", "его"),
        ("Удали его, пожалуйста", "его"),
    ],
)
def test_a_pronoun_in_the_place_of_the_object_is_a_gap(message: str, word: str) -> None:
    """An action on "it", and nothing that "it" could be, leaves open which object is meant."""
    gap = gap_in(message, TODAY)
    assert gap is not None
    assert (gap.kind, gap.word) == ("object", word)


@pytest.mark.parametrize(
    "message",
    [
        "How do I delete this conversation?",
        "How do I turn it off in the profile?",
        "My index is broken. How do I repair it?",
        "How do I delete a conversation? And how do I restore it?",
        "How do I install it?",
        "How does it work?",
        "Как удалить этот диалог?",
        "Индекс сломан. Как его починить?",
        "Как его установить?",
        "Как это работает?",
        "Can it be trusted?",
        "How is it built?",
        "Where is it stored?",
        "Где он хранится?",
        "Install it",
        "",
    ],
)
def test_what_names_an_object_or_means_the_product_has_no_gap(message: str) -> None:
    """An object in the question, before it, or the product itself, which is what one installs, is enough to look for."""
    assert gap_in(message, TODAY) is None


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("It does not work in the old version", "version"),
        ("Не работает в новой версии", "version"),
        ("Что-то не так со старой версией", "version"),
        ("Something is wrong with the old version", "version"),
        ("Старая версия", None),
        ("It does not work in version 2.1", None),
        ("What is new in the latest version?", None),
        ("How many questions were asked in that period?", "period"),
        ("Сколько вопросов было за тот период?", "period"),
        ("Сколько вопросов было за период с 1 по 5 мая?", None),
        ("How many questions were asked last week?", None),
    ],
)
def test_a_version_or_a_period_that_is_meant_and_not_said_is_a_gap(message: str, kind: str | None) -> None:
    """A symptom in "the old version" without its number, or a figure of "that period" without its days."""
    gap = gap_in(message, TODAY)
    assert (gap.kind if gap else None) == kind


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("topic", [0.0, 0.9])
async def test_the_question_names_the_gap(language: Language, topic: float) -> None:
    """A message with a gap is asked about, however much the documents know of its words, and quotes what is unclear."""
    message, word = {Language.EN: ("How do I clean it?", "“it”"), Language.RU: ("Как его почистить?", "«его»")}[
        language
    ]
    plan = (await OfflinePlanner(Probe(topic), PROFILE).plan(PlanRequest(message, language))).plan
    assert plan.action is SGRAction.CLARIFY
    assert word in (plan.clarification_question or "")
    assert message in (plan.clarification_question or "")
    assert word in plan.uncertainties[0]


@pytest.mark.parametrize(
    ("before", "asked_back"),
    [
        ("What is the lid of a kettle?", False),
        ("Hello!", True),
        ("It does not work", True),
        ("How do I open it?", True),
    ],
)
async def test_a_pronoun_may_stand_for_what_was_spoken_of(before: str, asked_back: bool) -> None:
    """Where an earlier message of the talk named something, "it" may be that, and nothing is asked back."""
    history = (Exchange("user", before), Exchange("assistant", "So it is."))
    plan = (
        await OfflinePlanner(Probe(0.9), PROFILE).plan(PlanRequest("How do I clean it?", Language.EN, history))
    ).plan
    assert (plan.action is SGRAction.CLARIFY) == asked_back


async def test_a_long_question_is_quoted_in_part() -> None:
    """What is asked back stays within the form's bounds, whatever the user wrote."""
    plan = (
        await OfflinePlanner(Probe(0.9), PROFILE).plan(PlanRequest("Hello " * 80 + "! How do I clean it?", Language.EN))
    ).plan
    assert plan.action is SGRAction.CLARIFY
    assert len(plan.clarification_question or "") <= 300


# ----------------------------------------------------------------------------------------------------- the answer to it


@pytest.mark.parametrize(
    "message",
    [
        "How do I boil water?",
        "how do I boil water",
        "Tell me about kettles",
        "Actually, the spout of the kettle",
        "Another question: kettles",
        "Расскажи про чайники",
        "Лучше расскажи про носик чайника",
        "Другой вопрос: носик чайника",
        "как вскипятить воду",
    ],
)
def test_another_subject_stands_alone(message: str) -> None:
    """A question or a request of its own, or what is said to be another subject, is not joined with what was asked."""
    assert stands_alone(message)


@pytest.mark.parametrize(
    "message",
    [
        "a conversation",
        "the lid of the kettle",
        "when I open the lid",
        "I want to see the list",
        "It does not open",
        "Why?",
        "",
        "диалог",
        "когда открываю крышку",
        "что-то с крышкой",
        "как обычно",
        "Где именно?",
    ],
)
def test_an_answer_does_not_stand_alone(message: str) -> None:
    """A name, a part of a sentence, or a message that names no object itself belongs to what was asked."""
    assert not stands_alone(message)


@pytest.mark.parametrize(
    ("asked", "answer", "joined"),
    [
        ("How do I restore it?", "a conversation", "How do I restore a conversation?"),
        ("How do I restore it?", "The catalogue.", "How do I restore The catalogue?"),
        ("Как его восстановить?", "диалог", "Как диалог восстановить?"),
        ("Как удалить это?", "диалог", "Как удалить диалог?"),
        ("It does not open!", "the lid", "It does not open, the lid"),
        ("How do I restore it?", "the one that I have used since last week", None),
        ("How do I install the old version?", "5.2", "How do I install version 5.2?"),
        ("Как обновить старую версию?", "версия 5.2", "Как обновить версия 5.2?"),
        ("How many tickets were there in that period?", "May 2026", "How many tickets were there in May 2026?"),
        ("Сколько заявок было за тот период?", "за май 2026", "Сколько заявок было за май 2026?"),
        ("How do I install the old version?", "the German one", "How do I install the old version, the German one"),
        ("It does not work!", "The import of tables ends with an error", "The import of tables ends with an error"),
        (
            "Не работает",
            "Импорт таблиц заканчивается с ошибкой кодировки файла",
            "Импорт таблиц заканчивается с ошибкой кодировки файла",
        ),
    ],
)
def test_an_answer_takes_the_place_of_what_was_asked_about_or_follows(
    asked: str, answer: str, joined: str | None
) -> None:
    """A name stands where the pronoun stood, a figure where the version or the period did, and what says all where nothing was said."""
    assert join_answer(asked, answer) == (joined or f"{asked.rstrip('?')}, {answer}")


def test_what_is_long_together_stays_two_queries() -> None:
    """A query is cut to 300 characters; an answer must not be what is cut off."""
    asked = "x" * LONGEST_JOINED
    assert join_answer(asked, "the lid") == f"{asked}\nthe lid"


async def queries(message: str, *said: str, clarifications: int) -> list[str]:
    history = tuple(Exchange("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(said))
    request = PlanRequest(message, Language.EN, history, clarifications)
    return (await OfflinePlanner(Probe(0.9), PROFILE).plan(request)).plan.subqueries


async def test_two_answers_in_a_row_join_the_first_question() -> None:
    """After two questions back, the plan has the first message and both answers."""
    found = await queries("made of tin", "It does not open", "What?", "the lid", "Which?", clarifications=2)
    assert found == ["It does not open, the lid, made of tin"]


async def test_a_subject_that_was_changed_in_between_begins_anew() -> None:
    """What was asked before the change is not part of the request that the last answer belongs to."""
    found = await queries(
        "made of tin", "It does not open", "What?", "How do I clean a lid?", "Which?", clarifications=2
    )
    assert found == ["How do I clean a lid, made of tin"]


async def test_earlier_requests_that_were_answered_stay_out() -> None:
    """Only as many messages are joined as questions were asked back in a row."""
    found = await queries("the lid", "What is a kettle?", "A kettle.", "It does not open", "What?", clarifications=1)
    assert found == ["It does not open, the lid"]


@pytest.mark.parametrize(
    "part",
    [
        "can ",
        "how can i do it ",
        "можно ",
        "как это ",
        "новой ",
        "the older ",
        "how    \t",
        "та ",
        "- ",
        "no, ",
        "what is a ",
    ],
)
def test_no_message_takes_long_to_read(part: str) -> None:
    """The longest message that is taken, made of nothing but beginnings, is read within a second."""
    message = (part * 20_000)[:20_000]
    began = time.process_time()
    gap_in(message, TODAY)
    stands_alone(message)
    join_answer(message, "the lid")
    join_answer("How do I open it?", message)
    without_mark(message)
    object_of(message)
    assert time.process_time() - began < 1


# --------------------------------------------------------------------------------------------- answers that name nothing


NAMING_NOTHING = [
    "I don't know",
    "I do not know what you mean",
    "no idea",
    "dunno",
    "not sure",
    "nothing",
    "all of them",
    "the thing",
    "the old one",
    "whatever",
    "yes",
    "не помню",
    "без понятия",
    "понятия не имею",
    "не знаю",
    "я не знаю, что это",
    "всё",
    "что-нибудь",
    "любой",
    "да",
]


@pytest.mark.parametrize("answer", NAMING_NOTHING)
@pytest.mark.parametrize("asked", ["How do I restore it?", "Как это восстановить?"])
async def test_an_answer_that_names_nothing_is_never_searched_for(asked: str, answer: str) -> None:
    """The question stays as it was, and the same is asked once more."""
    assert names_nothing(answer)
    history = (Exchange("user", asked), Exchange("assistant", "What?", "clarification"))
    plan = (await OfflinePlanner(Probe(0.9), PROFILE).plan(PlanRequest(answer, Language.EN, history, 1))).plan
    assert plan.subqueries == [asked]
    assert plan.action is SGRAction.CLARIFY


@pytest.mark.parametrize(
    ("answer", "joined"),
    [
        ("I don't know, maybe a conversation", "How do I restore a conversation?"),
        ("не знаю, может быть, диалог", "How do I restore диалог?"),
        ("a file", "How do I restore a file?"),
    ],
)
def test_a_doubt_before_a_name_is_left_out(answer: str, joined: str) -> None:
    """Who is not sure and names something all the same has named it."""
    assert join_answer("How do I restore it?", answer) == joined


@pytest.mark.parametrize("answer", ["error", "не работает", "it is broken"])
def test_what_is_wrong_takes_no_pronouns_place(answer: str) -> None:
    """A symptom is no object: "How do I restore error?" asks nothing."""
    assert join_answer("How do I restore it?", answer) == "How do I restore it?"


async def test_a_wish_for_a_person_takes_no_pronouns_place() -> None:
    """Who answers a question with such a wish gets a person, who reads what was asked first."""
    history = (Exchange("user", "How do I restore it?"), Exchange("assistant", "What?", "clarification"))
    request = PlanRequest("talk to a human", Language.EN, history, 1)
    plan = (await OfflinePlanner(Probe(0.9), PROFILE).plan(request)).plan
    assert plan.wants_human
    assert plan.subqueries == ["How do I restore it?"]
    assert "How do I restore it?" in plan.user_intent


@pytest.mark.parametrize(
    ("query", "nothing"),
    [
        ("How do I delete it?", True),
        ("Как это удалить?", True),
        ("Help, still broken", True),
        ("Помогите, ошибка, не открывается", True),
        ("Can it be deleted?", True),
        ("How do I delete a conversation?", False),
        ("Can a conversation be deleted?", False),
        ("Where is it stored?", False),
        ("Как удалить диалог?", False),
        ("My index is broken. How do I repair it?", False),
    ],
)
def test_a_query_without_an_object_is_told(query: str, nothing: bool) -> None:
    """Whatever the documents hold for it answers another question."""
    assert asks_of_nothing(query) == nothing


# ---------------------------------------------------------------------------------------------- what a pronoun stands for


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is a profile?", "a profile"),
        ("Hello! What are thresholds?", "thresholds"),
        ("How do I add a profile?", "a profile"),
        ("By the way, where are conversations stored?", "conversations"),
        ("What is the lid of a kettle?", "the lid of a kettle"),
        ("Что такое профиль?", "профиль"),
        ("Как мне создать новый профиль?", "новый профиль"),
        ("Где лежит база знаний?", "база знаний"),
        ("Как работает модерация?", "модерация"),
        ("Which settings are there?", "settings"),
        ("Какие есть настройки?", "настройки"),
        ("What does a profile do?", "a profile"),
        ("How do I add a lookup to a profile?", ""),
        ("What is an index and what is a profile?", ""),
        ("Как добавить документ в индекс?", ""),
        ("What does the Guardian check?", ""),
        ("How do I delete it?", ""),
        ("What is wrong?", ""),
        ("Что это такое?", ""),
        ("", ""),
    ],
)
def test_the_one_object_of_a_question_is_told(question: str, named: str) -> None:
    """What the whole question is about; of two things either may be meant, so neither is."""
    assert object_of(question) == named


async def asked_after(message: str, *said: tuple[str, str]) -> tuple[SGRAction, list[str]]:
    """Plan a message after turns: what the user wrote, and how each ended."""
    history = tuple(
        exchange
        for text, outcome in said
        for exchange in (Exchange("user", text), Exchange("assistant", "So it is.", outcome))
    )
    plan = (await OfflinePlanner(Probe(0.9), PROFILE).plan(PlanRequest(message, Language.EN, history))).plan
    return plan.action, plan.subqueries


@pytest.mark.parametrize(
    ("said", "message", "query"),
    [
        ([("What is a profile?", "answered")], "How do I delete it?", "How do I delete a profile?"),
        ([("Что такое профиль?", "answered")], "Как его удалить?", "Как профиль удалить?"),
        ([("What is a profile?", "answered")], "Where is it stored?", "Where is a profile stored?"),
        ([("What is a profile?", "answered")], "Can it be deleted?", "Can a profile be deleted?"),
        ([("Что такое профиль?", "answered")], "Где он хранится?", "Где профиль хранится?"),
        (
            [("What is a profile?", "answered"), ("Thanks", "answered")],
            "How do I delete it?",
            "How do I delete a profile?",
        ),
        (
            [("What is a profile?", "answered"), ("How do I delete it?", "answered")],
            "How do I restore it?",
            "How do I restore a profile?",
        ),
        (
            [("How do I delete it?", "clarification"), ("a conversation", "answered")],
            "How do I restore it?",
            "How do I restore a conversation?",
        ),
    ],
)
async def test_a_pronoun_is_replaced_by_what_was_spoken_of(
    said: list[tuple[str, str]], message: str, query: str
) -> None:
    """The object of the question that was answered last is searched for, not a word that says nothing."""
    assert await asked_after(message, *said) == (SGRAction.NORMAL, [query])


@pytest.mark.parametrize("message", ["How do I delete it?", "Как это удалить?"])
@pytest.mark.parametrize(
    "said",
    [
        [("Talk to a human", "handed_off")],
        [("Позовите человека", "handed_off")],
        [("How do I bake bread?", "declined")],
        [("What is a profile?", "refused")],
        [("What is a profile?", "answered"), ("What is bread?", "declined")],
        [("How do I add a lookup to a profile?", "answered")],
        [("Спасибо!", "answered")],
    ],
)
async def test_what_was_not_answered_or_is_not_plain_names_nothing(said: list[tuple[str, str]], message: str) -> None:
    """After a turn that was declined or handed over, after thanks, or where two things were named, it is asked about."""
    assert await asked_after(message, *said) == (SGRAction.CLARIFY, [message])


# ------------------------------------------------------------------------------------------------------ another subject


@pytest.mark.parametrize(
    ("message", "query"),
    [
        ("Кстати, как удалить диалог?", "как удалить диалог?"),
        ("Другой вопрос: как удалить диалог?", "как удалить диалог?"),
        ("Ещё вопрос — где лежит индекс?", "где лежит индекс?"),
        ("Ладно, проехали, где лежит индекс?", "где лежит индекс?"),
        ("By the way, how do I delete a conversation?", "how do I delete a conversation?"),
        ("Another question: how do I delete a conversation?", "how do I delete a conversation?"),
        ("Ok, never mind. Where is the index?", "Where is the index?"),
        ("Another question", "Another question"),
        ("Different questions are asked here", "Different questions are asked here"),
        ("Другой вопросительный знак", "Другой вопросительный знак"),
    ],
)
async def test_words_that_announce_another_subject_are_not_searched_for(message: str, query: str) -> None:
    """The documents that speak of "another question" would be found for them."""
    assert without_mark(message) == query
    assert await queries(message, "It does not open", "What?", clarifications=1) == [
        query if stands_alone(message) else f"It does not open, {message}"
    ]


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("How do I delete it?", "To delete everything, delete the data folder."),
        ("Помогите, ошибка, не открывается", "Если страница не открывается, помогите себе сами: ошибка в журнале."),
    ],
)
async def test_what_is_still_open_after_the_last_question_is_not_answered(query: str, page: str) -> None:
    """The drafter then quotes no page, however well its words fit, and the turn ends with a person."""
    item = EvidenceItem(ref="a1", source=Source.DOC, snippet=page, title="Data", confidence=1.0)
    request = DraftRequest(
        question="no idea",
        language=Language.EN,
        request_type=RequestType.TROUBLESHOOTING,
        intent=query,
        subqueries=(query,),
        evidence=(item,),
        spec=ArchitectSpec(),
    )
    assert (await ExtractiveDrafter().draft(request)).kind is DraftKind.ABSTENTION
    named = replace(
        request, subqueries=("How do I delete the data folder?", "Что делать, если страница не открывается?")
    )
    assert (await ExtractiveDrafter().draft(named)).kind is DraftKind.ANSWER


@pytest.mark.parametrize(
    ("message", "queries"),
    [
        ("What is a profile? How do I delete it?", ["What is a profile?", "How do I delete a profile?"]),
        ("Что такое профиль? Как его удалить?", ["Что такое профиль?", "Как профиль удалить?"]),
        (
            "How do profiles and conversations differ? Can it be deleted?",
            ["How do profiles and conversations differ? Can it be deleted?"],
        ),
        (
            "Чем отличаются профили и диалоги? Можно ли его удалить?",
            ["Чем отличаются профили и диалоги? Можно ли его удалить?"],
        ),
    ],
)
async def test_a_pronoun_stands_for_the_one_thing_of_the_question_before_it(message: str, queries: list[str]) -> None:
    """In one message; where that question names two things, none of them is taken."""
    assert await asked_after(message) == (SGRAction.NORMAL, queries)
