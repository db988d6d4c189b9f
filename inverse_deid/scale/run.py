"""A whole run: find the inputs, cut them, mask what is not done, and sum up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from inverse_deid import __version__
from inverse_deid.core.errors import ClusterError, ConfigurationError
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.progress import OnAdvance
from inverse_deid.engine.run_settings import settings_fingerprint
from inverse_deid.engine.serial import OnProgress
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Format, ReadOptions
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.scale.actor import ActorJob, MaskerMaker, Outcome, Work, seal_key
from inverse_deid.scale.cluster import MAX_ATTEMPTS, Cluster, mask_on_ray
from inverse_deid.scale.partitions import Partition, Receipt, RunPlan, begin, end, withdraw
from inverse_deid.scale.splitting import find_inputs, split_all
from inverse_deid.scale.storage import Place, is_in_one_process, place_of

PARTITION_BYTES = 16 * 1024 * 1024

Outcomes = Generator[Outcome, None, None]
Workers = Callable[[Sequence[Partition], ActorJob, Cluster], Outcomes]
"""Masks partitions and yields outcomes, in any order; closing it ends the work."""

_WITHDRAWN = N_("was not released, because another part of the file has a value that must not be kept")
_ROUNDS = 2
"""How often partitions are tried whose workers died `MAX_ATTEMPTS` times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayRun:
    """What is masked, and how."""

    inputs: tuple[str, ...]  # addresses of files and folders
    out: str  # address of the output folder
    cluster: Cluster = field(default_factory=Cluster)  # where the work is done
    format: Format | None = None  # of all inputs; None: by suffix
    # How files are read. Nothing is found out, because parts of a file must be read alike.
    read_options: ReadOptions = field(default_factory=ReadOptions)
    partition_bytes: int = PARTITION_BYTES  # size of a partition as it is in its file, at least 1
    resume: bool = False  # continue an interrupted run
    force: bool = False  # overwrite the outputs of an earlier run
    # Told of every partition that is done.
    on_progress: OnProgress = field(default=lambda _documents, _tokens: None)
    # Told how many partitions there are.
    on_plan: Callable[[int], None] = field(default=lambda _n_partitions: None)
    # Told of partitions that are done, or failed for good.
    on_advance: OnAdvance = field(default=lambda _n_partitions, _was_done: None)
    # From the masker to the settings that the manifest shows, without secrets.
    describe: Callable[[DocumentMasker], Mapping[str, Any]] = field(default=lambda _masker: {})


def mask_with_ray(run: RayRun, make_masker: MaskerMaker, workers: Workers = mask_on_ray) -> Tally:
    """Mask files on a Ray cluster, one output file per partition.

    Returns:
        What was done, with all failures, in the order of the inputs.

    Raises:
        InverseDeidError: Nothing can be done, or the run cannot continue; what is done stays for `resume`.
    """
    run = replace(run, read_options=replace(run.read_options, finds_out=False))
    out = _open_out(run)
    files, tally = find_inputs(run.inputs, out, run.format)
    if not files:
        return tally
    masker = make_masker(n_threads=1, device="cpu")
    planned = split_all(files, run.read_options, run.partition_bytes, tally)
    shape = (run.read_options, run.format, run.partition_bytes)
    settings = settings_fingerprint(__version__, masker.fingerprint, *shape)
    plan = RunPlan(out, settings, planned, run.describe(masker), seal_key(masker))
    if not planned:
        return tally
    receipts = begin(plan, resume=run.resume, force=run.force)
    tally.n_files = len(planned)
    tally.n_found_complete = sum(all(part.target in receipts for part in parts) for parts in planned)
    run.on_plan(sum(map(len, planned)))
    run.on_advance(len(receipts), True)
    job = ActorJob(Work(out.address, settings, run.read_options), make_masker, masker.fingerprint)
    problems = _mask(plan, receipts, run, lambda todo: workers(todo, job, run.cluster))
    _count(plan, receipts, problems, tally)
    end(plan, receipts, tally)
    return tally


def _open_out(run: RayRun) -> Place:
    # Inputs and outputs must be where every worker reaches them.
    out = place_of(run.out)
    for place in (out, *map(place_of, run.inputs)):
        if is_in_one_process(place):
            raise ConfigurationError(
                _(
                    "{printable} is in the memory of one process and no worker can reach it. Give a "
                    "shared folder or an object store",
                    printable=place.printable,
                )
            )
    return out


def _mask(
    plan: RunPlan,
    receipts: dict[str, Receipt],
    run: RayRun,
    outcomes_of: Callable[[Sequence[Partition]], Outcomes],
) -> dict[str, ClusterError]:
    # When a machine dies, its partitions may use up their attempts before the cluster knows. They get another
    # round with new workers.
    problems: dict[str, ClusterError] = {}
    refused: set[str] = set()
    for _ignored in range(_ROUNDS):
        done = receipts.keys() | problems.keys()
        todo = [part for parts in plan.partitions for part in parts if part.target not in done]
        if not todo:
            break
        with closing(outcomes_of(todo)) as outcomes:
            for outcome in outcomes:
                if outcome.is_fatal:
                    raise ClusterError(outcome.problem, remedies=outcome.remedies)
                run.on_advance(1, False)
                if outcome.receipt is None:
                    problems[outcome.target] = ClusterError(outcome.problem, remedies=outcome.remedies)
                    refused |= {outcome.target} if outcome.is_refused else set()
                else:
                    receipts[outcome.target] = outcome.receipt
                    run.on_progress(outcome.receipt.tally.n_documents, outcome.receipt.tally.n_tokens)
    for parts in plan.partitions:
        targets = {part.target for part in parts}
        if targets & refused:
            withdrawn = sorted(targets & receipts.keys())
            withdraw(plan, withdrawn)
            for target in withdrawn:
                del receipts[target]
            problems |= dict.fromkeys(withdrawn, ClusterError(_WITHDRAWN))
    return problems


def _count(
    plan: RunPlan, receipts: Mapping[str, Receipt], problems: Mapping[str, ClusterError], tally: Tally
) -> None:
    # In the order of the inputs, so that the summary does not depend on the workers.
    for part in (part for parts in plan.partitions for part in parts):
        receipt = receipts.get(part.target)
        if receipt is not None:
            tally.merge(receipt.tally)
            continue
        died = ClusterError(_("its worker died {rounds} times", rounds=_ROUNDS * MAX_ATTEMPTS))
        problem = problems.get(part.target, died)
        place = (
            ""
            if part.is_whole
            else _(" part {index} (from record {n_before:,})", index=part.index, n_before=part.n_before + 1)
        )
        tally.fail(f"{part.shown}{place}", problem)
