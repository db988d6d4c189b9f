"""`inverse-deid research open-benchmarks`: the masker on sets that anybody can fetch."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import click

from inverse_deid.core.errors import ConfigurationError, OutputExistsError, Remedy
from inverse_deid.core.files import printable
from inverse_deid_research.commands.compare import name_processor
from inverse_deid_research.commands.experiment import command_line

_ANY = click.Path(path_type=Path)
_SETS = {"asq_phi": "asq-phi", "outis": "outis", "meddocan": "meddocan", "grascco": "grascco"}


@click.command()
@click.option("--asq-phi", type=_ANY, help="synthetic_clinical_queries.txt of ASQ-PHI.")
@click.option("--outis", type=_ANY, help="validation.jsonl, as the generator of the package outis writes it.")
@click.option(
    "--meddocan",
    multiple=True,
    type=_ANY,
    help="JSON Lines, or a folder of the XML files of MEDDOCAN. May be repeated.",
)
@click.option(
    "--grascco",
    multiple=True,
    type=_ANY,
    help="JSON Lines, or a folder of the JSON files of GraSCCo_PHI. May be repeated.",
)
@click.option(
    "--reading",
    "readings",
    multiple=True,
    type=click.Choice(["careful", "fast"]),
    help="How words in doubt are read. May be repeated. Without it both are measured.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for figures and report.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the resampling.")
@click.option("--force", is_flag=True, help="Replace earlier figures in the folder.")
def open_benchmarks(out: Path, **given: Any) -> None:  # noqa: ANN401 - click's options
    """Measure the masker on open benchmarks with a scorer of its own.

    Give the files of one set or more. docs/open-benchmarks.md describes how to get them.
    The report has three figures per set: identifying characters masked, other text removed,
    and documents fully masked. It contains no text.


    Exit status: 0 done, 2 refused and nothing written.
    """
    from inverse_deid.core.revision import require_clean_revision
    from inverse_deid.masking.assemble import packaged_model, packaged_second_reader
    from inverse_deid.network.folder import model_fingerprint
    from inverse_deid_research.benchmarks.report import (
        READINGS,
        BenchmarkRun,
        read_texts,
        render_csv,
        render_sections,
        run_benchmark,
    )
    from inverse_deid_research.benchmarks.sets import read_benchmark
    from inverse_deid_research.studies.records import write_text
    from inverse_deid_research.studies.report import Provenance

    start = time.perf_counter()
    paths = {name: given[option] for option, name in _SETS.items() if given[option]}
    paths = {name: path if isinstance(path, tuple) else (path,) for name, path in paths.items()}
    if not paths:
        raise ConfigurationError(
            "no benchmark is named", remedies=[Remedy(name, "FILE") for name in ("asq_phi", "outis")]
        )
    require_clean_revision(out)
    if out.exists() and any(out.iterdir()) and not given["force"]:
        raise OutputExistsError(
            f"{printable(out)}: the folder is not empty",
            remedies=[Remedy("force", step="use {} to replace it")],
        )
    texts = [read_benchmark(name, files) for name, files in paths.items()]
    runs: list[BenchmarkRun] = []
    readings = [one for one in READINGS if one in (given["readings"] or READINGS)]
    for one in texts:
        runs += run_benchmark(one, readings, given["seed"], progress=lambda line: click.echo(line, err=True))
    provenance = Provenance(
        command=command_line(click.get_current_context()),
        device=name_processor(),
        seeds=[given["seed"]],
        hashes={str(path): _hash(path) for files in paths.values() for path in files},
        settings={
            "seconds in the tables": "one thread, loading included",
            "network": model_fingerprint(packaged_model())[:12],
            "second reader, for `careful`": model_fingerprint(packaged_second_reader())[:12],
        },
        n_seconds={"all": time.perf_counter() - start},
    )
    head = [
        f"# {provenance.title('Open benchmarks')}",
        "",
        *provenance.lines(),
        "",
        read_texts()["about"].strip(),
        "",
    ]
    write_text(out / "figures.csv", render_csv(runs))
    write_text(out / "report.md", "\n".join([*head, *render_sections(runs, texts)]).rstrip() + "\n")
    click.echo(f"written to {printable(out / 'report.md')}")


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of all files of a folder."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() if path.is_dir() else b"")
            digest.update(file.read_bytes())
    return digest.hexdigest()
