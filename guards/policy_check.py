"""May a user ask this, and may an answer say this?

Requests are judged by the rights of the user's role and by the topics that the profile forbids. Answers are judged by
what they must never contain: values shaped like secrets, personal data, links outside the allowed domains, articles
that are not for users. The *words* password or token are no violation: a policy that stops "how do I reset my password"
makes a support desk useless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from contracts.decisions import EVIDENCE
from contracts.decisions.evidence import sources_that_serve
from contracts.enums import PolicyStatus, RequestType, RequiredAction
from contracts.profile import AnswerRule, PolicyRule, Profile
from contracts.reasons import Reason, could_not_check
from language.article_ids import article_ids
from language.attacks.demands import asks_for_secrets, draft_asks_for_secrets, question_asks_for_secrets
from language.memo import MetKeys
from language.privacy.links import foreign_domains, foreign_links
from language.privacy.personal_data import Contacts, personal_data
from language.privacy.secrets import secrets
from language.privacy.spans import Span, replace_spans
from language.questions import questions_in
from language.readings import as_seen, readings
from language.structured import inside_json, with_strings
from language.words import Phrases, pattern_occurs

NAME = "policy"

ROLE_UNKNOWN: Final = "role-unknown"
REQUEST_TYPE_NOT_ALLOWED: Final = "request-type-not-allowed"
NO_SOURCE_ALLOWED: Final = "no-source-allowed"
FOREIGN_LINK: Final = "foreign-link"
LOW_ARTICLE_ID: Final = "low-article-id"
ASKS_FOR_SECRETS: Final = "asks-for-secrets"

_BROKEN: Final = re.compile(r"[\w@.+-](?:[*`~]{1,4}|<[^<>\n]{1,80}>|&#?\w{1,10};){1,4}[\w@.+-]")
"""Marks, tags or entities inside of what reads as one word."""
_HARMLESS: Final = MetKeys(16_384)
"""Hashes of texts in which nothing was to be masked, with what was looked for."""
_OFF_TOPIC: Final = MetKeys(16_384)
"""Hashes of texts that touch no topic, each with the topic's pattern and words."""


class PolicyFinding(BaseModel):
    """The result of the policy check: the violated rules and their actions."""

    model_config = ConfigDict(frozen=True)

    status: PolicyStatus = PolicyStatus.OK
    rules: tuple[str, ...] = ()
    actions: tuple[RequiredAction, ...] = ()

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons for the report."""
        match self.status:
            case PolicyStatus.VIOLATED:
                return (Reason("policy_violation", self.rules),)
            case PolicyStatus.UNCHECKED:
                return (could_not_check(NAME),)
            case PolicyStatus.OK:
                return ()


class Violation(NamedTuple):
    """One forbidden value: its rule, the rule's action, and the value as written."""

    rule: str
    action: RequiredAction
    value: str


def check_request(message: str, request_type: RequestType, profile: Profile, role: str) -> PolicyFinding:
    """Judge a request by the role's rights and by the topics that the profile forbids.

    All violated rules are reported. A permitted source that is not connected is no reason for denial.
    """
    denied = [(rule, RequiredAction.SAFE_REFUSAL) for rule in _not_for_the_role(request_type, profile, role)]
    return _finding([*denied, *_topics(message, profile, role)])


def _topics(text: str, profile: Profile, role: str) -> Iterator[tuple[str, RequiredAction]]:
    """Yield the forbidden topics that a text speaks of, however it is spelt, each with the rule's action."""
    for rule in profile.policy:
        if role not in rule.except_roles and _speaks_of(rule, text):
            yield rule.id, rule.action


def _not_for_the_role(request_type: RequestType, profile: Profile, role: str) -> Iterator[str]:
    known = profile.roles.get(role)
    if known is None:
        yield ROLE_UNKNOWN
        return
    if request_type not in known.request_types:
        yield REQUEST_TYPE_NOT_ALLOWED
    rule = EVIDENCE.decide(request_type=request_type).outcome
    if rule.required and not sources_that_serve(rule).intersection(known.sources):
        yield NO_SOURCE_ALLOWED


def _speaks_of(rule: PolicyRule, text: str) -> bool:
    """Whether any reading of a text touches a rule. The process remembers texts that do not, by their hashes."""
    key = (sha256(text.encode(errors="surrogatepass")).digest(), rule.pattern, rule.words)
    if key in _OFF_TOPIC:
        return False
    if any(_touches(rule, reading) for reading in readings(text)):
        return True
    _OFF_TOPIC.add(key)
    return False


def _touches(rule: PolicyRule, text: str) -> bool:
    if rule.pattern and pattern_occurs(rule.pattern, text):
        return True
    return bool(rule.words) and bool(_phrases(rule.words).find(text))


@lru_cache(maxsize=64)
def _phrases(words: tuple[str, ...]) -> Phrases:
    return Phrases(words)


def check_answer(
    answer: str,
    profile: Profile,
    role: str,
    *,
    asks: bool = False,
    quoted: bool = True,
    shown: Sequence[str] = (),
) -> PolicyFinding:
    """Judge a draft by every rule of the answer policy.

    Checked are secrets and personal data anywhere, links to other domains outside code, low article ids, forbidden
    topics, and requests for credentials, codes or money.

    Placeholders, the profile's contacts, loopback and documentation addresses, and links inside code pass. Text hidden
    by JSON escapes, or by marks, tags or entities inside a word, is judged as a reader sees it.

    Args:
        answer: The draft.
        profile: The deployment's profile.
        role: Of the user.
        asks: Whether it is a question to the user: there, naming a password is enough to count as a request.
        quoted: Whether all of it stands in the documents. In a model's own words, less counts as a request.
        shown: Earlier texts: the question, the evidence. The draft may repeat a domain named there without a link, but
            not a link.
    """
    whole, block = inside_json(answer)
    found = [*violations(answer, profile, role, shown), *violations(whole, profile, role, shown)]
    # A block is code, in which links pass.
    found += (violation for violation in violations(block, profile, role) if violation.rule != FOREIGN_LINK)
    if _BROKEN.search(answer):
        found += violations(as_seen(answer), profile, role, shown)
    pairs = [(violation.rule, violation.action) for violation in found]
    pairs += _topics(answer, profile, role)
    # What an answer asks its reader is the assistant's own question, too; one in quotation marks is an example.
    found = (one for text in (answer, whole) for one in questions_in(text) if not _is_quoted(one))
    asked = dict.fromkeys(one[-_LONGEST_QUESTION:] for one in found)
    in_own_words = not quoted and any(map(draft_asks_for_secrets, dict.fromkeys((answer, whole))))
    if in_own_words or any(map(question_asks_for_secrets, [answer] if asks else asked)):
        pairs.append((ASKS_FOR_SECRETS, RequiredAction.SAFE_REFUSAL))
    return _finding(pairs)


def _is_quoted(question: str) -> bool:
    """Whether the question mark stands inside quotation marks."""
    bare = question.strip(" *_#>-|.")
    return bare[-1:] in _CLOSING and any(sign in bare[:-1] for sign in _OPENING)


_LONGEST_QUESTION: Final = 1_000
"""Characters before its mark; what is longer is a table or a log with a question mark in it."""
_OPENING: Final = frozenset("\"'“„«‘")
_CLOSING: Final = frozenset("\"'”“»’")


def violations(text: str, profile: Profile, role: str, shown: Sequence[str] = ()) -> list[Violation]:
    """Return all values in a text that an answer to a role may not say: secrets, personal data, links, article ids.

    A domain without a scheme is a link, too, unless one of the texts `shown` names it.

    One rule excepts no role: no answer asks for credentials, codes or money.
    """
    policy = profile.answer_policy
    found: list[Violation] = []
    if _applies(policy.secrets, role):
        found += (Violation(rule, policy.secrets.action, text[a:b]) for rule, a, b in secrets(text))
    if _applies(policy.personal_data, role):
        found += (Violation(rule, policy.personal_data.action, text[a:b]) for rule, a, b in _personal(text, profile))
    if _applies(policy.foreign_links, role):
        found += (Violation(FOREIGN_LINK, policy.foreign_links.action, url) for url in _foreign(text, profile, shown))
    if profile.kb_ids_from is not None and _applies(policy.low_ids, role):
        numbers = (n for n in article_ids(text, profile.allowed_link_domains) if n < profile.kb_ids_from)
        found += (Violation(LOW_ARTICLE_ID, policy.low_ids.action, str(number)) for number in numbers)
    if wanted := asks_for_secrets(text):
        found.append(Violation(ASKS_FOR_SECRETS, RequiredAction.SAFE_REFUSAL, wanted))
    return found


def mask_text(text: str, profile: Profile, role: str) -> str:
    """Return a text with every secret and all personal data replaced by `[redacted: <rule id>]`.

    Values that the role may read stay. No other such value is left; masking again changes nothing.
    """
    return mask(text, profile, role)[0]


def mask(text: str, profile: Profile, role: str) -> tuple[str, tuple[str, ...]]:
    """Return the masked text and the rules that masked values.

    The process keeps only the hashes of texts without such values, so that it searches each such passage once.
    """
    if not text:
        return text, ()
    policy = profile.answer_policy
    with_secrets, with_people = _applies(policy.secrets, role), _applies(policy.personal_data, role)
    digest = sha256(text.encode(errors="surrogatepass")).digest()
    key = (digest, with_secrets, with_people, *profile.contact.values(), *policy.contacts)
    if key in _HARMLESS:
        return text, ()
    said, rules = _mask(text, profile, with_secrets=with_secrets, with_people=with_people)
    if said == text and not rules:
        _HARMLESS.add(key)
    return said, rules


def _mask(text: str, profile: Profile, *, with_secrets: bool, with_people: bool) -> tuple[str, tuple[str, ...]]:

    def find(said: str) -> list[Span]:
        found = secrets(said) if with_secrets else []
        return found + (_personal(said, profile) if with_people else [])

    inside: dict[str, None] = {}

    def say(string: str) -> str:
        said, rules = replace_spans(string, find)
        inside.update(dict.fromkeys(rules))
        return said

    # Where the text is JSON, an escape before a value hides it: a line break's `n` becomes its first letter.
    text, rules = replace_spans(with_strings(text, say), find)
    return text, tuple(dict.fromkeys((*inside, *rules)))


def _applies(rule: AnswerRule, role: str) -> bool:
    return role not in rule.except_roles


def _personal(text: str, profile: Profile) -> list[Span]:
    # Contacts are read only where something was found at all: most texts have nothing.
    found = personal_data(text)
    return personal_data(text, contacts_of(profile)) if found else found


def contacts_of(profile: Profile) -> Contacts:
    return Contacts.in_texts((*profile.contact.values(), *profile.answer_policy.contacts))


def _foreign(text: str, profile: Profile, shown: Sequence[str]) -> Iterator[str]:
    for url in foreign_links(text, profile.allowed_link_domains):
        # Contacts are read only where they can matter: most links are of the web.
        if not url.casefold().startswith(("mailto:", "tel:")) or not contacts_of(profile).lead_to(url):
            yield url
    contacts = (*profile.contact.values(), *profile.answer_policy.contacts)
    yield from foreign_domains(text, profile.allowed_link_domains, (*shown, *contacts))


def _finding(found: Iterable[tuple[str, RequiredAction]]) -> PolicyFinding:
    pairs = list(found)
    if not pairs:
        return PolicyFinding()
    return PolicyFinding(
        status=PolicyStatus.VIOLATED,
        rules=tuple(dict.fromkeys(rule for rule, _ in pairs)),
        actions=tuple(dict.fromkeys(action for _, action in pairs)),
    )
