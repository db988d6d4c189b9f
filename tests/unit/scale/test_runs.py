"""Whole runs with workers in this process: what is done is not done again, and what fails is told."""

import json
import re
from dataclasses import dataclass, replace
from datetime import date
from hashlib import sha256

import pytest
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker
from ray_runs import WRITERS, MakeFake, joined, mask_serially, parts, write_json_lines
from refusals import refuses

from inverse_deid.core.errors import (
    ClusterError,
    ConfigurationError,
    InputError,
    ModelError,
    OutputExistsError,
)
from inverse_deid.formats.records import ReadOptions
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.scale.actor import OUTCOME, PARTITION, Outcome, PartitionActor
from inverse_deid.scale.run import RayRun, mask_with_ray


def here(partitions, job, _cluster):
    actor = PartitionActor(job)
    for partition in reversed(partitions):
        yield Outcome.from_json(actor({PARTITION: [partition.as_json()]})[OUTCOME][0])


@pytest.fixture
def cases(tmp_path):
    return write_json_lines(tmp_path / "cases.jsonl", 60)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def masked(cases, out, make=None, **options):
    run = RayRun(inputs=(str(cases),), out=str(out), partition_bytes=3000, **options)
    return mask_with_ray(run, make or MakeFake(), here)


def test_a_run_gives_what_the_serial_engine_gives(tmp_path, cases, out):
    serial, expected = mask_serially(cases, tmp_path / "serial")
    assert masked(cases, out) == expected
    assert joined("jsonl", parts(out)) == serial.read_bytes()
    manifest = json.loads((out / ".inverse-deid" / "manifest.json").read_bytes())
    assert len(manifest["outputs"]) == len(parts(out)) > 3
    assert all(CANARY not in path.read_text() for path in out.rglob("*") if path.is_file())


def test_a_kept_column_that_must_not_leave_costs_all_parts_of_its_file(tmp_path, out):
    lines = [json.dumps({"text": "well " * 20, "arm": "a"}) for _ in range(200)]
    good = tmp_path / "in" / "good.jsonl"
    good.parent.mkdir()
    good.write_text("\n".join(lines))
    (tmp_path / "in" / "bad.jsonl").write_text(
        "\n".join([*lines, json.dumps({"text": "well", "arm": CANARY})])
    )
    tally = masked(tmp_path / "in", out, read_options=ReadOptions(keep_columns=("arm",)))
    assert {path.name.partition(".")[0] for path in parts(out)} == {"good"}
    assert not [path for path in out.rglob("*") if path.is_file() and path.name.startswith("bad")]
    reasons = [failure.reason for failure in tally.failures]
    assert any("line 201, column 'arm': a kept column must not contain a name" in one for one in reasons)
    assert "was not released, because another part of the file" in reasons[0]
    again = masked(tmp_path / "in", out, read_options=ReadOptions(keep_columns=("arm",)), resume=True)
    assert again.n_failures == tally.n_failures


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_columns_that_nobody_named_are_dropped(tmp_path, out, kind):
    cases = WRITERS[kind](tmp_path / f"cases.{kind}", 60)
    if kind == "jsonl":
        lines = [json.dumps({"text": f"well {CANARY}", "n": i, "dob": CANARY}) for i in range(60)]
        cases.write_text("\n".join(lines))
    tally = masked(cases, out, read_options=ReadOptions(keep_columns=("n",)))
    other = {"csv": "other", "parquet": "more", "jsonl": "dob"}[kind]
    assert tally.columns == {"text": "masked", "n": "kept", other: "dropped"}
    assert len(parts(out)) > 1
    assert all(CANARY.encode() not in path.read_bytes() for path in out.rglob("*") if path.is_file())
    if kind == "parquet":
        assert joined(kind, parts(out)).column_names == ["n", "text"]
    manifest = json.loads((out / ".inverse-deid" / "manifest.json").read_bytes())
    assert manifest["total"]["columns"] == {"dropped": 1, "kept": 1, "masked": 1}


def stopped_after(n):
    seen = []

    def stop(n_documents, _n_tokens):
        seen.append(n_documents)
        if len(seen) == n:
            raise KeyboardInterrupt

    return stop


def test_an_interrupted_run_goes_on_and_does_nothing_twice(tmp_path, cases, out):
    with pytest.raises(KeyboardInterrupt):
        masked(cases, out, on_progress=stopped_after(2))
    before = {path: path.stat().st_mtime_ns for path in parts(out)}
    assert len(before) == 2
    with refuses(OutputExistsError, match="--resume"):
        masked(cases, out)
    with pytest.raises(ConfigurationError, match="other settings"):
        masked(cases, out, MakeFake(name="other"), resume=True)
    serial, expected = mask_serially(cases, tmp_path / "serial")
    assert masked(cases, out, resume=True) == expected
    assert joined("jsonl", parts(out)) == serial.read_bytes()
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_changed_inputs_are_refused_and_force_leaves_nothing_old(cases, out):
    masked(cases, out)
    cases.write_text('{"text": "well"}\n')
    with pytest.raises(InputError, match="have changed"):
        masked(cases, out, resume=True)
    assert masked(cases, out, force=True).n_documents == 1
    assert [path.name for path in parts(out)] == ["cases.part-00000.jsonl"]


def test_an_output_that_was_removed_is_made_again(cases, out):
    tally = masked(cases, out)
    whole = joined("jsonl", parts(out))
    parts(out)[1].unlink()
    assert masked(cases, out, resume=True) == tally
    assert joined("jsonl", parts(out)) == whole


def test_a_receipt_that_had_no_name_yet_is_none(cases, out):
    tally = masked(cases, out)
    receipts = sorted((out / ".inverse-deid" / "done").iterdir())
    # A worker that was stopped between writing a receipt and naming it.
    receipts[1].rename(receipts[1].with_name(f".{receipts[1].name}.{'0' * 32}.partial"))
    before = [path.stat().st_mtime_ns for path in parts(out)]
    assert masked(cases, out, resume=True) == tally
    assert sorted((out / ".inverse-deid" / "done").iterdir()) == receipts
    again = [path.stat().st_mtime_ns for path in parts(out)]
    assert [new == old for new, old in zip(again, before, strict=True)].count(False) == 1


def test_a_file_of_others_is_not_overwritten(cases, out):
    out.mkdir()
    (out / "cases.part-00001.jsonl").write_text("theirs")
    with pytest.raises(OutputExistsError, match="part-00001"):
        masked(cases, out)


def test_a_document_that_fails_is_named_and_not_shown(tmp_path, out):
    given = tmp_path / "cases.jsonl"
    given.write_text(json.dumps({"id": "a", "text": f"{BROKEN_STAGE} {CANARY}"}) + "\n")
    tally = masked(given, out)
    assert (tally.n_failed_documents, tally.failures[0].where) == (1, f"{given} line 1")
    assert CANARY not in parts(out)[0].read_text() + repr(tally)


class Breaking(MakeFake):
    """Its masker raises an error that quotes the text."""

    def __call__(self, *, n_threads, device):
        masker = super().__call__(n_threads=n_threads, device=device)

        def mask_many(docs):
            raise ValueError(docs[0].text)

        masker.mask_many = mask_many
        return masker


def test_no_error_with_text_leaves_a_worker(cases, out):
    tally = masked(cases, out, Breaking())
    assert (tally.n_documents, tally.n_failures > 3) == (0, True)
    assert "ValueError" in tally.failures[0].reason
    assert CANARY not in repr(tally)


def test_a_machine_that_cannot_mask_stops_the_run(cases, out):
    made = []

    def make(*, n_threads, device):
        made.append(device)
        if len(made) > 1:
            raise ModelError("the model folder is missing")
        return MakeFake()(n_threads=n_threads, device=device)

    with pytest.raises(ClusterError, match="model folder is missing"):
        masked(cases, out, make)
    assert parts(out) == []


@pytest.mark.parametrize("link", ["cases.part-00000.jsonl", ".inverse-deid", ".inverse-deid/done"])
def test_nothing_is_written_through_a_link(tmp_path, cases, out, link):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (out / link).parent.mkdir(parents=True)
    (out / link).symlink_to(elsewhere)
    try:
        masked(cases, out, force=True)
    except OutputExistsError:
        assert link.startswith(".inverse-deid")
    assert list(elsewhere.iterdir()) == []


def test_an_input_is_not_removed_as_an_earlier_output(cases, out):
    out.mkdir()
    given = [out / "cases.jsonl", out / "cases.part-00099.jsonl"]
    for path in given:
        path.write_bytes(cases.read_bytes())
    run = RayRun(inputs=tuple(map(str, given)), out=str(out), force=True)
    with pytest.raises(OutputExistsError, match="INPUT"):
        mask_with_ray(run, MakeFake(), here)
    assert all(path.read_bytes() == cases.read_bytes() for path in given)


class ChangesItsInput:
    """Appends to the input while it masks."""

    def __init__(self, path):
        self.path = path

    def __call__(self, **options):
        masker = MakeFake()(**options)
        real = masker.mask_many

        def mask_many(docs):
            with self.path.open("a") as stream:
                stream.write("\n")
            return real(docs)

        masker.mask_many = mask_many
        return masker


def test_a_file_that_changes_while_it_is_masked_is_not_released(tmp_path, out):
    cases = write_json_lines(tmp_path / "small.jsonl", 8)
    run = RayRun(inputs=(str(cases),), out=str(out))
    tally = mask_with_ray(run, ChangesItsInput(cases), here)
    assert "changed" in tally.failures[-1].reason
    assert parts(out) == []


HEADER, ROW_ID, PART = "Quillfeather", "Vandersloot", "Ottershaw"


class Multilingual(FakeMasker):
    """Takes every document for one of another language."""

    def _mask(self, doc):
        return replace(super()._mask(doc), other_language=True)


@dataclass(frozen=True)
class MakeCases:
    """Makes a masker of cases, with or without a key."""

    key: bytes | None = None

    def __call__(self, *, n_threads, device):
        return CaseMasker(Multilingual(str.islower), CaseSettings(today=date(2024, 5, 1), key=self.key))


def write_with_words(given):
    """Three inputs with words in headers, keys and ids, of which one cannot be masked at all."""
    given.mkdir()
    rows = "".join(f"{ROW_ID}-{i},well,x\n" for i in range(40))
    (given / "a.csv").write_text(f"id,text,{HEADER}\n{rows}{ROW_ID},short\n")
    lines = [json.dumps({"id": f"{ROW_ID}-{i}", "text": "well", HEADER: i}) for i in range(40)]
    (given / "b.jsonl").write_text("\n".join([*lines, HEADER]))
    (given / f"{PART}.jsonl").write_text(f"{HEADER}\n")
    (given / f"{PART}.csv").write_text(f"{HEADER}\n")


def words_of_notes(out):
    """Words of the inputs in what is beside the output, in clear, as hexadecimal digits or as a plain hash."""
    found = []
    for path in (path for path in (out / ".inverse-deid").rglob("*") if path.is_file()):
        data = path.read_bytes() + path.name.encode()
        opened = data + b"".join(
            bytes.fromhex(one) for one in re.findall(r"(?:[0-9a-f]{2}){20,}", data.decode())
        )
        guesses = (HEADER, ROW_ID, f"{PART}.jsonl")
        found += [word for word in (HEADER, ROW_ID, PART) if word.encode() in opened]
        found += [guess for guess in guesses if sha256(guess.encode()).hexdigest().encode() in data]
    return found


@pytest.mark.parametrize("key", [None, b"sixteen bytes or more"], ids=["no key", "key"])
def test_no_word_of_an_input_is_in_the_notes(tmp_path, out, key):
    given = tmp_path / "in"
    write_with_words(given)
    with pytest.raises(KeyboardInterrupt):
        masked(given, out, MakeCases(key), on_progress=stopped_after(1))
    assert words_of_notes(out) == []
    tally = masked(given, out, MakeCases(key), resume=True)
    assert words_of_notes(out) == []
    assert ROW_ID in tally.other_language[0]
    assert HEADER in tally.columns
    assert masked(given, out, MakeCases(key), resume=True).other_language == tally.other_language
    manifest = json.loads((out / ".inverse-deid" / "manifest.json").read_bytes())
    assert sorted(one["name"] for one in manifest["outputs"]) == [path.name for path in parts(out)]


def test_another_key_reads_no_receipt(tmp_path, cases, out):
    masked(cases, out, MakeCases(b"sixteen bytes or more"))
    with pytest.raises(InputError, match="another key"):
        masked(cases, out, MakeCases(b"seventeen bytes or more"), resume=True)
