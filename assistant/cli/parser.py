"""The command line of `guardian`: every command with its options, help and examples; nothing heavy is imported."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, NoReturn, TypeAlias

EXIT_CODES: Final = {
    0: "the turn ended with an answer, or the command did what it was asked",
    1: "something went wrong; the message says how to fix it",
    2: "the command line or the message is not valid",
    3: "the assistant asked a question back",
    4: "declined or refused",
    5: "handed over to a person",
    6: "pages that may help were shown, without an answer",
    130: "interrupted",
}
_INSTALL_COMPLETION: Final = """\
install it once, in the shell that you use:
  echo 'eval "$(guardian completion bash)"' >> ~/.bashrc
  echo 'eval "$(guardian completion zsh)"' >> ~/.zshrc    (behind the line with compinit)
  guardian completion fish > ~/.config/fish/completions/guardian.fish"""
# argparse has no public name for what `add_subparsers` returns.
_Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"guardian: {message}\n`{self.prog} --help` has examples.\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse a command line; an unknown option is refused with the option that was probably meant.

        Every command refuses its own: the program as a whole knows options that this command does not have.
        """
        first = next(iter(sys.argv[1:] if args is None else args), "")
        options = [option for option in self._option_string_actions if option.startswith("--")]
        # In the first place stands no option's value. Without its command, argparse would miss only that.
        if first.startswith("--") and not any(option.startswith(first.partition("=")[0]) for option in options):
            self.error(f"unknown: {first}{_suggest(first, options)}")
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unknown: {' '.join(unknown)}{_suggest(unknown[0], options)}")
        return parsed, unknown

    def leave_defaults_to(self, outer: _Parser) -> None:
        """Let an option keep what it was given before the action; argparse would put the action's default in its place."""
        for option in self._actions:
            if option.option_strings and option.dest in outer.destinations():
                option.default = argparse.SUPPRESS

    def destinations(self) -> set[str]:
        """Return the names of the values of the options."""
        return {option.dest for option in self._actions if option.dest != "help"}

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # Python suggests names by itself from 3.14 on, and only if it is told to.
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        what = {"COMMAND": "command", "ACTION": "action"}.get(str(action.metavar), "")
        meant = _suggest(str(value), known)
        if what:
            listed = f": there are {', '.join(known)}"
            raise argparse.ArgumentError(None, f"there is no {what} {value!r}{meant or listed}")
        raise argparse.ArgumentError(action, f"{value!r} is none of {', '.join(known)}{meant}")


def _suggest(word: str, known: Iterable[str]) -> str:
    """Return what was probably meant, as the end of a message; empty if nothing is near."""
    near = difflib.get_close_matches(word.partition("=")[0], list(known), n=2)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("guardian-assistant")
        except PackageNotFoundError:  # run from a folder that was not installed
            number = "(not installed)"
        print(f"guardian {number}")
        parser.exit()


@cache
def build_parser() -> argparse.ArgumentParser:
    """Build the command line with all its help; it is the same for every command."""
    codes = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
    parser = _command(
        None,
        "guardian",
        "An assistant that proves before it speaks.",
        ["guardian init docs/", 'guardian ask "How do I add my own documents?"', "guardian chat", "guardian doctor"],
        f"exit codes:\n{codes}",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _init(commands)
    _index(commands)
    _search(commands)
    _ask(commands)
    _chat(commands)
    _threads(commands)
    _hand_offs(commands)
    _move(commands)
    _migrate(commands)
    _backups(commands)
    _export(commands)
    _review(commands)
    _report(commands)
    _show(commands)
    _doctor(commands)
    _eval(commands)
    _calibrate(commands)
    _fake_model(commands)
    _serve(commands)
    _ui(commands)
    _mcp(commands)
    _batch(commands)
    _keys(commands)
    _visitors(commands)
    _completion(commands)
    return parser


def _command(
    parent: _Commands | None,
    name: str,
    about: str,
    examples: list[str],
    more: str = "",
) -> _Parser:
    shown = "examples:\n" + "\n".join(f"  {line}" for line in examples)
    epilog = f"{shown}\n\n{more}" if more else shown
    form = argparse.RawDescriptionHelpFormatter
    if parent is None:
        return _Parser(prog=name, description=about, epilog=epilog, formatter_class=form)
    return parent.add_parser(name, help=about, description=about, epilog=epilog, formatter_class=form)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def _profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="NAME|FILE", help="profile to use (default: GUARDIAN_PROFILE or handbook)")


def _init(commands: _Commands) -> None:
    parser = _command(
        commands,
        "init",
        "begin with your own documents: write a profile, index the documents, try a few questions",
        [
            "guardian init docs/",
            'guardian init docs/ --product "Printer Service" --contact help@printers.example --yes',
            "guardian init docs/ --languages ru --out support.toml",
        ],
        "On a terminal it asks for the product's name, what it helps with, and whom users turn to.",
    )
    parser.add_argument("path", help="folder of documents")
    parser.add_argument(
        "--product", metavar="NAME", help="name of the product in answers (default: from the documents)"
    )
    parser.add_argument("--about", metavar="TEXT", help="what the assistant helps with (default: from the documents)")
    parser.add_argument("--contact", metavar="WHO", help="whom users turn to (default: the support team)")
    parser.add_argument(
        "--languages",
        nargs="+",
        choices=("en", "ru"),
        help="languages of the answers, the main one first (default: those of the documents)",
    )
    parser.add_argument("--out", metavar="FILE", help="the profile to write (default: PRODUCT.toml in this folder)")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument("--yes", action="store_true", help="ask nothing, and take what the documents suggest")
    parser.set_defaults(module="init")


def _index(commands: _Commands) -> None:
    parser = _command(
        commands,
        "index",
        "index Markdown, HTML, Word, Excel, PowerPoint and PDF files; only changed files are read again",
        [
            "guardian index",
            "guardian index ~/docs --version 5.0",
            "guardian index rules/ --as policy --profile my.toml",
            "guardian index --to qdrant://search.example:6333",
            "guardian index --profile my.toml --watch",
        ],
    )
    parser.add_argument("path", nargs="?", help="folder of documents (default: the folders of the profile)")
    parser.add_argument(
        "--as", dest="source", choices=("doc", "policy"), default="doc", help="kind of source that the files are"
    )
    parser.add_argument("--version", help="version of the product that the files describe")
    parser.add_argument(
        "--to", metavar="URL", help="fill this index in Qdrant or PostgreSQL, too (default: GUARDIAN_INDEX_URL)"
    )
    parser.add_argument("--watch", action="store_true", help="go on: index again whenever a file changes, until Ctrl-C")
    _profile(parser)
    parser.set_defaults(module="index")


def _search(commands: _Commands) -> None:
    parser = _command(
        commands,
        "search",
        "show the passages that match a text, with score and confidence",
        [
            'guardian search "moderation modes"',
            'guardian search "режимы модерации" --json',
            'guardian search "How do I restore a backup?" --explain',
        ],
    )
    parser.add_argument("text")
    parser.add_argument(
        "--top",
        type=_positive,
        metavar="N",
        help="number of passages to show (default: 10), or to request from each source (--explain)",
    )
    parser.add_argument("--lang", choices=("en", "ru"), help="prefer documents in this language")
    parser.add_argument(
        "--explain", action="store_true", help="show what a turn would search, and what happens to each passage"
    )
    parser.add_argument("--role", help="with --explain: role of the user (default: user)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _profile(parser)
    parser.set_defaults(module="search")


def _ask(commands: _Commands) -> None:
    parser = _command(
        commands,
        "ask",
        "ask one question; the answer goes to standard output, progress to standard error",
        [
            'guardian ask "How do I add my own documents?"',
            'guardian ask "А как удалить диалог?" --thread support-17',
            'guardian ask "What is a profile?" --explain',
            'guardian ask "What is DT-005?" --json | jq .guardian',
        ],
    )
    parser.add_argument("text", help="the question, or - to read it from standard input")
    parser.add_argument("--thread", help="conversation to continue (default: a new one)")
    parser.add_argument("--id", dest="turn_id", help="id of this message; Guardian never runs the same id twice")
    parser.add_argument("--lang", choices=("en", "ru"), help="language of the answer (default: of the question)")
    parser.add_argument("--role", help="role of the user (default: user)")
    parser.add_argument("--json", action="store_true", help="print the whole StructuredAgentResult")
    parser.add_argument("--path", action="store_true", help="show each node with its decisions")
    parser.add_argument(
        "--explain", action="store_true", help="show the draft with each claim marked, and the reasons for the verdict"
    )
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    _profile(parser)
    parser.set_defaults(module="ask")


def _chat(commands: _Commands) -> None:
    parser = _command(
        commands,
        "chat",
        "chat, one line per message",
        ["guardian chat", "guardian chat --thread support-17 --path"],
        "In the chat, /help lists its commands: a new conversation, the sources, the reasons for the verdict.",
    )
    parser.add_argument("--thread", help="conversation to continue (default: a new one)")
    parser.add_argument("--lang", choices=("en", "ru"), help="language of the answers (default: of each message)")
    parser.add_argument("--role", help="role of the user (default: user)")
    parser.add_argument("--path", action="store_true", help="show each node with its decisions")
    parser.add_argument(
        "--explain", action="store_true", help="show the draft with each claim marked, and the reasons for the verdict"
    )
    _profile(parser)
    parser.set_defaults(module="chat")


def _threads(commands: _Commands) -> None:
    parser = _command(
        commands,
        "threads",
        "list, read, resume and delete conversations",
        ["guardian threads list", "guardian threads show support-17", "guardian threads resume support-17"],
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    about = {
        "list": "list the conversations",
        "show": "print a conversation, by its id or by the number of a hand-off, one entry per turn",
        "resume": "finish a half-finished turn",
        "delete": "delete a conversation: transcript and checkpoints",
    }
    for name, text in about.items():
        example = f"guardian threads {name}" if name == "list" else f"guardian threads {name} support-17"
        action = _command(actions, name, text, [example])
        if name != "list":
            action.add_argument("thread")
        action.add_argument("--json", action="store_true", help="print JSON")
        _profile(action)
        action.set_defaults(module="threads", action=name)


def _hand_offs(commands: _Commands) -> None:
    parser = _command(
        commands,
        "hand-offs",
        "list the hand-offs to people, and send those not delivered yet",
        ["guardian hand-offs list", "guardian hand-offs send"],
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    about = {
        "list": "list all hand-offs, oldest first: delivered, kept (Guardian sends it again) or failed (refused too often)",
        "send": "send what is kept or failed; the exit code is 1 if something could not be delivered",
    }
    for name, text in about.items():
        action = _command(actions, name, text, [f"guardian hand-offs {name}"])
        action.add_argument("--json", action="store_true", help="print JSON")
        _profile(action)
        action.set_defaults(module="hand_offs", action=name)


def _move(commands: _Commands) -> None:
    parser = _command(
        commands,
        "move",
        "copy all conversations into another storage: a PostgreSQL server, or the file",
        ["guardian move --to postgresql://keeper:secret@db.example/conversations", "guardian move --to file"],
        "It may be broken off and given again: what is complete there is left alone. Nothing is deleted where the\n"
        "conversations come from. The exit code is 1 if conversations were left alone.",
    )
    parser.add_argument("--to", metavar="STORAGE", required=True, help="address of a PostgreSQL server, or file")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _profile(parser)
    parser.set_defaults(module="move")


def _migrate(commands: _Commands) -> None:
    parser = _command(
        commands,
        "migrate",
        "make the tables in PostgreSQL, or bring them to this version of Guardian",
        ["guardian migrate"],
        "Servers do this themselves when they start. Run it before them if they use an account that may not change tables.",
    )
    _profile(parser)
    parser.set_defaults(module="migrate")


def _export(commands: _Commands) -> None:
    parser = _command(
        commands,
        "export",
        "print one conversation and what people did with it, as JSON",
        ["guardian export support-17"],
        "It is not masked, whoever's conversation it is; `guardian review looks` names who exported it.",
    )
    parser.add_argument("thread")
    _profile(parser)
    parser.set_defaults(module="export")


def _backups(commands: _Commands) -> None:
    about = {
        "backup": (
            "copy conversations, hand-offs, API keys and reviewers' cases into a folder, also while serving",
            "backups/monday",
            (
                "The folder must be empty, and holds one profile. The exit code is 1 if conversations were in\n"
                "use for a minute and left alone: the backup is incomplete then."
            ),
        ),
        "restore": (
            "copy a backup back, to where the settings say",
            "backups/monday",
            (
                "What is there already stays as it is, keys included: it is made for an empty storage.\n"
                "The exit code is 1 if conversations were left alone."
            ),
        ),
    }
    for name, (text, example, after) in about.items():
        parser = _command(commands, name, text, [f"guardian {name} {example}"], after)
        parser.add_argument("folder", metavar="FOLDER", help="folder of the backup")
        if name == "restore":
            parser.add_argument("--incomplete", action="store_true", help="also restore a backup that was broken off")
        parser.add_argument("--json", action="store_true", help="print JSON")
        _profile(parser)
        parser.set_defaults(module="backup", action=name)


_OUTCOMES: Final = ("answered", "clarification", "pages_shown", "declined", "refused", "handed_off", "error")
_RATINGS: Final = ("up", "down")


def _review(commands: _Commands) -> None:
    parser = _command(
        commands,
        "review",
        "review the turns of all callers: list them, open one, and do something about it",
        [
            "guardian review --rating down --since 7d",
            "guardian review show support-17 2",
            'guardian review note support-17 2 "the page is out of date"',
            "guardian review case support-17 2 --file cases.jsonl --page en/backup.md",
            "guardian review export --format jsonl --since 30d",
        ],
        "Without an action it lists turns, the newest first. Personal data are masked as in hand-offs, and every look is\n"
        "recorded.",
    )
    _turn_filters(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    _profile(parser)
    parser.set_defaults(module="review", action="list")
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    about = {
        "show": ("print one turn: each try, the answer claim by claim, the searches, the decisions", "support-17 2"),
        "handle": ("mark a turn as handled", "support-17 2"),
        "note": ("keep a note on a turn, in place of an earlier one", 'support-17 2 "told the team"'),
        "case": ("save a turn as a case for `guardian eval`", "support-17 2 --file cases.jsonl --ending handed_off"),
        "hand-over": ("hand a turn over to a person", "support-17 2"),
        "export": ("print turns as CSV or JSONL", "--format jsonl --rating down"),
        "looks": ("list who looked at what, the newest first", "--limit 20"),
    }
    for name, (text, example) in about.items():
        action = _command(actions, name, text, [f"guardian review {name} {example}"])
        if name == "export":
            _turn_filters(action)
            action.add_argument("--format", choices=("csv", "jsonl"), default="csv", help="default: csv")
        elif name == "looks":
            action.add_argument("--limit", type=_positive, metavar="N", help="at most N (default: 50)")
        else:
            action.add_argument("thread", help="the conversation, as the list shows it")
            if name == "show":
                action.add_argument(
                    "turn", nargs="?", default="", help="the turn's number or id (default: the last one)"
                )
            else:
                action.add_argument("turn", help="the turn's number or id")
        if name == "handle":
            action.add_argument("--undo", action="store_true", help="mark it as not handled")
        elif name == "note":
            action.add_argument("text", help="the note; an empty one removes what is there")
        elif name == "case":
            action.add_argument("--file", required=True, metavar="FILE", help="file of cases to add it to")
            action.add_argument(
                "--page", action="append", default=[], metavar="PATH", help="a page that answers; may be given again"
            )
            action.add_argument("--ending", choices=_OUTCOMES, help="how the turn should have ended")
            for option, what in (("--must-say", "has to say"), ("--must-not-say", "may not say")):
                action.add_argument(
                    option,
                    action="append",
                    default=[],
                    metavar="TEXT",
                    help=f"words that the answer {what}; may be given again",
                )
        if name != "export":
            action.add_argument("--json", action="store_true", help="print JSON")
        _profile(action)
        action.leave_defaults_to(parser)
        action.set_defaults(module="review", action=name)


def _report(commands: _Commands) -> None:
    parser = _command(
        commands,
        "report",
        "sum up a period: how much was asked, how it ended, about what, and which pages are missing",
        ["guardian report", "guardian report --since 30d --out report/", "guardian report --since 2026-11-01 --json"],
        "It prints Markdown. --out also writes report.md and report.html, with plots, into a folder.",
    )
    parser.add_argument(
        "--since", metavar="TIME", default="7d", help="a day, a time, or a time ago such as 7d (default: 7d)"
    )
    parser.add_argument("--until", metavar="TIME", help="end of the period (default: now)")
    parser.add_argument("--out", metavar="FOLDER", help="folder to write the report to")
    parser.add_argument("--json", action="store_true", help="print JSON")
    _profile(parser)
    parser.set_defaults(module="report")


def _turn_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--outcome", choices=_OUTCOMES, help="only turns that ended so")
    parser.add_argument("--rating", choices=_RATINGS, help="only turns that their user rated so")
    parser.add_argument("--reason", metavar="NAME", default="", help="only turns with this reason, such as abstained")
    parser.add_argument(
        "--since", metavar="TIME", help="only turns since then: a day, a time, or a time ago such as 7d"
    )
    parser.add_argument("--until", metavar="TIME", help="only turns before then")
    parser.add_argument(
        "--profile-version", metavar="ID", default="", help="only turns with this version of the profile"
    )
    parser.add_argument("--text", metavar="WORDS", default="", help="only turns whose texts have all these words")
    parser.add_argument("--handled", choices=("yes", "no"), help="only turns that are handled, or not")
    parser.add_argument("--limit", type=_positive, metavar="N", help="at most N turns (default: 50; export: all)")
    parser.add_argument("--offset", type=int, metavar="N", default=0, help="leave the N newest of them out")


def _show(commands: _Commands) -> None:
    parser = _command(
        commands,
        "show",
        "print the graph, the decision tables or the settings in force",
        ["guardian show graph", "guardian show tables", "guardian show settings --profile comindware"],
    )
    parser.add_argument("what", choices=("graph", "tables", "settings"))
    parser.add_argument("--json", action="store_true", help="settings as JSON")
    _profile(parser)
    parser.set_defaults(module="show")


def _doctor(commands: _Commands) -> None:
    parser = _command(
        commands,
        "doctor",
        "report what is installed, reachable and indexed, and how to fix what is not",
        ["guardian doctor", "guardian doctor --profile comindware"],
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    _profile(parser)
    parser.set_defaults(module="doctor")


def _eval(commands: _Commands) -> None:
    parser = _command(
        commands,
        "eval",
        "measure the assistant on labelled cases: the bundled ones, or your own",
        [
            "guardian eval",
            "guardian eval tickets.jsonl --profile my.toml --out report/",
            "guardian eval --parts drafts moderation",
            "guardian eval --ab plan_trace=synthetic,tool_result",
            "guardian eval --model --most 20",
        ],
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="cases, one JSON object per line (default: the bundled ones)"
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        metavar="PART",
        help="answers, turns, drafts, copies, moderation, retrieval, models (default: all that have cases)",
    )
    parser.add_argument(
        "--model", action="store_true", help="only the part models, and ask the configured model beside none"
    )
    parser.add_argument(
        "--ab", metavar="KEY=A,B", help="run every turn with two or more values of a run setting, and compare"
    )
    parser.add_argument("--out", metavar="FOLDER", help="write evaluation.md with its plots there")
    parser.add_argument("--misses", action="store_true", help="name the cases whose outcome differs from their label")
    parser.add_argument(
        "--held-back", action="store_true", help="include the third of the bundled cases that is held back from tuning"
    )
    parser.add_argument("--most", type=_positive, metavar="N", help="at most N cases of each sort, for a quick look")
    parser.add_argument("--data", metavar="FOLDER", help="public data for answers, moderation and retrieval")
    _profile(parser)
    parser.set_defaults(registered="eval")


def _calibrate(commands: _Commands) -> None:
    parser = _command(
        commands,
        "calibrate",
        "find the relevance limit for answers, from your own labelled questions",
        [
            "guardian calibrate questions.jsonl --profile my.toml",
            "guardian calibrate questions.jsonl --profile my.toml --write",
        ],
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="labelled questions, one JSON object per line, at least 40"
    )
    parser.add_argument("--write", action="store_true", help="write the limit into the profile")
    _profile(parser)
    parser.set_defaults(registered="calibrate")


def _address(parser: argparse.ArgumentParser, port: int) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=port, help=f"port to listen on (default: {port}; 0: any free one)")


def _serve(commands: _Commands) -> None:
    parser = _command(
        commands,
        "serve",
        "serve the assistant over HTTP: OpenAI's protocol, its own, MCP, and the chat page",
        [
            "guardian serve",
            "guardian serve --profile comindware --role operator",
            "guardian serve --host 0.0.0.0 --port 8080",
            "guardian serve --workers 4",
        ],
    )
    _address(parser, 8000)
    parser.add_argument("--role", default="user", help="role of everyone if no API keys are used (default: user)")
    parser.add_argument("--workers", type=int, default=1, help="processes that answer at the port (default: 1)")
    _profile(parser)
    parser.set_defaults(module="serve")


def _ui(commands: _Commands) -> None:
    parser = _command(
        commands,
        "ui",
        "open the chat page on this machine",
        ["guardian ui", "guardian ui --operator", "guardian ui --profile comindware --port 7861"],
    )
    parser.add_argument("--port", type=int, default=7860, help="port to listen on (default: 7860; 0: any free one)")
    parser.add_argument(
        "--operator", action="store_true", help="also show plan, articles, report and path of each turn (role operator)"
    )
    _profile(parser)
    parser.set_defaults(module="ui")


def _mcp(commands: _Commands) -> None:
    parser = _command(
        commands,
        "mcp",
        "offer tools to another assistant over the Model Context Protocol, on standard input and output",
        ["guardian mcp", "guardian mcp --profile comindware"],
        "`guardian serve` offers the same tools over HTTP, at /mcp.",
    )
    parser.add_argument("--role", default="user", help="role of the user (default: user)")
    _profile(parser)
    parser.set_defaults(module="mcp")


def _batch(commands: _Commands) -> None:
    parser = _command(
        commands,
        "batch",
        "answer a table of questions (xlsx, csv or jsonl); a killed run resumes where it stopped",
        [
            "guardian batch tickets.xlsx answers.xlsx",
            "guardian batch tickets.csv answers.jsonl --columns columns.toml --at-once 4",
        ],
        "OUT has the columns of IN, then the answers. The file OUT.progress exists until all rows are answered.",
    )
    parser.add_argument("source", metavar="IN", help="the table of questions; it is never changed")
    parser.add_argument("target", metavar="OUT", help="the table to write: .xlsx, .csv or .jsonl")
    parser.add_argument("--columns", metavar="FILE", help="TOML file that says which column is what")
    parser.add_argument("--at-once", type=_positive, metavar="N", default=4, help="rows at once (default: 4)")
    parser.add_argument("--lang", choices=("en", "ru"), help="language of the answers (default: of each question)")
    parser.add_argument("--role", help="role of the user (default: user)")
    parser.add_argument(
        "--force", action="store_true", help="replace OUT if it exists, and start over if a run was interrupted"
    )
    _profile(parser)
    parser.set_defaults(module="batch")


def _keys(commands: _Commands) -> None:
    parser = _command(
        commands,
        "keys",
        "create, list and remove API keys for `guardian serve`",
        [
            "guardian keys add helpdesk",
            "guardian keys add desk-lead --role operator --per-minute 120",
            "guardian keys list",
            "guardian keys remove helpdesk",
        ],
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    about = {
        "add": "create a key and print it once; from then on every request needs a key",
        "list": "list the keys by name, with role and limit",
        "remove": "remove a key; it stops working at once",
    }
    for name, text in about.items():
        example = f"guardian keys {name}" + ("" if name == "list" else " helpdesk")
        action = _command(actions, name, text, [example])
        if name != "list":
            action.add_argument("name", metavar="NAME", help="small Latin letters, digits and dashes")
        if name == "add":
            action.add_argument("--role", default="user", help="role of the key's holder (default: user)")
            action.add_argument(
                "--per-minute", type=_positive, metavar="N", default=60, help="requests per minute (default: 60)"
            )
        if name == "list":
            action.add_argument("--json", action="store_true", help="print JSON")
        _profile(action)
        action.set_defaults(module="keys", action=name)


def _visitors(commands: _Commands) -> None:
    parser = _command(
        commands,
        "visitors",
        "list and erase visitors and users without an API key",
        ["guardian visitors list", "guardian visitors erase anna@example.com"],
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    about = {
        "list": "list visitors (v_...) and users of a proxy (u_...) who have conversations",
        "erase": "delete everything that is kept of a visitor or a user",
    }
    for name, text in about.items():
        example = f"guardian visitors {name}" + ("" if name == "list" else " anna@example.com")
        action = _command(actions, name, text, [example])
        if name == "erase":
            action.add_argument(
                "name", metavar="NAME", help="name in the list, or the name that the proxy gives a user"
            )
        action.add_argument("--json", action="store_true", help="print JSON")
        _profile(action)
        action.set_defaults(module="visitors", action=name)


def _completion(commands: _Commands) -> None:
    parser = _command(
        commands,
        "completion",
        "print the script that lets a shell complete what you type",
        ["guardian completion bash", "guardian completion zsh", "guardian completion fish"],
        _INSTALL_COMPLETION,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.set_defaults(module="completion")


def _fake_model(commands: _Commands) -> None:
    from adapters.fakes.command import ABOUT, EXAMPLES, SCRIPT, add_arguments

    parser = _command(commands, "fake-model", ABOUT, list(EXAMPLES), SCRIPT)
    add_arguments(parser)
    parser.set_defaults(module="fake_model")
