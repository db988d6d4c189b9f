import pytest
from icsr_messages import ALL_KEEP, R2_DOCTYPE, invent
from icsr_trees import (
    a_year_later,
    canonical,
    changed_elements,
    keep_texts,
    mark_texts,
    masked_file,
    only_case,
    pseudonym,
)
from lxml import etree

from inverse_deid.core.errors import ConfigurationError, StageError
from inverse_deid.formats.icsr.known import KnownValue, KnownValueFinder, find_known_value
from inverse_deid.formats.icsr.rewriting import Done, Replacements, fit_text
from inverse_deid.formats.icsr.standard.elements import NAMESPACES, ElementKind, elements, elements_in
from inverse_deid.formats.icsr.standard.profiles import (
    FieldAction,
    builtin_names,
    builtin_profile,
    profile_from,
)
from inverse_deid.formats.icsr.survey import Sort

DIALECTS = ["r3", "r2"]
NO_FILES = {"C.1.6.1.r.2": None, "C.4.r.2": None}


def rewritten(case, profile=ALL_KEEP, texts=None, dates=a_year_later):
    return case.rewrite(keep_texts(case) if texts is None else texts, profile, Replacements(pseudonym, dates))


def kept_but(**lists):
    return profile_from(
        "mine", {"otherwise": "keep", "other_dates": "keep", "display_names": "keep", **lists}
    )


def at(case, element: str, node: etree._Element) -> list[str | None]:
    """The values of an element in a rewritten case."""
    place = elements()[element].places[case.dialect.name]
    return [n.get(place.attribute) if place.attribute else n.text for n in place.nodes(node)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_keeping_everything_gives_an_equal_file(dialect, share):
    data = invent(dialect, 3, share=share).data
    written, report = masked_file(data)
    assert canonical(written) == canonical(data)
    assert (report.n_cases, report.n_problems) == (3, 0)


def test_a_case_is_written_with_the_prefixes_that_it_had():
    written = masked_file(invent("r3", 2).data, builtin_profile("eudravigilance"), mark_texts)[0]
    assert written.count(b"\n<PORR_IN049016UV><id ") == 2
    assert written.count(b"xmlns=") == 1


def test_keeping_everything_keeps_the_document_type():
    data = f"{R2_DOCTYPE}\n{invent('r2').xml}".encode()
    assert masked_file(data)[0].startswith(R2_DOCTYPE.encode())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_masking_the_texts_changes_the_free_texts_only(dialect):
    case = only_case(invent(dialect).data)
    node = rewritten(case, texts=mark_texts(case)).node
    free = {e.id for e in elements_in(dialect, batch=False) if e.kind == ElementKind.FREE_TEXT}
    assert changed_elements(case, node) == free
    assert {at(case, element, node)[0] for element in free} == {"PHI"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_case_that_was_read_stays_as_it_was(dialect):
    case = only_case(invent(dialect).data)
    before = etree.tostring(case.node)
    rewritten(case, builtin_profile("public"), mark_texts(case))
    assert etree.tostring(case.node) == before


@pytest.mark.parametrize("dialect", DIALECTS)
def test_eudravigilance_touches_its_thirteen_and_eleven_elements_only(dialect):
    case = only_case(invent(dialect, given=NO_FILES).data)
    profile = builtin_profile("eudravigilance")
    there = {e.id for e in elements_in(dialect, batch=False)}
    listed = {e for e, action in profile.actions.items() if action in (FieldAction.MASK, FieldAction.BLANK)}
    assert len(listed) == 24
    assert changed_elements(case, rewritten(case, profile).node) == listed & there
    assert len(listed & there) == (24 if dialect == "r3" else 23)  # R2 has no reporter's telephone


def test_a_masked_r3_element_is_empty_and_says_so():
    case = only_case(invent("r3").data)
    node = rewritten(case, builtin_profile("public")).node
    shown = {
        "C.2.r.1.4": '<family nullFlavor="MSK"/>',
        "D.1": '<name nullFlavor="MSK"/>',
        "D.2.1": '<birthTime nullFlavor="MSK"/>',
        "D.1.1.1": '<id root="2.16.840.1.113883.3.989.2.1.3.7" nullFlavor="MSK"/>',
        "C.2.r.2.7": '<telecom nullFlavor="MSK"/>',
        "C.2.r.3": '<code codeSystem="1.0.3166.1.2.2" nullFlavor="MSK"/>',
    }
    for element, xml in shown.items():
        (found,) = elements()[element].places["r3"].nodes(node)
        attributes = "".join(f' {name}="{value}"' for name, value in found.attrib.items())
        assert f"<{etree.QName(found).localname}{attributes}/>" == xml
        assert (found.text, len(found)) == (None, 0)


def test_a_masked_r3_name_with_parts_loses_them():
    data = invent("r3", given={"D.1": "X"}).data
    data = data.replace(b"<name>X</name>", b"<name><given>Amara</given> <family>Quispe</family></name>")
    case = only_case(data)
    node = rewritten(case, kept_but(mask=["D.1"])).node
    assert [len(n) for n in elements()["D.1"].places["r3"].nodes(node)] == [0]


def test_a_masked_r2_element_says_privacy_and_what_has_no_room_for_it_goes():
    case = only_case(invent("r2").data)
    node = rewritten(case, builtin_profile("public")).node
    assert at(case, "C.2.r.1.4", node) == ["PRIVACY"]
    assert at(case, "C.2.r.3", node) == []
    assert at(case, "D.2.1", node) == []
    assert node.find("patient/patientbirthdateformat") is None
    assert node.find("patient/patientonsetage") is None
    assert node.find("patient/patientonsetageunit") is None


def test_a_value_beside_a_mask_that_was_there_goes_whatever_the_profile():
    data = invent("r3", given={"D.1": "Quispe"}).data.replace(
        b"<name>Quispe", b'<name nullFlavor="MSK">Quispe'
    )
    case = only_case(data)
    result = rewritten(case)
    (name,) = elements()["D.1"].places["r3"].nodes(result.node)
    assert (name.text, dict(name.attrib)) == (None, {"nullFlavor": "MSK"})
    assert Done.MASKED in {change.done for change in result.changes}


def test_a_blank_element_stays_and_is_empty():
    r3, r2 = (only_case(invent(dialect).data) for dialect in DIALECTS)
    profile = kept_but(blank=["C.3.3.5", "C.3.4.5", "C.3.4.6"])
    node = rewritten(r3, profile).node
    assert at(r3, "C.3.3.5", node) == [None]
    assert at(r3, "C.3.4.5", node) == [None]
    assert at(r3, "C.3.4.6", node)[0] is None
    assert at(r2, "C.3.3.5", rewritten(r2, profile).node) == [None]


@pytest.mark.parametrize(
    ("element", "gone", "n_gone"),
    [
        ("C.3.4.8", "h:telecom[starts-with(@value, 'mailto:')]", 1),
        ("C.3.4.5", "h:asLocatedEntity", 3),
        ("C.5.1.r.1", "h:authorization[.//h:id[@root='2.16.840.1.113883.3.989.2.1.3.6']]", 3),
        ("C.1.10.r", "h:relatedInvestigation[h:code/@nullFlavor]", 6),
        ("G.k.4.r.7", "h:lotNumberText", 1),
        ("D.1.1.2", "h:asIdentifiedEntity[h:code/@code='2']", 3),
    ],
)
def test_an_element_that_is_left_out_takes_along_what_belongs_to_it(element, gone, n_gone):
    missing = dict.fromkeys(("C.2.r.3", "FDA.C.2.r.2.8", "FDA.G.k.12.r.9"))
    case = only_case(invent("r3", given={**missing, **NO_FILES}).data)
    assert case.node.xpath(f".//{gone}", namespaces=NAMESPACES)
    node = rewritten(case, kept_but(drop=[element])).node
    assert not node.xpath(f".//{gone}", namespaces=NAMESPACES)
    assert len(list(case.node.iter())) - len(list(node.iter())) == n_gone


def test_an_unknown_attribute_goes_with_the_masked_value():
    data = invent("r3", given={"C.2.r.1.4": "Quispe"}).data
    data = data.replace(b"<family>", b'<family note="Quispe">', 1)
    written, report = masked_file(data, builtin_profile("third-party"), mark_texts)
    assert report.n_problems == 0
    assert b"note=" not in written


def test_the_source_of_a_case_identifier_is_left_out_without_the_identifier():
    case = only_case(invent("r3").data)
    node = rewritten(case, kept_but(drop=["C.1.9.1.r.1"])).node
    assert at(case, "C.1.9.1.r.1", node) == [None]
    assert at(case, "C.1.9.1.r.2", node) == at(case, "C.1.9.1.r.2", case.node)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ids_become_the_pseudonyms_that_are_given(dialect):
    case = only_case(invent(dialect, given={"C.1.1": "SE-HALDEN-7"}).data)
    asked = []

    def name(element, value):
        asked.append((element, value))
        return "ps-1"

    node = case.rewrite(keep_texts(case), kept_but(pseudonym=["C.1.1"]), Replacements(name)).node
    assert asked == [("C.1.1", "SE-HALDEN-7")]
    assert at(case, "C.1.1", node) == ["ps-1"]


@pytest.mark.parametrize(
    ("element", "before", "after", "r2_format"),
    [
        ("D.6", "20200105", "20210105", "102"),
        ("E.i.4", "202001", "202101", "610"),
        ("G.k.4.r.4", "2020", "2021", "602"),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_date_is_replaced_as_precisely_as_it_was(dialect, element, before, after, r2_format):
    case = only_case(invent(dialect, given={element: before}).data)
    node = rewritten(case, kept_but(date=[element])).node
    assert at(case, element, node) == [after]
    if dialect == "r2":
        (written,) = elements()[element].places["r2"].nodes(node)
        assert written.getprevious().text == r2_format


def test_the_time_of_day_stays_with_its_date():
    case = only_case(invent("r3", given={"G.k.4.r.4": "20200105143000-0500"}).data)
    node = rewritten(case, kept_but(date=["G.k.4.r.4"])).node
    assert at(case, "G.k.4.r.4", node) == ["20210105143000-0500"]


def test_a_less_precise_date_changes_the_format_of_r2():
    from inverse_deid.formats.icsr.standard.dates import StampDate

    case = only_case(invent("r2", given={"E.i.4": "20200105"}).data)
    node = rewritten(case, kept_but(date=["E.i.4"]), dates=lambda date: StampDate(2020)).node
    assert node.find("patient/reaction/reactionstartdate").text == "2020"
    assert node.find("patient/reaction/reactionstartdateformat").text == "602"


@pytest.mark.parametrize("value", ["20200105", "20201340", "soon"])
def test_a_date_that_cannot_be_replaced_is_masked_left_out_or_cut_to_its_year(value):
    given = dict.fromkeys(("E.i.4", "F.r.1", "C.1.4"), value)
    profile = kept_but(date=["E.i.4", "F.r.1", "C.1.4"])
    r3, r2 = (only_case(invent(dialect, given=given).data) for dialect in DIALECTS)
    node = rewritten(r3, profile, dates=lambda date: None).node
    year = "2020" if value == "20200105" else None
    assert [n.attrib for n in elements()["E.i.4"].places["r3"].nodes(node)] == [{"nullFlavor": "MSK"}]
    assert [n.attrib for n in elements()["F.r.1"].places["r3"].nodes(node)] == [{"nullFlavor": "UNK"}]
    assert at(r3, "C.1.4", node) == [year]
    if value != "soon":
        node = rewritten(r2, profile, dates=lambda date: None).node
        assert (at(r2, "E.i.4", node), at(r2, "F.r.1", node), at(r2, "C.1.4", node)) == ([], [], [year])
        assert node.find("patient/reaction/reactionstartdateformat") is None


def test_the_date_function_is_not_asked_about_what_is_no_date():
    asked = []
    case = only_case(invent("r3", given={"E.i.4": "20201340", "E.i.5": "20200105"}).data)
    profile = kept_but(date=["E.i.4", "E.i.5"])
    case.rewrite(keep_texts(case), profile, Replacements(None, lambda date: asked.append(date.value)))
    assert asked == ["20200105"]


def test_a_date_where_the_table_names_none_is_treated_as_the_profile_says():
    data = invent("r3").data.replace(
        b"<statusCode", b'<activityTime xsi:type="TS" value="20200105"/><statusCode'
    )
    case = only_case(data)
    (value,) = [v for v in case.values if v.sort == Sort.DATE and v.element is None]
    assert value.path.endswith("investigationEvent/*/@value")
    xpath = ".//h:activityTime/@value"
    for setting, shown in {"keep": ["20200105"], "date": ["20210105"], "drop": []}.items():
        node = rewritten(case, kept_but(other_dates=setting)).node
        assert node.xpath(xpath, namespaces=NAMESPACES) == shown


@pytest.mark.parametrize("setting", ["drop", "keep"])
def test_embedded_files_are_left_out_unless_the_profile_keeps_them(setting):
    case = only_case(invent("r3").data)
    result = rewritten(case, kept_but(attachments=setting))
    is_there = b"SmFuZSBEb2U=" in etree.tostring(result.node)
    assert is_there == (setting == "keep")
    assert (b"scan.pdf" in etree.tostring(result.node)) == (setting == "keep")
    done = Done.KEPT if setting == "keep" else Done.FILE_LEFT_OUT
    assert [c.element for c in result.changes if c.done == done and c.element in NO_FILES] == list(NO_FILES)
    assert "bibliographicDesignationText" in str(etree.tostring(result.node))


@pytest.mark.parametrize(
    "attributes",
    ['representation="B64"', 'mediaType="application/pdf"', 'mediaType="text/plain" compression="GZ"'],
)
def test_a_file_where_none_is_expected_becomes_the_marker(attributes):
    data = invent("r3").data.replace(b"<text>", f"<text {attributes}>".encode(), 1)
    case = only_case(data)
    assert "H.1" not in {text.element for text in case.free_texts}
    node = rewritten(case).node
    (narrative,) = elements()["H.1"].places["r3"].nodes(node)
    assert (narrative.text, dict(narrative.attrib)) == ("PHI", {})


def test_a_narrative_of_a_text_type_is_no_file():
    data = invent("r3").data.replace(b"<text>", b'<text mediaType="text/plain" representation="TXT">', 1)
    assert "H.1" in {text.element for text in only_case(data).free_texts}


@pytest.mark.parametrize(
    ("xml", "texts"),
    [
        ("<unknown>Jane Roe</unknown>", ["Jane Roe"]),
        ("<unknown note='Jane Roe'/>", ["Jane Roe"]),
        ("<unknown>a<b/>Jane Roe</unknown>", ["aJane Roe"]),
        ("<code code='Jane Roe'/>", ["Jane Roe"]),
        ("<code displayName='Jane Roe'/>", ["Jane Roe"]),
        ("<id root='Jane Roe' extension='77'/>", ["Jane Roe", "77"]),
        ("<value xsi:type='PQ' value='Jane' unit='mg'/>", ["Jane"]),
        ("<value xsi:type='PQ' value='4' unit='to Jane Roe'/>", ["to Jane Roe"]),
        ("<telecom value='tel:77'/>", ["tel:77"]),
        ("<country>Jane Roe</country>", ["Jane Roe"]),
        ("<x xsi:schemaLocation='Jane Roe'/>", ["Jane Roe"]),
        ("<low value='Jane'/>", ["Jane"]),
        ("<x xmlns:y='urn:y' y:code='Jane'/>", ["Jane"]),
        ("<interactionId extension='Jane'/>", ["Jane"]),
    ],
)
def test_what_no_table_names_is_free_text(xml, texts):
    data = invent("r3").data.replace(b"<statusCode", xml.encode() + b"<statusCode")
    case = only_case(data)
    unnamed = [text for text in case.free_texts if not text.element]
    assert [text.text for text in unnamed] == texts
    assert all("unknown" not in text.path and "Jane" not in text.path for text in unnamed)
    node = rewritten(case, texts=mark_texts(case)).node
    assert b"Jane" not in etree.tostring(node)


@pytest.mark.parametrize(
    "xml",
    [
        '<code code="C41260" codeSystem="2.16.840.1.113883.3.26.1.1" codeSystemVersion="2014.10.30"/>',
        '<value xsi:type="PQ" value="-48.2" unit="10*9/L"/>',
        '<value xsi:type="BL" value="true"/>',
        '<value xsi:type="IVL_PQ"><low value="10" unit="mg/dl" inclusive="false"/><high nullFlavor="PINF"/></value>',
        '<id root="68d6f5ce-3b3b-45c7-92dd-69e06730c3a9"/>',
        "<addr><country>SE</country></addr>",
        '<pauseQuantity value="10" unit="d"/>',
        '<x classCode="OBS" moodCode="EVN.CRT" typeCode="REFV" determinerCode="KIND"/>',
    ],
)
def test_structure_is_no_free_text(xml):
    before = only_case(invent("r3").data)
    after = only_case(invent("r3").data.replace(b"<statusCode", xml.encode() + b"<statusCode"))
    assert len(after.values) == len(before.values)


@pytest.mark.parametrize(
    ("tag", "text", "is_free"),
    [
        ("reactionmeddrallt", "10037844", False),
        ("reactionmeddrallt", "Jane's rash", True),
        ("drugindication", "10037844", False),
        ("patientonsetage", "48", False),
        ("patientonsetage", "48, Jane", True),
        ("occurcountry", "SE", False),
        ("occurcountry", "Sweden", True),
        ("drugstartdateformat", "102", False),
        ("unknown", "7", True),
        ("messagetype", "Jane", True),
        ("testunit", "mg", True),
    ],
)
def test_what_is_a_code_in_r2(tag, text, is_free):
    xml = f"<safetyreport><patient><drug><{tag}>{text}</{tag}></drug></patient></safetyreport>"
    assert [t.text for t in only_case(xml.encode()).free_texts] == ([text] if is_free else [])


@pytest.mark.parametrize(
    "xml",
    [
        '<telecom use="HP okonkwo"/>',
        '<id root="1.2.3.okonkwo"/>',
        '<code code="19430217" codeSystem="2.16.840.1.113883.6.163"/>',
        '<code code="5550147823" codeSystem="2.16.840.1.113883.3.989.2.1.1.19"/>',
        '<code code="1" codeSystem="1.2.276.19430217"/>',
        '<code code="10027940" codeSystem="2.16.840.1.113883.6.163" codeSystemVersion="19430217"/>',
        '<code code="QQ" codeSystem="1.0.3166.1.2.2"/>',
        '<observation classCode="OKONKWO"/>',
        '<observation moodCode="okonkwo"/>',
        '<value language="bob"/>',
        '<value mediaType="text/okonkwo"/>',
        '<value xsi:type="okonkwo:CE"/>',
        '<value xsi:type="PQ" value="5550147823" unit="mg"/>',
        '<value xsi:type="PQ" value="4" unit="okonkwo"/>',
        '<value xsi:type="PQ" value="4" unit="555.014.782"/>',
        '<low value="5550147"/>',
        '<low value="20190115101010.5550147823"/>',
        "<addr><country>QQ</country></addr>",
    ],
)
def test_what_the_vocabulary_does_not_know_is_free_text(xml):
    case = only_case(invent("r3").data.replace(b"<statusCode", xml.encode() + b"<statusCode"))
    unnamed = [text.text for text in case.free_texts if not text.element]
    assert unnamed
    node = rewritten(case, texts=mark_texts(case)).node
    assert all(text.encode() not in etree.tostring(node) for text in unnamed if len(text) > 1)


@pytest.mark.parametrize(("code", "value"), [("7", "1943"), ("17", "5550")])
def test_a_weight_or_height_that_nobody_has_is_free_text(code, value):
    xml = (
        f'<observation><code code="{code}" codeSystem="2.16.840.1.113883.3.989.2.1.1.19"/>'
        f'<value xsi:type="PQ" value="{value}" unit="1"/></observation>'
    )
    for text, is_free in ((xml, True), (xml.replace(value, "71"), False)):
        case = only_case(invent("r3").data.replace(b"<statusCode", text.encode() + b"<statusCode"))
        assert any(not t.element for t in case.free_texts) == is_free


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("profile", builtin_names())
def test_a_country_that_is_none_does_not_stay_though_the_profile_keeps_it(dialect, profile):
    data = invent(dialect, given=dict.fromkeys(("C.2.r.3", "C.3.4.5", "A.3.2.3e"), "QQ")).data
    written, report = masked_file(data, builtin_profile(profile), mark_texts)
    assert report.n_cases == 1
    assert b"QQ" not in written


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("age", ["5550147823", "5550147", "forty"])
def test_an_age_that_is_none_is_free_text(dialect, age):
    case = only_case(invent(dialect, given={"D.2.2a": age, "D.2.3": age}).data)
    assert [text.text for text in case.free_texts].count(age) == 2


def test_words_beside_a_code_are_left_out_if_the_profile_says_so():
    case = only_case(invent("r3").data)
    node = rewritten(case, kept_but(display_names="drop")).node
    assert b"displayName" not in etree.tostring(node)
    assert len(node.xpath(".//@code")) == len(case.node.xpath(".//@code"))


def test_words_beside_a_code_that_repeat_a_masked_value_are_left_out():
    data = invent("r3", given={"C.2.r.1.4": "Quispe", "D.1": "Marchetti"}).data
    data = data.replace(b'displayName="reaction"', b'displayName="QUISPE, Marchetti"')
    case = only_case(data)
    masking = rewritten(case, kept_but(mask=["C.2.r.1.4"]))
    assert b"QUISPE" not in etree.tostring(masking.node)
    assert [c.done for c in masking.changes].count(Done.WITHHELD) == 1
    assert b"QUISPE" in etree.tostring(rewritten(case).node)


@pytest.mark.parametrize(
    ("text", "longest", "fits"),
    [
        ("well until PHI came", 19, "well until PHI came"),
        ("well until PHI came", 18, "well until PHI"),
        ("well until PHI came", 13, "well PHI"),
        ("well until PHI came", 7, "PHI"),
        ("well until PHI came", 8, "well PHI"),
        ("well until PHI came", 3, "PHI"),
        ("well until PHI came", 2, "PH"),
        ("unbelievably", 11, "PHI"),
        ("  unbelievably", 11, "PHI"),
        ("", 11, "PHI"),
        (" \n ", 11, "PHI"),
        ("well", None, "well"),
    ],
)
def test_a_text_that_is_too_long_ends_at_a_word(text, longest, fits):
    assert fit_text(text, longest, "PHI") == fits


def test_a_masked_text_that_became_too_long_is_shortened_and_listed():
    case = only_case(invent("r3", given={"G.k.4.r.9.1": "x " * 30}).data)
    texts = ["mask " * 13 if text.element == "G.k.4.r.9.1" else "PHI" for text in case.free_texts]
    result = rewritten(case, texts=texts)
    assert at(case, "G.k.4.r.9.1", result.node) == ["mask " * 11 + "PHI"]
    assert [c.element for c in result.changes if c.done == Done.SHORTENED] == ["G.k.4.r.9.1"]


def test_an_empty_masked_text_becomes_the_marker():
    case = only_case(invent("r3").data)
    result = case.rewrite(["" for _ in case.free_texts], ALL_KEEP, Replacements(marker="XXX"))
    assert at(case, "H.1", result.node) == ["XXX"]


@pytest.mark.parametrize("name", ["third-party", "public"])
@pytest.mark.parametrize("given", [(None, a_year_later), (pseudonym, None)])
def test_a_profile_that_needs_a_key_or_dates_says_so(name, given):
    case = only_case(invent("r3").data)
    with pytest.raises(ConfigurationError):
        case.rewrite(keep_texts(case), builtin_profile(name), Replacements(*given))


@pytest.mark.parametrize("texts", [[], ["PHI"], ["bad \x00"] * 26])
def test_masked_texts_that_do_not_fit_are_refused(texts):
    case = only_case(invent("r3", share=0.9).data)
    with pytest.raises(StageError):
        case.rewrite(texts, ALL_KEEP)


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\x00"])
def test_a_pseudonym_that_does_not_fit_is_refused(name):
    case = only_case(invent("r3").data)
    with pytest.raises(StageError, match=r"C\.1\.1"):
        case.rewrite(
            keep_texts(case), kept_but(pseudonym=["C.1.1"]), Replacements(lambda element, value: name)
        )


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("profile", builtin_names())
def test_what_was_done_is_said_without_a_value(dialect, profile):
    message = invent(dialect)
    case = only_case(message.data)
    changes = rewritten(case, builtin_profile(profile), mark_texts(case)).changes
    assert len(changes) == len(case.values)
    said = repr(changes)
    assert message.cases[0]
    for values in message.cases[0].values():
        assert all(value not in said for value in values if len(value) > 3)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_known_values_of_a_case(dialect):
    given = {
        "C.2.r.1.4": "Quispe",
        "C.2.r.1.1": "Dr",
        "D.1": "A.B.",
        "D.10.1": "Noor Quispe",
        "D.2.1": "19610302",
        "C.3.4.6": "0465378491",
        "C.2.r.2.1": "unknown",
    }
    case = only_case(invent(dialect, given=given).data)
    known = {(value.element, value.sort, value.value) for value in case.known_values}
    assert {
        ("C.2.r.1.4", "name", "Quispe"),
        ("D.1", "initials", "A.B."),
        ("D.10.1", "name", "Noor Quispe"),
        ("D.2.1", "date", "19610302"),
        ("C.3.4.6", "phone", "0465378491"),
    } <= known
    stated = {element for element, _, _ in known}
    assert not stated & {"C.2.r.1.1", "C.2.r.2.1", "C.2.r.3", "C.3.3.1"}
    assert "Quispe" not in repr(case.known_values)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        *(("AB", "initials"), ("A.B.", "initials"), ("A. B. C.", "initials"), ("ab", "initials")),
        *(("Noor", "name"), ("Noor Quispe", "name"), ("ABCDE", "name"), ("Bo", "initials")),
    ],
)
def test_a_name_is_told_from_initials(text, sort):
    assert find_known_value("D.1", "name or initials", text).sort == sort


@pytest.mark.parametrize("text", ["", " - ", "UNKNOWN", "Privacy", "n/a", "None"])
def test_what_says_nothing_is_no_known_value(text):
    assert find_known_value("D.1", "name", text) is None


@pytest.mark.parametrize(
    ("sort", "text", "value"),
    [
        ("phone", "46", None),
        ("phone", "tel:04653", "04653"),
        ("number", "77", None),
        ("address", "13", None),
        ("date", "1961", None),
        ("date", "196103", None),
        ("date", "19610302", "19610302"),
        ("date", "19610302120000", "19610302"),
        ("email", "mailto:a@b.invalid", "a@b.invalid"),
        ("name", "J", "J"),
    ],
)
def test_what_stands_in_every_text_is_no_known_value(sort, text, value):
    known = find_known_value("X", sort, text)
    assert (None if known is None else known.value) == value


def test_a_single_letter_is_an_initial():
    assert find_known_value("C.2.r.1.3", "name", "J.").sort == "initials"


@pytest.mark.parametrize(
    ("value", "text", "is_found"),
    [
        ("Quispe", "seen by QUISPE.", True),
        ("Quispe", "Quispe's", True),
        ("Quispe", "Quispes", False),
        ("Renée", "Renee", True),
        ("13 Elm St.", "at 13 elm\nst", True),
        ("Ann", "Ann", False),
        ("A.B.C.D.", "abcd", False),
        ("12345", "in 112345", False),
        ("Ó Súilleabháin", "O SUILLEABHAIN", True),
    ],
)
def test_a_known_value_is_found_as_a_word_in_any_case(value, text, is_found):
    assert KnownValueFinder([KnownValue("D.1", "name", value)]).finds(text) == is_found
