import csv
import io
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fake_maskers import CANARY, mask_capitals
from refusals import refuses

from inverse_deid.core.errors import ConfigurationError, FormatError
from inverse_deid.engine.masker import mask_records
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.tables.columns import choose_columns
from inverse_deid.formats.tables.csv_table import read_csv
from inverse_deid.formats.tables.json_lines import read_json_lines
from inverse_deid.formats.tables.parquet_table import N_ROWS_A_BATCH, read_parquet


def masked_csv(data: bytes, **options) -> bytes:
    source = read_csv(io.BytesIO(data), ReadOptions(**options))
    return _through(source)


def _through(source) -> bytes:
    target = io.BytesIO()
    target.close = lambda: None
    sink = source.sink(target)
    records = [record for record in source.records() if not record.problem]
    for record, masked in zip(records, mask_records(mask_capitals(), records), strict=True):
        sink.write(record, masked)
    sink.finish()
    return target.getvalue()


def test_other_columns_keep_their_meaning():
    rows = [["n", "text", "x"], ["007", "Ann\nfell", 'a "b", c'], ["", "", " "], ["1e3", "ok", "=A1\r\n"]]
    given = io.StringIO()
    csv.writer(given, lineterminator="\r\n").writerows(rows)
    masked = masked_csv(given.getvalue().encode(), keep_unchecked=("n", "x"))
    written = list(csv.reader(io.StringIO(masked.decode(), newline="")))
    rows[1][1] = "PHI\nfell"
    rows[3][2] = "'=A1\r\n"
    assert written == rows


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_end_and_byte_order_mark_are_kept(end, mark):
    data = f"{mark}id,text{end}1,well{end}".encode()
    assert masked_csv(data) == data


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiter_is_kept(delimiter):
    data = f'text{delimiter}n\n"a{delimiter}b"{delimiter}1,5\n'.encode()
    assert masked_csv(data, delimiter=delimiter, keep_unchecked=("n",)) == data


def test_blank_lines_and_empty_cells_stay():
    assert masked_csv(b'text\n""\n\nwell\n') == b'text\n""\n\nwell\n'


def test_rows_with_too_many_cells_are_reported_as_a_spreadsheet_counts_them():
    source = read_csv(io.BytesIO(f"id,text\n1,ok\n2,rash, {CANARY}\n".encode()), ReadOptions())
    records = list(source.records())
    assert [record.number for record in records if record.problem] == [3]
    assert CANARY not in repr(records) + records[1].problem


def test_ids_come_from_the_id_column_or_the_row():
    data = b"case,text\nA1,x\nA2,y\n"
    numbered = read_csv(io.BytesIO(data), ReadOptions())
    named = read_csv(io.BytesIO(data), ReadOptions(id_column="case"))
    assert [record.doc.id for record in numbered.records()] == ["2", "3"]
    assert [record.doc.id for record in named.records()] == ["A1", "A2"]


def test_long_cells_are_read():
    text = "well " * 100_000
    source = read_csv(io.BytesIO(f"text\n{text}\n".encode()), ReadOptions())
    assert next(source.records()).doc.text == text


@pytest.mark.parametrize(
    ("header", "message"), [("twice,twice", "two columns have the same name"), ("a,b", "Use --text-column")]
)
def test_a_missing_or_doubled_column_is_an_error(header, message):
    with refuses(FormatError, match=message):
        read_csv(io.BytesIO(f"{header}\n1,2\n".encode()), ReadOptions(text_columns=("twice",)))


def test_columns_without_a_name_are_dropped():
    assert masked_csv(b"text,,\nwell,a,b\n") == b"text\nwell\n"


def test_the_separator_is_suspected_if_there_is_one_column():
    with refuses(FormatError, match="--delimiter"):
        read_csv(io.BytesIO(b"id;text\n1;x\n"), ReadOptions(delimiter=","))


def parquet(table: pa.Table) -> io.BytesIO:
    target = io.BytesIO()
    pq.write_table(table, target)
    return io.BytesIO(target.getvalue())


def test_parquet_keeps_other_columns_types_and_empty_cells():
    table = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int16()),
            "text": ["Ann fell", None, ""],
            "when": pa.array([0, None, 86_400], pa.timestamp("s")),
            "nested": [{"a": [1]}, None, {"a": []}],
        }
    )
    options = ReadOptions(keep_unchecked=("when", "nested"))
    written = pq.read_table(io.BytesIO(_through(read_parquet(parquet(table), options))))
    assert written.drop(["text"]).equals(pq.read_table(parquet(table)).drop(["text"]))
    assert written["text"].to_pylist() == ["PHI fell", None, ""]
    assert written.schema.names == table.schema.names


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_parquet_takes_every_kind_of_text(kind):
    table = pa.table({"text": pa.array(["Ann", "well"]).cast(kind)})
    written = pq.read_table(io.BytesIO(_through(read_parquet(parquet(table), ReadOptions()))))
    assert written["text"].to_pylist() == ["PHI", "well"]


def test_parquet_without_any_text_stays_empty():
    table = pa.table({"id": [1, 2], "text": pa.array([None, None], pa.null()), "n": [3, 4]})
    written = pq.read_table(
        io.BytesIO(_through(read_parquet(parquet(table), ReadOptions(keep_unchecked=("n",)))))
    )
    assert written.to_pylist() == [{"id": 1, "text": None, "n": 3}, {"id": 2, "text": None, "n": 4}]


def test_parquet_of_many_batches():
    n = 2 * N_ROWS_A_BATCH + 5
    table = pa.table({"text": [f"well {i}" for i in range(n)], "i": list(range(n))})
    options = ReadOptions(keep_unchecked=("i",))
    written = pq.read_table(io.BytesIO(_through(read_parquet(parquet(table), options))))
    assert written["i"].equals(table["i"])
    assert written["text"].to_pylist() == ["well PHI"] * n


def test_parquet_metadata_of_others_is_dropped():
    table = pa.table({"text": ["x"]}).replace_schema_metadata({"note": CANARY})
    assert CANARY.encode() not in _through(read_parquet(parquet(table), ReadOptions()))


WORDS = pa.dictionary(pa.int8(), pa.string())
NOTED = {"metadata": {"note": CANARY}}
KINDS = [
    (WORDS, "x"),
    (pa.list_(WORDS), ["x", "y"]),
    (pa.large_list(pa.string()), ["x"]),
    (pa.list_(pa.int8(), 1), [1]),
    (pa.map_(pa.string(), pa.struct([pa.field("a", pa.int8(), **NOTED)])), [("k", {"a": 1})]),
    (pa.struct([pa.field("a", pa.list_(pa.field("b", pa.string(), **NOTED)))]), {"a": ["x"]}),
]


@pytest.mark.parametrize(("kind", "value"), KINDS, ids=str)
def test_every_type_of_a_kept_column_loses_its_metadata_and_dictionary(kind, value):
    # pyarrow before 24 cannot read a missing list of a fixed size; the file is refused then.
    second = value if pa.types.is_fixed_size_list(kind) else None
    table = pa.table({"text": ["well", "ill"], "kept": pa.array([value, second], kind)})
    data = _through(read_parquet(parquet(table), ReadOptions(keep_unchecked=("kept",))))
    assert CANARY.encode() not in data
    written = pq.read_table(io.BytesIO(data))["kept"]
    assert "dictionary" not in str(written.type)
    assert written.to_pylist() == [value, second]


@pytest.mark.parametrize("column", ["n", "missing"])
def test_parquet_needs_a_text_column(column):
    with refuses(FormatError, match="--text-column"):
        read_parquet(parquet(pa.table({"n": [1], "text": ["x"]})), ReadOptions(text_columns=(column,)))


def test_the_narrative_is_never_its_own_id():
    table = read_csv(io.BytesIO(f"id,n\n{CANARY},5\n".encode()), ReadOptions(text_columns=("id",)))
    assert [record.doc.id for record in table.records()] == ["2"]
    file = io.BytesIO()
    pq.write_table(pa.table({"id": [CANARY]}), file)
    table = read_parquet(io.BytesIO(file.getvalue()), ReadOptions(text_columns=("id",)))
    assert [record.doc.id for record in table.records()] == ["1"]


def test_ids_that_are_not_utf8_are_an_error_with_a_remedy():
    offsets = pa.array([0, 2], pa.int32()).buffers()[1]
    ids = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    file = io.BytesIO()
    pq.write_table(pa.table({"text": ["well"], "id": ids}), file)
    with pytest.raises(FormatError, match="not UTF-8"):
        list(read_parquet(io.BytesIO(file.getvalue()), ReadOptions()).records())


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.float64(), pa.struct([("a", pa.string())]), pa.list_(pa.string())]
)
def test_ids_that_are_neither_text_nor_whole_numbers_are_refused(kind):
    target = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([None], kind), "text": ["well"]}), target)
    with pytest.raises(FormatError, match="neither text nor whole numbers"):
        list(read_parquet(target, ReadOptions()).records())


@pytest.mark.parametrize(
    "first_row", ["John Okonkwo,had rash on the day", "Okonkwo,rash", "Okonkwo had,rash,itch"]
)
def test_a_first_row_that_may_be_data_is_not_shown(first_row):
    with pytest.raises(FormatError) as caught:
        read_csv(io.BytesIO(f"{first_row}\n1,2\n".encode()), ReadOptions())
    assert "Okonkwo" not in str(caught.value)


def test_a_second_header_in_another_order_is_refused_so_that_no_text_is_kept():
    data = f"text,sex\nwell,f\nsex,text\nm,{CANARY} fell\n".encode()
    with pytest.raises(FormatError, match="second header") as error:
        masked_csv(data, keep_unchecked=("sex",))
    assert CANARY not in str(error.value)
    assert masked_csv(b"text,sex\nwell,f\ntext,sex\nill,m\n", keep_unchecked=("sex",)).endswith(b"ill,m\n")
    assert masked_csv(b"kind,text\ntext,well\n") == b"text\nwell\n"


SECOND_HEADERS = {
    "all names in another order": ("text,sex,drug", True),
    "fewer names": ("text,drug,", True),
    "other names between": ("dose,text,drug", True),
    "the text alone": (",text,", True),
    "in capital letters, with spaces": ("CASE, Text ,x", True),
    "the same order": ("sex,drug,text", False),
    "one name among values": ("f,text,well", False),
    "names of other columns": ("drug,sex,well", False),
}


@pytest.mark.parametrize(("row", "is_refused"), SECOND_HEADERS.values(), ids=SECOND_HEADERS)
def test_a_header_of_another_table_below_is_refused_if_texts_would_be_kept(row, is_refused):
    columns = choose_columns(
        ["sex", "drug", "text", "case", "dose"], ReadOptions(keep_columns=("sex", "drug"))
    )
    expected = pytest.raises(FormatError, match="second header") if is_refused else nullcontext()
    with expected:
        columns.check_order([*row.split(","), "", ""])


@pytest.mark.parametrize("space", [" ", "  ", "\xa0", "\u200b", "\ufeff", "\u202f"])
@pytest.mark.parametrize("place", ["before", "after", "around"])
def test_a_column_is_found_if_its_name_has_spaces_around_it(space, place):
    name = {"before": f"{space}note", "after": f"note{space}", "around": f"{space}note{space}"}[place]
    header = f'case,"{name}",sex'
    data = f"{header}\n1,Ann fell,f\n".encode()
    written = masked_csv(data, text_columns=("note",), id_column="case", keep_unchecked=("sex",))
    assert next(csv.reader(io.StringIO(written.decode()))) == ["case", name, "sex"]
    assert written.endswith(b"1,PHI fell,f\n")
    assert masked_csv(data, text_columns=(name,), id_column="case", keep_unchecked=("sex",)) == written
    table = parquet(pa.table({name: ["Ann fell"]}))
    assert b"Ann" not in _through(read_parquet(table, ReadOptions(text_columns=("note",))))


def test_the_column_of_ids_may_have_spaces_around_its_name_as_well():
    assert masked_csv(b" id ,text\n7,Ann fell\n") == b'" id ",text\n7,PHI fell\n'
    assert masked_csv(b'" id","id ",text\n7,8,Ann fell\n') == b"text\nPHI fell\n"
    assert masked_csv(b" id,n\nAnn,5\n", text_columns=("id",)) == b'" id"\nPHI\n'


def test_the_separator_is_found_by_a_header_with_spaces():
    data = b"case; note; sex\n1;Ann fell, then;f\n"
    table = read_csv(io.BytesIO(data), ReadOptions(text_columns=("note",)))
    assert [how.split(",")[0] for how in table.read_as] == ["semicolon"]
    assert [record.doc.text for record in table.records()] == ["Ann fell, then"]


def test_of_two_columns_that_look_the_same_none_is_guessed():
    data = b'case," note","note "\n1,Ann,Bob\n'
    with refuses(FormatError, match=r"It has: case, ' note', 'note '. Use --text-column ' note'."):
        read_csv(io.BytesIO(data), ReadOptions(text_columns=("note",)))
    table = read_csv(io.BytesIO(data), ReadOptions(text_columns=("note ",)))
    assert [record.doc.text for record in table.records()] == ["Bob"]
    exact = read_csv(io.BytesIO(b'note," note"\nAnn,Bob\n'), ReadOptions(text_columns=("note",)))
    assert [record.doc.text for record in exact.records()] == ["Ann"]


def test_two_options_cannot_mean_the_same_column():
    with pytest.raises(ConfigurationError, match="masked and kept"):
        read_csv(io.BytesIO(b'" note"\nAnn\n'), ReadOptions(text_columns=("note",), keep_columns=(" note",)))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("text,Remark,x,Remark", r"the same name 'Remark' \(columns 2 and 4\). Rename one"),
        ("text,Anm,Anm,Anm", r"several columns have the same name 'Anm' \(columns 2, 3 and 4\)"),
        ("report,text,report", r"the same name 'report' \(columns 1 and 3\)"),
        (f"text,{CANARY} fell. Well.,{CANARY} fell. Well.", r"the same name \(columns 2 and 3\)"),
        (f"{CANARY},{CANARY},rash,itch", r"the same name \(columns 1 and 2\)"),
    ],
)
def test_the_error_names_the_column_that_is_there_twice_unless_it_may_be_data(header, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_csv(io.BytesIO(f"{header}\n1,2,3,4\n".encode()), ReadOptions())
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("kind", [read_csv, read_json_lines, read_parquet])
def test_all_cells_is_refused_where_columns_alone_can_be_masked(kind):
    target = io.BytesIO()
    pq.write_table(pa.table({"id": [CANARY], "text": ["well"]}), target)
    data = {
        read_csv: f"id,text\n{CANARY},well\n".encode(),
        read_json_lines: f'{{"id": "{CANARY}", "text": "well"}}'.encode(),
        read_parquet: target.getvalue(),
    }
    with pytest.raises(FormatError, match="all cells can be masked of Excel and"):
        kind(io.BytesIO(data[kind]), ReadOptions(all_cells=True))
