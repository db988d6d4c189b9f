r"""RTF files (.rtf): their text, written into a new RTF file of plain paragraphs (docs/office-files.md).

The body comes first. Headers, footers, notes, comments and text boxes follow it. Tracked deletions, the
targets of links and binary data are left out. A group that says that readers may ignore it is left out if its
word is not known, and counted if it has words. Any other unknown word changes nothing.

Source: Rich Text Format Specification 1.9.1 (Microsoft 2008), "Conventions of an RTF Reader", "Document Area"
and "Unicode RTF".
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from inverse_deid.core.errors import FormatError
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.plain_text import read_whole
from inverse_deid.formats.rebuilt_file import RebuiltFile
from inverse_deid.formats.records import Format, ReadOptions

MAX_DEPTH = 1_000

_DAMAGED = N_("is not an RTF file or is damaged. Open it in Word or LibreOffice and save it again")
_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z])|"
    r"(?P<brace>[{}])|(?P<text>[^\\{}]+)",
    re.DOTALL,
)
_STORIES = frozenset(
    "header headerl headerr headerf footer footerl footerr footerf footnote annotation shptxt "  # noqa: SIM905
    "dptxbxtext".split()
)
"""Groups with text that is not part of the body."""
_TRANSPARENT = frozenset(
    "shp shpinst shpgrp shppict do nesttableprops field fldrslt upr mmath moMath moMathPara mr mf mnum mden "  # noqa: SIM905
    "me mrad mdeg mnary msub msup msSub msSup msSubSup msPre mfunc mfName mlim mlimLow "
    "mlimUpp mm mmr meqArr mbar macc mbox mborderBox mgroupChr mphant md".split()
)
"""Words of groups around text."""
_REMOVED = {
    "pict": "image",
    "object": N_("embedded object"),
    "info": "properties",
    "userprops": "properties",
    "docvar": "variable",
    "revtbl": N_("list of authors"),
    "atnauthor": N_("author of a comment"),
    "fldinst": N_("field instruction"),
    "formfield": N_("form field"),
    "bkmkstart": "bookmark",
    "themedata": "theme",
    "datastore": N_("custom XML"),
    "mailmerge": N_("mail merge"),
    "passwordhash": "password",
    "pntext": N_("list number"),
    "xe": N_("index entry"),
    "tc": N_("index entry"),
}
"""Groups that are left out, and what they are called."""
_UNKNOWN, _MARKUP = N_("text in an unknown place"), N_("HTML markup")
_REMOVED_WORDS = {
    "htmltag": _MARKUP,
    "mhtmltag": _MARKUP,
    "sv": N_("property of a shape"),
    "template": "properties",
    "hlinkbase": "properties",
    "xmlattrvalue": N_("custom XML"),
    "atnid": N_("initials of an author"),
    "pntxta": N_("list number"),
    "pntxtb": N_("list number"),
    "datafield": N_("data of a field"),
    "filetbl": N_("list of files"),
    "protusertbl": N_("list of users"),
}
"""Groups that are left out, and what they are called if they have words."""
_LAYOUT = frozenset(
    "fonttbl colortbl stylesheet listtable listoverridetable listpicture latentstyles rsidtbl "  # noqa: SIM905
    "generator colorschememapping xmlnstbl defchp defpap pgptbl pn "
    "pnseclvl background wgrffmtfilter nonesttables nonshppict shprslt "
    "mmathPict mmathPr falt panose fname picprop blipuid sp ud ftnsep ftnsepc ftncn aftnsep "
    "aftnsepc aftncn atndate atntime atnref atnicn atnparent atrfstart atrfend bkmkend "
    "rxe txe fldtype ffname ffl objdata "
    "objclass objname objalias objsect writereservation writereservhash password oldcprops "
    "oldpprops oldsprops oldtprops private xmlopen xmlattrname keycode msmcap "
    "pgdsctbl".split()
)
"""Groups that are left out and have no text of their own: looks, marks, and what another group has again."""
_LOOKS = frozenset(
    "b i ul uld uldb ulnone ulw strike striked caps scaps outl shad sub super nosupersub v "  # noqa: SIM905
    "plain pard par sectd ql qr qc qj rtlch ltrch loch hich dbch intbl revised impr embo "
    "additive".split()
)
"""Words of looks without a number. A group that begins with one is not left out, even if it may be."""
_SIGNS = {
    **{
        "par": "\n",
        "sect": "\n\n",
        "page": "\n\n",
        "column": "\n",
        "softcol": "\n",
        "line": "\n",
        "row": "\n",
    },
    **{"cell": "\t", "nestcell": "\t", "nestrow": "\n", "tab": "\t", "emdash": "—", "endash": "–"},  # noqa: RUF001
    **{"emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005", "bullet": "•"},
    **{"lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"},  # noqa: RUF001
    **{"~": "\u00a0", "_": "\u2011", "\n": "\n", "\r": "\n", "{": "{", "}": "}", "\\": "\\"},
}
"""Characters with a name. Optional hyphens are none: Word shows them only where they break a line."""
_REPLACEMENTS = frozenset(word for word, sign in _SIGNS.items() if not sign.isspace()) | {"-"}
"""Words that may replace a character of Unicode, for readers without it."""
_ENCODINGS = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_CHARSETS = {
    **{77: "mac_roman", 78: "shift_jis", 79: "big5", 80: "euc_kr", 81: "mac_arabic", 83: "mac_greek"},
    **{84: "mac_cyrillic", 85: "gb2312", 86: "mac_romanian", 88: "mac_cyrillic", 89: "mac_latin2"},
    **{128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254"},
    **{163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874"},
    **{238: "cp1250", 254: "cp437", 255: "cp850"},
}
"""The encodings of fonts by `\\fcharset`; those that are not here have that of the file."""
_SYMBOLS = 2
"""The charset of fonts whose letters are pictures."""
_UNKNOWN_SIGN = "□"
_SYMBOL_FONT = {
    **dict(zip(b"ABCDEFGHIKLMNOPQRSTUWXYZ", "ΑΒΧΔΕΦΓΗΙΚΛΜΝΟΠΘΡΣΤΥΩΞΨΖ", strict=True)),
    **dict(zip(b"abcdefghiklmnopqrstuwxyz", "αβχδεφγηικλμνοπθρστυωξψζ", strict=True)),
    **dict(zip(b"\xa3\xb0\xb1\xb2\xb3\xb4\xb7\xb8\xb9\xbb", "≤°±″≥×•÷≠≈", strict=True)),  # noqa: RUF001
    **dict(zip(b"\xac\xad\xae\xaf\xa2\xd7", "←↑→↓′·", strict=True)),  # noqa: RUF001
}
"""What the font Symbol shows for a byte: an `m` in it is a `μ`, so mg and μg are told apart."""
_PRIVATE = range(0xF020, 0xF100)
"""Where Unicode has the bytes of fonts of symbols."""
_BULLET = 0xF0B7
_WORD = re.compile(r"\w")
_LETTER = re.compile(r"[^\W\d_]")
_BARE_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9:]*\s*/?>|&#?\w+;")


def read_rtf(stream: BinaryIO, options: ReadOptions, name: str) -> RebuiltFile:
    r"""Open an RTF file.

    Raises:
        FormatError: Not RTF, cut off, or with characters that its code page does not have.
        UnreadableInputError: Empty or too large.
    """
    reader, text = _Reader(), None
    with suppress(ValueError, LookupError, OverflowError):
        text = reader.read(read_whole(stream).decode("latin-1"))
    if text is None:
        raise FormatError(
            _("has characters that its code page does not have. Save it again in Word or LibreOffice")
        )
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\0", "\ufffd").replace("\u00ad", "")
    text = "\n".join(line.rstrip(" \t") for line in text.splitlines()).strip("\n")
    if not text:
        raise FormatError(_("has no text. Give an RTF file with text"))
    return RebuiltFile(Document(name, text), _build, dict(sorted(reader.removed.items())))


@dataclass(slots=True)
class _Group:
    """What holds until the end of a group."""

    story: int = 0
    font: int = -1
    n_skipped: int = 1  # characters that follow a `\u` for readers without Unicode
    is_left_out: bool = False
    is_deleted: bool = False
    is_font_table: bool = False
    counted_as: str = ""  # left out, and counted if it has words
    left_out: list[str] = field(default_factory=list, repr=False)  # text in it, if it is left out
    story_length: int = -1  # before the first form of a text with two, -1 = it has one


class _Reader:
    def __init__(self) -> None:
        self.removed: dict[str, int] = {}
        self._stories: list[list[str]] = [[]]  # the body, and what follows it
        self._group = _Group()
        self._outer: list[_Group] = []
        self._encoding = "cp1252"
        self._charsets: dict[int, int] = {}  # of the fonts
        self._default_font = -1
        self._symbol_fonts: set[int] = set()  # those named Symbol
        self._bytes = b""  # not yet decoded
        self._n_to_skip = 0
        self._is_first = self._is_starred = False  # the next word begins a group, which may be ignored

    def read(self, text: str) -> str:
        # `text` has one character per byte.
        text = text.lstrip("\ufeff \t\r\n").removeprefix("ï»¿")
        if not text.startswith("{\\rtf"):
            raise FormatError(_DAMAGED)
        position = 0
        while match := _TOKEN.match(text, position):
            position = match.end()
            word, hexadecimal = match["word"], match["hex"]
            if hexadecimal:
                self._take_bytes(bytes.fromhex(hexadecimal))
            elif match["text"]:
                data = match["text"].translate({10: None, 13: None}).encode("latin-1")
                self._take_bytes(data)
                if not data:
                    continue
            elif word == "bin":
                position += max(int(match["number"] or 0), 0)
            else:
                self._flush()
                if match["brace"]:
                    self._take_brace(match["brace"])
                    if not self._outer:
                        break
                else:
                    self._take_word(word or match["sign"], match["number"])
                    continue
            self._is_first = match["brace"] == "{"
            self._is_starred = False
        if self._outer:
            raise FormatError(_DAMAGED)
        self._note(N_("data after the end"), bool(_WORD.search(text[position:])))
        return "\n\n".join("".join(story) for story in self._stories)

    def _take_brace(self, brace: str) -> None:
        self._n_to_skip = 0
        if brace == "{":
            self._outer.append(self._group)
            self._group = replace(self._group, counted_as="", left_out=[])
            if len(self._outer) > MAX_DEPTH:
                raise FormatError(_DAMAGED)
            return
        inner, self._group = self._group, self._outer.pop()
        if inner.counted_as:
            self._note(inner.counted_as, _has_words("".join(inner.left_out), inner.counted_as))
        else:
            self._group.left_out += inner.left_out

    def _take_word(self, word: str, number: str | None) -> None:
        is_first, is_starred = self._is_first, self._is_starred
        if word == "*":
            self._is_starred = True
            return
        self._is_first = self._is_starred = False
        if self._n_to_skip and word in _REPLACEMENTS:
            self._n_to_skip -= 1
            return
        self._n_to_skip = 0
        value = None if number is None else int(number)
        if self._take_destination(word) or self._take_setting(word, value):
            return
        if word == "u":
            if value is not None:
                code = value % 0x10000 if value < 0x10000 else value
                is_symbol = code in _PRIVATE and (self._group.font in self._symbol_fonts or code == _BULLET)
                self._put(_SYMBOL_FONT.get(code - 0xF000, chr(code)) if is_symbol else chr(code))
            self._n_to_skip = self._group.n_skipped
        elif word in _SIGNS:
            self._put(_SIGNS[word])
        elif (
            is_first and is_starred and number is None and word not in _LOOKS and not self._group.is_left_out
        ):
            self._leave_out(_UNKNOWN)

    def _take_destination(self, word: str) -> bool:
        group = self._group
        if word in _STORIES:
            if not group.is_left_out:
                group.story = len(self._stories)
                self._stories.append([])
        elif word in _REMOVED:
            self._note(_REMOVED[word], word != "pict" or not group.is_left_out)
            group.is_left_out = True
        elif word in _REMOVED_WORDS:
            self._leave_out(_REMOVED_WORDS[word])
        elif word == "ud" and group.story_length >= 0:
            # What was read so far is the form for readers without Unicode: letters are missing in it.
            story = self._stories[group.story]
            first = "".join(story[group.story_length :])
            del story[group.story_length :]
            self._note(N_("other form of the text"), _has_words(first, _UNKNOWN))
        elif word in _LAYOUT or (word.startswith("m") and word.endswith("Pr")):
            group.is_left_out = True
            group.is_font_table |= word == "fonttbl"
        else:
            return word in _TRANSPARENT and self._begin_transparent(word)
        return True

    def _leave_out(self, kind: str) -> None:
        self._group.is_left_out, self._group.counted_as = True, kind

    def _begin_transparent(self, word: str) -> bool:
        self._put("/" if word == "mden" else "")
        if word == "upr":
            self._group.story_length = len(self._stories[self._group.story])
        return True

    def _take_setting(self, word: str, value: int | None) -> bool:
        # False = the word changes nothing that holds for the text that follows.
        group = self._group
        if word == "deleted" and value != 0:
            self._note(N_("tracked deletion"), not group.is_deleted and not group.is_left_out)
            group.is_deleted = True
        elif word in ("deleted", "plain"):
            group.is_deleted = False
            group.font = self._default_font if word == "plain" else group.font
        elif word == "uc":
            group.n_skipped = max(value or 0, 0)
        elif word == "f" and value is not None:
            group.font = value
        elif word == "deff" and value is not None:
            self._default_font = group.font = value
        elif word == "fcharset" and value is not None and group.is_font_table:
            self._charsets[group.font] = value
        elif word == "ansicpg" and value:
            self._encoding = {65001: "utf-8", 10000: "mac_roman"}.get(value, f"cp{value}")
        elif word in _ENCODINGS:
            self._encoding = _ENCODINGS[word]
        else:
            return False
        return True

    def _take_bytes(self, data: bytes) -> None:
        n = min(self._n_to_skip, len(data))
        self._n_to_skip -= n
        self._bytes += data[n:]

    def _flush(self) -> None:
        data, self._bytes = self._bytes, b""
        if self._group.is_font_table and data.strip(b" ;").lower() == b"symbol":
            self._symbol_fonts.add(self._group.font)
        if self._group.font in self._symbol_fonts:
            self._put(
                "".join(_SYMBOL_FONT.get(one, chr(one) if one < 0x80 else _UNKNOWN_SIGN) for one in data)
            )
        elif data.isascii() or self._group.is_left_out or self._group.is_deleted:
            self._put(data.decode("latin-1"))
        elif self._charsets.get(self._group.font) == _SYMBOLS:
            self._put("".join(chr(one) if one < 0x80 else _UNKNOWN_SIGN for one in data))
        else:
            charset = self._charsets.get(self._group.font, 0)
            self._put(data.decode(_CHARSETS.get(charset, self._encoding)))

    def _put(self, text: str) -> None:
        group = self._group
        if not group.is_left_out and not group.is_deleted:
            self._stories[group.story].append(text)
        elif _WORD.search(text):
            group.left_out.append(text)
            self._note("WordArt", group.is_left_out and "gtextUNICODE" in text)

    def _note(self, kind: str, n: int = 1) -> None:
        if n:
            self.removed[kind] = self.removed.get(kind, 0) + n


def _has_words(text: str, kind: str) -> bool:
    # Tags alone and numbers of shapes do not count.
    if kind == _UNKNOWN:
        return _WORD.search(text) is not None
    return _LETTER.search(_BARE_TAG.sub("", text) if kind == _MARKUP else text) is not None


_HEAD = "{\\rtf1\\ansi\\ansicpg1252\\deff0\\uc1{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}}\\f0\\fs22\n"
_ESCAPES = {"\\": "\\\\", "{": "\\{", "}": "\\}", "\t": "\\tab ", "\n": "\\par\n", "\f": "\\page "}


def _build(masked: MaskedDocument) -> bytes:
    return f"{_HEAD}{''.join(map(_escape, masked.text))}}}\n".encode("ascii")


def _escape(sign: str) -> str:
    r"""Return what RTF has for a character.

    Example:
        >>> _escape("{"), _escape("µ"), _escape("\U0001f600")
        ('\\{', '\\u181?', '\\u-10179?\\u-8704?')
    """
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isascii():
        return sign if sign.isprintable() else "?"
    data = sign.encode("utf-16-le", "replace")
    units = [int.from_bytes(data[i : i + 2], "little", signed=True) for i in range(0, len(data), 2)]
    return "".join(f"\\u{unit}?" for unit in units)


FORMAT = Format(
    name="rtf",
    open=read_rtf,
    suffixes=(".rtf",),
    is_single_document=True,
    can_be_piped=False,
    can_be_revealed=False,
)
