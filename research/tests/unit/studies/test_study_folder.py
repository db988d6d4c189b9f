"""A study resumes the runs that are missing, and keeps other studies out of its folder."""

from dataclasses import dataclass, replace

import pytest

from inverse_deid.core.errors import ConfigurationError, InputError, OutputExistsError
from inverse_deid_research.studies.study import Study, StudyOptions, prepare_folder


@dataclass(frozen=True)
class Squaring:
    """A run that squares a number."""

    number: int
    kind: str = "plain"

    @property
    def name(self):
        return f"{self.kind}-{self.number}"

    @property
    def depends_on(self):
        return (self.number,)


RUNS = [Squaring(1), Squaring(2), Squaring(2, "odd")]


def square(run, say):
    say(f"squaring {run.number}")
    return {"rows": [{"square": run.number**2}]}


class Bench:
    """Opens a study again and again, and notes what was done."""

    def __init__(self, folder):
        self.options = StudyOptions(folder=folder / "out", seeds=(1,), say=lambda line: None)
        self.done = []

    def study(self, shared=None, **changes):
        options = replace(self.options, **changes)
        return Study("squares", options, kinds=["plain", "odd"], inputs=[], shared=shared or {})

    def work(self, run, say):
        self.done.append(run.name)
        return square(run, say)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_finished_runs_are_not_done_again_and_come_in_order(bench):
    assert [run for run, _ in bench.study().finish(RUNS[1:], bench.work)] == RUNS[1:]
    found = dict(bench.study().finish(RUNS, bench.work))
    assert bench.done == ["plain-2", "odd-2", "plain-1"]
    assert list(found) == RUNS
    assert [record["rows"][0]["square"] for record in found.values()] == [1, 4, 4]
    assert all(record["seconds"] > 0 for record in found.values())


def test_the_report_names_the_revision_of_every_run(bench, monkeypatch):
    for made_at, runs in (("a1", RUNS[:1]), ("b2", RUNS)):
        monkeypatch.setattr("inverse_deid_research.studies.study.revision", lambda made_at=made_at: made_at)
        study = bench.study()
        list(study.finish(runs, bench.work))
    earlier = study.folder / "runs" / "odd-2.json"
    earlier.write_text(earlier.read_text().replace('"revision": "b2"', '"year": 2020'))
    list(study.finish(RUNS, bench.work))
    lines = study.provenance(settings={}, n_seconds={}, device="d").lines()
    assert [line for line in lines if "made at" in line] == [
        "- runs made at revision a1: 1",
        "- runs made at revision b2: 1",
        "- runs made at revision unknown: 1",
    ]


def test_an_interrupted_study_keeps_what_is_done(bench):
    def stop(run, say):
        if run.number == 2:
            raise KeyboardInterrupt
        return bench.work(run, say)

    with pytest.raises(KeyboardInterrupt):
        list(bench.study().finish(RUNS, stop))
    assert bench.study().missing(RUNS) == RUNS[1:]


def test_only_does_some_kinds_and_shows_all_that_are_done(bench):
    assert [run for run, _ in bench.study(only=("odd",)).finish(RUNS, bench.work)] == RUNS[2:]
    assert len(dict(bench.study(only=("plain",)).finish(RUNS, bench.work))) == 3
    with pytest.raises(ConfigurationError, match=r"no runs named even\. It has: plain, odd"):
        bench.study(only=("even",))


def test_a_run_whose_files_are_gone_is_done_again(bench):
    study = bench.study()
    kept = study.folder / "runs" / "plain-1.npz"

    def work(run, say):
        kept.parent.mkdir(exist_ok=True)
        kept.touch()
        return {"files": [kept.name]}

    list(study.finish(RUNS[:1], work))
    assert study.missing(RUNS[:1]) == []
    kept.unlink()
    assert study.missing(RUNS[:1]) == RUNS[:1]


def test_what_a_run_depends_on_is_part_of_its_key(bench):
    study = bench.study()
    list(study.finish(RUNS[:1], bench.work))
    (study.folder / "runs" / "plain-1.json").rename(study.folder / "runs" / "plain-2.json")
    assert study.record(RUNS[1]) is None


@pytest.mark.slow
def test_several_processes_do_the_same(bench):
    pytest.importorskip("tensorflow")
    found = dict(bench.study(n_processes=2).finish(RUNS, square))
    assert [record["rows"][0]["square"] for record in found.values()] == [1, 4, 4]


def test_a_folder_resumes_only_the_same_study(tmp_path):
    prepare_folder(tmp_path / "new", "thesis", {"seed": 1}, force=False)
    prepare_folder(tmp_path / "new", "thesis", {"seed": 1}, force=False)
    with pytest.raises(ConfigurationError, match="with other seed"):
        prepare_folder(tmp_path / "new", "thesis", {"seed": 2}, force=False)
    (tmp_path / "new" / "runs").mkdir()
    prepare_folder(tmp_path / "new", "thesis", {"seed": 2}, force=True)
    assert not (tmp_path / "new" / "runs").exists()
    with pytest.raises(OutputExistsError, match="not the folder of a study"):
        prepare_folder(tmp_path, "thesis", {}, force=True)


def test_a_missing_data_file_is_named_before_anything_is_written(bench, tmp_path):
    with pytest.raises(InputError, match="gone"):
        Study("squares", bench.options, inputs=[tmp_path / "gone.jsonl"], shared={})
    assert not bench.options.folder.exists()


def test_a_study_is_refused_before_it_trains(tmp_path, monkeypatch):
    from inverse_deid_research.studies import study

    def refuse(folder):
        raise ConfigurationError("clean revision")

    monkeypatch.setattr(study, "require_clean_revision", refuse)
    options = study.StudyOptions(folder=tmp_path / "out", seeds=(1,), say=print)
    with pytest.raises(ConfigurationError, match="clean revision"):
        study.Study("any", options, inputs=[], shared={})
    assert not (tmp_path / "out").exists()
