"""The sets that measure names: large enough, and unlike anything that training generates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from name_cases import (
    LISTED,
    NAME_FORMS,
    SEXES,
    UNLISTED,
    Case,
    bare_surname_cases,
    hospital_cases,
    items,
    job_cases,
    listing,
    narrative_cases,
    read_set,
    region_cases,
    regions,
    templates,
    word_cases,
)
from report_names import Tally, count, measure, render_report, wilson, write_csv

from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.training.corpora.people import load_name_pools
from inverse_deid.training.corpora.templates import load_lookalikes
from inverse_deid.training.corpora.wordlists import load_lines, read_data, words

KINDS = [
    "sentences", "lower", "lists", "possessive", "credential", "subject_or_object", "hospital", "unit",
    "own_job", "role", "narrative",
]  # fmt: skip


def _skeleton(template: str) -> str:
    return " ".join(re.findall(r"\w+", re.sub(r"\{[^{}]*\}", " slot ", template).casefold()))


def _training_skeletons() -> set[str]:
    lines = [line for lists in load_lines("sentences").values() for line in lists]
    lines += read_data("layouts.txt").splitlines()
    parts = [part for line in lines for part in re.split(r"<<|>>|\||(?<=[.;:]) ", line)]
    return {_skeleton(text) for text in (*lines, *parts)}


@pytest.mark.parametrize("kind", KINDS)
def test_no_template_is_trained_on(kind: str) -> None:
    trained = _training_skeletons()
    assert _skeleton("{PATIENT.last} slept badly, ate little and refused {drug}.") in trained
    assert not [template for template in templates(kind) if _skeleton(template) in trained]


def test_no_template_is_in_the_annotated_narratives() -> None:
    path = Path(__file__).parents[3] / "narratives" / "invented.jsonl"
    narratives = " ".join(re.findall(r"\w+", path.read_text(encoding="utf-8").casefold()))
    for kind in KINDS:
        assert templates(kind)
        for template in templates(kind):
            parts = [re.findall(r"\w+", part.casefold()) for part in re.split(r"\{\w+\}", template)]
            assert not [part for part in parts if len(part) > 4 and " ".join(part) in narratives], template


def test_there_are_at_least_forty_templates_for_names() -> None:
    kinds = ("sentences", "lower", "lists", "possessive", "credential", "subject_or_object")
    assert len({template for kind in kinds for template in templates(kind)}) >= 40
    assert all("{name}" in template for kind in kinds for template in templates(kind))


def test_no_phrase_of_a_word_is_trained_on() -> None:
    trained = {phrase.casefold() for _, _, phrases in load_lookalikes() for phrase in phrases}
    lines = [line for kind in ("given", "surnames") for line in items(read_set("lookalikes")[kind])]
    phrases = [phrase for line in lines for phrase in line.partition(": ")[2].split("; ")]
    assert len(phrases) > 120
    assert not trained & set(phrases)


def test_no_hospital_is_trained_on() -> None:
    names = {name for line in items(read_set("lookalikes")["hospitals"]) for name in line.split("; ")}
    assert len(names) >= 40
    assert not names & set(words("hospitals"))


def test_regions_and_sexes_are_large_enough() -> None:
    assert len(regions()) >= 12
    for region, people in regions().items():
        for sex in SEXES:
            names = [person.given for person in people if person.sex == sex]
            assert len(names) >= 25, (region, sex)
            assert len(names) == len(set(names)), (region, sex)


def test_names_in_no_list_are_in_no_list() -> None:
    lexicon = load_lexicon()
    pools = load_name_pools()
    trained = " ".join(name for origin in pools.origins for name in (*origin.given, *origin.surnames))
    trained_parts = set(re.findall(r"\w+", trained.casefold()))
    names = {
        name for group in regions().values() for person in group for name in (person.given, person.surname)
    }
    unlisted = {name for name in names if listing(name) == UNLISTED}
    assert len(unlisted) > 400
    for name in unlisted:
        parts = [part for part in re.findall(r"[^\W\d_]+", name) if len(part) > 1]
        assert not any(lexicon.flags(part) for part in parts), name
        assert not trained_parts & {part.casefold() for part in parts}, name
    assert {listing(name) for name in ("Smith", "Zqwxv Garcia", "Whitehorse")} == {LISTED}


def test_every_planted_phrase_is_where_it_is_said_to_be() -> None:
    everything = [*region_cases(), *word_cases(), *bare_surname_cases(), *hospital_cases(), *job_cases()]
    everything += narrative_cases(50)
    for case in everything:
        phrase = case.text[case.start : case.end]
        assert phrase == phrase.strip() != ""
        assert not re.match(r"(?:the|Ms|Mrs|Miss|Mr|Dr)\b", phrase), phrase
        assert "{" not in case.text
    assert {case.labels[2] for case in everything if case.table == "regions"} == set(NAME_FORMS)


def test_narratives_plant_names_that_are_in_no_list() -> None:
    cases = list(narrative_cases(200))
    assert len(cases) == len({case.text for case in cases}) == 200
    assert all(case.text.count(".") >= 5 for case in cases)
    assert {listing(case.text[case.start : case.end]) for case in cases} == {UNLISTED}
    assert cases == list(narrative_cases(200))


def test_controls_have_words_that_are_no_names() -> None:
    controls = [case for case in word_cases() if not case.is_phi]
    assert len(controls) > 120
    assert {case.labels[2] for case in controls} == {"control"}


def test_wilson_interval_of_a_published_example() -> None:
    low, high = wilson(81, 263)  # Newcombe 1998, table I, method 3
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(10, 10)[1] == pytest.approx(1.0)


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (3, 2), (-1, 4)])
def test_a_share_of_nothing_has_no_interval(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        wilson(hits, n)


def test_a_name_is_masked_if_every_token_is(tmp_path) -> None:
    settings = MaskingSettings(rules_only=True, allow=("Zqwxa",), deny=("Zqwxb",))
    texts = ["zqwxa and zqwxb rested", "zqwxb rested", "zqwxa rested"]
    cases = [Case("narratives", ("full name",), text, 0, text.index(" rested")) for text in texts]
    figures = count(measure(build_deidentifier(settings), cases))
    tally = figures.tallies["narratives", ("full name",), True]
    assert tally == Tally(n=3, masked=1, n_tokens=5, masked_tokens=2)
    assert tally.leaks_per_thousand == pytest.approx(2000 / 3)
    assert figures.others["narratives"] == [3, 3]
    report = render_report(figures, [], "report_names.py", "none")
    assert "| full name | 3 | 33.3 | 6.1 to 79.2 | 40.0 | 667 |" in report
    assert "zqwxa" not in report
    write_csv(tmp_path / "names.csv", figures)
    lines = (tmp_path / "names.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1].startswith("narratives,full name,yes,3,1,0.3333,0.0615,0.7923,5,0.4000")
