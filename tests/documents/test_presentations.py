"""PowerPoint files: each slide that is shown is a section, and neither notes nor hostile files get into an answer."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.reading import pptx as presentations
from adapters.reading.converter import Converter
from adapters.reading.document import Document, Unfit
from tests.support.presentations import Page, change_parts, pptx

SLIDE = "ppt/slides/slide1.xml"


def read(*pages: Page, old: str = "", new: str = "") -> str:
    """Return what is read of some slides; in the XML of the first one, something else may stand for something."""
    parts = {SLIDE: lambda text: text.replace(old, new)} if old else None
    return presentations.read(pptx(*pages, parts=parts)).text


# -------------------------------------------------------------------------------------------------------- contents


def test_each_slide_is_a_section_with_its_lists_and_tables() -> None:
    """Levels are nested lists, a single paragraph is none, and slides in a row with one title are one section."""
    guide = Page("The guide", [("How to\vbegin <b>", 0)])
    steps = Page("Steps", [("One", 0), ("Two", 1), ("Three", 3), ("# four", 0)])
    ports = Page("Steps", boxes={"Ports": (1, 5)}, table=[["Name | of", "Port"], ["web", "80"]])
    content = pptx(guide, steps, ports, Page(boxes={"alone": (1, 1)}), title="Copied from")
    changed = change_parts(content, {"docProps/core.xml": lambda text: text.replace("2013-01-27", "2025-01-02")})
    assert presentations.read(changed) == Document(
        "## The guide\n\nHow to\nbegin &lt;b>\n\n## Steps\n\n- One\n  - Two\n    - Three\n- \\# four\n\nPorts\n\n"
        "| Name \\| of | Port |\n| --- | --- |\n| web | 80 |\n\n## Slide 4\n\nalone\n",
        "The guide",
        "",
        "2025-01-02",
    )


def test_numbered_paragraphs_are_steps() -> None:
    """They count as they are shown, from the number that the first one names; a paragraph without a mark ends the list."""
    number = '<a:buAutoNum type="arabicPeriod" startAt="3"/>'
    page = Page("T", [("One", 0), ("Two", 0), ("below", 1), ("Three", 0), ("Then", 2), ("One again", 0)])
    text = presentations.read(pptx(page, parts={SLIDE: lambda text: _numbered(text, number)})).text
    assert text == "## T\n\n3. One\n4. Two\n   - below\n5. Three\n\nThen\n\n3. One again\n"


def _numbered(text: str, number: str) -> str:
    for word in ("One", "Two", "Three", "One again"):
        text = text.replace(f"<a:p><a:r><a:t>{word}<", f"<a:p><a:pPr>{number}</a:pPr><a:r><a:t>{word}<")
        text = text.replace(f"<a:p><a:pPr/><a:r><a:t>{word}<", f"<a:p><a:pPr>{number}</a:pPr><a:r><a:t>{word}<")
    return text.replace('<a:pPr lvl="2"/>', '<a:pPr lvl="2"><a:buNone/></a:pPr>')


def test_texts_stand_in_the_order_in_which_they_are_read() -> None:
    """From top to bottom, and from left to right where they stand beside each other; groups are read inside."""
    boxes = {"low": (1, 4.0), "right": (5, 1.0), "left": (1, 1.1), "middle": (1, 2.5)}
    assert read(Page(boxes=boxes)) == "## Slide 1\n\nleft\n\nright\n\nmiddle\n\nlow\n"
    group = "<p:grpSp><p:nvGrpSpPr><p:cNvPr id='90' name='g'/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>"
    grouped = {
        SLIDE: lambda text: text.replace("<p:sp>", f"{group * 30}<p:sp>").replace(
            "</p:sp>", f"</p:sp>{'</p:grpSp>' * 30}"
        )
    }
    assert presentations.read(pptx(Page(boxes={"apple": (1, 1)}), parts=grouped)).text == "## Slide 1\n\napple\n"


def test_what_the_audience_does_not_see_is_no_text() -> None:
    """Hidden slides and shapes, speaker notes, footers and what stands beside the slide are left out."""
    seen = Page("Shown", [("apple", 0)], notes="secret", boxes={"secret": (-5, 1), "secret too": (1, 20)})
    assert read(Page("secret", hidden=True), seen) == "## Shown\n\napple\n"
    foot = '<p:nvPr><p:ph type="ftr" idx="1"/>'
    assert "secret" not in read(Page("T", [("secret", 0)]), old='<p:nvPr><p:ph idx="1"/>', new=foot)
    hidden = 'name="Content Placeholder 2" hidden="1"'
    assert "secret" not in read(Page("T", [("secret", 0)]), old='name="Content Placeholder 2"', new=hidden)


def test_of_a_picture_its_description_stays() -> None:
    """As in the other formats, it is what a reader who does not see the picture reads."""
    shape = '<p:pic><p:nvPicPr><p:cNvPr id="9" name="x" descr="A [red] dialog"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:spPr/></p:pic>'
    assert read(Page(boxes={"a": (1, 1)}), old="</p:spTree>", new=f"{shape}</p:spTree>").endswith(
        "![A (red) dialog](image)\n\na\n"
    )


def test_a_presentation_is_named_by_its_first_slide_before_its_properties() -> None:
    """The property may be that of the file it was copied from, or PowerPoint's own words for none."""
    alone = Page(boxes={"текст по-русски": (1, 1)})
    assert presentations.read(pptx(alone, title="Guide")).title == "Guide"
    assert presentations.read(pptx(alone, title="PowerPoint Presentation")).title == ""
    assert presentations.read(pptx(alone)).text.startswith("## Слайд 1\n")


# -------------------------------------------------------------------------------------------------------- bad files

GOOD = pptx(Page("apple"))
LAUGHS = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
GROUPS = "<p:grpSp><p:nvGrpSpPr><p:cNvPr id='9' name='g'/></p:nvGrpSpPr>"


def declare(text: str) -> str:
    head, _, rest = text.partition("?>")
    return f'{head}?><!DOCTYPE a [<!ENTITY a "ha">{LAUGHS}]>{rest.replace("apple", "&m;")}'


@pytest.mark.parametrize(
    ("content", "way_out"),
    [
        (b"PK\x03\x04 no archive", "save it again"),
        (b"", "save it again"),
        (b"\xd0\xcf\x11\xe0" + b"\x00" * 600, "without a password"),
        (GOOD[:-200], "save it again"),
        (change_parts(GOOD, {SLIDE: "<p:sld"}), "save it again"),
        (change_parts(GOOD, {SLIDE: declare}), "save it again"),
        (change_parts(GOOD, {SLIDE: " " * 30_000_000}), "split it"),
        (change_parts(GOOD, {SLIDE: lambda text: text.replace("apple", "apple" * 1_200_000)}), "split it"),
        (
            change_parts(GOOD, {SLIDE: lambda text: text.replace("</p:spTree>", GROUPS * 9000 + "</p:spTree>")}),
            "save it again",
        ),
        (
            change_parts(
                GOOD, {"ppt/_rels/presentation.xml.rels": lambda text: text.replace("slide1.xml", "slide9.xml")}
            ),
            "save it again",
        ),
        (pptx(), "remove it"),
        (pptx(Page(hidden=True, boxes={"apple": (1, 1)})), "remove it"),
    ],
    ids=[
        *("no archive", "nothing", "encrypted", "cut", "broken", "entities", "bomb", "long", "groups", "missing"),
        *("empty", "hidden"),
    ],
)
def test_a_bad_presentation_is_refused_with_the_way_out(content: bytes, way_out: str) -> None:
    """Damaged, encrypted, empty and exploding files are refused, in a second and with what to do."""
    started = time.process_time()
    with pytest.raises(Unfit, match=way_out):
        presentations.read(content)
    assert time.process_time() - started < 5


def test_pictures_and_macros_are_never_unpacked() -> None:
    """A film of any size costs nothing, and a macro is neither run nor read."""
    content = change_parts(GOOD, {"ppt/media/film.mp4": b"\x00" * 60_000_000, "ppt/vbaProject.bin": b"secret"})
    started = time.process_time()
    assert presentations.read(content).text == "## apple\n"
    assert time.process_time() - started < 1


@settings(max_examples=30)
@given(st.binary(min_size=1, max_size=40), st.integers(0, len(GOOD)), st.integers(0, 60))
def test_any_damage_to_a_presentation_is_read_or_refused(noise: bytes, place: int, length: int) -> None:
    """A file with some bytes changed gives text, or a reason, and no other error."""
    try:
        said = presentations.read(GOOD[:place] + noise + GOOD[place + length :]).text
    except Unfit as unfit:
        said = str(unfit)
    assert "apple" in said or ":" in said


def test_a_process_of_its_own_reads_presentations() -> None:
    """The worker knows the format, and is not ended by a refused file."""
    with Converter() as converter:
        with pytest.raises(Unfit, match="save it again"):
            converter.read(".pptx", b"no archive")
        assert converter.read(".pptx", GOOD).text == "## apple\n"


def test_the_library_is_not_imported_before_it_is_needed() -> None:
    """What names the reader does not import python-pptx."""
    code = "import sys, adapters.reading.pptx\nprint('pptx' in sys.modules, 'lxml' in sys.modules)"
    root = Path(__file__).parents[2]
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert said.stdout == "False False\n"
