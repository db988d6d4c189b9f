"""PowerPoint files (.pptx): the text of slides and notes, written as plain text."""

from inverse_deid.formats.records import Format, import_when_used

FORMAT = Format(
    name="pptx",
    open=import_when_used("inverse_deid.formats.pptx.source", "read_pptx"),
    suffixes=(".pptx",),
    is_single_document=True,
    can_be_piped=False,
    added_suffix=".txt",
)
