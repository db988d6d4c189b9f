"""Reading what `mask --offsets` or `--annotations` wrote: JSON Lines, XML, or a folder of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inverse_deid.core.errors import AnnotationError, FormatError, InputError
from inverse_deid.core.values import Document
from inverse_deid.evaluation.counts import Range, check_masks
from inverse_deid.evaluation.evaluation import named, repeated
from inverse_deid.formats.i2b2_xml import read_gold_i2b2_xml
from inverse_deid.formats.json_lines import numbered_lines
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import format_of, input_errors, open_input
from inverse_deid.formats.strict_json import parse_json

_EXPLANATION_SUFFIX = ".explain.jsonl"


@dataclass(frozen=True, slots=True)
class MaskedOutput:
    """What was masked in one document.

    Args:
        id: Of the document.
        masks: Half-open ranges of the original text, not yet held against it.
        text: The masked text, or the original; None: the file does not tell.
    """

    id: str
    masks: tuple[Range, ...] = field(repr=False)
    text: str | None = field(default=None, repr=False)


def read_masked(path: Path) -> list[MaskedOutput]:
    """Read the masks of a file or folder; hidden files and explanations in a folder are passed over.

    Args:
        path: JSON Lines of `{"id", "masks"}` and, to check them, `"text"`; XML as
            `inverse-deid mask --annotations` writes it, whose id is the file name; a
            folder of such files. Both also gzipped.

    Raises:
        InputError: Names the file, the line and the remedy.
    """
    files = _files_below(path) if path.is_dir() else [path]
    outputs = [output for file in files for output in _read_file(file)]
    if not outputs:
        raise FormatError(
            f"{path}: holds no masks; give the JSON Lines that `inverse-deid mask --offsets` wrote, or for "
            "i2b2 XML the folder of --annotations"
        )
    return outputs


def _files_below(folder: Path) -> list[Path]:
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
        and not file.name.endswith(_EXPLANATION_SUFFIX)
        and (kind := _format(file)) is not None
        and (kind.has_offsets or kind.has_annotations)
    ]


def _format(path: Path) -> Format | None:
    try:
        return format_of(path)
    except FormatError:
        return None


def _read_file(path: Path) -> list[MaskedOutput]:
    """The masks of one file; an error names it."""
    try:
        with input_errors(), open_input(path) as stream:
            kind = _format(path)
            if kind is not None and kind.has_annotations:
                doc = read_gold_i2b2_xml(stream, path.name.removesuffix(".gz"))
                return [MaskedOutput(doc.id, tuple((s.start, s.end) for s in doc.spans), doc.text)]
            return [_output(number, line) for number, line in numbered_lines(stream)]
    except InputError as error:
        raise type(error)(f"{path}: {error}") from error


def _output(number: int, line: bytes) -> MaskedOutput:
    """The masks of one line; a line without an id is known by its number."""
    parsed: object = None
    with suppress(ValueError, RecursionError):
        parsed = parse_json(line)
    if not isinstance(parsed, dict):
        raise FormatError(f"line {number} is not a JSON object; give JSON Lines with masks")
    doc_id, text, masks = parsed.get("id", number), parsed.get("text"), _ranges(parsed)
    if isinstance(doc_id, bool) or not isinstance(doc_id, str | int):
        raise FormatError(f"line {number} has an id that is neither text nor a whole number")
    if not isinstance(text, str | None):
        raise FormatError(f"line {number} has a text that is no text; leave it out or mend it")
    if "masks" not in parsed:
        raise FormatError(f'line {number} has no "masks"; mask again with --offsets')
    if masks is None:
        raise FormatError(
            f'line {number} has no "masks" of whole numbers [[start, end], ...]; '
            "give what `inverse-deid mask --offsets` wrote"
        )
    return MaskedOutput(str(doc_id), masks, text)


def _ranges(parsed: Mapping[str, Any]) -> tuple[Range, ...] | None:
    """The masks, None if they are not a list of pairs of whole numbers."""
    listed = parsed.get("masks")
    if not isinstance(listed, list):
        return None
    pairs = [mask for mask in listed if isinstance(mask, list) and len(mask) == 2]
    if len(pairs) < len(listed) or any(type(offset) is not int for pair in pairs for offset in pair):
        return None
    return tuple((start, end) for start, end in pairs)


def masks_by_id(gold: Sequence[Document], outputs: Sequence[MaskedOutput]) -> dict[str, tuple[Range, ...]]:
    """The masks of each document, held against the gold text where the masked side tells its text.

    Raises:
        AnnotationError: An id is masked twice, or masks or text do not fit the gold.
    """
    if twice := repeated(output.id for output in outputs):
        raise AnnotationError(f"masked more than once: {named(twice)}; give every document once")
    docs = {doc.id: doc for doc in gold}
    strange: list[str] = []
    for output in outputs:
        doc = docs.get(output.id)
        if doc is None:
            continue
        check_masks(doc, output.masks)
        if output.text is not None and not is_masked_form(output.text, doc.text, output.masks):
            strange.append(output.id)
    if strange:
        raise AnnotationError(
            f"the masked text does not fit gold text and masks: {named(strange)}; mask the gold documents "
            "again (for i2b2 XML give the folder of --annotations, not of --out)"
        )
    return {output.id: output.masks for output in outputs}


def is_masked_form(masked: str, original: str, masks: Sequence[Range]) -> bool:
    """Whether a text is the original, or can come of it by replacing just the masks.

    Args:
        masked: The text to check.
        original: The gold text.
        masks: Ranges inside of it, in any order; they may overlap.

    Example:
        >>> [is_masked_form(text, "Mr Li left", [(3, 5)]) for text in ("Mr PHI left", "Mr PHI ran")]
        [True, False]
    """
    if masked == original:
        return True
    first, *middle = _kept_pieces(original, masks)
    if not middle:
        return False
    *middle, last = middle
    position, limit = len(first), len(masked) - len(last)
    if not (masked.startswith(first) and masked.endswith(last) and position <= limit):
        return False
    for piece in middle:
        found = masked.find(piece, position, limit)
        if found < 0:
            return False
        position = found + len(piece)
    return True


def _kept_pieces(original: str, masks: Sequence[Range]) -> Iterator[str]:
    """What stands before, between and behind the masks."""
    position = 0
    for start, end in sorted(masks):
        if start > position or position == 0:
            yield original[position:start]
        position = max(position, end)
    yield original[position:]
