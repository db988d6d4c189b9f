"""`inverse-deid generate`: generate synthetic annotated documents, reproducible by their seed."""

from __future__ import annotations

import gzip
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from inverse_deid.core.errors import ConfigurationError, OutputExistsError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.files import output_errors, printable, write_folder, write_whole
from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document
from inverse_deid.core.wording import _
from inverse_deid.formats.i2b2_xml import gold_i2b2_xml
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid.text.tokenizer import span_of_token, tokenize
from inverse_deid.training.corpora.synthetic import generate_documents

_ANY = click.Path(path_type=Path)
_FILE_ENDINGS = (".jsonl", ".jsonl.gz")
_OUR_FILES = "synthetic-*.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """The options of the command line."""

    out: Path
    format_name: str
    documents: int
    seed: int
    carriers: tuple[Path, ...]
    invented_share: float | None
    force: bool

    @property
    def is_folder(self) -> bool:
        """Whether the documents go to a folder, each to its own file."""
        return self.format_name == "i2b2"

    def check(self) -> None:
        """Refuse contradictory options and unwanted overwriting, before anything is loaded.

        Raises:
            ConfigurationError: The options do not fit each other.
            OutputExistsError: Something is there that is not an earlier output, is a
                carrier, or may not be overwritten without `--force`.
        """
        if self.invented_share is not None and not self.carriers:
            raise ConfigurationError(_("--invented-share needs --carriers. Give both or neither"))
        if self.out.name in ("", ".."):
            raise ConfigurationError(_("give --out the name of a new file or folder"))
        if not self.is_folder and not self.out.name.lower().endswith(_FILE_ENDINGS):
            raise ConfigurationError(
                _(
                    "{out} is not a .jsonl or .jsonl.gz file. Rename it, or give --format i2b2 for a folder",
                    out=printable(self.out),
                )
            )
        with output_errors(self.out):
            self._check_existing()

    def _check_existing(self) -> None:
        out = self.out.resolve()
        if any(out in (path, *path.parents) for path in (given.resolve() for given in self.carriers)):
            raise OutputExistsError(
                _("{out} contains carriers. Choose another name with --out", out=printable(self.out))
            )
        entries = list(out.iterdir()) if self.is_folder and out.is_dir() else [out]
        if not out.exists() or not entries:
            return
        is_ours = out.is_dir() if self.is_folder else out.is_file()
        if not is_ours or (self.is_folder and not all(path.match(_OUR_FILES) for path in entries)):
            raise OutputExistsError(
                _(
                    "{out} exists and was not written by generate. Choose another name with --out",
                    out=printable(self.out),
                )
            )
        if not self.force:
            raise OutputExistsError(
                _("{out} exists already. Use --force to overwrite it", out=printable(self.out))
            )


@dataclass(slots=True)
class Summary:
    """Counts of the generated documents."""

    n_documents: int = 0
    n_tokens: int = 0
    n_phi_tokens: int = 0
    spans: Counter[PhiType] = field(default_factory=Counter)

    def add(self, doc: Document) -> None:
        tokens = tokenize(doc.text)
        self.n_documents += 1
        self.n_tokens += len(tokens)
        self.n_phi_tokens += int((span_of_token(tokens, doc.spans) >= 0).sum())
        self.spans.update(span.type for span in doc.spans)

    def lines(self) -> Iterator[str]:
        """Return the summary, types by their order in `PhiType`."""
        yield _("documents  {n_documents:>12,}", n_documents=self.n_documents)
        yield _("tokens     {n_tokens:>12,}", n_tokens=self.n_tokens)
        yield _("PHI tokens {n_phi_tokens:>12,}", n_phi_tokens=self.n_phi_tokens)
        yield _("spans      {total:>12,}", total=self.spans.total())
        for phi_type in PhiType:
            if self.spans[phi_type]:
                yield f"  {phi_type.value:<15}{self.spans[phi_type]:>6,}"


@click.command()
@click.option(
    "-o",
    "--out",
    required=True,
    type=_ANY,
    help=_("File to write (.jsonl or .jsonl.gz), or a folder with --format i2b2."),
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["jsonl", "i2b2"]),
    default="jsonl",
    show_default=True,
    help=_("JSON Lines with spans, or 2014 i2b2 XML with tags, one file per document."),
)
@click.option(
    "--documents", type=click.IntRange(1), default=1000, show_default=True, help=_("Number of documents.")
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help=_("Seed of all random choices.")
)
@click.option(
    "--carriers",
    multiple=True,
    type=_ANY,
    help=_("Narratives to plant identifiers in. May be repeated. Without them, all documents are invented."),
)
@click.option(
    "--invented-share",
    type=click.FloatRange(0, 1),
    help=_("With --carriers: share of the documents that are entirely invented.  [default: as in training]"),
)
@click.option("--force", is_flag=True, help=_("Overwrite the output of an earlier run."))
def generate(**given: Any) -> None:  # noqa: ANN401 - click's options, typed in GenerateOptions
    """Generate synthetic documents with their identifiers marked.

    The same options give the same bytes. Needs the extra `train`
    (pip install '.[train]'). Carriers are JSON Lines or 2014 i2b2 XML. Patterns mark
    the dates and ages in them that are certain. The rest of their text is copied, so
    protect the output like the carriers.
    """
    options = GenerateOptions(**given)
    options.check()
    docs = _documents(options)
    summary = Summary()
    counted = _count(docs, options.documents, summary)
    if options.is_folder:

        def fill(folder: Path) -> None:
            for doc in counted:
                (folder / f"{doc.id}.xml").write_bytes(gold_i2b2_xml(doc))

        write_folder(options.out, fill)
    else:
        lines = map(gold_json_line, counted)
        write_whole(options.out, _pack(lines) if options.out.suffix.lower() == ".gz" else lines)
    for line in summary.lines():
        click.echo(line)
    if options.carriers:
        click.echo(_("note       the documents contain text of the carriers. Protect them like the carriers"))


def _documents(options: GenerateOptions) -> Iterator[Document]:
    # Imports are here to keep `--help` quick.
    try:
        from inverse_deid.training.corpora.people import load_name_pools

        load_name_pools()
    except ImportError as error:
        raise missing_extra("generating", error.name, "train") from error
    if not options.carriers:
        return generate_documents(options.documents, options.seed)
    from inverse_deid.training.augmentation import INVENTED_SHARE
    from inverse_deid.training.corpus import read_annotated

    share = INVENTED_SHARE if options.invented_share is None else options.invented_share
    carriers = [doc for path in options.carriers for doc in read_annotated(path)]
    return generate_documents(options.documents, options.seed, carriers=carriers, invented_share=share)


def _count(docs: Iterable[Document], n_documents: int, summary: Summary) -> Iterator[Document]:
    # A bar shows how far they are on a terminal.
    from tqdm import tqdm

    hidden = not sys.stderr.isatty()
    for doc in tqdm(
        docs, total=n_documents, unit=_(" documents"), file=sys.stderr, disable=hidden, leave=False
    ):
        summary.add(doc)
        yield doc


def _pack(lines: Iterable[bytes]) -> Iterator[bytes]:
    # Without name and time, for the same bytes again.
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as packer:
        for line in lines:
            packer.write(line)
            yield packed.getvalue()
            packed.seek(0)
            packed.truncate()
    yield packed.getvalue()
