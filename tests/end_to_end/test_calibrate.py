"""`inverse-deid calibrate` with the packaged model, and `mask --certificate`: what is bound and what is refused."""

import dataclasses
import json
import shutil

import gold_files
import pytest
from click.testing import CliRunner
from invented_corpora import words_of

from inverse_deid.cli.main import main
from inverse_deid.core.seals import seal
from inverse_deid.core.thresholds import Thresholds
from inverse_deid.lexicon import load_lexicon
from inverse_deid.lexicon.artefact import dump_artefact
from inverse_deid.masking.assemble import (
    MaskingSettings,
    build_deidentifier,
    packaged_model,
    packaged_second_reader,
)
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.training.documents import corpus_sha256
from inverse_deid.training.guaranteed import threshold_sequence

AIM = ("--target-leak-rate", "0.2", "--confidence", "0.9")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def only_line(result):
    (line,) = result.stderr.splitlines()
    assert result.exit_code == 2
    assert result.stdout == ""
    return line


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    docs = gold_files.invented_documents(48, seed=5)
    return gold_files.write_json_lines(tmp_path_factory.mktemp("gold") / "gold.jsonl", docs)


@pytest.fixture(scope="module")
def calibrated(gold):
    """What the command printed, and the certificate."""
    path = gold.with_name("certificate.json")
    result = run("calibrate", gold, *AIM, "--out", path)
    assert result.exit_code == 0, result.output
    return result.stdout, path


@pytest.fixture
def case(given):
    path = given / "case.jsonl"
    path.write_text('{"id": "a", "text": "The patient had a rash and fever 38.4; aspirin was given."}\n')
    return path


@pytest.fixture(scope="module")
def other_model(tmp_path_factory):
    """The packaged network with another operating point: another model, as its hash says."""
    folder = tmp_path_factory.mktemp("models") / "model"
    shutil.copytree(packaged_model(), folder)
    return folder


def alter(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(seal(manifest)))


# The certificate --------------------------------------------------------------------------------


def test_the_certificate_says_what_is_guaranteed_and_of_what(calibrated, gold):
    printed, path = calibrated
    found = json.loads(path.read_text())
    assert (found["format"], found["version"]) == ("inverse-deid certificate", 1)
    aim = (found["target_leak_rate"], found["confidence"], found["unit"], found["method"])
    assert aim == (0.2, 0.9, "document", "exact")
    assert found["model_sha256"] == model_fingerprint(packaged_model())
    assert found["lexicon_sha256"] == load_lexicon().sha256
    assert found["calibration_sha256"] == corpus_sha256(gold)
    assert found["patients_sha256"] is None
    assert Thresholds(**found["thresholds"]) in threshold_sequence(Thresholds(**found["thresholds"]))
    assert found["documents"] == 48
    assert found["mean_loss"] == found["counted_leaking"] / found["counted_with_phi"] <= 0.2
    assert found == seal(found)
    assert found["guarantee"].startswith("With 90 % confidence: of the documents")
    for said in (found["guarantee"], *found["conditions"], str(path)):
        assert said in printed


def test_neither_certificate_nor_output_show_text_or_ids(calibrated, gold):
    printed, path = calibrated
    words = words_of(gold)
    assert len(words) > 10
    assert not [word for word in words if word in printed or word in path.read_text()]
    assert '"d1"' not in path.read_text()


def test_masking_with_the_certificate_leaks_and_keeps_what_it_says(calibrated, gold, out, tmp_path):
    _, path = calibrated
    found = json.loads(path.read_text())
    masked = run("mask", gold, "--out", out, "--certificate", path, "--offsets")
    assert masked.exit_code == 0, masked.output
    note, confidential = [
        line for line in masked.stderr.splitlines() if line.startswith(("Note", "CONFIDENTIAL"))
    ]
    assert str(path) in note
    assert "CONFIDENTIAL" in confidential
    report = tmp_path / "report.json"
    assert run("evaluate", gold, out / "gold.jsonl", "--json", report).exit_code == 0
    figures = json.loads(report.read_text())["figures"]
    without_leak = figures["documents_without_leak"]
    assert without_leak["whole"] == found["counted_with_phi"]
    assert without_leak["whole"] - without_leak["part"] == found["counted_leaking"]
    for name in ("recall_all", "precision", "safe_kept"):
        assert figures[name] == found[name]


def test_the_thresholds_are_those_of_the_certificate(calibrated, case, out):
    _, path = calibrated
    thresholds = Thresholds(**json.loads(path.read_text())["thresholds"])
    lax = dataclasses.replace(thresholds, low=0.25, high=0.5, density_slope=0.0)
    own = out.with_name("own.json")
    own.write_text(json.dumps(seal({**json.loads(path.read_text()), "thresholds": dataclasses.asdict(lax)})))
    result = run("mask", case, "--out", out, "--certificate", own, "--explain", "--with-text", "-q")
    assert (result.exit_code, result.output) == (0, "")
    (line,) = (out / "case.jsonl.explain.jsonl").read_text().splitlines()
    found = {token["threshold"] for token in json.loads(line)["tokens"]} - {None}
    assert found
    assert found <= {0.25, 0.5}
    fingerprints = {
        build_deidentifier(MaskingSettings(certificate=chosen)).fingerprint
        for chosen in (None, path, own, path)
    }
    assert len(fingerprints) == 3


def test_tokens_patients_and_risk_control(gold, tmp_path):
    patients = tmp_path / "patients.csv"
    patients.write_text("id,patient\n" + "".join(f"d{i},p{i // 2}\n" for i in range(48)))
    path = tmp_path / "deep" / "certificate.json"
    command = ("calibrate", gold, "--target-leak-rate", "0.1", "--unit", "token", "--method", "crc")
    result = run(*command, "--patients", patients, "--out", path)
    assert result.exit_code == 0, result.output
    found = json.loads(path.read_text())
    assert (found["confidence"], found["counted"]) == (None, "patients")
    assert found["patients_sha256"] == corpus_sha256(patients)
    assert found["counted_with_phi"] <= 24
    n = found["counted_with_phi"]
    assert (n * found["mean_loss"] + 1) / (n + 1) <= 0.1
    assert "patients" in found["guarantee"]
    assert "no confidence" in result.stdout


def test_documents_that_look_alike_and_count_apart_are_pointed_out(tmp_path):
    names = ["Okonkwo", "Lindqvist", "Tamsin", "Ferreira", "Yamada", "Brandvold", "Achterberg", "Castellan"]
    texts = [f"Mr. {name} had a rash." for name in names]
    texts[:2] = [f"{text} It went away by itself within two days and never came back." for text in texts[:2]]
    gold, patients, out = tmp_path / "gold.jsonl", tmp_path / "patients.csv", tmp_path / "certificate.json"
    lines = [
        {"id": i, "text": text, "spans": [{"start": 4, "end": 4 + len(name), "type": "PATIENT"}]}
        for i, (text, name) in enumerate(zip(texts, names, strict=True))
    ]
    gold.write_text("\n".join(map(json.dumps, lines)))
    patients.write_text("id,patient\n" + "".join(f"{i},{max(i, 1)}\n" for i in range(8)))
    command = ("calibrate", gold, "--target-leak-rate", "0.4", "--confidence", "0.9", "--out", out)
    apart, together = run(*command), run(*command, "--patients", patients, "--force")
    assert "Note: 2 of the documents with PHI share ten words in a row" in apart.stdout
    assert (together.exit_code, "Note:" in together.stdout) == (0, False)
    assert json.loads(out.read_text())["counted_with_phi"] == 7


# What calibrating refuses -----------------------------------------------------------------------


def test_too_few_documents_are_counted_before_anything_is_loaded(tmp_path):
    lines = [
        json.dumps({"id": i, "text": f"Velmo {i}", "spans": [{"start": 0, "end": 5, "type": "CITY"}]})
        for i in range(298)
    ]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("\n".join([*lines, '{"id": "x", "text": "no mark"}', '{"id": "y", "text": "no mark"}']))
    path = tmp_path / "certificate.json"
    command = ("calibrate", gold, "--target-leak-rate", "0.01", "--confidence", "0.95", "--out", path)
    line = only_line(run(*command, "--model", tmp_path / "none"))
    assert "298 documents with PHI cannot show a leak rate of at most 1 % with 95 % confidence" in line
    assert "299 are needed" in line
    assert not path.exists()


def test_a_document_without_a_patient_is_refused(gold, tmp_path):
    patients = tmp_path / "patients.csv"
    patients.write_text("id,patient\n" + "".join(f"d{i},p{i}\n" for i in range(47)))
    command = ("calibrate", gold, *AIM, "--patients", patients, "--out", tmp_path / "certificate.json")
    assert "without a patient: document d47." in only_line(run(*command))


def test_a_model_that_leaks_too_much_is_refused(gold, tmp_path, monkeypatch):
    monkeypatch.setattr("inverse_deid.cli.calibrate.threshold_sequence", lambda like: (Thresholds(0, 0),))
    path = tmp_path / "certificate.json"
    line = only_line(run("calibrate", gold, *AIM, "--out", path))
    assert "no threshold shows a leak rate of at most 20 % with 90 % confidence: even at the safest" in line
    assert not path.exists()


def test_the_file_that_the_model_was_trained_on_is_refused(gold, other_model, tmp_path):
    alter(other_model, lambda m: m["provenance"].update(data_sha256={"own/gold": corpus_sha256(gold)}))
    path = tmp_path / "certificate.json"
    line = only_line(run("calibrate", gold, *AIM, "--model", other_model, "--out", path))
    assert "the model was trained on it (as own/gold)" in line
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--target-leak-rate", "0"), "above 0 and below 1"),
        (("--target-leak-rate", "0.1", "--confidence", "95"), "above 0 and below 1"),
        (("--target-leak-rate", "0.1"), "needs a confidence"),
        (("--target-leak-rate", "0.1", "--confidence", "0.9", "--method", "crc"), "has no confidence"),
    ],
)
def test_aims_that_say_nothing_are_refused(gold, tmp_path, options, complaint):
    assert complaint in only_line(run("calibrate", gold, *options, "--out", tmp_path / "certificate.json"))


def test_only_a_certificate_is_overwritten_and_only_when_asked(calibrated, gold, tmp_path):
    _, path = calibrated
    copy = tmp_path / "certificate.json"
    shutil.copy(path, copy)
    assert "--force" in only_line(run("calibrate", gold, *AIM, "--out", copy))
    before = gold.read_bytes()
    assert "another kind of file" in only_line(run("calibrate", gold, *AIM, "--out", gold, "--force"))
    assert gold.read_bytes() == before


# What masking refuses ---------------------------------------------------------------------------


def test_another_model_is_refused(calibrated, case, out, other_model):
    alter(other_model, lambda m: m["operating_points"]["lenient"].update(low=0.0))
    line = only_line(run("mask", case, "--out", out, "--certificate", calibrated[1], "--model", other_model))
    assert "was made for another model." in line
    assert not (out / "case.jsonl").exists()


def test_another_lexicon_is_refused(calibrated, case, out, tmp_path):
    lexicon = tmp_path / "lexicon.zip"
    artefact = load_lexicon().artefact
    lexicon.write_bytes(dump_artefact(dataclasses.replace(artefact, version="another")))
    line = only_line(run("mask", case, "--out", out, "--certificate", calibrated[1], "--lexicon", lexicon))
    assert "was made for another lexicon." in line
    assert not (out / "case.jsonl").exists()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda c: {**c, "thresholds": {"low": 0.0, "high": 0.0, "density_slope": 0.0}}, "altered after"),
        (lambda c: {**c, "target_leak_rate": 0.001}, "altered after"),
        (lambda c: seal({**c, "tool_version": "0.0.1"}), "was made for another version of inverse-deid."),
        (lambda c: seal({**c, "version": 2}), "was made for another version of certificates."),
        (
            lambda c: seal({**c, "thresholds": {"low": 0.1, "high": 0.3, "density_slope": 0.0}}),
            "would keep words that are probably identifiers",
        ),
        (lambda c: seal({"format": c["format"]}), "was made for another version of certificates"),
        (lambda c: {"format": "else"}, "not a certificate"),
        (lambda c: [c], "not a certificate"),
    ],
)
def test_certificates_that_do_not_hold_are_refused(calibrated, case, out, tmp_path, change, complaint):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(change(json.loads(calibrated[1].read_text()))))
    assert complaint in only_line(run("mask", case, "--out", out, "--certificate", path))
    assert not (out / "case.jsonl").exists()


@pytest.mark.parametrize("data", [b"", b"\xff", b"{"])
def test_what_is_no_certificate_is_refused(case, out, tmp_path, data):
    path = tmp_path / "certificate.json"
    path.write_bytes(data)
    assert "not a certificate" in only_line(run("mask", case, "--out", out, "--certificate", path))
    missing = tmp_path / "none.json"
    assert "cannot be read" in only_line(run("mask", case, "--out", out, "--certificate", missing))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--low", "0.9"), "--low"),
        (("--high", "0.9"), "--high"),
        (("--operating-point", "strict"), "--operating-point"),
        (("--operating-point", "balanced"), "--operating-point"),
        (("--rules-only",), "--rules-only"),
        (("--policy", "literal"), "--policy"),
        (("--allow", "WORDS"), "--allow"),
        (("--low", "0.5", "--high", "0.9"), "--low and --high"),
    ],
)
def test_a_certificate_goes_with_no_choice_that_could_keep_more(
    calibrated, case, out, tmp_path, options, named
):
    words = tmp_path / "words"
    words.write_text("fever\n")
    given = [words if option == "WORDS" else option for option in options]
    line = only_line(run("mask", case, "--out", out, "--certificate", calibrated[1], *given))
    assert line.endswith(f"Leave out {named}.")
    assert not (out / "case.jsonl").exists()


# Both readers -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_certificate_for_both_readers_holds_for_both_only(gold, case, out, tmp_path):
    certificate = tmp_path / "both.json"
    result = run("calibrate", gold, *AIM, "--careful", "--out", certificate)
    assert result.exit_code == 0, result.output
    both = f"{model_fingerprint(packaged_model())}+{model_fingerprint(packaged_second_reader())}"
    assert json.loads(certificate.read_text())["model_sha256"] == both
    low = "--allow-low-thresholds"  # at so high a leak rate
    assert run("mask", case, "--out", out, "--careful", "--certificate", certificate, low).exit_code == 0
    refused = run("mask", case, "--out", out, "--force", "--fast", "--certificate", certificate, low)
    assert "another model" in only_line(refused)
    assert "Use --careful" in only_line(refused)


def test_a_certificate_for_one_reader_does_not_hold_for_both(calibrated, case, out):
    refused = run("mask", case, "--out", out, "--careful", "--certificate", calibrated[1])
    assert "another model" in only_line(refused)
    assert "Use --fast" in only_line(refused)


def test_documents_that_the_second_reader_learned_from_are_refused(gold, tmp_path):
    folder = tmp_path / "second"
    shutil.copytree(packaged_second_reader(), folder)
    alter(folder, lambda manifest: manifest["provenance"]["data_sha256"].update(mine=corpus_sha256(gold)))
    refused = run(
        "calibrate", gold, *AIM, "--careful", "--second-reader", folder, "--out", tmp_path / "none.json"
    )
    assert "trained on it (as mine)" in only_line(refused)


def test_a_second_reader_is_not_for_a_fast_reading(gold, tmp_path):
    second = ("--fast", "--second-reader", tmp_path)
    refused = run("calibrate", gold, *AIM, *second, "--out", tmp_path / "none.json")
    assert "Leave out --fast" in only_line(refused)
