"""What every drafter does, whoever writes: a suite that each adapter and the fake run.

A test module subclasses `DrafterConformance` and gives it a drafter, and one that cannot draft.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from contracts.enums import DraftKind, Language, RequestType, RequiredAction, Source
from contracts.errors import PortError
from contracts.evidence import EvidenceItem
from contracts.ports import Draft, Drafter, DraftRequest
from contracts.spec import ArchitectSpec
from language.blocks import without_code

REQUEST = DraftRequest(
    question="When does the kettle boil?",
    language=Language.EN,
    request_type=RequestType.KNOWLEDGE_QA,
    intent="Learn when the kettle boils.",
    subqueries=("When does the kettle boil?",),
    evidence=tuple(
        EvidenceItem(
            source=Source.DOC,
            ref=f"doc:{n}#0",
            snippet=f"The kettle number {n} boils at {n}00 degrees.",
            confidence=0.9,
            title=f"Kettle {n}",
        )
        for n in (1, 2)
    ),
    spec=ArchitectSpec(),
)


def check(draft: Draft, request: DraftRequest) -> None:
    """Fail where a draft is empty, or cites what it was not given."""
    assert draft.kind in DraftKind
    assert draft.text.strip()
    cited = {int(number) for number in re.findall(r"\[(\d{1,3})\]", without_code(draft.text))}
    assert cited <= set(range(1, len(request.evidence) + 1))
    if draft.kind is DraftKind.ANSWER and request.request_type is not RequestType.CASUAL:
        assert cited


class DrafterConformance:
    """Subclasses define two methods: `drafter`, for the evidence above, and `broken`, one that cannot draft."""

    def drafter(self) -> Drafter:
        raise NotImplementedError

    def broken(self) -> Drafter:
        raise NotImplementedError

    @pytest.mark.parametrize("language", Language)
    @pytest.mark.parametrize("request_type", RequestType)
    async def test_a_draft_says_its_kind_and_cites_what_it_was_given(
        self, request_type: RequestType, language: Language
    ) -> None:
        """An answer cites, every citation resolves, and there is always a text."""
        request = replace(REQUEST, request_type=request_type, language=language)
        check(await self.drafter().draft(request), request)

    async def test_the_same_request_has_the_same_draft(self) -> None:
        """A turn that is run again after a crash is drafted as before."""
        assert await self.drafter().draft(REQUEST) == await self.drafter().draft(REQUEST)

    @pytest.mark.parametrize("action", RequiredAction)
    async def test_any_action_of_a_retry_can_be_asked_for(self, action: RequiredAction) -> None:
        """No action, reason or earlier draft makes a drafter raise."""
        request = replace(REQUEST, actions=(action,), reasons=("claim_without_citation=[x]", "{0}"), previous="x")
        check(await self.drafter().draft(request), request)

    async def test_a_drafter_leaves_its_request_alone(self) -> None:
        """The evidence is not changed by being drafted from."""
        before = [item.model_dump() for item in REQUEST.evidence]
        await self.drafter().draft(REQUEST)
        assert [item.model_dump() for item in REQUEST.evidence] == before

    async def test_a_drafter_that_cannot_draft_says_so(self) -> None:
        """It raises an error of the port, with a message for people."""
        with pytest.raises(PortError) as caught:
            await self.broken().draft(REQUEST)
        assert caught.value.message
