"""The study of extraction: its settings, its tables, and that a run that is done is not repeated."""

import json
from datetime import date

import pytest
from fake_maskers import mask_capitals
from tiny_extractors import documents

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document
from inverse_deid_research.extraction import study as extraction_study
from inverse_deid_research.extraction.concepts import CONCEPTS, ConceptDocument, ConceptSpan
from inverse_deid_research.extraction.readers import render_json_line
from inverse_deid_research.extraction.study import (
    MODELS,
    keep_apart,
    measure_spans,
    read_extraction_study,
    run_extraction_study,
)
from inverse_deid_research.extraction.tables import extraction_tables
from inverse_deid_research.extraction.views import BY_MASKER, View, build_maskers, rewrite_documents
from inverse_deid_research.studies.study import StudyOptions

KINDS = ("Drug", "Effect")
DATA = '[english]\ntypes = ["Drug"]\ntrain = "a"\ndev = "b"\ntest = "c"\n'


def result(f1):
    right = round(10 * f1)
    return {"f1": f1, "by_type": dict.fromkeys(KINDS, f1), "parts": [[2 * right, 20], [20, 20]]}


def record(run, dev, test):
    found = {
        part: {task: {view.value: result(f1) for view in run.read} for task in run.tasks}
        for part, f1 in (("dev", dev), ("test", test))
    }
    return {"seconds": 2.0, "epochs": 3, "step_seconds": 1.0, **found}


def rows(records, name):
    tables = [table for found in extraction_tables(records).values() for table in found]
    (table,) = [table for table in tables if table.name == name]
    return {row[0]: row for row in table.rows}


def test_the_seed_is_chosen_on_the_development_documents():
    records = {run.name: [record(run, 0.9, 0.5), record(run, 0.8, 0.7)] for run in MODELS}
    identification = rows(records, "de-identification")
    assert identification["stacked"][1:3] == (0.5, pytest.approx(0.6))
    assert identification["stacked"][6:] == (0.959, 0.968)
    assert identification["tagger alone, Spanish, as published"][6:] == (None, 0.968)
    extraction = rows(records, "extraction")
    assert extraction["multitask"][2:4] == (0.5, pytest.approx(0.6))
    assert extraction["pipeline, trained on original text"][4] is None
    combination = rows(records, "combinations")["4"]
    assert combination[1:] == ("predicted", "predicted", pytest.approx(0.85), pytest.approx(0.6), 0.896, 0.9)


def result_of(rights):
    """F1 of case reports with ten gold and ten found concepts each."""
    parts = [[2 * right, 20] for right in rights]
    return {"f1": sum(rights) / 10 / len(rights), "by_type": {}, "parts": parts}


def test_an_aim_inside_of_the_interval_is_undecided():
    """The loss on placeholders is 0 or 0.01 by report, on the marker 0.3, with relative dates 0."""
    found = {
        "concepts-original": [9] * 40,
        "concepts-predicted": [9, 8.9] * 20,
        "concepts-marker": [6] * 40,
        "concepts-relative-dates": [9] * 39 + [8.9],
        "stacked": [9] * 40,
        "multitask": [8] * 40,
        "spanish-phi": [9] * 40,
    }
    records = {run.name: [] for run in MODELS}
    for run in MODELS:
        if run.name in found:
            record_of = {view.value: result_of(found[run.name]) for view in run.read}
            records[run.name] = [{part: dict.fromkeys(run.tasks, record_of) for part in ("dev", "test")}] * 2
    aims = rows(records, "extraction-aims")
    assert [row[4] for row in aims.values()] == ["undecided", "missed", "met", "met", "missed", "missed"]
    values = [round(row[1], 4) for row in aims.values()]
    assert values == [0.005, 0.3, 0.0003, 0.005, -0.095, 0.9]
    low, high = next(iter(aims.values()))[2:4]
    assert low < 0.005 < high


def test_what_is_not_done_yet_has_empty_cells():
    (stacked,) = [run for run in MODELS if run.name == "stacked"]
    records = {run.name: [] for run in MODELS} | {"stacked": [record(stacked, 0.9, 0.8)]}
    assert rows(records, "extraction")["stacked"][2:6] == (0.8, 0.8, None, None)
    assert rows(records, "extraction")["multitask"][2:6] == (None,) * 4
    assert all(row[1:] == (None,) * 4 for row in rows(records, "extraction-aims").values())


def test_without_the_other_corpus_its_row_is_left_out():
    records = {run.name: [record(run, 0.9, 0.5)] for run in MODELS if run.corpus == "English"}
    assert not any("Spanish" in name for name in rows(records, "de-identification"))


def test_sentences_of_a_case_report_count_as_one():
    docs = [
        ConceptDocument(Document(f"12_{number}", found.doc.text), found.concepts)
        for number, found in enumerate(documents(0, 2))
    ]
    assert measure_spans(docs, [found.concepts for found in docs], CONCEPTS, KINDS)["parts"] == [[8, 8]]


def test_training_is_kept_apart_from_the_later_parts():
    """Of the same eleven words as a later document, except the first, and of other words."""
    like_test, like_dev, own, dev_like_test = documents(0, 4)
    dev, first, second = (
        ConceptDocument(Document(f"later-{one.id}", f"Yesterday {one.doc.text}"))
        for one in (like_dev, like_test, dev_like_test)
    )
    kept = keep_apart(
        {"train": [like_test, like_dev, own], "dev": [dev_like_test, dev], "test": [first, second]}
    )
    assert kept == {"train": [own], "dev": [dev], "test": [first, second]}


def test_what_is_measured_is_what_seqeval_says():
    docs = documents(0, 2)
    first, second = (doc.concepts for doc in docs)
    found = [first, (ConceptSpan(0, 2, "Effect"), second[0])]
    measured = measure_spans(docs, found, CONCEPTS, KINDS)
    assert measured["f1"] == pytest.approx(3 / 4)
    assert measured["parts"] == [[4, 4], [2, 4]]


def test_views_of_a_document():
    (doc,) = documents(1, 2)
    maskers = dict.fromkeys(BY_MASKER, mask_capitals())
    texts = {view: rewrite_documents([doc], view, maskers)[0].doc.text for view in View}
    assert texts[View.ORIGINAL] == doc.doc.text
    assert texts[View.GOLD] == "Mr [NAME] took Velmo on day 1 and had rash."
    assert texts[View.MARKER] == "PHI took PHI on day PHI and had rash."
    with pytest.raises(ConfigurationError, match="needs a masker"):
        rewrite_documents([doc], View.MARKER, {})


def test_the_maskers_of_the_views():
    """The packaged model: categories, the plain marker, and day counts where dates were."""
    text = "Mr Okonkwo took Velmo on 12 March 2019 and had rash on 19 March 2019."
    start = text.index("rash")
    doc = ConceptDocument(Document("d", text), (ConceptSpan(start, start + 4, "Effect"),))
    maskers = build_maskers(BY_MASKER, today=date(2020, 1, 1))
    new = {view: rewrite_documents([doc], view, maskers)[0] for view in BY_MASKER}
    predicted, marker, relative = (new[view].doc.text for view in BY_MASKER)
    assert "[DATE]" in predicted and "[NAME]" in predicted
    assert "PHI" in marker and "[" not in marker
    assert "Day 0" in relative and "Day +7" in relative and "PHI" in relative
    for found in new.values():
        assert not {"Okonkwo", "2019", "March"} & set(found.doc.text.replace(".", " ").split())
        (concept,) = found.concepts
        assert found.doc.text[concept.start : concept.end] == "rash"
    assert build_maskers([View.ORIGINAL, View.GOLD], today=date(2020, 1, 1)) == {}


@pytest.fixture
def study(tmp_path):
    for part, numbers in (("train", (0, 3)), ("dev", (3, 5)), ("test", (5, 8))):
        (tmp_path / f"{part}.jsonl").write_bytes(b"".join(map(render_json_line, documents(*numbers))))
    lines = [f'{part} = "{part}.jsonl"' for part in ("train", "dev", "test")]
    path = tmp_path / "study.toml"
    path.write_text(
        "\n".join(["[english]", 'types = ["Drug", "Effect"]', *lines, "[training]", "epochs = 1"])
    )
    return path


def options_of(folder, seeds, only=()):
    return StudyOptions(folder=folder, seeds=seeds, only=only, command="it", say=lambda line: None)


def test_an_interrupted_study_is_resumed(study, tmp_path, monkeypatch):
    done = []

    def trained(run, say):
        done.append((run.model.name, run.seed))
        if len(done) == 4:
            raise KeyboardInterrupt
        return record(run.model, 0.9, 0.8)

    monkeypatch.setattr(extraction_study, "train_run", trained)
    options = options_of(tmp_path / "out", (1, 2))
    with pytest.raises(KeyboardInterrupt):
        run_extraction_study(study, options)
    run_extraction_study(study, options)
    assert len(done) == 2 * 10 + 1
    assert len(set(done)) == 2 * 10
    report = (tmp_path / "out" / "report.md").read_text()
    assert "English train 3, dev 2, test 3" in report
    assert "0.9680" in report
    assert {path.name for path in (tmp_path / "out").glob("*.csv")} == {
        "combinations.csv", "de-identification.csv", "embeddings.csv", "extraction.csv", "extraction-types.csv",
        "extraction-aims.csv",
    }  # fmt: skip


def test_a_part_of_the_study(study, tmp_path, monkeypatch):
    done = []

    def trained(run, say):
        done.append((run.model.name, run.seed))
        return record(run.model, 0.9, 0.8)

    monkeypatch.setattr(extraction_study, "train_run", trained)
    out = tmp_path / "out"
    run_extraction_study(study, options_of(out, (2,), only=("stacked", "phi")))
    assert done == [("phi", 2), ("stacked", 2)]
    assert "not done yet" in (tmp_path / "out" / "report.md").read_text()
    run_extraction_study(study, options_of(out, (1, 2)))
    assert len(done) == len(set(done)) == 2 * 10
    assert "not done yet" not in (tmp_path / "out" / "report.md").read_text()
    with pytest.raises(ConfigurationError, match=r"no runs named other\. It has: phi, "):
        run_extraction_study(study, options_of(out, (1,), only=("other",)))


def test_one_tagger_of_spanish_identifiers_knows_no_patient_of_a_test_document(study, tmp_path, monkeypatch):
    seen = {}

    def trained(run, say):
        seen[run.kind] = {part: [doc.doc.id for doc in docs] for part, docs in run.corpus.parts.items()}
        return record(run.model, 0.9, 0.8)

    for part, numbers in {"train": (0, 1, 2), "dev": (1, 2), "test": (0,)}.items():
        people = [f"{('Lucía', 'Iker', 'Noa')[number]} Zumeta" for number in numbers]
        lines = (
            json.dumps(
                {
                    "id": f"{part}-{number}",
                    "text": f"{name} tiene tos desde {part}",
                    "spans": [{"start": 0, "end": len(name), "type": "PATIENT"}],
                }
            )
            for number, name in zip(numbers, people, strict=True)
        )
        (tmp_path / f"es-{part}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    table = "".join(f'{part} = "es-{part}.jsonl"\n' for part in ("train", "dev", "test"))
    study.write_text(f"{study.read_text()}\n[spanish]\n{table}")
    monkeypatch.setattr(extraction_study, "train_run", trained)
    run_extraction_study(study, options_of(tmp_path / "out", (1,), ("spanish-phi", "spanish-phi-whole")))
    assert seen["spanish-phi-whole"]["train"] == ["train-0", "train-1", "train-2"]
    assert seen["spanish-phi"] == seen["spanish-phi-whole"] | {"train": ["train-1", "train-2"]}


def test_a_text_in_two_parts_is_refused(study, tmp_path):
    (tmp_path / "test.jsonl").write_bytes(b"".join(map(render_json_line, documents(0, 2))))
    with pytest.raises(ConfigurationError, match="2 texts are in train and in test"):
        run_extraction_study(study, options_of(tmp_path / "out", (1,)))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (DATA.replace('["Drug"]', "[]"), r"english\.types: expected `array` of length >= 1"),
        ('[english]\ntypes = ["Drug"]\ntrain = "a"\ntest = "b"\n', "english lacks the setting 'dev'"),
        (DATA + "[other]\n", "no setting 'other'. It has: english, spanish, seeds, looks"),
        ("seeds = 3\n" + DATA, "seeds: expected `array`"),
        (DATA.replace('"a"', "3"), r"english\.train: expected a path in quotation marks"),
        ("multitask = 3\n" + DATA, "multitask: expected `object"),
        (DATA + "[stacked]\nrate = 0.1\n", "stacked has no setting 'rate'"),
        ("training = 3\n" + DATA + "[stacked]\n", "training: expected `object"),
        (DATA + '[spanish]\ntrain = "a"\n', "spanish lacks the setting 'test'"),
    ],
)
def test_settings_that_cannot_be_used_are_named(tmp_path, changed, told):
    (tmp_path / "s.toml").write_text(changed)
    with pytest.raises(ConfigurationError, match=told):
        read_extraction_study(tmp_path / "s.toml")


def test_a_joint_kind_has_rates_of_its_own(tmp_path):
    (tmp_path / "s.toml").write_text(
        DATA + "[training]\nepochs = 7\nlearning_rate = 0.4\n[multitask]\nlearning_rate = 0.2\n"
    )
    study = read_extraction_study(tmp_path / "s.toml")
    kinds = ("tagger", "multitask", "stacked")
    rates = {kind: study.joint.get(kind, study.training).learning_rate for kind in kinds}
    assert rates == {"tagger": 0.4, "multitask": 0.2, "stacked": 0.4}
    assert study.multitask.epochs == 7


@pytest.mark.parametrize(
    ("plan", "seeds", "told"),
    [
        ("seeds = [1, 2]\n", (1,), "not all seeds have run: no verdict"),
        ("seeds = [1, 2]\n", (1, 2), "met"),
        ("seeds = [1, 2]\nlooks = [1, 2]\n", (1, 2), "undecided: looked at after 1 and 2 seeds"),
        ("", (1,), "met"),
    ],
)
def test_a_verdict_needs_the_seeds_of_the_configuration(study, tmp_path, monkeypatch, plan, seeds, told):
    study.write_text(plan + study.read_text())

    def trained(run, say):
        found = result_of([8, 8] if run.model.name == "stacked" else [7, 7])
        by_task = {task: {view.value: found for view in run.model.read} for task in run.model.tasks}
        return {"seconds": 1.0, "dev": by_task, "test": by_task}

    monkeypatch.setattr(extraction_study, "train_run", trained)
    run_extraction_study(study, options_of(tmp_path / "out", seeds))
    (row,) = [
        line
        for line in (tmp_path / "out" / "extraction-aims.csv").read_text().splitlines()
        if line.startswith("stacked")
    ]
    assert row.endswith(f",{told}")


def test_a_seed_that_was_not_fixed_beforehand_is_refused(study, tmp_path):
    study.write_text("seeds = [1, 2]\n" + study.read_text())
    with pytest.raises(ConfigurationError, match=r"seeds 3 are not in study\.toml"):
        run_extraction_study(study, options_of(tmp_path / "out", (1, 3)))


def test_the_shipped_configuration_is_read():
    from pathlib import Path

    path = Path(__file__).parents[3] / "configs" / "experiments" / "extraction.toml"
    study = read_extraction_study(path)
    assert study.types == KINDS
    assert study.extractor.token_units == 256
    assert study.spanish.mapping.name == "meddocan-types.toml"
