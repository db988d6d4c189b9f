"""How words in doubt are read: a second reader reads again what the network is unsure of."""

import json
import shutil

import onnxruntime
import pytest
from click.testing import CliRunner
from tiny_encoders import graph_of_one_feature, tiny_encoder

import inverse_deid
from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.seals import seal
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import (
    MaskingSettings,
    build_deidentifier,
    find_reading,
    load_parts,
    packaged_model,
    packaged_second_reader,
)
from inverse_deid.network.doubt import Doubt
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.network.second_reader import SecondReader, read_encoder, write_encoder

TEXT = "The patient took aspirin for fever and had a rash; seen by Lindqvist in Velmo on 3/4."
NO_DOUBT = {"balanced": Doubt(0.0, 0.0, 0.0, 0.0)}
POINTS = {"balanced": Thresholds(0.6, 0.9), "strict": Thresholds(0.9, 0.95)}


def encoder(folder, **changes):
    """Write an encoder that doubts everything the network says and calls nothing safe."""
    parts = tiny_encoder(
        **{
            "graph": graph_of_one_feature(1e-6, 1e-6),
            "doubtful": {},
            "first_reader": model_fingerprint(packaged_model()),
            "operating_points": POINTS,
            **changes,
        }
    )
    write_encoder(parts, folder)
    return folder


def mask(**settings):
    return build_deidentifier(MaskingSettings(**settings)).mask(Document("1", TEXT))


def test_the_second_reader_decides_where_the_network_is_unsure(tmp_path):
    alone = mask()
    both = mask(reading="careful", second_reader=encoder(tmp_path / "encoder"))
    assert "rash" in alone.text
    assert not both.decisions.keep.any()
    assert not both.failed


def test_what_is_not_doubtful_stays_as_the_network_says(tmp_path):
    alone = mask(low=0.6, high=0.9)
    both = mask(reading="careful", second_reader=encoder(tmp_path / "encoder", doubtful=NO_DOUBT))
    assert both.text == alone.text
    assert both.decisions.p_safe.tolist() == alone.decisions.p_safe.tolist()


def test_the_operating_points_are_those_of_both_readers(tmp_path):
    folder = encoder(tmp_path / "encoder", doubtful=NO_DOUBT)
    deidentifier = build_deidentifier(
        MaskingSettings(reading="careful", second_reader=folder, operating_point="strict")
    )
    assert deidentifier.made_of["thresholds"] == POINTS["strict"].as_json()
    assert deidentifier.made_of["model_sha256"] == "+".join(
        map(model_fingerprint, (packaged_model(), folder))
    )


LIMITED = {"balanced": Doubt(0.0, 0.0, 0.0, 0.0), "strict": Doubt(0.0, 1.0, 1.0, 1.0)}


@pytest.mark.parametrize(
    ("settings", "rereads"),
    [
        ({}, False),
        ({"operating_point": "balanced"}, False),
        ({"operating_point": "strict"}, True),
        ({"low": 0.6}, True),
        ({"high": 0.9}, True),
    ],
)
def test_which_words_are_read_again_belongs_to_the_operating_point(tmp_path, settings, rereads):
    """Thresholds of a user may be as low as those of any operating point, so the widest limits apply."""
    folder = encoder(tmp_path / "encoder", doubtful=LIMITED)
    both = mask(reading="careful", second_reader=folder, **settings)
    assert both.decisions.keep.any() != rereads
    assert not both.failed


def test_one_loaded_scorer_serves_pipelines_of_several_operating_points(tmp_path):
    folder = encoder(tmp_path / "encoder", doubtful=LIMITED)
    settings = [
        MaskingSettings(reading="careful", second_reader=folder, operating_point=one)
        for one in ("balanced", "strict", "balanced")
    ]
    parts = load_parts(settings[0])
    pipelines = [build_deidentifier(one, parts) for one in settings]
    kept = [one.mask(Document("1", TEXT)).decisions.keep.any() for one in pipelines]
    assert kept == [True, False, True]
    assert len({one.fingerprint for one in pipelines}) == 2


def test_the_limits_of_doubt_are_in_the_fingerprint(tmp_path):
    folder = encoder(
        tmp_path / "encoder", doubtful=LIMITED, operating_points=dict.fromkeys(POINTS, POINTS["strict"])
    )
    one, other = (
        build_deidentifier(MaskingSettings(reading="careful", second_reader=folder, operating_point=point))
        for point in ("balanced", "strict")
    )
    assert one.made_of["thresholds"] == other.made_of["thresholds"]
    assert one.fingerprint != other.fingerprint


def test_a_second_reader_of_another_network_is_refused(tmp_path):
    folder = encoder(tmp_path / "encoder", first_reader="0" * 64)
    with pytest.raises(ConfigurationError, match="calibrated with another model"):
        mask(reading="careful", second_reader=folder)


def test_a_second_reader_with_other_classes_is_refused(tmp_path):
    folder = encoder(tmp_path / "encoder", class_names=("SAFE", "PHI"))
    with pytest.raises(ModelError, match="different classes"):
        mask(reading="careful", second_reader=folder)


def test_a_document_on_which_the_second_reader_fails_is_masked_whole(tmp_path):
    folder = encoder(tmp_path / "encoder", graph=graph_of_one_feature(0.9, 0.9, n_outputs=2))
    masked = mask(reading="careful", second_reader=folder)
    assert masked.failed
    assert not masked.decisions.keep.any()


def run(tmp_path, *options):
    (tmp_path / "cases").mkdir(exist_ok=True)
    (tmp_path / "cases" / "case.txt").write_text(TEXT)
    given = ["mask", str(tmp_path / "cases"), "--out", str(tmp_path / "out"), *map(str, options)]
    return CliRunner().invoke(main, given)


def test_the_command_names_both_readers_in_its_report(tmp_path):
    folder = encoder(tmp_path / "encoder")
    report = tmp_path / "report.json"
    result = run(tmp_path, "--careful", "--second-reader", folder, "--run-report", report)
    assert result.exit_code == 0, result.output
    assert json.loads(report.read_text())["settings"]["reading"] == "careful"
    assert "rash" not in (tmp_path / "out" / "case.txt").read_text()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (
            ["--careful", "--rules-only"],
            "--rules-only: decides without the network and its thresholds. Leave out --careful.",
        ),
        (
            ["--fast", "--rules-only"],
            "--rules-only: decides without the network and its thresholds. Leave out --fast.",
        ),
        (["--second-reader", ".", "--rules-only"], "--rules-only: decides without the network"),
        (
            ["--second-reader", ".", "--fast"],
            "--second-reader: is asked only where words in doubt are read twice. Leave out --fast.",
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused(tmp_path, options, complaint):
    result = run(tmp_path, *options)
    assert result.exit_code == 2
    assert complaint in result.output


def test_both_readers_run_on_the_same_device(tmp_path, monkeypatch):
    folder = encoder(tmp_path / "encoder")
    deidentifier = build_deidentifier(MaskingSettings(reading="careful", second_reader=folder))
    assert deidentifier.made_of["device"] == "cpu"
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(ConfigurationError, match="device cuda"):
        SecondReader(read_encoder(folder), device="cuda")


def test_the_packaged_second_reader_masks_names_and_keeps_facts():
    text = (
        "Mr. Okonkwo took aspirin 100 mg daily from 3 May 2019. Two days later he had a rash on both arms, "
        "temperature 38.4. The rash resolved within a week."
    )
    masked = build_deidentifier(MaskingSettings(reading="careful")).mask(Document("1", text)).text
    assert "Okonkwo" not in masked
    assert "2019" not in masked
    for fact in ("aspirin 100 mg daily", "Two days later", "rash on both arms", "resolved within a week"):
        assert fact in masked


def test_an_altered_packaged_second_reader_is_refused(tmp_path, monkeypatch):
    folder = encoder(tmp_path / "data" / "second_reader")
    monkeypatch.setattr("inverse_deid.network.second_reader.packaged_path", lambda name: folder)
    with pytest.raises(ModelError, match="not the one that this version was shipped with"):
        mask(reading="careful", second_reader=folder)


def test_a_document_of_long_unknown_words_is_read_by_both():
    words = ["".join("qxzjkvbw"[(i * 7 + j * j) % 8] for j in range(14)) for i in range(300)]
    masked = build_deidentifier(MaskingSettings(reading="careful")).mask(Document("1", " - ".join(words)))
    assert not masked.failed
    assert len(masked.decisions.p_safe) == len(words)


def test_the_second_reader_makes_no_unknown_word_safer(tmp_path):
    """A surname in no list may stand where a drug could: only the network can let it back."""
    text = "He was treated with Haverkamp and paracetamol. Aspirin, Srivaddhana and paracetamol were listed."
    trusting = encoder(tmp_path / "encoder", graph=graph_of_one_feature(1 - 1e-6, 1 - 1e-6), weight=1.0)
    settings = MaskingSettings(reading="careful", second_reader=trusting)
    both = build_deidentifier(settings).mask(Document("1", text))
    assert "Haverkamp" not in both.text
    assert "Srivaddhana" not in both.text
    assert both.text.count("paracetamol") == 2


def test_the_packaged_second_reader_lets_no_rare_surname_back_where_a_drug_could_stand():
    surnames = ("Haverkamp", "Brzozowski", "Okonkwo", "Quackenbush", "Thiruvenkata", "Mbelekwane")
    slots = ("He was treated with {} and paracetamol.", "Concomitant medications: {}, aspirin.")
    masker = build_deidentifier(MaskingSettings(reading="careful"))
    for name in surnames:
        for slot in slots:
            assert name not in masker.mask(Document("1", slot.format(name))).text


# The usual reading ------------------------------------------------------------------------------


def reading_of(**settings):
    return find_reading(MaskingSettings(**settings))


@pytest.fixture
def own_model(tmp_path):
    """A copy of the packaged model that no second reader was calibrated with."""
    folder = tmp_path / "own-model"
    shutil.copytree(packaged_model(), folder)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["provenance"]["seed"] = "another"
    path.write_text(json.dumps(seal(manifest)))
    return folder


@pytest.mark.usefixtures("usual_reading")
def test_words_in_doubt_are_read_twice_by_default(tmp_path):
    assert reading_of() == reading_of(model=packaged_model()) == "careful"
    assert reading_of(second_reader=tmp_path) == "careful"
    assert reading_of(reading="fast") == "fast"
    assert reading_of(rules_only=True) is None
    both = f"{model_fingerprint(packaged_model())}+{model_fingerprint(packaged_second_reader())}"
    assert build_deidentifier(MaskingSettings()).made_of["model_sha256"] == both
    assert build_deidentifier(MaskingSettings()).fingerprint == (
        build_deidentifier(MaskingSettings(reading="careful")).fingerprint
    )
    alone = build_deidentifier(MaskingSettings(reading="fast"))
    assert alone.made_of["model_sha256"] == model_fingerprint(packaged_model())


@pytest.mark.usefixtures("usual_reading")
def test_a_model_without_a_second_reader_reads_once_and_every_surface_says_so(tmp_path, own_model):
    assert reading_of(model=own_model) == "fast"
    report = tmp_path / "report.json"
    result = run(tmp_path, "--model", own_model, "--run-report", report, "-q")
    assert result.exit_code == 0, result.output
    note = "no second reader was calibrated with this model, so words in doubt are read once"
    assert f"WARNING: {note}." in result.stderr
    assert json.loads(report.read_text())["settings"]["reading"] == "fast"
    with pytest.warns(UserWarning, match=note):
        inverse_deid.mask("The rash lasted two days.", model=own_model)


@pytest.mark.usefixtures("usual_reading")
def test_the_default_reading_of_the_packaged_model_needs_no_note(tmp_path):
    report = tmp_path / "report.json"
    result = run(tmp_path, "--run-report", report)
    assert "second reader" not in result.stderr
    assert json.loads(report.read_text())["settings"]["reading"] == "careful"


@pytest.mark.usefixtures("usual_reading")
@pytest.mark.parametrize("options", [["--careful"], ["--second-reader", "SECOND"]])
def test_a_second_reader_that_was_asked_for_must_fit_the_model(tmp_path, own_model, options):
    second = encoder(tmp_path / "encoder")
    options = [second if one == "SECOND" else one for one in options]
    result = run(tmp_path, "--model", own_model, *options)
    assert result.exit_code == 2
    assert "calibrated with another model" in result.stderr
    assert "Use --fast" in result.stderr


@pytest.mark.usefixtures("usual_reading")
def test_a_fast_reading_that_was_asked_for_needs_no_note(tmp_path, own_model):
    assert "second reader" not in run(tmp_path, "--model", own_model, "--fast").stderr


@pytest.mark.usefixtures("usual_reading")
def test_a_damaged_model_is_no_reason_to_read_with_less_care(tmp_path, own_model):
    (own_model / "manifest.json").unlink()
    assert reading_of(model=own_model) == "careful"
    result = run(tmp_path, "--model", own_model)
    assert result.exit_code == 2
    assert "no readable manifest.json" in result.stderr


def test_the_last_of_two_readings_counts_as_with_other_pairs_of_options(tmp_path):
    report = tmp_path / "report.json"
    run(tmp_path, "--careful", "--fast", "--run-report", report)
    assert json.loads(report.read_text())["settings"]["reading"] == "fast"


def test_the_help_has_an_option_for_each_reading_and_says_which_is_usual():
    shown = " ".join(CliRunner().invoke(main, ["mask", "--help"]).output.split())
    assert (
        "--careful A second, larger network reads again what the first one is unsure of. [default]" in shown
    )
    assert "--fast The first network decides alone." in shown
    assert "--reading" not in shown
