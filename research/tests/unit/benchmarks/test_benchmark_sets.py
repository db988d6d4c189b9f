"""The forms of the files of the open benchmarks, in invented texts."""

import gzip
import json
import os

import pytest

from inverse_deid.core.errors import InputError
from inverse_deid_research.benchmarks.sets import read_benchmark

CANARY = "Zebulonova"
ASQ_PHI = f"""===QUERY===
Dose of drug for {CANARY}, then {CANARY}? Not {CANARY}s.
===PHI_TAGS===
{{"identifier_type": "NAME", "value": "{CANARY}"}}
{{"identifier_type": "DATE", "value": "May 5"}}

===QUERY===
Dose for a woman of 34?
===PHI_TAGS===
"""


def read(name, path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_benchmark(name, [path])


def test_every_whole_occurrence_of_a_value_is_marked(tmp_path):
    texts = read("asq-phi", tmp_path / "queries.txt", ASQ_PHI)
    first, second = texts.docs
    assert first.text.startswith("Dose of drug")
    assert first.text.endswith("s.")
    assert [first.text[start:end] for start, end, _ in first.spans] == [CANARY, CANARY]
    assert second.spans == ()
    assert texts.n_unplaced == 1  # May 5
    assert [first.id, second.id] == ["asq-phi-0001", "asq-phi-0002"]


@pytest.mark.parametrize(
    ("value", "kind", "titles"),
    [
        ("Dr. Ohm", "NAME", ["Dr."]),
        ("mr Ohm", "NAME", ["mr"]),
        ("Drew Ohm", "NAME", []),
        ("Ohm", "NAME", []),
        ("Dr. Ohm", "GEOGRAPHIC_LOCATION", []),
    ],
)
def test_a_title_at_the_beginning_of_a_name_is_known(tmp_path, value, kind, titles):
    tag = json.dumps({"identifier_type": kind, "value": value})
    texts = read("asq-phi", tmp_path / "q.txt", f"===QUERY===\nAsk {value} now\n===PHI_TAGS===\n{tag}\n")
    (doc,) = texts.docs
    assert [doc.text[start:end] for start, end in doc.titles] == titles


@pytest.mark.parametrize("key", ["type", "label"])
def test_json_lines_name_the_type_in_either_way(tmp_path, key):
    line = {"id": "a", "text": "Ann Lee", "spans": [{"start": 0, "end": 3, key: "NAME"}]}
    texts = read("outis", tmp_path / "v.jsonl", json.dumps(line) + "\n\n")
    assert texts.docs[0].spans == ((0, 3, "NAME"),)


def test_meddocan_is_read_from_its_xml(tmp_path):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "S1.xml").write_text(
        "<MEDDOCAN><TEXT><![CDATA[Ana Paz, 3 de mayo]]></TEXT><TAGS>"
        '<DATE id="T1" start="9" end="18" text="3 de mayo" TYPE="FECHAS"/>'
        '<NAME id="T2" start="0" end="7" text="Ana Paz" TYPE="NOMBRE"/></TAGS></MEDDOCAN>'
    )
    (doc,) = read_benchmark("meddocan", [tmp_path]).docs
    assert (doc.id, doc.text) == ("S1", "Ana Paz, 3 de mayo")
    assert doc.spans == ((0, 7, "NOMBRE"), (9, 18, "FECHAS"))


def test_grascco_is_read_from_its_json_without_titles(tmp_path):
    structures = [
        {"%TYPE": "uima.cas.Sofa", "sofaString": "😷 Dr. Wex Ohm"},
        {"%TYPE": "webanno.custom.PHI", "begin": 3, "end": 6, "kind": "NAME_TITLE"},
        {"%TYPE": "webanno.custom.PHI", "begin": 7, "end": 14, "kind": "NAME_DOCTOR"},
        {"%TYPE": "custom.Token", "begin": 0, "end": 2},
    ]
    (tmp_path / "Ohm.json").write_text(json.dumps({"%FEATURE_STRUCTURES": structures}))
    (doc,) = read_benchmark("grascco", [tmp_path]).docs
    # Offsets are in UTF-16 units, of which the first sign has two.
    assert [(doc.text[start:end], kind) for start, end, kind in doc.spans] == [("Wex Ohm", "NAME_DOCTOR")]


SPAN = {"start": 0, "end": 3, "type": "NAME"}


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("asq-phi", "", "does not begin with"),
        ("asq-phi", f"{CANARY}\n{ASQ_PHI}", "does not begin with"),
        ("asq-phi", f"===QUERY===\n{CANARY}\n", "query 1 has no text"),
        ("asq-phi", f"===QUERY===\n{CANARY}\n===PHI_TAGS===\n{CANARY}\n", "query 1 has a line"),
        ("asq-phi", '===QUERY===\nx\n===PHI_TAGS===\n{"value": ""}\n', "query 1 has a tag"),
        ("asq-phi", b"===QUERY===\n\xff\xfe\n===PHI_TAGS===\n", "not of the form"),
        ("outis", "", "no documents"),
        ("outis", CANARY, "line 1 has a line that is not a JSON object"),
        ("outis", "[" * 100_000, "line 1 has a line that is not a JSON object"),
        ("outis", json.dumps({"id": "a", "text": CANARY}), "line 1 has no id, text or spans"),
        ("outis", json.dumps({"id": "a", "text": CANARY, "spans": [{"start": 0}]}), "line 1 has a span"),
        (
            "outis",
            json.dumps({"id": "a", "text": CANARY, "spans": [SPAN | {"end": 30}]}),
            "document a: span 0-30",
        ),
        (
            "outis",
            2 * (json.dumps({"id": "a", "text": CANARY, "spans": [SPAN]}) + "\n"),
            "the same document twice",
        ),
    ],
)
def test_a_file_of_another_form_is_refused_without_its_text(tmp_path, name, content, fault):
    with pytest.raises(InputError) as error:
        read(name, tmp_path / "file", content)
    assert fault in str(error.value)
    assert str(tmp_path / "file") in str(error.value)
    assert CANARY not in str(error.value)
    assert error.value.__cause__ is None or CANARY not in str(error.value.__cause__)


@pytest.mark.parametrize(
    ("name", "file", "content", "fault"),
    [
        ("meddocan", "a.txt", "", "no file with the ending .xml"),
        ("meddocan", "a.xml", f"<M><TEXT>{CANARY}", "a.xml is not XML with a TEXT"),
        (
            "meddocan",
            "a.xml",
            f'<!DOCTYPE M [<!ENTITY e "{CANARY}">]><M><TEXT>&e;</TEXT></M>',
            "a.xml is not XML with a TEXT",
        ),
        (
            "meddocan",
            "a.xml",
            f'<M><TEXT>{CANARY}</TEXT><TAGS><N start="-1" end="2" TYPE="N"/></TAGS></M>',
            "a.xml has a tag without start, end and TYPE",
        ),
        ("grascco", "a.json", json.dumps({"text": CANARY}), "a.json is not a document of GraSCCo_PHI"),
        (
            "grascco",
            "a.json",
            json.dumps(
                {
                    "%FEATURE_STRUCTURES": [
                        {"%TYPE": "uima.cas.Sofa", "sofaString": CANARY},
                        {"%TYPE": "webanno.custom.PHI", "begin": 3, "end": 60, "kind": "N"},
                    ]
                }
            ),
            "a.json has a span outside its text",
        ),
    ],
)
def test_a_folder_of_another_form_is_refused_without_its_text(tmp_path, name, file, content, fault):
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError) as error:
        read_benchmark(name, [tmp_path])
    assert fault in str(error.value)
    assert CANARY not in str(error.value)


def test_windows_line_ends_and_gzip_change_nothing(tmp_path):
    plain = read("asq-phi", tmp_path / "q.txt", ASQ_PHI)
    windows = read("asq-phi", tmp_path / "w.txt", ASQ_PHI.replace("\n", "\r\n"))
    packed = read("asq-phi", tmp_path / "q.txt.gz", gzip.compress(ASQ_PHI.encode()))
    assert plain.docs == windows.docs == packed.docs


def test_a_pipe_or_device_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is not a file"):
        read_benchmark("outis", [tmp_path / "pipe"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl: does not exist"):
        read_benchmark("outis", [tmp_path / "none.jsonl"])
