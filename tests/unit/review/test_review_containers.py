"""E-mails and archives in the review: each record is a case, and a file is released whole."""

import io
import zipfile
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from review_stores import review, store_of, user

from inverse_deid.review.files.exporting import export_released
from inverse_deid.review.store.values import UserRole

NOTE = "Okonkwo had a rash."
MASKED = "PHI had a rash."


def email() -> bytes:
    mail = EmailMessage()
    mail["Subject"] = "Rash of Okonkwo"
    mail["From"] = "Okonkwo <a@b.invalid>"
    mail.set_content(NOTE)
    mail.add_attachment(f"id,text\n7,{NOTE}\n8,{NOTE}\n", subtype="csv", filename="Okonkwo.csv")
    return mail.as_bytes()


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("a.txt", NOTE)
        made.writestr("b.eml", email())
        made.writestr("c.png", "Okonkwo")
    return packed.getvalue()


@pytest.mark.parametrize(("name", "data", "n_cases"), [("m.eml", email, 3), ("z.zip", archive, 4)])
def test_a_container_is_exported_when_all_its_records_are_released(tmp_path, name, data, n_cases):
    path = tmp_path / name
    path.write_bytes(data())
    store = store_of(tmp_path, inputs=[path], approvals=1)
    who = user(store, "ann", UserRole.ADJUDICATOR)
    for case in range(1, n_cases):
        review(store, who, case)
    early = export_released(store, tmp_path / "early")
    assert early.n_cases == 0
    assert "parts are not released" in early.problems[0]
    review(store, who, n_cases)
    done = export_released(store, tmp_path / "out")
    assert (done.n_cases, done.problems) == (n_cases, ())
    written = (tmp_path / "out" / name).read_bytes()
    if name == "z.zip":
        with zipfile.ZipFile(io.BytesIO(written)) as found:
            assert found.namelist() == ["a.txt", "b.eml"]
            assert found.read("a.txt").decode() == MASKED
            written = found.read("b.eml")
    mail = message_from_bytes(written, policy=policy.default)
    assert mail.get_body().get_content().strip() == MASKED
    (table,) = mail.iter_attachments()
    assert table.get_content().split() == f"id,text\n7,{MASKED}\n8,{MASKED}\n".encode().split()
    assert b"Okonkwo" not in written
