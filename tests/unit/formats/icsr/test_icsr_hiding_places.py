"""Places of a message in which something identifying could leave, or that could cost a case for nothing."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from icsr_messages import ALL_KEEP, invent
from icsr_trees import (
    REPLACEMENTS,
    TreatedCase,
    cases_of,
    keep_texts,
    mark_texts,
    mask_message,
    masked_file,
    only_case,
)

from inverse_deid.formats.icsr.rewriting import tells_time
from inverse_deid.formats.icsr.standard.profiles import builtin_profile

THIRD_PARTY = builtin_profile("third-party")
SURNAME = {"C.2.r.1.4": "Okonkwo"}


def r3(given: dict[str, str | None] | None = None) -> bytes:
    return invent("r3", given=given).data


@pytest.mark.parametrize(
    "inside",
    [
        "Seen by Ok<b/>onkwo.",
        "Seen by <b>Ok</b>onkwo.",
        "<b>Seen by Ok</b><b>onkwo.</b>",
        "Seen by Ok<b>o</b>nkwo.",
    ],
)
def test_a_name_across_the_borders_of_elements_is_one_text(inside):
    data = r3({"H.1": "NARRATIVE", **SURNAME}).replace(b"NARRATIVE", inside.encode())
    assert "Seen by Okonkwo." in [text.text for text in only_case(data).free_texts]
    out, report = masked_file(data, THIRD_PARTY, keep_texts)
    assert report.n_cases == 0
    out, report = masked_file(data, THIRD_PARTY, mark_texts)
    assert report.n_cases == 1
    assert b"onkwo" not in out


def test_a_name_across_borders_where_no_element_is_known_is_one_text():
    data = r3(SURNAME).replace(b"<statusCode", b"<odd>by Ok<b>onkwo</b></odd><statusCode")
    assert "by Okonkwo" in [text.text for text in only_case(data).free_texts]


def test_stray_words_beside_known_fields_do_not_swallow_them():
    data = r3(SURNAME).replace(b"<family>Okonkwo", b"stray<family>Okonkwo")
    assert "Okonkwo" in [value.value for value in only_case(data).known_values]


@pytest.mark.parametrize("name", ["Holder", "Component", "Part", "Case", "Text", "Organizer", "Inst"])
def test_a_person_may_have_the_name_of_an_element_or_class(name):
    _, report = masked_file(r3({"C.2.r.1.4": name}), THIRD_PARTY, mark_texts)
    assert [problem.reason for problem in report.problems] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'nullFlavor="NI"', b'nullFlavor="OKONK"'),
        (b'unit="mg"', b'unit="Mbekison"'),
        (b'code="10027940"', b'code="Seen.by.Dr-Mbeki"'),
    ],
)
def test_words_in_the_place_of_structure_are_free_text(old, new):
    data = r3()
    assert old in data
    word = new.split(b'"')[1].decode()
    assert word in [text.text for text in only_case(data.replace(old, new, 1)).free_texts]


@pytest.mark.parametrize(
    "attribute",
    [
        'classCode="OKONKWO"',
        'moodCode="Okonkwo"',
        'qualifier="okonkwo"',
        'mediaType="x/okonkwo"',
        'use="H okonkwo"',
    ],
)
def test_a_known_name_in_any_attribute_of_an_unknown_element_goes_with_it(attribute):
    data = r3(SURNAME).replace(b"<statusCode", f"<odd {attribute}/><statusCode".encode(), 1)
    for profile, n_cases in ((THIRD_PARTY, 1), (builtin_profile("fda"), 0)):
        out, report = masked_file(data, profile, mark_texts)
        assert report.n_cases == n_cases
        assert b"<odd" not in out
        assert b"konkwo" not in out.lower()


def test_words_beside_codes_do_not_leave_for_third_parties():
    data = r3().replace(b'displayName="reaction"', b'displayName="rash, seen by Dr Mbeki"')
    assert b"Mbeki" not in masked_file(data, THIRD_PARTY, keep_texts)[0]


@pytest.mark.parametrize("path", ["file:///home/okonkwo/a.xsd", "C:/okonkwo/a.xsd", "/Users/okonkwo/a.xsd"])
def test_the_path_of_a_person_is_no_schema_location(path):
    data, n = re.subn(rb'(schemaLocation="[^ "]+ )[^"]*', rb"\1" + path.encode(), r3())
    assert n == 1
    out, report = masked_file(data, THIRD_PARTY, mark_texts)
    assert report.n_cases == 1
    assert b"okonkwo" not in out


def test_an_unknown_namespace_is_not_declared_around_the_cases():
    data = r3().replace(b"<MCCI_IN200100UV01", b'<MCCI_IN200100UV01 xmlns:p="urn:okonkwo:1"', 1)
    out, report = masked_file(data, THIRD_PARTY, mark_texts)
    assert report.n_cases == 1
    assert b"okonkwo" not in out


@pytest.mark.parametrize("telling", ["c232ab00-9414-11ec-b3c8-9f6bdeced846", "1.2.40.20200304.7"])
def test_identifiers_that_tell_a_time_are_numbered_and_still_agree(telling):
    assert tells_time(telling)
    data = r3()
    old = next(root for root in re.findall(rb'root="([0-9a-f-]{36})"', data) if data.count(root) > 1)
    data = data.replace(old, telling.encode())
    n_before = data.count(telling.encode())
    out, report = masked_file(data, THIRD_PARTY, mark_texts)
    assert report.n_cases == 1
    assert telling.encode() not in out
    assert out.count(b"00000000-0000-4000-8000-000000000001") == n_before
    is_of_a_standard = "-" in telling  # an object identifier of nobody's standard never stays
    assert (telling.encode() in masked_file(data, ALL_KEEP)[0]) == is_of_a_standard


def test_an_error_of_any_kind_costs_the_case_and_shows_nothing():
    def fails(date):
        raise KeyError("Okonkwo")

    def treat(cases):
        broken = replace(REPLACEMENTS, date_value=fails)
        return [TreatedCase(mark_texts(c), broken if c.number == 2 else REPLACEMENTS) for c in cases]

    target = io.BytesIO()
    report = mask_message((io.BytesIO(invent("r3", 3).data), target), treat, THIRD_PARTY)
    assert (report.n_cases, report.n_problems) == (2, 1)
    assert "KeyError" in report.problems[0].reason
    assert "Okonkwo" not in repr(report)
    assert len(cases_of(target.getvalue())) == 2


@pytest.mark.parametrize("dialect", ["r3", "r2"])
@pytest.mark.parametrize("element", ["D.2.1", "C.1.4", "F.r.1", "E.i.4"])
def test_words_in_a_date_field_do_not_leave_though_the_profile_keeps_it(dialect, element):
    data = invent(dialect, given={element: "20100304"}).data.replace(b"20100304", b"in May, Mbeki")
    out, report = masked_file(data, builtin_profile("eudravigilance"), mark_texts)
    assert report.n_cases == 1
    assert b"Mbeki" not in out


@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_a_kept_report_id_that_holds_a_day_is_a_pseudonym_where_dates_change(dialect):
    given = {"C.1.1": "SE-ACME-20200304", "C.1.8.1": "SE-ACME-4711", "N.1.2": "B_2020-03-04"}
    data = invent(dialect, given=given).data
    profile = builtin_profile("eudravigilance")
    kept, _ = masked_file(data, profile, mark_texts)
    assert all(value.encode() in kept for value in given.values())
    moved, report = masked_file(data, profile.with_dates(), mark_texts)
    assert report.n_cases == 1
    assert [value.encode() in moved for value in given.values()] == [False, True, False]


@pytest.mark.parametrize("profile", ["eudravigilance", "third-party"])
@pytest.mark.parametrize("label", ["Okon-1961", "1.2.276.0.5550147"])
def test_a_link_of_no_standard_becomes_a_number_and_still_agrees(label, profile):
    data = r3()
    old = next(root for root in re.findall(rb'root="([0-9a-f-]{36})"', data) if data.count(root) > 1)
    n_before = data.count(old)
    out, report = masked_file(data.replace(old, label.encode()), builtin_profile(profile), mark_texts)
    assert report.n_cases == 1
    assert label.encode() not in out
    assert out.count(b"00000000-0000-4000-8000-000000000001") == n_before


WORDS_BEHIND = " Mr Okonkwo, tel. 5550147823 "


@pytest.mark.parametrize("profile", ["eudravigilance", "fda", "third-party", "public"])
@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_words_behind_what_is_left_out_do_not_move_and_the_report_says_so(dialect, profile):
    tag = "patientonsetage" if dialect == "r2" else "document"
    data = invent(dialect).data.replace(f"</{tag}>".encode(), f"</{tag}>{WORDS_BEHIND}".encode())
    out, report = masked_file(data, builtin_profile(profile), mark_texts)
    assert report.n_cases == 1
    assert b"Okonkwo" not in out
    rows = [(path, done) for _, path, done in report.done if path.endswith("tail()")]
    is_left = dialect == "r3" or profile in ("eudravigilance", "fda")
    assert {done for _, done in rows} == {"went through the masker" if is_left else "left out"}


def test_words_behind_a_file_that_is_left_out_go_with_it():
    data = r3().replace(b"</text><bib", f"</text>{WORDS_BEHIND}<bib".encode())
    assert WORDS_BEHIND.encode() in data
    out, report = masked_file(data, THIRD_PARTY, mark_texts)
    assert (report.n_cases, b"Okonkwo" in out) == (1, False)
    assert [done for _, path, done in report.done if path.endswith("tail()")] == ["left out"]
