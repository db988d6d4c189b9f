"""What a person chooses for their files, and what it becomes."""

import gc
import weakref
from datetime import date

import pytest
from fake_maskers import mask_capitals
from review_stores import KEY

from inverse_deid.choices.categories import PRESETS
from inverse_deid.core.errors import ReviewError
from inverse_deid.files.survey import SurveyedColumn, survey_file
from inverse_deid.formats.tables.columns import ColumnFate
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.maskers import Maskers
from inverse_deid.replacement.settings import AgeMode, DateMode
from inverse_deid.review.files.choices import (
    EXAMPLE,
    QUESTIONS,
    Examples,
    MaskingChoices,
    find_danger,
    make_read_options,
)

TODAY = date(2024, 1, 1)


def test_answers_become_the_settings_of_masking_and_release():
    chosen = MaskingChoices.from_fields(
        {
            "categories": "everything",
            "operating_point": "strict",
            "reading": "fast",
            "dates": "shift",
            "ages": "10-years",
            "replace": "category",
            "other": "x",
        }
    )
    masking, cases = chosen.choose(KEY.secret, TODAY).masking, chosen.choose(KEY.secret, TODAY).cases
    assert (masking.categories, masking.operating_point) == (PRESETS["everything"], "strict")
    assert (masking.reading, masking.replace) == ("fast", "category")
    assert (cases.dates, cases.ages, cases.age_bands, cases.key) == (
        DateMode.SHIFT,
        AgeMode.BAND,
        "10-years",
        KEY.secret,
    )


def test_without_answers_everything_is_hidden():
    chosen = MaskingChoices.from_fields({}).choose(KEY.secret, TODAY)
    cases = chosen.cases
    assert (chosen.masking.categories, cases.dates, cases.ages) == (
        PRESETS["all"],
        DateMode.MASK,
        AgeMode.MASK,
    )


def test_where_ages_are_not_hidden_nothing_replaces_them():
    chosen = MaskingChoices.from_fields({"categories": "hipaa", "ages": "10-years"})
    assert chosen.choose(KEY.secret, TODAY).cases.ages is AgeMode.MASK
    (asked,) = [one for one in QUESTIONS if one.name == "categories"]
    assert {one.value: one.idle for one in asked.answers} == {"all": (), "everything": (), "hipaa": ("ages",)}


@pytest.mark.parametrize("fields", [{"operating_point": "none"}, {"dates": ["mask"]}, {"categories": 3}])
def test_an_unknown_answer_is_refused_without_its_value(fields):
    with pytest.raises(ReviewError) as caught:
        MaskingChoices.from_fields(fields)
    assert str(caught.value) == "the form has an unknown answer. Load the page again"


def test_the_questions_have_exactly_the_answers_that_are_known():
    for question in QUESTIONS:
        for one in question.answers:
            assert one.label
            assert MaskingChoices.from_fields({question.name: one.value}).answer_to(question) == one.value


def test_answers_change_the_example_of_the_real_pipeline():
    """An answer that changes nothing in the example tells the person nothing."""
    examples = Examples(build_deidentifier, KEY.secret)

    def mask(**answers):
        return examples.mask(MaskingChoices.from_fields(answers), TODAY)

    for name in ("categories", "dates", "ages", "replace"):
        answers = next(one.answers for one in QUESTIONS if one.name == name)
        shown = {"".join(part.text for part in mask(**{name: one.value})) for one in answers}
        assert len(shown) == len(answers), name
    n_hidden = [
        sum(part.text.count("PHI") for part in mask(operating_point=one))
        for one in ("strict", "balanced", "lenient")
    ]
    assert n_hidden == sorted(n_hidden, reverse=True)
    assert n_hidden[0] > n_hidden[2]
    for answers in ({}, {"operating_point": "lenient"}, {"reading": "fast"}):
        text = "".join(part.text for part in mask(**answers))
        assert not {"Holloway", "Lindenau", "Quill", "Rosewood", "48213"} & set(
            text.replace("-", " ").split()
        )
    assert "Holloway" in EXAMPLE


def test_an_example_is_worked_out_once_and_few_maskers_are_kept():
    built = []
    maskers = Maskers(lambda settings: built.append(settings) or mask_capitals())
    for point in ("strict", "balanced", "lenient", "lenient", "strict"):
        with maskers.lock:
            maskers.get(MaskingSettings(operating_point=point))
    assert [one.operating_point for one in built] == ["strict", "balanced", "lenient", "strict"]
    examples = Examples(lambda settings: built.append(settings) or mask_capitals(), KEY.secret)
    first = examples.mask(MaskingChoices(), TODAY)
    assert examples.mask(MaskingChoices(), TODAY) is first
    assert len(built) == 5
    assert "".join(part.text for part in first).startswith("PHI-year-old PHI woman")


@pytest.mark.parametrize(
    ("name", "values", "word"),
    [
        ("country", ("Norway", "Spain"), ""),
        ("seriousness", ("yes",), ""),
        ("dose", ("5 mg",), ""),
        ("patientInitials", ("AB",), "name says"),
        ("DOB", ("x",), "name says"),
        ("x1", ("12.03.1961",), "look like"),
        ("x1", ("030 5550142",), "look like"),
        ("x1", ("a@example.org",), "look like"),
        ("x1", ("Agnes Holloway",), "look like"),
        ("x1", ("she had a rash after the first dose",), "free text"),
    ],
)
def test_columns_that_should_not_be_kept_are_recognised(name, values, word):
    danger = find_danger(SurveyedColumn(name, values, is_narrative=False, is_unique=False))
    assert word in danger if word else danger == ""


def test_fates_become_options_and_an_id_is_kept_only_if_it_was_chosen():
    survey = survey_file("a.csv", b"id,text,country\n7,well,Norway\n")
    masked, kept, id_, dropped = ColumnFate.MASKED, ColumnFate.KEPT, ColumnFate.ID, ColumnFate.DROPPED
    options = make_read_options(survey, [dropped, masked, kept])
    assert (options.text_columns, options.keep_columns, options.id_name) == (("text",), ("country",), None)
    assert make_read_options(survey, [id_, masked, kept]).id_name == "id"
    with pytest.raises(ReviewError, match="at least one column"):
        make_read_options(survey, [id_, dropped, dropped])
    with pytest.raises(ReviewError, match="only one column"):
        make_read_options(survey, [id_, masked, id_])
    with pytest.raises(ReviewError, match="for each column"):
        make_read_options(survey, [masked])


def test_a_file_is_masked_without_the_maskers_of_examples_in_memory(tmp_path):
    alive = weakref.WeakSet()

    def build(_settings):
        alive.add(masker := mask_capitals())
        return masker

    maskers = Maskers(build)
    examples = Examples(build, KEY.secret)
    with maskers.lock:
        maskers.get(MaskingSettings())
    shown = examples.mask(MaskingChoices(), TODAY)
    gc.collect()
    assert len(alive) == 2
    examples.drop_idle()
    assert len(alive) == 1
    assert examples.mask(MaskingChoices(), TODAY) == shown
    assert len(alive) == 1
    with maskers.lock:
        maskers.get(MaskingSettings(operating_point="strict"))
        gc.collect()
        assert len(alive) == 1
        maskers.drop_idle()  # one is at work
        assert len(alive) == 1
