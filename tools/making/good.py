"""Good drafts: what a passage says, told as a model would, each claim with its citation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from contracts.enums import Language, RequestType, Source
from contracts.evidence import EvidenceItem
from evals.cases import DraftCase, DraftLabel
from evals.copies.pieces import CopyPiece, PieceKind, pieces
from evals.copies.rewriting import rewrite

_T = RequestType
_K = PieceKind
_EN = Language.EN

HEADINGS: Final = {
    (_T.HOWTO_POLICY, _EN): ("What to do", "What to do", "Steps", "Instructions"),
    (_T.HOWTO_POLICY, Language.RU): ("Что сделать", "Что сделать", "Шаги", "Порядок действий", "Инструкция"),
    (_T.TROUBLESHOOTING, _EN): ("What to check", "Cause", "Remedy"),
    (_T.TROUBLESHOOTING, Language.RU): ("Что проверить", "Причина", "Решение", "Проверка"),
}
"""Headings that the handbook's profile counts as the section that a request type must have."""
_INTROS: Final = {
    _EN: (
        ("Here is what the documentation says:", "According to the documentation:", "From the handbook:"),
        ("In short:", "Briefly:", "To sum it up:"),
        ("Here is how it works:", "It works like this:", "Thanks for asking!"),
        ("Short answer:", "The answer in brief:", "Good question!"),
        ("Sure:", "Of course!", "Sure, here you go:"),
    ),
    Language.RU: (
        ("Вот что сказано в документации:", "По документации:", "Согласно справочнику:"),
        ("Коротко:", "Вкратце:", "Если в двух словах:"),
        ("Вот как это устроено:", "Это работает так:", "Спасибо за вопрос! Вот ответ:"),
        ("Если кратко:", "Короткий ответ:", "Хороший вопрос!"),
        ("Конечно:", "Разумеется!", "Да, конечно, вот ответ:"),
    ),
}
"""Words before an answer that say nothing, in groups; which one of a group falls by the length of what follows."""
_CLOSINGS: Final = {
    _EN: (
        ("I hope this helps!", "Hope that helps.", "I hope that answers your question."),
        (
            "Let me know if you have any questions.",
            "Feel free to ask if anything is unclear.",
            "Just ask if you need more.",
        ),
        ("Happy to help!", "Good luck!", "Have a nice day!"),
    ),
    Language.RU: (
        ("Надеюсь, это поможет!", "Надеюсь, я ответил на ваш вопрос.", "Надеюсь, так понятнее."),
        (
            "Если останутся вопросы, пишите.",
            "Если что-то непонятно, спрашивайте.",
            "Если нужны подробности, дайте знать.",
        ),
        ("Обращайтесь!", "Удачи!", "Хорошего дня!"),
    ),
}
_TABLE_LEADS: Final = {
    _EN: ("The rows that matter here", "From the table in the handbook", "In table form"),
    Language.RU: ("Нужные строки таблицы", "Из таблицы справочника", "В виде таблицы"),
}
_ASKS = re.compile(
    r"^(?:how|what|which|where|when|why|who|is|are|can|does|do|may|will|как|что|какие|какой|какая|какое|каких|где|когда"
    r"|почему|зачем|кто|чем|сколько|можно|нужн|есть|на|в как|куда|откуда|из чего|с чем|о чём|от чего)",
    re.IGNORECASE,
)
_HOW = re.compile(r"^(?:how (?:do|to|can)\b|как\b)", re.IGNORECASE)
_DEFINES = re.compile(r"^(?:what (?:is|are|does .* mean)\b|что (?:такое|значит))", re.IGNORECASE)
MOST_CHARS: Final = 1100


@dataclass(slots=True)
class _DraftInTheMaking:
    """A draft in the making: its blocks, the passages it cites, and how it was made."""

    language: Language
    dice: Random
    recipe: str
    cites: list[str] = field(default_factory=list[str])
    blocks: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    after: bool = False
    """Whether a citation stands behind the full stop."""

    def mark(self, ref: str) -> str:
        """Return a stand-in for the citation of a passage; its number is known when the evidence is put in order."""
        if ref not in self.cites:
            self.cites.append(ref)
        return f"[#{self.cites.index(ref)}]"

    def told(self, text: str, ref: str) -> str:
        """Return a sentence, rewritten, with its citation."""
        text, names = rewrite(text, self.language, self.dice)
        self.names += names
        if self.dice.random() < 0.08 and (bold := re.sub(r"(`[^`\n]+`)", r"**\1**", text, count=1)) != text:
            text = bold
            self.names.append("bold")
        return self.cited(text, ref)

    def cited(self, text: str, ref: str) -> str:
        """Return a sentence or an item with its citation; of an item with code in it, its first line has it."""
        first, line, rest = text.partition("\n")
        mark = self.mark(ref)
        ending = re.search(r"[.:;!]$", first)
        if ending is None:
            return f"{first} {mark}{line}{rest}"
        if self.after and ending.group() == ".":
            return f"{first} {mark}{line}{rest}"
        return f"{first[:-1]} {mark}{ending.group()}{line}{rest}"


def good_drafts(language: Language, passages: Mapping[str, EvidenceItem], dice: Random, count: int) -> list[DraftCase]:
    """Return so many good drafts over the passages of one language, mixed by how they are made."""
    mine = [item for item in passages.values() if item.language is language]
    there = [piece for item in mine for piece in pieces(item)]
    dice.shuffle(there)
    of = {kind: [piece for piece in there if piece.kind is kind] for kind in PieceKind}
    shares = {
        "steps": of[_K.STEPS][:76],
        "code": of[_K.CODE][:64],
        "bullets": of[_K.BULLETS],
        "table": of[_K.TABLE][:50],
        "rows": of[_K.TABLE][40:],
        "list of sentences": [piece for piece in of[_K.PROSE] if len(piece.parts) > 1][:50],
        "two passages": [piece for piece in of[_K.PROSE] if len(piece.parts) == 1][:110],
        "quotation": [piece for piece in of[_K.PROSE] if len(piece.parts) > 1][50:],
    }
    made: list[DraftCase] = []
    told: set[str] = set()
    for recipe, chosen in shares.items():
        room = count - len(made) if recipe == "quotation" else len(chosen)
        for piece in chosen:
            if room <= 0:
                break
            draft = _DraftInTheMaking(language, dice, recipe, after=dice.random() < 0.25)
            question, request_type = _question(piece, recipe, language)
            _write(draft, piece, of[_K.PROSE] + of[_K.TABLE], request_type)
            case = _case(draft, question, request_type, mine)
            bare = re.sub(r"\W+", "", case.draft)
            if bare in told or not 60 <= len(case.draft) <= MOST_CHARS:
                continue
            told.add(bare)
            room -= 1
            made.append(case)
    return [case.model_copy(update={"id": f"{language}-good-{n:03}"}) for n, case in enumerate(made, 1)]


def _question(piece: CopyPiece, recipe: str, language: Language) -> tuple[str, RequestType]:
    heading = re.sub(r"\s*\([^()]*\)", "", piece.heading).replace("`", "").strip()
    asks = heading.rstrip("?").split("?")[0].strip()
    if not _ASKS.match(asks):
        asks = f"What should I know about this: {asks}" if language is _EN else f"Что нужно знать про это: {asks}"
    question = f"{asks}?"
    if "troubleshooting" in piece.ref or "doctor" in piece.ref:
        return question, _T.TROUBLESHOOTING
    if recipe == "steps" or (recipe == "code" and _HOW.match(question)):
        return question, _T.HOWTO_POLICY
    if _DEFINES.match(question):
        return question, _T.DATA_DEFINITION
    if any(name in piece.ref for name in ("how-a-turn-works", "beyond-one", "planning", "drafting")):
        return question, _T.DESIGN_ARCH
    return question, _T.KNOWLEDGE_QA


def _write(draft: _DraftInTheMaking, piece: CopyPiece, others: Sequence[CopyPiece], request_type: RequestType) -> None:
    dice, language = draft.dice, draft.language
    if section := HEADINGS.get((request_type, language)):
        draft.blocks.append(f"{dice.choice(('##', '##', '###'))} {dice.choice(section)}")
    elif dice.random() < 0.08:
        draft.blocks.append(f"## {'Answer' if language is _EN else 'Ответ'}")
    if dice.random() < 0.1:
        draft.blocks.append(_one_of(dice.choice(_INTROS[language]), piece))
        draft.names.append("intro")
    _tell(draft, piece)
    if draft.recipe == "two passages":
        other = dice.choice([one for one in others if one.ref != piece.ref and _near(one, piece, dice)])
        _tell(draft, other)
    if dice.random() < 0.07:
        draft.blocks.append(_one_of(dice.choice(_CLOSINGS[language]), piece))
        draft.names.append("closing")


def _one_of(group: Sequence[str], piece: CopyPiece) -> str:
    return group[len(piece.parts[0]) % len(group)]


def _near(one: CopyPiece, piece: CopyPiece, dice: Random) -> bool:
    same_page = one.ref.split("#")[0] == piece.ref.split("#")[0]
    return same_page or dice.random() < 0.02


def _tell(draft: _DraftInTheMaking, piece: CopyPiece) -> None:
    match piece.kind:
        case PieceKind.PROSE:
            _tell_prose(draft, piece)
        case PieceKind.STEPS | PieceKind.BULLETS:
            _tell_list(draft, piece)
        case PieceKind.TABLE if draft.recipe == "table":
            _tell_table(draft, piece)
        case PieceKind.TABLE:
            _tell_rows(draft, piece)
        case PieceKind.CODE:
            lead = piece.lead or ("Do it like this:" if draft.language is _EN else "Делается это так:")
            draft.blocks += [draft.told(lead, piece.ref), piece.parts[0]]


def _tell_prose(draft: _DraftInTheMaking, piece: CopyPiece) -> None:
    dice = draft.dice
    most = 2 if draft.recipe == "two passages" else 4
    length = dice.randint(1, min(most, len(piece.parts)))
    if draft.recipe == "list of sentences":
        length = min(4, len(piece.parts))
    start = dice.randint(0, len(piece.parts) - length)
    told = [half for text in piece.parts[start : start + length] for half in _halves(text, draft)]
    sentences = [draft.told(text, piece.ref) for text in told]
    if draft.recipe == "list of sentences":
        sign = dice.choice("-*")
        draft.blocks.append("\n".join(f"{sign} {text}" for text in sentences))
    else:
        draft.blocks.append(" ".join(sentences))


def _halves(text: str, draft: _DraftInTheMaking) -> list[str]:
    """Split a sentence at its semicolon, now and then."""
    if draft.dice.random() > 0.3 or text.count(";") != 1 or re.search(r"[`\"«“][^`\"»”]*;", text) or "(" in text:
        return [text]
    first, second = text.split(";")
    if min(len(first), len(second)) < 25:
        return [text]
    draft.names.append("split")
    second = second.strip()
    return [f"{first}.", f"{second[0].upper()}{second[1:]}"]


def _tell_list(draft: _DraftInTheMaking, piece: CopyPiece) -> None:
    dice = draft.dice
    if piece.lead and dice.random() < 0.5:
        draft.blocks.append(draft.told(piece.lead, piece.ref))
    steps = piece.kind is _K.STEPS
    parts = list(piece.parts)
    if not steps and len(parts) > 5:
        start = dice.randint(0, len(parts) - 4)
        parts = parts[start : start + 4]
    items: list[str] = []
    for number, part in enumerate(parts, 1):
        sign = f"{number}." if steps else "-"
        text = draft.told(part, piece.ref)
        items.append(f"{sign} " + text.replace("\n", "\n" + " " * (len(sign) + 1)).replace("   \n", "\n"))
    draft.blocks.append("\n".join(items))


def _tell_table(draft: _DraftInTheMaking, piece: CopyPiece) -> None:
    dice = draft.dice
    head, rows = piece.parts[0].split("\t"), [row.split("\t") for row in piece.parts[1:]]
    rows = _some(rows, 5, dice)
    lead = piece.lead or f"{dice.choice(_TABLE_LEADS[draft.language])}:"
    draft.blocks.append(draft.cited(lead, piece.ref))
    if len(head) <= 3 and dice.random() < 0.3:
        rows = [[*row[:-1], f"{row[-1]} {draft.mark(piece.ref)}"] for row in rows]
    lines = [head, ["---"] * len(head), *rows]
    draft.blocks.append(
        "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    )


def _tell_rows(draft: _DraftInTheMaking, piece: CopyPiece) -> None:
    dice = draft.dice
    head, rows = piece.parts[0].split("\t"), [row.split("\t") for row in piece.parts[1:]]
    rows = _some(rows, 2 if draft.recipe == "two passages" else 4, dice)
    items = [draft.told(_row(head, row), piece.ref) for row in rows]
    if len(items) > 1 or dice.random() < 0.5:
        draft.blocks.append("\n".join(f"- {item}" for item in items))
    else:
        draft.blocks.append(items[0])


def _some(rows: list[list[str]], most: int, dice: Random) -> list[list[str]]:
    length = dice.randint(min(2, len(rows)), min(most, len(rows)))
    start = dice.randint(0, len(rows) - length)
    return rows[start : start + length]


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as a sentence: of two columns plain, of more with their names."""
    cells = [(name, cell) for name, cell in zip(head[1:], row[1:], strict=False) if cell and cell not in "–-—"]
    if not re.search(r"[^\W\d_]", row[0]):
        # A bare number names nothing.
        return f"{head[0]} {row[0]}: " + "; ".join(f"{name} — {cell}" for name, cell in cells)
    if len(head) == 2:
        return f"{row[0]} — {row[1]}"
    return f"{row[0]}: " + "; ".join(f"{name} — {cell}" if name else cell for name, cell in cells)


def _case(
    draft: _DraftInTheMaking, question: str, request_type: RequestType, mine: Sequence[EvidenceItem]
) -> DraftCase:
    dice = draft.dice
    evidence = list(draft.cites)
    page = evidence[0].split("#")[0]
    same = [item.ref for item in mine if item.ref.split("#")[0] == page and item.ref not in evidence]
    evidence += dice.sample(same, min(len(same), dice.randint(0, 1)))
    while len(evidence) < 2 or (len(evidence) < 6 and dice.random() < 0.45):
        other = dice.choice(mine).ref
        if other not in evidence:
            evidence.append(other)
    by_ref = {item.ref: item for item in mine}
    while request_type is _T.KNOWLEDGE_QA and all(by_ref[ref].source is not Source.DOC for ref in evidence):
        # DT-006 wants a document for such a question; a policy alone is not enough.
        evidence.append(dice.choice(mine).ref)
    if dice.random() < 0.4:
        dice.shuffle(evidence)
    text = "\n\n".join(draft.blocks)
    for number, ref in enumerate(draft.cites):
        text = text.replace(f"[#{number}]", f"[{evidence.index(ref) + 1}]")
    names = "; ".join(dict.fromkeys((draft.recipe, *draft.names)))
    return DraftCase(
        id="new",
        language=draft.language,
        label=DraftLabel.GOOD,
        note=names,
        question=question,
        request_type=request_type,
        evidence=tuple(evidence),
        draft=text,
    )
