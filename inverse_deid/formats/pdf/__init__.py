"""PDF files (.pdf): their text layer and form fields, written into a new PDF."""

from inverse_deid.formats.records import Format, import_when_used

FORMAT = Format(
    name="pdf",
    open=import_when_used("inverse_deid.formats.pdf.source", "read_pdf"),
    suffixes=(".pdf",),
    is_single_document=True,
    can_be_piped=False,
    is_laid_out_anew=True,
    list_scans=import_when_used("inverse_deid.formats.pdf.reading", "list_scans"),
    draw_scan=import_when_used("inverse_deid.formats.pdf.reading", "draw_scan"),
)
