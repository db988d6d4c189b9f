"""`inverse-deid research extraction`: prepare documents, train extractors, use and judge them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from inverse_deid import __version__
from inverse_deid.choices.table import Device
from inverse_deid.cli.parts.report_files import check_target, refuse_read, write_json
from inverse_deid.core.errors import ConfigurationError, FormatError, OutputExistsError
from inverse_deid.core.files import sha256_of, write_folder, write_whole
from inverse_deid.core.settings import as_plain_values, change_settings, read_settings
from inverse_deid.core.values import Document
from inverse_deid.evaluation.added_reports import CONCEPT_FORMAT_NAME, ConceptReport
from inverse_deid.evaluation.masked_files import masks_by_id, read_masked
from inverse_deid.evaluation.measures.figures import encode_record
from inverse_deid.evaluation.provenance import name_files, trace_sources
from inverse_deid.formats.beside.brat import annotation_lines, brat_text
from inverse_deid.formats.records import ReadOptions
from inverse_deid.formats.registry import format_of, input_errors, open_input
from inverse_deid.network.folder import refuse_other_folder
from inverse_deid.training.backend import prepare_backend
from inverse_deid_research.commands.experiment import study_command
from inverse_deid_research.commands.progress import progress
from inverse_deid_research.extraction.concepts import CONCEPTS, PHI, list_types, refuse_overlap
from inverse_deid_research.extraction.config import KINDS, ExtractorConfig, ExtractorTraining
from inverse_deid_research.extraction.readers import ConceptLayout, read_concepts, render_json_line
from inverse_deid_research.extraction.scoring import measure_utility, render_utility
from inverse_deid_research.extraction.views import View, build_maskers, inject_identifiers, rewrite_documents

if TYPE_CHECKING:
    from inverse_deid_research.extraction.concepts import ConceptSpan
    from inverse_deid_research.extraction.tagger import Tagger
    from inverse_deid_research.studies.study import StudyOptions

_READABLE = ("text", "jsonl")
_DOCUMENTS = 64
"""Documents that the extractor reads at a time."""

_ANY = click.Path(path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_LAYOUT = click.option(
    "--layout",
    type=click.Choice([layout.value for layout in ConceptLayout]),
    help="Layout of the concepts.  [default: by suffix, where .jsonl is this project's form]",
)
_TYPES = click.option(
    "--types", default="Drug,Effect", show_default=True, help="The concepts that count, separated by commas."
)
_MODEL = click.option(
    "--model", required=True, type=_FOLDER, help="Folder written by `research extraction train`."
)


@click.group()
def extraction() -> None:
    """Train extractors of concepts, on original or masked text.

    `inverse-deid research extraction find` uses an extractor. `inverse-deid research extraction cost`
    measures what masking costs it.
    """


@extraction.command()
@click.argument("documents", type=_ANY)
@click.option("-o", "--out", required=True, type=_FILE, help="JSON Lines to write.")
@_LAYOUT
@_TYPES
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of every random choice."
)
@click.option("--force", is_flag=True, help="Overwrite an earlier file.")
def inject(documents: Path, out: Path, layout: str | None, types: str, seed: int, force: bool) -> None:
    """Plant invented identifiers around the concepts of DOCUMENTS.

    The output has both kinds of gold: "spans" are identifiers, "concepts" are concepts. It contains the
    text of DOCUMENTS, so keep it as safe. The same options give the same bytes.
    """
    refuse_read(out, [documents])
    if out.exists() and not force:
        raise OutputExistsError(f"{out}: exists already. Overwrite it with --force")
    docs = read_concepts(documents, ConceptLayout(layout) if layout else None)
    planted = list(inject_identifiers(docs, seed, _split_types(types)))
    write_whole(out, map(render_json_line, planted))
    click.echo(f"documents   {len(planted):>8,}")
    click.echo(f"identifiers {sum(len(doc.doc.spans) for doc in planted):>8,}")
    click.echo(f"concepts    {sum(len(doc.concepts) for doc in planted):>8,}")


@extraction.command()
@click.argument("documents", nargs=-1, required=True, type=_ANY)
@click.option(
    "--weights",
    required=True,
    type=_FOLDER,
    help="Folder with config.json, vocab.txt and model.safetensors of a BERT or MPNet encoder.",
)
@click.option("-o", "--out", required=True, type=_FILE, help="File of vectors (.npz) to write.")
@_LAYOUT
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an earlier file.")
def embed(  # noqa: PLR0913 - its options
    documents: tuple[Path, ...],
    *,
    weights: Path,
    out: Path,
    layout: str | None,
    device: Device,
    threads: int,
    force: bool,
) -> None:
    """Compute the contextual vectors of DOCUMENTS once, for the study.

    Needs the extra `train`. The vectors tell much of the text, so keep the file as safe as DOCUMENTS.
    """
    refuse_read(out, documents)
    if out.exists() and not force:
        raise OutputExistsError(f"{out}: exists already. Overwrite it with --force")
    kind = ConceptLayout(layout) if layout else None
    texts = [doc.doc.text for path in documents for doc in read_concepts(path, kind)]
    prepare_backend(device, threads)
    from inverse_deid_research.extraction.contextual import store_vectors

    click.echo(f"passages {store_vectors(texts, weights, out):,}")


class ExtractorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of `--config`."""

    extractor: ExtractorConfig = ExtractorConfig()
    training: ExtractorTraining = ExtractorTraining()


@extraction.command()
@click.option("--train", "train_path", required=True, type=_ANY, help="Documents with concepts to train on.")
@click.option(
    "--dev", "dev_path", required=True, type=_ANY, help="Other documents, which decide when to stop."
)
@click.option("-o", "--out", required=True, type=_FOLDER, help="Model folder to write.")
@click.option("--config", "config_path", type=_FILE, help="TOML file with [extractor] and [training].")
@_LAYOUT
@_TYPES
@click.option("--kind", type=click.Choice(KINDS), help="Kind of model.  [default: tagger]")
@click.option(
    "--view",
    type=click.Choice([view.value for view in View]),
    default=View.ORIGINAL.value,
    show_default=True,
    help="Text to train on: the original, gold or predicted identifiers as placeholders of their class, or "
    "the masker's plain marker, alone or with relative dates.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Seed of every random choice.")
@click.option("-q", "--quiet", is_flag=True, help="Do not print progress.")
def train(**given: Any) -> None:  # noqa: ANN401 - the options are listed above
    """Train an extractor.

    The joint kinds, multitask and stacked, learn identifiers and concepts together. Their documents
    have "spans" and "concepts", and their view is the original.
    """
    config, training = _read_settings(given)
    view, say = View(given["view"]), progress(quiet=given["quiet"])
    if config.kind != "tagger" and view is not View.ORIGINAL:
        raise ConfigurationError(f"--view: a {config.kind} model reads the original text. Leave out --view")
    refuse_other_folder(given["out"])
    from inverse_deid.masking.assemble import packaged_model
    from inverse_deid.network.folder import read_model
    from inverse_deid_research.extraction.passages import make_vectors
    from inverse_deid_research.extraction.tagger import write_tagger
    from inverse_deid_research.extraction.training import train_tagger

    layout = ConceptLayout(given["layout"]) if given["layout"] else None
    train_docs, dev_docs = (read_concepts(given[name], layout) for name in ("train_path", "dev_path"))
    refuse_overlap({"train": train_docs, "dev": dev_docs})
    today = date.today()  # noqa: DTZ011, RUF100 - a person's day
    maskers = build_maskers([view], today=today)
    train_docs, dev_docs = (rewrite_documents(docs, view, maskers) for docs in (train_docs, dev_docs))
    tasks = (CONCEPTS,) if config.kind == "tagger" else (PHI, CONCEPTS)
    if config.learn_words:
        vectors = make_vectors(train_docs, config.word_dim, training.seed)
    else:
        vectors = read_model(packaged_model()).word_vectors
    tagger = train_tagger(
        train_docs,
        dev_docs,
        config,
        training,
        types=list_types(train_docs, tasks, _split_types(given["types"])),
        vectors=vectors,
        on_epoch=lambda epoch: say(str(epoch)),
    )
    paths = {part: given[f"{part}_path"] for part in ("train", "dev")}
    made_from = {
        "version": __version__,
        "view": view.value,
        "training": as_plain_values(training),
        "data": {part: sha256_of(path) if path.is_file() else None for part, path in paths.items()},
    }
    write_tagger(tagger, given["out"], made_from)
    say(f"extractor written to {given['out']}")


def _read_settings(given: dict[str, Any]) -> tuple[ExtractorConfig, ExtractorTraining]:
    path: Path | None = given["config_path"]
    settings = ExtractorSettings() if path is None else read_settings(path, ExtractorSettings)
    config, training = settings.extractor, settings.training
    if given["kind"]:
        config = change_settings(config, kind=given["kind"])
    if given["seed"] is not None:
        training = change_settings(training, seed=given["seed"])
    return config, training


def _split_types(types: str) -> tuple[str, ...]:
    names = tuple(sorted({name.strip() for name in types.split(",")} - {""}))
    if not names:
        raise ConfigurationError("--types: no type given. Give types such as Drug,Effect")
    return names


def load_extractor(folder: Path) -> Tagger:
    """Read the folder of an extractor, as `read_tagger` does; Keras is imported only then."""
    from inverse_deid_research.extraction.tagger import read_tagger

    return read_tagger(folder)


@extraction.command()
@click.argument("inputs", nargs=-1, required=True, type=_ANY)
@_MODEL
@click.option("-o", "--out", type=_FILE, help="JSON Lines to write.  [default: standard output]")
@click.option("--brat", type=_FOLDER, help="Folder for brat: each text with a file of its concepts.")
@click.option("--force", is_flag=True, help="Overwrite the output of an earlier run.")
def find(inputs: tuple[Path, ...], model: Path, out: Path | None, brat: Path | None, force: bool) -> None:
    """Find the concepts of texts: drugs, effects or other types that the extractor learned.

    INPUTS are text files (.txt), JSON Lines with texts as `mask` writes them, or folders of these. They may
    be gzipped. A line of the output is {"id", "concepts": [{"start", "end", "type", "text"}]}. Offsets
    count code points of the text that was read. The output quotes that text, so mask first.

    Exit status: 0 done, 2 refused and nothing written.
    """
    for path in filter(None, (out, brat)):
        refuse_read(path, inputs)
        _refuse_existing(path, force=force)
    docs = [doc for path in inputs for doc in _read_documents(path)]
    repeated = len(docs) - len({doc.id for doc in docs})
    if repeated and brat is not None:
        raise ConfigurationError(
            f"{repeated} duplicate document ids. Run each input with its own --brat folder"
        )
    tagger = load_extractor(model)
    if CONCEPTS not in tagger.types:
        raise ConfigurationError(f"{model}: finds identifiers, not concepts. Give an extractor of concepts")
    found = [
        spans[CONCEPTS]
        for start in range(0, len(docs), _DOCUMENTS)
        for spans in tagger.find([doc.text for doc in docs[start : start + _DOCUMENTS]])
    ]
    if brat is not None:
        write_folder(brat, lambda staging: _write_brat(docs, found, staging))
    lines = (_render_line(doc, concepts) for doc, concepts in zip(docs, found, strict=True))
    if out is not None:
        write_whole(out, lines)
    elif brat is None:
        for line in lines:
            click.echo(line.decode(), nl=False)


def _refuse_existing(path: Path, *, force: bool) -> None:
    if not path.exists():
        return
    if path.is_dir() and any(
        file.suffix not in (".txt", ".ann") for file in path.rglob("*") if file.is_file()
    ):
        raise OutputExistsError(f"{path}: contains other files than those of brat. Choose another folder")
    if not force and (path.is_file() or any(path.iterdir())):
        raise OutputExistsError(f"{path}: exists already. Overwrite it with --force")


def _read_documents(path: Path) -> list[Document]:
    # The id of a text is its path in the folder.
    if not path.is_dir():
        return list(_read_file(path, path.name))
    names = (file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file())
    docs = [doc for name in names if _is_readable(name) for doc in _read_file(path / name, name.as_posix())]
    if not docs:
        raise FormatError(f"{path}: contains no .txt or .jsonl file. Give a folder of masked texts")
    return docs


def _is_readable(name: Path) -> bool:
    if any(part.startswith(".") for part in name.parts) or name.name.endswith(".explain.jsonl"):
        return False
    with suppress(FormatError):
        return format_of(name).name in _READABLE
    return False


def _read_file(path: Path, name: str) -> Iterator[Document]:
    with name_files(path), input_errors(), open_input(path) as stream:
        kind = format_of(path)
        if kind.name not in _READABLE:
            raise FormatError("neither text nor JSON Lines. Give the output of `inverse-deid mask`")
        source = kind.open(stream, ReadOptions(), name)
        for record in source.records():
            if record.doc is None:
                raise FormatError(f"{source.unit} {record.number} {record.problem}")
            yield record.doc


def _render_line(doc: Document, concepts: Sequence[ConceptSpan]) -> bytes:
    listed = [{**asdict(span), "text": doc.text[span.start : span.end]} for span in concepts]
    line = json.dumps({"id": doc.id, "concepts": listed}, ensure_ascii=False)
    return line.encode("utf-8", "replace") + b"\n"


def _write_brat(docs: Sequence[Document], found: Sequence[Sequence[ConceptSpan]], folder: Path) -> None:
    # Named like its text file or else by its number.
    for number, (doc, concepts) in enumerate(zip(docs, found, strict=True), start=1):
        name = Path(doc.id.removesuffix(".gz"))
        is_file = name.suffix == ".txt" and not name.is_absolute() and ".." not in name.parts
        target = folder / (name.with_suffix("") if is_file else f"{number:06}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.with_name(target.name + ".txt").write_bytes(brat_text(doc))
        bound = ((span.type, span.start, span.end) for span in concepts)
        target.with_name(target.name + ".ann").write_bytes(annotation_lines(doc.text, bound))


@extraction.command()
@click.argument("gold", type=_ANY)
@click.argument("masked", type=_ANY)
@_MODEL
@click.option("--json", "json_path", type=_FILE, help="Write the figures as JSON, for `evaluate --add`.")
@click.option("--force", is_flag=True, help="Overwrite the file of an earlier run.")
def cost(gold: Path, masked: Path, model: Path, json_path: Path | None, force: bool) -> None:
    """Measure what the masks of MASKED cost an extractor that reads GOLD.

    GOLD is JSON Lines with concepts. MASKED is as for `inverse-deid evaluate`.
    """
    if json_path is not None:
        check_target(json_path, CONCEPT_FORMAT_NAME, force=force)
    docs = read_concepts(gold)
    with name_files(masked):
        masks = masks_by_id([doc.doc for doc in docs], read_masked(masked))
    with name_files(gold):
        found = measure_utility(docs, masks, load_extractor(model))
    if json_path is not None:
        made_from = trace_sources(gold=gold, masked=masked, model=model)
        write_json(json_path, encode_record(ConceptReport(provenance=made_from, types=found)))
    for line in render_utility(found):
        click.echo(line)


@extraction.command()
@click.argument("config", type=_FILE)
@study_command(seeds="1,2,3", only="Train only this model now.")
def study(config: Path, options: StudyOptions) -> None:
    """Judge de-identification and concept extraction together.

    CONFIG names documents with both kinds of gold annotations (see
    research/configs/experiments/extraction.toml). Trains a tagger of identifiers, taggers of
    concepts on original and masked text, the multitask model and the stacked model.
    """
    from inverse_deid_research.extraction.study import run_extraction_study

    run_extraction_study(config, options)


@extraction.command()
@click.argument("config", type=_FILE)
@study_command(seeds=(), only="Train only this model now.")
def spanish(config: Path, options: StudyOptions) -> None:
    """Judge both tasks on Spanish cases whose identifiers and concepts are in two corpora.

    CONFIG names the corpora and fixes the seeds (see
    research/configs/experiments/extraction-spanish.toml). The report gives no verdict before all of
    these seeds have run. With --seeds, only some of them are run now.
    """
    from inverse_deid_research.extraction.spanish import run_spanish_study

    run_spanish_study(config, options)
