"""Word files (.docx): opened, reduced to what is understood, masked in place and built again."""

from inverse_deid.formats.records import Format, import_when_used

FORMAT = Format(
    name="docx",
    open=import_when_used("inverse_deid.formats.docx.source", "read_docx"),
    suffixes=(".docx",),
    is_single_document=True,
    can_be_piped=False,
)
