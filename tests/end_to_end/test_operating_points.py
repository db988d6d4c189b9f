"""`inverse-deid mask --operating-point`: the thresholds of the model's own manifest, and what is refused."""

import json
import shutil

import pytest
from click.testing import CliRunner

from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.seals import seal
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, packaged_model

TEXT = "The patient had a rash and fever 38.4 on both arms; aspirin was given.\n"
POINTS = {
    "strict": {"low": 1.0, "high": 1.0, "density_slope": 0.0},
    "balanced": {"low": 0.5, "high": 0.75, "density_slope": 0.0},
    "lenient": {"low": 0.25, "high": 0.5, "density_slope": 0.0},
}
NOTHING = {name: {"low": 0.0, "high": 0.0, "density_slope": 0.0} for name in POINTS}
"""Points that mask nothing but what no threshold keeps."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The packaged network with operating points of ours."""
    folder = tmp_path_factory.mktemp("models") / "model"
    shutil.copytree(packaged_model(), folder)
    alter(folder, operating_points=POINTS)
    return folder


def alter(folder, **changed):
    path = folder / "manifest.json"
    path.write_text(json.dumps(seal({**json.loads(path.read_text()), **changed})))


def mask(given, out, *options):
    (given / "case.txt").write_text(TEXT)
    result = CliRunner().invoke(main, ["mask", str(given), "--out", str(out), *map(str, options)])
    assert "rash" not in result.output
    return result


def thresholds(out):
    (line,) = (out / "case.txt.explain.jsonl").read_text().splitlines()
    tokens = json.loads(line)["tokens"]
    return {token["threshold"] for token in tokens}, sum(token["decision"] == "mask" for token in tokens)


@pytest.mark.parametrize("point", POINTS)
def test_the_thresholds_are_those_of_the_manifest(model, given, out, point):
    chosen = () if point == "balanced" else ("--operating-point", point)
    result = mask(given, out, "--model", model, "--explain", "--with-text", *chosen)
    assert result.exit_code == 0, result.output
    found, _ = thresholds(out)
    assert found - {None} <= set(POINTS[point].values())
    assert found & set(POINTS[point].values())


def test_thresholds_move_with_the_density_of_the_document_unless_given(model, given, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    alter(copy, operating_points={"balanced": {"low": 0.5, "high": 0.75, "density_slope": 0.5}})
    assert mask(given, tmp_path / "moved", "--model", copy, "--explain", "--with-text").exit_code == 0
    found, _ = thresholds(tmp_path / "moved")
    assert found - {None} and not found & {0.5, 0.75}
    assert (
        mask(given, tmp_path / "given", "--model", copy, "--explain", "--with-text", "--high", 0.75).exit_code
        == 0
    )
    found, _ = thresholds(tmp_path / "given")
    assert found - {None} <= {0.5, 0.75}


def test_strict_masks_most_and_lenient_least(model, given, tmp_path):
    counts = []
    for point in POINTS:
        folder = tmp_path / point
        assert (
            mask(
                given, folder, "--model", model, "--explain", "--with-text", "--operating-point", point
            ).exit_code
            == 0
        )
        counts.append(thresholds(folder)[1])
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2]


def test_an_own_threshold_goes_before_the_point(model, given, out):
    result = mask(
        given,
        out,
        "--model",
        model,
        "--explain",
        "--with-text",
        "--operating-point",
        "lenient",
        "--high",
        "0.625",
    )
    assert result.exit_code == 0, result.output
    assert thresholds(out)[0] - {None} <= {0.25, 0.625}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ("--low", "0.875"),
            "low 0.875 is above high 0.75, and high is that of the operating point balanced",
        ),
        (("--high", "0.0625"), "low 0.5 is above high 0.0625, and low is that of the operating point"),
        (("--low", "0.9", "--high", "0.5"), "0 <= low <= high <= 1"),
    ],
)
def test_an_own_threshold_on_the_wrong_side_of_the_other_is_refused(model, given, out, options, complaint):
    result = mask(given, out, "--model", model, *options)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not (out / "case.txt").exists()


def test_an_unknown_name_is_refused_with_the_known_ones(model, given, out):
    result = mask(given, out, "--model", model, "--operating-point", "careful")
    assert result.exit_code == 2
    assert "'strict', 'balanced', 'lenient'" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"format": 1}, "not of model format 4. Train it with this version"),
        (
            {"operating_points": {"balanced": POINTS["balanced"]}},
            "no operating point 'strict'. It has balanced",
        ),
        (
            {"operating_points": {"strict": {"low": 0.5}}},
            "manifest.json: damaged or altered. Install or train",
        ),
    ],
)
def test_a_model_that_cannot_say_is_refused_in_one_line(model, given, out, tmp_path, changed, complaint):
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    alter(copy, **changed)
    result = mask(given, out, "--model", copy, "--operating-point", "strict")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert complaint in line
    assert not (out / "case.txt").exists()


# Low thresholds ---------------------------------------------------------------------------------

ALLOWED = "--allow-low-thresholds"


def refused(result, out):
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert "would keep words that are probably identifiers" in line and ALLOWED in line
    assert not (out / "case.txt").exists()
    return line


def test_a_model_that_masks_nothing_needs_a_flag(model, given, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    alter(copy, operating_points=NOTHING)
    line = refused(mask(given, tmp_path / "out", "--model", copy), tmp_path / "out")
    assert "the operating point balanced of the model: low 0, high 0" in line
    assert mask(given, tmp_path / "out", "--model", copy, ALLOWED).exit_code == 0


@pytest.mark.parametrize(
    "options",
    [("--low", "0.24"), ("--high", "0.49", "--low", "0.3"), ("--low", "0", "--high", "0")],
)
def test_low_thresholds_of_the_user_need_a_flag(given, tmp_path, options):
    line = refused(mask(given, tmp_path / "out", *options), tmp_path / "out")
    assert "the thresholds given" in line
    assert mask(given, tmp_path / "out", *options, ALLOWED).exit_code == 0


def test_a_slope_that_could_take_a_threshold_down_needs_a_flag(model, given, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    alter(copy, operating_points={"balanced": {"low": 0.8, "high": 0.9, "density_slope": 2.0}})
    assert "density slope 2" in refused(mask(given, tmp_path / "out", "--model", copy), tmp_path / "out")


@pytest.mark.parametrize("command", ["serve", "review init"])
def test_neither_the_service_nor_the_review_takes_low_thresholds(model, given, tmp_path, command):
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    alter(copy, operating_points=NOTHING)
    (given / "case.txt").write_text(TEXT)
    more = [] if command == "serve" else [str(given), "--store", str(tmp_path / "review.db")]
    result = CliRunner().invoke(main, [*command.split(), *more, "--model", str(copy)])
    assert ALLOWED in refused(result, tmp_path)
    assert not (tmp_path / "review.db").exists()


def test_settings_refuse_low_thresholds():
    with pytest.raises(ConfigurationError, match="probably identifiers"):
        build_deidentifier(MaskingSettings(low=0.0, high=0.0))
    build_deidentifier(MaskingSettings(low=0.0, high=0.0, allow_low_thresholds=True))


@pytest.mark.parametrize("point", POINTS)
def test_no_point_of_the_packaged_model_needs_the_flag(point):
    (masked,) = build_deidentifier(MaskingSettings(operating_point=point)).mask_many(
        [Document("a", "Mrs. Okonkwo had a rash.")]
    )
    assert "Okonkwo" not in masked.text
