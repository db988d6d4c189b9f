"""The package of a Word file: a zip of XML parts, read with limits and written without traces.

Source: ECMA-376 part 2 (Open Packaging Conventions).
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.safe_xml import safe_parser

MAX_PARTS = 5_000
MAX_XML_BYTES = 64 * 1024 * 1024
"""The largest XML part that is unpacked, and the most that all of them may be together."""
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
"""The most that all parts may be together, by what the zip says of them. Most are never unpacked."""
MAX_RATIO = 200
"""How many times smaller a part of more than `_SMALL_BYTES` may be in the zip."""

_SMALL_BYTES = 1024 * 1024
OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DAMAGED = "is not a Word file (.docx) or is damaged. Open it in Word and save it again"
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_RELATIONSHIP = f"{{{_PACKAGE}/relationships}}Relationship"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
EPOCH = (1980, 1, 1, 0, 0, 0)

_REMOVED_KINDS = (
    ("word/media/", "image"),
    ("docprops/thumbnail", "thumbnail"),
    ("docprops/", "properties"),
    ("docmetadata/", "properties"),
    ("word/embeddings/", "embedded object"),
    ("word/activex/", "control"),
    ("word/charts/", "chart"),
    ("word/diagrams/", "diagram"),
    ("word/drawings/", "drawing"),
    ("word/fonts/", "font"),
    ("word/fonttable", "list of fonts"),
    ("word/theme/", "theme"),
    ("word/glossary/", "glossary"),
    ("word/versions", "previous version"),
    ("word/afchunk", "embedded document"),
    ("word/vba", "macro"),
    ("word/people", "list of people"),
    ("word/comments", "data of comments"),
    ("word/websettings", "web settings"),
    ("word/printersettings", "printer settings"),
    ("word/mailmerge", "mail merge"),
    ("word/recipientdata", "mail merge"),
    ("word/styles", "data of styles"),
    ("word/header", "unused header or footer"),
    ("word/footer", "unused header or footer"),
    ("customxml/", "custom XML"),
    ("_xmlsignatures/", "signature"),
    ("customui/", "user interface"),
)


@dataclass(frozen=True, slots=True)
class Relationship:
    """What a part says of another."""

    id: str = field(repr=False)
    kind: str = field(repr=False)  # the last word of its type, "" = a type of another standard
    target: str = field(repr=False)  # the name of a part, "" = outside the package or not there


@dataclass(frozen=True, slots=True)
class Package:
    """The parts of a file by name."""

    archive: zipfile.ZipFile = field(repr=False)
    parts: Mapping[str, zipfile.ZipInfo] = field(repr=False)  # by name in lower case
    n_read: list[int] = field(default_factory=list, repr=False)  # the sizes of the parts that were unpacked

    def parse(self, name: str) -> etree._Element:
        """Return the root of an XML part, without its comments and processing instructions.

        Raises:
            FormatError: It is missing, too large, damaged, or has a document type declaration.
        """
        data = None
        with suppress(KeyError, *_UNREADABLE), self.archive.open(self.parts[name]) as part:
            data = part.read(MAX_XML_BYTES + 1)
        if data is None:
            raise FormatError(_DAMAGED)
        self.n_read.append(len(data))
        if sum(self.n_read) > MAX_XML_BYTES:
            raise FormatError(f"unpacks to more than {MAX_XML_BYTES >> 20} MiB of text. Split it")
        root = None
        with suppress(etree.XMLSyntaxError, ValueError, LookupError):
            root = etree.fromstring(data, safe_parser())
        if root is None:
            raise FormatError(_DAMAGED)
        if root.getroottree().docinfo.internalDTD is not None:
            raise FormatError(
                "has a document type declaration, which Word never writes. Save it again in Word"
            )
        return root

    def related(self, part: str) -> Iterator[Relationship]:
        """Yield the relationships of a part; "" = those of the package.

        Raises:
            FormatError: They cannot be read.
        """
        folder, name = posixpath.split(part)
        listed = posixpath.join(folder, "_rels", f"{name}.rels")
        if listed not in self.parts:
            return
        for node in self.parse(listed).iter(_RELATIONSHIP):
            kind = node.get("Type", "")
            kind = kind.removeprefix(_KINDS) if kind.startswith(_KINDS) else ""
            target = node.get("Target", "").lower()
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            is_inside = node.get("TargetMode", "Internal") == "Internal" and target in self.parts
            yield Relationship(node.get("Id", ""), kind, target if is_inside else "")

    def count_removed(self, kept: frozenset[str]) -> dict[str, int]:
        """Count the parts that are not kept, by kind; no name of the file is shown."""
        counts: dict[str, int] = {}
        for name in self.parts:
            if name in kept or name == "[content_types].xml" or name.endswith((".rels", "/")):
                continue
            kind = next((kind for start, kind in _REMOVED_KINDS if name.startswith(start)), "other part")
            counts[kind] = counts.get(kind, 0) + 1
        return dict(sorted(counts.items()))


def open_package(data: bytes) -> Package:
    """Open a Word file.

    Raises:
        FormatError: Encrypted, of an old version, damaged, or made to fill a disk or to leave its folder.

    Example:
        >>> open_package(pack({"word/document.xml": b"<a/>"})).parse("word/document.xml").tag
        'a'
    """
    if data.startswith(OLE_MARK):
        raise FormatError(
            "is encrypted or an old Word file (.doc). Remove its password, or save it as .docx in Word"
        )
    archive = None
    with suppress(*_UNREADABLE):
        archive = zipfile.ZipFile(io.BytesIO(data))
    if archive is None:
        raise FormatError(_DAMAGED)
    infos = archive.infolist()
    if len(infos) > MAX_PARTS:
        raise FormatError(f"has more than {MAX_PARTS:,} parts. Save it again in Word")
    if sum(info.file_size for info in infos) > MAX_TOTAL_BYTES or any(map(is_bomb, infos)):
        raise FormatError(
            "unpacks to far more than its size, as only harmful files do. Save it again in Word"
        )
    if any(info.flag_bits & 1 for info in infos):
        raise FormatError("is encrypted. Remove its password in Word")
    parts = {info.filename.lower(): info for info in infos}
    if len(parts) < len(infos) or any(map(leaves_folder, parts)):
        raise FormatError("has parts with names that Word never writes. Save it again in Word")
    return Package(archive, parts)


def is_bomb(info: zipfile.ZipInfo) -> bool:
    """Tell whether a part of a zip unpacks to far more than its size."""
    return info.file_size > _SMALL_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1)


def leaves_folder(name: str) -> bool:
    """Tell whether a name of a part could lead out of the folder that a zip is unpacked into."""
    return name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/")


def pack(parts: Mapping[str, bytes]) -> bytes:
    """Return a zip of parts that depends on nothing but them.

    Example:
        >>> pack({"a": b"1"}) == pack({"a": b"1"})
        True
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in parts.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system, info.external_attr = 0, 0
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=6)
    return packed.getvalue()


StoryKind = Literal["document", "header", "footer", "footnotes", "endnotes", "comments"]
PartKind = StoryKind | Literal["styles", "numbering", "settings"]


def pack_document(roots: Mapping[str, tuple[PartKind, etree._Element]]) -> bytes:
    """Return a Word file.

    Args:
        roots: By the id of the relationship of the document to it: kind and content of each part. The
            document itself has the id "".
    """
    types, related, parts = [], [], {}
    for identifier, (kind, root) in roots.items():
        name = f"word/{kind}{identifier.removeprefix('rId') if kind in ('header', 'footer') else ''}.xml"
        parts[name] = etree.tostring(root, encoding="UTF-8", xml_declaration=True, standalone=True)
        word = "document.main" if kind == "document" else kind
        content = f"application/vnd.openxmlformats-officedocument.wordprocessingml.{word}+xml"
        types.append(f'<Override PartName="/{name}" ContentType="{content}"/>')
        if identifier:
            target = name.removeprefix("word/")
            related.append(f'<Relationship Id="{identifier}" Type="{_KINDS}{kind}" Target="{target}"/>')
    main = f'<Relationship Id="rId1" Type="{_KINDS}officeDocument" Target="word/document.xml"/>'
    rels = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    )
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    relationships = f'{head}<Relationships xmlns="{_PACKAGE}/relationships">'
    content_types = f'{head}<Types xmlns="{_PACKAGE}/content-types">'
    return pack(
        {
            "[Content_Types].xml": f"{content_types}{rels}{''.join(types)}</Types>".encode(),
            "_rels/.rels": f"{relationships}{main}</Relationships>".encode(),
            "word/_rels/document.xml.rels": f"{relationships}{''.join(related)}</Relationships>".encode(),
            **parts,
        }
    )
