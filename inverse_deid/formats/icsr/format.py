"""Case safety reports as a format; the modules that read them are imported when a file is opened."""

from inverse_deid.formats.icsr.prolog import is_icsr
from inverse_deid.formats.records import Format, import_when_used

FORMAT = Format(
    name="icsr",
    open=import_when_used("inverse_deid.formats.icsr.source", "read_reports"),
    suffixes=(".xml",),
    is_head=is_icsr,
    holds_cases=True,
    can_be_piped=False,
)
