"""The page of all settings: the environment, the settings of a run and the extras, from where the program has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from assistant.config.settings import VARIABLES
from contracts.context import Context

ROOT: Final = Path(__file__).resolve().parents[2]

_INTRODUCTION: Final = """\
Written by `make docs` from `assistant/config/settings.py`, `contracts/context.py` and `pyproject.toml`. How settings stand
above each other is in the handbook ([English](../knowledge/en/settings.md), [Russian](../knowledge/ru/settings.md));
what is in force, `guardian show settings` tells; the keys of a profile are in the handbook, too
([English](../knowledge/en/profiles.md), [Russian](../knowledge/ru/profiles.md)).

Эту страницу пишет `make docs`. Какая настройка важнее и где её задать, объясняет справочник; что действует сейчас,
печатает `guardian show settings`."""

_RUN: Final[Mapping[str, str]] = {
    "language": "Язык ответа; пусто — язык сообщения.",
    "role": "Роль пользователя; от неё зависит, какие источники доступны.",
    "version": "Версия документов, в которой искать; пусто — версия профиля.",
    "guard_mode": "Модерация: enforce останавливает ход, report только записывает, off никого не спрашивает.",
    "block_threshold": "Самый мягкий уровень модерации, который enforce останавливает.",
    "on_unavailable": "Что делать, когда модератор недоступен.",
    "spam_threshold": "Начиная с этой оценки спама запрос отклоняется.",
    "confidence_threshold": "При меньшей уверенности в намерении задаётся уточняющий вопрос.",
    "max_clarifications": "Сколько уточняющих вопросов подряд допустимо в одном диалоге.",
    "max_retry": "Сколько раз черновик можно переделать.",
    "quoting_draft": "Составлять ли ещё один черновик из цитат тех же источников, если ни один черновик модели не прошёл.",
    "tickets": "Кому нужна карточка: только если должен действовать человек или ещё при отказах по правилам и показанных страницах.",
    "knowledge_track": "Строгость KNOWLEDGE_QA: FAST обходится без контракта и повторяет только отказы от ответа.",
    "top_k": "Сколько фрагментов запрашивается у каждого источника на каждый запрос.",
    "evidence_threshold": "Фрагменты с меньшей уверенностью не используются.",
    "mean_confidence_enforced": "QUALITY не пропускает ответ при меньшей средней уверенности фрагментов.",
    "mean_confidence_advised": "QUALITY делает замечание при меньшей средней уверенности фрагментов.",
    "min_evidence": "На скольких фрагментах держится ответ в QUALITY; 1, когда отвечает только db.",
    "evidence_counted": "Какие фрагменты считаются и усредняются: на которые ссылается черновик или все отправленные ему.",
    "sure_confidence": "Начиная с этой уверенности достаточно одного процитированного фрагмента; см. evidence_counted.",
    "sure_relevance": "С какой оценки того, что страницы отвечают на вопрос, ответ даётся как ответ; иначе показываются страницы.",
    "diversity": "Фрагменты из одного места: замечание, ошибка или ничего.",
    "source_seconds": "Сколько секунд источник может отвечать на один запрос; потом он считается неопрошенным.",
    "context_budget": "Сколько символов фрагментов видит черновик.",
    "entailment": "Что значит слово проверяющей модели, если она подключена: замечание, вердикт или ничего.",
    "plan_trace": "Как модель черновика видит план: одним синтетическим сообщением или двумя, вызовом инструмента, анализом в вопросе.",
    "draft_by": "Как модель готовит черновик: пишет сама или составляет из предложений фрагментов, дословно.",
    "search_by": "Кто решает, что искать: план или ещё и модель черновика, не больше двух раз за ход.",
}
_EXTRAS: Final[Mapping[str, str]] = {
    "otel": "Трассировка в сборщик OpenTelemetry.",
    "formats": "Документы HTML, DOCX, XLSX, PPTX и PDF.",
    "neo4j": "Граф на отдельном сервере.",
    "postgres": "База данных для справок или индекс в PostgreSQL.",
    "eval": "Графики оценки и меры сходства двух текстов.",
    "meaning": "Поиск по смыслу в этом же процессе, без сервера: вместе с весами.",
    "meaning-large": "То же с моделью побольше, в десять раз медленнее; для Linux и macOS.",
    "meaning-own": "То же с вашей моделью: исполняет граф ONNX и режет тексты на его токены.",
    "rerank": "Модель, которая читает фрагменты вместе с вопросом (английский).",
    "serve": "HTTP-сервер, `guardian serve`.",
    "ui": "Страница чата, `guardian ui`; есть и на сервере.",
    "mcp": "Инструменты для других ассистентов, `guardian mcp`.",
    "batch": "Таблицы вопросов, электронные и HTML, `guardian batch`.",
    "sql": "Запросы языковой модели к базе: разбор и запись заново.",
}
"""In Russian; the English is where the program has it. A setting or an extra that is missing here is an error."""


def settings(root: Path = ROOT) -> str:
    """Return the page, with every table in both languages."""
    parts = [
        "# All settings",
        _INTRODUCTION,
        "## Environment variables",
        f"Never shown are the values of {', '.join(_code(v.name) for v in VARIABLES if v.secret)}.",
        _table(
            ["variable", "default", "values", "meaning", "значение"],
            [[_code(v.name), _code(v.default), v.values, v.en, v.ru] for v in VARIABLES],
        ),
        "## Run settings",
        "The defaults are the program's; a profile may have others (`guardian show settings --profile NAME`).",
        _table(["run setting", "default", "values", "meaning", "значение"], _run_settings()),
        "## Extras of the package",
        "`pip install 'guardian-assistant[serve,ui]'` installs two of them.",
        _table(["extra", "packages", "what for", "для чего"], _extras((root / "pyproject.toml").read_text("utf-8"))),
    ]
    return "\n\n".join(parts) + "\n"


def _run_settings() -> list[list[str]]:
    schema = Context.model_json_schema()
    rows: list[list[str]] = []
    for name, field in Context.model_fields.items():
        default = field.get_default()
        values = _values(schema["properties"][name], schema["$defs"])
        rows.append(
            [_code(name), _code("" if default is None else str(default)), values, str(field.description), _RUN[name]]
        )
    return rows


def _values(entry: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    """Say in short what a JSON schema allows; a reference is to an enum."""
    for option in entry.get("anyOf", [entry]):
        if "$ref" in option:
            return ", ".join(kinds[option["$ref"].rpartition("/")[2]]["enum"])
    least = f"{entry['minimum']:,}" if "minimum" in entry else f"over {entry.get('exclusiveMinimum', 0):g}"
    if "maximum" in entry:
        return f"{least} to {entry['maximum']:,g}"
    return f"{least}, below {entry['exclusiveMaximum']:g}" if "exclusiveMaximum" in entry else ""


def _extras(pyproject: str) -> list[list[str]]:
    """Return a row for each extra but that of the developers; what it is for is the comment before it."""
    groups: Mapping[str, Sequence[str]] = tomllib.loads(pyproject)["project"]["optional-dependencies"]
    about = {name: text for text, name in re.findall(r"(?m)^# (.+)\n(?=([\w-]+) = \[)", pyproject)}
    return [
        [_code(name), ", ".join(map(_code, packages)), about[name], _EXTRAS[name]]
        for name, packages in groups.items()
        if name != "dev"
    ]


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *body])
