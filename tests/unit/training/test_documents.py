"""Which documents a run trains on, holds out and compares with."""

import gzip
import json

import gold_files
import pytest
from fake_maskers import CANARY

from inverse_deid.core.errors import ConfigurationError, InputError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid.network.config import TrainingConfig
from inverse_deid.training.config import RunConfig
from inverse_deid.training.corpus import official_split, read_annotated, read_type_mapping
from inverse_deid.training.documents import read_documents


def marked(doc_id, text="Velmo is where the rash of this one began", phi_type=PhiType.CITY):
    return Document(doc_id, f"{text} {doc_id}", (PhiSpan(0, 5, phi_type),))


def distinct(n_documents, prefix="d"):
    return [marked(f"{prefix}{i}", f"Velmo {prefix}a{i} b{i}") for i in range(n_documents)]


def read(*gold, compare=(), share=0.3, said=None, **settings):
    training = TrainingConfig(validation_share=share)
    config = RunConfig(gold=gold, compare=tuple(compare), training=training, **settings)
    return read_documents(config, (said if said is not None else []).append)


def ids(docs):
    return {doc.id for doc in docs}


# The 2014 i2b2 release --------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path):
    """Sixty patients with two records each, in both training sets, and a test part."""
    folder = tmp_path / "2014" / "release"
    for i in range(60):
        docs = [marked("x", f"Velmo p{i} a"), marked("y", f"Velmo p{i} b")]
        for record, (doc, name) in enumerate(zip(docs, ("Set1", "Set2"), strict=True), start=1):
            path = folder / f"training-PHI-Gold-{name}" / f"{110 + i}-{record:02}.xml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gold_i2b2_xml(doc))
    gold_files.write_xml_records(folder / "testing-PHI-Gold-fixed", distinct(8, "t"), first_patient=300)
    return folder


@pytest.mark.parametrize("above", [0, 1, 2])
def test_the_official_test_part_is_compared_with_and_never_trained_on(release, above):
    said = []
    docs = read([release, *release.parents][above], said=said)
    test_ids = {path.name for path in (release / "testing-PHI-Gold-fixed").iterdir()}
    assert len(docs.gold) + sum(len(corpus.held_out) for corpus in docs.corpora) == 120
    assert not test_ids & ids(docs.gold)
    assert not any(test_ids & ids(corpus.held_out) for corpus in docs.corpora)
    assert [ids(corpus.held_out) for corpus in docs.compare] == [test_ids]
    assert said == ["official split: 120 training and 8 test records, unlike the task's 790 and 514"]


def test_the_sizes_of_the_task_are_recognised(tmp_path):
    for name, first, n_files in (("training-PHI-Gold-Set1", 100, 790), ("testing-PHI-Gold-fixed", 600, 514)):
        gold_files.write_xml_records(tmp_path / name, distinct(n_files, name[:2]), first_patient=first)
    said = []
    read(tmp_path, said=said)
    assert said == ["official split: 790 training and 514 test records, as in the task"]


def test_a_release_to_compare_with_means_its_test_part(release, tmp_path):
    said = []
    own = gold_files.write_json_lines(tmp_path / "own.jsonl", distinct(40, "own"))
    docs = read(own, compare=[release], said=said)
    test_ids = {path.name for path in (release / "testing-PHI-Gold-fixed").iterdir()}
    assert [ids(corpus.held_out) for corpus in docs.compare] == [test_ids]
    assert said == ["official split: the test part is used to compare, the training part is left out"]


def test_records_of_one_patient_stand_on_one_side_even_across_the_sets(release):
    docs = read(release)
    patients = {doc.id.split("-")[0] for doc in docs.gold}
    held_out = {doc.id.split("-")[0] for corpus in docs.corpora for doc in corpus.held_out}
    assert not patients & held_out
    assert len(patients | held_out) == 60


def test_a_folder_without_both_parts_is_a_folder_of_records(release, tmp_path):
    assert official_split(release / "training-PHI-Gold-Set1") is None
    assert official_split(tmp_path / "none") is None
    docs = read(release / "training-PHI-Gold-Set1")
    assert len(docs.gold) + len(docs.corpora[0].held_out) == 60
    assert docs.compare == []


def test_a_part_unpacked_into_itself_is_read_once(release):
    inner = release / "training-PHI-Gold-Set1"
    outer = inner.rename(release / "set1")
    inner.mkdir()
    outer.rename(inner / "training-PHI-Gold-Set1")
    split = official_split(release)
    assert split is not None
    assert [path.name for path in split.training] == ["training-PHI-Gold-Set1", "training-PHI-Gold-Set2"]
    docs = read(release)
    assert len(docs.gold) + sum(len(corpus.held_out) for corpus in docs.corpora) == 120


def test_ids_with_a_hyphen_are_not_all_one_patient(tmp_path):
    path = gold_files.write_json_lines(tmp_path / "gold.jsonl", distinct(40, "2021-00"))
    docs = read(path)
    assert 3 <= len(docs.corpora[0].held_out) <= 25


# Several corpora --------------------------------------------------------------------------------


def test_corpora_of_one_name_are_told_apart(tmp_path):
    paths = [
        gold_files.write_json_lines(tmp_path / year / "data" / "gold.jsonl", distinct(20, year))
        for year in ("y14", "y15")
    ]
    docs = read(paths[0], compare=[paths[1]])
    assert len({docs.corpora[0].name, docs.compare[0].name}) == 2
    assert set(docs.hashes) == {docs.corpora[0].name, docs.compare[0].name}
    assert read(paths[0]).corpora[0].name == "data/gold"


def test_a_corpus_given_twice_is_refused(tmp_path, monkeypatch):
    path = gold_files.write_json_lines(tmp_path / "gold.jsonl", distinct(9))
    with pytest.raises(ConfigurationError, match=r"gold\.jsonl: given twice"):
        read(path, path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"gold\.jsonl: given twice"):
        read(path, compare=[path.relative_to(tmp_path)])


def test_documents_to_compare_with_are_not_trained_on(tmp_path):
    shared = marked("twin", "Velmo is where the rash of this very case began on a sunny day")
    gold = gold_files.write_json_lines(tmp_path / "gold.jsonl", [*distinct(20), shared])
    compare = gold_files.write_json_lines(
        tmp_path / "compare.jsonl", [Document("other", "Again: " + shared.text), *distinct(3, "c")]
    )
    said = []
    docs = read(gold, compare=[compare], said=said)
    assert "twin" not in ids(docs.gold) | ids(docs.corpora[0].held_out)
    assert said == [
        "1 documents are left out: they, or near duplicates of them, are in a corpus that the model is compared on"
    ]


def test_line_numbers_as_ids_leave_nothing_out(tmp_path):
    paths = []
    for name in ("gold", "compare"):
        docs = [Document(str(i), doc.text, doc.spans) for i, doc in enumerate(distinct(20, name), start=1)]
        paths.append(gold_files.write_json_lines(tmp_path / f"{name}.jsonl", docs))
    docs = read(paths[0], compare=[paths[1]])
    assert len(docs.gold) + len(docs.corpora[0].held_out) == 20


# Nothing to learn from --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("docs", "share", "complaint"),
    [
        ([Document(f"s{i}", f"{CANARY} had rash {i}") for i in range(20)], 0.3, "have no PHI"),
        (
            [Document(f"s{i}", f"{CANARY} -- {i}", (PhiSpan(11, 13, PhiType.CITY),)) for i in range(20)],
            0.3,
            "no PHI",
        ),
        (
            [Document(f"p{i}", "Velmo", (PhiSpan(0, 5, PhiType.CITY),)) for i in range(20)],
            0.3,
            "nothing but PHI",
        ),
        (
            [
                Document(
                    f"p{i}", "Velmo, Zoria ", (PhiSpan(0, 5, PhiType.CITY), PhiSpan(7, 12, PhiType.CITY))
                )
                for i in range(20)
            ],
            0.3,
            "nothing but PHI",
        ),
        (distinct(20), 0.0, "no held-out document has PHI"),
        (distinct(20), 0.9999, "no document is left to train on"),
    ],
    ids=["safe", "span without token", "phi", "phi in two spans", "none held out", "all held out"],
)
def test_one_class_or_one_side_alone_is_refused_before_training(tmp_path, docs, share, complaint):
    path = gold_files.write_json_lines(tmp_path / "own" / "gold.jsonl", docs)
    with pytest.raises(ConfigurationError, match=rf"^own/gold: .*{complaint}.*\. Give ") as caught:
        read(path, share=share)
    assert CANARY not in str(caught.value)


# Mappings ---------------------------------------------------------------------------------------


@pytest.fixture
def mapping(tmp_path):
    path = tmp_path / "types.toml"
    path.write_text('[types]\nPerson = "PATIENT"\nCITY = "HOSPITAL"\n')
    return path


def test_their_types_become_ours_and_what_is_not_mapped_is_ours(tmp_path, mapping):
    types = read_type_mapping(mapping)
    path = tmp_path / "gold.jsonl"
    line = '{"id": "a", "text": "Ann Velmo 2019", "spans": [%s]}'
    spans = ('"start": 0, "end": 3, "type": "Person"', '"start": 4, "end": 9, "type": "CITY"')
    ours = '"start": 10, "end": 14, "type": "DATE"'
    path.write_text(line % ", ".join(f"{{{span}}}" for span in (*spans, ours)))
    (doc,) = read_annotated(path, types)
    assert [span.type for span in doc.spans] == [PhiType.PATIENT, PhiType.HOSPITAL, PhiType.DATE]


def test_an_unknown_type_of_theirs_names_the_document(tmp_path, mapping):
    path = tmp_path / "gold.jsonl"
    spans = [{"start": 0, "end": 3, "type": "Ort"}]
    path.write_text("\n" + json.dumps({"id": "c-9", "text": CANARY, "spans": spans}))
    with pytest.raises(InputError, match=r"gold\.jsonl: line 2, document c-9: span 0-3 .* mapping file"):
        read_annotated(path, read_type_mapping(mapping))


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ('[types]\nPerson = "HUMAN"\n', "HUMAN: unknown types. Choose from PATIENT"),
        ('[types]\nPerson = ["PATIENT"]\n', "unknown types. Choose from PATIENT"),
        ("[types]\nPerson = 3\n", "3: unknown types. Choose from PATIENT"),
        ("[types]\n", r"no table \[types\]"),
        ('Person = "PATIENT"\n', r"no table \[types\]"),
        ("types = 1\n", r"no table \[types\]"),
        ("[types", "not valid TOML"),
    ],
)
def test_a_mapping_that_maps_to_nothing_of_ours_is_refused(tmp_path, toml, complaint):
    path = tmp_path / "types.toml"
    path.write_text(toml)
    with pytest.raises(ConfigurationError, match=rf"types\.toml: .*{complaint}"):
        read_type_mapping(path)


# Files that cannot be read ----------------------------------------------------------------------


def test_a_damaged_gzip_file_is_named(tmp_path):
    whole = gzip.compress(gold_json_line(marked("a")) * 50)
    for i, data in enumerate((whole[:-9], whole[:40] + bytes(20) + whole[60:], b"no gzip")):
        path = tmp_path / f"gold{i}.jsonl.gz"
        path.write_bytes(data)
        with pytest.raises(InputError, match=rf"gold{i}\.jsonl\.gz: is not a complete gzip file\. "):
            read_annotated(path)
