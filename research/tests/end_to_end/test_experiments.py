"""Each experiment from invented documents to its report, on the smallest scale."""

import csv

import pytest
from click.testing import CliRunner
from invented_corpora import TINY, words_of, write_corpus, write_word_vectors

pytest.importorskip("tensorflow")

from inverse_deid.cli.main import main

pytestmark = pytest.mark.slow

ABLATIONS = """
[[variant]]
name = "crf"
title = "CRF output"
network = { output = "crf", targets = "fine", feature_set = "casing" }
leave_out = ["weak"]

[[variant]]
name = "student"
teachers = "base"
training = { window = 64 }
"""


def invoke(*arguments):
    return CliRunner().invoke(main, ["research", *map(str, arguments)])


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpora")
    for seed, (name, size) in enumerate({"train": 40, "test": 12, "carriers": 10}.items(), start=1):
        write_corpus(folder / f"{name}.jsonl", size, seed)
    write_word_vectors(folder / "vectors.npz")
    data = '[data]\ngold = ["train.jsonl"]\ncarriers = ["carriers.jsonl"]\nword_vectors = "vectors.npz"\n'
    (folder / "base.toml").write_text(data + TINY, encoding="utf-8")
    (folder / "ablations.toml").write_text(ABLATIONS, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ablated(corpora, tmp_path_factory):
    out = tmp_path_factory.mktemp("ablations") / "out"
    arguments = [
        "ablations",
        corpora / "base.toml",
        *("--out", out),
        *("--compare", corpora / "test.jsonl"),
        *("--variants", corpora / "ablations.toml"),
        *("--epochs", 1),
        *("--seeds", "4"),
    ]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return out, arguments, result.output


def test_ablations_measure_every_variant_on_every_corpus(ablated):
    found = rows(ablated[0] / "runs.csv")
    measured = {(row["variant"], row["seeds"]) for row in found}
    assert {
        ("base", "4"),
        ("base", "5"),
        ("base", "6"),
        ("crf", "4"),
        ("student", "4"),
    } < measured
    assert {("mean-2", "4+5"), ("minimum-3", "4+5+6"), ("single-threshold", "6"), ("passes", "5")} < measured
    assert len({row["corpus"] for row in found}) == 2
    assert all(0 <= float(row["recall"]) <= 1 for row in found)


def test_the_ablation_report_says_where_it_comes_from_and_shows_no_text(ablated, corpora):
    report = (ablated[0] / "report.md").read_text(encoding="utf-8")
    for piece in ("inverse-deid research ablations", "sha256", "seeds: 4, 5, 6", "training on", "duration"):
        assert piece in report
    assert "| CRF output |" in report
    shown = report + ablated[2]
    assert not {word for word in words_of(corpora / "test.jsonl") if word in shown}


def test_finished_ablations_are_not_trained_again(ablated):
    out, arguments, _ = ablated
    before = {
        path: path.stat().st_mtime_ns for path in (*(out / "runs").iterdir(), *(out / "epochs").iterdir())
    }
    (out / "report.md").unlink()
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (out / "report.md").exists()


def test_another_experiment_in_the_folder_is_refused(ablated):
    _, arguments, _ = ablated
    changed = [value if value != 1 else 2 for value in arguments]
    result = invoke(*changed)
    assert result.exit_code == 2
    assert "with other epochs" in result.output


@pytest.mark.slow
def test_two_processes_train_the_same_runs(corpora, tmp_path):
    pair = tmp_path / "pair.toml"
    pair.write_text('[[variant]]\nname = "wide"\ntraining = { window = 200 }\n', encoding="utf-8")
    result = invoke(
        "ablations", corpora / "base.toml", "--out", tmp_path / "out", "--compare", corpora / "test.jsonl",
        "--variants", pair, "--epochs", 1, "--seeds", "1", "--jobs", 2,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "out" / "runs").glob("*.json"))) == 4


def test_network_alone(corpora, tmp_path):
    config = tmp_path / "alone.toml"
    data = f'[data]\ngold = ["{corpora}/train.jsonl"]\n[calibration]\nbalanced_recall = 0.9\n'
    config.write_text(
        data
        + TINY.replace("[network]", '[network]\nlearn_words = true\nfeature_set = "casing"').replace(
            "[training]", "[training]\nepochs = 1"
        ),
        encoding="utf-8",
    )
    out = tmp_path / "out"
    arguments = ["network-alone", config, "--test", corpora / "test.jsonl", "--out", out, "--seeds", "1,2"]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "0.970 strict, 0.975 spans, 0.985 merged spans" in report
    assert not {word for word in words_of(corpora / "test.jsonl") if word in report + result.output}
    assert [row["run"] for row in rows(out / "most-probable-class.csv")] == ["seed 1", "seed 2", "mean"]
    assert {row["type"] for row in rows(out / "types.csv")} > {"ALL", "DATE"}
    again = invoke(*arguments)
    assert again.exit_code == 0
    assert "epoch" not in again.output


def test_a_test_file_that_is_trained_on_is_refused(corpora, tmp_path):
    out = tmp_path / "out"
    result = invoke("network-alone", corpora / "base.toml", "--test", corpora / "train.jsonl", "--out", out)
    assert result.exit_code == 2
    assert "trained on" in result.output
    assert not out.exists()


@pytest.fixture(scope="module")
def repeated(corpora, tmp_path_factory):
    folder = tmp_path_factory.mktemp("thesis")
    for name, features in {"a": "none", "b": "none", "c": "casing", "d": "casing"}.items():
        network = (
            f'[network]\npost_space = {"true" if name in "bd" else "false"}\nfeature_set = "{features}"\n'
        )
        text = f'[data]\ngold = ["x"]\nword_vectors = "{corpora}/vectors.npz"\n' + TINY.replace(
            "[network]", network + 'targets = "fine"'
        )
        text = text.replace("synthetic = 12", "synthetic = 0").replace("weak = 6", "weak = 0")
        (folder / f"thesis-{name}.toml").write_text(text, encoding="utf-8")
    second = write_corpus(folder / "second.jsonl", 12, 7)
    second_test = write_corpus(folder / "second-test.jsonl", 8, 8)
    arguments = [
        "thesis",
        *("--first", corpora / "train.jsonl", "--first-test", corpora / "test.jsonl"),
        *("--second", second, "--second-test", second_test),
        *("--out", folder / "out", "--config-folder", folder),
        *("--runs", 1, "--epochs", 2, "--fine-tuning-epochs", 2, "--seed", 3),
    ]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return folder / "out", arguments, result.output


def test_the_thesis_has_all_its_tables(repeated):
    out = repeated[0]
    assert [row["run"] for row in rows(out / "adaptive.csv")] == ["a-1", "b-1", "c-1", "d-1"]
    assert len(rows(out / "network-alone.csv")) == 12
    assert [row["validation chose"] for row in rows(out / "epochs.csv")].count("chosen") == 4
    methods = [row["method"] for row in rows(out / "comparison.csv")]
    assert {"rules alone, published", "rules alone, ours", "published: rules alone"} < set(methods)
    tuned = rows(out / "fine-tuned.csv")
    assert [row["published recall"] for row in tuned[18:24]] == [
        "0.983",
        "0.99",
        "0.979",
        "0.981",
        "0.901",
        "0.929",
    ]
    assert rows(out / "fine-tuned-categories.csv")[-1]["category"] == "ALL"


def test_the_thesis_compares_combiners_at_equal_recall(repeated):
    for name in ("equal-recall-first", "equal-recall-second"):
        found = rows(repeated[0] / f"{name}.csv")
        assert len({row["combiner"] for row in found}) == 7
        assert {row["verdict"] for row in found} <= {"-", "reached", "undecided", "missed"}
        assert all(float(row["precision low"]) <= float(row["precision high"]) for row in found)


def test_every_run_of_the_thesis_is_fine_tuned(repeated):
    assert {path.stem for path in (repeated[0] / "runs").glob("*-tuned.json")} == {
        f"{variant}-1-tuned" for variant in "abcd"
    }


def test_invented_records_and_rivals_have_tables(repeated):
    assert "Okafor" in (repeated[0] / "sample-1.csv").read_text(encoding="utf-8")
    assert [row["compared with"] for row in rows(repeated[0] / "rival-gains.csv")][1:] == [
        "patterns",
        "crf",
        "svm",
    ]


def test_the_thesis_report_calls_published_figures_other_data_and_shows_no_text(repeated, corpora):
    report = (repeated[0] / "report.md").read_text(encoding="utf-8")
    assert report.count("is of other data") >= 6
    assert "None" not in report.partition("variant a")[0]
    assert "inverse-deid research thesis --first" in report
    assert "seeds: 3" in report
    assert not {word for word in words_of(corpora / "test.jsonl") if word in report + repeated[2]}


def test_an_interrupted_thesis_trains_only_what_is_missing(repeated):
    out, arguments, _ = repeated
    kept = out / "runs" / "a-1" / "epoch-1.npz"
    before = kept.stat().st_mtime_ns
    adaptive = (out / "adaptive.csv").read_text(encoding="utf-8")
    (out / "runs" / "d-1.json").unlink()
    again = invoke(*arguments)
    assert again.exit_code == 0, again.output
    assert kept.stat().st_mtime_ns == before
    assert "a-1: epoch" not in again.output
    assert "d-1: epoch 2/2" in again.output
    assert (out / "adaptive.csv").read_text(encoding="utf-8") == adaptive


def test_a_killed_run_goes_on_after_its_last_epoch(repeated, corpora, tmp_path):
    from inverse_deid.core.settings import change_settings
    from inverse_deid.training.config import read_run_config
    from inverse_deid.training.corpus import read_annotated
    from inverse_deid.training.run import load_word_vectors
    from inverse_deid_research.studies.scoring import analyse_corpus
    from inverse_deid_research.thesis.runs import ThesisRun, read_thesis_run, train_thesis_run

    config = read_run_config(repeated[0].parent / "thesis-d.toml")
    run = ThesisRun(
        name="d-1",
        network=config.network,
        training=change_settings(config.training, epochs=2),
        gold=read_annotated(corpora / "train.jsonl")[:10],
        vectors=load_word_vectors(config.word_vectors),
        corpora=(analyse_corpus("validation", read_annotated(corpora / "test.jsonl")),),
    )

    def train(place, say):
        record = train_thesis_run(run, place, "key", say)
        return read_thesis_run(run, record, place, lambda epochs: len(epochs) - 1)

    def stop(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "killed", stop)
    lines = []
    resumed = train(tmp_path / "killed", lines.append)
    whole = train(tmp_path / "whole", lambda line: None)
    assert [line.split(",")[0] for line in lines] == ["d-1: epoch 2/2"]
    assert resumed.losses == pytest.approx(whole.losses, abs=1e-4)
    for one, other in zip(resumed.epochs, whole.epochs, strict=True):
        assert abs(one["validation"].p_safe - other["validation"].p_safe).max() < 1e-3
