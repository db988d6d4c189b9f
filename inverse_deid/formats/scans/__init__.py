"""Scans and photos of pages (.png, .jpg, .tif): their text, read by OCR. A picture is never written."""

from inverse_deid.formats.records import Format, import_when_used

FORMAT = Format(
    name="scan",
    open=import_when_used("inverse_deid.formats.scans.source", "read_scan"),
    suffixes=(".png", ".jpg", ".jpeg", ".tif", ".tiff"),
    is_single_document=True,
    can_be_piped=False,
    added_suffix=".txt",
    list_scans=import_when_used("inverse_deid.formats.scans.pictures", "list_scans"),
    draw_scan=import_when_used("inverse_deid.formats.scans.pictures", "draw_scan"),
)
