"""`inverse-deid mask --engine ray`: refusals, and a real cluster of two machines on this one."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_maskers import BROKEN_STAGE, CANARY
from ray_runs import (
    KILLER,
    WRITERS,
    MakeFake,
    joined,
    mask_serially,
    parts,
    wait_for,
    write_json_lines,
)
from refusals import refuses

from inverse_deid.core.errors import ClusterError, ConfigurationError, InputError, OutputExistsError
from inverse_deid.scale.cluster import Cluster
from inverse_deid.scale.run import RayRun, mask_with_ray

HERE = Path(__file__).parent
PARTITION_BYTES = 4000


@pytest.fixture
def cases(tmp_path) -> Path:
    return write_json_lines(tmp_path / "cases.jsonl")


REFUSED = [
    ("--explain",),
    ("--offsets",),
    ("--known", "known.csv"),
    ("--run-report", "report.json"),
    ("--annotations", "gold"),
    ("--profile", "fda"),
    ("--format", "text"),
]


@pytest.mark.parametrize("options", REFUSED, ids=lambda options: options[0])
def test_options_that_a_cluster_cannot_follow_are_refused(command, cases, out, options):
    result = command("mask", cases, "--out", out, "--engine", "ray", *options)
    assert (result.status, len(result.stderr.splitlines())) == (2, 1)
    assert options[0] in result.stderr


@pytest.mark.parametrize("options", [("--address", "auto"), ("--partition-mib", "1")])
def test_options_of_the_cluster_need_the_engine(command, cases, out, options):
    result = command("mask", cases, "--out", out, *options)
    assert (result.status, "--engine ray" in result.stderr) == (2, True)


@pytest.mark.parametrize("address", ["ray://host:10001", "host", "http://host:1", "host:port"])
def test_an_address_that_is_none_is_one_line(command, cases, out, address):
    result = command("mask", cases, "--out", out, "--engine", "ray", "--address", address)
    assert (result.status, len(result.stderr.splitlines())) == (2, 1)
    assert "HOST:PORT" in result.stderr


def test_a_cluster_that_is_not_there_is_one_line(cases, out):
    run = RayRun(inputs=(str(cases),), out=str(out), cluster=Cluster("127.0.0.1:1"))
    with pytest.raises(ClusterError, match=r"no Ray cluster at 127\.0\.0\.1:1"):
        mask_with_ray(run, MakeFake())
    assert not parts(out)


def test_memory_of_one_process_is_no_place_for_a_cluster(cases):
    with pytest.raises(ConfigurationError, match="no worker can reach it"):
        mask_with_ray(RayRun(inputs=(str(cases),), out="memory://out"), MakeFake())


# The tests below share one cluster, since it takes seconds to start.


@pytest.fixture(scope="module")
def machines() -> Iterator[object]:
    """A head and another machine, of one CPU each."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster as Machines

    one = {"num_cpus": 1, "object_store_memory": 80_000_000}
    found = Machines(initialize_head=True, head_node_args={**one, "include_dashboard": False})
    try:
        found.add_node(**one)
        yield found
    finally:
        found.shutdown()


def run_of(machines, given, out, **options) -> RayRun:
    return RayRun(
        inputs=(str(given),),
        out=str(out),
        cluster=Cluster(machines.address),
        partition_bytes=PARTITION_BYTES,
        **options,
    )


def outputs(out: Path) -> dict[str, tuple[int, bytes]]:
    """What is complete; a worker that was stopped may have left an unfinished file."""
    complete = [path for path in parts(out) if not path.name.startswith(".")]
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in complete}


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize("kind", list(WRITERS))
def test_a_cluster_gives_what_the_serial_engine_gives(machines, tmp_path, out, kind):
    given = WRITERS[kind](tmp_path / f"cases.{kind}")
    serial, expected = mask_serially(given, tmp_path / "serial")
    expected.read_as = {}  # on a cluster nobody finds out how a file is written
    tally = mask_with_ray(run_of(machines, given, out), MakeFake())
    assert joined(kind, parts(out)) == joined(kind, [serial])
    assert (tally, len(parts(out)) > 8) == (expected, True)
    manifest = json.loads((out / ".inverse-deid" / "manifest.json").read_bytes())
    assert len(manifest["outputs"]) == len(parts(out))


@pytest.mark.slow
@pytest.mark.ray
def test_an_interrupted_run_goes_on_and_does_nothing_twice(machines, tmp_path, cases, out):
    n_done = []

    def stop(n_documents: int, _n_tokens: int) -> None:
        n_done.append(n_documents)
        if len(n_done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mask_with_ray(run_of(machines, cases, out, on_progress=stop), MakeFake(0.2))
    before = outputs(out)
    assert 3 <= len(before) < 20
    with refuses(OutputExistsError, match="--resume"):
        mask_with_ray(run_of(machines, cases, out), MakeFake())
    with pytest.raises(ConfigurationError, match="other settings"):
        mask_with_ray(run_of(machines, cases, out, resume=True), MakeFake(name="other"))
    tally = mask_with_ray(run_of(machines, cases, out, resume=True), MakeFake())
    serial, expected = mask_serially(cases, tmp_path / "serial")
    assert tally == expected
    after = outputs(out)
    assert len(list((out / ".inverse-deid" / "done").iterdir())) == len(after)
    assert joined("jsonl", parts(out)) == serial.read_bytes()
    assert sum(after[name] == before[name] for name in before) >= 3

    cases.write_text('{"text": "well"}\n')
    with pytest.raises(InputError, match="have changed"):
        mask_with_ray(run_of(machines, cases, out, resume=True), MakeFake())
    assert mask_with_ray(run_of(machines, cases, out, force=True), MakeFake()).n_documents == 1
    assert len(parts(out)) == 1


@pytest.mark.slow
@pytest.mark.ray
def test_a_document_that_kills_its_worker_costs_its_partition(machines, tmp_path, out):
    given = tmp_path / "cases.jsonl"
    lines = [json.dumps({"id": i, "text": "well " * 100}) for i in range(50)]
    lines[25] = json.dumps({"id": 25, "text": f"{KILLER} {CANARY}"})
    lines[40] = json.dumps({"id": 40, "text": f"{BROKEN_STAGE} {CANARY}"})
    given.write_text("\n".join(lines))
    tally = mask_with_ray(run_of(machines, given, out), MakeFake())
    died, failed = tally.failures
    assert ("its worker died" in died.reason, failed.where) == (True, f"{given} line 41")
    written = [json.loads(line)["id"] for path in parts(out) for line in path.read_text().splitlines()]
    assert set(range(50)) - set(written) < set(range(15, 36))
    assert len(written) == len(set(written))


@pytest.mark.slow
@pytest.mark.ray
def test_no_log_holds_text(machines):
    logs = Path(machines.head_node.get_session_dir_path())
    held = [path.name for path in logs.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert held == []


@pytest.mark.slow
@pytest.mark.ray
def test_a_machine_that_dies_loses_and_doubles_nothing(machines, tmp_path, cases, out):
    done = out / ".inverse-deid" / "done"

    def kill() -> None:
        wait_for(lambda: done.is_dir() and len(list(done.iterdir())) >= 3)
        machines.remove_node(next(iter(machines.worker_nodes)), allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    tally = mask_with_ray(run_of(machines, cases, out), MakeFake(0.3))
    killer.join()
    serial, expected = mask_serially(cases, tmp_path / "serial")
    assert len(machines.worker_nodes) == 0
    assert (joined("jsonl", parts(out)), tally) == (serial.read_bytes(), expected)
    assert not list(out.rglob("*.partial"))
