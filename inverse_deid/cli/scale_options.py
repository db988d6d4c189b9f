"""Options of `inverse-deid mask` for work on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from inverse_deid.cli.mask_options import STANDARD_INPUT, MaskOptions
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import missing_extra

if TYPE_CHECKING:
    from inverse_deid.engine.serial import OnProgress
    from inverse_deid.engine.tally import Tally
    from inverse_deid.masking.case_masker import CaseMasker
    from inverse_deid.network.scorer import Device

MIB = 1024 * 1024

_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["serial", "ray"]),
        default="serial",
        show_default=True,
        help="ray: JSON Lines, CSV and Parquet on a Ray cluster, one output file a partition "
        "(docs/scale.md). INPUT and --out may then be addresses such as s3://bucket/folder.",
    ),
    click.option(
        "--address",
        metavar="HOST:PORT",
        help="With --engine ray: head of the cluster, or auto.  [default: a Ray of its own on this machine]",
    ),
    click.option(
        "--partition-mib",
        type=click.FloatRange(0, min_open=True),
        help="With --engine ray: MiB of input that are masked at one go.  [default: 16]",
    ),
)


def scale_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOptions:
    """What was given on the command line.

    Args:
        engine: What masks.
        address: Of the cluster.
        partition_mib: Size of a partition in MiB.
        out: The output folder as it was given: a path object would spoil an address.
    """

    engine: Literal["serial", "ray"] = "serial"
    address: str | None = None
    partition_mib: float | None = None
    out: str | None = None

    def check(self, options: MaskOptions, inputs: tuple[str, ...]) -> None:
        """Refuse options that the engine cannot follow, before anything is loaded.

        Raises:
            ConfigurationError: There are some.
        """
        if self.engine == "serial":
            if self.address is not None or self.partition_mib is not None:
                raise ConfigurationError("--address and --partition-mib are for --engine ray; add it")
            return
        given = {
            "-": STANDARD_INPUT in inputs,
            "--explain": options.explain,
            "--offsets": options.offsets,
            "--annotations": options.annotations is not None,
            "--known": options.cases.known is not None,
            "--run-report": options.cases.run_report is not None,
            "--profile": options.cases.profile is not None,
            "--map": options.cases.maps is not None,
            "--workers": options.workers != 1,
            f"--format {options.format}": options.format is not None and not options.format.can_be_split,
        }
        refused = [name for name, is_given in given.items() if is_given]
        if refused:
            raise ConfigurationError(
                f"--engine ray masks files of JSON Lines, CSV and Parquet; leave out {', '.join(refused)}, "
                "or --engine"
            )


@dataclass(frozen=True, slots=True)
class CaseMaskerMaker:
    """Makes the masker on any machine; paths and options travel, keys and words of lists do not."""

    options: MaskOptions

    def __call__(self, *, n_threads: int, device: Device) -> CaseMasker:
        """Load lexicon and model."""
        from inverse_deid.cli.mask_masker import masking_settings
        from inverse_deid.masking.assemble import build_deidentifier
        from inverse_deid.masking.case_masker import CaseMasker

        cases = self.options.cases
        masking = replace(masking_settings(self.options), n_threads=n_threads, device=device)
        settings = cases.settings(cases.secret())
        surrogates = cases.surrogates(settings.key, self.options.lexicon)
        return CaseMasker(build_deidentifier(masking), settings, surrogates)


def mask_on_cluster(
    inputs: tuple[str, ...], options: MaskOptions, scale: ScaleOptions, on_progress: OnProgress
) -> Tally:
    """Mask files on a Ray cluster.

    Raises:
        InverseDeidError: Nothing can be done, or the run cannot go on.
    """
    try:
        from inverse_deid.scale.cluster import Cluster
        from inverse_deid.scale.run import PARTITION_BYTES, RayRun, mask_with_ray
    except ImportError as error:
        raise missing_extra("--engine ray", error.name, "scale") from error
    from inverse_deid.cli.mask_masker import report_settings

    # Every worker must take the same day for today, also after midnight.
    today = options.cases.settings(None).today
    options = replace(options, cases=replace(options.cases, today=datetime.combine(today, time())))

    profile = options.cases.report_profile()
    mib = scale.partition_mib
    run = RayRun(
        inputs=inputs,
        out=scale.out or "",
        cluster=Cluster(scale.address, max(options.threads, 1)),
        format=options.format,
        read_options=options.read_options,
        partition_bytes=PARTITION_BYTES if mib is None else max(1, int(mib * MIB)),
        resume=options.resume,
        force=options.force,
        on_progress=on_progress,
        tell=lambda masker: report_settings(options, cast("CaseMasker", masker), profile, ""),
    )
    return mask_with_ray(run, CaseMaskerMaker(options))
