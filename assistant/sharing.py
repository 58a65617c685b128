"""What others may read of a conversation that was shared: its words without secrets and personal data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guards.policy_check import contacts_of
from language.privacy.personal_data import personal_data
from language.privacy.secrets import secrets as find_secrets
from language.privacy.spans import Span, replace_spans

if TYPE_CHECKING:
    from assistant.turns.views import UserView
    from contracts.profile import Profile


def mask_words(text: str, profile: Profile) -> str:
    """Return a text for others than who wrote or asked it: without secrets and personal data, but the profile's contacts."""
    contacts = contacts_of(profile)

    def find(part: str) -> list[Span]:
        return [*find_secrets(part), *personal_data(part, contacts)]

    return replace_spans(text, find)[0]


def mask_view(view: UserView, profile: Profile) -> UserView:
    """Return a user's view of a turn with the words of its answer and its sources masked."""
    sources = tuple(
        source.model_copy(update={"title": mask_words(source.title, profile), "url": mask_words(source.url, profile)})
        for source in view.sources
    )
    changed = {"answer": mask_words(view.answer, profile), "sources": sources, "choices": ()}
    return view.model_copy(update=changed)
