"""`guardian init`: from a folder of documents to an assistant that answers from them."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from assistant.cli.commands.index import index, show_progress
from assistant.config.profiles import at_home
from assistant.deployment import Deployment, deployment
from assistant.indexing import profile_folders
from assistant.onboarding.profile_text import ProfileDraft, describe_scope, write_profile
from assistant.onboarding.survey import FolderSurvey, survey_folder
from assistant.starter_questions import choose_starter_questions
from assistant.turns.progress import own_language, phrases
from contracts.enums import Language, Outcome
from contracts.errors import InputError
from language.figures.counted import count_noun


def run(options: argparse.Namespace) -> int:
    """Look the folder over, write a profile, index the documents, and try a few questions."""
    if not options.path.strip():
        raise InputError("The path is empty.", "Name a folder that holds documents.")
    folder = at_home(options.path)
    with show_progress("files looked at") as advance:
        survey = survey_folder(folder, advance)
    say = phrases(own_language())
    print(_describe(folder, survey, say))
    draft = _draft(options, folder, survey, say)
    target = at_home(options.out) if options.out else Path(f"{draft.name}.toml")
    _write(target, draft, survey, folder, force=options.force)
    print(say["init_written"].format(path=target, product=draft.product))

    deployed = deployment(str(target))
    print(index(deployed, profile_folders(deployed)))
    question = asyncio.run(_try_questions(deployed, say))
    _tell_next(target, question, say)
    return 0


def _describe(folder: Path, survey: FolderSurvey, say: Mapping[str, str]) -> str:
    formats = ", ".join(f"{count} {ending}" for ending, count in survey.formats.items())
    languages = ", ".join(say[f"init_language_{language}"] for language in survey.languages)
    files = count_noun(survey.count, say["init_files"], own_language())
    told = say["init_found"].format(folder=folder, files=files, formats=formats, languages=languages)
    versions = say["init_versions"].format(versions=", ".join(survey.versions.values())) if survey.versions else ""
    return f"{told}{versions}"


def _draft(options: argparse.Namespace, folder: Path, survey: FolderSurvey, say: Mapping[str, str]) -> ProfileDraft:
    """Return the profile's contents from options, a person's answers and the documents, in this order."""
    ask = sys.stdin.isatty() and sys.stdout.isatty() and not options.yes
    languages = tuple(map(Language, options.languages or survey.languages))
    suggested = survey.product or folder.resolve().name.replace("-", " ").replace("_", " ").title()
    product: str = options.product or _answer(say["init_ask_product"], suggested, ask=ask)
    if not product.strip() or len(product) > _LONGEST_PRODUCT:
        raise InputError(
            f"A product's name has 1 to {_LONGEST_PRODUCT} characters.", 'Name it, as in --product "Printer Service".'
        )
    about: dict[Language, str] = {
        language: options.about or describe_scope(product, survey, language) for language in languages
    }
    if not options.about:
        # One language is asked for; who has two finds the other in the file.
        about[languages[0]] = _answer(say["init_ask_about"], about[languages[0]], ask=ask)
    contact = options.contact if options.contact is not None else _answer(say["init_ask_contact"], "", ask=ask)
    return ProfileDraft(product, about, contact, languages)


_LONGEST_PRODUCT = 80


def _answer(question: str, suggested: str, *, ask: bool) -> str:
    """Return a person's answer; the suggestion for an empty line, or if nobody is there to ask."""
    if not ask:
        return suggested
    shown = f" [{suggested}]" if suggested else ""
    try:
        return input(f"{question}{shown}: ").strip() or suggested
    except EOFError:
        print()
        return suggested


def _write(target: Path, draft: ProfileDraft, survey: FolderSurvey, folder: Path, *, force: bool) -> None:
    if target.suffix != ".toml":
        raise InputError(f"A profile's file ends in .toml, not as {target.name}.", "Name it so, as in support.toml.")
    try:
        near = os.path.relpath(folder.resolve(), target.resolve().parent)
    except ValueError:  # on Windows, another drive
        near = str(folder.resolve())
    text = write_profile(draft, survey, Path(near).as_posix(), own_language())
    try:
        with target.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(
            f"There is already a file {target}.",
            f"Index its documents with `guardian index --profile {shlex.quote(str(target))}`, or name another file "
            "with --out, or replace it with --force.",
        ) from error


async def _try_questions(deployed: Deployment, say: Mapping[str, str]) -> str:
    """Try questions made from headings, tell how each ended, and return one that was answered; empty if none was."""
    tried = 0

    def tell(question: str, outcome: Outcome) -> None:
        nonlocal tried
        if not tried:
            print(f"\n{say['init_trying']}")
        tried += 1
        mark = "✓" if outcome is Outcome.ANSWERED else "–"
        print(f"  {mark} {question}  ({say[f'outcome_{outcome}']})", flush=True)

    chosen = await choose_starter_questions(deployed, tell)
    return next((question for questions in chosen.values() for question in questions), "")


def _tell_next(target: Path, question: str, say: Mapping[str, str]) -> None:
    profile = shlex.quote(str(target))
    asked = shlex.quote(question) if question else '"…"'
    lines = {
        f"guardian ask {asked} --profile {profile}": say["init_next_ask"],
        f"guardian ui --profile {profile}": say["init_next_ui"],
        f"guardian index --profile {profile}": say["init_next_index"],
        f"export GUARDIAN_PROFILE={shlex.quote(str(target.resolve()))}": say["init_next_export"],
    }
    print(f"\n{say['init_next']}\n")
    for command, meaning in lines.items():
        print(f"  # {meaning}\n  {command}\n")
