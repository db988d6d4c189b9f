from pathlib import Path

import pytest

from inverse_deid.core.errors import ConfigurationError, OutputExistsError
from inverse_deid.core.files import printable
from inverse_deid.engine.jobs.planning import Output, PlanSettings, check_target, plan_jobs
from inverse_deid.engine.run import MAX_FILES_A_GROUP, group_jobs
from inverse_deid.formats.registry import FORMATS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "in"
    for name in ("b.txt", "a.txt", "sub/c.txt", "sub/.x/d.txt", "t.csv"):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("well")
    return root


def test_the_order_is_fixed_and_the_structure_mirrored(folder, tmp_path):
    jobs, tally = plan_jobs([folder], PlanSettings(out=tmp_path / "out"))
    assert [job.name for job in jobs] == ["a.txt", "b.txt", "t.csv", "sub/c.txt"]
    assert jobs[3].target == tmp_path / "out" / "sub" / "c.txt"
    assert not tally.n_failures


def test_a_given_format_overrules_the_suffix(folder, tmp_path):
    settings = PlanSettings(out=tmp_path / "out", format=FORMATS["jsonl"])
    jobs, _ = plan_jobs([folder / "a.txt"], settings)
    assert [job.format for job in jobs] == [FORMATS["jsonl"]]


def test_outputs_of_explanations_and_annotations(folder, tmp_path):
    (folder / "x.xml").write_text("<a/>")
    settings = PlanSettings(
        out=tmp_path / "out", explain=True, with_text=True, annotations=tmp_path / "annotated"
    )
    jobs, tally = plan_jobs([folder / "x.xml", folder / "a.txt"], settings)
    assert [(output.role, output.private) for output in jobs[0].outputs] == [
        ("masked", False),
        ("explain", True),
        ("annotations", True),
    ]
    assert (len(jobs), tally.n_failures) == (1, 1)


@pytest.mark.parametrize("inside", ["out", "out/deep"])
def test_originals_may_not_lie_among_masked_files(tmp_path, inside):
    with pytest.raises(ConfigurationError):
        plan_jobs([], PlanSettings(out=tmp_path / "out", annotations=tmp_path / inside))


def test_an_output_folder_that_is_a_file_is_refused(folder):
    with pytest.raises(ConfigurationError, match="is a file"):
        plan_jobs([folder], PlanSettings(out=folder / "a.txt"))


def test_a_folder_in_the_place_of_an_output_is_refused(tmp_path):
    with pytest.raises(OutputExistsError, match="folder"):
        check_target(Output("masked", tmp_path), frozenset(), force=True)


def test_documents_are_grouped_and_tables_are_alone(tmp_path):
    root = tmp_path / "in"
    root.mkdir()
    for i in range(MAX_FILES_A_GROUP + 10):
        (root / f"{i:03}.txt").write_text("x" * 100)
    (root / "050.csv").write_text("text\n")
    jobs, _ = plan_jobs([root], PlanSettings(out=tmp_path / "out"))
    found = [[job.name for job in group] for group in group_jobs(jobs)]
    assert ["050.csv"] in found
    assert [name for group in found for name in group] == [job.name for job in jobs]
    assert max(map(len, found)) <= MAX_FILES_A_GROUP
    assert len(found) < 6


def test_odd_names_are_shown_on_one_line():
    assert printable(Path("a\nb\x1b[31m\udcff.txt")) == "a?b?[31m?.txt"


def test_a_link_to_a_folder_is_not_passed_over_in_silence(folder, tmp_path):
    (folder / "linked").symlink_to(tmp_path)
    _, tally = plan_jobs([folder], PlanSettings(out=tmp_path / "out"))
    assert [failure.where for failure in tally.failures] == [str(folder / "linked")]
