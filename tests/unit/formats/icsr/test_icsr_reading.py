import io
import re

import pytest
from icsr_messages import R2_DOCTYPE, invent
from icsr_trees import canonical, cases_of, masked_file, only_case, parts_of, read_cases

from inverse_deid.core.errors import FormatError, UnreadableInputError
from inverse_deid.formats.icsr.cases import Case
from inverse_deid.formats.icsr.messages import BrokenCase, Limits, Message

CANARY = "Okonjarova"  # as long as R2 allows


def r2(*cases: str, head: str = "") -> bytes:
    return f'{head}<ichicsr lang="en">\n{"".join(cases)}</ichicsr>\n'.encode()


def report(number: int, narrative: str = "well", more: str = "") -> str:
    return (
        f"<safetyreport><safetyreportid>X-{number}</safetyreportid><patient><patientinitial>{CANARY}</patientinitial>"
        f"{more}<summary><narrativeincludeclinical>{narrative}</narrativeincludeclinical></summary></patient>"
        "</safetyreport>\n"
    )


def told(data: bytes, limits: Limits | None = None) -> list[str]:
    """The id of every case that was read, the problem of every other."""
    return [case.case_id if isinstance(case, Case) else case.reason for case in cases_of(data, limits)]


@pytest.mark.parametrize("dialect", ["r3", "r2"])
@pytest.mark.parametrize("n_cases", [1, 2, 7])
def test_the_cases_of_a_batch_come_one_after_the_other(dialect, n_cases):
    message = invent(dialect, n_cases)
    cases = cases_of(message.data)
    assert [case.number for case in cases] == list(range(1, n_cases + 1))
    assert [case.case_id for case in cases] == [values["C.1.1"][0] for values in message.cases]


@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_a_batch_without_a_case_has_none(dialect):
    assert cases_of(invent(dialect, 0).data) == []


def test_a_single_r2_report_is_a_message():
    assert told(report(1).encode()) == ["X-1"]


def test_a_single_r3_message_is_a_message():
    xml = invent("r3").xml
    case = xml[xml.index("<PORR_IN049016UV>") : xml.index("</PORR_IN049016UV>")] + "</PORR_IN049016UV>"
    xmlns = 'xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    single = case.replace("<PORR_IN049016UV>", f"<PORR_IN049016UV {xmlns}>").encode()
    assert only_case(single).case_id
    assert canonical(masked_file(single)[0]) == canonical(single)


def test_r3_with_a_prefix_is_read():
    message = invent("r3")
    prefixed = message.data.decode().replace('xmlns="urn', 'xmlns:x="urn')
    prefixed = (
        prefixed.replace("</", "</x:").replace("<", "<x:").replace("<x:/x:", "</x:").replace("<x:?", "<?")
    )
    case = only_case(prefixed.encode())
    assert case.case_id == message.cases[0]["C.1.1"][0]
    assert canonical(masked_file(prefixed.encode())[0]) == canonical(prefixed.encode())


def test_no_repr_shows_a_case():
    (case,) = cases_of(r2(report(1, CANARY)))
    message = Message(io.BytesIO(r2(report(1, CANARY))))
    assert CANARY not in repr(case) + repr(case.free_texts) + repr(case.known_values) + repr(message.frame)


def test_comments_and_instructions_are_stripped_and_counted():
    narrative = f"ra<!-- {CANARY} -->sh<?{CANARY.lower()} x?>es"
    data = r2("<!-- a -->", report(1, narrative), "<!-- b -->", head="<!-- c --><?style x?>")
    message = Message(io.BytesIO(data))
    (case,) = message.parts()
    assert case.free_texts[0].text == "rashes"
    assert (message.stripped.n_comments, message.stripped.n_instructions) == (4, 2)
    written = masked_file(data)[0]
    assert b"<!--" not in written
    assert canonical(written) == canonical(data)


def test_text_between_the_cases_is_left_out_and_counted():
    data = r2(report(1), CANARY, report(2))
    written, said = masked_file(data)
    assert said.stripped["n_stray_texts"] == 1
    assert written.count(CANARY.encode()) == 2  # the two initials, which all-keep keeps


def test_unknown_attributes_of_the_outermost_element_are_left_out_and_counted():
    data = f'<ichicsr lang="en" made-by="{CANARY}">{report(1)}</ichicsr>'.encode()
    written, said = masked_file(data)
    assert said.stripped["n_attributes"] == 1
    assert b"made-by" not in written
    assert b'lang="en"' in written


ENCODED = [
    ("UTF-8", "utf-8"),
    ("UTF-8", "utf-8-sig"),
    ("UTF-16", "utf-16"),
    ("UTF-16", "utf-16-le"),
    ("UTF-16", "utf-16-be"),
    ("ISO-8859-1", "iso-8859-1"),
    ("windows-1252", "cp1252"),
]


@pytest.mark.parametrize(("declared", "codec"), ENCODED)
def test_a_message_is_written_in_the_encoding_that_it_had(declared, codec):
    text = f'<?xml version="1.0" encoding="{declared}"?>' + r2(report(1, "fièvre, 38°")).decode()
    data = text.encode(codec)
    assert only_case(data).free_texts[0].text == "fièvre, 38°"
    written = masked_file(data)[0]
    assert canonical(written) == canonical(data)
    assert written[:2] == data[:2]
    assert f'encoding="{declared}"' in written.decode(codec)


def test_what_the_encoding_lacks_is_written_as_a_reference():
    data = b'<?xml version="1.0" encoding="ISO-8859-1"?>' + r2(report(1))
    written = masked_file(data, mask=lambda case: ["□ 日本" for _ in case.free_texts])[0]
    assert only_case(written).free_texts[0].text == "□ 日本"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'<?xml version="1.0" encoding="UTF-16"?><ichicsr/>', "declares the encoding UTF-16"),
        ('<?xml version="1.0" encoding="UTF-8"?><ichicsr/>'.encode("utf-16"), "is UTF-16"),
        (b"\xef\xbb\xbf" + b'<?xml version="1.0" encoding="ISO-8859-1"?><ichicsr/>', "has another"),
        (b'<?xml version="1.0" encoding="UTF-7"?><ichicsr/>', "is not supported"),
        (b'<?xml version="1.0" encoding="no-such"?><ichicsr/>', "is not supported"),
        ("<ichicsr/>".encode("utf-32"), "UTF-32"),
        (b"", "is empty"),
    ],
)
def test_an_encoding_that_is_wrong_or_not_read_is_refused(data, said):
    with pytest.raises(UnreadableInputError, match=said):
        cases_of(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"hello", "is not XML"),
        (b"   \n ", "is not XML"),
        (b"PK\x03\x04\x00\x00", "is not XML"),
        (b"\x00" * 64, "is not XML"),
        (b"<!-- " + b"x" * 2_000_000, "is not XML"),
        ("<ichicsr/>".encode("cp037"), "is not XML"),
        (b"<html/>", "not an E2B message"),
        (b'<ichicsr xmlns="urn:other"/>', "not an E2B message"),
        (b"<MCCI_IN200100UV01/>", "not an E2B message"),
        (b'<ichicsr a="1"', "broken XML at line 1"),
    ],
)
def test_what_is_no_message_is_refused(data, said):
    with pytest.raises(FormatError, match=said):
        cases_of(data)


BILLION_LAUGHS = (
    '<!DOCTYPE ichicsr [<!ENTITY a0 "lol">'
    + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    + "]>"
)
REFUSED_DOCTYPES = [
    BILLION_LAUGHS,
    '<!DOCTYPE ichicsr [<!ENTITY a9 SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE ichicsr [<!ENTITY % p SYSTEM "http://host.invalid/p.dtd"> %p;]>',
    '<!DOCTYPE ichicsr SYSTEM "a.dtd" [<!ENTITY a9 "x">]>',
    '<!DOCTYPE ichicsr PUBLIC "-//X//Y" "a.dtd" []>',
    "<!DOCTYPE ichicsr [ ]>",
    '<!-- x --><?pi y?>\n<!DOCTYPE\nichicsr\n[<!ATTLIST ichicsr a CDATA "b">]>',
]


@pytest.mark.parametrize("doctype", REFUSED_DOCTYPES)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16"])
def test_a_document_type_with_declarations_is_refused_before_it_is_parsed(doctype, codec):
    data = r2(report(1, "&a9;"), head=doctype).decode().encode(codec)
    with pytest.raises(FormatError, match="document type declaration"):
        cases_of(data)


def test_two_document_types_are_no_way_around():
    head = '<!DOCTYPE ichicsr SYSTEM "a"><!DOCTYPE ichicsr [<!ENTITY a9 "x">]>'
    with pytest.raises(FormatError):
        cases_of(r2(report(1, "&a9;"), head=head))


def test_r3_with_a_document_type_is_refused():
    head = '<!DOCTYPE MCCI_IN200100UV01 SYSTEM "a.dtd">'
    with pytest.raises(FormatError, match="has no document type declaration"):
        cases_of((head + invent("r3").xml).encode())


@pytest.mark.parametrize(
    ("doctype", "kept"),
    [
        (
            '<!DOCTYPE ichicsr SYSTEM "http://eudravigilance.ema.europa.eu/dtd/icsr21xml.dtd">',
            '"icsr21xml.dtd"',
        ),
        ("<!DOCTYPE ichicsr SYSTEM 'C:\\\\Quispe\\\\ich-icsr-v2.1.dtd'>", "'ich-icsr-v2.1.dtd'"),
        ('<!DOCTYPE ichicsr PUBLIC "-//Quispe//EN" "ichicsr.dtd">', '"ichicsr.dtd"'),
        ('<!DOCTYPE ichicsr SYSTEM "quispe.dtd">', ""),
        ('<!DOCTYPE quispe SYSTEM "icsr21xml.dtd">', ""),
        ("<!DOCTYPE ichicsr>", ""),
    ],
)
def test_of_a_dtd_only_the_base_name_stays(doctype, kept):
    written, said = masked_file(r2(report(1), head=doctype))
    head = f"<!DOCTYPE ichicsr SYSTEM {kept}>\n" if kept else ""
    assert written.startswith(f"{head}<ichicsr".encode())
    assert said.stripped["n_locations"] == 1


def test_the_public_identifier_of_ich_stays():
    doctype = '<!DOCTYPE ichicsr PUBLIC "-//ICHM2//DTD ICH ICSR Vers. 2.1//EN" "ichicsr.dtd">'
    assert masked_file(r2(report(1), head=doctype))[0].startswith(doctype.encode())


@pytest.mark.parametrize("more", ['quispe="yes"', 'standalone="quispe"'])
def test_an_xml_declaration_says_nothing_else(more):
    with pytest.raises(FormatError, match="XML declaration"):
        cases_of(f'<?xml version="1.0" {more}?>'.encode() + r2(report(1)))


def test_an_unusual_prefix_around_the_cases_is_refused():
    xml = invent("r3").xml.replace('xmlns="urn', 'xmlns:quispe="urn').replace("</", "</quispe:")
    prefixed = xml.replace("<", "<quispe:").replace("<quispe:/quispe:", "</quispe:")
    with pytest.raises(FormatError, match="prefix") as caught:
        cases_of(prefixed.encode())
    assert "quispe" not in str(caught.value)


def test_of_a_schema_location_only_the_base_name_stays():
    data = invent("r3").data.replace(b"v3 MCCI", b"v3 file:///home/quispe/MCCI")
    written, said = masked_file(data)
    assert (b"quispe" in written, b'"urn:hl7-org:v3 MCCI_IN200100UV01.xsd"' in written) == (False, True)
    assert said.stripped["n_locations"] == 1


def test_the_document_type_of_r2_is_kept_as_it_is():
    data = ('<?xml version="1.0"?>\n' + R2_DOCTYPE + "\n").encode() + r2(report(1))
    written = masked_file(data)[0]
    assert written.startswith(b'<?xml version="1.0"?>\n' + R2_DOCTYPE.encode())
    assert canonical(written) == canonical(data)


def test_an_entity_of_an_external_dtd_costs_its_case_only():
    data = r2(report(1), report(2, "a &nbsp; b"), report(3), head=R2_DOCTYPE)
    first, second, third = told(data)
    assert (first, third) == ("X-1", "X-3")
    assert "entity" in second


def test_an_entity_in_an_attribute_is_nothing():
    data = r2(report(1).replace("<patient>", '<patient lang="&x;en">'), head=R2_DOCTYPE)
    assert b'<patient lang="en">' in masked_file(data)[0]


def test_an_inclusion_is_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text(CANARY, encoding="utf-8")
    include = (
        f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{tmp_path}/secret.txt" parse="text"/>'
    )
    case = only_case(r2(report(1, more=include)))
    assert all(CANARY not in text.text for text in case.free_texts)


BROKEN = [
    (lambda x: x[: x.index(b"X-2") + 20], "broken XML at line 3"),
    (lambda x: x.replace(b"X-2</safetyreportid>", b"X-2</safetyreport>"), "broken XML at line 3"),
    (lambda x: x.replace(b"X-2", b"caf\xe9"), "not utf-8 text at line 3"),
    (lambda x: x.replace(b"X-2", b"&nbsp;"), "entity .* at line 3"),
    (lambda x: x.replace(b"X-2", b"&#0;"), "broken XML at line 3"),
    (lambda x: x.replace(b"X-2", b"a \x08 b"), "broken XML at line 3"),
    (lambda x: x.replace(b"<patient>", b"<a>" * 300 + b"<patient>"), "too long a text at line"),
    (lambda x: x.replace(b"X-2", b"y" * 11_000_000), "too long .* at line 3"),
]


@pytest.mark.parametrize(("damage", "said"), BROKEN)
def test_what_is_broken_is_said_with_its_line_and_the_cases_before_it_are_read(damage, said):
    data = r2(report(1), report(2), report(3))
    start = data.index(b"<safetyreport>", data.index(b"X-1"))
    first, second = cases_of(data[:start] + damage(data[start:]))
    assert first.case_id == "X-1"
    assert isinstance(second, BrokenCase)
    assert second.number == 2
    assert re.search(said, second.reason)
    assert CANARY not in second.reason
    assert type(second.reason) is str  # no error, which could refer to the file


def test_what_stands_behind_the_message_is_no_case():
    first, behind = cases_of(r2(report(1)) + b"<more/>")
    assert (first.case_id, behind.number) == ("X-1", 0)


def test_a_case_that_is_nested_too_deeply_costs_itself_only():
    data = r2(report(1), report(2, more="<a>" * 50 + CANARY + "</a>" * 50), report(3))
    first, second, third = told(data, Limits(max_depth=40))
    assert (first, third) == ("X-1", "X-3")
    assert second == "is nested deeper than 40 elements"


def test_a_case_that_is_too_large_costs_itself_only():
    large = "".join(f"<a>{CANARY} {i}</a>" for i in range(100_000))
    data = r2(report(1), report(2, more=large), report(3))
    first, second, third = told(data, Limits(max_case_bytes=1024 * 1024))
    assert (first, third) == ("X-1", "X-3")
    assert second == "is larger than 1 MiB"


def test_a_case_that_is_left_out_is_not_written():
    data = r2(report(1), report(2, more="<a>" * 50 + "</a>" * 50), report(3))
    written, said = masked_file(data, limits=Limits(max_depth=40))
    assert told(written) == ["X-1", "X-3"]
    assert (said.n_cases, said.n_problems, said.problems[0].number) == (2, 1, 2)


def test_reading_takes_no_more_than_it_needs():
    class Watched(io.BytesIO):
        n_read = 0

        def read(self, size=-1):
            data = super().read(size)
            self.n_read += len(data)
            return data

    data = invent("r2", 100).data
    stream = Watched(data)
    first = next(read_cases(stream))
    assert first.number == 1
    assert stream.n_read < len(data) / 4


def test_the_parts_around_the_cases_come_in_their_order():
    numbers = [part.number for part in parts_of(invent("r3", 2).data)]
    assert numbers == [0, 0, 0, 0, 0, 1, 2, 0, 0]
