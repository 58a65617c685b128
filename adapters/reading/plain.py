"""The words of Markdown prose for the index, without everything that only a browser needs."""

from __future__ import annotations

import re

from language.clean import unescape_entities

# Every quantifier is bounded and no alternative begins like its neighbour, so hostile text costs linear time. Of a
# comment, only the beginning: `_strip_markup` looks for its end, and for each end but once.
_MARKUP = re.compile(
    r"""
    (?P<code>`{1,3}[^`]{1,500}`{1,3})                        # kept as it is
    | \{\*[^*\n]{1,500}\*\}                                  # FastAPI's includes of source files
    | \{[ \t]*[.:\#][^{}\n]{0,200}\}                         # attribute lists
    | (?P<comment><!--)
    | !?\[(?P<label>(?:[^\[\]]|\[[^\[\]]{0,200}\]){0,500})\]\((?:[^()\n]|\([^()\n]{0,500}\)){0,2000}\)
    | <(?:https?|mailto|ftp):[^<>\s]{1,2000}>                # autolinks are targets, too
    | </?[A-Za-z][^<>]{0,1000}>
    """,
    re.VERBOSE | re.DOTALL,
)
_LONGEST_COMMENT = 5000
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n]{1,200}\]:[ \t]*\S.*$", re.MULTILINE)
_ADMONITION = re.compile(r"^[ \t]*(?:/{3,}|:{3,}|!!!|\?\?\?)[ \t]*[\w-]*[ \t]*\|?", re.MULTILINE)


def plain(markdown: str) -> str:
    """Return the words of some Markdown: link and image targets, tags, comments and attributes are dropped."""
    text = _ADMONITION.sub("", _DEFINITION.sub("", markdown))
    # A label may hold an image with a target of its own.
    return unescape_entities(_strip_markup(_strip_markup(text)))


def _strip_markup(text: str) -> str:
    parts: list[str] = []
    done = place = closing = 0
    while match := _MARKUP.search(text, place):
        place = match.end()
        if match["comment"]:
            if 0 <= closing < place:
                closing = text.find("-->", place)
            if not 0 <= closing - place <= _LONGEST_COMMENT:
                continue
            place = closing + len("-->")
        parts += (text[done : match.start()], _keep(match))
        done = place
    return "".join((*parts, text[done:]))


def _keep(match: re.Match[str]) -> str:
    return match.group("code") or match.group("label") or " "
