"""The operator's panels for an answer: badges, plan, articles, report, path."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from assistant.report_text import MARKS, handed_lines, in_words, pieces, renumber_draft, verdict_line
from assistant.turns.progress import cost_text
from assistant.turns.transcript import Turn
from assistant.turns.views import confidence_of, queries_asked, shown_numbers
from assistant.web.page.look import Look, anchor_of, outward_link, passage_url
from assistant.web.page.markdown import leads_out, words
from contracts.decisions.evidence import could_not_ask
from contracts.enums import Outcome
from contracts.evidence import ArticleEvidence, EvidenceItem, NumberedItem
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
    if result.diagnostics.cost is not None:
        found.append(("cost", cost_text(result.diagnostics), ""))
    spans = "".join(
        f'<span class="badge {words(tone.replace("/", ""))}">{look.say(f"badge_{name}")}: <b>{words(value)}</b></span>'
        for name, value, tone in found
    )
    return f'<div class="badges">{spans}</div>'


def _grade(value: float, low: float, high: float) -> str:
    return "safe" if value > high else "controversial" if value > low else "unsafe"


def panels_html(result: StructuredAgentResult, turn: Turn, look: Look) -> str:
    shown = shown_numbers(result, look.profile)
    numbers = _number_all(len(result.evidence), shown)
    panels = (
        ("analysis", _analysis(result, look)),
        ("articles", _articles(result, turn, look, numbers, shown)),
        ("report", _report(result, look, numbers)),
        ("hand_off", _handed(result, look)),
        ("path", _path(result, look)),
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


def _number_all(count: int, shown: Mapping[int, int]) -> dict[int, int]:
    """Return a number for each passage, by its number in the draft: the answer's, then those that follow."""
    free = itertools.count(max(shown.values(), default=0) + 1)
    return {place: shown.get(place) or next(free) for place in range(1, count + 1)}


def _articles(
    result: StructuredAgentResult, turn: Turn, look: Look, numbers: Mapping[int, int], shown: Collection[int]
) -> str:
    """Return a row for each document, with its passages inside, and before them the sources that did not answer."""
    away = _away(result, look)
    if not result.final_articles:
        return f"{away}<p>{look.say('none')}</p>"
    rows = "".join(_article(article, turn, look, numbers, shown) for article in result.final_articles)
    heads = "".join(f'<th scope="col">{look.say(name)}</th>' for name in ("article", "confidence", "place"))
    table = f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    return f'{away}{table}<p class="dim legend">{look.say("legend")}</p>'


def _article(
    article: ArticleEvidence, turn: Turn, look: Look, numbers: Mapping[int, int], shown: Collection[int]
) -> str:
    passages = "".join(
        _passage(passage, turn, look, numbers[passage.number], cited=passage.number in shown)
        for passage in article.passages
    )
    return (
        f'<tr><td><b>{words(article.title or article.ref)}</b><ul class="passages">{passages}</ul></td>'
        f"<td>{article.confidence:.2f}</td><td>{article_address(article, look)}</td></tr>"
    )


def _passage(passage: NumberedItem, turn: Turn, look: Look, number: int, *, cited: bool) -> str:
    link = outward_link(
        passage_url(turn, passage.number, look, rank=True),
        _inside(passage) or _own_heading(passage) or passage.ref,
        look,
    )
    mark = f' <span class="badge pass">{look.say("cited")}</span>' if cited else ""
    return f'<li><span class="cite">{number}</span> {link} <span class="dim">{passage.confidence:.2f}</span>{mark}</li>'


def _away(result: StructuredAgentResult, look: Look) -> str:
    """Return the sources that could not be asked, each with what was said of it; nothing where all answered."""
    down = could_not_ask(result.per_query_results)
    why = {trace.source: trace.error for trace in result.per_query_results if trace.source in down and trace.error}
    if not why:
        return ""
    lines = "".join(f"<li><b>{words(str(source))}</b>: {words(error)}</li>" for source, error in why.items())
    return f'<div class="away"><h2>{look.say("away")}</h2><ul>{lines}</ul></div>'


def _inside(item: EvidenceItem) -> str:
    return item.heading.removeprefix(item.title).strip(" ›/>")


def _own_heading(item: EvidenceItem) -> str:
    first = item.snippet.lstrip().partition("\n")[0]
    return first.strip("# ") if first.startswith("#") else ""


def article_address(item: EvidenceItem, look: Look) -> str:
    if item.url and leads_out(item.url, look.profile.allowed_link_domains):
        return outward_link(item.url, item.url, look)
    return f'<span class="dim">{words(f"{item.source}: {item.document or item.ref}")}</span>'


def _report(result: StructuredAgentResult, look: Look, numbers: Mapping[int, int]) -> str:
    report, say = result.guardian, look.words
    if report is None:
        key = "judged_not_moderated" if result.plan is None else "judged_not_planned"
        if result.outcome is Outcome.ERROR:
            return f"<p>{words(say['judged_not_broken'].format(why=result.block_reason or ''))}</p>"
        table = "DT-001" if result.plan is None else "DT-002"
        row = next((line.row for line in result.decisions if line.table == table), "")
        return f"<p>{words(say[key].format(row=row))}</p>"
    return _facts(_verdict(report, look)) + _draft(report, look, numbers)


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


def _draft(report: GuardianReport, look: Look, numbers: Mapping[int, int]) -> str:
    if not report.draft:
        return f"<p>{words(look.words['judged_no_draft'])}</p>"
    draft, claims = renumber_draft(report.draft, report.claims, numbers)
    lines = "".join(_piece(claim, text, look) for claim, text in pieces(draft, claims))
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
    lines = [(label, list(map(without_escapes, texts))) for label, texts in handed_lines(result, look.words)]
    facts = [(words(label), _list(texts) if len(texts) > 1 else words(texts[0])) for label, texts in lines]
    return _facts(facts) if facts else ""


def _path(result: StructuredAgentResult, look: Look) -> str:
    """Return the nodes in the order in which they ran, with their decisions; each try has a list of its own."""
    times = result.diagnostics.timings_ms
    parts = _tries(list(times), result)
    ran = Counter(node for part in parts for node, _ in part)
    told: set[str] = set()
    written: list[str] = []
    for number, part in enumerate(parts, 1):
        if len(parts) > 1:
            written.append(f"<p>{words(look.words['review_try'].format(number=number))}</p>")
        written.append('<ol class="steps">')
        for node, decided in part:
            # A node's time is the sum over its runs.
            ms = None if node in told else times.get(node)
            told.add(node)
            written.append(step_html(node, ms, decided, look.say("all_tries") if ran[node] > 1 else ""))
        written.append("</ol>")
    return "".join(written)


_Step = tuple[str, list[DecisionRecord]]


def _tries(nodes: Sequence[str], result: StructuredAgentResult) -> list[list[_Step]]:
    """Return the steps of each try; the first has those before the search, too, and the last those after the verdict.

    Args:
        nodes: Each node that ran, in the order of its first run.
        result: Of the turn.
    """
    segments: list[list[DecisionRecord]] = [[]]
    for line in result.decisions:
        segments[-1].append(line)
        if line.table == "DT-005":
            segments.append([])
    *judged, rest = segments
    # A turn that broke in a further try has no verdict of it.
    if len(judged) <= result.diagnostics.retries:
        judged, rest = [*judged, rest], []
    places = {node: place for place, node in enumerate(nodes)}
    search, verdict = places.get("retrieve", 0), places.get("guardian_verify", len(nodes) - 1) + 1
    again = [*(node for node in ("retry_bump",) if node in places), *nodes[search:verdict]]
    after = [node for node in nodes[verdict:] if node not in again]
    decided = {line.node for line in result.decisions}
    tries = [_steps(again if place else nodes[:verdict], lines, decided) for place, lines in enumerate(judged)]
    tries[-1] += _steps(after, rest, set())
    return tries


def _steps(nodes: Sequence[str], lines: Sequence[DecisionRecord], deciding: Collection[str]) -> list[_Step]:
    """Return nodes with their decisions among some; of nodes that decide, those that decided nothing here did not run."""
    here = {node: [line for line in lines if line.node == node] for node in nodes}
    steps = [(node, decided) for node, decided in here.items() if decided or node not in deciding]
    return [*steps, *((line.node, [line]) for line in lines if line.node not in here)]


def step_html(node: str, ms: float | None, decided: Sequence[DecisionRecord], note: str = "") -> str:
    """Return a node that ran as an item of a list, with its decisions.

    Args:
        node: Its name.
        ms: How long it took; `None` if that is not known, or said elsewhere.
        decided: What it decided.
        note: Stands behind the time, as HTML.
    """
    lines = "".join(
        f"<li><code>{words(f'{line.table}/{line.row}')}</code> → {words(line.outcome)}</li>" for line in decided
    )
    behind = f", {note}" if note else ""
    took = f' <span class="dim">{ms:.1f} ms{behind}</span>' if ms is not None else ""
    return f"<li><b>{words(node)}</b>{took}{f'<ul>{lines}</ul>' if lines else ''}</li>"
