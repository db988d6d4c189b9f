"""`inverse-deid mask --careful`: a second reader reads again what the network is unsure of."""

import json

import onnxruntime
import pytest
from click.testing import CliRunner
from tiny_encoders import graph_of_one_feature, tiny_encoder

from inverse_deid.cli.main import main
from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, load_parts, packaged_model
from inverse_deid.network.doubt import Doubt
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.network.second_reader import SecondReader, read_encoder, write_encoder

TEXT = "The patient took aspirin for fever and had a rash; seen by Lindqvist in Velmo on 3/4."
NO_DOUBT = {"balanced": Doubt(0.0, 0.0, 0.0)}
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
    both = mask(careful=True, second_reader=encoder(tmp_path / "encoder"))
    assert "rash" in alone.text
    assert not both.decisions.keep.any()
    assert not both.failed


def test_what_is_not_doubtful_stays_as_the_network_says(tmp_path):
    alone = mask(low=0.6, high=0.9)
    both = mask(careful=True, second_reader=encoder(tmp_path / "encoder", doubtful=NO_DOUBT))
    assert both.text == alone.text
    assert both.decisions.p_safe.tolist() == alone.decisions.p_safe.tolist()


def test_the_operating_points_are_those_of_both_readers(tmp_path):
    folder = encoder(tmp_path / "encoder", doubtful=NO_DOUBT)
    deidentifier = build_deidentifier(
        MaskingSettings(careful=True, second_reader=folder, operating_point="strict")
    )
    assert deidentifier.made_of["thresholds"] == POINTS["strict"].as_json()
    assert deidentifier.made_of["model_sha256"] == "+".join(
        map(model_fingerprint, (packaged_model(), folder))
    )


LIMITED = {"balanced": Doubt(0.0, 0.0, 0.0), "strict": Doubt(0.0, 1.0, 1.0)}


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
    both = mask(careful=True, second_reader=folder, **settings)
    assert both.decisions.keep.any() != rereads
    assert not both.failed


def test_one_loaded_scorer_serves_pipelines_of_several_operating_points(tmp_path):
    folder = encoder(tmp_path / "encoder", doubtful=LIMITED)
    settings = [
        MaskingSettings(careful=True, second_reader=folder, operating_point=one)
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
        build_deidentifier(MaskingSettings(careful=True, second_reader=folder, operating_point=point))
        for point in ("balanced", "strict")
    )
    assert one.made_of["thresholds"] == other.made_of["thresholds"]
    assert one.fingerprint != other.fingerprint


def test_a_second_reader_of_another_network_is_refused(tmp_path):
    folder = encoder(tmp_path / "encoder", first_reader="0" * 64)
    with pytest.raises(ConfigurationError, match="calibrated with another model"):
        mask(careful=True, second_reader=folder)


def test_a_second_reader_with_other_classes_is_refused(tmp_path):
    folder = encoder(tmp_path / "encoder", class_names=("SAFE", "PHI"))
    with pytest.raises(ModelError, match="different classes"):
        mask(careful=True, second_reader=folder)


def test_a_document_on_which_the_second_reader_fails_is_masked_whole(tmp_path):
    folder = encoder(tmp_path / "encoder", graph=graph_of_one_feature(0.9, 0.9, n_outputs=2))
    masked = mask(careful=True, second_reader=folder)
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
    assert json.loads(report.read_text())["settings"]["careful"] is True
    assert "rash" not in (tmp_path / "out" / "case.txt").read_text()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--careful", "--rules-only"], "--careful: needs the network. Leave out --rules-only."),
        (["--second-reader", "."], "--second-reader: has no effect alone. Add --careful"),
    ],
)
def test_options_that_exclude_each_other_are_refused(tmp_path, options, complaint):
    result = run(tmp_path, *options)
    assert result.exit_code == 2
    assert complaint in result.output


def test_both_readers_run_on_the_same_device(tmp_path, monkeypatch):
    folder = encoder(tmp_path / "encoder")
    deidentifier = build_deidentifier(MaskingSettings(careful=True, second_reader=folder))
    assert deidentifier.made_of["device"] == "cpu"
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(ConfigurationError, match="device cuda"):
        SecondReader(read_encoder(folder), device="cuda")


def test_the_packaged_second_reader_masks_names_and_keeps_facts():
    text = (
        "Mr. Okonkwo took aspirin 100 mg daily from 3 May 2019. Two days later he had a rash on both arms, "
        "temperature 38.4. The rash resolved within a week."
    )
    masked = build_deidentifier(MaskingSettings(careful=True)).mask(Document("1", text)).text
    assert "Okonkwo" not in masked
    assert "2019" not in masked
    for fact in ("aspirin 100 mg daily", "Two days later", "rash on both arms", "resolved within a week"):
        assert fact in masked


def test_an_altered_packaged_second_reader_is_refused(tmp_path, monkeypatch):
    folder = encoder(tmp_path / "data" / "second_reader")
    monkeypatch.setattr("inverse_deid.network.second_reader.packaged_path", lambda name: folder)
    with pytest.raises(ModelError, match="not the one that this version was shipped with"):
        mask(careful=True, second_reader=folder)


def test_a_document_of_long_unknown_words_is_read_by_both():
    words = ["".join("qxzjkvbw"[(i * 7 + j * j) % 8] for j in range(14)) for i in range(300)]
    masked = build_deidentifier(MaskingSettings(careful=True)).mask(Document("1", " - ".join(words)))
    assert not masked.failed
    assert len(masked.decisions.p_safe) == len(words)


def test_the_second_reader_makes_no_unknown_word_safer(tmp_path):
    """A surname in no list may stand where a drug could: only the network can let it back."""
    text = "He was treated with Haverkamp and paracetamol. Aspirin, Srivaddhana and paracetamol were listed."
    trusting = encoder(tmp_path / "encoder", graph=graph_of_one_feature(1 - 1e-6, 1 - 1e-6), weight=1.0)
    settings = MaskingSettings(careful=True, second_reader=trusting)
    both = build_deidentifier(settings).mask(Document("1", text))
    assert "Haverkamp" not in both.text
    assert "Srivaddhana" not in both.text
    assert both.text.count("paracetamol") == 2


def test_the_packaged_second_reader_lets_no_rare_surname_back_where_a_drug_could_stand():
    surnames = ("Haverkamp", "Brzozowski", "Okonkwo", "Quackenbush", "Thiruvenkata", "Mbelekwane")
    slots = ("He was treated with {} and paracetamol.", "Concomitant medications: {}, aspirin.")
    masker = build_deidentifier(MaskingSettings(careful=True))
    for name in surnames:
        for slot in slots:
            assert name not in masker.mask(Document("1", slot.format(name))).text
