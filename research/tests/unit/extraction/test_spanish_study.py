"""The study of concepts in Spanish on a few invented cases: its masks, its groups, and when it gives a verdict."""

import json

import numpy as np
import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.evaluation.measures.resampling import Difference
from inverse_deid_research.extraction import spanish
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, ConceptSpan
from inverse_deid_research.extraction.spanish import MODELS, read_spanish_study, run_spanish_study
from inverse_deid_research.extraction.tables import Verdicts, spanish_tables
from inverse_deid_research.studies.study import StudyOptions
from inverse_deid_research.studies.tables import NO_VERDICT

NAMES = ("Lucía Peñalba", "Iker Zumeta", "Noa Figuerola")
DRUGS = ("velmicina", "tolandina", "aspirina")


def write_case(number, *, identified, literal=True):
    """Return a case as lines of both corpora; that with identifiers is None if there is none."""
    name, drug = NAMES[number % 3], DRUGS[number // 3 % 3]
    story = f"Paciente {number} con tos tratada con {drug} desde el día {number}."
    start = story.index(drug)
    concept = {"start": start, "end": start + len(drug), "type": "NORMALIZABLES"}
    told = {"id": f"c{number}", "text": story, "spans": [concept]}
    if not identified:
        return told, None
    head = f"Nombre: {name}.\n"
    span = {"start": 8, "end": 8 + len(name), "type": "NOMBRE_SUJETO_ASISTENCIA"}
    text = head + (story if literal else story.replace("tos", "fiebre"))
    return told, {"id": f"c{number}", "text": text, "spans": [span]}


@pytest.fixture
def study(tmp_path):
    lines = {"train": [], "dev": [], "test": [], "identifiers": []}
    for number in range(24):
        part = "train" if number < 12 else "dev" if number < 18 else "test"
        told, identified = write_case(number, identified=number % 6 != 5, literal=number % 6 != 4)
        lines[part].append(told)
        lines["identifiers"] += [identified] if identified else []
    for name, found in lines.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found))
    (tmp_path / "types.toml").write_text('[types]\nNOMBRE_SUJETO_ASISTENCIA = "PATIENT"\n')
    path = tmp_path / "study.toml"
    path.write_text(
        "seeds = [1, 2]\n[spanish]\n"
        'identifiers = ["identifiers.jsonl"]\nmapping = "types.toml"\ntypes = ["NORMALIZABLES"]\n'
        + "".join(f'{part} = "{part}.jsonl"\n' for part in ("train", "dev", "test"))
        + "[extractor]\ntoken_units = 6\nhidden_units = 5\nchar_dim = 4\nchar_units = 4\nword_dim = 6\n"
        "[training]\nepochs = 1\nbatch = 4\npretraining = 1\n"
    )
    return path


WORDS = {PHI: (NAMES, "PATIENT"), CONCEPTS: (DRUGS, "NORMALIZABLES")}


class WordTagger:
    """Finds the invented names and drugs wherever they are; one that has both tasks knows a drug less."""

    def __init__(self, types):
        self.types = types

    def find(self, texts):
        return [{task: tuple(self.find_words(text, *WORDS[task])) for task in self.types} for text in texts]

    def knows(self, word):
        return len(self.types) == 1 or word != DRUGS[0]

    def find_words(self, text, words, kind):
        found = [(text.find(word), word) for word in words if self.knows(word)]
        return (ConceptSpan(at, at + len(word), kind) for at, word in sorted(found) if at >= 0)


@pytest.fixture(autouse=True)
def trained_on(monkeypatch):
    """Return the training documents of each training: a tagger of words stands for a network."""
    trained = []

    def train(train, dev, config, training, *, types, vectors, on_epoch):
        trained.append((train, types, training.seed))
        return WordTagger(types)

    monkeypatch.setattr(spanish, "train_tagger", train)
    return trained


def options_of(folder, seeds=(), only=()):
    return StudyOptions(folder=folder, seeds=seeds, only=only, command="it", say=lambda line: None)


def read_record(folder, name):
    return json.loads((folder / "runs" / f"{name}.json").read_text())


def test_a_study_of_one_seed_gives_no_verdict_and_is_resumed(study, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run_spanish_study(study, options_of(out, (1,)))
    report = (out / "report.md").read_text()
    assert f"\n{NO_VERDICT.capitalize()}.\n" in report
    assert f"| {NO_VERDICT} |" in report
    assert not any(f"| {verdict} |" in report for verdict in ("higher", "lower", "undecided"))
    assert "test 6 (5 with identifiers, 4 of these on one text)" in report
    concepts = read_record(out, "concepts-original-1")["test"]["concepts"]
    assert {group: len(one["parts"]) for group, one in concepts["predicted"].items()} == {
        "all": 6, "identified": 5, "one text": 4, "apart": 1,
    }  # fmt: skip
    assert set(concepts["gold"]) == {"one text"}
    assert not any(word in report for word in (*NAMES, *DRUGS))
    before = (out / "runs" / "concepts-original-1.json").read_bytes()

    trained = []
    train_run = spanish.train_run
    monkeypatch.setattr(
        spanish, "train_run", lambda run, say: (trained.append(run.name), train_run(run, say))[1]
    )
    run_spanish_study(study, options_of(out))
    assert trained == [f"{model.name}-2" for model in MODELS]
    assert (out / "runs" / "concepts-original-1.json").read_bytes() == before
    report = (out / "report.md").read_text()
    assert NO_VERDICT not in report.lower()
    assert any(f"| {verdict} |" in report for verdict in ("higher", "lower", "undecided"))


def test_what_each_model_is_trained_on(study, tmp_path, trained_on):
    """A name is in no masked text that is trained on, and a task is learned where it has gold."""
    run_spanish_study(study, options_of(tmp_path / "out", (1,)))
    docs = dict(zip((model.name for model in MODELS), (train for train, _, _ in trained_on), strict=True))
    assert {name: len(found) for name, found in docs.items()} == {
        "phi": 10, "phi-first": 6, "phi-second": 4, "stacked": 14, "multitask": 14,
        **{f"concepts-{form}": 12 for form in ("original", "predicted", "marker", "surrogate")},
    }  # fmt: skip
    for name, mark, left in (("original", "Nombre", 8), ("predicted", "[NAME]", 0), ("marker", "PHI", 0)):
        texts = [doc.doc.text for doc in docs[f"concepts-{name}"]]
        assert sum(any(one in text for one in NAMES) for text in texts) == left
        assert sum(mark in text for text in texts) == 8
    assert all(doc.gold == (CONCEPTS,) for doc in docs["concepts-marker"])
    assert [doc.gold for doc in docs["stacked"]].count((PHI,)) == 2
    assert all(
        doc.doc.text[one.start : one.end] in DRUGS
        for doc in docs["concepts-surrogate"]
        for one in doc.concepts
    )


def test_no_tagger_reads_a_case_that_it_was_trained_on(study, tmp_path):
    taggers = ("phi", "phi-first", "phi-second")
    out = tmp_path / "out"
    run_spanish_study(study, options_of(out, (1,), taggers))
    settings = read_spanish_study(study)
    cases = spanish.SpanishCases(spanish.read_cases(settings.spanish), ("NORMALIZABLES",), out)
    names = list(cases.numbers)
    trained_on = {
        "phi": {case.id for case in cases.parts["train"]},
        "phi-first": {case.id for case in cases.half(0)},
        "phi-second": {case.id for case in cases.half(1)},
    }
    assert trained_on["phi-first"].isdisjoint(trained_on["phi-second"])
    assert trained_on["phi-first"] | trained_on["phi-second"] == trained_on["phi"]
    for name in taggers:
        with np.load(out / "runs" / f"{name}-1-masks.npz") as arrays:
            read = {names[number] for number in arrays["spans"][:, 0].tolist()}
        assert read.isdisjoint(trained_on[name])


def test_surrogates_are_identifiers_of_training_cases(study):
    parts = spanish.read_cases(read_spanish_study(study).spanish)
    own = [case for case in parts["train"] if NAMES[0] in case.read.doc.text]
    cases = spanish.SpanishCases(parts | {"train": own}, ("NORMALIZABLES",), study.parent)
    assert [set(found) for found in cases.pool.values()] == [{NAMES[0]}]


def test_masked_text_needs_the_taggers(study, tmp_path):
    with pytest.raises(ConfigurationError, match="phi-1 has not run"):
        run_spanish_study(study, options_of(tmp_path / "out", (1,), ("concepts-marker",)))


def test_masks_that_are_gone_are_made_again(study, tmp_path):
    out = tmp_path / "out"
    run_spanish_study(study, options_of(out, (1,), ("phi",)))
    (out / "runs" / "phi-1-masks.npz").unlink()
    run_spanish_study(study, options_of(out, (1,), ("phi",)))
    assert (out / "runs" / "phi-1-masks.npz").is_file()


def test_a_seed_that_was_not_fixed_beforehand_is_refused(study, tmp_path):
    with pytest.raises(ConfigurationError, match=r"seeds 3 are not in study\.toml"):
        run_spanish_study(study, options_of(tmp_path / "out", (1, 3)))


def test_forms_of_a_text(study):
    settings = read_spanish_study(study)
    parts = spanish.read_cases(settings.spanish)
    cases = spanish.SpanishCases(parts, ("NORMALIZABLES",), study.parent)
    case = parts["test"][0]
    (span,) = case.read.doc.spans
    found = {case.id: (span,)}
    texts = {
        form: spanish._rewrite(case.read, form, found, cases, 1).text
        for form in ("original", "gold", "predicted", "marker", "surrogate")
    }
    rest = case.read.doc.text[span.end :]
    assert texts["original"] == case.read.doc.text
    assert texts["gold"] == texts["predicted"] == f"Nombre: [NAME]{rest}"
    assert texts["marker"] == f"Nombre: PHI{rest}"
    assert any(texts["surrogate"] == f"Nombre: {name}{rest}" for name in NAMES)
    assert texts["surrogate"] == spanish._rewrite(case.read, "surrogate", found, cases, 1).text


@pytest.mark.parametrize(
    ("n_seeds", "looks", "gap", "told"),
    [
        (3, (), (0.02, 0.01, 0.03), "higher"),
        (3, (), (0.02, -0.01, 0.03), "undecided"),
        (2, (), (0.02, 0.01, 0.03), NO_VERDICT),
        (2, (), (0.02, -0.01, 0.03), NO_VERDICT),
        (3, (1, 3), (0.02, 0.01, 0.03), "undecided: looked at after 1 and 3 seeds"),
        (3, (1, 3), (0.02, -0.01, 0.03), "undecided"),
    ],
)
def test_a_verdict_needs_all_seeds_and_a_single_look(n_seeds, looks, gap, told):
    assert Verdicts(seeds=(1, 2, 3), looks=looks).judge(Difference(*gap), n_seeds) == told


def test_tables_of_nothing_have_empty_cells():
    tables = [table for found in spanish_tables({}, Verdicts(seeds=(1,))).values() for table in found]
    assert all(table.markdown() for table in tables)
    (differences,) = [table for table in tables if table.name == "spanish-differences"]
    assert all(set(row[2:]) == {None} for row in differences.rows)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("seeds = [1, 2]\n", "", "lacks the setting 'seeds'"),
        ("seeds = [1, 2]", "seeds = []", "seeds: expected `array` of length >= 1"),
        ('types = ["NORMALIZABLES"]', "types = []", r"spanish\.types: expected `array` of length >= 1"),
        ("[training]", "[stacked]\nrate = 1\n[training]", "stacked has no setting 'rate'"),
        ("[extractor]", "[other]", "no setting 'other'"),
    ],
)
def test_settings_that_cannot_be_used_are_named(study, old, new, told):
    study.write_text(study.read_text().replace(old, new))
    with pytest.raises(ConfigurationError, match=told):
        read_spanish_study(study)
