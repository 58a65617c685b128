"""Faulty drafts: a good one and one edit that makes it wrong in a known way.

The label comes of how the edit is made, never of what a guard says. A number or a name is only changed into one that
the claim's passages do not bear out; examples are left alone, for another example may be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Final

from contracts.enums import Language, RequestType
from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, DraftLabel, Edit
from tools.making.good import HEADINGS
from tools.making.shapes import SHAPES, Shape

_EN = Language.EN
_FENCE = re.compile(r"^[ \t]*```.*?^[ \t]*```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_CITE = re.compile(r"\[(\d+)\]")
_EXAMPLE = re.compile(
    r"for example|for instance|e\.g\.|such as|like this|like `|looks like|as in|say,|например|к примеру|таки[ехм]и? как|скажем|так:|вроде|скажем|как в|примеры?:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CitedDraft:
    """A good draft with what its claims cite."""

    case: DraftCase
    passages: tuple[EvidenceItem, ...]

    @property
    def text(self) -> str:
        """The draft."""
        return self.case.draft

    def cited(self) -> str:
        """Return all text of the passages that the draft cites."""
        numbers = {int(number) for number in _CITE.findall(self.text)}
        return "\n".join(_all_of(self.passages[n - 1]) for n in sorted(numbers) if n <= len(self.passages))

    def uncited(self) -> str:
        """Return all text of the passages that are there and not cited."""
        numbers = {int(number) for number in _CITE.findall(self.text)}
        return "\n".join(_all_of(item) for n, item in enumerate(self.passages, 1) if n not in numbers)

    def edit(self, start: int, end: int, new: str) -> Edit | None:
        """Return an edit of a place, with as much around it as makes it stand once."""
        text = self.text
        left, right = start, end
        while left > 0 and not text[left - 1].isspace():
            left -= 1
        while right < len(text) and not text[right].isspace():
            right += 1
        while text.count(text[left:right]) > 1:
            if right < len(text):
                right += 1
                while right < len(text) and not text[right].isspace():
                    right += 1
            elif left > 0:
                left -= 1
                while left > 0 and not text[left - 1].isspace():
                    left -= 1
            else:
                return None
        old = text[left:right]
        return Edit(old=old, new=text[left:start] + new + text[end:right])

    def prose(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are no heading, no code and no line of a table's frame, with their places."""
        fenced = [found.span() for found in _FENCE.finditer(self.text)]
        at = 0
        for line in self.text.splitlines(keepends=True):
            start, at = at, at + len(line)
            if (
                any(begin <= start < end for begin, end in fenced)
                or line.startswith("#")
                or re.match(r"\|[\s|-]*$", line)
            ):
                continue
            yield start, line.rstrip("\n")

    def claims(self) -> Iterator[tuple[int, str]]:
        """Yield the sentences and items that carry a citation, with their places; examples are left out."""
        for start, line in self.prose():
            at = 0
            for part in re.split(r"(?<=\])(?=[.:;]?[ ])|(?<=\][.:;])", line):
                if _CITE.search(part) and not _EXAMPLE.search(part):
                    yield start + at, part
                at += len(part)


def _without_quotes(text: str) -> str:
    """Return a text with what stands in quotation marks made unreadable, every character in its place."""
    return re.sub(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“]*“", lambda found: "#" * len(found.group()), text)


def _all_of(item: EvidenceItem) -> str:
    return f"{item.title}\n{item.heading}\n{item.snippet}"


NUMBER_WORDS: Final = 6
"""Wrong numbers, of those of one language, that are written as words."""
Found = tuple[Edit, str]
"""An edit and a note on its kind."""


# --------------------------------------------------------------------------------------------------------- numbers

_NUMBER = re.compile(
    r"(?<![\w.,/:+#@=-])(?:\d{1,3}(?:[ ,\u00a0\u202f]\d{3})+|\d+[.,]\d+|\d+)(?![\w/@]|:\d|[.,-]\d|[ \u00a0\u202f]\d{3}\b|-[a-zа-я])"
)
_ANY_NUMBER = re.compile(r"\d{1,3}(?:[ ,\u00a0\u202f]\d{3})+|\d+[.,]\d+|\d+")
_WORDS: Final = {
    _EN: {"2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight", "10": "ten"},
    Language.RU: {"2": "дв", "3": "тр", "4": "четыр", "5": "пят", "6": "шест", "7": "сем", "8": "вос", "10": "десят"},
}
_UNITS: Final = {
    _EN: {
        "seconds": ("minutes", "hours"),
        "s": ("min", "ms"),
        "minutes": ("hours", "seconds"),
        "MB": ("GB", "KB"),
        "characters": ("words", "lines"),
        "milliseconds": ("seconds",),
        "days": ("weeks", "hours"),
        "lines": ("pages", "characters"),
        "passages": ("documents",),
        "bytes": ("megabytes",),
        "words": ("characters",),
        "rows": ("tables",),
        "%": (" seconds",),
    },
    Language.RU: {
        "секунд": ("минут", "часов"),
        "с": ("мин", "мс"),
        "минут": ("часов", "секунд"),
        "МБ": ("ГБ", "КБ"),
        "символов": ("слов", "строк"),
        "миллисекунд": ("секунд",),
        "дней": ("часов", "месяцев"),
        "строк": ("страниц", "символов"),
        "фрагментов": ("документов",),
        "байт": ("мегабайт",),
        "слов": ("символов",),
    },
}


def wrong_numbers(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Change a number, a version, a date or a unit into one that the cited passages do not have."""
    cited = told.cited()
    there = {_plain(number) for number in _ANY_NUMBER.findall(cited)}
    there |= {number for number, word in _WORDS[told.case.language].items() if word in cited.lower()}
    for start, part in told.claims():
        masked = _CODE.sub(lambda found: "x" * len(found.group()), part)
        masked = _without_quotes(masked)
        masked = re.sub(r"^\s*\d+[.)]|\[\d+\]", lambda found: "x" * len(found.group()), masked)
        for found in _NUMBER.finditer(masked):
            at = start + found.start()
            if (unit := _other_unit(found, masked, start, told, dice)) is not None:
                yield unit
            elsewhere = dice.random() < 0.3 and _from_elsewhere(found.group(), told, there, dice)
            new = elsewhere or _other_number(found.group(), there, dice)
            if new and (edit := told.edit(at, at + len(found.group()), new)):
                yield edit, "a number of another passage" if elsewhere else _kind_of(found.group(), masked)


def _kind_of(number: str, claim: str) -> str:
    if re.search(rf"(?:Python|version|верси\w+|SQLite|PostgreSQL) {re.escape(number)}", claim):
        return "version"
    if re.search(rf"{re.escape(number)} ?%", claim):
        return "percentage"
    if re.search(rf"{re.escape(number)}[–-]\d|\d[–-]{re.escape(number)}|(?:to|до|and|и) {re.escape(number)}", claim):
        return "range"
    return "decimal" if re.search(r"\d[.,]\d+$", number) else "number"


def _plain(number: str) -> str:
    text = re.sub(r"[ \u00a0\u202f]", "", number)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        text = text.replace(",", "")
    text = text.replace(",", ".")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.lstrip("0") or "0"


def _other_number(number: str, there: set[str], dice: Random) -> str:
    if re.fullmatch(r"\d+[.,]\d{1,2}", number):
        whole, sign, part = number.partition("." if "." in number else ",")
        if number.startswith("3.1"):
            # A version, not a share: of Python, mostly.
            news = [new for new in ("3.8", "3.9", "3.10", "3.14", "2.7") if _plain(new) not in there]
            return dice.choice(news) if news else ""
        step = 10 ** len(part)
        value = int(whole) * step + int(part)
        options = [value + change for change in (-3, -2, -1, 1, 2, 3, 5, step) if value + change > 0]
        news = [f"{option // step}{sign}{option % step:0{len(part)}}" for option in options]
    else:
        value = int(re.sub(r"\D", "", number))
        near = [value * 2, value * 3, value * 10, value // 2, value + value // 10 + 1]
        near += [value + 1, value + 2, value + 3, value - 1, value + 5] if value < 100 else []
        news = [_group_digits(option, number) for option in near if option > 1 and option != value]
    news = [new for new in news if _plain(new) not in there]
    return dice.choice(news) if news else ""


def _group_digits(value: int, like: str) -> str:
    sign = re.search(r"[ ,\u00a0\u202f]", like)
    return f"{value:,}".replace(",", sign.group()) if sign else str(value)


def _from_elsewhere(number: str, told: CitedDraft, there: set[str], dice: Random) -> str:
    others = [found for found in _ANY_NUMBER.findall(told.uncited()) if _plain(found) not in there]
    alike = [
        found
        for found in others
        if not re.match(r"0(?![.,])", found) and len(found) <= len(number) + 1 and ("." in found) == ("." in number)
    ]
    return dice.choice(alike) if alike and not number.startswith("0") else ""


def _other_unit(found: re.Match[str], claim: str, start: int, told: CitedDraft, dice: Random) -> Found | None:
    units = _UNITS[told.case.language]
    named = re.match(r"[ \u00a0]?(%|[A-Za-zА-Яа-я]+)\b", claim[found.end() :])
    unit = named.group(1) if named else ""
    if (
        named is None
        or unit not in units
        or (told.case.language is Language.RU and int(found.group()[-1]) in (1, 2, 3, 4))
    ):
        return None
    new = dice.choice(units[unit])
    if re.search(rf"\b{new.strip()}\b", told.cited()) and new in ("s", "с", "ms", "мс"):
        return None
    if dice.random() < 0.35:
        return None
    at = start + found.end() + named.start(1)
    edit = told.edit(at, at + len(unit), new)
    return (edit, "unit") if edit else None


def number_words(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Change a number that is written as a word."""
    words = {
        _EN: ("two", "three", "four", "five", "six", "seven", "ten", "twenty"),
        Language.RU: ("двух", "трёх", "четырёх", "пяти", "шести", "семи", "десяти"),
    }[told.case.language]
    cited = told.cited().lower()
    for start, part in told.claims():
        for found in re.finditer(r"\b(?:" + "|".join(words) + r")\b", part):
            free = [word for word in words if word not in cited]
            if free and (edit := told.edit(start + found.start(), start + found.end(), dice.choice(free))):
                yield edit, "number word"


# -------------------------------------------------------------------------------------------------------- entities

_GROUPS: Final[tuple[tuple[str, ...], ...]] = (
    ("GUARD_MODE", "GUARD_TIMEOUT", "GUARD_MAX_RETRIES", "GUARD_ENABLED", "GUARDIAN_DATA_DIR", "GUARDIAN_MODEL"),
    ("GUARDIAN_PLANNER_MODEL", "GUARDIAN_DRAFTER_MODEL", "GUARDIAN_MODEL_TIMEOUT", "GUARDIAN_PLAN_TOKENS"),
    ("GUARDIAN_EMBED_URL", "GUARDIAN_EMBED_KEY", "GUARDIAN_GRAPH_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    (
        "RETRIEVE_MORE", "ADD_EVIDENCE", "DIVERSIFY_SOURCES", "REFINE_QUERY", "RETRIEVE_DOC", "RETRIEVE_DB", "USE_DB_ONLY",
        "REMOVE_DOC_EVIDENCE", "ADD_REQUIRED_SECTIONS", "REMOVE_FORBIDDEN_CONTENT", "USE_DOMAIN_TERMS", "REGENERATE_DRAFT",
        "ADD_EVIDENCE_REFERENCES", "ASK_MINIMAL_QUESTION", "SAFE_REFUSAL", "REDACT_SENSITIVE", "ESCALATE_TO_HUMAN",
    ),
    (
        "STATUS_METRIC", "STATUS_SUMMARY", "STATUS_LIST", "HOWTO_POLICY", "DESIGN_ARCH", "DATA_DEFINITION", "TROUBLESHOOTING",
        "KNOWLEDGE_QA", "CASUAL",
    ),
    (
        "sgr_plan", "inject_synthetic", "retrieve", "guardian_verify", "retry_bump", "finalize", "safe_exit",
    ),
    (
        "max_retry", "top_k", "min_evidence", "max_clarifications", "knowledge_track", "guard_mode", "block_threshold",
        "on_unavailable", "source_seconds", "context_budget", "plan_trace", "search_by", "default_version", "kb_ids_from",
        "allowed_link_domains", "synonyms",
    ),
    ("spam_threshold", "confidence_threshold", "evidence_threshold", "mean_confidence_enforced", "norm_midpoint"),
    ("--json", "--path", "--quiet", "--lang", "--profile", "--thread", "--role", "--explain", "--version", "--id"),
    ("guardian ask", "guardian chat", "guardian index", "guardian search", "guardian doctor", "guardian fake-model"),
    ("guardian threads list", "guardian threads show", "guardian threads resume", "guardian threads delete"),
    ("guardian show settings", "guardian show tables", "guardian show graph"),
    ("make install", "make demo", "make check", "make eval"),
    ("DT-001", "DT-002", "DT-003", "DT-004", "DT-005", "DT-006", "DT-007"),
    ("threads.db", "knowledge.db", "models.json", "requirements.lock", "langgraph.json"),
    ("PASS", "RETRY", "FAIL"),
    ("QUALITY", "FAST"),
    ("Unsafe", "Controversial", "Safe"),
    ("enforce", "report"),
    ("Block", "Continue"),
    ("guardian_block", "clarify", "block", "normal"),
    ("PostgreSQL", "SQLite", "Qdrant", "Neo4j", "MySQL"),
    ("vLLM", "llama.cpp", "Ollama", "LM Studio", "OpenRouter"),
    ("doc", "policy", "db", "neo4j"),
    ("user", "operator"),
    ("ThreadBusy", "TurnFailed", "ConfigError", "SourceUnavailable"),
    ("retrieved", "planned", "declined", "refused", "handed_off", "answered", "clarification"),
    ("standard output", "standard error"),
    ("стандартный вывод", "поток ошибок"),
)  # fmt: skip
_ALIKE: Final = (frozenset({"guardian ask", "guardian chat"}), frozenset({"make install", "make demo"}))
"""Names of which much the same can be said."""
_DENIES: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|neither|cannot|without|не|ни|нет|нельзя|никогда|ничего|никто|без|никуда)\b|n't\b",
    re.IGNORECASE,
)
_BOUNDS: Final = re.compile(r"не (?:более|больше|менее|меньше)|no (?:more|fewer) than", re.IGNORECASE)
_BARE_TOO: Final = re.compile(r"[A-Z]|_|-|standard|станд|поток")


def swapped_entities(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Put another name of the same kind for one that a claim has."""
    cited = told.cited()
    for start, claim in told.claims():
        if _DENIES.search(_BOUNDS.sub("", claim)):
            # What one thing does not do, another mostly does not do either.
            continue
        part = _without_quotes(claim)
        for group in _GROUPS:
            named = [name for name in group if _places(name, part)]
            if len(named) != 1 or len(places := _places(named[0], part)) != 1 or named[0] == "make install":
                continue
            old = named[0]
            others = [name for name in group if name != old and frozenset({old, name}) not in _ALIKE]
            far = [name for name in others if not _places(name, cited)]
            new = dice.choice(far) if far and dice.random() < 0.75 else dice.choice(others)
            begin = start + places[0]
            if edit := told.edit(begin, begin + len(old), new):
                yield edit, "a name of the same passage" if _places(new, cited) else "a name from elsewhere"


def _places(name: str, text: str) -> list[int]:
    """Return where a name stands; one that is an ordinary word counts in code only."""
    around = r"(?<![\w-])" + re.escape(name) + r"(?![\w-])"
    if not _BARE_TOO.search(name):
        around = r"(?<=`)" + re.escape(name) + r"(?=`)"
    elif name.startswith("--"):
        around = re.escape(name) + r"(?![\w-])"
    elif name.startswith("guardian"):
        around = r"(?<=`)" + re.escape(name) + r"(?![\w-]| [a-z])"
    return [found.start() for found in re.finditer(around, text)]


# ------------------------------------------------------------------------------------------------------- negations

_OUT: Final[dict[Language, tuple[tuple[str, str], ...]]] = {
    _EN: (
        (r"\bcannot\b", "can"),
        (r"\bcan't\b", "can"),
        (r"\b(is|are|was|does|do|has|may|must|need) not\b", r"\1"),
        (r"\b(is|are|does|do)n't\b", r"\1"),
        (r"\bis never\b", "is always"),
        (r"\bare never\b", "are always"),
        (r"\bnever\b", "always"),
        (r"\bneeds no\b", "needs a"),
    ),
    Language.RU: (
        (r"\bнельзя\b", "можно"),
        (r"\bникогда не\b", "всегда"),
        (r"(?<!или )(?<!чтобы )(?<!кроме )\bне (?=[а-яё]+(?:ется|ются|ает|ают|яет|ит|ят|ует|уют|ёт|ен|ны|но)\b)", ""),
        (r"\bне нужн(ы|а|о)\b", r"нужн\1"),
        (r"\bнет\b", "есть"),
    ),
}  # fmt: skip
_IN: Final[dict[Language, tuple[tuple[str, str], ...]]] = {
    _EN: (
        (r"\b(must|should)(?= [a-z])", r"\1 not"),
        (r"\bhas to be\b", "need not be"),
        (r"\b(can|may) (?=[a-z]+)", r"\1 not "),
        (
            r"\b(is|are) (?=(?:read|kept|stored|sent|shown|cited|asked|searched|written|checked|judged|refused|counted)\b)",
            r"\1 not ",
        ),
        (r"\balways\b", "never"),
    ),
    Language.RU: (
        (r"\bможно\b(?! ли\b)", "нельзя"),
        (r"\bнужн(ы|а|о)\b", r"не нужн\1"),
        (r"\b(должен|должна|должны|обязан)\b", r"не \1"),
        (r"\bвсегда\b", "никогда не"),
        (r"\b(может|могут)\b", r"не \1"),
        (
            r"\b((?:чита|хран|показыва|проверя|отправля|учитыва|сохраня|использу)[еи]тся|(?:печата|показыва|чита)ет|хранит)\b",
            r"не \1",
        ),
    ),
}
_TWICE: Final = re.compile(
    r"\b(?:ни|никто|ничего|никогда|никак\w*|никуда|нигде|neither|nor|nobody|nothing)\b", re.IGNORECASE
)
"""Beside these, one negation less leaves no sentence that says the contrary."""
_BLURS: Final = re.compile(
    r"\b(?:whether|before|how many|how much|at most|at least|up to|only|alone|else|сколько|ли|только|лишь|прежде|пока|до того"
    r"|больше|меньше|более|менее|максимум|минимум)\b",
    re.IGNORECASE,
)
"""Beside these, one negation more may leave what is said as true as it was."""


def negations(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Put a negation in, or take one out."""
    for start, part in told.claims():
        masked = _CODE.sub(lambda found: "#" * len(found.group()), part)
        masked = _without_quotes(masked)
        flips = () if _TWICE.search(masked) else _OUT[told.case.language]
        if not _DENIES.search(masked) and not _BLURS.search(masked):
            flips += _IN[told.case.language]
        ways = [(found, new) for pattern, new in flips for found in re.finditer(pattern, masked)]
        if not ways:
            continue
        found, new = dice.choice(ways)
        text = found.expand(new).replace("can not ", "cannot ")
        if edit := told.edit(start + found.start(), start + found.end(), text):
            yield edit, f"{found.group().strip()} → {text.strip()}"


# ------------------------------------------------------------------------------------------------------- citations


def invented_citations(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Cite what is not there: in the place of a citation, or beside it."""
    count = len(told.passages)
    marks = [(start + found.start(), found) for start, part in told.claims() for found in _CITE.finditer(part)]
    if marks:
        at, found = dice.choice(marks)
        number = dice.choice((count + 1, count + 1, count + 2, count + 5, 12, 42, 99))
        beside = dice.random() < 0.3
        new = f"{found.group()}[{number}]" if beside else f"[{number}]"
        if edit := told.edit(at, at + len(found.group()), new):
            yield edit, "beside a right one" if beside else "instead of a right one"


def missing_citations(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Take the only citation from a claim."""
    claims = [
        (start, part)
        for start, part in told.claims()
        if len(_CITE.findall(part)) == 1 and len(part) > 45 and "|" not in part and not part.rstrip().endswith(":")
    ]
    if not claims:
        return
    start, part = dice.choice(claims)
    found = re.search(r" ?\[\d+\]", part)
    if found and (edit := told.edit(start + found.start(), start + found.end(), "")):
        yield edit, "one of several" if len(_CITE.findall(told.text)) > 1 else "the only one"


# -------------------------------------------------------------------------------------------------------- contract


def missing_sections(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Take away the heading that the request type needs, or put another in its place."""
    known = HEADINGS.get((told.case.request_type, told.case.language), ())
    found = re.match(r"(#{1,6} )([^\n]+)\n\n", told.text)
    if found is None or found.group(2) not in known:
        return
    if len(re.findall(r"^#{1,6} ", told.text, re.MULTILINE)) > 1:
        return
    others = {_EN: ("Overview", "Summary", "Answer"), Language.RU: ("Обзор", "Кратко", "Ответ")}[told.case.language]
    way = dice.random()
    if way < 0.55:
        yield Edit(old=found.group(), new=""), "taken away"
    elif way < 0.8:
        yield Edit(old=found.group(), new=f"{found.group(1)}{dice.choice(others)}\n\n"), "another heading"
    else:
        yield Edit(old=found.group(), new=f"{found.group(2)}:\n\n"), "in running text"


_FORBIDDEN: Final = {
    _EN: (
        "As an AI language model, I would put it like this: {}",
        "As an AI language model I have no access to your machine, but {}",
        "Speaking as an AI language model: {}",
        "Please note that, as an AI language model, I only repeat the documents: {}",
        "AS AN AI LANGUAGE MODEL, I RECOMMEND: {}",
        "as an AI language model, I suggest the following: {}",
    ),
    Language.RU: (
        "Как языковая модель, я бы сказала так: {}",
        "Как языковая модель я не имею доступа к вашему компьютеру, но {}",
        "Я, как языковая модель, могу лишь пересказать документы: {}",
        "Отвечаю как языковая модель: {}",
        "КАК ЯЗЫКОВАЯ МОДЕЛЬ, Я СОВЕТУЮ: {}",
        "As an AI language model, {}",
    ),
}


def forbidden_phrases(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Begin a claim with a phrase that the profile forbids."""
    if told.case.request_type is not RequestType.HOWTO_POLICY:
        return
    claims = [(start, part) for start, part in told.claims() if len(part) > 20]
    if not claims:
        return
    start, part = dice.choice(claims)
    marker = re.match(r"\s*(?:\d+[.)]|[-*])?\s*", part)
    begin = start + (marker.end() if marker else 0)
    word = re.match(r"\S+", told.text[begin:])
    if word is None:
        return
    first = word.group()
    lowered = first if first[:1] in "`*" or first[:2].isupper() else first[:1].lower() + first[1:]
    if edit := told.edit(begin, begin + len(first), dice.choice(_FORBIDDEN[told.case.language]).format(lowered)):
        yield edit, "a forbidden phrase"


# ---------------------------------------------------------------------------------------------------------- policy


def add_shape(label: DraftLabel) -> Callable[[CitedDraft, Random], Iterator[Found]]:
    """Return what adds a value of a shape that no answer may have, in a cited sentence or in code."""

    def add(told: CitedDraft, dice: Random) -> Iterator[Found]:
        shape: Shape = dice.choice(SHAPES[label])
        value, sentence = shape.make(dice), dice.choice(shape.sentences[told.case.language])
        mark = f"[{dice.choice(_CITE.findall(told.text))}]"
        said = sentence.format(value=value, mark=mark)
        text = told.text
        joined = (
            "\n\n"
            if text.rstrip()[-1] in "`|" or "\n" in said or re.search(r"\n\s*(?:[-*]|\d+\.) [^\n]*$", text)
            else " "
        )
        end = len(text)
        start = max(text.rfind("\n", 0, end - 1), text.rfind(" ", 0, end - 1)) + 1
        if edit := told.edit(start, end, text[start:end] + joined + said):
            yield edit, shape.name

    return add


def thin_evidence(told: CitedDraft, dice: Random) -> tuple[tuple[str | EvidenceItem, ...], str] | None:
    """Return evidence that is too little or too weak, where the draft cites nothing but its first passage."""
    if {int(number) for number in _CITE.findall(told.text)} != {1}:
        return None
    first = told.passages[0]
    if dice.random() < 0.6 or len(first.snippet) > 900:
        return (first.ref,), "one passage"
    return (first.model_copy(update={"confidence": round(dice.uniform(0.5, 0.58), 2)}),), "one weak passage"


FAULTS: Final[dict[DraftLabel, Callable[[CitedDraft, Random], Iterable[Found]]]] = {
    DraftLabel.WRONG_NUMBER: wrong_numbers,
    DraftLabel.SWAPPED_ENTITY: swapped_entities,
    DraftLabel.NEGATION: negations,
    DraftLabel.INVENTED_CITATION: invented_citations,
    DraftLabel.MISSING_CITATION: missing_citations,
    DraftLabel.MISSING_SECTION: missing_sections,
    DraftLabel.FORBIDDEN_PHRASE: forbidden_phrases,
    DraftLabel.LEAKED_SECRET: add_shape(DraftLabel.LEAKED_SECRET),
    DraftLabel.PERSONAL_DATA: add_shape(DraftLabel.PERSONAL_DATA),
    DraftLabel.FOREIGN_LINK: add_shape(DraftLabel.FOREIGN_LINK),
}


def faulty_drafts(
    label: DraftLabel,
    good: Sequence[DraftCase],
    passages: Mapping[str, EvidenceItem],
    seed: str,
    count: int,
    dropped: frozenset[str],
) -> list[DraftCase]:
    """Return so many drafts with one fault, each of another good one.

    `seed` is that of their order; each has dice of its own, so that dropping one changes no other. `dropped` are the
    bases whose edit turned out to be doubtful when it was read.
    """
    made: list[DraftCase] = []
    words = 0
    for told in shuffle(good, passages, seed):
        base, dice = told.case, _dice(f"{seed} {told.case.id}")
        found = [*FAULTS[label](told, dice)]
        if label is DraftLabel.WRONG_NUMBER and not found and words < NUMBER_WORDS:
            found = [*number_words(told, dice)]
            words += bool(found)
        found = [one for one in found if one[0].old != one[0].new and told.text.count(one[0].old) == 1]
        if not found or base.id in dropped:
            continue
        edit, note = dice.choice(found)
        made.append(DraftCase(id="new", language=base.language, label=label, base=base.id, edits=(edit,), note=note))
        if len(made) == count:
            break
    return made


def thin_drafts(
    good: Sequence[DraftCase], passages: Mapping[str, EvidenceItem], seed: str, count: int
) -> list[DraftCase]:
    """Return so many good drafts whose evidence is too thin."""
    made: list[DraftCase] = []
    for told in shuffle(good, passages, seed):
        if thin := thin_evidence(told, _dice(f"{seed} {told.case.id}")):
            evidence, note = thin
            fields = {"id": "new", "language": told.case.language, "label": DraftLabel.THIN_EVIDENCE, "note": note}
            made.append(DraftCase.model_validate({**fields, "base": told.case.id, "evidence": evidence}))
        if len(made) == count:
            break
    return made


def shuffle(good: Sequence[DraftCase], passages: Mapping[str, EvidenceItem], seed: str) -> list[CitedDraft]:
    """Return good drafts with their passages, in the order of a seed."""
    bases = sorted(good, key=lambda base: sha256(f"{seed} {base.id}".encode()).digest())
    return [CitedDraft(base, tuple(passages[str(ref)] for ref in base.evidence)) for base in bases]


def _dice(seed: str) -> Random:
    return Random(seed)  # nothing secret is drawn
