"""PowerPoint files, written part by part."""

from __future__ import annotations

from collections.abc import Sequence

from word_files import relations, zipped

NAMESPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)


def paragraph(*runs: str) -> str:
    return f"<a:p>{''.join(f'<a:r><a:t>{run}</a:t></a:r>' for run in runs)}</a:p>"


def slide(content: str, root: str = "sld") -> bytes:
    return f"<p:{root} {NAMESPACES}><p:cSld><p:spTree>{content}</p:spTree></p:cSld></p:{root}>".encode()


def parts_of(slides: Sequence[str], notes: str = "") -> dict[str, bytes]:
    """Return the parts of a file; the notes are of the last slide, and slides are stored in reverse."""
    numbers = range(1, len(slides) + 1)
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in numbers)
    targets = [(f"rId{n}", "slide", f"slides/slide{len(slides) + 1 - n}.xml", "") for n in numbers]
    parts = {
        "[Content_Types].xml": b"<Types/>",
        "_rels/.rels": relations(("rId1", "officeDocument", "ppt/presentation.xml", "")),
        "ppt/presentation.xml": (
            f"<p:presentation {NAMESPACES}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>".encode()
        ),
        "ppt/_rels/presentation.xml.rels": relations(*targets),
        **{f"ppt/slides/slide{len(slides) + 1 - n}.xml": slide(slides[n - 1]) for n in numbers},
    }
    if notes:
        parts["ppt/slides/_rels/slide1.xml.rels"] = relations(
            ("rId1", "notesSlide", "../notesSlides/notesSlide1.xml", "")
        )
        parts["ppt/notesSlides/notesSlide1.xml"] = slide(notes, "notes")
    return parts


def presentation_of(*texts: str) -> bytes:
    """Return a file with a slide for each text."""
    return zipped(parts_of([paragraph(text) for text in texts]))
