"""Layout of a Word file: the elements, attributes and values that may stay. Nothing else does.

A value is a number, a colour, a word of the standard or a common font. Names of styles are replaced by
numbers, unless Word itself gives them.

Source: ECMA-376 part 1, chapter 17 (WordprocessingML).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lxml import etree

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"

NAMESPACES = {
    "w": W[1:-1],
    "r": R[1:-1],
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
}
"""Of every part that is written, whatever the file declared."""


def name_all(names: str, namespace: str = W) -> frozenset[str]:
    """Return the full names of elements or attributes."""
    return frozenset(f"{namespace}{name}" for name in names.split())


_PROPERTIES = name_all(
    # runs
    "rPr rStyle rFonts b bCs i iCs caps smallCaps strike dstrike outline shadow emboss imprint noProof "
    "snapToGrid vanish webHidden color spacing w kern position sz szCs highlight u effect bdr shd fitText "
    "vertAlign rtl cs em specVanish "
    # paragraphs
    "pPr pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr ilvl numId "
    "suppressLineNumbers pBdr top left bottom right between bar tabs tab suppressAutoHyphens kinsoku "
    "wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi adjustRightInd ind "
    "contextualSpacing mirrorIndents suppressOverlap jc textDirection textAlignment textboxTightWrap "
    "outlineLvl "
    # tables
    "tblPr tblPrEx tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize tblStyleColBandSize tblW "
    "tblCellSpacing tblInd tblBorders insideH insideV start end tl2br tr2bl tblLayout tblCellMar tblLook "
    "trPr gridBefore gridAfter wBefore wAfter cantSplit trHeight tblHeader hidden tcPr tcW gridSpan "
    "hMerge vMerge tcBorders noWrap tcMar tcFitText vAlign hideMark tblGrid gridCol "
    # sections
    "sectPr footnotePr endnotePr pos numFmt numStart numRestart type pgSz pgMar pgBorders lnNumType "
    "pgNumType cols col noEndnote titlePg rtlGutter docGrid formProt "
    # numbering and styles
    "abstractNum num lvl multiLevelType lvlRestart isLgl suff lvlText lvlJc abstractNumId lvlOverride "
    "startOverride docDefaults rPrDefault pPrDefault tblStylePr basedOn next link uiPriority semiHidden "
    "unhideWhenUsed qFormat numStyleLink styleLink"
)
_STYLE_REFERENCES = name_all("pStyle rStyle tblStyle basedOn next link numStyleLink styleLink")
_STORY_REFERENCES = (f"{W}headerReference", f"{W}footerReference")
_FONTS = name_all("ascii hAnsi cs eastAsia")
_ATTRIBUTES = name_all(
    "val ascii hAnsi cs eastAsia hint sz space shadow frame color fill w type left right top bottom start "
    "end header footer gutter before after line lineRule beforeLines afterLines beforeAutospacing "
    "afterAutospacing firstLine hanging firstLineChars hangingChars leftChars rightChars startChars "
    "endChars h hRule hSpace vSpace wrap hAnchor vAnchor x y xAlign yAlign lines dropCap anchorLock pos "
    "leader num equalWidth sep orient fmt linePitch charSpace countBy distance restart firstRow lastRow "
    "firstColumn lastColumn noHBand noVBand tblpX tblpY tblpXSpec tblpYSpec leftFromText rightFromText "
    "topFromText bottomFromText horzAnchor vertAnchor offsetFrom display zOrder clear alignment relativeTo "
    "ilvl numId abstractNumId default customStyle tentative"
)
_WORDS = name_all(
    # on and off, directions, places
    "on off true false auto none nil left right center both start end distribute justify num decimal bar "
    "top bottom middle inside outside inline text page margin column line char character paragraph table "
    "numbering baseline superscript subscript before after around notBeside tight through all default first "
    "even odd drop clear "
    # heights, widths, sections
    "atLeast exact dxa pct fixed autofit continuous nextPage nextColumn evenPage oddPage portrait landscape "
    "textWrapping newPage newSection eachPage eachSect pageBottom beneathText sectEnd docEnd lines "
    "linesAndChars snapToChars allPages firstPage notFirstPage front back restart cont overlap never "
    # text direction
    "lrTb tbRl btLr lrTbV tbRlV tbLrV tb rl lr tbV rlV lrV ltr rtl "
    # borders, underlines, patterns, leaders
    "single thick double dotted dashed dotDash dotDotDash triple thinThickSmallGap thickThinSmallGap "
    "thinThickThinSmallGap thinThickMediumGap thickThinMediumGap thinThickThinMediumGap thinThickLargeGap "
    "thickThinLargeGap thinThickThinLargeGap wave doubleWave dashSmallGap dashDotStroked threeDEmboss "
    "threeDEngrave outset inset words dottedHeavy dash dashedHeavy dashLong dashLongHeavy dashDotHeavy "
    "dotDotDashHeavy wavyHeavy wavyDouble solid horzStripe vertStripe reverseDiagStripe diagStripe horzCross "
    "diagCross thinHorzStripe thinVertStripe thinReverseDiagStripe thinDiagStripe thinHorzCross "
    "thinDiagCross dot hyphen underscore heavy middleDot "
    # colours of highlights
    "black blue cyan green magenta red yellow white darkBlue darkCyan darkGreen darkMagenta darkRed "
    "darkYellow darkGray lightGray "
    # numbers and lists
    "upperRoman lowerRoman upperLetter lowerLetter ordinal cardinalText ordinalText bullet decimalZero "
    "singleLevel multilevel hybridMultilevel tab space nothing "
    # tables and notes
    "continue wholeTable firstRow lastRow firstCol lastCol band1Vert band2Vert band1Horz band2Horz neCell "
    "nwCell seCell swCell separator continuationSeparator continuationNotice normal",
    "",
)
_COMMON_FONTS = frozenset(
    {
        "Aptos",
        "Arial",
        "Arial Narrow",
        "Book Antiqua",
        "Bookman Old Style",
        "Calibri",
        "Calibri Light",
        "Cambria",
        "Century Gothic",
        "Comic Sans MS",
        "Consolas",
        "Courier New",
        "DejaVu Sans",
        "Garamond",
        "Georgia",
        "Helvetica",
        "Liberation Sans",
        "Liberation Serif",
        "Palatino Linotype",
        "Segoe UI",
        "Symbol",
        "Tahoma",
        "Times New Roman",
        "Trebuchet MS",
        "Verdana",
        "Wingdings",
    }
)
_STYLE_NAMES = (
    "Normal|Title|Subtitle|header|footer|caption|Body Text|Plain Text|Quote|Strong|Emphasis|footnote text|"
    "footnote reference|endnote text|endnote reference|annotation text|annotation reference|"
    "annotation subject|Hyperlink|List Paragraph|No Spacing|Table Grid|Normal Table|No List|TOC Heading|"
    "Default Paragraph Font|page number|Balloon Text|Normal (Web)|List|List Bullet|List Number"
)
_BUILT_IN_STYLES = frozenset(
    [
        *_STYLE_NAMES.split("|"),
        *(f"{kind} {n}" for kind in ("heading", "toc", "index") for n in range(1, 10)),
        *(f"{kind} {n}" for kind in ("List", "List Bullet", "List Number") for n in range(2, 6)),
    ]
)
"""Names of styles that tell nothing about a file."""

_LEVELS = frozenset("012345678")
_NUMBER = re.compile(r"-?[0-9]{1,7}(?:\.[0-9]{1,3})?(?:pt|mm|cm|in|pc|pi|%)?")
_COLOUR = re.compile(r"[0-9A-Fa-f]{6}")
_LOOK = re.compile(r"[0-9A-Fa-f]{4}")  # which rows and columns of a table look special
_PATTERN = re.compile(r"pct[0-9]{1,2}")
_LEVEL_TEXT = re.compile(r"(?:%[1-9]|[ .,()\[\]:;/•·§*+>\-–—]){0,30}|[o\uf000-\uf0ff]?")  # noqa: RUF001


@dataclass(slots=True)
class NewNames:
    """What replaces the names and ids of a file: numbers."""

    styles: dict[str, str] = field(default_factory=dict, repr=False)  # new ids of styles
    stories: dict[str, str] = field(default_factory=dict, repr=False)  # of relations to headers and footers
    notes: dict[tuple[str, str], str] = field(default_factory=dict, repr=False)  # by kind of part and old id
    n_boxes: int = 0  # text boxes so far
    n_unknown: int = 0  # elements with text that are not understood, and left out

    @classmethod
    def of_styles(cls, root: etree._Element | None) -> NewNames:
        """Number the styles of a file, in their order."""
        found = () if root is None else root.iterchildren(f"{W}style")
        ids = dict.fromkeys(style.get(f"{W}styleId", "") for style in found)
        return cls({old: f"S{number}" for number, old in enumerate(ids, start=1) if old})


def is_plain_value(value: str) -> bool:
    """Tell whether a value is a number, a colour or a word of the standard.

    Example:
        >>> is_plain_value("center"), is_plain_value("1F3864"), is_plain_value("Okonkwo")
        (True, True, False)
    """
    patterns = (_NUMBER, _COLOUR, _PATTERN)
    return value in _WORDS or any(pattern.fullmatch(value) for pattern in patterns)


def show_style_name(name: str, number: int) -> str:
    """Return the name of a style if Word gave it, else a number.

    Example:
        >>> show_style_name("heading 1", 3), show_style_name("Letter of Dr Okonkwo", 3)
        ('heading 1', 'Style 3')
    """
    return name if name in _BUILT_IN_STYLES else f"Style {number}"


def copy_properties(parent: etree._Element, node: etree._Element, names: NewNames) -> None:
    """Copy an element of layout and what is in it, as far as it is understood."""
    if node.tag in _STORY_REFERENCES:
        identifier, kind = names.stories.get(node.get(f"{R}id", "")), node.get(f"{W}type", "default")
        if identifier is not None and kind in ("default", "first", "even"):
            etree.SubElement(parent, node.tag, {f"{W}type": kind, f"{R}id": identifier})
    given = _choose_attributes(parent, node, names)
    if given is None or (node.attrib and not given and not len(node)):
        return
    copied = etree.SubElement(parent, node.tag, given)
    for child in node:
        copy_properties(copied, child, names)


def _choose_attributes(
    parent: etree._Element, node: etree._Element, names: NewNames
) -> dict[str, str] | None:
    # None = it must not be copied.
    if node.tag not in _PROPERTIES:
        return None
    given = {str(name): str(value) for name, value in node.attrib.items() if name in _ATTRIBUTES}
    if node.tag in _STYLE_REFERENCES:
        style = names.styles.get(given.get(f"{W}val", ""))
        return None if style is None else {f"{W}val": style}
    if node.tag == f"{W}lvlText":
        if _LEVEL_TEXT.fullmatch(given.get(f"{W}val", "")):
            return given
        level = parent.get(f"{W}ilvl", "")
        return {f"{W}val": f"%{int(level) + 1}." if level in _LEVELS else ""}
    if node.tag == f"{W}rFonts":
        fonts = {name: font for name, font in given.items() if name in _FONTS and font in _COMMON_FONTS}
        theme = node.get(f"{W}asciiTheme", "")  # a theme itself is not written
        if theme and f"{W}ascii" not in fonts:
            font = "Calibri Light" if theme.startswith("major") else "Calibri"
            fonts |= {f"{W}ascii": font, f"{W}hAnsi": font}
        return fonts
    is_look = node.tag == f"{W}tblLook" and _LOOK.fullmatch(given.get(f"{W}val", "0000"))
    values = (value for name, value in given.items() if not (is_look and name == f"{W}val"))
    return given if all(map(is_plain_value, values)) else None
