"""Drafts made wrong in a name: another one of the same kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Final

from tools.making.cited_drafts import CitedDraft, Found, without_quotes
from tools.making.negations import DENIES

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
_BOUNDS: Final = re.compile(r"не (?:более|больше|менее|меньше)|no (?:more|fewer) than", re.IGNORECASE)
_BARE_TOO: Final = re.compile(r"[A-Z]|_|-|standard|станд|поток")


def swapped_entities(told: CitedDraft, dice: Random) -> Iterator[Found]:
    """Put another name of the same kind for one that a claim has."""
    cited = told.cited()
    for start, claim in told.claims():
        if DENIES.search(_BOUNDS.sub("", claim)):
            # What one thing does not do, another mostly does not do either.
            continue
        part = without_quotes(claim)
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
