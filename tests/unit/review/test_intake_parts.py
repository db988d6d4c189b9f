"""Tables inside e-mails and archives: they get the same questions as tables alone."""

import io
import zipfile
from email import message_from_bytes, policy
from email.message import EmailMessage

import outlook_files
import pytest
from desk_visitors import desk_of
from excel_files import workbook_of
from fake_maskers import CANARY

from inverse_deid.files.survey import list_values, survey_file
from inverse_deid.review.files.waiting import UploadState, list_uploads
from inverse_deid.review.flow.approval import approve
from inverse_deid.review.flow.reading import open_case
from inverse_deid.review.flow.work_list import list_cases
from inverse_deid.review.store.trail import TrailFilter, list_entries
from inverse_deid.review.store.values import LayerRevision, WorkFilter

LONG = "the patient had a rash two hours after the first dose and was seen by Okonkwo with relief"
TABLE = f"case_no,what,country\nA-1,{LONG},norway\nA-2,{LONG},spain\n".encode()
ENDED = (UploadState.DONE, UploadState.FAILED, UploadState.STOPPED)


@pytest.fixture
def desk(tmp_path):
    with desk_of(tmp_path) as desk:
        yield desk


def mail(*tables, text="seen by Okonkwo"):
    made = EmailMessage()
    made["Subject"] = "listing"
    made.set_content(text)
    for name, data in tables:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


def archive(**files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        for name, data in files.items():
            made.writestr(name.replace("_", "."), data)
    return packed.getvalue()


def finish(desk, number=1):
    """Mask, approve all, and download the file."""
    (done,) = desk.wait(*ENDED)
    for row in list_cases(desk.store, WorkFilter()).rows:
        at = open_case(desk.store, desk.user, row.case_id).revision
        approve(desk.store, LayerRevision(desk.user.id, row.case_id, at))
    return done, desk.send("/files/download", source=str(number)).content


def attached(data):
    found = message_from_bytes(data, policy=policy.default)
    return [part.get_content() for part in found.iter_attachments()]


FATES = ("id", "masked", "kept")


def fates(upload_id, *given, **more):
    return {f"column {upload_id} {n}": fate for n, fate in enumerate(given)} | more


def test_a_table_in_a_mail_is_asked_about_and_masked_as_was_chosen(desk):
    added = desk.add("m.eml", mail(("listing.csv", TABLE.replace(b",", b";")))).json()
    assert (added["state"], added["n_expected"]) == ("ready", 3)
    page = desk.client.get("/choices").text
    assert "Columns of m.eml, attachment 1 (.csv)" in page
    assert "2 rows." in page
    assert "Read as: semicolon, utf-8." in page
    assert f'name="column {added["id"]} 1" value="masked" checked' in page
    assert f'name="column {added["id"]} 0" value="dropped" checked' in page
    assert "It seems to have the numbers of the cases" in page
    assert "norway" in page
    desk.choose(fates(added["id"], *FATES))
    done, written = finish(desk)
    assert (done["state"], done["n_done"], done["problem"]) == ("done", 3, "")
    hidden = LONG.replace("Okonkwo", "PHI")
    assert attached(written) == [f"case_no;what;country\nA-1;{hidden};norway\nA-2;{hidden};spain\n".encode()]
    names = [row.name for row in list_cases(desk.store, WorkFilter()).rows]
    assert {"A-1", "A-2"} <= set(names)


def test_several_kinds_of_tables_are_asked_about_once_each(desk):
    other = f"note\n{LONG}\n".encode()
    book = workbook_of(["case_no", "what", "country"], ["B-1", LONG, "peru"])
    inner = mail(("x.csv", other))
    data = archive(a_csv=TABLE, b_xlsx=book, c_eml=inner, d_csv=other)
    added = desk.add("all.zip", data).json()
    page = desk.client.get("/choices").text
    assert "Columns of all.zip, file 1 (a.csv) and 1 table with the same columns" in page
    assert "Columns of all.zip, file 3 (c.eml), attachment 1 (.csv) and 1 table with the same columns" in page
    desk.choose(fates(added["id"], "dropped", "masked", "kept", "masked"))
    done, written = finish(desk)
    assert (done["state"], done["n_done"]) == ("done", 6)
    with zipfile.ZipFile(io.BytesIO(written)) as found:
        assert found.namelist() == ["a.csv", "b.xlsx", "c.eml", "d.csv"]
        assert b"Okonkwo" not in b"".join(found.read(name) for name in found.namelist())
        assert found.read("a.csv").startswith(b"what,country\n")
        assert found.read("d.csv") == b"note\n" + LONG.replace("Okonkwo", "PHI").encode() + b"\n"


def test_a_table_in_a_mail_of_outlook_is_asked_about(desk):
    pytest.importorskip("oxmsg", reason="no python-oxmsg")
    table = (outlook_files.text(0x3707, "listing.csv"), (outlook_files.stream(0x3701, 0x0102), TABLE))
    message = outlook_files.message(
        outlook_files.text(0x001A, "IPM.Note"),
        outlook_files.text(0x1000, "well"),
        outlook_files.attachment(0, *table),
    )
    added = desk.add("m.msg", outlook_files.compound(message)).json()
    assert "Columns of m.msg, attachment 1 (.csv)" in desk.client.get("/choices").text
    desk.choose(fates(added["id"], *FATES))
    assert finish(desk)[0]["n_done"] == 3


def test_a_duplicate_column_of_a_table_inside_is_named_before_masking(desk):
    twice = TABLE.replace(b"what,country", b"narrative,narrative")
    added = desk.add("m.eml", mail(("twice.csv", twice), ("listing.csv", TABLE))).json()
    why = "attachment 1 (.csv): two columns have the same name 'narrative' (columns 2 and 3). Rename one."
    assert {"text": f"m.eml {why}", "is_warning": True} in added["facts"]
    page = desk.client.get("/choices").text
    assert "two columns have the same name" in page
    assert "Columns of m.eml, attachment 2 (.csv)" in page
    desk.choose(fates(added["id"], *FATES))
    done, written = finish(desk)
    assert done["n_done"] == 3
    assert len(attached(written)) == 1


def test_a_mail_with_a_table_of_doubled_columns_alone_says_so(desk):
    twice = TABLE.replace(b"what,country", b"narrative,narrative")
    added = desk.add("z.zip", archive(a_csv=twice)).json()
    assert added["state"] == "failed"
    assert "two columns have the same name 'narrative'" in added["problem"].replace("Two", "two")


def test_a_table_of_which_all_is_dropped_is_left_out_and_said(desk):
    added = desk.add("m.eml", mail(("listing.csv", TABLE))).json()
    desk.choose(fates(added["id"], "dropped", "dropped", "dropped"))
    done, written = finish(desk)
    assert (done["state"], done["n_done"]) == ("done", 1)
    assert any("left out, as no column of it was chosen" in one["text"] for one in done["facts"])
    assert attached(written) == []
    assert b"norway" not in written


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (("kept", "dropped", "dropped"), "choose at least one column with text to be masked"),
        (("id", "masked", "id"), "only one column can be the number of the case"),
        (("id", "kept", "dropped"), "column 2 contains narratives"),
    ],
)
def test_what_cannot_be_chosen_for_a_table_alone_cannot_be_chosen_for_one_inside(desk, chosen, why):
    added = desk.add("m.eml", mail(("listing.csv", TABLE))).json()
    answer = desk.choose(fates(added["id"], *chosen))
    assert answer.status_code == 400
    assert why in answer.text
    assert list_uploads(desk.store)[0].state is UploadState.READY


def test_the_first_row_of_a_table_inside_must_name_columns(desk):
    added = desk.add("m.eml", mail(("a.csv", f"7,{LONG}\n8,{LONG}\n".encode()))).json()
    given = fates(added["id"], "dropped", "masked")
    assert "first row does not look like names" in desk.choose(given).text
    assert desk.choose({**given, f"header {added['id']} 0": "yes"}).status_code == 303


def test_a_column_of_names_inside_is_kept_only_after_a_second_yes_that_names_it(desk):
    table = TABLE.replace(b"country", b"reporter_name").replace(b"norway", b"Ann Li")
    other = f"note\n{LONG}\n".encode()
    added = desk.add("m.eml", mail(("a.csv", other), ("b.csv", table))).json()
    given = fates(added["id"], "masked", "id", "masked", "kept unchecked")
    answer = desk.choose(given)
    assert answer.status_code == 400
    assert "Column “reporter_name” would be copied unmasked" in answer.text
    assert desk.choose({**given, f"copies {added['id']} 3": "kept unchecked"}).status_code == 303
    events = [one.event for one in list_entries(desk.store, TrailFilter())[0]]
    (entry,) = [one.new for one in events if one.event == "kept column confirmed"]
    assert entry.startswith("column reporter_name of table 2 kept unchecked.")
    done, written = finish(desk)
    assert done["state"] == "done"
    assert b"Ann Li" in attached(written)[1]


@pytest.mark.parametrize("value", ["2019-10-12", "4471922"])
def test_a_kept_column_inside_that_must_not_leave_is_refused_before_masking(desk, value):
    data = TABLE.replace(b"norway", value.encode()).replace(b"country", b"mrn")
    added = desk.add("m.eml", mail(("a.csv", b"note\n" + LONG.encode()), ("b.csv", data))).json()
    copies = {f"copies {added['id']} 3": "kept"}
    answer = desk.choose(fates(added["id"], "masked", "id", "masked", "kept", **copies))
    assert answer.status_code == 400
    assert "attachment 2 (.csv) row 2, column &#39;mrn&#39;" in answer.text


def test_values_of_tables_inside_go_with_their_file(desk):
    data = TABLE.replace(b"norway", CANARY.encode())
    added = desk.add("m.eml", mail(("a.csv", data))).json()
    desk.choose(fates(added["id"], "id", "masked", "dropped"))
    done, written = finish(desk)
    assert done["state"] == "done"
    (upload,) = list_uploads(desk.store)
    assert (upload.facts.survey.columns, upload.facts.survey.tables) == ((), ())
    assert CANARY.encode() not in written


def test_a_survey_lists_the_tables_inside_with_their_places():
    found = survey_file("z.zip", archive(a_csv=TABLE, b_eml=mail(("x.csv", TABLE)), c_txt=b"well"))
    assert [(one.places, one.label, one.n_rows) for one in found.tables] == [
        (("1", "2/1"), "file 1 (a.csv)", 4)
    ]
    assert [(one.name, one.table, one.is_narrative) for one in found.columns] == [
        ("case_no", 0, False),
        ("what", 0, True),
        ("country", 0, False),
    ]
    assert found.facts.n_documents == 6


def test_values_of_a_column_are_counted_over_all_of_its_tables():
    data = archive(a_csv=TABLE, b_eml=mail(("x.csv", TABLE)))
    (values,) = list_values("z.zip", data, [("country", ("1", "2/1"))])
    assert (values.n_values, dict(values.values)) == (4, {"norway": 2, "spain": 2})
    (values,) = list_values("z.zip", data, [("country", ("2/1",))])
    assert values.n_values == 2


def test_so_many_columns_are_asked_about_at_most():
    wide = [",".join(f"c{n}_{i}" for i in range(600)) + "\n" + ",".join(["well"] * 600) for n in range(2)]
    data = archive(a_csv=wide[0], b_csv=wide[1])
    with pytest.raises(Exception, match="more than 1,000 columns together"):
        survey_file("z.zip", data)
