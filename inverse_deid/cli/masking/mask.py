"""`inverse-deid mask`: case narratives in, masked case narratives out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from inverse_deid.choices.records import Surface
from inverse_deid.cli.parts.choice_options import list_options
from inverse_deid.cli.parts.grouped_command import GroupedCommand, with_groups
from inverse_deid.cli.parts.secret_files import KEY_COMMAND_OPTION
from inverse_deid.core.wording import N_, _
from inverse_deid.formats.registry import FORMATS

MAX_WORKERS = 256

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(path_type=Path)
_FILES = (
    click.option("-o", "--out", help=_("Folder for the masked files. Needed unless INPUT is -.")),
    click.option(
        "--format",
        "format_name",
        type=click.Choice(list(FORMATS)),
        help=_("Format of all inputs.  [default: by suffix]"),
    ),
    click.option(
        "--rename",
        type=_FILE,
        metavar="LIST.csv",
        help=_(
            "Number masked files and ids (document-0001.txt, case-0001), and write this list of old and "
            "new names. If it exists, it is continued. Confidential."
        ),
    ),
    click.option("--force", is_flag=True, help=_("Overwrite existing masked files, but never an input.")),
    click.option("--resume", is_flag=True, help=_("Resume an interrupted run.")),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help=_("Show no progress and no summary. Failures are still listed."),
    ),
    click.option(
        "-v", "--verbose", is_flag=True, help=_("Show counts of words, their reasons, and the speed.")
    ),
    click.option(
        "--progress",
        is_flag=True,
        help=_("Print progress every 30 seconds, for a log file. A terminal shows a bar without it."),
    ),
)

_TABLES_AND_JSON_LINES = (
    click.option(
        "--text-column",
        multiple=True,
        default=("text",),
        show_default=True,
        metavar="NAME",
        help=_("Column or JSON key to mask. Repeat it for several texts of one case."),
    ),
    click.option(
        "--id-column",
        metavar="NAME",
        help=_("Column or JSON key of the id. It is written unmasked.  [default: id, or the position]"),
    ),
    click.option(
        "--keep-column",
        multiple=True,
        metavar="NAME",
        help=_(
            "Column or JSON key to copy. Repeat it for several. Other columns are dropped. Names, "
            "contacts, ids and free text in it are refused, and dates and ages follow --dates and --ages "
            "(docs/tables.md)."
        ),
    ),
    click.option(
        "--keep-all-columns", is_flag=True, help=_("Copy all other columns, checked as with --keep-column.")
    ),
    click.option(
        "--keep-unchecked",
        multiple=True,
        metavar="NAME",
        help=_(
            "Column or JSON key to copy whatever it contains. Repeat it for several. The run report "
            "lists them."
        ),
    ),
    click.option(
        "--all-cells",
        is_flag=True,
        help=_(
            "In Excel and JSON files: mask every cell and every string, not chosen columns "
            "(docs/tables.md, docs/office-files.md)."
        ),
    ),
    click.option(
        "--delimiter",
        help=_("Character that separates the cells of a CSV file, or tab.  [default: found out]"),
    ),
    click.option(
        "--encoding",
        help=_("Encoding of text, JSON, CSV and HTML files.  [default: found out]"),
    ),
)

_KNOWN_OPTION = click.option(
    "--known",
    type=_FILE,
    help=_(
        "CSV or JSON Lines file with the id of a document and identifiers that it must not show "
        "(docs/icsr.md). Confidential."
    ),
)
_PROFILE_OPTION = click.option(
    "--profile",
    metavar="NAME|FILE.toml",
    help=_(
        "What happens to the structured fields of case reports: eudravigilance, fda, third-party, "
        "public, or your own file (docs/icsr.md). third-party removes all persons and keeps a message "
        "that other systems can load.  [default: third-party]"
    ),
)

_FURTHER_OUTPUTS = (
    click.option(
        "--explain",
        is_flag=True,
        help=_(
            "Write NAME.explain.jsonl: which words of the masked text were kept, and what each mask may hide."
        ),
    ),
    click.option(
        "--with-text",
        is_flag=True,
        help=_(
            "With --explain: add the ORIGINAL words, why each was kept, and the probabilities. Confidential."
        ),
    ),
    click.option(
        "--html",
        type=_FILE,
        help=_(
            "Write one page with the ORIGINALS beside the masked texts and the reasons in plain words "
            "(mode 600). Confidential."
        ),
    ),
    click.option(
        "--offsets",
        is_flag=True,
        help=_(
            "In JSON Lines: add the ranges of the original text that were masked, for evaluate. They "
            "tell the length of every masked word. Confidential."
        ),
    ),
    click.option(
        "--annotations",
        type=_FOLDER,
        help=_("Folder for i2b2 annotation XML with the ORIGINAL text. Confidential."),
    ),
    click.option(
        "--map",
        "maps",
        type=_FOLDER,
        metavar="FOLDER",
        help=_("Write NAME.map for inverse-deid reveal: the originals, encrypted with --key. Confidential."),
    ),
    click.option(
        "--run-report",
        type=_FILE,
        help=_(
            "Write a JSON report of what was done to each element, without values (mode 600). Confidential."
        ),
    ),
)

_SPEED = (
    click.option(
        "--workers",
        type=click.IntRange(1, MAX_WORKERS),
        default=1,
        show_default=True,
        help=_("Number of processes that mask. The output does not depend on it."),
    ),
    *list_options(Surface.MASK, "Speed"),
    click.option(
        "--engine",
        type=click.Choice(["serial", "ray"]),
        default="serial",
        show_default=True,
        help=_(
            "ray: mask JSON Lines, CSV and Parquet on a Ray cluster, with one output file per partition "
            "(docs/scale.md). INPUT and --out may then be addresses such as s3://bucket/folder."
        ),
    ),
    click.option(
        "--address",
        metavar="HOST:PORT",
        help=_("With --engine ray: head of the cluster, or auto.  [default: start Ray on this machine]"),
    ),
    click.option(
        "--partition-mib",
        type=click.FloatRange(0, min_open=True),
        help=_("With --engine ray: size of a partition in MiB of input.  [default: 16]"),
    ),
)

OPTION_GROUPS = {
    N_("Input and output"): _FILES,
    N_("Tables and JSON Lines"): _TABLES_AND_JSON_LINES,
    N_("What is masked"): (*list_options(Surface.MASK, "What is masked"), _KNOWN_OPTION),
    N_("What replaces it"): (
        *list_options(Surface.MASK, "What replaces it"),
        KEY_COMMAND_OPTION,
        _PROFILE_OPTION,
    ),
    N_("Explanations and reports"): _FURTHER_OUTPUTS,
    "Speed": _SPEED,
    N_("Thresholds and models"): list_options(Surface.MASK, "Thresholds and models"),
}
"""The options by heading, basics first."""

_EXAMPLES = {
    N_("Mask the files of a folder"): "inverse-deid mask CASES --out MASKED",
    N_("Mask one column of a table, and keep another"): (
        "inverse-deid mask cases.csv --text-column narrative --keep-column sex --out MASKED"
    ),
    N_("Millions of narratives: faster, but less careful"): "inverse-deid mask CASES --out MASKED --fast",
    N_("Write categories such as [NAME], and the year of dates"): (
        "inverse-deid mask CASES --out MASKED --replace category --dates year"
    ),
    N_("Continue a run that was stopped"): "inverse-deid mask CASES --out MASKED --resume",
}


@with_groups(OPTION_GROUPS)
@click.command(cls=GroupedCommand, examples=_EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def mask(inputs: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 - click's options, see MaskOptions
    """Mask case narratives: hide every word that is not confidently safe.

    INPUT is a file, or a folder (searched with its subfolders), or - for standard
    input. Formats by suffix: .txt, .md, .jsonl, .json, .csv, .tsv, .parquet, .xml
    (case safety reports, ICH E2B(R3) and E2B(R2), and 2014 i2b2).
    Office formats: .docx, .xlsx, .pptx, .pdf, .rtf, .html, .eml, .msg, .zip, and with
    LibreOffice .doc, .xls, .ppt, .odt, .ods. Scans: .png, .jpg, .tif. .gz is unpacked.
    Masked files are written to the folder --out under the same names. File names
    and ids are copied: make sure that they contain no names, or give --rename.
    Other columns of tables and fields of JSON are dropped, unless --keep-column
    names them.

    Exit status: 0 all done, 1 some documents failed and are listed, 2 nothing
    could be done, 130 stopped (run again with --resume).
    """
    from inverse_deid.cli.masking.run import run_mask
    from inverse_deid.cli.masking.settings import MaskOptions

    return run_mask(inputs, MaskOptions.read(given))
