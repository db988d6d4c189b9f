"""`inverse-deid research extraction`: prepare documents for extractors, and train them."""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid import __version__
from inverse_deid.cli.report_files import refuse_read
from inverse_deid.core.errors import ConfigurationError, OutputExistsError
from inverse_deid.core.files import sha256_of, write_whole
from inverse_deid.core.phi import PhiType
from inverse_deid.network.config import read_config
from inverse_deid.network.folder import refuse_other_folder
from inverse_deid.research.commands.concept_cost import cost
from inverse_deid.research.commands.experiment import extraction_study
from inverse_deid.research.commands.extract import extract
from inverse_deid.research.commands.training_extra import need_training
from inverse_deid.research.extraction.config import (
    KINDS,
    TaggerConfig,
    TaggerTraining,
    tagger_config,
    tagger_training,
)
from inverse_deid.research.extraction.json_concepts import concept_json_line
from inverse_deid.research.extraction.reading import Layout, read_concepts
from inverse_deid.research.extraction.views import BY_MASKER, View, viewed

if TYPE_CHECKING:
    from inverse_deid.research.extraction.concepts import ConceptDocument
    from inverse_deid.research.extraction.passage_inputs import Types
    from inverse_deid.research.extraction.views import Maskers

DEFAULT_TYPES = "Drug,Effect"
_ANY = click.Path(path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_LAYOUT = click.option(
    "--layout",
    type=click.Choice([layout.value for layout in Layout]),
    help="How the concepts are written.  [default: by suffix; .jsonl is this project's form]",
)
_TYPES = click.option(
    "--types", default=DEFAULT_TYPES, show_default=True, help="The concepts that count, separated by commas."
)


@click.group()
def extraction() -> None:
    """Train extractors of concepts, on original or masked text.

    Needs the extra `train` (pip install '.[train]'). `inverse-deid research extraction find` uses an
    extractor, `inverse-deid research extraction cost` says what masking costs it.
    """


@extraction.command()
@click.argument("documents", type=_ANY)
@click.option("-o", "--out", required=True, type=_FILE, help="JSON Lines to write.")
@_LAYOUT
@_TYPES
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Decides everything.")
@click.option("--force", is_flag=True, help="Overwrite an earlier file.")
def inject(documents: Path, out: Path, layout: str | None, types: str, seed: int, force: bool) -> None:
    """Plant invented identifiers around the concepts of DOCUMENTS.

    The output has both kinds of gold: "spans" are identifiers, "concepts" concepts. It holds the text
    of DOCUMENTS: keep it as safe. The same options give the same bytes.
    """
    refuse_read(out, [documents])
    if out.exists() and not force:
        raise OutputExistsError(f"{out} exists already; give --force to overwrite it")
    need_training("extraction", "train")
    from inverse_deid.research.extraction.injection import inject_identifiers

    docs = read_concepts(documents, Layout(layout) if layout else None)
    planted = list(inject_identifiers(docs, seed, _listed(types)))
    write_whole(out, map(concept_json_line, planted))
    click.echo(f"documents   {len(planted):>8,}")
    click.echo(f"identifiers {sum(len(doc.doc.spans) for doc in planted):>8,}")
    click.echo(f"concepts    {sum(len(doc.concepts) for doc in planted):>8,}")


@extraction.command()
@click.option("--train", "train_path", required=True, type=_ANY, help="Documents with concepts to train on.")
@click.option("--dev", "dev_path", required=True, type=_ANY, help="Others, which decide when to stop.")
@click.option("-o", "--out", required=True, type=_FOLDER, help="Model folder to write.")
@click.option("--config", "config_path", type=_FILE, help="TOML file with [extractor] and [training].")
@_LAYOUT
@_TYPES
@click.option("--kind", type=click.Choice(KINDS), help="Which model.  [default: tagger]")
@click.option(
    "--view",
    type=click.Choice([view.value for view in View]),
    default=View.ORIGINAL.value,
    show_default=True,
    help="What is read: the original; gold or predicted identifiers as placeholders of their class; the "
    "masker's plain marker, alone or with relative dates.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Of every random choice.")
@click.option("-q", "--quiet", is_flag=True, help="No lines.")
def train(**given: Any) -> None:  # noqa: ANN401 - the options are listed above
    """Train an extractor.

    The joint kinds, multitask and stacked, learn identifiers and concepts at once: their documents
    have "spans" and "concepts", and the view is the original.
    """
    config, training = _settings(given)
    if config.kind != "tagger" and given["view"] != View.ORIGINAL:
        raise ConfigurationError(f"a {config.kind} model reads the original text; leave out --view")
    refuse_other_folder(given["out"])
    need_training("extraction", "train")
    layout = Layout(given["layout"]) if given["layout"] else None
    train_docs, dev_docs = (read_concepts(given[name], layout) for name in ("train_path", "dev_path"))
    view = View(given["view"])
    from inverse_deid.research.extraction.folder import write_tagger
    from inverse_deid.research.extraction.passage_inputs import learnable_vectors
    from inverse_deid.research.extraction.training import refuse_overlap, train_tagger

    refuse_overlap(train_docs, dev_docs)
    maskers = _maskers(view)
    train_docs, dev_docs = viewed(train_docs, view, maskers), viewed(dev_docs, view, maskers)
    if config.learn_words:
        vectors = learnable_vectors(train_docs, config.word_dim, training.seed)
    else:
        from inverse_deid.masking.assemble import packaged_model
        from inverse_deid.network.folder import read_model

        vectors = read_model(packaged_model()).word_vectors
    tagger = train_tagger(
        train_docs,
        dev_docs,
        config,
        training,
        types=_types(config, given["types"], train_docs),
        vectors=vectors,
        on_epoch=(lambda epoch: None) if given["quiet"] else click.echo,
    )
    provenance = {
        "version": __version__,
        "view": view.value,
        "training": dataclasses.asdict(training),
        "data": {part: _hash(given[f"{part}_path"]) for part in ("train", "dev")},
    }
    write_tagger(tagger, given["out"], provenance)
    if not given["quiet"]:
        click.echo(f"extractor written to {given['out']}")


def _settings(given: dict[str, Any]) -> tuple[TaggerConfig, TaggerTraining]:
    table = read_config(given["config_path"]) if given["config_path"] else {}
    unknown = sorted(set(table) - {"extractor", "training"})
    if unknown:
        raise ConfigurationError(
            f"{given['config_path']}: unknown table {unknown[0]}; known: extractor, training"
        )
    config, training = tagger_config(table.get("extractor", {})), tagger_training(table.get("training", {}))
    if given["kind"]:
        config = dataclasses.replace(config, kind=given["kind"])
    if given["seed"] is not None:
        training = dataclasses.replace(training, seed=given["seed"])
    return config, training


def _listed(types: str) -> tuple[str, ...]:
    names = tuple(sorted({name.strip() for name in types.split(",")} - {""}))
    if not names:
        raise ConfigurationError("--types names no type; give such as Drug,Effect")
    return names


def _types(config: TaggerConfig, concepts: str, docs: list[ConceptDocument]) -> Types:
    from inverse_deid.research.extraction.passage_inputs import CONCEPTS, PHI

    if config.kind == "tagger":
        return {CONCEPTS: _listed(concepts)}
    marked = {span.type for doc in docs for span in doc.doc.spans}
    return {PHI: tuple(kind for kind in PhiType if kind in marked), CONCEPTS: _listed(concepts)}


def _maskers(view: View) -> Maskers:
    """The masker of the view, if it needs one."""
    if view not in BY_MASKER:
        return {}
    from inverse_deid.research.extraction.view_maskers import view_maskers

    return view_maskers([view], today=date.today())  # noqa: DTZ011, RUF100 - a person's day


def _hash(path: Path) -> str | None:
    return sha256_of(path) if path.is_file() else None


extraction.add_command(cost)
extraction.add_command(extract)
extraction.add_command(extraction_study)
