import dataclasses
import io

import numpy as np
import pytest
from fake_maskers import mask_capitals

from inverse_deid.core.errors import AnnotationError
from inverse_deid.core.phi import HyperClass, PhiType
from inverse_deid.core.values import PhiSpan
from inverse_deid.engine.masker import mask_records
from inverse_deid.formats.i2b2_xml import AnnotationXmlSink, read_gold_i2b2_xml, read_i2b2_xml
from inverse_deid.formats.records import ReadOptions


def file(text: str, tags: str = "") -> io.BytesIO:
    return io.BytesIO(
        f'<?xml version="1.0" encoding="UTF-8" ?>\n<deIdi2b2><TEXT><![CDATA[{text}]]></TEXT>'
        f"<TAGS>{tags}</TAGS></deIdi2b2>".encode()
    )


def tag(start: int, end: int, type_name: str, text: str) -> str:
    return f'<T id="P0" start="{start}" end="{end}" text="{text}" TYPE="{type_name}" comment="" />'


def test_gold_tags_become_sorted_spans():
    tags = tag(9, 14, "CITY", "Velmo") + tag(0, 3, "PATIENT", "Ann")
    doc = read_gold_i2b2_xml(file("Ann from Velmo"[:9] + "Velmo", tags), "a")
    assert doc.spans == (PhiSpan(0, 3, PhiType.PATIENT), PhiSpan(9, 14, PhiType.CITY))


def test_overlapping_gold_tags_are_an_error_that_names_the_document():
    tags = tag(0, 3, "PATIENT", "Ann") + tag(2, 6, "CITY", "n Li")
    with pytest.raises(AnnotationError, match="document a: span 2-6 overlaps"):
        read_gold_i2b2_xml(file("Ann Li", tags), "a")


def test_a_gold_tag_that_is_there_twice_counts_once():
    doc = read_gold_i2b2_xml(file("Ann Li", tag(0, 3, "PATIENT", "Ann") * 2), "a")
    assert doc.spans == (PhiSpan(0, 3, PhiType.PATIENT),)


@pytest.mark.parametrize(
    "bad",
    [tag(0, 3, "NOSUCH", "Ann"), tag(0, 99, "PATIENT", "Ann"), tag(0, 3, "PATIENT", "Eva"), "<T/>"],
)
def test_a_gold_tag_that_does_not_fit_is_an_error_without_text(bad):
    with pytest.raises(AnnotationError) as caught:
        read_gold_i2b2_xml(file("Ann Li", bad), "a")
    assert "Ann" not in str(caught.value)
    assert "Eva" not in str(caught.value)


def test_bad_gold_tags_do_not_hinder_masking():
    assert read_i2b2_xml(file("Ann", tag(0, 99, "NOSUCH", "x")), ReadOptions(), "a").doc.text == "Ann"


def test_line_ends_are_normalised_as_xml_says():
    assert read_i2b2_xml(file("a\r\nb\rc"), ReadOptions(), "a").doc.text == "a\nb\nc"


def test_annotations_hold_the_original_and_the_masks_as_tags():
    source = read_i2b2_xml(file("Ann \u200b fell &amp; saw\nDr Li"), ReadOptions(), "a")
    target = io.BytesIO()
    records = list(source.records())
    (masked,) = mask_records(mask_capitals(), records)
    AnnotationXmlSink(target).write(records[0], masked)
    target.seek(0)
    gold = read_gold_i2b2_xml(target, "a")
    assert gold.text == source.doc.text
    assert [(span.start, span.end) for span in gold.spans] == [(0, 3), (21, 26)]
    assert {span.type for span in gold.spans} == {PhiType.PATIENT}


def test_many_entities_are_not_expanded():
    lol = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<!DOCTYPE a [<!ENTITY l0 "x">{lol}]><a><TEXT>&l9;</TEXT></a>'.encode()
    with pytest.raises(Exception, match=r"declaration|broken"):
        read_i2b2_xml(io.BytesIO(bomb), ReadOptions(), "a")


def test_a_place_has_the_type_that_the_official_scorer_knows():
    source = read_i2b2_xml(file("Ann fell"), ReadOptions(), "a")
    (record,) = source.records()
    ((masked,),) = mask_records(mask_capitals(), [record])
    places = np.full(2, list(HyperClass).index(HyperClass.PLACE), np.uint8)
    masked = dataclasses.replace(masked, decisions=dataclasses.replace(masked.decisions, categories=places))
    target = io.BytesIO()
    AnnotationXmlSink(target).write(record, [masked])
    assert b'<LOCATION id="P0" start="0" end="3" text="Ann" TYPE="LOCATION-OTHER"' in target.getvalue()
