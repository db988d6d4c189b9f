"""`inverse-deid research federated simulate` on small invented corpora: runs, resumes, reports, refuses."""

import json

import pytest

pytest.importorskip("tensorflow")

from invented_corpora import words_of
from small_studies import change_study, write_study

SETTINGS = """
[network]
characters = "one-hot"
char_dim = 128
char_units = 4
token_units = 6
token_layers = 1
hidden_units = 5
lstm_dropout = false
feature_set = "none"
post_space = false
targets = "binary"
[training]
learning_rate = 0.5
batch_tokens = 256
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    write_study(tmp_path, SETTINGS)
    change_study(tmp_path, "epochs = 2", "epochs = 2\nmeasure_every = 2")
    return tmp_path


@pytest.fixture
def simulate(folder, capsys):
    from inverse_deid.cli.main import main

    def run(*options):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(
                [
                    "research",
                    "federated",
                    "simulate",
                    "--config",
                    str(folder / "study.toml"),
                    "--out",
                    str(folder / "out"),
                    *options,
                ]
            )
        return int(stopped.value.code or 0), capsys.readouterr()

    return run


@pytest.mark.filterwarnings("ignore")
def test_a_study_from_one_command(simulate, folder):
    status, printed = simulate()
    assert status == 0, printed.err
    runs = {(run["method"], run["seed"]): run for run in json.loads((folder / "out/study.json").read_text())}
    assert set(runs) == {("A", 1), ("C", 1), ("D", 1), ("FedAvg", 1)}
    for run in runs.values():
        assert len(run["epochs"]) == 2
        assert "sites" not in run["epochs"][0]
        assert set(run["epochs"][1]["sites"]) == {"site-1", "site-2", "site-3"}
        assert {len(rows) for rows in run["f1_by_document"].values()} == {6}
        assert set(run["calibrated"]) == {"site-1", "site-2", "site-3"}
        assert 0 <= run["membership"]["all tokens"]["low"] <= run["membership"]["all tokens"]["auc"] <= 1
    assert runs["C", 1]["epochs"][0]["n_sent"] > 0
    assert runs["D", 1]["epochs"][0]["n_sent"] == 0
    report = (folder / "out/report.md").read_text()
    for words in (
        "No formal guarantee",
        "worst site",
        "theta_d",
        "peak memory",
        "Membership",
        "first epoch of a site",
    ):
        assert words in report
    assert (folder / "out/learning-curves.svg").read_text().count("<polyline") == 6
    everything = "".join(path.read_text() for path in (folder / "out").rglob("*") if path.is_file())
    names = words_of(folder / "train.jsonl") | words_of(folder / "test.jsonl")
    assert names
    assert not [name for name in names if name in everything + printed.out + printed.err]

    again, printed = simulate()  # nothing is trained twice
    assert again == 0, printed.err
    assert "epoch" not in printed.out
    status, printed = simulate("--only", "D", "--epochs", "1", "--quiet")
    assert (status, printed.out) == (0, "")
    change_study(folder, "number = 3", "number = 4")
    status, printed = simulate()
    assert status == 2
    assert "other settings" in printed.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("download = 0.5", "download = 2.0", "download: expected `float` <= 1.0"),
        ("number = 3", "number = 400", "has no document"),
        (
            "number = 3",
            "kinds = {north = ['none-'], east = ['train-', 'test-'], west = ['other-']}",
            "has no document",
        ),
        ("[network]", "[network]\nword_dim = 50", "word_dim must be 100"),
    ],
)
def test_bad_settings_end_with_one_line(simulate, folder, old, new, words):
    change_study(folder, old, new)
    status, printed = simulate()
    assert status == 2
    assert words in printed.err
    assert printed.err.startswith("inverse-deid: ")
    assert not (folder / "out" / "runs").exists()
