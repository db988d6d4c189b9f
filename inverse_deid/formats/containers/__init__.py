"""Files that contain files (e-mails and archives): each part is read and masked by its own format."""

from inverse_deid.formats.records import Format, import_when_used

MESSAGE_SUFFIX = ".eml"

ZIP = Format(
    name="zip",
    open=import_when_used("inverse_deid.formats.containers.archive", "read_zip"),
    suffixes=(".zip",),
    can_be_revealed=False,
    can_be_piped=False,
    needs_all_records=True,
    is_container=True,
)

EML = Format(
    name="eml",
    open=import_when_used("inverse_deid.formats.containers.eml", "read_eml"),
    suffixes=(MESSAGE_SUFFIX,),
    can_be_revealed=False,
    can_be_piped=False,
    needs_all_records=True,
    is_container=True,
)

MSG = Format(
    name="msg",
    open=import_when_used("inverse_deid.formats.containers.outlook", "read_msg"),
    suffixes=(".msg",),
    added_suffix=MESSAGE_SUFFIX,
    can_be_revealed=False,
    can_be_piped=False,
    needs_all_records=True,
    is_container=True,
)
