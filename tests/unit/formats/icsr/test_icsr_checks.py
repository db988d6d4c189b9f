import json

import pytest
from icsr_messages import ALL_KEEP, invent
from icsr_trees import (
    REPLACEMENTS,
    keep_texts,
    mark_texts,
    mask_message,
    masked_file,
    only_case,
    treating,
)
from lxml import etree

from inverse_deid.core.errors import StageError
from inverse_deid.formats.icsr.checks import Finding, Rule, check_case
from inverse_deid.formats.icsr.standard.elements import elements
from inverse_deid.formats.icsr.standard.profiles import builtin_names, builtin_profile, profile_from

DIALECTS = ["r3", "r2"]
PUBLIC = builtin_profile("public")


def case_and_output(dialect="r3", profile=PUBLIC, mask=mark_texts, **given):
    case = only_case(invent(dialect, given=given).data)
    return case, case.rewrite(mask(case), profile, REPLACEMENTS).node


def place(node: etree._Element, element: str, dialect: str = "r3") -> etree._Element:
    return elements()[element].places[dialect].nodes(node)[0]


class Anything:
    """Every string was let out: for tests of the other rules."""

    def __contains__(self, text: object) -> bool:
        return True


ANYTHING = Anything()


def found(case, node, profile=PUBLIC) -> set[tuple[Rule, str]]:
    return {(finding.rule, finding.element) for finding in check_case(case, node, profile, ANYTHING)}


def unexpected(case, rewritten, profile=PUBLIC) -> set[tuple[Rule, str]]:
    findings = check_case(case, rewritten.node, profile, rewritten.allowed)
    return {(finding.rule, finding.path) for finding in findings}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_passes(dialect, name, seed):
    case = only_case(invent(dialect, seed=seed, share=0.7).data)
    profile = builtin_profile(name)
    rewritten = case.rewrite(mark_texts(case), profile, REPLACEMENTS)
    assert unexpected(case, rewritten, profile) == set()


def test_what_is_kept_passes():
    case = only_case(invent("r3").data)
    assert unexpected(case, case.rewrite(keep_texts(case), ALL_KEEP), ALL_KEEP) == set()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("turn", "name"), list(enumerate(builtin_names())))
def test_a_string_that_nobody_let_out_is_found_wherever_it_stands(dialect, turn, name):
    case, profile = only_case(invent(dialect, share=0.5).data), builtin_profile(name)
    rewritten = case.rewrite(mark_texts(case), profile, REPLACEMENTS)
    places = list(rewritten.node.iter())[1 + turn :: 3 * len(builtin_names())]
    assert places
    for node in places:
        path = "".join(f"/{n.tag}" for n in [*node.iterancestors(), node])
        node.tail, tail = "then dizzy", node.tail
        assert Rule.UNEXPECTED in {rule for rule, _ in unexpected(case, rewritten, profile)}, path
        node.tail = tail
        node.text, text = "then dizzy", node.text
        assert Rule.UNEXPECTED in {rule for rule, _ in unexpected(case, rewritten, profile)}, path
        node.text = text
    assert unexpected(case, rewritten, profile) == set()


@pytest.mark.parametrize("stray", [etree.Comment("Quispe"), etree.ProcessingInstruction("Quispe", "x")])
def test_a_comment_or_instruction_is_found(stray):
    case, node = case_and_output()
    node[3].append(stray)
    assert found(case, node) == {(Rule.NOT_READABLE, "")}


@pytest.mark.parametrize(
    "change",
    [
        lambda node: etree.SubElement(node, "{urn:hl7-org:v3}okonkwo"),
        lambda node: etree.SubElement(node, "observation"),
        lambda node: node.set("okonkwo", "true"),
        lambda node: node.set("{urn:hl7-org:v3}code", "1"),
        lambda node: node.append(
            etree.fromstring('<id xmlns="urn:hl7-org:v3" xmlns:quispe="urn:hl7-org:sdtc"/>')
        ),
        lambda node: node.append(etree.fromstring('<id xmlns="urn:hl7-org:v3" xmlns:x="urn:quispe"/>')),
    ],
)
def test_a_name_that_the_standard_does_not_know_is_found(change):
    case, node = case_and_output()
    change(node)
    assert found(case, node) == {(Rule.UNKNOWN_NAME, "")}


@pytest.mark.parametrize(
    "inject",
    [
        lambda name: setattr(name, "text", "Quispe"),
        lambda name: etree.SubElement(name, "{urn:hl7-org:v3}given"),
        lambda name: name.set("value", "Quispe"),
        lambda name: name.set("extension", "77"),
    ],
)
def test_a_masked_element_with_a_value_left_is_found(inject):
    case, node = case_and_output()
    inject(place(node, "D.1"))
    assert (Rule.VALUE_LEFT, "D.1") in found(case, node)


@pytest.mark.parametrize(("element", "dialect"), [("D.1", "r3"), ("C.2.r.1.4", "r2")])
def test_an_element_that_was_not_masked_is_found(element, dialect):
    case, node = case_and_output(dialect)
    name = place(node, element, dialect)
    name.attrib.pop("nullFlavor", "")
    name.text = "Quispe"
    assert (Rule.VALUE_LEFT, element) in found(case, node)


@pytest.mark.parametrize("element", ["C.3.3.5", "C.3.4.2"])
def test_a_blank_element_with_a_value_is_found(element):
    case, node = case_and_output()
    place(node, element).text = "Torrhaven"
    assert (Rule.VALUE_LEFT, element) in found(case, node)


def test_an_id_that_was_not_replaced_is_found():
    case, node = case_and_output()
    place(node, "C.1.1").set("extension", case.case_id)
    assert (Rule.VALUE_LEFT, "C.1.1") in found(case, node)


@pytest.mark.parametrize("element", ["H.2", "C.1.1", "C.3.3.5", "G.k.2.2", "F.r.6", "E.i.1.1a", "C.4.r.1"])
def test_a_mask_where_it_is_not_allowed_is_found(element):
    case, node = case_and_output()
    masked = place(node, element)
    masked.text = None
    masked.set("nullFlavor", "MSK")
    assert (Rule.MASK_NOT_ALLOWED, element) in found(case, node)


def test_a_mask_where_nothing_is_known_is_found():
    case, node = case_and_output()
    etree.SubElement(node, "{urn:hl7-org:v3}unknown").set("nullFlavor", "MSK")
    assert (Rule.MASK_NOT_ALLOWED, "") in found(case, node)


def test_a_mask_that_was_there_before_is_not_ours():
    data = invent("r3", given={"C.3.3.5": "Quispe"}).data
    case = only_case(data.replace(b"<family>Quispe</family>", b'<family nullFlavor="MSK"/>'))
    assert found(case, case.rewrite(mark_texts(case), ALL_KEEP).node, ALL_KEEP) == set()


def test_a_masked_free_text_that_still_holds_words_is_found():
    data = invent("r3").data.replace(b"<text>", b'<text nullFlavor="MSK">', 1)
    case = only_case(data)
    findings = found(case, case.rewrite(mark_texts(case), ALL_KEEP).node, ALL_KEEP)
    assert findings == {(Rule.VALUE_LEFT, "H.1"), (Rule.NO_NARRATIVE, "H.1")}


def test_privacy_where_it_is_not_allowed_is_found():
    case, node = case_and_output("r2")
    place(node, "G.k.2.2", "r2").text = "PRIVACY"
    assert (Rule.MASK_NOT_ALLOWED, "G.k.2.2") in found(case, node)


def remove(narrative):
    narrative.getparent().remove(narrative)


def empty(narrative):
    narrative.text = " \n"


def mask(narrative):
    narrative.text = None
    narrative.set("nullFlavor", "MSK")


@pytest.mark.parametrize("inject", [remove, empty, mask])
def test_a_narrative_that_is_missing_empty_or_masked_is_found(inject):
    case, node = case_and_output()
    inject(place(node, "H.1"))
    assert (Rule.NO_NARRATIVE, "H.1") in found(case, node)


@pytest.mark.parametrize("inject", [remove, empty])
def test_an_r2_narrative_that_was_lost_is_found(inject):
    case, node = case_and_output("r2")
    inject(place(node, "H.1", "r2"))
    assert (Rule.NO_NARRATIVE, "H.1") in found(case, node)


def test_an_r2_case_without_a_narrative_may_stay_without():
    case, node = case_and_output("r2", **{"H.1": None})
    assert found(case, node) == set()


@pytest.mark.parametrize(
    ("element", "length"), [("H.1", 100_001), ("D.7.2", 10_001), ("E.i.1.1a", 251), ("G.k.4.r.9.1", 61)]
)
def test_a_text_over_its_maximal_length_is_found(element, length):
    case, node = case_and_output()
    place(node, element).text = "x" * (length - 1)
    assert found(case, node) == set()
    place(node, element).text = "x" * length
    assert (Rule.TOO_LONG, element) in found(case, node)


def test_an_r2_text_over_its_maximal_length_is_found():
    case, node = case_and_output("r2")
    place(node, "H.2", "r2").text = "x" * 501
    assert (Rule.TOO_LONG, "H.2") in found(case, node)


def test_an_id_that_became_too_long_is_found():
    case, node = case_and_output()
    place(node, "C.1.1").set("extension", "x" * 101)
    assert (Rule.TOO_LONG, "C.1.1") in found(case, node)


@pytest.mark.parametrize("element", ["H.1", "H.2", "H.4", "D.7.2", "F.r.6", "C.4.r.1", "G.k.11"])
@pytest.mark.parametrize("spelling", ["Featherstone", "FEATHERSTONE", "featherstone's"])
def test_a_known_value_in_a_free_text_is_found(element, spelling):
    case, node = case_and_output(**{"C.2.r.1.4": "Featherstone"})
    place(node, element).text = f"seen by {spelling}"
    assert found(case, node) == {(Rule.KNOWN_VALUE, element)}


def test_a_known_value_in_an_unnamed_text_or_attribute_or_code_is_found():
    case, node = case_and_output(**{"C.2.r.1.4": "Featherstone"})
    note = etree.SubElement(node, "{urn:hl7-org:v3}note")
    for attribute in ("value", "code", "displayName", "unit"):
        note.attrib.clear()
        note.set(attribute, "Featherstone")
        assert found(case, node) == {(Rule.KNOWN_VALUE, ""), (Rule.UNKNOWN_NAME, "")}, attribute


@pytest.mark.parametrize(
    "xml", ["<Featherstone/>", '<note xmlns:Featherstone="urn:x"/>', '<note xmlns:x="urn:Featherstone"/>']
)
def test_a_known_name_in_a_tag_or_namespace_is_found(xml):
    case, node = case_and_output(**{"C.2.r.1.4": "Featherstone"})
    node.append(etree.fromstring(xml))
    assert found(case, node) == {(Rule.KNOWN_VALUE, ""), (Rule.UNKNOWN_NAME, "")}


def test_the_birth_date_in_a_free_text_is_found():
    case, node = case_and_output(**{"D.2.1": "19610302"})
    place(node, "H.1").text = "born 19610302"
    assert found(case, node) == {(Rule.KNOWN_VALUE, "H.1")}


def test_a_known_value_that_the_profile_keeps_may_stay():
    profile = builtin_profile("eudravigilance")
    case, node = case_and_output(
        profile=profile, **{"D.1": "Quispe", "C.2.r.2.1": "Halden", "C.3.2": "Halden"}
    )
    place(node, "H.1").text = "Quispe came"
    assert found(case, node, profile) == set()
    place(node, "H.1").text = "Halden called"
    assert found(case, node, profile) == {(Rule.KNOWN_VALUE, "H.1")}


def test_a_short_known_value_is_not_looked_for():
    case, node = case_and_output(**{"C.2.r.1.4": "Rey"})
    place(node, "H.1").text = "Rey came"
    assert found(case, node) == set()


def test_an_embedded_file_that_is_left_is_found():
    case = only_case(invent("r3").data)
    kept = profile_from("mine", {"base": "public", "attachments": "keep"})
    node = case.rewrite(mark_texts(case), kept, REPLACEMENTS).node
    assert {rule for rule, _ in found(case, node)} == {Rule.ATTACHMENT_LEFT}


def test_a_case_that_holds_an_entity_is_found():
    case, node = case_and_output()
    node.append(etree.Entity("x"))
    assert check_case(case, node, PUBLIC, ANYTHING) == (Finding(Rule.NOT_READABLE, "", ""),)


def test_findings_show_no_value():
    case, node = case_and_output(**{"C.2.r.1.4": "Featherstone"})
    place(node, "H.1").text = "Featherstone " * 10_000
    place(node, "D.1").text = "Featherstone"
    said = repr(check_case(case, node, PUBLIC, ANYTHING))
    assert "Featherstone" not in said
    assert "investigationEvent/text" in said


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_case_that_is_refused_is_not_written_and_is_listed(dialect):
    data = invent(dialect, 3, given={"C.2.r.1.4": "Featherstone"}).data

    def forgets_the_second(case):
        return ["Featherstone" if case.number == 2 else "PHI" for _ in case.free_texts]

    written, report = masked_file(data, PUBLIC, forgets_the_second)
    assert b"Featherstone" not in written
    assert (report.n_cases, report.n_problems) == (2, 1)
    (problem,) = report.problems
    assert problem.number == 2
    assert {finding.rule for finding in problem.findings} == {Rule.KNOWN_VALUE}
    assert "Featherstone" not in repr(report)


def test_a_case_whose_texts_do_not_fit_is_not_written_and_is_listed():
    _, report = masked_file(invent("r3", 2).data, mask=lambda case: [])
    assert (report.n_cases, report.n_problems) == (0, 2)


def test_what_stands_around_the_cases_is_refused_as_a_whole():
    import io

    streams = (io.BytesIO(invent("r3").data), io.BytesIO())
    with pytest.raises(StageError, match="around the cases"):
        mask_message(streams, treating(lambda case: ["x"]), PUBLIC)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_report_counts_what_was_done_by_element_and_place(dialect):
    message = invent(dialect, 4)
    report = masked_file(message.data, builtin_profile("eudravigilance"), mark_texts)[1].as_json()
    assert (report["n_cases"], report["profile"]) == (4, "eudravigilance")
    rows = {(row["element"], row["done"]): row for row in report["elements"] if row["element"]}
    assert rows["C.2.r.1.4", "masked"]["n"] == 4
    assert rows["H.1", "went through the masker"]["name"] == "Case narrative"
    assert rows["C.3.4.1", "blanked"]["n"] == 4
    assert rows["D.2.1", "kept"]["n"] == 4
    assert "[" not in rows["H.1", "went through the masker"]["path"]
    said = json.dumps(report)
    for case in message.cases:
        values = [value for group in case.values() for value in group if len(value) > 4]
        assert all(value not in said for value in values)
