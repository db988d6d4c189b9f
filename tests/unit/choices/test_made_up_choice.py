"""A choice that is added to the table is on every surface, without a line of code there."""

import dataclasses
from datetime import date

import click
import jsonschema
import pytest

from inverse_deid.choices import table as choice_table
from inverse_deid.choices.questions import list_questions
from inverse_deid.choices.reading import read_choices, refuse_contradictions
from inverse_deid.choices.records import Choice, Excludes, Needs, Permit, Surface, Value, list_choices
from inverse_deid.choices.table import CHOICES, CONTRADICTIONS, MaskChoices
from inverse_deid.cli.parts import messages
from inverse_deid.cli.parts.choice_options import list_headings, list_options, take_choices
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.masking import choices as masking_choices
from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.masking.choices import choose_settings, keyword_errors
from inverse_deid.replacement.ages import BAND_SCHEMES
from inverse_deid.replacement.settings import AgeMode, CaseSettings, DateMode
from inverse_deid.service.choices import settings_type
from inverse_deid.service.interface import describe_api

MADE_UP = Choice(
    name="made_up",
    kind="values",
    group="What replaces it",
    help="What becomes of shoes.",
    surfaces=frozenset(Surface),
    default="hide",
    question="What should happen to shoes?",
    values=(Value("hide", "Hide them", "No shoe is left."), Value("polish", "Polish them", "Shoes shine.")),
    permit=Permit("shoes", "shoes are masked here"),
)
TABLE = (*CHOICES, MADE_UP)
COMMANDS = (Surface.MASK, Surface.REVIEW, Surface.SERVE, Surface.UTILITY, Surface.CALIBRATE)


@pytest.mark.parametrize("surface", COMMANDS)
def test_it_is_an_option_of_every_command(surface):
    command = click.Command("made")
    for option in list_options(surface, table=TABLE):
        option(command)
    (found,) = [one for one in command.params if one.name == "made_up"]
    assert found.opts == ["--made-up"]
    assert list(found.type.choices) == ["hide", "polish"]
    assert found.help == "What becomes of shoes.  [default: hide]"
    assert "made_up" in list_headings(surface, TABLE)["What replaces it"]
    assert take_choices({"made_up": "polish", "low": None, "out": "x"}, TABLE) == {"made_up": "polish"}


def test_it_is_a_keyword_argument():
    assert read_choices({"made_up": "polish"}, TABLE) == {"made_up": "polish"}
    with pytest.raises(ConfigurationError, match="made_up must be one of hide, polish"):
        read_choices({"made_up": "wax"}, TABLE)


def test_it_is_a_setting_of_requests_and_described():
    settings = describe_api(TABLE)["components"]["schemas"]["Settings"]
    jsonschema.Draft202012Validator(settings).validate({"made_up": "polish"})
    assert not jsonschema.Draft202012Validator(settings).is_valid({"made_up": "wax"})
    described = settings["properties"]["made_up"]["description"]
    assert described == "What becomes of shoes. Needs the permit shoes to mask less."
    assert "made_up" in settings_type(TABLE).__struct_fields__


@pytest.mark.parametrize("surface", [Surface.TRY, Surface.DESK])
def test_it_is_a_question_of_the_pages(surface):
    (found,) = [one for one in list_questions(surface, TABLE) if one.name == "made_up"]
    assert (found.text, found.default) == ("What should happen to shoes?", "hide")
    assert [(one.value, one.label, one.settings) for one in found.answers] == [
        ("hide", "Hide them", {"made_up": "hide"}),
        ("polish", "Polish them", {"made_up": "polish"}),
    ]


@pytest.mark.parametrize(
    ("rule", "keyword", "option"),
    [
        (
            Excludes("low", ("made_up",), "is not for shoes"),
            "low: is not for shoes. Leave out made_up",
            "--low: is not for shoes. Leave out --made-up.",
        ),
        (
            Needs("low", "made_up", values=("hide",)),
            'low: has no effect alone. Add made_up="hide", or leave out low',
            "--low: has no effect alone. Add --made-up hide, or leave out --low.",
        ),
    ],
)
def test_its_contradictions_are_refused_in_the_words_of_the_surface(monkeypatch, rule, keyword, option):
    monkeypatch.setattr(masking_choices, "CHOICES", TABLE)
    given = {"made_up": "polish", "low": 0.5}
    with pytest.raises(ConfigurationError) as caught:
        refuse_contradictions(given, TABLE, (*CONTRADICTIONS, rule))
    assert messages.describe_error(caught.value) == option
    with pytest.raises(ConfigurationError) as said, keyword_errors():
        raise caught.value
    assert str(said.value) == keyword


def test_every_choice_has_a_type_for_checkers_and_a_setting():
    settings = {one.name for kind in (MaskingSettings, CaseSettings) for one in dataclasses.fields(kind)}
    names = [one.name for one in CHOICES]
    assert len(set(names)) == len(names)
    assert set(names) == set(MaskChoices.__annotations__) == settings - {"keep_years"}
    assert all(f"    {one.name}: " in MaskChoices.__doc__ for one in CHOICES)


@pytest.mark.parametrize(
    ("name", "known"), [("dates", DateMode), ("ages", AgeMode), ("age_bands", BAND_SCHEMES)]
)
def test_the_values_are_those_that_the_code_obeys(name, known):
    (choice,) = [one for one in CHOICES if one.name == name]
    assert set(choice.names_on(Surface.PYTHON)) == set(map(str, known))


def test_the_default_of_a_choice_is_that_of_its_setting():
    chosen = choose_settings(None, {}, date(2020, 1, 1))
    described = {one.name: one.default for one in CHOICES if one.default is not None}
    found = {name: chosen.value_of(name) for name in described}
    assert found | {"categories": "all"} == described


def test_every_question_has_an_answer_that_counts_without_one():
    for surface in (Surface.TRY, Surface.DESK):
        found = list_questions(surface)
        assert found
        for question in found:
            assert question.find_answer(question.default), question.name


def test_contradictions_name_choices():
    names = {one.name for one in CHOICES}
    for rule in CONTRADICTIONS:
        assert {rule.choice, *([rule.other] if isinstance(rule, Needs) else rule.others)} <= names
    assert choice_table.REPLACED_CATEGORIES.keys() <= names
    assert {one.detail_of[0] for one in list_choices(CHOICES, Surface.DESK) if one.detail_of} <= names
