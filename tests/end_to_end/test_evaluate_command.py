"""`inverse-deid evaluate`: the real masking measured, and what is refused."""

import gzip
import hashlib
import json
import random
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import quoteattr

import psutil
import pytest
from click.testing import CliRunner
from fake_maskers import CANARY
from gold_files import invented_documents, write_json_lines

from inverse_deid import __version__
from inverse_deid.cli.main import main
from inverse_deid.core.values import Document

ROOT = Path(__file__).parent.parent.parent
TEXT = f"Mrs. {CANARY} of Velmo took aspirin on 12 May 2019 and had a rash."
MARKED = ((CANARY, "NAME", "PATIENT"), ("Velmo", "LOCATION", "CITY"), ("12 May 2019", "DATE", "DATE"))
QUIET = "The patient took aspirin and had a rash."


def places(text):
    return [(text.index(p), text.index(p) + len(p), e, t, p) for p, e, t in MARKED if p in text]


def gold_line(doc_id, text):
    spans = [{"start": start, "end": end, "type": t} for start, end, _, t, _ in places(text)]
    return json.dumps({"id": doc_id, "text": text, "spans": spans}) + "\n"


def gold_xml(text):
    tags = "".join(
        f'<{element} id="P{i}" start="{start}" end="{end}" text={quoteattr(piece)} TYPE="{name}" comment="" />'
        for i, (start, end, element, name, piece) in enumerate(places(text))
    )
    return f'<?xml version="1.0"?><deIdi2b2><TEXT><![CDATA[{text}]]></TEXT><TAGS>{tags}</TAGS></deIdi2b2>'


@pytest.fixture
def gold(given):
    path = given / "gold.jsonl"
    path.write_text(gold_line("a", TEXT) + gold_line("b", QUIET))
    return path


@pytest.fixture
def masked(tmp_path):
    """Masks of another system: the name alone."""
    path = tmp_path / "masks.jsonl"
    start = TEXT.index(CANARY)
    lines = [{"id": "a", "masks": [[start, start + len(CANARY)]]}, {"id": "b", "masks": []}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def inverse_deid(*args):
    done = finished(*args)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def refused(*args):
    done = finished(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    return done.stderr


def finished(*args):
    """Run a command with the real masking."""
    done = CliRunner().invoke(main, list(map(str, args)))
    assert CANARY not in done.stdout + done.stderr
    return done


def test_masked_json_lines_are_measured(gold, out, tmp_path):
    inverse_deid("mask", gold, "--out", out, "--rules-only", "--offsets", "--explain", "--with-text", "-q")
    table = inverse_deid("evaluate", gold, out, "--json", tmp_path / "all.json")
    assert inverse_deid("evaluate", gold, out / "gold.jsonl") == table
    report = json.loads((tmp_path / "all.json").read_text())
    assert CANARY not in json.dumps(report)
    assert report["figures"]["recall_all"] == {"share": 1.0, "part": 5, "whole": 5}
    assert report["figures"]["documents_without_leak"] == {"share": 1.0, "part": 1, "whole": 1}
    assert report["tokens"] == 14 + 8
    assert "clinical" in report["over_masking"]
    assert "100.00 %" in table
    assert report["version"] == 2
    assert (
        report["intervals"]["recall_all"]["method"] == "Clopper-Pearson over clusters, as resamples are alike"
    )
    result = refused("evaluate", gold, out, "--explain", out, "--json", tmp_path / "curve.json")
    assert "no p_safe found" in result
    assert not (tmp_path / "curve.json").exists()


def test_annotation_xml_is_measured_and_masked_xml_refused(command, given, out, tmp_path):
    (given / "sub").mkdir()
    (given / "110-01.xml").write_text(gold_xml(TEXT))
    (given / "sub" / "110-02.xml").write_text(gold_xml(QUIET))
    annotations = tmp_path / "annotations"
    assert command("mask", given, "--out", out, "--annotations", annotations).status == 0
    result = command("evaluate", given, annotations, "--json", tmp_path / "all.json")
    assert result.status == 0, result.stderr
    figures = json.loads((tmp_path / "all.json").read_text())["figures"]
    assert figures["recall_all"]["part"] == figures["recall_all"]["whole"] == 5
    result = command("evaluate", given, out)
    assert result.status == 2
    assert "110-01.xml" in result.stderr
    assert "--annotations" in result.stderr
    assert CANARY not in result.stdout + result.stderr


def test_gold_may_be_gzipped_and_other_systems_need_only_masks(command, gold, masked, tmp_path):
    packed = tmp_path / "gold.jsonl.gz"
    packed.write_bytes(gzip.compress(gold.read_bytes()))
    result = command("evaluate", packed, masked)
    assert result.status == 0, result.stderr
    assert CANARY not in result.stdout
    row = next(line for line in result.stdout.splitlines() if line.startswith("PHI masked, all"))
    # One document with PHI: nothing to draw, so nearly anything may be true.
    assert row.split()[-8:] == ["20.00", "%", "*", "0.00", "to", "99.19", "1", "5"]


def test_missing_documents_are_refused_or_counted_as_unmasked(command, gold, masked, tmp_path):
    masked.write_text('{"id": "b", "masks": []}')
    result = command("evaluate", gold, masked, "--json", tmp_path / "all.json")
    assert (result.status, result.stdout) == (2, "")
    assert "not masked: document a." in result.stderr
    assert not (tmp_path / "all.json").exists()
    result = command("evaluate", gold, masked, "--allow-missing")
    assert result.status == 0
    assert "Missing documents are counted as unmasked." in result.stdout


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [{"id": "a", "masks": []}, {"id": "b", "masks": []}, {"id": "c", "masks": []}],
            "not in the gold: document c",
        ),
        ([{"id": "a", "masks": [[0, 999]]}, {"id": "b", "masks": []}], "mask 0-999"),
        ([{"id": "a", "masks": []}, {"id": "a", "masks": []}], "masked more than once: document a"),
        ([{"id": "a", "masks": [], "text": f"{CANARY} is ill"}, {"id": "b", "masks": []}], "does not fit"),
        ([{"id": "a", "text": TEXT, "spans": []}], 'line 1 has no "masks"'),
    ],
)
def test_masks_that_do_not_match_the_gold_are_refused_whole(command, gold, masked, tmp_path, lines, message):
    masked.write_text("\n".join(map(json.dumps, lines)))
    result = command("evaluate", gold, masked, "--json", tmp_path / "all.json", "--allow-missing")
    assert (result.status, result.stdout) == (2, "")
    assert message in result.stderr
    assert str(masked) in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert CANARY not in result.stderr
    assert not (tmp_path / "all.json").exists()


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([{"start": 0, "end": 999, "type": "PATIENT"}], "document a: span 0-999"),
        ([{"start": -1, "end": 3, "type": "PATIENT"}], "document a: span -1-3"),
        ([{"start": 5, "end": 5, "type": "PATIENT"}], "document a: span 5-5"),
        ([{"start": 0, "end": 4, "type": CANARY}], "unknown type"),
        ([{"start": 0, "end": 4, "type": "DATE"}, {"start": 3, "end": 6, "type": "DATE"}], "overlaps"),
        ([{"start": 0, "end": 4, "type": "DATE", "text": CANARY}], "repeats a text other than"),
        ([[0, 4, "DATE"]], "cannot be read"),
    ],
)
def test_gold_spans_that_do_not_fit_are_refused(command, gold, masked, tmp_path, spans, message):
    gold.write_text(json.dumps({"id": "a", "text": TEXT, "spans": spans}) + "\n" + gold_line("b", QUIET))
    result = command("evaluate", gold, masked, "--json", tmp_path / "all.json")
    assert (result.status, result.stdout) == (2, "")
    assert message in result.stderr
    assert str(gold) in result.stderr
    assert CANARY not in result.stderr
    assert not (tmp_path / "all.json").exists()


def test_gold_and_masked_xml_of_another_text_are_refused(command, given, tmp_path):
    (given / "110-01.xml").write_text(gold_xml(TEXT))
    other = tmp_path / "annotations"
    other.mkdir()
    (other / "110-01.xml").write_text(gold_xml(TEXT.replace("rash", "cough")))
    result = command("evaluate", given, other, "--json", tmp_path / "all.json")
    assert (result.status, result.stdout) == (2, "")
    assert "does not fit gold text and masks: document 110-01.xml" in result.stderr
    assert CANARY not in result.stderr
    assert not (tmp_path / "all.json").exists()


def test_intervals_have_the_confidence_and_the_seed_that_are_given(command, gold, masked, tmp_path):
    gold.write_text("".join(gold_line(f"{i}", TEXT) for i in range(6)))
    start = TEXT.index(CANARY)
    name, all_of_it = [start, start + len(CANARY)], [0, len(TEXT)]
    lines = [{"id": f"{i}", "masks": [name if i % 2 else all_of_it]} for i in range(6)]
    masked.write_text("\n".join(map(json.dumps, lines)))
    found = {}
    for key, options in {
        "usual": [],
        "again": ["--seed", "1", "--resamples", "2000"],
        "half": ["--confidence", "0.5"],
        "seed": ["--seed", "7", "--resamples", "101"],
    }.items():
        path = tmp_path / f"{key}.json"
        result = command("evaluate", gold, masked, "--json", path, *options)
        assert result.status == 0, result.stderr
        found[key] = json.loads(path.read_text())
        assert f"{50 if key == 'half' else 95} % interval" in result.stdout
    intervals = {key: report["intervals"]["recall_all"] for key, report in found.items()}
    assert intervals["usual"] == intervals["again"]
    assert intervals["usual"]["low"] < intervals["half"]["low"] < 0.6 < intervals["half"]["high"]
    assert (intervals["usual"]["confidence"], intervals["half"]["confidence"]) == (0.95, 0.5)
    assert (found["seed"]["provenance"]["seed"], found["seed"]["provenance"]["resamples"]) == (7, 101)
    category = found["usual"]["categories"]["fine"]["DATE"]
    assert category["intervals"]["documents_without_leak"]["method"] == "Clopper-Pearson"
    assert list(category["intervals"]) == [key for key in category if key != "intervals"]


@pytest.mark.parametrize(
    "option", [["--confidence", "1"], ["--confidence", "95"], ["--resamples", "0"], ["--seed", "-1"]]
)
def test_settings_out_of_range_are_refused(command, gold, masked, tmp_path, option):
    result = command("evaluate", gold, masked, "--json", tmp_path / "all.json", *option)
    assert (result.status, result.stdout) == (2, "")
    assert not (tmp_path / "all.json").exists()


def test_the_report_tells_what_it_was_made_of(command, gold, masked, given, tmp_path):
    path = tmp_path / "all.json"
    patients = tmp_path / "patients.csv"
    patients.write_text("id,patient\na,1\nb,1\n")
    assert command("evaluate", gold, masked, "--json", path, "--patients", patients).status == 0
    provenance = json.loads(path.read_text())["provenance"]
    for role, file in {"gold": gold, "masked": masked, "patients": patients}.items():
        assert provenance[role] == {
            "name": str(file),
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
    assert provenance["version"] == __version__
    assert (provenance["intervals_by"], provenance["units"]) == ("patient", 1)
    folder = tmp_path / "masks"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").write_text("x")
    masked.rename(folder / "sub" / "masks.jsonl")
    assert command("evaluate", gold, folder, "--json", path, "--force").status == 0
    found = json.loads(path.read_text())["provenance"]
    digest = hashlib.sha256((folder / "sub" / "masks.jsonl").read_bytes()).hexdigest()
    assert found["masked"] == {"name": str(folder), "files": {"sub/masks.jsonl": digest}}
    assert found["intervals_by"] == "document"


def test_patients_make_the_clusters_and_must_be_complete(command, gold, masked, tmp_path):
    patients = tmp_path / "patients.csv"
    patients.write_text(f"id,patient\na,{CANARY}\nb,{CANARY}\n")
    result = command("evaluate", gold, masked, "--patients", patients)
    assert result.status == 0, result.stderr
    assert "documents of one patient, are not independent. Intervals are by patients" in result.stdout
    assert CANARY not in result.stdout
    patients.write_text(f"id,patient\na,{CANARY}\n")
    result = command("evaluate", gold, masked, "--patients", patients, "--json", tmp_path / "all.json")
    assert (result.status, result.stdout) == (2, "")
    assert "without a patient: document b." in result.stderr
    assert CANARY not in result.stderr
    assert not (tmp_path / "all.json").exists()


def test_explanations_add_curve_and_reliability(command, gold, out, tmp_path):
    assert command("mask", gold, "--out", out, "--offsets", "--explain", "--with-text", "-q").status == 0
    result = command("evaluate", gold, out, "--explain", out, "--json", tmp_path / "all.json")
    assert result.status == 0, result.stderr
    report = json.loads((tmp_path / "all.json").read_text())
    # 5 PHI tokens, masked like the The of the other document; 16 safe ones are kept with 0.987654.
    assert report["curve"]["points"] == {
        "threshold": [0.987654, None],
        "recall": [1.0, 1.0],
        "precision": [5 / 7, 5 / 22],
        "safe_kept": [15 / 17, 0.0],
    }
    assert report["curve"]["average_precision"] == 5 / 7
    assert report["reliability"]["unknown"] == 7
    assert report["reliability"]["bins"][9]["safe"] == {"share": 1.0, "part": 15, "whole": 15}
    assert report["reliability"]["expected_calibration_error"] == pytest.approx(1 - 0.987654)
    assert "average precision  0.7143" in result.stdout
    assert "CONFIDENTIAL: the curve contains the probabilities" in result.stderr
    assert stat.S_IMODE((tmp_path / "all.json").stat().st_mode) == 0o600
    assert CANARY not in result.stdout + json.dumps(report)


def test_explanations_without_text_leave_out_the_curve_and_say_how_to_get_it(command, gold, out, tmp_path):
    assert command("mask", gold, "--out", out, "--offsets", "--explain", "-q").status == 0
    result = command("evaluate", gold, out, "--explain", out, "--json", tmp_path / "all.json")
    assert result.status == 0
    assert "has no probabilities, so there are no curves" in result.stderr
    assert "--explain --with-text" in result.stderr
    assert result.stdout == command("evaluate", gold, out).stdout
    assert "curve" not in json.loads((tmp_path / "all.json").read_text())


def test_masked_lines_without_offsets_say_how_to_get_them(command, gold, out):
    assert command("mask", gold, "--out", out, "-q").status == 0
    result = command("evaluate", gold, out)
    assert (result.status, result.stdout) == (2, "")
    assert 'line 1 has no "masks". Mask again with --offsets' in result.stderr


def test_explanations_of_another_text_are_refused(command, gold, masked, out, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(gold_line("a", f"{CANARY} was ill") + gold_line("b", QUIET))
    assert command("mask", other, "--out", out, "--explain", "--with-text", "-q").status == 0
    explained = out / "other.jsonl.explain.jsonl"
    result = command("evaluate", gold, masked, "--explain", explained, "--json", tmp_path / "all.json")
    assert (result.status, result.stdout) == (2, "")
    assert f"{explained}: document a: explains tokens of another text" in result.stderr
    assert CANARY not in result.stderr
    assert not (tmp_path / "all.json").exists()


@pytest.mark.slow
def test_ten_thousand_documents_take_less_than_a_minute_and_a_gigabyte(tmp_path):
    """Time is that of the processor: other work on the machine does not count."""
    rng = random.Random(1)
    base = invented_documents(100, seed=1)
    docs = [Document(f"n{i}", base[i % 100].text, base[i % 100].spans) for i in range(10_000)]
    gold = write_json_lines(tmp_path / "gold.jsonl", docs)
    masked = tmp_path / "masks.jsonl"
    with masked.open("w") as stream:
        for doc in docs:
            kept = [[span.start, span.end] for span in doc.spans if rng.random() < 0.97]
            stream.write(json.dumps({"id": doc.id, "masks": [*kept, [0, 3]]}) + "\n")
    args = ["-m", "inverse_deid.cli.main", "evaluate", gold, masked, "--json", tmp_path / "all.json"]
    with psutil.Popen([sys.executable, *map(str, args)], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        seconds, most_bytes = 0.0, 0
        while process.poll() is None:
            with suppress(psutil.Error):
                times = process.cpu_times()
                seconds = max(seconds, times.user + times.system)
                most_bytes = max(most_bytes, process.memory_info().rss)
            time.sleep(0.02)
    assert process.returncode == 0
    report = json.loads((tmp_path / "all.json").read_text())
    assert report["documents"] == 10_000
    assert 0.96 < report["intervals"]["recall_all"]["low"] < report["intervals"]["recall_all"]["high"] < 0.99
    assert seconds < 60
    assert most_bytes < 1e9


def test_gold_ids_that_repeat_and_missing_files_are_refused(command, gold, masked):
    assert command("evaluate", gold, masked.with_name("none.jsonl")).status == 2
    assert command("evaluate", gold.with_name("none.jsonl"), masked).status == 2
    gold.write_text(gold_line("a", TEXT) * 2)
    result = command("evaluate", gold, masked)
    assert result.status == 2
    assert "repeated in the gold: document a" in result.stderr


def test_json_overwrites_an_evaluation_alone_and_only_when_asked(command, gold, masked, tmp_path):
    target = tmp_path / "all.json"
    assert command("evaluate", gold, masked, "--json", target).status == 0
    assert command("evaluate", gold, masked, "--json", target).status == 2
    assert command("evaluate", gold, masked, "--json", target, "--force").status == 0
    before = gold.read_bytes()
    assert command("evaluate", gold, masked, "--json", gold, "--force").status == 2
    assert gold.read_bytes() == before


def test_an_own_list_of_harmless_tokens_corrects_recall(command, gold, masked, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[harmless]\nDATE = ["may"]\n')
    report = tmp_path / "all.json"
    assert command("evaluate", gold, masked, "--harmless", mine, "--json", report).status == 0
    figures = json.loads(report.read_text())["figures"]
    assert (figures["recall_all"]["part"], figures["recall_all_corrected"]["part"]) == (1, 2)
    mine.write_text("may")
    assert command("evaluate", gold, masked, "--harmless", mine).status == 2
