"""Excel files (.xlsx): read row by row. The masked file is a new one."""

from inverse_deid.formats.records import Format, import_when_used

FORMAT = Format(
    name="xlsx",
    open=import_when_used("inverse_deid.formats.xlsx.source", "read_xlsx"),
    suffixes=(".xlsx",),
    can_be_piped=False,
    look=import_when_used("inverse_deid.formats.xlsx.source", "look_at_xlsx"),
)
