"""Masks one text, many texts or a pandas Series in one call: `inverse_deid.mask`."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeGuard, Unpack, overload

from inverse_deid.choices.table import MaskChoices
from inverse_deid.core.batches import cut_batches
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.values import Document, MaskedDocument, mark_replaced
from inverse_deid.core.wording import _
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.masking.case_masker import CaseMasker
from inverse_deid.masking.choices import Chosen, choose_settings, keyword_errors
from inverse_deid.masking.pipeline import Deidentifier
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.surrogates.faker_names import load_surrogate_names
from inverse_deid.replacement.surrogates.keyed import KeyedSurrogates
from inverse_deid.rules.medical_words import MedicalWords

if TYPE_CHECKING:
    import pandas as pd
    from tqdm import tqdm

MAX_CACHED = 4
"""How many de-identifiers are kept ready, each for other settings."""
_BATCH_CHARS = 100_000
_BATCH_CASES = 256
_SECONDS_WITHOUT_BAR = 3
_MAX_SHOWN = 10
_MAX_TEXTS_SHOWN = 20
_OPENING = Lock()
_FLAGS = ("failed", "other_language", "is_plain")


@dataclass(frozen=True, slots=True, repr=False)
class MaskedText:
    """A masked text; `str()` returns it, and a notebook shows it with the masked words marked.

    Nothing of the original text is in it except the words that were kept. `repr` shows no words.

    Example:
        >>> text = "Okonkwo had a <mild> rash."
        >>> masked = MaskedText("PHI had a <mild> rash.", masks=((0, 7),), replaced=((0, 3),))
        >>> masked, str(masked)
        (MaskedText(n_masks=1), 'PHI had a <mild> rash.')
        >>> masked._repr_html_()
        '<div style="white-space: pre-wrap"><mark>PHI</mark> had a &lt;mild&gt; rash.</div>'
    """

    text: str  # the masked text
    masks: tuple[tuple[int, int], ...]  # ranges of the original text that were masked; half-open
    replaced: tuple[tuple[int, int], ...]  # for each mask the range of `text`
    failed: bool = False  # a stage failed, so the whole text was masked
    other_language: bool = False  # seems not to be English, which the tool cannot judge
    is_plain: bool = False  # dates, ages and surrogates could not be worked out, so all masks are markers

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        flags = [f", {name}=True" for name in _FLAGS if getattr(self, name)]
        return f"MaskedText(n_masks={len(self.masks)}{''.join(flags)})"

    def _repr_html_(self) -> str:
        # For notebooks.
        return mark_replaced(self.text, self.replaced)


class MaskedTexts(list[MaskedText]):
    """The masked texts of a list; a notebook shows the first of them with the masked words marked."""

    def _repr_html_(self) -> str:
        # For notebooks.
        rows = [f"<li>{one._repr_html_()}</li>" for one in self[:_MAX_TEXTS_SHOWN]]
        n_more = len(self) - len(rows)
        more = f"<p>and {n_more:,} more of {len(self):,} texts</p>" if n_more else ""
        return f'<ol start="0">{"".join(rows)}</ol>{more}'


@overload
def mask(  # type: ignore[overload-overlap]  # a string is an iterable of strings
    texts: str,
    settings: MaskingSettings | None = None,
    *,
    case_ids: str | Iterable[str | int] | None = None,
    progress: bool = True,
    **choices: Unpack[MaskChoices],
) -> MaskedText: ...


@overload
def mask(
    texts: pd.Series[Any],
    settings: MaskingSettings | None = None,
    *,
    case_ids: Iterable[str | int] | None = None,
    progress: bool = True,
    **choices: Unpack[MaskChoices],
) -> pd.Series[Any]: ...


@overload
def mask(
    texts: Iterable[str],
    settings: MaskingSettings | None = None,
    *,
    case_ids: Iterable[str | int] | None = None,
    progress: bool = True,
    **choices: Unpack[MaskChoices],
) -> list[MaskedText]: ...


def mask(
    texts: str | Iterable[str] | pd.Series[Any],
    settings: MaskingSettings | None = None,
    *,
    case_ids: str | Iterable[str | int] | None = None,
    progress: bool = True,
    **choices: Unpack[MaskChoices],
) -> MaskedText | list[MaskedText] | pd.Series[Any]:
    """Mask a text, an iterable of texts or a pandas Series.

    The first call with certain settings loads lexicon and model, which takes a moment. Later calls with
    the same settings use them again, from any thread. A warning counts texts that failed and so are
    masked from end to end, and texts that seem not to be English.

    Args:
        texts: One text, any iterable of texts, or a Series, whose missing values stay missing.
        settings: Settings that `choices` change.
        case_ids: The case of each text, which is not written anywhere. Texts of one case share their
            dates and surrogates, and `key` repeats them for the same id. None = each text is a case,
            and `key` repeats them for the same text.
        progress: Show a progress bar if it takes more than a few seconds, on a terminal or in a notebook.
        choices: Single settings by name, see `MaskChoices`.

    Returns:
        A `MaskedText`, a list of them (a notebook shows it), or a Series of strings with the same index
        and name.

    Raises:
        ConfigurationError: A setting is unknown or cannot be used, or `case_ids` do not fit the texts.
        TypeError: `texts` are neither text nor texts.
        LexiconError: The lexicon is missing or damaged.
        ModelError: The model is missing, damaged or does not fit this version.
        InputError: The certificate cannot be read or was altered.

    Example:
        >>> str(mask("Mr. Okonkwo had a rash."))
        'Mr. PHI had a rash.'
        >>> [str(one) for one in mask(["Mr. Okonkwo had a rash."], replace="category")]
        ['Mr. [NAME] had a rash.']
    """
    if isinstance(texts, str):
        ids = _read_ids([case_ids] if isinstance(case_ids, str) else case_ids, 1)
        return _mask_all([texts], ids, _choose(settings, choices), show_bar=False)[0]
    if not _is_series(texts):
        found = _read_texts(texts)
        chosen = _choose(settings, choices)
        return MaskedTexts(_mask_all(found, _read_ids(case_ids, len(found)), chosen, show_bar=progress))
    present = (~texts.isna()).tolist()
    originals = texts.tolist()
    rows = [row for row, is_present in enumerate(present) if is_present]
    found = _read_texts([originals[row] for row in rows], rows)
    if _is_series(case_ids) and not case_ids.index.equals(texts.index):
        raise ConfigurationError(_("case_ids has another index than the texts. Give both the same index"))
    ids = _read_ids(case_ids, len(present), rows)
    masked = _mask_all(found, ids, _choose(settings, choices), show_bar=progress, rows=rows)
    values = [None if is_present else one for one, is_present in zip(originals, present, strict=True)]
    for row, one in zip(rows, masked, strict=True):
        values[row] = one.text
    pandas = sys.modules["pandas"]
    dtype = texts.dtype if isinstance(texts.dtype, pandas.StringDtype) else object
    return pandas.Series(values, index=texts.index, name=texts.name, dtype=dtype)  # type: ignore[no-any-return]


def _is_series(value: object) -> TypeGuard[pd.Series[Any]]:
    # Whoever has one has imported it.
    kind = getattr(sys.modules.get("pandas"), "Series", ())
    return isinstance(value, kind)


def _read_texts(texts: object, rows: Sequence[int] | None = None) -> list[str]:
    """Return the texts of an iterable.

    Args:
        texts: Of the user.
        rows: The position of each text, for messages. None = they have all positions.

    Raises:
        TypeError: Something is not a text.
    """
    kind = type(texts).__name__
    if _is_frame(texts):
        columns = [str(name) for name in texts.columns]
        more = ", ..." if len(columns) > _MAX_SHOWN else ""
        raise TypeError(
            "a DataFrame has several columns. Give the column with the texts, as in mask(table[COLUMN]). It "
            f"has {', '.join(columns[:_MAX_SHOWN])}{more}"
        )
    if isinstance(texts, bytes | bytearray | memoryview):
        raise TypeError(f"texts are of type {kind}. Decode them first, for example with .decode('utf-8')")
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be a string, a list of strings or a pandas Series, not of type {kind}")
    found = list(texts)
    for position, text in enumerate(found):
        if not isinstance(text, str):
            row = position if rows is None else rows[position]
            raise TypeError(f"the text at position {row} is of type {type(text).__name__}. Give strings only")
    return found


def _is_frame(value: object) -> TypeGuard[pd.DataFrame]:
    kind = getattr(sys.modules.get("pandas"), "DataFrame", ())
    return isinstance(value, kind)


def _read_ids(case_ids: object, n_texts: int, rows: Sequence[int] | None = None) -> list[str] | None:
    # None = each text is a case.
    if case_ids is None:
        return None
    if isinstance(case_ids, str | bytes) or not isinstance(case_ids, Iterable):
        raise ConfigurationError(_("case_ids must be a list with one id per text"))
    ids = list(case_ids)
    if len(ids) != n_texts:
        raise ConfigurationError(
            _(
                "case_ids has {n_ids:,} ids for {n_texts:,} texts. Give one per text",
                n_ids=len(ids),
                n_texts=n_texts,
            )
        )
    chosen = []
    for row in range(n_texts) if rows is None else rows:
        one = ids[row]
        if isinstance(one, bool) or not isinstance(one, str | Integral) or not str(one).strip():
            raise ConfigurationError(
                _(
                    "the id at position {row} of case_ids is missing, or is neither a string nor a whole "
                    "number",
                    row=row,
                )
            )
        chosen.append(str(one))
    return chosen


def _choose(settings: MaskingSettings | None, choices: Mapping[str, Any]) -> Chosen:
    with keyword_errors():
        chosen = choose_settings(settings, choices, date.today())  # noqa: DTZ011, RUF100 - a person's day
    for note in chosen.notes:
        warnings.warn(note, stacklevel=3)
    return chosen


class _SharedMasker:
    """A de-identifier that threads use one after the other."""

    def __init__(self, settings: MaskingSettings) -> None:
        self._settings = settings
        self._ready: Deidentifier | None = None
        self._using = Lock()

    @contextmanager
    def use(self) -> Iterator[Deidentifier]:
        # After an interruption its tables may not agree, so it is built again.
        with self._using:
            deidentifier = build_deidentifier(self._settings) if self._ready is None else self._ready
            self._ready = None
            yield deidentifier
            self._ready = deidentifier


@lru_cache(maxsize=MAX_CACHED)
def _shared_masker(settings: MaskingSettings, files: object) -> _SharedMasker:
    return _SharedMasker(settings)


@lru_cache(maxsize=1)
def _load_medical_words(lexicon: Path | None, files: object) -> MedicalWords:
    return MedicalWords(load_lexicon(lexicon))


def _list_files(settings: MaskingSettings) -> tuple[tuple[str, int, int], ...]:
    # With time and size, so that changed files are read again.
    found = []
    for path in (settings.model, settings.lexicon, settings.certificate, settings.second_reader):
        inside = [] if path is None else sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            if file.is_file():
                status = file.stat()
                found.append((str(file.resolve()), status.st_mtime_ns, status.st_size))
    return tuple(found)


def _mask_all(
    texts: Sequence[str],
    case_ids: Sequence[str] | None,
    chosen: Chosen,
    *,
    show_bar: bool,
    rows: Sequence[int] | None = None,
) -> list[MaskedText]:
    # `rows` are their positions, for warnings.
    files = _list_files(chosen.masking)
    with _OPENING:  # so that two threads share what they both ask for first
        shared = _shared_masker(chosen.masking, files)
    surrogates_for = None
    if chosen.makes_surrogates:
        load_surrogate_names()
        medical_words = _load_medical_words(chosen.masking.lexicon, files)
        surrogates_for = KeyedSurrogates(chosen.cases.key or b"", medical_words.among)
    masked: dict[int, MaskedText] = {}
    with keyword_errors(), _open_bar(len(texts), is_shown=show_bar) as bar:
        for batch in cut_batches(
            _cases_of(texts, case_ids),
            lambda case: sum(len(texts[row]) for row in case[1]),
            most=_BATCH_CHARS,
            n_items=_BATCH_CASES,
        ):
            cases = [
                CaseTexts(id=case_id, docs=tuple(Document(str(row), texts[row]) for row in in_case))
                for case_id, in_case in batch
            ]
            with shared.use() as deidentifier:
                done = CaseMasker(deidentifier, chosen.cases, surrogates_for).mask_cases(cases)
            for (_ignored, in_case), case in zip(batch, done, strict=True):
                masked |= zip(in_case, map(_without_original, case.docs), strict=True)
                bar.update(len(in_case))
    in_order = [masked[row] for row in range(len(texts))]
    _warn(in_order, rows or range(len(texts)))
    return in_order


def _cases_of(texts: Sequence[str], case_ids: Sequence[str] | None) -> list[tuple[str, list[int]]]:
    # Without ids a text is a case with a hash for an id.
    if case_ids is None:
        hashes = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts)
        return [(one, [row]) for row, one in enumerate(hashes)]
    rows_of: dict[str, list[int]] = {}
    for row, case_id in enumerate(case_ids):
        rows_of.setdefault(case_id, []).append(row)
    return list(rows_of.items())


def _without_original(doc: MaskedDocument) -> MaskedText:
    return MaskedText(doc.text, doc.masks, doc.replaced, doc.failed, doc.other_language, doc.is_plain)


def _warn(masked: Sequence[MaskedText], rows: Sequence[int]) -> None:
    # Name them by their positions alone.
    meanings = {
        "failed": _("could not be masked word by word, and were masked from end to end"),
        "other_language": _("seem not to be English. Identifiers may leak in them, and facts may be lost"),
        "is_plain": _("have markers only, because dates, ages or surrogates could not be worked out"),
    }
    for flag in _FLAGS:
        found = [str(row) for row, one in zip(rows, masked, strict=True) if getattr(one, flag)]
        if found:
            more = ", ..." if len(found) > _MAX_SHOWN else ""
            warnings.warn(
                _(
                    "{n_found:,} of {n_masked:,} texts {meaning} (positions {found}{more})",
                    n_found=len(found),
                    n_masked=len(masked),
                    meaning=meanings[flag],
                    found=", ".join(found[:_MAX_SHOWN]),
                    more=more,
                ),
                stacklevel=4,
            )


def _open_bar(n_texts: int, *, is_shown: bool) -> tqdm[Any]:
    # It has counts only and appears after `_SECONDS_WITHOUT_BAR` seconds.
    from tqdm import tqdm

    return tqdm(
        total=n_texts,
        unit=_(" texts"),
        file=sys.stderr,
        disable=not (is_shown and (sys.stderr.isatty() or _is_notebook())),
        delay=_SECONDS_WITHOUT_BAR,
        leave=False,
    )


def _is_notebook() -> bool:
    # The stderr of a kernel is not a terminal.
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return hasattr(get_shell(), "kernel")
