"""What stands in the place of dates and ages, with every offset right."""

import re
from datetime import date

import pytest
from case_maskers import masker_of, spans_by
from refusals import refuses

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import Document, KnownIdentifier, KnownSort
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.parts import PartialDate
from inverse_deid.replacement.keys import pseudonym
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode

TODAY = date(2020, 2, 1)
KEY = b"an example key, not a secret"
SPANS = spans_by(
    DATE=r"((?:\b(?:the )?3rd of November|Oct(?:ober)?\.? 12|\d+-[A-Z]{3}-\d+|20(?:19|18)\b|\b1[23] to 15 October)"
    r"(?: 20\d\d)?)",
    AGE=r"(?<![\d/-])(\d+)(?=-year)",
    NAME=r"(Amara|Okonkwo)",
)


def masked(text, case=None, **settings):
    masker = CaseMasker(masker_of(SPANS), CaseSettings(today=TODAY, **settings))
    doc = Document("1", text, known=tuple((case or {}).pop("known", ())))
    (found,) = masker.mask_cases([CaseTexts(id="case-1", docs=(doc,), **(case or {}))])
    (result,) = found.docs
    for (start, end), (shown, stop) in zip(result.masks, result.replaced, strict=True):
        assert start < end
        assert shown <= stop <= len(result.text)
    # Taking the stand-ins out again leaves what is kept of the original.
    position, rebuilt = 0, ""
    for (start, end), (shown, stop) in zip(result.masks, result.replaced, strict=True):
        rebuilt += result.text[position:shown] + text[start:end]
        position = stop
    assert rebuilt + result.text[position:] == text
    return result


def test_by_default_everything_is_a_marker():
    assert masked("on 12-OCT-2019, a 43-year-old").text == "on PHI, a PHI-year-old"


def test_relative_days_say_their_anchor_once():
    found = masked("on 12-OCT-2019, on 15-OCT-2019", dates=DateMode.RELATIVE_DAY)
    assert found.text == "on Day 0 (Day 0 = earliest date of the text), on Day +3"
    assert found.stand_ins == {"date": 2}


def test_the_anchor_of_the_fields_goes_before_the_text():
    case = {"anchor": date(2019, 10, 14), "anchor_name": "first dose"}
    assert (
        masked("on 12-OCT-2019", case, dates=DateMode.RELATIVE_DAY).text == "on Day -2 (Day 0 = first dose)"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on Oct 12, 2019 ill", "on 2019 ill"),
        ("on October 12,\n2019 ill", "on 2019 ill"),
        ("on the 3rd of November 2019 ill", "on 2019 ill"),
        ("from 12 to 15 October 2019 ill", "from 2019 ill"),
        ("on 12-OCT-2019 Amara Okonkwo came", "on 2019 PHI came"),
        ("Amara Okonkwo 12-OCT-2019 came", "PHI 2019 came"),
        ("on 12-OCT-2019 2018 came", "on PHI came"),
        ("on 12-OCT-2019, 15-OCT-2018 ill", "on 2019, 2018 ill"),
        ("no date at all", "no date at all"),
    ],
)
def test_whole_dates_are_found_in_masks(text, expected):
    assert masked(text, dates=DateMode.YEAR).text == expected


def test_half_a_date_is_masked():
    only_half = spans_by(DATE=r"(12 OCT)", NAME=r"( 2019)")
    masker = CaseMasker(masker_of(only_half), CaseSettings(today=TODAY, dates=DateMode.YEAR))
    assert masker.mask_many([Document("1", "on 12 OCT 2019 ill")])[0].text == "on PHI ill"


def test_dates_in_the_future_and_of_birth_stay_masked():
    case = {"births": (PartialDate(2018, 10, 12),)}
    text = "on 12-OCT-2018, on 15-OCT-2021, on 15-OCT-2019"
    assert masked(text, case, dates=DateMode.YEAR).text == "on PHI, on PHI, on 2019"


def test_shifted_dates_keep_their_interval_and_hide_the_original():
    text = masked("on 12-OCT-2019, on 15-OCT-2019", dates=DateMode.SHIFT, key=KEY).text
    first, second = (part.removeprefix("on ") for part in text.split(", "))
    assert "2019-10" not in text
    days = [_day(part) for part in (first, second)]
    assert (days[1] - days[0]).days == 3
    assert 30 <= (date(2019, 10, 12) - days[0]).days <= 395


def _day(text):
    months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
    day, month, year = text.split("-")
    return date(int(year), months.index(month) + 1, int(day))


def test_ages_need_the_word_of_the_network():
    assert masked("a 43-year-old", ages=AgeMode.KEEP_UNDER_90).text == "a 43-year-old"
    assert masked("a 94-year-old", ages=AgeMode.KEEP_UNDER_90).text == "a 90 or older"
    assert masked("a 43-year-old", ages=AgeMode.BAND, age_bands="10-years").text == "a 40-49-year-old"
    not_an_age = CaseMasker(
        masker_of(spans_by(ID=r"(43)")), CaseSettings(today=TODAY, ages=AgeMode.KEEP_UNDER_90)
    )
    assert not_an_age.mask_many([Document("1", "room 43-year")])[0].text == "room PHI-year"


@pytest.mark.parametrize("age", ["43M-Okonkwo", "43m/Okonkwo", "9m.Okonkwo", "94M@okonkwo", "43M Okonkwo"])
@pytest.mark.parametrize(
    "settings", [{"ages": AgeMode.KEEP_UNDER_90}, {"ages": AgeMode.BAND, "age_bands": "10-years"}]
)
def test_a_name_joined_to_an_age_does_not_leave_with_it(age, settings):
    masker = CaseMasker(
        masker_of(spans_by(AGE=rf"({re.escape(age)})")), CaseSettings(today=TODAY, **settings)
    )
    assert masker.mask_many([Document("1", f"a {age} came")])[0].text == "a PHI came"


def test_an_age_that_repeats_a_known_number_is_masked():
    case = {"known": [KnownIdentifier("43 Harrow Lane", KnownSort.ADDRESS)]}
    assert masked("a 43-year-old", case, ages=AgeMode.KEEP_UNDER_90).text == "a PHI-year-old"


def test_surrogates_stand_where_no_date_or_age_does():
    class Surrogates:
        fingerprint = "invented"

        def __call__(self, case, values):
            assert "Amara Okonkwo" in values
            return lambda text, category: "Jo Bloggs" if category is HyperClass.NAME else None

    masker = CaseMasker(masker_of(SPANS), CaseSettings(today=TODAY, dates=DateMode.YEAR), Surrogates())
    assert masker.fingerprint.endswith(" invented")
    (found,) = masker.mask_many([Document("1", "Amara Okonkwo came on 12-OCT-2019, aged 43-year")])
    assert found.text == "Jo Bloggs came on 2019, aged PHI-year"
    assert found.stand_ins == {"date": 1, "surrogate": 1}


@pytest.mark.parametrize("sign", ["\x1c", "\x1f", "\u202e", "\u200b"])
def test_no_forbidden_sign_leaves_with_a_surrogate(sign):
    class Surrogates:
        fingerprint = "invented"

        def __call__(self, case, values):
            return lambda text, category: text.replace("Amara", "Jo").replace("Okonkwo", "Bloggs")

    masker = CaseMasker(masker_of(SPANS), CaseSettings(today=TODAY), Surrogates())
    assert masker.mask_many([Document("1", "so Amara Okonkwo said")])[0].text == "so Jo Bloggs said"
    assert masker.mask_many([Document("1", f"so Amara{sign}Okonkwo said")])[0].text == "so PHI said"


def test_known_values_of_a_sidecar_belong_to_their_document():
    known = {"a": (KnownIdentifier("Zebulonova", KnownSort.NAME),)}
    masker = CaseMasker(masker_of(), CaseSettings(today=TODAY), known=known)
    texts = [doc.text for doc in masker.mask_many([Document("a", "Zebulonova"), Document("b", "Zebulonova")])]
    assert texts == ["PHI", "Zebulonova"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dates": DateMode.SHIFT}, "--key"),
        ({"key": b"fifteen bytes.."}, "15 bytes"),
        ({"ages": AgeMode.BAND}, "--age-bands"),
        ({"age_bands": "10-years"}, "--ages band"),
        ({"ages": AgeMode.BAND, "age_bands": "7-years"}, "5-years"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, said):
    with refuses(ConfigurationError, match=said):
        CaseSettings(today=TODAY, **settings)


def test_settings_tell_no_key():
    settings = CaseSettings(today=TODAY, key=KEY)
    assert KEY.decode() not in repr(settings) + settings.fingerprint
    assert settings.fingerprint != CaseSettings(today=TODAY, key=KEY + b"x").fingerprint


def test_pseudonyms_depend_on_key_and_id_alone():
    assert pseudonym(KEY, "SE-1") == pseudonym(KEY, "se-1 ")
    assert len({pseudonym(KEY, "SE-1"), pseudonym(KEY, "SE-2"), pseudonym(KEY + b"x", "SE-1")}) == 3


class _OddError(Exception):
    pass


@pytest.mark.parametrize("place", ["born_on", "policy_of"])
def test_an_error_of_any_kind_costs_a_case_its_words_alone(place, monkeypatch):
    n_calls = 0

    def fails(*given):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 2:
            raise _OddError("12-OCT-2019")
        return real(*given)

    import inverse_deid.replacement.dates.replacing as module

    real = getattr(module, place)
    monkeypatch.setattr(module, place, fails)
    masker = CaseMasker(masker_of(SPANS), CaseSettings(today=TODAY, dates=DateMode.YEAR))
    cases = [CaseTexts(id=f"case-{n}", docs=(Document(str(n), "on 12-OCT-2019"),)) for n in (1, 2, 3)]
    found = masker.mask_cases(cases)
    assert [one.docs[0].text for one in found] == ["on 2019", "on PHI", "on 2019"]
    assert [one.is_plain for one in found] == [False, True, False]
    assert [one.docs[0].is_plain for one in found] == [False, True, False]


def test_the_default_of_today_is_part_of_the_fingerprint_where_it_counts():
    def prints(mode):
        days = (date(2020, 2, 1), date(2020, 2, 2))
        return {CaseSettings(today=day, dates=mode).fingerprint for day in days}

    assert [len(prints(mode)) for mode in (DateMode.MASK, DateMode.YEAR)] == [1, 2]
