"""Dates of birth: told by the words around them, by the fields, by how far back they lie; never shown."""

from __future__ import annotations

import re
from datetime import date

import pytest
from case_maskers import masker_of, spans_by

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.parts import PartialDate
from inverse_deid.replacement.dates.policies import relative_days
from inverse_deid.replacement.dates.reading import case_dates
from inverse_deid.replacement.dates.replacing import born_on
from inverse_deid.replacement.settings import CaseSettings, DateMode

TODAY = date(2020, 2, 1)
KEY = b"an example key, not a secret"
DATES = (
    r"((?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{4}|\d\d?[./]\d\d?[./]\d{4}|"
    r"\d{4}-\d\d-\d\d|\b\d{8}\b|\b(?:19|20)\d\d\b)"
)
SPANS = spans_by(DATE=DATES)
RELATIVE, SHIFT, YEAR = DateMode.RELATIVE_DAY, DateMode.SHIFT, DateMode.YEAR


def masked(*texts: str, dates: DateMode = RELATIVE, span: int | None = None, **case: object) -> list[str]:
    """The masked texts of one case."""
    spans = {} if span is None else {"date_span_years": span}
    settings = CaseSettings(today=TODAY, dates=dates, day_first=True, key=KEY, **spans)
    docs = tuple(Document(str(n), text) for n, text in enumerate(texts))
    (found,) = CaseMasker(masker_of(SPANS), settings).mask_cases([CaseTexts(id="case-1", docs=docs, **case)])
    assert not found.is_plain
    return [doc.text for doc in found.docs]


def test_a_birth_is_no_anchor_and_no_day() -> None:
    (text,) = masked("Born on 12 May 1962. Rash on 3 Oct 2019, hospital on 5 Oct 2019.")
    assert text == "Born on PHI. Rash on Day 0 (Day 0 = earliest date of the text), hospital on Day +2."


CUED = (
    "born {}",
    "was born on {}",
    "born in Lagos, Nigeria, on {}",
    "DOB {}",
    "DOB: {}",
    "D.O.B. {}",
    "d.o.b.: {}",
    "D/O/B {}",
    "Date of Birth:\n{}",
    "birthdate={}",
    "patientbirthdate {}",
    '<birthTime value="{}"/>',
    "birth_date: {}",
    "her birthday, {}, was kept",
    "b. {}",
    "(b {})",
    "(*{})",
    "geb. {}",
    "geboren am {}",
    "Geburtsdatum: {}",
    "née le {}",
    "date de naissance : {}",
    "fecha de nacimiento: {}",
    "nacida el {}",
    "data di nascita {}",
    "nato il {}",
    "data de nascimento: {}",
    "geboortedatum {}",
    "född {}",
    "ur. {}",
    "year of birth {}",
    "YOB {}",
    "{} (DOB)",
    "{} (date of birth)",
    "{} is her date of birth",
    "{} = birth date",
)


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT, YEAR])
@pytest.mark.parametrize("cue", CUED)
def test_words_that_tell_a_date_of_birth(cue: str, mode: DateMode) -> None:
    """Of a child, whose birth no span tells."""
    for birth in ("12 May 2015", "12.05.2015", "2015-05-12", "May 2015", "2015"):
        before = cue.format(birth)
        (text,) = masked(f"A girl, {before}, ill on 3 Oct 2019, seen on 5 Oct 2019", dates=mode)
        assert f", {cue.format('PHI')}, ill on" in text
        assert text.count("PHI") == 1


@pytest.mark.parametrize(
    "text",
    [
        "newborn screening on 3 Oct 2019",
        "birth control pill since 3 Oct 2019",
        "a birth defect was seen on 3 Oct 2019",
        "rash on 3 Oct 2019. Born in Lagos",
        "DOB unknown. Rash on 3 Oct 2019",
        "DOB: PRIVACY; rash on 3 Oct 2019",
        "vitamin B. Rash on 3 Oct 2019",
        "The parcel was delivered on 3 Oct 2019",
        "Delivery of the drug on 3 Oct 2019",
        "Delivered to the ward on 3 Oct 2019",
        "Delivery service called 3 Oct 2019",
        "Her daughter came to the ward on 3 Oct 2019",
    ],
)
def test_other_dates_are_no_births(text: str) -> None:
    assert "Day 0" in masked(text)[0]


def test_a_cue_speaks_of_one_date() -> None:
    assert masked("DOB 12 May 2015, seen 3 Oct 2019")[0].startswith("DOB PHI, seen Day 0")
    assert masked("seen 3 Oct 2019, DOB 12 May 2015")[0].endswith(", DOB PHI")
    assert masked("seen 3 Oct 2019, DOB 12 May 2015")[0].startswith("seen Day 0")


def test_where_births_stand() -> None:
    text = "DOB 12 May 2015, seen 3 Oct 2019"
    assert born_on(text, [(4, 15), (22, 32)]) == {0}
    assert born_on("", []) == set()


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT, YEAR])
def test_a_birth_told_once_is_hidden_in_every_layout_and_text(mode: DateMode) -> None:
    texts = masked(
        "DOB 12 May 2015. Rash on 3 Oct 2019.",
        "Girl (2015-05-12), 12/05/2015, 12.05.2015, 20150512, May 2015, 2015.",
        dates=mode,
    )
    assert texts[1] == "Girl (PHI), PHI, PHI, PHI, PHI, PHI."


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT, YEAR])
def test_an_ambiguous_birth_is_hidden_both_ways(mode: DateMode) -> None:
    (text,) = masked("DOB 05/04/2015; later 5 Apr 2015; ill on 3 Oct 2019", dates=mode)
    assert text.startswith("DOB PHI; later PHI; ill on ")


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT, YEAR])
@pytest.mark.parametrize("birth", [PartialDate(2015, 5, 12), PartialDate(2015, 5), PartialDate(2015)])
def test_a_birth_of_the_fields_is_hidden_as_precise_as_it_is(birth: PartialDate, mode: DateMode) -> None:
    (text,) = masked("Girl (12 May 2015), 2015, May 2015, ill on 3 Oct 2019", births=(birth,), dates=mode)
    assert text.startswith("Girl (PHI), PHI, PHI, ill on ")
    assert text.count("PHI") == 3


def test_an_anchor_that_is_a_birth_is_none() -> None:
    """A vaccine of the first day of life: the day is not shown, and nothing is counted from it."""
    birth = {"births": (PartialDate(2019, 9, 1),), "anchor": date(2019, 9, 1), "anchor_name": "first dose"}
    (text,) = masked("Dose on 1 Sep 2019, fever on 3 Sep 2019, well on 5 Sep 2019", **birth)
    assert text == "Dose on PHI, fever on Day 0 (Day 0 = earliest date of the text), well on Day +2"


def test_a_second_anchor_takes_the_place_of_one_that_is_a_birth_or_far() -> None:
    other = {"other_anchors": ((date(2019, 10, 3), "onset"),)}
    birth = {"births": (PartialDate(2019, 9, 1),), "anchor": date(2019, 9, 1), "anchor_name": "first dose"}
    assert masked("Fever on 5 Oct 2019", **birth, **other) == ["Fever on Day +2 (Day 0 = onset)"]
    far = {"anchor": date(1985, 3, 1), "anchor_name": "first dose"}
    assert masked("Fever on 5 Oct 2019", **far, **other) == ["Fever on Day +2 (Day 0 = onset)"]


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT])
def test_the_far_past_is_masked(mode: DateMode) -> None:
    (text,) = masked("(12 May 1962) operated in 1971, March 1985; ill on 3 Oct 2019", dates=mode)
    assert text.startswith("(PHI) operated in PHI, PHI; ill on ")
    assert text.count("PHI") == 3


def test_the_years_of_the_far_past_stay_years() -> None:
    assert masked("operated in 1971, ill on 3 Oct 2019", dates=YEAR) == ["operated in 1971, ill on 2019"]


def test_the_span_can_be_chosen() -> None:
    text = "dose on 3 Oct 2007, ill on 3 Oct 2019"
    assert masked(text)[0] == "dose on PHI, ill on Day 0 (Day 0 = earliest date of the text)"
    assert "Day +4383" in masked(text, span=15)[0]
    for years in (0, 18):
        with pytest.raises(ConfigurationError, match="1 to 17"):
            masked(text, span=years)


def test_nothing_is_counted_far_beyond_the_anchor() -> None:
    anchor = {"anchor": date(2001, 1, 1), "anchor_name": "first dose"}
    (text,) = masked("dose on 1 Jan 2001, ill on 3 Jan 2001, in 2012, on 3 Oct 2019", **anchor)
    assert text == "dose on Day 0 (Day 0 = first dose), ill on Day +2, in PHI, on PHI"


def test_a_range_that_begins_in_the_far_past_is_masked() -> None:
    (text,) = masked("smoked 12 May 1962 to 3 Oct 2019, ill on 3 Oct 2019")
    assert re.fullmatch(r"smoked PHI(?: to PHI)?, ill on Day 0 .*", text)


L1 = [
    "Twins born 12 May 2017 and 13 May 2017. Vaccine 3 October 2019.",
    "Born 12-13 May 2017. Vaccine 3 October 2019.",
    "Born between 12 May 2017 and 14 May 2017. Vaccine 3 October 2019.",
    "DOB 12 May 2017 to 13 May 2017. Vaccine 3 October 2019.",
    "Born overnight 12/13 May 2017. Vaccine 3 October 2019.",
    "DOB mother/child 12 May 1990/12 May 2017; vaccine 3 October 2019.",
]
L3 = [
    "12 May 2017: birth. 3 October 2019: vaccine. 5 October 2019: rash.",
    "12 May 2017 patient's DOB. 3 October 2019 vaccine.",
    "12 May 2017: girl born at term. 3 October 2019: vaccine.",
    "On 12/05/2014 the boy was born. Dose 13/10/2019, rash 15/10/2019.",
    "On 12/05/2014 a healthy girl was born at term by section. Dose 13/10/2019.",
    "12 May 2014 is when the child was born. Vaccine on 3 October 2019.",
    "12 May 2014 was the day she was born. Seen 4 October 2019",
    "12/05/2014 was given as the date of birth. Dose 13/10/2019.",
    "12/05/2014 was recorded as DOB. Dose 13/10/2019.",
    "On 12 May 2014 she delivered a healthy baby girl. Dose 13/10/2019.",
    "Vaccine 3 October 2019 (born 12 May 2014)",
    "Seen 3 October 2019, child was born approx. 12 May 2014. Well 5 October 2019.",
]
L4 = [
    "Birth\tDose\tOnset\n12 May 2014\t03 Oct 2019\t05 Oct 2019",
    "Onset | DOB | Dose\n15/10/2019 | 12/05/2014 | 13/10/2019",
    "Onset | DOB | Dose\n--- | --- | ---\n15/10/2019 | 12/05/2014 | 13/10/2019",
    "Siblings: born 12 May 2017, 13 June 2018. Vaccine 3 October 2019.",
    "Mother's DOB 12 May 1990; child's 12 May 2017. Vaccine 3 October 2019.",
    "DOB 12 May 2017 or 12 June 2017. Vaccine 3 October 2019.",
    "DOB 12 May 2015 / 12 June 2017 & 2 July 2018. Vaccine 3 October 2019.",
    "12 May 2017 and 13 June 2018 were their dates of birth. Vaccine 3 October 2019.",
]
L4 += [
    "No | DOB | Dose\n1 | 12 May 2014 | 03 Oct 2019\n2 | | \n3 | 12 June 2017 | 05 Oct 2019",
    "DOB  Dose\n12 May 2014    03 Oct 2019",
    "Dose,DOB\n03 Oct 2019,12 May 2014",
]
L5 = [
    "Né(e) le {}",
    "Fecha de nac.: {}",
    "F. Nac. {}",
    "FN {}",
    "Nasc. {}",
    "Nata a Roma il {}",
    "BD {}",
    "bdate {}",
    "brn {}",
    "birht date {}",
    "date-of-brith {}",
    "Newborn {}",
    "newborn ({})",
    "Newborn girl, {}",
    "The date {} appears as DOB",
    "came into the world on {}",
    "Day of life 1 was {}",
    "Day 0 of life {}",
    "Baby delivered by caesarean section on {}",
    "delivered on {} a healthy boy",
    "Premature at 32 weeks on {}",
    "F/{}",
    "Age 5 ({})",
]
BIRTH = re.compile(
    r"1[234] May 201[457]|12/05/2014|12[-/]13 May|12 May 1990|13 June 2018|12 June 2017|2 July 2018|12 May 2015"
)


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT, YEAR])
@pytest.mark.parametrize(
    "text", [*L1, *L3, *L4, *(f"A child. {cue.format('12 May 2014')}. Dose 3 October 2019." for cue in L5)]
)
def test_no_birth_is_shown_or_counted_from(text: str, mode: DateMode) -> None:
    dates = r"(\d{1,2}[-/]\d{1,2} [A-Z][a-z]+ \d{4})|" + DATES
    spans = lambda words: [(m.start(), m.end(), "DATE") for m in re.finditer(dates, words)]  # noqa: E731
    births = {n for n, (start, end, _) in enumerate(spans(text)) if BIRTH.search(text[start:end])}
    assert births <= born_on(text, [span[:2] for span in spans(text)])
    (shown,) = masked(text, dates=mode)
    assert not BIRTH.search(shown)
    assert not re.search(r"Day [+-]\d{3}|201[4-8]", shown)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (L1[0], "Vaccine Day 0"),
        (L1[2], "Vaccine Day 0"),
        (L1[5], "vaccine Day 0"),
        (L3[0], "PHI: birth. Day 0 (Day 0 = earliest date of the text): vaccine. Day +2: rash."),
        (L3[1], "PHI patient's DOB. Day 0"),
        (L3[2], "PHI: girl born at term. Day 0"),
        (L3[3], "Dose Day 0 (Day 0 = earliest date of the text), rash Day +2."),
        (L3[7], "Dose Day 0"),
        (L3[10], "Vaccine Day 0 (Day 0 = earliest date of the text) (born PHI)"),
        (L4[3], "born PHI, PHI. Vaccine Day 0"),
        ("Seen 3 Oct 2019 at birth clinic. Well 5 Oct 2019", "Well Day 0"),
        ("500 mg BD 3 Oct 2019, well 5 Oct 2019", "Day 0"),
        ("Vaccine delivered on 3 Oct 2019, well 5 Oct 2019", "delivered on Day 0"),
    ],
)
def test_events_beside_births_keep_their_intervals(text: str, expected: str) -> None:
    assert expected in masked(text)[0]


def test_a_denied_date_is_no_anchor() -> None:
    case = case_dates(["1 Oct 2019", "3 Oct 2019"], today=TODAY)
    policy = relative_days(case, hidden={"1 Oct 2019"})
    assert policy.replacement("3 Oct 2019") == "Day 0"


def test_a_birth_without_a_year_is_no_anchor() -> None:
    masker = masker_of(spans_by(DATE=r"(\d+ [A-Z][a-z]{2,8}(?: \d{4})?)"))
    settings = CaseSettings(today=TODAY, dates=RELATIVE)
    doc = Document("1", "Born 12 May. Vaccine 3 October 2019, seen 5 October, 12 May 2019")
    (found,) = CaseMasker(masker, settings).mask_cases([CaseTexts(id="case-1", docs=(doc,))])
    assert found.docs[0].text.startswith("Born PHI. Vaccine Day 0 (")
    assert found.docs[0].text.endswith("), seen Day +2, PHI")


EVENTS = (
    "Delivered {} by forceps",
    "Emergency C-section on {} (a girl)",
    "Twins arrived on {}",
    "LSCS {}",
    "Caesarean performed {}",
    "On {} she delivered",
    "On {} she had a cesarean",
    "{}: elective section, live male",
    "Delivery date: {}",
    "Her son came on {}",
    "Triplets were welcomed on {}",
    "Labour began {}",
    "Date of confinement {}",
    "A girl entered the world {}",
    "EDD {}",
    "She became a mother on {}",
    "Apgar 9 on {}",
)


@pytest.mark.parametrize("mode", [RELATIVE, SHIFT, YEAR])
@pytest.mark.parametrize("event", EVENTS)
def test_births_told_as_an_event_of_the_mother(event: str, mode: DateMode) -> None:
    (text,) = masked(f"{event.format('12 May 2019')}. Ill on 3 Oct 2019, seen 5 Oct 2019", dates=mode)
    assert text.startswith(event.format("PHI"))
    assert text.count("PHI") == 1


def test_two_dates_around_an_event_are_births_if_the_later_one_is_not_close() -> None:
    (text,) = masked(
        "On 12 May 2019 she delivered and went home after her stay on 14 May 2019. Ill on 3 Oct 2019."
    )
    assert text.count("PHI") == 2
    (text,) = masked("Dose on 9 May 2019, delivered on 12 May 2019. Ill on 3 Oct 2019.")
    assert text.startswith("Dose on Day 0 ")
