"""Whatever the text, a table or JSON Lines file that is kept says the same afterwards."""

import csv
import io
import json
import re

from fake_maskers import FakeMasker
from hypothesis import example, given
from hypothesis import strategies as st

from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml, read_i2b2_xml
from inverse_deid.formats.plain_text import read_plain_text
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.tables.csv_table import neutralise, read_csv, restore
from inverse_deid.formats.tables.json_lines import read_json_lines

any_text = st.text(st.characters(exclude_categories=["Cs"]))
xml_text = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from("\r\n\t]>&<")
)


def kept(doc: Document) -> MaskedDocument:
    """A masked document with the text of the original, hidden characters included."""
    (masked,) = FakeMasker(lambda word: True).mask_many([doc])
    return MaskedDocument(doc.id, doc.text, (), (), masked.tokens, masked.decisions)


def through(source) -> bytes:
    target = io.BytesIO()
    sink = source.sink(target)
    for record in source.records():
        assert not record.problem
        sink.write(record, [kept(doc) for doc in record.docs])
    sink.finish()
    return target.getvalue()


@given(st.lists(st.tuples(any_text, any_text), max_size=4), st.sampled_from(",;\t"))
def test_csv_cells_keep_their_text(rows, delimiter):
    given_file = io.StringIO(newline="")
    writer = csv.writer(given_file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("other", "text"), *rows])
    options = ReadOptions(delimiter=delimiter, keep_unchecked=("other",))
    written = through(read_csv(io.BytesIO(given_file.getvalue().encode()), options))
    cells = list(csv.reader(io.StringIO(written.decode(), newline=""), delimiter=delimiter))
    assert cells == [["other", "text"], *([neutralise(cell) for cell in row] for row in rows)]
    options = ReadOptions(delimiter=delimiter, is_masked=True)
    back = io.StringIO(through(read_csv(io.BytesIO(written), options)).decode(), newline="")
    assert list(csv.reader(back, delimiter=delimiter)) == [["other", "text"], *map(list, rows)]


@example(" \r")
@example("' \n")
@given(st.text(st.sampled_from("'=+-@ \t\r\n5,.ex\uff1d")))
def test_no_cell_is_run_and_all_can_be_taken_back(cell):
    written = neutralise(cell)
    is_number = re.fullmatch(r"[+-][\d.,]+(?:e[+-]?\d+)?", written)
    assert is_number or not written.lstrip(" ").startswith(tuple("=+-@\t\r\n\uff1d"))
    assert restore(written) == cell


@given(st.lists(any_text, min_size=1, max_size=4))
def test_json_lines_keep_their_text(texts):
    data = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts)).encode()
    lines = through(read_json_lines(io.BytesIO(data), ReadOptions())).split(b"\n")
    assert [json.loads(line)["text"] for line in lines[:-1]] == texts


@given(xml_text)
def test_xml_keeps_any_text_that_xml_can_hold(text):
    given = gold_i2b2_xml(Document("a", text))
    written = through(read_i2b2_xml(io.BytesIO(given), ReadOptions(), "a"))
    assert read_i2b2_xml(io.BytesIO(written), ReadOptions(), "a").doc.text == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_plain_text_keeps_its_bytes(text):
    data = text.encode()
    if data != b"\xef\xbb\xbf":
        assert through(read_plain_text(io.BytesIO(data), ReadOptions(), "a")) == data
