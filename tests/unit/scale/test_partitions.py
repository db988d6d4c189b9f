"""Without Ray: cutting files and masking their partitions gives what the serial engine gives."""

import gzip
import json

import fsspec
import pytest
from fake_maskers import CANARY, mask_capitals
from ray_runs import WRITERS, joined, mask_serially, parts, write_json_lines

from inverse_deid.core.errors import InputError
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import FORMATS
from inverse_deid.scale.actor import Work, mask_partition
from inverse_deid.scale.splitting import find_inputs, split
from inverse_deid.scale.storage import place_of


def cut(path, partition_bytes, options=None):
    files, tally = find_inputs([str(path)], place_of("/nowhere/out"), None)
    assert not tally.n_failures
    return split(files[0], options or ReadOptions(finds_out=False), partition_bytes)


def mask_all_parts(partitions, out, options=None):
    tally = Tally()
    work = Work(str(out), "settings", options or ReadOptions(finds_out=False))
    for partition in reversed(partitions):
        part = mask_partition(partition, mask_capitals(), work).tally
        part.merge(tally)
        tally = part
    return tally


@pytest.mark.parametrize("kind", list(WRITERS))
@pytest.mark.parametrize("partition_bytes", [997, 4_000])
def test_partitions_hold_what_the_serial_engine_writes(tmp_path, kind, partition_bytes):
    given = WRITERS[kind](tmp_path / f"cases.{kind}", 60)
    serial, expected = mask_serially(given, tmp_path / "serial")
    expected.n_files = 0  # the run counts its files, not its parts
    expected.read_as = {}  # parts of a file do not find out how it is written
    partitions = cut(given, partition_bytes)
    tally = mask_all_parts(partitions, tmp_path / "out")
    assert joined(kind, parts(tmp_path / "out")) == joined(kind, [serial])
    assert tally == expected
    assert len(partitions) > 1


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_tables_of_any_encoding_are_cut(tmp_path, encoding):
    given = tmp_path / "cases.csv"
    given.write_bytes("text;id\n".encode(encoding))
    body = "".join(f'"Änne\n{i}; well";{i}\n' for i in range(50))
    given.write_bytes(("text;id\n" + body).encode(encoding))
    options = ReadOptions(encoding.removesuffix("-sig"), delimiter=";", finds_out=False)
    partitions = cut(given, 100, options)
    tally = mask_all_parts(partitions, tmp_path / "out", options)
    assert (tally.n_documents, tally.n_failures, len(partitions) > 5) == (50, 0, True)
    first = parts(tmp_path / "out")[0].read_bytes().decode(encoding)
    assert first.startswith("text;id\n")


def test_a_packed_file_is_one_partition(tmp_path):
    plain = write_json_lines(tmp_path / "cases.jsonl", 60)
    packed = tmp_path / "packed" / "cases.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    serial, _ = mask_serially(plain, tmp_path / "serial")
    assert len(cut(packed, 100)) == 1
    mask_all_parts(cut(packed, 100), tmp_path / "out")
    assert parts(tmp_path / "out")[0].read_bytes() == serial.read_bytes()


def test_a_table_that_cannot_be_parsed_fails_as_in_the_serial_engine(tmp_path):
    given = tmp_path / "cases.csv"
    given.write_text("id,text\n" + "1,well\n" * 100 + f'2,"{CANARY}\n')
    _, expected = mask_serially(given, tmp_path / "serial")
    partitions = cut(given, 50)
    assert len(partitions) == 1
    with pytest.raises(InputError) as failed:
        mask_all_parts(partitions, tmp_path / "out")
    assert str(failed.value) == expected.failures[0].reason
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_a_file_that_changes_after_the_plan_is_not_masked(tmp_path):
    given = write_json_lines(tmp_path / "cases.jsonl", 60)
    partitions = cut(given, 1000)
    given.write_bytes(given.read_bytes() + b'\n{"text": "more"}\n')
    with pytest.raises(InputError, match="has changed"):
        mask_all_parts(partitions, tmp_path / "out")


def test_a_partition_with_nothing_to_write_leaves_no_output(tmp_path):
    given = tmp_path / "cases.jsonl"
    given.write_text(f"{CANARY}\n" * 3)
    tally = mask_all_parts(cut(given, 10**6), tmp_path / "out")
    assert (tally.n_failures, parts(tmp_path / "out")) == (3, [])


def test_partitions_hold_no_text(tmp_path):
    for kind, write in WRITERS.items():
        partitions = cut(write(tmp_path / f"cases.{kind}", 60), 1000)
        assert partitions
        for partition in partitions:
            assert CANARY not in partition.as_json() + repr(partition)


def test_another_file_system_gives_the_same(tmp_path):
    memory = fsspec.filesystem("memory")
    given = write_json_lines(tmp_path / "cases.jsonl", 60)
    memory.pipe_file("/in/north/cases.jsonl", given.read_bytes())
    memory.pipe_file("/in/.hidden.jsonl", b"x")
    memory.pipe_file("/in/readme.md", b"x")
    out = place_of("memory://out")
    files, tally = find_inputs(["memory://in"], out, None)
    assert [file.name for file in files] == ["north/cases.jsonl"]
    assert [failure.where for failure in tally.failures] == ["memory:///in/readme.md"]
    work = Work("memory://out", "settings", ReadOptions())
    for partition in split(files[0], ReadOptions(), 2000):
        mask_partition(partition, mask_capitals(), work)
    serial, _ = mask_serially(given, tmp_path / "serial")
    names = sorted(name for name in memory.find("/out") if ".inverse-deid" not in name)
    assert b"".join(memory.cat_file(name) for name in names) == serial.read_bytes()
    assert names[0] == "/out/north/cases.part-00000.jsonl"
    memory.rm("/", recursive=True)


def test_two_files_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_json_lines(tmp_path / folder / "cases.jsonl", 60)
    given = [str(tmp_path / folder / "cases.jsonl") for folder in ("a", "b")]
    files, tally = find_inputs(given, place_of(str(tmp_path / "out")), FORMATS["jsonl"])
    assert (len(files), tally.n_failures) == (1, 1)
    assert "would become" in tally.failures[0].reason


def test_ids_of_the_last_partition_are_the_line_numbers(tmp_path):
    given = tmp_path / "cases.jsonl"
    given.write_text("\n".join(json.dumps({"text": "well"}) for _ in range(100)))
    mask_all_parts(cut(given, 200), tmp_path / "out")
    last = parts(tmp_path / "out")[-1].read_text().splitlines()[-1]
    assert json.loads(last)["id"] == "100"
