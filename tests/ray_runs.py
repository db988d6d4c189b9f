"""What tests of the cluster engine share: inputs with a canary, and maskers that workers can load."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from fake_maskers import BROKEN_STAGE, CANARY, FakeMasker, mask_capitals

from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.engine.jobs.journal import Journal
from inverse_deid.engine.jobs.planning import PlanSettings, plan_jobs
from inverse_deid.engine.run import run_jobs
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.tally import Tally

KILLER = "KILLSTHEWORKER"
"""A document with this word ends the process that masks it."""

N_DOCUMENTS = 400


class KilledMasker(FakeMasker):
    """Masks capitals, slowly if asked to; one word kills."""

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        if any(KILLER in doc.text for doc in docs):
            os._exit(1)
        return super().mask_many(docs)


@dataclass(frozen=True)
class MakeFake:
    """Makes the masker in a worker."""

    seconds_a_batch: float = 0.0
    name: str = "fake"

    def __call__(self, *, n_threads: int, device: str) -> FakeMasker:
        masker = KilledMasker(str.islower, self.seconds_a_batch)
        masker.fingerprint = self.name
        return masker


def texts(n: int = N_DOCUMENTS) -> Iterator[str]:
    for i in range(n):
        yield f"case {i}: Ms. {CANARY} had a rash; é 𝔘 \u200b after the dose.\n" * (1 + i % 7)


def write_json_lines(path: Path, n: int = N_DOCUMENTS) -> Path:
    """Ids of both kinds, none, a broken line, blank lines and a document that fails."""
    lines = [
        json.dumps({"id": i, "text": text} if i % 3 else {"text": text}) for i, text in enumerate(texts(n))
    ]
    lines[n // 2] = f"{CANARY}"
    lines[n // 3] = json.dumps({"id": "poisoned", "text": f"{BROKEN_STAGE} {CANARY}"})
    lines[n // 4] = ""
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def write_csv(path: Path, n: int = N_DOCUMENTS) -> Path:
    """Line ends and separators inside cells, a byte-order mark, a short row."""
    rows = [f'{i},"{text}, ""quoted""\r\n{i}",x y\r\n' for i, text in enumerate(texts(n))]
    rows[n // 2] = f"{CANARY}\r\n"
    path.write_bytes(("\ufeffn,text,other\r\n" + "".join(rows)).encode())
    return path


def write_parquet(path: Path, n: int = N_DOCUMENTS) -> Path:
    """Several row groups, an empty cell."""
    column: list[str | None] = list(texts(n))
    column[n // 2] = None
    table = pa.table({"n": list(range(n)), "text": column, "more": [[i] for i in range(n)]})
    pyarrow.parquet.write_table(table, path, row_group_size=max(1, n // 20))
    return path


WRITERS = {"jsonl": write_json_lines, "csv": write_csv, "parquet": write_parquet}


def mask_serially(given: Path, out: Path) -> tuple[Path, Tally]:
    """The output of the serial engine."""
    jobs, tally = plan_jobs([given], PlanSettings(out=out))
    tally.merge(run_jobs(jobs, Journal(out, "fake"), mask_capitals(), RunSettings(fingerprint="fake")))
    return jobs[0].target, tally


def parts(out: Path) -> list[Path]:
    """The outputs of a run, in the order of the records."""
    return sorted(path for path in out.rglob("*.part-*") if ".inverse-deid" not in path.parts)


def joined(kind: str, files: Sequence[Path]) -> object:
    """The records of several outputs, in order: lines, rows with the header, or a table."""
    if kind == "parquet":
        return pa.concat_tables([pyarrow.parquet.read_table(file) for file in files])
    whole = [file.read_bytes() for file in files]
    if kind == "jsonl":
        return b"".join(whole)
    header = whole[0][: whole[0].index(b"\r\n") + 2]
    assert all(one.startswith(header) for one in whole)
    return header + b"".join(one.removeprefix(header) for one in whole)


def wait_for(condition, process=None, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process is None or process.poll() is None, process.stderr.read()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)
