"""May this be asked, and may this be said?

Requests are judged by the profile's rules and the user's role. Answers are judged by what must never leave
the house: values shaped like secrets, and links outside the allowed domains. The *words* password or token
are no violation: a policy that stops "how do I reset my password" makes a support desk useless.
"""

from __future__ import annotations

import re
from typing import Final

from pydantic import BaseModel, ConfigDict

from contracts.profile import Profile
from contracts.values import PolicyStatus, RequestType, RequiredAction
from language.clean import skeleton
from language.links import foreign_links
from language.words import pattern_occurs

NAME = "policy"


class PolicyFinding(BaseModel):
    """What the policy check found: the rules violated, and what their own actions are."""

    model_config = ConfigDict(frozen=True)

    status: PolicyStatus = PolicyStatus.OK
    rules: tuple[str, ...] = ()
    actions: tuple[RequiredAction, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reason strings of the report."""
        match self.status:
            case PolicyStatus.VIOLATED:
                return (f"policy_violation=[{', '.join(self.rules)}]",)
            case PolicyStatus.UNCHECKED:
                return (f"could_not_check=[{NAME}]",)
            case PolicyStatus.OK:
                return ()


_SECRETS: Final[dict[str, re.Pattern[str]]] = {
    "private-key": re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----"),
    "api-key": re.compile(
        r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_]?[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{30,}"
    ),
    "web-token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    "connection-string": re.compile(
        r"\b[a-z][a-z0-9+]{2,20}://[^\s/:@<>{}$]{1,64}:(?!\*|<|\$|%)[^\s/@<>{}$]{3,128}@[\w.-]+"
    ),
    "password-value": re.compile(
        r"(?i)\b(?:password|passwd|pwd|secret|пароль)\b[\"'`]?\s*(?:=|:|—|-|это|is)\s*[\"'`]?(?=\S*\d)(?=\S*[a-zа-я])(?![<{$%*])[^\s\"'`,;]{8,}"
    ),
}


def check_request(message: str, request_type: RequestType, profile: Profile, role: str) -> PolicyFinding:
    """Judge a request by what the role may ask for, and by the topics that the profile forbids."""
    text = skeleton(message)
    rules = profile.policy
    hit = [
        rule for rule in rules if role not in rule.except_roles and rule.pattern and pattern_occurs(rule.pattern, text)
    ]
    return _finding([rule.id for rule in hit], [rule.action for rule in hit])


def check_answer(answer: str, profile: Profile, role: str) -> PolicyFinding:
    """Judge a draft: secret-shaped values anywhere, links to other domains outside of code.

    Loopback and documentation addresses (RFC 2606) and links inside code pass.
    """
    rules = [name for name, pattern in _SECRETS.items() if pattern.search(answer)]
    actions = [RequiredAction.REDACT_SENSITIVE] * bool(rules)
    if foreign_links(answer, profile.allowed_link_domains):
        rules.append("foreign-link")
        actions.append(RequiredAction.SAFE_REFUSAL)
    return _finding(rules, actions)


def masked(text: str, profile: Profile, role: str) -> str:
    """Return a text in which every value that an answer must not say is replaced by the name of its rule."""
    for name, pattern in _SECRETS.items():
        text = pattern.sub(f"[{name}]", text)
    return text


def _finding(rules: list[str], actions: list[RequiredAction]) -> PolicyFinding:
    if not rules:
        return PolicyFinding()
    return PolicyFinding(status=PolicyStatus.VIOLATED, rules=tuple(rules), actions=tuple(dict.fromkeys(actions)))
