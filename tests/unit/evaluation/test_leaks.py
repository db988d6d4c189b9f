"""The list of leaks: what stands in it, and what comes back."""

import csv
import io

import pytest
from annotated_documents import documents, masks_of
from fake_maskers import CANARY
from hypothesis import given
from hypothesis import strategies as st

from inverse_deid.core.errors import AnnotationError, FormatError, InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.evaluation.leaks import (
    COLUMNS,
    Leak,
    find_leaks,
    name_rows,
    read_leak_list,
    write_leak_list,
)
from inverse_deid.evaluation.measures.counts import GroupKind, HarmlessTokens, count_document, group_number

TEXT = "Seen by nurse.\nMrs Ada Olin-Bo (40 years old)\r\n\tof Velmo on 3May2019x was well again today."


def span(text, piece, name):
    start = text.index(piece)
    return PhiSpan(start, start + len(piece), PhiType(name))


def place(text, piece):
    start = text.index(piece)
    return start, start + len(piece)


VISIT = Document(
    "visit",
    TEXT,
    (
        span(TEXT, "Ada Olin-Bo", "PATIENT"),
        span(TEXT, "40 years old", "AGE"),
        span(TEXT, "Velmo", "CITY"),
        span(TEXT, "3May2019", "DATE"),
    ),
)
# Missed: Olin, years, old, and 3May2019, of which the 3 alone is masked.
MASKS = [place(TEXT, "Ada"), place(TEXT, "Bo"), place(TEXT, "40"), place(TEXT, "Velmo"), place(TEXT, "3")]


def test_a_leak_is_a_token_with_any_character_unmasked_in_its_context():
    leaks = list(find_leaks(VISIT, MASKS, 3))
    assert [(leak.token, leak.type.value, TEXT[leak.start : leak.end]) for leak in leaks] == [
        ("Olin", "PATIENT", "Olin"),
        ("years", "AGE", "years"),
        ("old", "AGE", "old"),
        ("[...]May2019", "DATE", "3May2019"),
    ]
    assert [(leak.left, leak.right) for leak in leaks] == [
        ("nurse. Mrs [...]", "-[...] ([...] years"),
        ("Olin-[...] ([...]", "old) of [...]"),
        ("[...] ([...] years", ") of [...] on"),
        ("of [...] on", "x was well again"),
    ]
    assert {leak.document for leak in leaks} == {"visit"}


@pytest.mark.parametrize(
    ("n_context", "left", "right"),
    [
        (0, "", ""),
        (1, "[...]", "-[...]"),
        (
            99,
            "Seen by nurse. Mrs [...]",
            "-[...] ([...] years old) of [...] on [...]May2019x was well again today",
        ),
    ],
)
def test_the_context_has_so_many_tokens_on_each_side_and_ends_with_the_text(n_context, left, right):
    leak = next(find_leaks(VISIT, MASKS, n_context))
    assert (leak.left, leak.right) == (left, right)


def test_six_tokens_are_shown_by_default():
    text = " ".join(f"w{i}" for i in range(20))
    leak = next(find_leaks(Document("a", text, (span(text, "w9", "IDNUM"),)), []))
    assert (leak.left, leak.right) == ("w3 w4 w5 w6 w7 w8", "w10 w11 w12 w13 w14 w15")


def test_nothing_missed_is_no_leak_and_bad_masks_are_refused():
    assert list(find_leaks(VISIT, [(0, len(TEXT))])) == []
    assert list(find_leaks(Document("a", "well"), [])) == []
    with pytest.raises(AnnotationError, match="document visit: mask 0-999"):
        next(find_leaks(VISIT, [(0, 999)]))


@given(documents(), st.data())
def test_the_leaks_are_the_tokens_that_the_counts_do_not_recall(doc, data):
    masks = data.draw(masks_of(doc.text))
    counts = count_document(doc, masks, HarmlessTokens({}))
    leaks = list(find_leaks(doc, masks))
    in_all = group_number(GroupKind.ALL)
    assert counts.phi[0, in_all] - counts.recalled[0, in_all] == len(leaks)
    for fine in PhiType:
        column = group_number(GroupKind.FINE, fine)
        missed = counts.phi[0, column] - counts.recalled[0, column]
        assert sum(leak.type is fine for leak in leaks) == missed


@given(documents(), st.data())
def test_no_masked_character_is_shown(doc, data):
    masks = data.draw(masks_of(doc.text))
    secret = "".join("X" if any(s <= i < e for s, e in masks) else c for i, c in enumerate(doc.text))
    blind = Document(doc.id, secret.replace("X", "q"), doc.spans)
    hidden = Document(doc.id, secret.replace("X", "w"), doc.spans)
    shown = [(leak.token, leak.left, leak.right) for leak in find_leaks(blind, masks)]
    assert shown == [(leak.token, leak.left, leak.right) for leak in find_leaks(hidden, masks)]


def test_the_id_is_that_of_document_and_offsets_and_no_number_or_date_to_a_spreadsheet():
    leak = Leak("visit", 3, 8, PhiType.CITY, CANARY)
    assert leak.id == Leak("visit", 3, 8, PhiType.DATE, "other", "more", "more").id
    others = [Leak("visit", 3, 9, PhiType.CITY, ""), Leak("visit", 2, 8, PhiType.CITY, "")]
    assert len({leak.id, *(other.id for other in others)}) == 3
    assert {other.id.partition("-")[0] for other in others} == {leak.id.partition("-")[0]}
    assert Leak("visit2", 3, 8, PhiType.CITY, "").id.partition("-")[0] != leak.id.partition("-")[0]
    assert leak.id.startswith("L")
    assert CANARY not in repr(leak)


def listed(*documents_and_pieces):
    return [
        Leak(document, i, i + 1, PhiType.IDNUM, piece, "=left", "right, \"said\" 'x'")
        for i, (document, piece) in enumerate(documents_and_pieces)
    ]


def written(path, leaks):
    path.write_bytes(b"".join(write_leak_list(leaks)))
    return path


def rows_of(path):
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


LEAKS = listed(("a", "Li"), ("a", "+49"), ("=b", "Wu"))


def test_the_file_is_marked_utf_8_with_a_header_and_guarded_cells(tmp_path):
    path = written(tmp_path / "l.csv", [Leak("Zoë", 3, 8, PhiType.CITY, "Łódź", "-", "=now")])
    assert path.read_bytes().startswith(b"\xef\xbb\xbfnumber,leak,document,start,end,type,token")
    header, row = rows_of(path)
    assert tuple(header) == COLUMNS
    assert row[0] == "1 of 1"
    assert row[2:] == ["Zoë", "3", "8", "CITY", "Łódź", "'-", "'=now", "", ""]


def test_a_list_comes_back_as_it_was(tmp_path):
    back = read_leak_list(written(tmp_path / "l.csv", LEAKS))
    assert [leak.id for leak in back] == [leak.id for leak in LEAKS]
    assert [leak.row for leak in back] == [2, 3, 4]
    assert [leak.cells["document"] for leak in back] == ["a", "a", "=b"]
    assert [leak.cells["token"] for leak in back] == ["Li", "+49", "Wu"]
    assert {leak.cells["left"] for leak in back} == {"=left"}
    assert {leak.cells["right"] for leak in back} == {"right, \"said\" 'x'"}
    assert [leak.document for leak in back][:2] == [LEAKS[0].id.partition("-")[0]] * 2
    assert read_leak_list(written(tmp_path / "none.csv", [])) == []
    assert CANARY not in repr(read_leak_list(written(tmp_path / "c.csv", listed((CANARY, CANARY)))))


@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=4))
def test_every_text_comes_back(tmp_path_factory, pieces):
    leaks = [Leak(document, i, i + 1, PhiType.CITY, token) for i, (document, token) in enumerate(pieces)]
    back = read_leak_list(written(tmp_path_factory.mktemp("lists") / "l.csv", leaks))
    assert [(leak.cells["document"], leak.cells["token"]) for leak in back] == pieces


def saved(path, rows, *, delimiter=",", encoding="utf-8"):
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter).writerows(rows)
    path.write_bytes(line.getvalue().encode(encoding, "replace"))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_a_spreadsheet_may_sort_rows_drop_text_and_save_in_its_own_way(tmp_path, delimiter, encoding):
    header, *rows = rows_of(written(tmp_path / "l.csv", listed(("ä", "Li"), ("ö", "Wu"), ("ü", "Bo"))))
    kept = [header.index(name) for name in ("grade", "document", "type", "leak", "number")]
    table = [[row[i] for i in kept] for row in (header, *reversed(rows), [""] * len(header))]
    path = saved(tmp_path / "s.csv", table, delimiter=delimiter, encoding=encoding)
    back = read_leak_list(path)
    assert [(leak.number, leak.row) for leak in back] == [(1, 4), (2, 3), (3, 2)]
    assert [leak.id for leak in back] == [leak.id for leak in listed(("ä", "Li"), ("ö", "Wu"), ("ü", "Bo"))]


def changed(rows, row, column, cell):
    return [*rows[: row - 1], [cell if i == column else c for i, c in enumerate(rows[row - 1])], *rows[row:]]


NUMBER, LEAK, TYPE = COLUMNS.index("number"), COLUMNS.index("leak"), COLUMNS.index("type")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:3], "1 of 3 leaks are missing. The first is number 3."),
        (lambda rows: [rows[0], rows[2]], "2 of 3 leaks are missing. The first is number 1."),
        (lambda rows: [*rows, rows[1]], "row 2: repeated."),
        (lambda rows: changed(rows, 3, NUMBER, "2 of 4"), "row 3: of another list."),
        (lambda rows: changed(rows, 3, NUMBER, "4 of 3"), "row 3: of another list."),
        (lambda rows: changed(rows, 3, NUMBER, CANARY), "row 3: the number, leak or type was changed"),
        (lambda rows: changed(rows, 4, LEAK, CANARY), "row 4: the number, leak or type was changed"),
        (lambda rows: changed(rows, 4, TYPE, CANARY), "row 4: the number, leak or type was changed"),
        (lambda rows: changed(rows, 2, NUMBER, "1 of 999999999"), "rows 3, 4: of another list."),
        (lambda rows: [*rows[:2], [*rows[2], CANARY], rows[3]], "row 3 has more cells"),
        (lambda rows: [[CANARY], *rows[1:]], "not a list of leaks"),
        (lambda rows: [], "not a list of leaks"),
    ],
)
def test_what_is_no_whole_list_is_refused_by_row_and_never_shown(tmp_path, change, message):
    rows = rows_of(written(tmp_path / "l.csv", listed((CANARY, CANARY), ("a", "b"), ("c", CANARY))))
    path = saved(tmp_path / "bad.csv", change(rows))
    with pytest.raises(FormatError, match=message) as caught:
        read_leak_list(path)
    assert str(path) in str(caught.value)
    assert CANARY not in str(caught.value)


def test_a_huge_claimed_length_is_refused_at_once(tmp_path):
    rows = rows_of(written(tmp_path / "l.csv", listed(("a", "b"))))
    path = saved(tmp_path / "bad.csv", changed(rows, 2, NUMBER, "1 of 999999999"))
    with pytest.raises(FormatError, match="999,999,998 of 999,999,999 leaks are missing"):
        read_leak_list(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv"):
        read_leak_list(tmp_path / "none.csv")
    (tmp_path / "wide.csv").write_bytes(b"\xff\xfen\0u\0m\0b\0e\0r\0")
    with pytest.raises(InputError, match=r"wide\.csv: not a list of leaks"):
        read_leak_list(tmp_path / "wide.csv")


def test_only_the_first_rows_are_named():
    assert name_rows([7]) == "row 7"
    assert name_rows(range(2, 14)) == "rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"
