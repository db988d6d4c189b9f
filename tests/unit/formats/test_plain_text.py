import io

import pytest
from fake_maskers import keep_all, mask_capitals
from refusals import refuses

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.engine.masker import mask_records
from inverse_deid.formats.plain_text import read_plain_text
from inverse_deid.formats.records import ReadOptions


def through(data: bytes, encoding: str = "utf-8", masker=None) -> bytes:
    source = read_plain_text(io.BytesIO(data), ReadOptions(encoding=encoding), "a.txt")
    target = io.BytesIO()
    records = list(source.records())
    for record, masked in zip(records, mask_records(masker or keep_all(), records), strict=True):
        source.sink(target).write(record, masked)
    return target.getvalue()


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"a\r\nb\rc\n\x0b\x0c", "utf-8"),
        ("\ufeffpt well\r\n".encode(), "utf-8"),
        ("\ufeffpt well\r\n".encode("utf-16-le"), "utf-16"),
        ("\ufeffpt well\r\n".encode("utf-16-be"), "UTF16"),
        ("pt well".encode("utf-16-le"), "utf-16"),
        ("fièvre – 5 €".encode("cp1252"), "cp1252"),
        ("fi\xe8vre".encode("latin-1"), "latin-1"),
        (b" \n ", "utf-8"),
    ],
)
def test_bytes_that_are_kept_stay_the_same(data, encoding):
    assert through(data, encoding) == data


def test_a_sign_that_the_encoding_lacks_becomes_a_question_mark():
    assert through(b"a\x1cb", "latin-1") == b"a?b"


def test_offsets_count_from_behind_the_byte_order_mark():
    source = read_plain_text(io.BytesIO("\ufeffAnn fell".encode()), ReadOptions(), "a.txt")
    ((masked,),) = mask_records(mask_capitals(), list(source.records()))
    assert masked.masks == ((0, 3),)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"%PDF-1.4 \xff\xfe\x00", "x".encode("utf-16")])
def test_what_is_not_text_of_the_encoding_is_refused(data):
    with pytest.raises(UnreadableInputError):
        through(data)


def test_the_mark_of_another_encoding_names_the_remedy():
    with refuses(UnreadableInputError, match="Use --encoding utf-16"):
        through("x".encode("utf-16"))


@pytest.mark.parametrize("encoding", ["no-such", "base64", "rot13", "a\0b"])
def test_an_unknown_encoding_is_refused(encoding):
    with pytest.raises(ConfigurationError):
        through(b"x", encoding)
