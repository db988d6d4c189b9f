"""What a column that is kept may contain, judged by the real masker."""

from datetime import date, datetime, timedelta

import pytest
from refusals import refuses

from inverse_deid.cli.parts.messages import describe_error
from inverse_deid.core.errors import KeptColumnError, StageError
from inverse_deid.core.values import Document
from inverse_deid.engine.masker import check_kept, mask_with_fields
from inverse_deid.formats.records import Record, changes_of
from inverse_deid.formats.tables.kept_cells import KeptCell
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode

TEXT = "Aged 43, she had her first dose on 12-OCT-2019."
KEY = b"an invented key of 27 bytes"

PASS = {
    "sex": "M F female UNKNOWN",
    "country": "US|GB|Norway|South Korea|Jordan|GBR",
    "state": "NY|Bavaria|North Carolina|Virginia|NSW",
    "serious": "Y|no|death|Life threatening|1",
    "outcome": "RECOVERED|Not recovered/not resolved|fatal|6",
    "drug": "Paracetamol|IBUPROFEN|Humira|amoxicillin/clavulanate|Xarelto 20 mg",
    "dose": "20 mg|2x500 mg|0.5 mL|1-0-1|40",
    "route": "oral|Oral use|IV|Intramuscular use",
    "indication": "Hypertension|Crohn's disease|COVID-19 immunisation",
    "lot": "EW0173|B23-117|026L20A|0403|unknown",
    "report_type": "Spontaneous|Report from study|Follow-up",
    "qualification": "Physician|Consumer or other non health professional|Lawyer",
    "reaction": "Headache|Stevens-Johnson syndrome|Drug ineffective",
    "atc": "N02BE01",
    "meddra_code": "10019211",
    "case_version": "1|2.0",
    "platelets": "250000|1,200,000|87.5",
    "days_to_onset": "3|2019",
}

REFUSED = (
    ("seen_by", "Dr. Ada Okonkwo", "a name"),
    ("x", "Okonkwo", "a name"),
    ("x", "ada okonkwo", "a name"),
    ("x", "J.S.", "a name"),
    ("x", "Ada-43", "a name"),
    ("drug", "Grace Hope", "a name"),
    ("country", "Jordan Smith", "a name"),
    ("patient_initials", "US", "a name"),
    ("x", "+44 20 7946 0958", "a contact"),
    ("x", "ada@example.org", "a contact"),
    ("x", "MRN 4471922", "an identifier"),
    ("mrn", "71", "an identifier"),
    ("patient_id", "PT-10023", "an identifier"),
    ("x", "4471922", "a number that can identify"),
    ("x", "9434765919", "a number that can identify"),
    ("lot", "4471922", "a number that can identify"),
    ("lot", "943 476 5919", "a contact"),
    ("lot", "given to Ada", "a name"),
    ("x", "SW1A 1AA", "a postcode"),
    ("x", "Leeds", "a place"),
    ("dob", "1962", "a date of birth"),
    ("birth_date", "1962-05-12", "a date of birth"),
    ("x", "The patient was seen at home by the nurse and felt well", "free text"),
    ("x", "lives with her sister", "free text"),
    ("onset", "10/12/2019", "can be exchanged"),
    ("onset", "43750", "can be a date"),
    ("x", "20191012", "can be a date"),
    ("age", "43;Ada", "can be an age"),
    ("x", "43-year-old", "an age"),
    ("onset", "2019-285", "can be a date"),
    ("onset", "2019-W41-6", "can be a date"),
    ("onset_month", "10", "a part of a date"),
    ("lat", "51.5", "can be a place"),
    ("x", "51.503364", "can be a place"),
)


@pytest.fixture(scope="module")
def masker():
    return build_deidentifier(MaskingSettings())


@pytest.fixture(scope="module")
def cases(masker):
    """Return what masks cases with settings."""

    def make(dates="mask", ages="mask", **more):
        more |= {"age_bands": "10-years"} if ages == "band" else {}
        settings = CaseSettings(
            today=date(2024, 1, 1), key=KEY, dates=DateMode(dates), ages=AgeMode(ages), **more
        )
        return CaseMasker(masker, settings)

    return make


def settle(masker, *cells, text=TEXT):
    record = Record(2, (Document("P7", text),), kept=tuple(KeptCell(*cell) for cell in cells))
    ((settled, (masked,)),) = mask_with_fields(masker, [record], b"", "PHI", check_kept(masker, "row"))
    return [settled.changes.values.get(n, cell[1]) for n, cell in enumerate(cells)], masked.text, settled


@pytest.mark.parametrize("column", PASS)
def test_codes_countries_words_and_numbers_pass(masker, column):
    values = PASS[column].split("|" if "|" in PASS[column] else None)
    cells = [(column, value) for value in values]
    assert settle(masker, *cells)[0] == values


@pytest.mark.parametrize(("column", "value", "kind"), REFUSED)
def test_what_identifies_is_refused_by_kind(masker, column, value, kind):
    with pytest.raises(KeptColumnError) as error:
        settle(masker, ("sex", "F"), (column, value))
    message = describe_error(error.value)
    assert kind in message
    assert message.startswith(f"row 2, column '{column}': ")
    assert "--keep-unchecked" in message
    assert value not in message


def test_one_subtraction_does_not_tell_the_shift(cases):
    masker = cases(dates="shift", ages="band")
    (onset, age), text, _ = settle(masker, ("onset", "2019-10-12"), ("age", "43"))
    assert age == "40-49"
    assert onset != "2019-10-12"
    day = date.fromisoformat(onset)
    assert f"on {day:%d-%b-%Y}.".upper() == text.split("dose ")[1].upper()


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("2019-10-12", "%Y-%m-%d"),
        ("20191012", "%Y%m%d"),
        ("2019/10/12", "%Y/%m/%d"),
        ("25/12/2019", "%d/%m/%Y"),
        ("12/25/2019", "%m/%d/%Y"),
        ("12-OCT-2019", "%d-%b-%Y"),
        ("12 October 2019", "%d %B %Y"),
        ("2019-10-12T14:05:33Z", "%Y-%m-%dT14:05:33Z"),
        ("2019-10-12 14:05", "%Y-%m-%d 14:05"),
    ],
)
def test_dates_move_with_the_text_in_their_layout(cases, value, shape):
    masker = cases(dates="shift")
    (iso, moved), _, _ = settle(masker, ("start_date", "2019-12-25"), ("onset", value))
    back = date(2019, 12, 25) - date.fromisoformat(iso)
    given = datetime.strptime(value, shape)
    written = (
        datetime.strptime(moved, shape) if "%b" not in shape else datetime.strptime(moved.title(), shape)
    )
    assert given - written == back > timedelta(20)


def test_years_and_days_follow_the_text(cases):
    cells = (("onset", "2019-10-19"), ("stop", "Nov 2019"), ("year", "2019"))
    assert settle(cases(dates="year"), *cells)[0] == ["2019", "2019", "2019"]
    assert settle(cases(dates="relative-day"), *cells)[0] == ["Day +7", "about Month +1", "about Year 0"]


def test_ages_under_90_stay_and_others_do_not(cases):
    masker = cases(ages="keep-under-90")
    cells = [("age", value) for value in ("43", "43.5", "94", "18 months")]
    assert settle(masker, *cells)[0] == ["43", "43.5", "90 or older", "18 months"]
    values, _, settled = settle(masker, ("age", "94", "number"))
    assert values == [""]
    assert settled.changes.emptied == {"age in a kept column": 1}


@pytest.mark.parametrize(
    ("column", "value", "remedy"), [("onset", "2019-10-12", "--dates"), ("age", "43", "--ages")]
)
def test_dates_and_ages_that_the_text_masks_are_refused_with_the_remedy(cases, column, value, remedy):
    with refuses(KeptColumnError, match=remedy):
        settle(cases(), (column, value))


def test_dates_and_ages_that_the_categories_keep_pass():
    masker = build_deidentifier(
        MaskingSettings(categories=frozenset(["name", "place", "contact", "id", "profession"]))
    )
    values, text, _ = settle(masker, ("onset", "2019-10-12"), ("age", "43"), ("age", "94"))
    assert values == ["2019-10-12", "43", "90 or older"]
    assert "12-OCT-2019" in text
    with pytest.raises(KeptColumnError, match="birth"):
        settle(masker, ("dob", "1962-05-12"))


def test_a_stated_order_makes_a_date_certain(cases):
    masker = cases(dates="shift", day_first=True)
    iso, moved = settle(masker, ("start", "2019-12-10"), ("onset", "10/12/2019"))[0]
    assert moved == f"{date.fromisoformat(iso):%d/%m/%Y}"


def test_a_date_of_birth_of_the_text_and_a_far_date_are_left_empty(cases):
    masker = cases(dates="shift")
    text = "Born 12 May 1962. Rash on 12-OCT-2019."
    values, _, settled = settle(
        masker, ("d1", "1962-05-12"), ("d2", "1931-01-01"), ("d3", "2019-10-12"), text=text
    )
    assert values[:2] == ["", ""]
    assert values[2]
    assert settled.changes.emptied == {"date in a kept column": 2}


def test_a_date_in_three_columns_is_refused(masker):
    with pytest.raises(KeptColumnError, match="'m': a kept column must not contain a part of a date"):
        settle(masker, ("d", "12"), ("m", "10"), ("y", "2019"))
    assert settle(masker, ("d", "12"), ("m", "10"))[0] == ["12", "10"]


def test_every_value_is_read_once(masker):
    class Counting:
        n_docs = 0

        def mask_many(self, docs):
            self.n_docs += len(docs)
            return masker.mask_many(docs)

    counting = Counting()
    kept = check_kept(counting, "row")
    records = [Record(n, (Document(str(n), "well"),), kept=(KeptCell("drug", "Humira"),)) for n in range(50)]
    for record in records:
        mask_with_fields(counting, [record], b"", "PHI", kept)
    assert counting.n_docs == 50 + 2


def test_cells_that_nobody_judged_cannot_be_written():
    with pytest.raises(StageError, match="not checked"):
        changes_of(Record(1, kept=(KeptCell("drug", "Humira"),)))
