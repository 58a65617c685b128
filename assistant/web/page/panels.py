"""The operator's panels for an answer: badges, plan, articles, report, path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assistant.report_text import MARKS, handed_lines, in_words, pieces, verdict_line
from assistant.turns.transcript import Turn
from assistant.turns.views import confidence_of, queries_asked
from assistant.web.page.look import Look, anchor_of, outward_link, passage_url
from assistant.web.page.markdown import leads_out, words
from contracts.enums import Outcome
from contracts.evidence import EvidenceItem
from contracts.report import ClaimFinding, DecisionRecord, GuardianReport
from contracts.result import StructuredAgentResult
from rendering.badges import confidence_badge, spam_badge
from rendering.texts import without_escapes


def badges_html(result: StructuredAgentResult, look: Look) -> str:
    plan, moderation, report = result.plan, result.moderation, result.guardian
    found: list[tuple[str, str, str]] = []
    if moderation is not None:
        level = str(moderation.safety_level)
        found.append(("moderation", ", ".join((level, *map(str, moderation.categories))), level.lower()))
    if plan is not None:
        spam = spam_badge(plan.spam_score, look.language)
        found.append(("spam", f"{spam} ({plan.spam_score:.2f})", _grade(1 - plan.spam_score, 0.4, 0.7)))
        sure = confidence_of(result)
        figure, tone = ("", "") if sure is None else (f" ({sure:.2f})", _grade(sure, 0.4, 0.7))
        found.append(("confidence", f"{confidence_badge(sure, look.language)}{figure}", tone))
        found.append(("queries", str(len(queries_asked(result))), ""))
    if report is not None:
        found.append(("verdict", str(report.verdict), str(report.verdict).lower()))
    if result.diagnostics.retries:
        found.append(("retries", str(result.diagnostics.retries), ""))
    spans = "".join(
        f'<span class="badge {words(tone.replace("/", ""))}">{look.say(f"badge_{name}")}: <b>{words(value)}</b></span>'
        for name, value, tone in found
    )
    return f'<div class="badges">{spans}</div>'


def _grade(value: float, low: float, high: float) -> str:
    return "safe" if value > high else "controversial" if value > low else "unsafe"


def panels_html(result: StructuredAgentResult, turn: Turn, look: Look) -> str:
    panels = (
        ("analysis", _analysis(result, look)),
        ("articles", _articles(result, turn, look)),
        ("report", _report(result, look)),
        ("hand_off", _handed(result, look)),
        ("path", _path(result)),
    )
    anchor = anchor_of(turn.turn_id)
    return "".join(
        f'<details class="panel {name}" id="{anchor}-{name}"><summary>{look.say(f"panel_{name}")}</summary>'
        f'<div class="inside">{body}</div></details>'
        for name, body in panels
        if body
    )


def _analysis(result: StructuredAgentResult, look: Look) -> str:
    plan = result.plan
    if plan is None:
        return _facts([(look.say("outcome"), words(_outcome(result))), ("", look.say("no_plan"))])
    return _facts(
        [
            (look.say("intent"), words(plan.user_intent)),
            (look.say("topic"), words(" › ".join(filter(None, (plan.category, plan.topic))))),
            (look.say("request_type"), words(str(result.request_type or plan.request_type))),
            (look.say("queries"), _list(plan.subqueries)),
            (look.say("plan"), _list(plan.action_plan)),
            (look.say("spam_reason"), words(plan.spam_reason)),
            (look.say("outcome"), words(_outcome(result))),
            (look.say("degraded"), _list(result.diagnostics.degraded)),
        ]
    )


def _outcome(result: StructuredAgentResult) -> str:
    return str(result.outcome) + (f" ({result.block_reason})" if result.block_reason else "")


def _facts(lines: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in lines if value)}</dl>"


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{words(item)}</li>' for item in items)}</ul>" if items else ""


def _articles(result: StructuredAgentResult, turn: Turn, look: Look) -> str:
    if not result.final_articles:
        return f"<p>{look.say('none')}</p>"
    rows = "".join(
        f"<tr><td>{rank}</td><td>{outward_link(passage_url(turn, rank, rank=True), article_name(item), look)}</td>"
        f"<td>{item.confidence:.2f}</td><td>{article_address(item, look)}</td></tr>"
        for rank, item in enumerate(result.final_articles, 1)
    )
    heads = "".join(f"<th>{look.say(name)}</th>" for name in ("rank", "article", "confidence", "place"))
    return f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def article_name(item: EvidenceItem) -> str:
    inside = item.heading.removeprefix(item.title).strip(" ›/>")
    return " › ".join(filter(None, (item.title or item.ref, inside)))


def article_address(item: EvidenceItem, look: Look) -> str:
    if item.url and leads_out(item.url, look.profile.allowed_link_domains):
        return outward_link(item.url, item.url, look)
    return f'<span class="dim">{words(f"{item.source}: {item.document or item.ref}")}</span>'


def _report(result: StructuredAgentResult, look: Look) -> str:
    report, say = result.guardian, look.words
    if report is None:
        key = "judged_not_moderated" if result.plan is None else "judged_not_planned"
        if result.outcome is Outcome.ERROR:
            return f"<p>{words(say['judged_not_broken'].format(why=result.block_reason or ''))}</p>"
        table = "DT-001" if result.plan is None else "DT-002"
        row = next((line.row for line in result.decisions if line.table == table), "")
        return f"<p>{words(say[key].format(row=row))}</p>"
    return _facts(_verdict(report, look)) + _draft(report, look)


def _verdict(report: GuardianReport, look: Look) -> list[tuple[str, str]]:
    say = look.words
    checks = [f"{say[f'judged_check_{name}']}: {say[f'judged_{status}']}" for name, status in report.checks.items()]
    return [
        (words(say["judged_verdict"]), words(verdict_line(report, say))),
        (words(say["judged_checks"]), words("; ".join(checks))),
        (words(say["judged_reasons"]), _list([in_words(reason, say) for reason in report.reasons])),
        (words(say["judged_actions"]), words(", ".join(report.required_actions))),
        (words(say["judged_advice"]), _list([in_words(remark, say) for remark in report.advice])),
    ]


def _draft(report: GuardianReport, look: Look) -> str:
    if not report.draft:
        return f"<p>{words(look.words['judged_no_draft'])}</p>"
    lines = "".join(_piece(claim, text, look) for claim, text in pieces(report.draft, report.claims))
    signs = "".join(
        f'<li><span class="sign {status}">{words(MARKS[status])}</span> {words(look.words[f"claims_{status}"])}</li>'
        for status in dict.fromkeys(claim.status for claim in report.claims)
    )
    return f'<div class="draft">{lines}</div><ul class="signs">{signs}</ul>'


def _piece(claim: ClaimFinding | None, text: str, look: Look) -> str:
    if claim is None:
        return f'<p class="between">{words(text)}</p>'
    missing = f" — {words(look.words['claims_missing'])}: {words(', '.join(claim.missing))}" if claim.missing else ""
    return (
        f'<p class="claim {claim.status}"><span class="sign {claim.status}" '
        f'title="{words(look.words[f"claims_{claim.status}"])}">{words(MARKS[claim.status])}</span> '
        f'{words(text)}<span class="dim">{missing}</span></p>'
    )


def _handed(result: StructuredAgentResult, look: Look) -> str:
    """Return the record that a receiver gets; a question back that no draft led to has none."""
    return (
        _facts(
            (
                words(label),
                _list(list(map(without_escapes, texts))) if len(texts) > 1 else words(without_escapes(texts[0])),
            )
            for label, texts in handed_lines(result, look.words)
        )
        if result.hand_off
        else ""
    )


def _path(result: StructuredAgentResult) -> str:
    left = list(result.decisions)
    rows: list[str] = []
    for node, ms in result.diagnostics.timings_ms.items():
        decided = [line for line in left if line.node == node]
        left = [line for line in left if line.node != node]
        rows.append(step_html(node, ms, decided))
    rows += [step_html(line.node, None, [line]) for line in left]
    return f'<ol class="steps">{"".join(rows)}</ol>'


def step_html(node: str, ms: float | None, decided: Sequence[DecisionRecord]) -> str:
    lines = "".join(
        f"<li><code>{words(f'{line.table}/{line.row}')}</code> → {words(line.outcome)}</li>" for line in decided
    )
    took = f' <span class="dim">{ms:.1f} ms</span>' if ms is not None else ""
    return f"<li><b>{words(node)}</b>{took}{f'<ul>{lines}</ul>' if lines else ''}</li>"
