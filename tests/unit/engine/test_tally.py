"""Documents that seem not to be English, from masking to the tally and the run report."""

import json

import pytest

from inverse_deid.core.values import Document
from inverse_deid.engine.run_report import RunReport
from inverse_deid.engine.tally import MAX_DOCUMENTS_LISTED, Failure, Tally
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier

SPANISH = (
    "La paciente acudió a urgencias por dolor en el pecho después de tomar el medicamento. No tenía fiebre "
    "y la tensión era normal. Se suspendió el tratamiento y los síntomas desaparecieron en dos días."
)
ENGLISH = "She had chest pain after the first tablet. There was no fever, and she was well within two days."


@pytest.fixture(scope="module")
def masked():
    docs = [Document("es-1", SPANISH), Document("en-1", ENGLISH), Document("es-2", SPANISH)]
    return build_deidentifier(MaskingSettings(rules_only=True)).mask_many(docs)


def test_cases_are_counted_and_their_texts_listed(masked):
    tally = Tally()
    tally.add_case(masked[:2])
    tally.add_case(masked[1:2])
    other = Tally()
    other.add_case(masked[2:])
    tally.merge(other)
    assert (tally.n_documents, tally.n_other_language, tally.other_language) == (3, 2, ["es-1", "es-2"])


def test_the_list_of_ids_is_bounded(masked):
    tally = Tally()
    for _ in range(MAX_DOCUMENTS_LISTED + 5):
        tally.add_case(masked[:1])
    assert (tally.n_other_language, len(tally.other_language)) == (
        MAX_DOCUMENTS_LISTED + 5,
        MAX_DOCUMENTS_LISTED,
    )


def test_the_run_report_names_them_and_shows_no_text(masked, tmp_path):
    tally = Tally()
    for one in masked:
        tally.add_case([one])
    RunReport({}).write(tmp_path / "report.json", tally)
    written = (tmp_path / "report.json").read_text(encoding="utf-8")
    total = json.loads(written)["total"]
    assert (total["n_not_english"], total["not_english"]) == (2, ["es-1", "es-2"])
    assert "urgencias" not in written


def test_numbers_alone_have_no_text():
    noted = [Failure("Quillfeather.csv row 2", "Quillfeather")]
    tally = Tally(
        n_failures=1,
        failures=noted,
        warnings=noted,
        columns={"Quillfeather": "masked"},
        other_language=["Quillfeather-1"],
    )
    assert "Quillfeather" in json.dumps(tally.as_json())
    assert "Quillfeather" not in json.dumps(tally.as_numbers())
