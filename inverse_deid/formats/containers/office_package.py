"""The package of a Word or Excel file: a zip of XML parts, read with limits and written without traces.

Source: ECMA-376 part 2 (Open Packaging Conventions).
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from lxml import etree

from inverse_deid.core.errors import FormatError
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.safe_xml import safe_parser

MAX_PARTS = 5_000
MAX_XML_BYTES = 64 * 1024 * 1024
"""The largest XML part that is unpacked, and the most that all of them may be together."""
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
"""The most that all parts may be together, by what the zip says of them. Most are never unpacked."""
MAX_RATIO = 200
"""How many times smaller a part of more than `_SMALL_BYTES` may be in the zip."""

_SMALL_BYTES = 1024 * 1024
_BLOCK_BYTES = 64 * 1024
OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_RELATIONSHIP = f"{{{PACKAGE}/relationships}}Relationship"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Program:
    """The program that files of a kind belong to."""

    name: str  # as people call it
    file: str  # what its files are called in a message, with their suffix
    old_file: str  # the same of files of its old versions
    suffix: str  # of its files
    # How the names of parts begin that are never kept, in lower case, and what they are.
    removed_kinds: tuple[tuple[str, str], ...] = ()

    @property
    def damaged(self) -> str:
        """The message for a file that cannot be read."""
        return _(
            "is not {file} or is damaged. Open it in {name} and save it again",
            file=_(self.file),
            name=self.name,
        )


ZIP_COMMENT = N_("comment in a zip")
"""What comments beside the files of a zip are called. No office program writes them."""


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
    program: Program
    n_read: list[int] = field(default_factory=list, repr=False)  # the sizes of the parts that were unpacked

    def parse(self, name: str) -> etree._Element:
        """Return the root of an XML part, without its comments and processing instructions.

        Raises:
            FormatError: It is missing, too large, damaged, or has a document type declaration.
        """
        data = None
        with suppress(KeyError, *UNREADABLE), self.archive.open(self.parts[name]) as part:
            data = part.read(MAX_XML_BYTES + 1)
        if data is None:
            raise FormatError(self.program.damaged)
        self.n_read.append(len(data))
        if sum(self.n_read) > MAX_XML_BYTES:
            raise FormatError(
                _(
                    "unpacks to more than {max_xml_bytes} MiB of text. Split it",
                    max_xml_bytes=MAX_XML_BYTES >> 20,
                )
            )
        root = None
        with suppress(etree.XMLSyntaxError, ValueError, LookupError):
            root = etree.fromstring(data, safe_parser())
        if root is None:
            raise FormatError(self.program.damaged)
        if root.getroottree().docinfo.internalDTD is not None:
            raise FormatError(self.has_doctype)
        return root

    @property
    def has_doctype(self) -> str:
        """The message for XML with a document type declaration."""
        name = self.program.name
        return _(
            "has a document type declaration, which {name} never writes. Save it again in {name}", name=name
        )

    def feed(self, name: str, target: object) -> Iterator[None]:
        """Feed an XML part of any size to the target of a parser, and pause after every block.

        No tree is built, so memory does not grow. The method `doctype` of the target has to
        refuse a document type declaration.

        Raises:
            FormatError: It is missing or damaged.
        """
        parser = safe_parser(target)
        is_complete = False
        with suppress(KeyError, etree.XMLSyntaxError, LookupError, *UNREADABLE):
            with self.archive.open(self.parts[name]) as part:
                while block := part.read(_BLOCK_BYTES):
                    parser.feed(block)
                    yield
            parser.close()
            is_complete = True
        if not is_complete:
            raise FormatError(self.program.damaged)
        yield

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
            kind = kind.removeprefix(KINDS) if kind.startswith(KINDS) else ""
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
            kinds = self.program.removed_kinds
            kind = next((kind for start, kind in kinds if name.startswith(start)), _("other part"))
            counts[kind] = counts.get(kind, 0) + 1
        if n_comments := count_comments(self.archive):
            counts[ZIP_COMMENT] = n_comments
        return dict(sorted(counts.items()))


def open_package(data: bytes, program: Program) -> Package:
    """Open a file of a program.

    Raises:
        FormatError: Encrypted, of an old version, damaged, or made to fill a disk or to leave its folder.
    """
    name = program.name
    if data.startswith(OLE_MARK):
        raise FormatError(
            _(
                "is encrypted or {old_file}. Remove its password, or save it as {suffix} in {name}",
                old_file=program.old_file,
                suffix=program.suffix,
                name=name,
            )
        )
    archive = None
    with suppress(*UNREADABLE):
        archive = zipfile.ZipFile(io.BytesIO(data))
    if archive is None:
        raise FormatError(program.damaged)
    infos = archive.infolist()
    if len(infos) > MAX_PARTS:
        raise FormatError(
            _("has more than {max_parts:,} parts. Save it again in {name}", max_parts=MAX_PARTS, name=name)
        )
    if sum(info.file_size for info in infos) > MAX_TOTAL_BYTES or any(map(is_bomb, infos)):
        raise FormatError(
            _(
                "unpacks to far more than its size, as only harmful files do. Save it again in {name}",
                name=name,
            )
        )
    if any(info.flag_bits & 1 for info in infos):
        raise FormatError(_("is encrypted. Remove its password in {name}", name=name))
    parts = {info.filename.lower(): info for info in infos}
    if len(parts) < len(infos) or any(map(leaves_folder, parts)):
        raise FormatError(
            _("has parts with names that {name} never writes. Save it again in {name}", name=name)
        )
    return Package(archive, parts, program)


def count_comments(archive: zipfile.ZipFile) -> int:
    return bool(archive.comment) + sum(bool(info.comment) for info in archive.infolist())


def is_bomb(info: zipfile.ZipInfo) -> bool:
    """Tell whether a part of a zip unpacks to far more than its size."""
    return info.file_size > _SMALL_BYTES and info.file_size > MAX_RATIO * max(info.compress_size, 1)


def leaves_folder(name: str) -> bool:
    """Tell whether a name of a part could lead out of the folder that a zip is unpacked into."""
    return name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/")


def pack(parts: Mapping[str, bytes | Iterable[bytes]]) -> bytes:
    """Return a zip of parts, each given whole or in pieces, that depends on nothing but them."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compresslevel=6) as archive:
        for name, data in parts.items():
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system, info.external_attr = 0, 0
            info.compress_type = zipfile.ZIP_DEFLATED
            pieces = (data,) if isinstance(data, bytes) else data
            with archive.open(info, "w") as part:
                for piece in pieces:
                    part.write(piece)
    return packed.getvalue()
