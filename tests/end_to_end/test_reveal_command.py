from __future__ import annotations

import gzip
import json
import stat
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_maskers import CANARY, FakeMasker

from inverse_deid.cli.main import main
from inverse_deid.core.values import Document
from inverse_deid.engine.reversal import ReversalSink, hide_report
from inverse_deid.formats.icsr.messages import Message
from inverse_deid.formats.icsr.rewriting import RewrittenCase, fit_text
from inverse_deid.formats.icsr.survey import Sort
from inverse_deid.formats.icsr.writing import MessageWriter
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS
from inverse_deid.replacement.reversal import MapWriter

KEY = b"an invented key of 27 bytes"
MASKER = FakeMasker(str.islower)
FILES = {
    "note.txt": (FORMATS["text"], f"seen by Ann {CANARY} – and\r\n\tBo\u200b Li, 40mg PHI\n"),
    "cases.jsonl": (
        FORMATS["jsonl"],
        "".join(json.dumps({"id": n, "text": f"well {CANARY} {n}"}) + "\n" for n in (3, 1)),
    ),
    "cases.csv": (FORMATS["csv"], f'id,text,arm\n7,"seen by ""{CANARY}"", twice",b\n\n7,no one,a\n'),
}


def masked_file(folder: Path, name: str) -> tuple[Path, Path]:
    """Mask an invented file as the engine does, with its map."""
    kind, text = FILES[name]
    options = ReadOptions(keep_unchecked=("arm",) if kind is FORMATS["csv"] else ())
    source = kind.open(BytesIO(text.encode()), options, name)
    masked, mapped = BytesIO(), BytesIO()
    sinks = [source.sink(masked), ReversalSink(MapWriter(mapped, KEY, {"encoding": "utf-8"}))]
    for record in source.records():
        result = MASKER.mask_many(record.docs)
        for sink in sinks:
            sink.write(record, result)
    for sink in sinks:
        sink.finish()
    return written(folder, name, masked.getvalue(), mapped.getvalue())


def written(folder: Path, name: str, masked: bytes, mapped: bytes) -> tuple[Path, Path]:
    (folder / name).write_bytes(masked)
    (folder / f"{name}.map").write_bytes(mapped)
    (folder / "key").write_bytes(KEY)
    return folder / name, folder / f"{name}.map"


def run(masked: Path, mapped: Path, *more: str, key: str = "key"):
    options = ["--map", str(mapped), "--key", str(masked.parent / key), "--out", str(masked.parent / "out")]
    result = CliRunner().invoke(main, ["reveal", str(masked), *options, *more])
    assert CANARY not in result.output
    return result, masked.parent / "out" / masked.name


@pytest.mark.parametrize("name", FILES)
def test_the_originals_come_back_for_their_owner_alone(tmp_path, name):
    masked, mapped = masked_file(tmp_path, name)
    assert CANARY.encode() not in masked.read_bytes() + mapped.read_bytes()
    result, out = run(masked, mapped)
    assert result.exit_code == 0, result.output
    assert out.read_bytes() == FILES[name][1].encode()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_one_case_is_revealed_and_the_others_stay_masked(tmp_path):
    masked, mapped = masked_file(tmp_path, "cases.jsonl")
    result, out = run(masked, mapped, "--case", "1")
    assert result.exit_code == 0, result.output
    assert [CANARY in line for line in out.read_text().splitlines()] == [False, True]


def test_an_unknown_case_is_refused(tmp_path):
    result, out = run(*masked_file(tmp_path, "cases.jsonl"), "--case", "99")
    assert (result.exit_code, out.exists()) == (2, False)


@pytest.mark.parametrize("damage", ["text", "map", "key", "short map", "other map", "fewer lines"])
def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path, damage):
    masked, mapped = masked_file(tmp_path, "cases.jsonl")
    data = mapped.read_bytes()
    match damage:
        case "text":
            masked.write_bytes(masked.read_bytes().replace(b"well", b"Well"))
        case "map":
            mapped.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        case "key":
            (tmp_path / "key").write_bytes(KEY + b"x")
        case "short map":
            mapped.write_bytes(data[:-40])
        case "other map":
            mapped = masked_file(tmp_path, "note.txt")[1]
        case "fewer lines":
            masked.write_bytes(masked.read_bytes().splitlines(keepends=True)[0])
    result, out = run(masked, mapped)
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert not out.exists()
    assert not list(out.parent.glob(".*"))


def test_nothing_is_overwritten_unasked(tmp_path):
    masked, mapped = masked_file(tmp_path, "note.txt")
    assert run(masked, mapped)[0].exit_code == 0
    assert run(masked, mapped)[0].exit_code == 2
    assert run(masked, mapped, "--force")[0].exit_code == 0


def test_the_key_is_never_overwritten(tmp_path):
    masked, mapped = masked_file(tmp_path, "note.txt")
    key = tmp_path / "out" / "note.txt"
    key.parent.mkdir(exist_ok=True)
    key.write_bytes((tmp_path / "key").read_bytes())
    before = key.read_bytes()
    options = ["--map", str(mapped), "--key", str(key), "--out", str(key.parent), "--force"]
    assert CliRunner().invoke(main, ["reveal", str(masked), *options]).exit_code == 2
    assert key.read_bytes() == before


def test_originals_do_not_lie_beside_masked_files(tmp_path):
    masked, mapped = masked_file(tmp_path, "note.txt")
    packed = masked.with_name("note.txt.gz")
    packed.write_bytes(gzip.compress(masked.read_bytes()))
    masked.unlink()
    options = ["--map", str(mapped), "--key", str(tmp_path / "key"), "--out", str(tmp_path), "--force"]
    result = CliRunner().invoke(main, ["reveal", str(packed), *options])
    assert result.exit_code == 2
    assert "--out" in result.output
    assert not masked.exists()


R2 = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<ichicsr lang="en"><safetyreport><safetyreportid>X-1'
    "</safetyreportid><patient><summary><narrativeincludeclinical>Seen by {}, well.</narrativeincludeclinical>"
    "</summary></patient></safetyreport></ichicsr>"
)


def test_free_texts_of_a_case_report_come_back(tmp_path):
    masked, mapped = BytesIO(), BytesIO()
    message, writer = Message(BytesIO(R2.format(CANARY).encode())), MapWriter(mapped, KEY, {"marker": "PHI"})
    target = MessageWriter(masked, message.frame)
    for part in message.parts():
        docs = MASKER.mask_many([Document(t.path, t.text) for t in part.free_texts])
        writer.add(hide_report(part, docs, "PHI"))
        nodes, texts = list(part.node.iter()), [v for v in part.values if v.sort == Sort.FREE_TEXT]
        for value, doc in zip(texts, docs, strict=True):
            nodes[value.index].text = fit_text(doc.text, value.element.max_length["r2"], "PHI")
        target.write(target.render(RewrittenCase(part.node, (), part.tail)))
    target.finish()
    writer.finish()
    paths = written(tmp_path, "case.xml", masked.getvalue(), mapped.getvalue())
    assert CANARY.encode() not in paths[0].read_bytes()
    result, out = run(*paths)
    assert result.exit_code == 0, result.output
    assert f"Seen by {CANARY}, well." in out.read_text()
