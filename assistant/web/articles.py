"""Whole articles over HTTP, for citations of answers and results of searches."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query

from assistant.articles import Article, read_article
from assistant.web.callers import Asker, Served
from assistant.web.turns import faults
from contracts.enums import Language

router: Final = APIRouter()


@router.get(
    "/v1/articles/{name:path}",
    tags=["search"],
    summary="Read an article",
    response_model=Article,
    responses=faults(400, 404, 503),
)
async def article(
    caller: Asker,
    service: Served,
    name: Annotated[
        str,
        Path(
            max_length=1000,
            description="The reference of a passage (`ref`), its document's key, or the number (kbId); percent-encoded.",
        ),
    ],
    language: Annotated[
        Language | None, Query(description="Preferred where several documents have that number.")
    ] = None,
    part: Annotated[int, Query(ge=1, le=100_000, description="Which part of a long article.")] = 1,
) -> Article:
    """Return an article as Markdown, with title, address, version and headings, as it is indexed.

    An article that the caller's role may not read gets the same error as a missing one. Secrets and personal data are
    masked.
    """
    return await read_article(service, caller, name, language=language, part=part)
