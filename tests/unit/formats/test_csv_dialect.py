"""CSV files as Excel writes them: encoding and separator are found out, and doubts are errors."""

import gzip
import io

import pytest
from fake_maskers import CANARY, mask_capitals
from refusals import refuses

from inverse_deid.core.errors import FormatError, InputError, UnreadableInputError
from inverse_deid.engine.masker import mask_records
from inverse_deid.files.survey import survey_file
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.tables.csv_table import read_csv

STORY = "The patient’s mother said “he’s fine” – temp 38.5 °C, seen in a café by Dr Müller."
PLAIN = "The patient was well, and went home."


def opened(data, name="a.csv", **options):
    return read_csv(io.BytesIO(data), ReadOptions(**options), name)


def masked(data, name="a.csv", **options):
    source = opened(data, name, **options)
    target = io.BytesIO()
    sink = source.sink(target)
    records = list(source.records())
    for record, result in zip(records, mask_records(mask_capitals(), records), strict=True):
        sink.write(record, result)
    return "".join(source.read_as), target.getvalue()


def table(delimiter, *texts):
    rows = ["id,text,n".replace(",", delimiter)]
    rows += [f'{n}{delimiter}"{text}"{delimiter}5' for n, text in enumerate(texts)]
    return "\r\n".join([*rows, ""])


@pytest.mark.parametrize(
    ("delimiter", "name"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "pipe")]
)
@pytest.mark.parametrize("text", [STORY, PLAIN, "a;b;c|d,e"])
def test_the_separator_is_found_and_kept(delimiter, name, text):
    data = table(delimiter, text).encode()
    how, written = masked(data, keep_unchecked=("n",))
    assert how == f"{name}, utf-8"
    assert written.split(b"\r\n")[0] == f"id{delimiter}text{delimiter}n".encode()
    assert written.count(delimiter.encode()) == data.count(delimiter.encode())


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8 with a byte-order mark"),
        ("utf-16", "utf-16-le with a byte-order mark"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "windows-1252"),
        ("mac-roman", "Mac Roman"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_the_encoding_is_found_and_kept(encoding, name, delimiter):
    data = table(delimiter, STORY, PLAIN).encode(encoding)
    how, written = masked(data)
    assert how.partition(", ")[2] == name
    expected = table(delimiter, STORY, PLAIN).replace(f"{delimiter}5", "").replace(f"{delimiter}n", "")
    for word in ("The", "Dr", "Müller", "38", "5", "C"):
        expected = (
            expected.replace(f"{word} ", "PHI ").replace(f"{word}.", "PHI.").replace(f"{word},", "PHI,")
        )
    assert written.decode(encoding).startswith(f"id{delimiter}text\r\n0{delimiter}")
    assert "café" in written.decode(encoding)
    assert "patient’s mother" in written.decode(encoding)
    assert "Müller" not in written.decode(encoding)


def test_an_encoding_of_dos_is_found():
    text = "The patient was seen in Zürich by François and Åse, and in a café."
    assert opened(table(";", text).encode("cp850")).read_as == {"semicolon, DOS (cp850)": 1}


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_usual_files_are_read_as_before(name):
    delimiter = "\t" if name.endswith("tsv") else ","
    data = f"id{delimiter}text;x{delimiter}text\n1{delimiter}a;b|c{delimiter}well\n".encode()
    assert masked(data, name, keep_unchecked=("text;x",))[1] == data


def test_what_the_user_gives_is_taken():
    assert opened(b"id;text\n1;x\n", delimiter=";", encoding="cp1252").read_as == {}
    with pytest.raises(FormatError, match="It has 1 column"):
        opened(b"id;text\n1;x\n", delimiter=",")
    assert opened(table(";", STORY).encode("cp1252"), encoding="latin-1").layout.codec.name == "iso8859-1"


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\r\n', "SEP=;\n", "sep=;\r"])
def test_a_first_line_of_excel_says_the_separator_and_is_kept(line):
    end = line[line.index(";") :].strip(';"')
    data = f"{line}id;text{end}1;Ann fell, and; was well{end}2;ok{end}".encode()
    source = opened(data)
    records = list(source.records())
    assert (source.layout.delimiter, [record.number for record in records]) == (";", [2, 3])
    good = f"{line}id;text{end}1;Ann fell{end}".encode()
    assert masked(good)[1] == good.replace(b"Ann", b"PHI")
    with refuses(UnreadableInputError, match="--delimiter"):
        opened(data, delimiter=",")


def test_bytes_that_are_not_utf8_are_found_at_the_end_of_a_long_file():
    data = table(",", *([PLAIN] * 20_000), STORY).encode("cp1252")
    assert len(data) > 512 * 1024
    assert opened(data).read_as == {"comma, windows-1252": 1}
    text = [record.doc.text for record in opened(data).records()][-1]
    assert text == STORY
    source = read_csv(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data))), ReadOptions(), "a.csv.gz")
    assert source.read_as == {"comma, windows-1252": 1}
    assert len(list(source.records())) == 20_001


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        (b"id,text\n1,x \xf7 y\n", "may be cp1252, mac-roman"),
        ((table(",", *["naïve café"] * 50) + "0,").encode() + b"caf\xe9,5\n", "--encoding"),
        (b"id,text\n1,a\0\xe9\n", "--encoding"),
        (table(",", "Пациент был здоров").encode("cp1251"), "name its encoding with --encoding"),
        (b"a;b|c\n1;2|3\n", "--delimiter"),
    ],
    ids=["signs of two encodings", "UTF-8 with damage", "binary", "Cyrillic", "two separators"],
)
def test_a_doubt_is_an_error_that_says_what_to_give(data, remedy):
    with refuses(InputError, match=remedy) as caught:
        list(opened(data).records())
    assert caught.value.__context__ is None


def test_no_text_of_the_file_is_in_an_error():
    with pytest.raises(InputError) as caught:
        list(opened(f"id,text\n1,{CANARY} 38.9 ".encode() + b"\xf7 C\n").records())
    assert CANARY not in str(caught.value)


class Pipe(io.RawIOBase):
    """Gives what it has in small pieces, and cannot go back."""

    def __init__(self, data):
        self._left = data

    def readable(self):
        return True

    def readinto(self, buffer):
        some, self._left = self._left[: min(len(buffer), 5000)], self._left[min(len(buffer), 5000) :]
        buffer[: len(some)] = some
        return len(some)


@pytest.mark.parametrize("wrap", [io.BufferedReader, lambda raw: raw])
def test_a_pipe_is_judged_by_its_beginning_and_loses_nothing(wrap):
    data = table(";", STORY, *[PLAIN] * 500).encode("cp1252")
    source = read_csv(wrap(Pipe(data)), ReadOptions(), "stdin")
    assert source.read_as == {"semicolon, windows-1252": 1}
    assert [record.doc.text for record in source.records()] == [STORY, *[PLAIN] * 500]


def test_parts_of_a_file_are_read_alike():
    with pytest.raises(FormatError, match="It has 1 column"):
        opened(b"id;text\n1;x\n", finds_out=False)
    assert opened(b"id,text\n1,x\n", finds_out=False).read_as == {}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id;Text;country", r"no column named 'text'. It has: id, Text, country. Use --text-column Text."),
        (
            "id,narrative,country",
            r"no column named 'text'. It has: id, narrative, country. Use --text-column.",
        ),
        ("case_nr,beschreibung_x", r"It has: case_nr, beschreibung_x."),
    ],
)
def test_a_missing_column_names_those_there_are(header, message):
    row = header.replace("id", "1").replace("country", "y")
    with refuses(FormatError, match=message):
        opened(f"{header}\n{row}\n".encode())


def test_the_survey_says_how_a_file_was_read():
    data = table(";", STORY, PLAIN).replace("text", "story").encode("cp1252")
    found = survey_file("a.csv", data)
    assert found.facts.read_as == {"semicolon, windows-1252": 1}
    assert [column.name for column in found.columns] == ["id", "story", "n"]


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_tiny_files_are_errors_or_tables(size):
    with pytest.raises(InputError):
        opened(b"\xff\xfe\xe9"[:size])
