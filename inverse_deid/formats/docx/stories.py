"""The parts of a Word file that have text, built again from what is understood.

Nothing of the file is changed in place: a new tree gets the paragraphs, tables, notes and text boxes, and all
of their text is in `w:t` elements. Content controls, fields, hyperlinks, smart tags and insertions are
replaced by what they show. Deletions, pictures, objects and everything unknown are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from inverse_deid.formats.docx.package import StoryKind
from inverse_deid.formats.docx.properties import (
    NAMESPACES,
    NewNames,
    W,
    copy_properties,
    name_all,
    show_style_name,
)

_MC = f"{{{NAMESPACES['mc']}}}"
_WP = f"{{{NAMESPACES['wp']}}}"
_A = f"{{{NAMESPACES['a']}}}"
_WPS = f"{{{NAMESPACES['wps']}}}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_XML_WHITE_SPACE = " \t\r\n"

ROOTS: dict[StoryKind, str] = {
    "document": f"{W}document",
    "header": f"{W}hdr",
    "footer": f"{W}ftr",
    "footnotes": f"{W}footnotes",
    "endnotes": f"{W}endnotes",
    "comments": f"{W}comments",
}

_NOTES: dict[str, str] = {"footnotes": f"{W}footnote", "endnotes": f"{W}endnote", "comments": f"{W}comment"}
_KIND_OF_REFERENCE = {
    f"{W}footnoteReference": "footnotes",
    f"{W}endnoteReference": "endnotes",
    f"{W}commentReference": "comments",
    f"{W}commentRangeStart": "comments",
    f"{W}commentRangeEnd": "comments",
}
_WRAPPERS = name_all("sdt sdtContent customXml smartTag hyperlink fldSimple ins moveTo dir bdo")
"""Elements that are replaced by their content."""
_SHAPES = frozenset([f"{W}drawing", f"{W}pict", f"{W}object", f"{_MC}AlternateContent"])
_MARKS = name_all("footnoteRef endnoteRef annotationRef separator continuationSeparator tab br cr ptab")
_MARK_VALUES = {
    f"{W}type": ("page", "column", "textWrapping"),
    f"{W}clear": ("none", "left", "right", "all"),
    f"{W}alignment": ("left", "center", "right"),
    f"{W}relativeTo": ("margin", "indent"),
    f"{W}leader": ("none", "dot", "hyphen", "underscore", "middleDot"),
}
_EMU, _SIGNED_EMU = re.compile(r"[0-9]{1,8}"), re.compile(r"-?[0-9]{1,8}")
_DEFAULT_EXTENT = ("3600000", "1080000")  # 100 mm and 30 mm in English metric units (360,000 per cm)
_PLACES = name_all(
    "margin page column paragraph character line leftMargin rightMargin topMargin bottomMargin "
    "insideMargin outsideMargin",
    "",
)
UNKNOWN_SIGN = "□"
"""Replaces characters that only a font of symbols explains."""


def build_story(root: etree._Element, kind: StoryKind, names: NewNames) -> etree._Element:
    """Return a new part with what is understood of one of the file."""
    story = etree.Element(ROOTS[kind], nsmap=NAMESPACES)
    if kind == "document":
        body = etree.SubElement(story, f"{W}body")
        for found in root.iterchildren(f"{W}body"):
            _Builder(names).blocks(body, found)
            for section in list(found.iterchildren(f"{W}sectPr"))[-1:]:
                copy_properties(body, section, names)
    elif kind in _NOTES:
        for found in root.iterchildren(_NOTES[kind]):
            attributes = {f"{W}id": names.notes[kind, found.get(f"{W}id", "")]}
            if kind == "comments":
                attributes[f"{W}author"] = "Author"
            elif found.get(f"{W}type") in ("separator", "continuationSeparator", "continuationNotice"):
                attributes[f"{W}type"] = found.get(f"{W}type", "")
            note = etree.SubElement(story, _NOTES[kind], attributes)
            _Builder(names).blocks(note, found)
    else:
        _Builder(names).blocks(story, root)
    return story


def number_notes(root: etree._Element, kind: StoryKind, names: NewNames) -> None:
    """Give new numbers to the footnotes, endnotes or comments of a part."""
    notes = sorted(root.iterchildren(_NOTES[kind]), key=lambda note: f"{W}type" not in note.attrib)
    has_lines = bool(notes) and f"{W}type" in notes[0].attrib  # those that separate notes from the text
    first = 0 if kind == "comments" else -1 if has_lines else 1
    for number, found in enumerate(notes, start=first):
        names.notes.setdefault((kind, found.get(f"{W}id", "")), str(number))


def build_styles(root: etree._Element, names: NewNames) -> etree._Element:
    """Return the styles without their names, unless Word gave them."""
    styles = etree.Element(f"{W}styles", nsmap=NAMESPACES)
    for found in root.iterchildren(f"{W}docDefaults"):
        copy_properties(styles, found, names)
    seen: set[str] = set()
    for number, found in enumerate(root.iterchildren(f"{W}style"), start=1):
        new_id, sort = names.styles.get(found.get(f"{W}styleId", "")), found.get(f"{W}type", "")
        if new_id is None or new_id in seen or sort not in ("paragraph", "character", "table", "numbering"):
            continue
        seen.add(new_id)
        style = etree.SubElement(styles, f"{W}style", {f"{W}type": sort})
        if found.get(f"{W}default") in ("1", "true", "on"):
            style.set(f"{W}default", "1")
        style.set(f"{W}styleId", new_id)
        names_given = [child.get(f"{W}val", "") for child in found.iterchildren(f"{W}name")]
        shown = show_style_name(names_given[0] if names_given else "", number)
        etree.SubElement(style, f"{W}name", {f"{W}val": shown})
        for child in found:
            copy_properties(style, child, names)
    return styles


def build_numbering(root: etree._Element, names: NewNames) -> etree._Element:
    numbering = etree.Element(f"{W}numbering", nsmap=NAMESPACES)
    for found in root:
        copy_properties(numbering, found, names)
    return numbering


def build_settings(root: etree._Element | None) -> etree._Element:
    """Return the few settings that shape pages."""
    settings = etree.Element(f"{W}settings", nsmap=NAMESPACES)
    for name in ("mirrorMargins", "gutterAtTop", "evenAndOddHeaders"):
        found = None if root is None else root.find(f"{W}{name}")
        if found is not None and found.get(f"{W}val", "1") in ("1", "true", "on"):
            etree.SubElement(settings, f"{W}{name}")
    compat = etree.SubElement(settings, f"{W}compat")
    mode = {"name": "compatibilityMode", "uri": "http://schemas.microsoft.com/office/word", "val": "15"}
    etree.SubElement(compat, f"{W}compatSetting", {f"{W}{key}": value for key, value in mode.items()})
    return settings


class _Builder:
    def __init__(self, names: NewNames, *, is_in_box: bool = False) -> None:
        self._names = names
        self._is_in_box = is_in_box  # Word does not allow text boxes in text boxes
        self._joined: etree._Element | None = None  # a paragraph whose end was deleted

    def blocks(self, parent: etree._Element, container: etree._Element) -> None:
        for node in _unwrap(container):
            if node.tag == f"{W}p":
                self._paragraph(parent, node)
            elif node.tag == f"{W}tbl":
                self._table(parent, node)
            else:
                self._reference(parent, node)
        self._joined = None
        if not len(parent) or parent[-1].tag != f"{W}p":
            etree.SubElement(parent, f"{W}p")

    def _paragraph(self, parent: etree._Element, node: etree._Element) -> None:
        new = self._joined
        if new is None:
            new = etree.SubElement(parent, f"{W}p")
            for found in list(node.iterchildren(f"{W}pPr"))[:1]:
                copy_properties(new, found, self._names)
        for child in _unwrap(node):
            if child.tag == f"{W}r":
                self._run(new, child)
            elif child.tag in (f"{_M}oMath", f"{_M}oMathPara"):
                shown = (t for t in child.iter(f"{_M}t") if next(t.iterancestors(f"{W}del"), None) is None)
                _add_text(etree.SubElement(new, f"{W}r"), "".join(t.text or "" for t in shown))
            elif child.tag in _SHAPES:
                self._shape(etree.SubElement(new, f"{W}r"), child)
            else:
                self._reference(new, child)
        is_end_deleted = node.find(f"{W}pPr/{W}rPr/{W}del") is not None
        is_end_deleted |= node.find(f"{W}pPr/{W}rPr/{W}moveFrom") is not None
        self._joined = new if is_end_deleted else None

    def _table(self, parent: etree._Element, node: etree._Element) -> None:
        self._joined = None
        new = etree.SubElement(parent, f"{W}tbl")
        for tag in (f"{W}tblPr", f"{W}tblGrid"):
            found = node.find(tag)
            copy_properties(new, etree.Element(tag) if found is None else found, self._names)
        for row in _unwrap(node):
            if row.tag == f"{W}tr" and row.find(f"{W}trPr/{W}del") is None:
                self._row(new, row)
        if new.find(f"{W}tr") is None:
            parent.remove(new)

    def _row(self, table: etree._Element, node: etree._Element) -> None:
        new = etree.SubElement(table, f"{W}tr")
        for cell in _unwrap(node):
            if cell.tag in (f"{W}tblPrEx", f"{W}trPr"):
                copy_properties(new, cell, self._names)
            elif cell.tag == f"{W}tc" and cell.find(f"{W}tcPr/{W}cellDel") is None:
                new_cell = etree.SubElement(new, f"{W}tc")
                for found in list(cell.iterchildren(f"{W}tcPr"))[:1]:
                    copy_properties(new_cell, found, self._names)
                _Builder(self._names, is_in_box=self._is_in_box).blocks(new_cell, cell)
        if new.find(f"{W}tc") is None:
            table.remove(new)

    def _run(self, parent: etree._Element, node: etree._Element) -> None:
        properties = node.find(f"{W}rPr")
        if properties is not None and properties.find(f"{W}del") is not None:
            return
        new = etree.SubElement(parent, f"{W}r")
        if properties is not None:
            copy_properties(new, properties, self._names)
        for child in node:
            if child.tag == f"{W}t":
                _add_text(new, _shown_text(child))
            elif child.tag == f"{W}noBreakHyphen":
                _add_text(new, "\u2011")
            elif child.tag == f"{W}sym":
                _add_text(new, UNKNOWN_SIGN)
            elif child.tag == f"{W}ruby":
                _add_text(new, "".join(t.text or "" for t in child.iterfind(f"{W}rubyBase//{W}t")))
            elif child.tag in _MARKS:
                given = {name: child.get(name, "") for name in _MARK_VALUES}
                kept = {name: value for name, value in given.items() if value in _MARK_VALUES[name]}
                etree.SubElement(new, child.tag, kept)
            elif child.tag in _SHAPES:
                self._shape(new, child)
            else:
                self._reference(new, child)

    def _reference(self, parent: etree._Element, node: etree._Element) -> None:
        # Anything else is left out, and counted if it has text.
        has_text = next(node.iter(f"{W}t"), None) is not None
        self._names.n_unknown += has_text and node.tag not in (f"{W}del", f"{W}moveFrom")
        kind = _KIND_OF_REFERENCE.get(str(node.tag))
        number = self._names.notes.get((kind or "", node.get(f"{W}id", "")))
        if number is not None:
            etree.SubElement(parent, node.tag, {f"{W}id": number})

    def _shape(self, run: etree._Element, node: etree._Element) -> None:
        # Of alternatives, the first that has any.
        if self._is_in_box:
            self._names.n_unknown += next(node.iter(f"{W}t"), None) is not None
            return
        branches = list(node) if node.tag == f"{_MC}AlternateContent" else [node]
        texts = (list(branch.iter(f"{W}txbxContent")) for branch in branches)
        boxes = next((found for found in texts if found), [])
        boxes = [box for box in boxes if next(box.iterancestors(f"{W}txbxContent"), None) not in boxes]
        for box in boxes:
            self._names.n_boxes += 1
            content = _add_box(run, box, self._names.n_boxes, is_alone=len(boxes) == 1)
            _Builder(self._names, is_in_box=True).blocks(content, box)


def _unwrap(container: etree._Element) -> Iterator[etree._Element]:
    # Those that only wrap others are replaced by what they wrap.
    for child in container:
        if child.tag in _WRAPPERS:
            yield from _unwrap(child)
        elif child.tag == f"{_MC}AlternateContent" and next(child.iter(f"{W}txbxContent"), None) is None:
            branches = (branch for branch in child if next(branch.iter(f"{W}t"), None) is not None)
            for branch in list(branches)[:1]:
                yield from _unwrap(branch)
        else:
            yield child


def _shown_text(node: etree._Element) -> str:
    # Word shows no spaces at the ends unless the `w:t` says otherwise. Optional hyphens are left out, as are
    # those that Word writes as elements.
    text = (node.text or "").replace("\u00ad", "")
    holder = next((one for one in (node, *node.iterancestors()) if one.get(_SPACE) is not None), None)
    is_whole = holder is not None and holder.get(_SPACE) == "preserve"
    return text if is_whole else text.strip(_XML_WHITE_SPACE)


def _add_text(run: etree._Element, text: str) -> None:
    if text:
        new = etree.SubElement(run, f"{W}t", {_SPACE: "preserve"})
        new.text = text


def _add_box(run: etree._Element, box: etree._Element, number: int, *, is_alone: bool) -> etree._Element:
    # It has the place of the other only if that is the only one of its drawing.
    frame = next(box.iterancestors(f"{_WP}inline", f"{_WP}anchor"), None)
    shape = next(box.iterancestors(f"{_WPS}wsp"), None)
    sizes = [] if shape is None else list(shape.iterfind(f"{_WPS}spPr/{_A}xfrm/{_A}ext"))
    sizes += [] if frame is None else list(frame.iterchildren(f"{_WP}extent"))
    extents = ((size.get("cx", ""), size.get("cy", "")) for size in sizes)
    cx, cy = next((one for one in extents if all(map(_EMU.fullmatch, one))), _DEFAULT_EXTENT)
    choice = etree.SubElement(
        etree.SubElement(run, f"{_MC}AlternateContent"), f"{_MC}Choice", {"Requires": "wps"}
    )
    drawing = etree.SubElement(choice, f"{W}drawing")
    place = None if frame is None or not is_alone else _read_place(frame)
    new = etree.SubElement(drawing, f"{_WP}inline" if place is None else f"{_WP}anchor")
    new.attrib.update({f"dist{side}": "0" for side in "TBLR"})
    if place is not None:
        _add_place(new, place)
    etree.SubElement(new, f"{_WP}extent", {"cx": cx, "cy": cy})
    if place is not None:
        etree.SubElement(new, f"{_WP}wrapSquare", {"wrapText": "bothSides"})
    etree.SubElement(new, f"{_WP}docPr", {"id": str(number), "name": f"Text Box {number}"})
    graphic = etree.SubElement(new, f"{_A}graphic")
    data = etree.SubElement(graphic, f"{_A}graphicData", {"uri": NAMESPACES["wps"]})
    made = etree.SubElement(data, f"{_WPS}wsp")
    etree.SubElement(made, f"{_WPS}cNvSpPr", {"txBox": "1"})
    look = etree.SubElement(made, f"{_WPS}spPr")
    transform = etree.SubElement(look, f"{_A}xfrm")
    etree.SubElement(transform, f"{_A}off", {"x": "0", "y": "0"})
    etree.SubElement(transform, f"{_A}ext", {"cx": cx, "cy": cy})
    etree.SubElement(etree.SubElement(look, f"{_A}prstGeom", {"prst": "rect"}), f"{_A}avLst")
    etree.SubElement(etree.SubElement(look, f"{_A}ln", {"w": "6350"}), f"{_A}noFill")
    content = etree.SubElement(etree.SubElement(made, f"{_WPS}txbx"), f"{W}txbxContent")
    etree.SubElement(made, f"{_WPS}bodyPr")
    return content


def _read_place(frame: etree._Element) -> list[tuple[str, str]] | None:
    # None = in its line.
    place = []
    for tag in (f"{_WP}positionH", f"{_WP}positionV"):
        position = frame.find(tag)
        offset = None if position is None else position.findtext(f"{_WP}posOffset")
        relative = "" if position is None else position.get("relativeFrom", "")
        if offset is None or relative not in _PLACES or not _SIGNED_EMU.fullmatch(offset):
            return None
        place.append((relative, offset))
    return place


def _add_place(anchor: etree._Element, place: list[tuple[str, str]]) -> None:
    zeros = ("simplePos", "behindDoc", "locked")
    ones = ("relativeHeight", "layoutInCell", "allowOverlap")
    anchor.attrib.update({**dict.fromkeys(zeros, "0"), **dict.fromkeys(ones, "1")})
    etree.SubElement(anchor, f"{_WP}simplePos", {"x": "0", "y": "0"})
    for name, (relative, offset) in zip(("positionH", "positionV"), place, strict=True):
        position = etree.SubElement(anchor, f"{_WP}{name}", {"relativeFrom": relative})
        etree.SubElement(position, f"{_WP}posOffset").text = offset
