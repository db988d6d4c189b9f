"""`inverse-deid research extraction find`: masked texts in, their concepts out as JSON Lines and brat."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inverse_deid.cli.report_files import refuse_read
from inverse_deid.core.errors import ConfigurationError, FormatError, InputError, OutputExistsError
from inverse_deid.core.files import output_errors, partial_path, replace_folder, write_whole
from inverse_deid.core.values import Document
from inverse_deid.formats.brat import annotation_lines, brat_text
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import format_of, input_errors, open_input, open_source
from inverse_deid.research.commands.extractors import load_extractor

if TYPE_CHECKING:
    from inverse_deid.research.extraction.concepts import ConceptSpan
    from inverse_deid.research.extraction.tagger import Tagger

_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_READABLE = ("text", "jsonl")
_EXPLANATION_SUFFIX = ".explain.jsonl"
_DOCUMENTS = 64
"""Read by the extractor at a time."""


@click.command("find")
@click.argument("inputs", nargs=-1, required=True, type=_ANY)
@click.option("--model", required=True, type=_FOLDER, help="Folder of `research extraction train`.")
@click.option("-o", "--out", type=_FILE, help="JSON Lines to write.  [default: standard output]")
@click.option("--brat", type=_FOLDER, help="Folder for brat: each text and beside it its concepts.")
@click.option("--force", is_flag=True, help="Overwrite what an earlier run wrote.")
def extract(inputs: tuple[Path, ...], model: Path, out: Path | None, brat: Path | None, force: bool) -> None:
    """Find the concepts of texts: drugs, effects, whatever the extractor was trained on.

    INPUTS are text files (.txt), JSON Lines with texts as `mask` writes them, or folders of these, also
    gzipped. A line of the output is {"id", "concepts": [{"start", "end", "type", "text"}]}; offsets count
    code points of the text that was read. The output quotes that text: mask first.

    Exit status: 0 done; 2 refused, nothing was written.
    """
    for path in (path for path in (out, brat) if path is not None):
        refuse_read(path, inputs)
        _check_target(path, force=force)
    docs = [doc for path in inputs for doc in _documents(path)]
    repeated = len(docs) - len({doc.id for doc in docs})
    if repeated and brat is not None:
        raise ConfigurationError(
            f"{repeated} documents have an id that stands before; give --brat files apart"
        )
    found = _found(load_extractor(model), docs)
    if brat is not None:
        _write_brat(docs, found, brat)
    lines = (_line(doc, concepts) for doc, concepts in zip(docs, found, strict=True))
    if out is not None:
        write_whole(out, lines)
    elif brat is None:
        for line in lines:
            click.echo(line.decode(), nl=False)


def _check_target(path: Path, *, force: bool) -> None:
    """Nothing but earlier output is overwritten, and that only when asked."""
    if not path.exists():
        return
    if path.is_dir() and any(
        file.suffix not in (".txt", ".ann") for file in path.rglob("*") if file.is_file()
    ):
        raise OutputExistsError(f"{path} holds other files than brat's; choose another folder")
    if not force and (path.is_file() or any(path.iterdir())):
        raise OutputExistsError(f"{path} exists already; give --force to overwrite it")


def _documents(path: Path) -> list[Document]:
    """The documents of a file or folder; their ids say where they stand.

    Raises:
        InputError: Names the file, the line and the remedy.
    """
    if not path.is_dir():
        return list(_read(path, path.name))
    docs = [
        doc
        for file in sorted(path.rglob("*"))
        if file.is_file() and _is_readable(file.relative_to(path))
        for doc in _read(file, file.relative_to(path).as_posix())
    ]
    if not docs:
        raise FormatError(f"{path}: holds no .txt and no .jsonl file; give a folder of masked texts")
    return docs


def _is_readable(name: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in name.parts)
    with suppress(FormatError):
        return (
            not is_hidden
            and not name.name.endswith(_EXPLANATION_SUFFIX)
            and format_of(name).name in _READABLE
        )
    return False


def _read(path: Path, name: str) -> Iterator[Document]:
    try:
        with input_errors(), open_input(path) as stream:
            kind = format_of(path)
            if kind.name not in _READABLE:
                raise FormatError("is neither text nor JSON Lines; give what `inverse-deid mask` made of it")
            source = open_source(stream, name, kind, ReadOptions())
            for record in source.records():
                if record.doc is None:
                    raise FormatError(f"{source.unit} {record.number} {record.problem}")
                yield record.doc
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


def _found(tagger: Tagger, docs: Sequence[Document]) -> list[tuple[ConceptSpan, ...]]:
    """The concepts of each document."""
    from inverse_deid.research.extraction.passage_inputs import CONCEPTS

    if CONCEPTS not in tagger.types:
        raise ConfigurationError("the model finds identifiers, no concepts; give an extractor")
    return [
        found[CONCEPTS]
        for start in range(0, len(docs), _DOCUMENTS)
        for found in tagger.find([doc.text for doc in docs[start : start + _DOCUMENTS]])
    ]


def _line(doc: Document, concepts: Sequence[ConceptSpan]) -> bytes:
    listed = [
        {"start": span.start, "end": span.end, "type": span.type, "text": doc.text[span.start : span.end]}
        for span in concepts
    ]
    return (
        json.dumps({"id": doc.id, "concepts": listed}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    )


def _write_brat(docs: Sequence[Document], found: Sequence[Sequence[ConceptSpan]], folder: Path) -> None:
    """Write all files beside the folder, then give them its name."""
    staging = partial_path(folder)
    with output_errors(folder):
        shutil.rmtree(staging, ignore_errors=True)
        try:
            staging.mkdir(parents=True)
            for number, (doc, concepts) in enumerate(zip(docs, found, strict=True), start=1):
                target = staging / _file_name(doc.id, number)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.with_name(target.name + ".txt").write_bytes(brat_text(doc))
                bound = ((span.type, span.start, span.end) for span in concepts)
                target.with_name(target.name + ".ann").write_bytes(annotation_lines(doc.text, bound))
            replace_folder(folder, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _file_name(doc_id: str, number: int) -> Path:
    """A document's place in the folder: that of its text file, else its number."""
    name = Path(doc_id.removesuffix(".gz"))
    is_file = name.suffix == ".txt" and not name.is_absolute() and ".." not in name.parts
    return name.with_suffix("") if is_file else Path(f"{number:06}")
