"""Honest abstentions in many wordings, and questions that the handbook does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from contracts.enums import DraftKind, Language, RequestType
from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, DraftLabel

_EN, _RU = Language.EN, Language.RU

WORDINGS: Final = {
    _EN: (
        "The knowledge base does not say anything about this.",
        "I could not find an answer in the documentation.",
        "The documents I have do not cover this question.",
        "There is no information about that in the handbook.",
        "I don't know: none of the passages mentions it.",
        "Sorry, the available documents do not answer this.",
        "I have looked through the passages, and none of them says so.",
        "Nothing in the evidence tells me that, so I would rather not guess.",
        "This is not described in the documentation that I can see.",
        "Unfortunately, I cannot answer this from the documents.",
        "The passages found are about something else.",
        "I have found related passages, but not the answer.",
        "The documentation does not state this, one way or the other.",
        "No source here supports an answer.",
        "I can't confirm this from the knowledge base.",
        "My sources are silent on this point.",
        "That goes beyond what the handbook describes.",
        "The handbook has no section on this topic.",
        "I'm not able to say: the evidence is not enough.",
        "I do not have enough information to answer reliably.",
        "What I found does not let me answer with certainty.",
        "There may be an answer, but it is not in the documents that I was given.",
        "The evidence covers the topic only in part and leaves this question open.",
        "None of the documents names such a feature, so I cannot say whether it exists.",
        "I did not find this. It may simply not be documented.",
        "Not documented, as far as I can tell.",
        "No answer found.",
        "I would have to guess, and I prefer not to.",
    ),
    _RU: (
        "В базе знаний об этом ничего не сказано.",
        "Ответа на этот вопрос в документации я не нашёл.",
        "Документы, которые у меня есть, этого не описывают.",
        "В справочнике нет сведений об этом.",
        "Не знаю: ни в одном фрагменте это не упоминается.",
        "К сожалению, доступные документы на этот вопрос не отвечают.",
        "Я просмотрел найденные фрагменты, и ни в одном этого нет.",
        "В найденном нет ответа, а гадать я не хочу.",
        "В документации, которая мне доступна, это не описано.",
        "К сожалению, ответить на это по документам нельзя.",
        "Найденные фрагменты говорят о другом.",
        "Похожие места есть, но ответа в них нет.",
        "Документация об этом умалчивает.",
        "Ни один источник не подтверждает ответа.",
        "Подтвердить это по базе знаний я не могу.",
        "Источники об этом молчат.",
        "Это выходит за рамки справочника.",
        "Раздела на эту тему в справочнике нет.",
        "Сказать не могу: доказательств недостаточно.",
        "У меня недостаточно сведений, чтобы ответить уверенно.",
        "Найденного не хватает для надёжного ответа.",
        "Возможно, ответ где-то есть, но не в тех документах, которые мне доступны.",
        "Тема раскрыта лишь частично, и на этот вопрос ответа нет.",
        "Ни в одном документе такая возможность не названа, поэтому сказать, есть ли она, я не могу.",
        "Этого я не нашёл. Возможно, оно просто не описано.",
        "Насколько я вижу, это не документировано.",
        "Ответ не найден.",
        "Пришлось бы угадывать, а этого я делать не стану.",
    ),
}
FURTHER: Final = {
    _EN: (
        "",
        "",
        "Could you put the question in other words?",
        "Please ask a colleague who runs the installation.",
        "Perhaps another document has it.",
        "If you tell me more, I can look again.",
        "I can pass this on to a person.",
    ),
    _RU: (
        "",
        "",
        "Попробуйте спросить другими словами.",
        "Лучше спросить того, кто отвечает за установку.",
        "Возможно, это есть в другом документе.",
        "Уточните вопрос, и я поищу ещё раз.",
        "Могу передать вопрос человеку.",
    ),
}
QUESTIONS: Final = {
    _EN: (
        "How do I connect Guardian to Microsoft Teams?",
        "What does a licence cost per year?",
        "Can answers be read aloud?",
        "How do I print labels on a Zebra printer?",
        "Who founded the company?",
        "Is there a mobile app for Android?",
        "How do I reset the router in our office?",
        "Does Guardian support French?",
        "Which cloud regions are available?",
        "Can it book a meeting room?",
        "How do I export answers to PowerPoint?",
        "What is the uptime guarantee?",
        "Can I pay by card?",
        "How do I set up single sign-on with Okta?",
        "Is there a plugin for Jira?",
        "Can it transcribe phone calls?",
        "When is the next training course?",
        "How many vacation days do I have left?",
        "Does it work with Elasticsearch?",
        "How do I translate the handbook into Spanish?",
    ),
    _RU: (
        "Как подключить Guardian к Microsoft Teams?",
        "Сколько стоит лицензия на год?",
        "Можно ли прослушать ответ голосом?",
        "Как напечатать этикетки на принтере Zebra?",
        "Кто основал компанию?",
        "Есть ли приложение для Android?",
        "Как перезагрузить роутер в офисе?",
        "Поддерживает ли Guardian французский язык?",
        "Какие есть облачные регионы?",
        "Может ли он забронировать переговорную?",
        "Как выгрузить ответы в PowerPoint?",
        "Какая гарантия доступности сервиса?",
        "Можно ли заплатить картой?",
        "Как настроить единый вход через Okta?",
        "Есть ли плагин для 1С?",
        "Умеет ли он расшифровывать звонки?",
        "Когда следующий курс обучения?",
        "Сколько дней отпуска у меня осталось?",
        "Работает ли он с Elasticsearch?",
        "Как перевести справочник на испанский?",
    ),
}


def abstentions(language: Language, mine: Sequence[EvidenceItem], dice: Random, count: int) -> list[DraftCase]:
    """Return so many abstentions, no two alike, over passages that do not answer their questions."""
    made: list[DraftCase] = []
    texts: set[str] = set()
    while len(made) < count:
        text = f"{dice.choice(WORDINGS[language])} {dice.choice(FURTHER[language])}".strip()
        question = dice.choice(QUESTIONS[language])
        if dice.random() < 0.25:
            text = f"“{question}” – {text}" if language is _EN else f"«{question}» — {text}"
        if text in texts:
            continue
        texts.add(text)
        evidence = tuple(item.ref for item in dice.sample(list(mine), dice.choice((0, 1, 2, 3, 4, 5))))
        made.append(
            DraftCase(
                id="new",
                language=language,
                label=DraftLabel.ABSTENTION,
                question=question,
                request_type=dice.choice((RequestType.KNOWLEDGE_QA, RequestType.HOWTO_POLICY)),
                evidence=evidence,
                draft=text,
                draft_kind=DraftKind.ABSTENTION,
            )
        )
    return made
