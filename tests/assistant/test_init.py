"""`guardian init`: from a folder of documents to answers, on a terminal and in a script; and what it learns of a folder."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import tomllib
from pathlib import Path

import pytest

from adapters.index.embedded import ingest
from adapters.index.records import Heading
from adapters.reading.files import walk
from assistant.cli.parser import build_parser
from assistant.config.profiles import load_profile
from assistant.deployment import deployment
from assistant.onboarding.profile_text import ProfileDraft, describe_scope, profile_name, write_profile
from assistant.onboarding.survey import FolderSurvey, survey_folder
from assistant.starter_questions import (
    choose_starter_questions,
    leave_out_alike,
    list_candidates,
    read_starter_questions,
)
from contracts.enums import Dialect, Language
from contracts.errors import ConfigError, InputError
from tests.support.cli_helpers import Desk, interruptible, read_terminal, terminal
from tests.support.markdown_pages import write

PAGES = {
    "install.md": "# How to install the Printer Hub\n\nTo install the Printer Hub, download the package and run `setup.sh` as root.\n",
    "users.md": "# User accounts\n\n## How to reset a password\n\nTo reset a password in Printer Hub, open Settings, choose "
    "Users, select the user, and press Reset password.\n",
    "toner.md": '# Replacing the toner\n\nWhen the Printer Hub shows "Toner low", take the old cartridge out and put a new one in.\n',
}
QUESTION = "How do I reset a password?"


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of pages in the working directory."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "docs", PAGES)


@pytest.fixture
def own(docs: Path, data_dir: Path) -> Desk:
    """A desk in the working directory that names no profile of its own."""
    return Desk(data_dir, docs.parent, profile="handbook")


def test_three_commands_answer_from_one_s_own_documents(own: Desk) -> None:
    """The profile is named after the product that the pages speak of, and a question of theirs is answered with it."""
    made = own.here("init", "docs")
    assert made.code == 0, made.err
    assert "✓ How do I reset a password?  (answered)" in made.out
    assert (
        f"guardian ask '{QUESTION}' --profile printer-hub.toml" in made.out or "--profile printer-hub.toml" in made.out
    )
    lines = Path("printer-hub.toml").read_text("utf-8").splitlines()
    assert len(lines) <= 16
    answered = own.here("ask", QUESTION, "--profile", "printer-hub.toml")
    assert (answered.code, "press Reset password" in answered.out) == (0, True)


def test_the_readme_begins_with_the_three_commands(own: Desk, root: Path) -> None:
    """Its first commands install, make a profile of a folder and open the chat page with it, before anything else."""
    text = (root / "README.md").read_text("utf-8")
    first, _, _ = text.partition("```bash\n")[2].partition("\n```")
    assert text[: text.index(first)].count("\n") < 25
    install, init, ui = (shlex.split(line, comments=True) for line in first.splitlines())
    assert install == ["make", "install"]
    (own.cwd / "path" / "to").mkdir(parents=True)
    (own.cwd / "docs").rename(own.cwd / "path" / "to" / "docs")
    assert init[0] == ui[0] == ".venv/bin/guardian"
    assert own.here(*init[1:]).code == 0
    assert build_parser().parse_args(ui[1:]).profile == init[init.index("--out") + 1]
    assert (own.cwd / ui[-1]).is_file()


def test_what_is_given_is_not_guessed(own: Desk) -> None:
    """Product, subject, contact and language come from the options, into a profile whose keys all are known."""
    options = [
        "--product",
        'Узел "Печать"',
        "--about",
        "принтеры",
        "--contact",
        "help@print.example",
        "--languages",
        "ru",
    ]
    assert own.here("init", "docs", *options, "--out", "own.toml").code == 0
    profile = load_profile("own.toml")
    assert (profile.name, profile.product, profile.languages) == ("uzel-pechat", 'Узел "Печать"', (Language.RU,))
    assert (profile.contact, profile.scope.description) == ({"ru": "help@print.example"}, {"ru": "принтеры"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "There is no folder"),
        (["empty"], "holds no document"),
        ([" "], "The path is empty"),
        (["docs", "--out", "own.txt"], "ends in .toml"),
        (["docs", "--product", "x" * 81], "1 to 80 characters"),
        (["docs", "--out", "there.toml"], "There is already a file"),
    ],
)
def test_what_cannot_be_begun_is_told_with_a_way_out(own: Desk, arguments: list[str], words: str) -> None:
    """Nothing is written, and the exit code is that of a command line that is not valid."""
    Path("empty").mkdir()
    Path("there.toml").write_text("mine", "utf-8")
    said = own.here("init", *arguments)
    assert said.code == 2
    assert words in said.err
    assert "→" in said.err
    assert [path.name for path in Path().glob("*.toml")] == ["there.toml"]
    assert Path("there.toml").read_text("utf-8") == "mine"


def test_on_a_terminal_three_things_are_asked(own: Desk) -> None:
    """An empty line takes the suggestion, another line replaces it."""
    ours, theirs = terminal()
    with own.start("init", "docs", stdin=theirs, stdout=theirs, stderr=theirs) as run:
        os.close(theirs)
        shown = ""
        for question, line in (("Name of the product [Printer Hub]", ""), ("helps with", ""), ("turn to", "the desk")):
            while question not in shown:
                shown += read_terminal(ours).decode("utf-8", "replace")
            os.write(ours, f"{line}\n".encode())
        while part := read_terminal(ours):
            shown += part.decode("utf-8", "replace")
    os.close(ours)
    assert run.returncode == 0, shown
    profile = load_profile("printer-hub.toml")
    assert (profile.product, profile.contact) == ("Printer Hub", {"en": "the desk"})


def test_a_watched_folder_is_indexed_again_when_a_file_changes(own: Desk) -> None:
    """A new page is read in while the command runs, a fault in between does not end it, and Ctrl-C does, quietly."""
    docs = own.cwd / "docs"
    with interruptible(), own.start("index", "docs", "--watch") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert b"3 added" in run.stdout.readline()
        assert b"Ctrl-C" in run.stderr.readline()
        docs.rename(docs.with_name("away"))
        assert b"There is no folder" in run.stderr.readline()
        docs.with_name("away").rename(docs)
        write(docs, {"paper.md": "# Paper\n\nUse paper of 80 g.\n"})
        while b"1 added" not in (line := run.stdout.readline()):
            assert line
        run.send_signal(signal.SIGINT)
        assert run.wait() == 0
        assert b"Traceback" not in run.stderr.read()


# ------------------------------------------------------------------------------------------------------- the survey


def test_a_folder_says_its_languages_versions_dialect_and_product(tmp_path: Path) -> None:
    """Versions are subfolders named so; the name of a site is the product; a page in twenty is no language."""
    english = {
        f"docs/4.{n}/page-{n}.md": f"# Page {n}\n\nThis page is about printing, and about paper.\n" for n in range(19)
    }
    folder = write(tmp_path, {**english, "docs/4.0/рус.md": "# Страница\n\nЭта страница о печати и о бумаге.\n"})
    (folder / "docs" / "mkdocs.yml").write_text("site_name: 'Print Desk'\nplugins: []\n", "utf-8")
    found = survey_folder(folder / "docs")
    assert (found.count, found.formats, found.languages) == (20, {".md": 20}, (Language.EN,))
    assert (found.product, found.dialect, found.versions["4.12"]) == ("Print Desk", Dialect.MKDOCS, "4.12")
    draft = ProfileDraft("Print Desk", {Language.EN: "printing"}, "", found.languages)
    text = write_profile(draft, found, "docs", Language.RU)
    assert tomllib.loads(text)["knowledge"][1] == {"path": "docs/4.0", "version": "4.0", "dialect": "mkdocs"}


MENUS = "Choose Insert - Chart. In the menu choose Insert - Table. Figure 16 shows Figure 2. Open Settings, then the settings."
NAMED = {
    "LibreDesk": {f"{n}.md": f"# Page {n}\n\n{MENUS} With LibreDesk you draw charts.\n" for n in range(6)},
    "GIMP": {f"{n}.md": f"# Page {n}\n\n{MENUS} The PDF file is read by GIMP.\n" for n in range(6)},
    "GNOME": {
        "index.md": "# Справка GNOME\n\nРазделы справки.\n",
        **{f"{n}.md": f"# Раздел {n}\n\nMAC-адрес — это адрес карты. Нажмите Ctrl и Shift.\n" for n in range(6)},
        "7.md": "# Столы\n\nРабочий стол GNOME пуст. В среде GNOME много окон.\n",
        "8.md": "# Окна\n\nОкна в GNOME закрываются.\n",
    },
    "Лотос Диск": {
        "a.md": "# Установка Лотос Диск\n\nСкачайте пакет. Лотос Диск готов.\n",
        "b.md": "# Настройка Лотос Диск\n\nОткройте окно. Лотос Диск покажет папки.\n",
        "c.md": "# Папки\n\nВ Лотос Диске папки видны всем.\n",
    },
    "Brightbox Player": {
        f"{n}.md": f"# {verb} Brightbox Player\n\nSteps follow. Brightbox Player plays films. Then the player stops.\n"
        for n, verb in enumerate(("Installing", "Configuring", "Updating", "Removing"))
    },
    "": {f"{n}.md": f"# Page {n}\n\n{MENUS} The PDF file and the URL are read.\n" for n in range(6)},
}


@pytest.mark.parametrize("product", NAMED)
def test_menus_captions_and_abbreviations_are_no_product(tmp_path: Path, product: str) -> None:
    """A manual is full of them; the name is what stands in sentences, or in the title of the front page."""
    assert survey_folder(write(tmp_path, NAMED[product])).product == product


def test_the_words_of_users_become_synonyms_of_the_documents(tmp_path: Path) -> None:
    """Only where the documents use one word of a group, and have none of the others, is it clear what they mean."""
    pages = {
        "a.md": "# Access\n\nTo sign in, type your password. A licence is for one barcode.\n",
        "b.md": "# Data\n\nYou can delete or remove a file. Restore a backup.\n",
    }
    found = survey_folder(write(tmp_path, pages))
    groups = {group[0]: set(group[1:]) for group in found.synonyms}
    assert groups["sign in"] == {"log in", "log on"}
    assert groups["backup"] == {"back up"}
    assert groups["licence"] == {"license"}
    assert not groups.keys() & {"delete", "remove", "Wi-Fi", "войти"}
    text = write_profile(ProfileDraft("Acme", {Language.EN: "x"}, "", found.languages), found, "docs", Language.EN)
    assert set(map(tuple, tomllib.loads(text)["synonyms"])) == set(found.synonyms)


TITLES = (
    "How to install the hub",
    "How to reset the hub",
    "Toner",
    "Printing on both sides",
    "changelog of 2024",
    "Printing from a phone",
    'The "quick" start',
    "Warranty and repair",
    "Printer Hub at a glance",
    "A guide to everything that a person may ever want to print at home",
)


@pytest.mark.parametrize(
    ("titles", "said"),
    [
        (
            TITLES,
            "“How to install the hub”, “Printing on both sides”, “Warranty and repair”, “Printer Hub at a glance”",
        ),
        (
            ("How to install it", "How to reset it", "How to sell it"),
            "“How to install it”, “How to reset it”, “How to sell it”",
        ),
        (
            ("Printer Hub: setup guide", "Printer Hub: user guide"),
            "“Printer Hub: setup guide”, “Printer Hub: user guide”",
        ),
        (tuple(f"{word} a cartridge" for word in ("Order", "Change", "Clean", "Recycle", "Store")), 4),
        (("Toner", "Paper"), "everything in its documentation"),
        ((), "everything in its documentation"),
    ],
)
def test_what_the_assistant_helps_with_reads_well(titles: tuple[str, ...], said: str | int) -> None:
    """Up to four titles in quotation marks, short ones of several words that begin differently, where there are such."""
    told = describe_scope("Printer Hub", make_survey(titles), Language.EN)
    assert (told.count("“") if isinstance(said, int) else told) == said


def make_survey(titles: tuple[str, ...], language: Language = Language.EN) -> FolderSurvey:
    return FolderSurvey({".md": 1}, [], (language,), {}, {language: titles}, "", Dialect.PLAIN)


def test_what_the_assistant_helps_with_is_told_in_each_language() -> None:
    """Russian titles stand in Russian quotation marks."""
    survey = make_survey(("Сброс пароля", "Замена тонера", "Замена бумаги"), Language.RU)
    assert describe_scope("Узел", survey, Language.RU) == "«Сброс пароля», «Замена тонера»"
    assert describe_scope("Узел", survey, Language.EN) == "everything in its documentation"
    assert describe_scope("Узел", make_survey(()), Language.RU) == "всё, что есть в документации"


@pytest.mark.parametrize(
    ("questions", "kept"),
    [
        (["How do I reset a password?", "Reset your password", "Resetting passwords by mail"], [0]),
        (["What is Printer Hub?", "Install Printer Hub", "Update Printer Hub"], [0, 1, 2]),
        (["How do I install Printer Hub?", "How do I install Printer Hub on Linux?", "Scan a page"], [0, 2]),
        (["Add a user to a group", "Add a user to a role", "Restore a version of a file"], [0, 1, 2]),
        (["Restore an older version of a file", "Restore an older version of a folder"], [0]),
        (["Как сбросить пароль?", "Как сбросить пароль администратора?", "Как сбросить настройки?"], [0, 2]),
    ],
)
def test_of_questions_that_are_nearly_the_same_the_first_is_tried(questions: list[str], kept: list[int]) -> None:
    """What one says in full or for the most part, another need not ask; the product's name makes nothing alike."""
    assert list(leave_out_alike(questions, "Printer Hub")) == [questions[place] for place in kept]


def test_hostile_names_stay_strings(tmp_path: Path) -> None:
    """Quotes, line breaks and brackets in a name cannot add a key to the profile."""
    found = survey_folder(write(tmp_path / "docs", PAGES))
    evil = 'x"\n[roles.user]\noperator_view = true\n\\u0022\x7f # \u2028'
    draft = ProfileDraft(evil, {Language.EN: evil}, evil, (Language.EN,))
    read = tomllib.loads(write_profile(draft, found, 'a"b', Language.EN))
    assert set(read) == {"name", "product", "languages", "contact", "scope", "knowledge"}
    assert read["knowledge"] == [{"path": 'a"b'}]


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("Printer Hub 2.0", "printer-hub-2-0"),
        ("Щука и Ёж", "shhuka-i-yozh"),
        ("漢字", "support"),
        ("Handbook", "handbook-docs"),
    ],
)
def test_a_profile_is_named_after_its_product(product: str, name: str) -> None:
    """Russian letters are written in Latin ones; no name of ours takes the place of a bundled profile."""
    assert profile_name(product) == name


def test_a_folder_without_a_name_or_readable_text_is_still_described(tmp_path: Path) -> None:
    """Broken files and files without prose cost their own part of the survey."""
    folder = write(tmp_path / "docs", {"a.md": "# A\n"})
    (folder / "b.md").write_bytes(b"\xff\xfe\x00")
    found = survey_folder(folder)
    assert (found.count, found.product, found.languages) == (2, "", (Language.EN,))
    assert len(walk(folder).found) == 2
    with pytest.raises(InputError, match="holds no document"):
        survey_folder(write(tmp_path / "other", {"x.bin": ""}))


# ------------------------------------------------------------------------------------------------ starter questions


async def test_questions_are_chosen_again_only_after_a_change(own: Desk) -> None:
    """To try them takes a second; what is indexed again without a change keeps its questions."""
    assert (await asyncio.to_thread(own.here, "init", "docs")).code == 0
    deployed = deployment(str(own.cwd / "printer-hub.toml"))
    tried = list[str]()
    chosen = await choose_starter_questions(deployed, lambda question, _: tried.append(question))
    assert (tried, QUESTION in chosen[Language.EN]) == ([], True)
    write(
        own.cwd / "docs",
        {"paper.md": "# How to load paper\n\nTo load paper, open the tray and put up to 200 sheets in.\n"},
    )
    await asyncio.to_thread(ingest, own.cwd / "docs", directory=deployed.knowledge_folder)
    await choose_starter_questions(deployed, lambda question, _: tried.append(question))
    assert "How do I load paper?" in tried


def test_questions_come_before_other_headings_and_common_ones_are_left_out() -> None:
    """No question is a heading of several documents, a step's or a slide's number, a file's name, or a demand."""
    headings = [
        Heading("a.md", "en", text)
        for text in (
            "Before you start",
            "1. Open the door",
            "open door",
            "Toner and paper",
            "How to open the door",
            "How doors work",
            "Slide 10",
            "Страница 12",
            "What is your password?",
            "How do I pay an invoice",
        )
    ]
    found = list_candidates([*headings, Heading("b.md", "en", "Before you start")], Language.EN)
    assert found == ["How do I open the door?", "How doors work", "How do I pay an invoice?", "Toner and paper"]
    russian = [Heading("a.md", "ru", "Как открыть дверцу"), Heading("a.md", "en", "How to open the door")]
    assert list_candidates(russian, Language.RU) == ["Как открыть дверцу?"]


def test_a_profile_s_own_examples_are_shown(own: Desk) -> None:
    """Three of them in each of its languages; junk in the file of chosen questions is no question."""
    assert own.here("init", "docs").code == 0
    profile = Path("printer-hub.toml")
    deployed = deployment(str(profile))
    assert QUESTION in read_starter_questions(deployed)[Language.EN]
    deployed.starter_questions_file.write_text('{"questions": {"en": [1, "Own?", null]}}', "utf-8")
    assert read_starter_questions(deployed) == {Language.EN: ("Own?",)}
    deployed.starter_questions_file.write_text("[", "utf-8")
    assert read_starter_questions(deployed) == {Language.EN: ()}
    deployed.starter_questions_file.write_text('{"questions": 1}', "utf-8")
    assert read_starter_questions(deployed) == {Language.EN: ()}
    profile.write_text(profile.read_text("utf-8") + '\n[examples]\nen = ["One?", "Two?", "Three?", "Four?"]\n', "utf-8")
    assert read_starter_questions(deployment(str(profile)))[Language.EN] == ("One?", "Two?", "Three?")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_retry = 3\n", "'max_retry' belongs under [behaviour]"),
        ("[scope]\nsynonyms = []\n", "'synonyms' belongs at the top of the file"),
        ("[behaviour]\ncontact = 'x'\n", "'contact' belongs in a section of its own, [contact]"),
        ("[scope.knowledge]\npath = 'x'\n", "'knowledge' belongs in a section of its own, [[knowledge]]"),
        ("contact = 'x'\n", "contact: input should be a valid dictionary, it is a section: write [contact]"),
        ("knowledge = ['docs']\n", "it is a section: write [[knowledge]]"),
        ("[contact]\nen = 'x'\n[thresholds]\nlangauges = []\n", "did you mean 'languages'"),
    ],
)
def test_a_key_in_the_wrong_section_says_where_it_belongs(tmp_path: Path, text: str, words: str) -> None:
    """An unknown key is refused with its section if it has one or is one, else with the nearest key."""
    file = tmp_path / "own.toml"
    file.write_text(f'name = "own"\nproduct = "Own"\n{text}', "utf-8")
    with pytest.raises(ConfigError, match=re.escape(words)):
        load_profile(str(file))


@pytest.mark.parametrize(
    ("name", "pages"),
    [
        (
            "Tally Book",
            [
                "# Plans\n\nTally Book is a web service. On the Firm plan, open **Settings > Company**.",
                "# Users\n\nOpen **Settings > Users**. The Firm plan has an API, and Tally Book an SMS.",
                "# Banks\n\nOpen **Settings > Banks**. On the Firm plan the API is free.",
            ],
        ),
        (
            "Полка",
            [
                "# Вход\n\n«Полка» — приложение для склада. Откройте «Настройки → Вход».",
                "# Приёмка\n\nДанные хранятся на сервере «Полки». Откройте «Настройки → Приёмка».",
                "# Печать\n\nИнвентаризация — это пересчёт. Откройте «Настройки → Печать» и ждите SMS.",
            ],
        ),
    ],
)
def test_the_product_is_what_a_page_says_it_is_and_no_menu(tmp_path: Path, name: str, pages: list[str]) -> None:
    """Menus, plans, abbreviations and words that a page explains are capitalised on more pages than the product."""
    for number, text in enumerate(pages):
        (tmp_path / f"{number}.md").write_text(text, "utf-8")
    assert survey_folder(tmp_path).product == name
