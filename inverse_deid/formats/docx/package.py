"""The package of a Word file: which parts are never kept, and how the new one is put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from lxml import etree

from inverse_deid.core.wording import N_
from inverse_deid.formats.containers.office_package import KINDS, PACKAGE, Program, pack

_REMOVED_KINDS = (
    ("word/media/", "image"),
    ("docprops/thumbnail", "thumbnail"),
    ("docprops/", "properties"),
    ("docmetadata/", "properties"),
    ("word/embeddings/", N_("embedded object")),
    ("word/activex/", "control"),
    ("word/charts/", "chart"),
    ("word/diagrams/", "diagram"),
    ("word/drawings/", "drawing"),
    ("word/fonts/", "font"),
    ("word/fonttable", N_("list of fonts")),
    ("word/theme/", "theme"),
    ("word/glossary/", "glossary"),
    ("word/versions", N_("previous version")),
    ("word/afchunk", N_("embedded document")),
    ("word/vba", "macro"),
    ("word/people", N_("list of people")),
    ("word/comments", N_("data of comments")),
    ("word/websettings", N_("web settings")),
    ("word/printersettings", N_("printer settings")),
    ("word/mailmerge", N_("mail merge")),
    ("word/recipientdata", N_("mail merge")),
    ("word/styles", N_("data of styles")),
    ("word/header", N_("unused header or footer")),
    ("word/footer", N_("unused header or footer")),
    ("customxml/", N_("custom XML")),
    ("_xmlsignatures/", "signature"),
    ("customui/", N_("user interface")),
)

WORD = Program("Word", N_("a Word file (.docx)"), N_("an old Word file (.doc)"), ".docx", _REMOVED_KINDS)

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
            related.append(f'<Relationship Id="{identifier}" Type="{KINDS}{kind}" Target="{target}"/>')
    main = f'<Relationship Id="rId1" Type="{KINDS}officeDocument" Target="word/document.xml"/>'
    rels = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    )
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    relationships = f'{head}<Relationships xmlns="{PACKAGE}/relationships">'
    content_types = f'{head}<Types xmlns="{PACKAGE}/content-types">'
    return pack(
        {
            "[Content_Types].xml": f"{content_types}{rels}{''.join(types)}</Types>".encode(),
            "_rels/.rels": f"{relationships}{main}</Relationships>".encode(),
            "word/_rels/document.xml.rels": f"{relationships}{''.join(related)}</Relationships>".encode(),
            **parts,
        }
    )
