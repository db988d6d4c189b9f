import contextlib
import io

from hypothesis import given, settings
from hypothesis import strategies as st
from icsr_messages import ALL_KEEP, invent
from icsr_trees import (
    REPLACEMENTS,
    canonical,
    changed_elements,
    mask_message,
    masked_file,
    only_case,
    read_cases,
    treating,
)
from lxml import etree

from inverse_deid.core.errors import InputError
from inverse_deid.formats.icsr.checks import Rule, check_case
from inverse_deid.formats.icsr.messages import BrokenCase
from inverse_deid.formats.icsr.rewriting import fit_text
from inverse_deid.formats.icsr.standard.dates import StampDate, parse_stamp, stamp_with
from inverse_deid.formats.icsr.standard.profiles import FieldAction, builtin_names, builtin_profile

DIALECTS = st.sampled_from(["r3", "r2"])
XML_TEXT = st.text(
    st.characters(
        min_codepoint=32,
        exclude_categories=["Cs"],
        exclude_characters="\ufffe\uffff",
        include_characters="\t\n",
    ),
    max_size=120,
)
NO_FILES = {"C.1.6.1.r.2": None, "C.4.r.2": None}
SLOW = settings(max_examples=25, deadline=None)


@SLOW
@given(DIALECTS, st.integers(0, 10_000), st.floats(0, 1), st.integers(0, 3))
def test_keeping_everything_gives_an_equal_file(dialect, seed, share, n_cases):
    data = invent(dialect, n_cases, seed=seed, share=share).data
    written, report = masked_file(data)
    assert canonical(written) == canonical(data)
    assert report.n_problems == 0


@SLOW
@given(DIALECTS, st.integers(0, 10_000), st.data())
def test_masked_texts_are_read_back_as_they_fit(dialect, seed, data):
    case = only_case(invent(dialect, seed=seed, share=0.4).data)
    texts = [data.draw(XML_TEXT) for _ in case.free_texts]
    expected = [fit_text(t, f.max_length, "PHI") for t, f in zip(texts, case.free_texts, strict=True)]
    node = case.rewrite(texts, ALL_KEEP).node
    again = only_case(etree.tostring(node))
    assert [text.text for text in again.free_texts] == expected


@SLOW
@given(DIALECTS, st.integers(0, 10_000), st.floats(0, 1), st.sampled_from(["eudravigilance", "fda"]))
def test_only_the_elements_of_the_profile_are_touched(dialect, seed, share, name):
    profile = builtin_profile(name)
    case = only_case(invent(dialect, seed=seed, share=share, given=NO_FILES).data)
    node = case.rewrite([text.text for text in case.free_texts], profile).node
    listed = {e for e, action in profile.actions.items() if action in (FieldAction.MASK, FieldAction.BLANK)}
    there = {value.element_id for value in case.values}
    assert changed_elements(case, node) == listed & there


@SLOW
@given(DIALECTS, st.integers(0, 10_000), st.floats(0, 1), st.sampled_from(builtin_names()))
def test_what_is_written_passes_the_rule_check_and_holds_no_removed_name(dialect, seed, share, name):
    profile = builtin_profile(name)
    case = only_case(invent(dialect, seed=seed, share=share, given={"C.2.r.1.4": "Zzyzxwood"}).data)
    texts = ["PHI" for _ in case.free_texts]
    rewritten = case.rewrite(texts, profile, REPLACEMENTS)
    assert check_case(case, rewritten.node, profile, rewritten.allowed) == ()
    assert (b"Zzyzxwood" in etree.tostring(rewritten.node)) == (name == "fda")


@SLOW
@given(
    st.integers(0, 10_000), st.sampled_from(["H.1", "H.2", "H.4", "D.7.2", "F.r.6", "C.4.r.1"]), st.booleans()
)
def test_a_planted_name_is_found(seed, element, is_upper):
    name = "Zzyzxwood"
    profile = builtin_profile("eudravigilance")
    case = only_case(invent("r3", seed=seed, given={"C.2.r.1.4": name}).data)
    planted = f"Dr. {name.upper() if is_upper else name}, again"
    texts = [planted if text.element == element else "PHI" for text in case.free_texts]
    rewritten = case.rewrite(texts, profile)
    findings = check_case(case, rewritten.node, profile, rewritten.allowed)
    assert {(finding.rule, finding.element) for finding in findings} == {(Rule.KNOWN_VALUE, element)}


@given(XML_TEXT, st.integers(1, 130), st.sampled_from(["PHI", "[NAME]", "***"]))
def test_a_fitted_text_is_short_enough_and_cuts_no_word(text, longest, marker):
    result = fit_text(text, longest, marker)
    assert 0 < len(result) <= longest
    assert fit_text(result, longest, marker) == result
    if text.strip() and len(text) <= longest:
        assert result == text
    if len(text) > longest and result != marker[:longest]:
        kept = result.removesuffix(marker).rstrip()
        assert text.startswith(kept)
        assert result.endswith(marker)
        assert text[len(kept) : len(kept) + 1].isspace() or kept + marker == result


@given(st.dates(), st.dates(), st.integers(1, 3), st.sampled_from(["", "1430", "143000-0500", "-0500"]))
def test_a_replaced_stamp_says_the_new_date_as_precisely_as_the_old(old, new, n_parts, rest):
    parts = (old.year, old.month, old.day)[:n_parts]
    stamp = StampDate(*parts).digits + (rest if n_parts == 3 else "")
    written = stamp_with(stamp, StampDate(new.year, new.month, new.day))
    assert parse_stamp(written) == StampDate(*(new.year, new.month, new.day)[:n_parts])
    assert len(written) == len(stamp)


@given(DIALECTS, st.integers(0, 10_000), st.data())
def test_damaged_bytes_end_in_a_typed_error_and_show_no_text(dialect, seed, data):
    canary = "Zzyzxwood"
    whole = invent(dialect, 2, seed=seed, share=0.2, given={"C.2.r.1.4": canary}).data
    position = data.draw(st.integers(0, len(whole) - 1))
    noise = data.draw(
        st.one_of(st.just(b""), st.binary(max_size=4), st.sampled_from([b"<", b"&x;", b"]]>", b"<!--"]))
    )
    cut = data.draw(st.sampled_from([0, 1, 7, len(whole)]))
    damaged = whole[:position] + noise + whole[position + cut :]
    said = ""
    try:
        for case in read_cases(io.BytesIO(damaged)):
            if isinstance(case, BrokenCase):
                said += case.reason
    except InputError as error:
        said += str(error)
    assert canary not in said


@given(DIALECTS, st.integers(0, 10_000), st.data())
def test_damaged_bytes_never_write_a_removed_name(dialect, seed, data):
    canary = "Zzyzxwood"
    whole = invent(dialect, 2, seed=seed, share=0.3, given={"C.2.r.1.4": canary}).data
    start = whole.index(canary.encode())
    position = data.draw(st.integers(start - 200, start + 200))
    noise = data.draw(st.sampled_from([b"", b"a", b" ", b"</family>", b"<x/>", b'" x="', b"<given>"]))
    damaged = whole[:position] + noise + whole[position + data.draw(st.integers(0, 3)) :]
    target = io.BytesIO()
    with contextlib.suppress(InputError):
        mask_message(
            (io.BytesIO(damaged), target),
            treating(lambda case: ["PHI" for _ in case.free_texts]),
            builtin_profile("public"),
        )
    if canary.encode() in damaged:
        assert canary.encode() not in target.getvalue()
