"""`guardian report`: the digest of a period, as Markdown and as a page with plots."""

from __future__ import annotations

import argparse
import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from assistant.cli.output import show_markdown
from assistant.cli.reviewer import reviewer
from assistant.deployment import Deployment, deployment
from assistant.review.desk import open_desk
from assistant.review.digest import Digest, make_digest, sum_up
from assistant.review.digest_text import digest_html, digest_markdown
from assistant.review.records import ReviewQuery, moment
from assistant.turns.progress import own_language, phrases
from assistant.wiring.rankers import embedder
from assistant.wiring.storage import has_conversations
from contracts.errors import ConfigError


def run(options: argparse.Namespace) -> int:
    """Print the digest, and write it if asked to."""
    deployed = deployment(options.profile)
    now = datetime.now(UTC)
    until = moment(options.until, now) if options.until else None
    query = ReviewQuery(since=moment(options.since, now), until=until)
    digest = asyncio.run(_digest(deployed, query))
    language = own_language()
    say = phrases(language)
    text = digest_markdown(digest, say)
    if options.json:
        print(digest.model_dump_json(indent=2))
    else:
        show_markdown(text, text.removesuffix("\n"))
    if options.out:
        folder = Path(options.out)
        _write(folder, {"report.md": text, "report.html": digest_html(digest, say, language)})
        print(say["report_written"].format(folder=folder), file=sys.stderr)
    return 0


async def _digest(deployed: Deployment, query: ReviewQuery) -> Digest:
    # Looking makes no file: where there is none, there are no turns.
    if not has_conversations(deployed):
        return await sum_up(query, [], [], None)
    async with open_desk(deployed) as desk:
        return await make_digest(desk, query, reviewer(), embedder(deployed.settings))


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(
            f"The report cannot be written to {folder}: {error.strerror}.", "Name another folder in --out."
        ) from error
