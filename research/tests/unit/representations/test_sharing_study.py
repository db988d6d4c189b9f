"""The study of shared representations: its plan, its settings, its tables."""

import dataclasses
import json

import numpy as np
import pytest
import tiny_representations as tiny

pytest.importorskip("tensorflow")
pytest.importorskip("sklearn")

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.network.encoding import quantise
from inverse_deid_research.representations.attacks import A2
from inverse_deid_research.representations.config import (
    StudiedCorpus,
    StudyConfig,
    StudyTable,
    read_study_config,
)
from inverse_deid_research.representations.runs import (
    NEW_ADVERSARY,
    SharingRun,
    list_runs,
    read_study_data,
)
from inverse_deid_research.representations.sentences import word_rows
from inverse_deid_research.representations.tables import (
    DISTINGUISHING,
    compare_at_equal_attack,
    draw_figures,
    make_head,
    make_sections,
)
from inverse_deid_research.representations.training import PRE_TRAINING_ADVERSARY
from inverse_deid_research.representations.vectors import add_fallbacks, add_subwords, learn_vectors
from inverse_deid_research.studies.tables import NO_VERDICT

STUDY = """
seeds = [1, 2]
[study]
neighbours = [100, 500]
[[corpora]]
name = "invented"
train = "train.jsonl"
test = "sub/test.jsonl"
word_vectors = "learned"
"""


def read(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study_config(path)


def test_paths_count_from_the_file(tmp_path):
    (corpus,) = read(tmp_path, STUDY).corpora
    assert corpus.test == tmp_path.resolve() / "sub" / "test.jsonl"
    assert corpus.learned and corpus.word_vectors is None


def test_every_kind_runs_with_every_seed_under_its_own_name(tmp_path):
    runs = list_runs(read(tmp_path, STUDY), (1, 2))
    assert len(runs) == 2 * (9 + 5) == len({run.name for run in runs})
    assert {run.neighbours for run in runs if run.kind == "adversarial"} == {100, 500}
    assert {run.neighbours for run in runs if run.kind == "reversal"} == {100}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[study]\nneighbours = [100]", "lacks the setting 'corpora'"),
        (STUDY.replace("[100, 500]", "[1, 100]"), ">= 2"),
        (STUDY.replace("[100, 500]", '["a"]'), "expected `int`"),
        (STUDY.replace("[100, 500]", "[500]"), "study.attacked"),
        (STUDY.replace("train =", "trane ="), "has no setting 'trane'"),
        (STUDY.replace('test = "sub/test.jsonl"\n', ""), "lacks the setting 'test'"),
        (STUDY + STUDY[STUDY.index("[[corpora]]") :], "the same name"),
        (STUDY.replace("sub/test", "train"), "trained on, so it cannot be the test file"),
        ("corpora = []\n" + STUDY[: STUDY.index("[[")], "length >= 1"),
        (STUDY + "[other]\n", "has no setting 'other'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(tmp_path, text, expected):
    with pytest.raises(ConfigurationError, match=expected):
        read(tmp_path, text)


def record_of(run):
    """Invented results: the adversary gains on N = 500, pseudonymisation loses there."""
    f1 = {"non-private": 0.95, "pseudonymised": 0.94 if run.neighbours == 100 else 0.8}.get(run.kind, 0.9)
    f1 += 0.01 * (run.seed - 1)
    right = round(100 * f1)
    counts = [[right, right], [100, 100], [100, 100]]
    record = {"f1": f1, "seconds": 1.0, "documents": counts}
    if run.kind == "pseudonymised":
        counts = {"n_tokens": 10, "n_unknown": 2, "n_same": 1, "n_part": 3, "neighbours_with_original": 0.5}
        record["survival"] = counts
    if run.kind in ("adversarial", "reversal"):
        hits = [5, 5] if run.neighbours == 100 else [9, 9]
        told = {"hits": hits, "trials": [10, 10], "chance": 0.5, "share": sum(hits) / 20}
        record["attacks"] = {DISTINGUISHING: told}
        epochs = [
            (PRE_TRAINING_ADVERSARY, 0.6, 0.7),
            (PRE_TRAINING_ADVERSARY, 0.5, 0.8),
            ("alternating", 0.1, 0.5),
        ]
        figures = ("f1", "recall at threshold", "precision at threshold")
        record["readings"] = {
            reading: dict(zip(figures, values, strict=True))
            for reading, values in (("without noise", (0.9, 0.99, 0.5)), ("with noise", (0.8, 0.98, 0.4)))
        }
        record["noise"] = {"noise_in": [0.1, 0.2, 0.3], "noise_out": [0.4, 0.5, 0.6]}
        names = ("phase", "validation", "adversary_accuracy")
        record["phases"] = [dict(zip(names, epoch, strict=True)) for epoch in epochs]
    return record


def tables_of(config, records):
    found = make_sections(config, records, (1, 2))
    head = make_head(config, records, len(list_runs(config, (1, 2))) - len(records))
    return head, {table.name: table for tables in found.values() for table in tables}


def test_the_tables_hold_means_ranges_and_aims(tmp_path):
    config = read(tmp_path, STUDY)
    records = {run: record_of(run) for run in list_runs(config, (1, 2))}
    head, tables = tables_of(config, records)
    assert not any("not done yet" in line for line in head)
    assert tables["noise"].rows[1][2:] == pytest.approx((0.1, 0.2, 0.3, 0.4, 0.5, 0.6))
    assert tables["readings"].rows[1][2:] == pytest.approx((0.9, 0.99, 0.5, 0.8, 0.98, 0.4))
    table_2 = {row[0]: row[1:] for row in tables["table-2"].rows}
    assert table_2["non-private"] == pytest.approx((0.955, 0.01, 0.9767, 0.9762))
    assert table_2["adversarial, dynamic noise, N = 100"][:2] == pytest.approx((0.905, 0.01))
    assert table_2["adversarial, N = 100"] == pytest.approx((0.905, 0.01, 0.9740, 0.9689))
    assert tables["figure-5"].rows[1][5:] == pytest.approx((0.8, 0.9, 0.9, 0.9))
    assert tables["survival"].rows[0][2:] == pytest.approx((0.2, 0.1, 0.3, 0.5))
    aims = [row[2:] for row in tables["aims"].rows]
    assert [result for *_, result in aims] == ["missed", "met", "met"]
    for *interval, _ in aims:
        assert interval == pytest.approx([interval[0]] * 3, abs=1e-6)
    assert [aim[0] for aim in aims] == pytest.approx([0.05, 0.5, 0.1])
    row = tables["attacks"].rows[0]
    assert row[2] == 0.5 and row[3] <= 0.5 <= row[4] and row[6] == 20


def attack(record, n_right, n_found):
    """Attack a representation as those of a study without controls are."""
    record["attacks"] = {
        name: {"hits": hits, "trials": [10, 10], "chance": 0.5, "share": sum(hits) / 20}
        for name, hits in ((DISTINGUISHING + NEW_ADVERSARY, n_right), (A2, n_found))
    }


ANOTHER = """
[[corpora]]
name = "another"
train = "train2.jsonl"
test = "sub/test2.jsonl"
"""


def records_of_attacks(config):
    """The adversary gains on N = 500, with the first seed more; the second corpus has other figures."""
    records = {run: record_of(run) for run in list_runs(config, (1, 2))}
    for run, record in records.items():
        if run.corpus.name == "another":
            record["documents"] = [[50, 50], [100, 100], [100, 100]]
        if run.kind == "adversarial" and run.corpus.name == "another":
            attack(record, [6, 6], [6, 6])
        elif run.kind == "adversarial":
            attack(record, [5, 5] if run.neighbours == 100 else [10 - run.seed, 10 - run.seed], [10, 9])
    return records


def test_costs_and_attacks_of_each_n_are_compared_without_a_verdict(tmp_path):
    config = read(tmp_path, STUDY.replace("[100, 500]", "[500, 100]") + ANOTHER)
    _, tables = tables_of(config, records_of_attacks(config))
    found = {row[1:4]: row[4:] for row in tables["neighbours"].rows if row[0] == "invented"}
    expected = {
        (100, "F1, pseudonymised", "non-private"): -0.01,
        (100, "F1, adversarial", "non-private"): -0.05,
        (100, "F1, adversarial", "pseudonymised"): -0.04,
        (100, "new adversary right", None): 0.5,
        (100, "look-up right", None): 0.95,
        (500, "F1, pseudonymised", "non-private"): -0.15,
        (500, "F1, adversarial", "non-private"): -0.05,
        (500, "F1, adversarial", "pseudonymised"): 0.1,
        (500, "new adversary right", None): 0.85,
        (500, "look-up right", None): 0.95,
        (500, "F1, pseudonymised", "N = 100"): -0.14,
        (500, "F1, adversarial", "N = 100"): 0,
        (500, "new adversary right", "N = 100"): 0.35,
        (500, "look-up right", "N = 100"): 0,
    }
    assert list(found) == list(expected)
    for row, value in expected.items():
        assert found[row][0] == pytest.approx(value, abs=1e-6)
        assert found[row][1] - 1e-6 <= value <= found[row][2] + 1e-6
    assert found[(500, "new adversary right", None)][1:] == pytest.approx((0.8, 0.9))
    assert found[(100, "look-up right", None)][1:] == pytest.approx((0.9, 1.0))


def test_a_study_of_one_n_has_no_table_of_n(tmp_path):
    config = read(tmp_path, STUDY.replace("[100, 500]", "[100]"))
    assert "neighbours" not in tables_of(config, {})[1]


def test_the_new_adversary_is_drawn_where_there_is_no_other(tmp_path):
    config = read(tmp_path, STUDY.replace("[100, 500]", "[100, 500]\ncontrols = false") + ANOTHER)
    records = {run: one for run, one in records_of_attacks(config).items() if run.kind == "adversarial"}
    drawn = draw_figures(config, records)["figure-5.svg"]
    # From 0.5 to 1: 0.5 and 0.85 with seeds at 0.8 and 0.9; the second corpus 0.6 twice.
    assert 'points="404,302 704,127" class="curve"' in drawn
    assert 'points="404,302 704,152 704,102 404,302" class="area"' in drawn
    assert 'points="404,592 704,592" class="curve"' in drawn
    assert "new adversary" in drawn


def test_the_figures_show_what_the_tables_hold(tmp_path):
    config = read(tmp_path, STUDY)
    records = {run: record_of(run) for run in list_runs(config, (1, 2))}
    figures = draw_figures(config, records)
    # F1 from 0.7: 0.955 without protection, 0.945 and 0.805 with pseudonyms, 0.905 twice with vectors.
    words, right = 'points="52,97.8 352,214.5" class="curve"', 'points="404,302 704,102" class="curve"'
    assert words in figures["figure-4.svg"]
    assert words in figures["figure-5.svg"]
    assert 'points="52,131.2 352,131.2" class="curve"' in figures["figure-5.svg"]
    assert right in figures["figure-5.svg"]
    assert "- - non-private 0.955" in figures["figure-4.svg"]
    assert "- - aim: at most 0.550" in figures["figure-5.svg"]


def test_figures_without_runs_are_empty(tmp_path):
    figures = draw_figures(read(tmp_path, STUDY), {})
    assert [drawing.count("<polyline") for drawing in figures.values()] == [1, 3]
    assert 'points=""' in figures["figure-4.svg"]
    assert "non-private" not in figures["figure-4.svg"]


def test_runs_that_are_missing_leave_cells_empty(tmp_path):
    config = read(tmp_path, STUDY)
    head, tables = tables_of(config, {})
    assert any("not done yet" in line for line in head)
    assert all(row[2:] == (None, None, None, "not judged yet") for row in tables["aims"].rows)


def test_a_study_of_some_seeds_says_so(tmp_path):
    config = read(tmp_path, STUDY + "[tagger]\nunits = 2\n")
    plan = list_runs(config, (1, 2))
    records = {run: record_of(run) for run in plan if run.seed == 1 or run.kind != "adversarial"}
    head, tables = tables_of(config, records)
    assert any("2 runs are not done yet" in line for line in head)
    assert [row[-1] for row in tables["aims"].rows] == ["not judged yet"] * 3


def test_nothing_is_judged_before_all_planned_seeds_have_run(tmp_path):
    config = read(tmp_path, STUDY)
    records = {run: record_of(run) for run in list_runs(config, (1,))}
    for run, record in records.items():  # more F1 than noise of any strength, and found as often
        if run.kind in ("adversarial", "noise alone"):
            told = {"hits": [5, 5], "trials": [10, 10], "chance": 0.5, "share": 0.5, "documents": [0, 1]}
            record["attacks"] = {DISTINGUISHING: told, DISTINGUISHING + NEW_ADVERSARY: told}
    sections = make_sections(config, records, (1,))
    tables = {table.name: table for found in sections.values() for table in found}
    for name in ("differences", "aims"):
        assert {row[-1] for row in tables[name].rows} == {NO_VERDICT}
        assert all(row[-4] is not None for row in tables[name].rows)
    assert [row[-1] for row in tables["equal-attack"].rows] == [NO_VERDICT, "cannot be compared"]


@pytest.mark.parametrize(
    ("seeds", "drawn"), [((1,), "drawing documents"), ((1, 2), "drawing seeds and documents")]
)
def test_a_single_seed_is_not_said_to_be_drawn(tmp_path, seeds, drawn):
    config = read(tmp_path, STUDY)
    records = {run: record_of(run) for run in list_runs(config, seeds)}
    tables = [table for found in make_sections(config, records, seeds).values() for table in found]
    for name in ("differences", "aims", "equal-attack"):
        (table,) = (one for one in tables if one.name == name)
        assert drawn in table.markdown()


def test_rows_of_table_2_are_compared_in_pairs(tmp_path):
    config = read(tmp_path, STUDY)
    records = {run: record_of(run) for run in list_runs(config, (1, 2))}
    for run, record in records.items():
        if run.kind == "dynamic noise":  # one document is far better than adversarial training, one far worse
            record["documents"] = [[100, 80], [100, 100], [100, 100]]
        if run.kind in ("dynamic noise", "adversarial"):
            hits = [9, 9] if run.kind == "dynamic noise" else [5, 5]
            told = {"hits": hits, "trials": [10, 10], "chance": 0.5, "share": sum(hits) / 20}
            record.setdefault("attacks", {})[DISTINGUISHING + NEW_ADVERSARY] = told
    found = {row[1:4]: row[4:] for row in tables_of(config, records)[1]["differences"].rows}
    assert found["adversarial", "non-private", "F1"] == (*[pytest.approx(-0.05, abs=1e-6)] * 3, "less")
    assert found["adversarial", "pseudonymised", "F1"][-1] == "less"
    assert found["dynamic noise", "adversarial", "F1"][-1] == "undecided"
    of_attack = found["dynamic noise", "adversarial", "new adversary right"]
    assert of_attack == (*[pytest.approx(0.4, abs=1e-6)] * 3, "more")
    left = {run: record for run, record in records.items() if run.kind != "augmented" or run.seed == 1}
    pairs = {row[1] for row in tables_of(config, left)[1]["differences"].rows}
    assert "augmented" not in pairs and "dynamic noise" in pairs


def test_other_word_vectors_are_compared_with_the_first_ones(tmp_path):
    corpus = STUDY[STUDY.index("[[corpora]]") :]
    other = corpus.replace('"invented"', '"invented, subwords"').replace('"learned"', '"subwords"')
    elsewhere = corpus.replace('"invented"', '"elsewhere"').replace("sub/test", "sub/elsewhere")
    config = read(tmp_path, STUDY + other + elsewhere)
    records = {run: record_of(run) for run in list_runs(config, (1, 2))}
    for run, record in records.items():
        if run.corpus.name == "invented, subwords":
            record["documents"] = [[80, 80], [100, 100], [100, 100]]
    rows = [row for row in tables_of(config, records)[1]["differences"].rows if ", invented" in row[2]]
    assert [row[:3] for row in rows] == [
        ("invented, subwords", "non-private", "non-private, invented"),
        ("invented, subwords", "adversarial", "adversarial, invented"),
    ]
    assert [row[4] for row in rows] == pytest.approx([0.8 - 0.955, 0.8 - 0.905], abs=0.01)
    assert [row[-1] for row in rows] == ["less", "less"]


def test_an_aim_inside_of_its_interval_is_undecided(tmp_path):
    config = read(tmp_path, STUDY)
    records = {run: record_of(run) for run in list_runs(config, (1, 2))}
    for run, record in records.items():
        if run.kind == "adversarial":  # one document is far better than without noise, one far worse
            record["documents"] = [[100, 88], [100, 100], [100, 100]]
    _, tables = tables_of(config, records)
    assert [row[-1] for row in tables["aims"].rows] == ["undecided", "met", "met"]


def test_a_note_of_the_study_stands_in_the_report(tmp_path):
    config = read(tmp_path, STUDY.replace("[study]", '[study]\nnote = "chosen with seed 1"'))
    head, _ = tables_of(config, {})
    assert "chosen with seed 1" in head


def test_learned_vectors_hold_the_words_that_occur_twice():
    docs = tiny.documents(10)
    found = learn_vectors([*docs, dataclasses.replace(docs[0], text="hapax", spans=())], 4, 1)
    assert found.dim == 4
    assert {"rash", "mild"} <= set(found.words)
    assert "hapax" not in found.words
    with pytest.raises(ConfigurationError, match="need more text"):
        learn_vectors(docs[:1], 100, 1)


def test_noise_alone_is_held_and_no_weight_outgrows_it(tmp_path):
    config = read(tmp_path, STUDY)
    alone = [run for run in list_runs(config, (1,)) if run.kind == "noise alone"]
    part = alone[1].settings(config).representation
    assert (part.noise_out, part.hold_noise, part.normalise) == (0.2, True, "around noise")


def write_documents(path, docs):
    spans = ([{"start": one.start, "end": one.end, "type": one.type} for one in doc.spans] for doc in docs)
    lines = ({"id": doc.id, "text": doc.text, "spans": of} for doc, of in zip(docs, spans, strict=True))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_nothing_is_learned_from_test_documents(tmp_path):
    """Neither vectors of their words and forms, nor anything of a document of their patients."""
    train = [
        tiny.annotated(f"[Zora] had a rash and [Tamsin{chr(97 + i)} Brask] had a fever.", f"a-{i}")
        for i in range(8)
    ]
    test = [
        tiny.annotated(f"[Tamsin{name} Brask] had a rare exanthem by 2013.", f"b-{name}") for name in "az"
    ]
    corpus = StudiedCorpus(
        name="invented",
        train=write_documents(tmp_path / "train.jsonl", train),
        test=write_documents(tmp_path / "test.jsonl", test),
        learned=True,
    )
    data = read_study_data(corpus, StudyConfig(corpora=(corpus,), study=StudyTable(learned_dim=2)))
    assert "rash" in data.vectors.words
    assert not {"rare", "exanthem", "0000"} & set(data.vectors.words)
    assert sum(len({one.document for one in side}) for side in (data.train, data.held_out)) == 7


def test_unknown_numbers_have_the_vector_of_their_shape():
    docs = [tiny.annotated(f"The rash was mild by {year}.", str(year)) for year in (1998, 2007)]
    found = add_fallbacks(tiny.vectors(), docs)
    assert set(found.words) - set(tiny.vectors().words) == {"0000"}
    assert "2013" not in found.numbers()
    assert word_rows(["2013", "rash", "Quirke"], found.numbers()).tolist() == [
        found.numbers()["0000"],
        found.numbers()["rash"],
        0,
    ]


def test_forms_that_are_published_tell_no_letters():
    docs = [tiny.annotated("[Quirke7] and 山田 had a rash.", name) for name in ("a", "b")]
    assert set(add_fallbacks(tiny.vectors(), docs).words) - set(tiny.vectors().words) == {"XXXX0", "XX"}


def test_subwords_give_a_word_a_vector_near_those_with_its_parts():
    words = [f"{stem}{end}" for stem in ("lind", "brask") for end in ("ero", "era", "eri", "ers")]
    rows = np.repeat(np.eye(2), 4, axis=0)
    found = add_subwords(quantise(words, rows.astype(np.float32)), [tiny.annotated("[Lindere] 1987 b12")])
    row = found.matrix()[found.numbers()["lindere"]]
    assert row[0] > 2 * abs(row[1])
    assert set(found.words) == {*words, "lindere"}


def compared(f1_of_noise, found_by_adversarial):
    """Two seeds, 30 documents; the attack finds .9, .7 and .5 under noise."""
    records = {}
    config_of = {0.0: found_by_adversarial, 0.1: 9, 0.2: 7, 0.3: 5}
    corpus = StudiedCorpus(name="invented", train="a", test="b")
    for strength, n_found in config_of.items():
        for seed in (1, 2):
            kind = "noise alone" if strength else "adversarial"
            run = SharingRun(corpus=corpus, kind=kind, neighbours=100, seed=seed, strength=strength)
            right = f1_of_noise if strength else 8
            told = {"hits": [n_found] * 30, "trials": [10] * 30, "documents": list(range(30))}
            records[run] = {"documents": [[right] * 30, [10] * 30, [10] * 30], "attacks": {"attack": told}}
    return compare_at_equal_attack(records, 100, "attack", n_resamples=50)


@pytest.mark.parametrize(
    ("f1", "verdict"), [(6, "adversarial is better"), (9, "noise alone is better"), (8, "undecided")]
)
def test_adversarial_training_is_compared_with_noise_at_equal_success(f1, verdict):
    success, difference, low, high, found = compared(f1, 6)
    assert (success, difference) == pytest.approx((0.6, 0.8 - f1 / 10))
    assert low <= difference + 1e-9 and difference - 1e-9 <= high
    assert found == verdict


def test_success_out_of_reach_of_the_noise_is_not_compared():
    assert compared(6, 4) is None


@pytest.mark.parametrize(
    ("f1", "verdict"), [(6, "cannot be compared"), (9, "noise alone is better"), (8, "cannot be compared")]
)
def test_noise_that_is_attacked_less_and_has_more_f1_is_better(f1, verdict):
    success, difference, _, _, found = compared(f1, 10)
    assert (success, difference, found) == (1.0, pytest.approx(0.8 - f1 / 10), verdict)
