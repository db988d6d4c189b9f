"""What the neighbourhood says of a token: features that need the whole document."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from inverse_deid.core.values import BoolArray, FloatArray, IntArray, Tokens
from inverse_deid.lexicon import Lexicon, PhraseKind, WordFlag
from inverse_deid.rules.patterns import CONTEXT_PATTERNS, VETO_PATTERNS, pattern_hits
from inverse_deid.rules.words import WordRows

_POSITION_FEATURES = (
    "is-sentence-beginning",
    "is-line-beginning",
    "after-empty-line",
    "after-salutation",
    "two-after-salutation",
    "is-possibly-city",
    "in-eponym",
    "in-holiday",
    "in-country-or-state",
    "is-top-level-domain",
    "touches-previous-token",
    "upper-case-share-of-document",
    "upper-case-share-of-line",
    "lower-case-elsewhere",
    "after-title-elsewhere",
    "capitalised-in-sentence-elsewhere",
    "count-in-document",
    "line-length",
    "in-veto-pattern",
)
CONTEXT_FEATURE_NAMES: tuple[str, ...] = (*_POSITION_FEATURES, *CONTEXT_PATTERNS)
"""Names of the columns of `Context.features`."""

_STOP_TABLE = np.isin(np.arange(0x80), [ord(c) for c in ".!?;"])
_LETTERS = ("all-lower-case", "all-upper-case", "has-capital-beginning")


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The neighbourhood of each token of one document.

    Args:
        features: float32 (n_tokens, len(CONTEXT_FEATURE_NAMES)), in [0, 1].
        sentence_start: bool (n_tokens,).
        mostly_upper: bool (n_tokens,), the token's line or document is in capitals.
        eponym: bool (n_tokens,), part of a medical phrase named after a person.
        place: bool (n_tokens,), part of a city, state or country of several words.
        holiday: bool (n_tokens,), part of a holiday of several words.
        titled: bool (n_tokens,), a word with a capital right after a title.
        label: bool (n_tokens,), begins a line and a colon follows: `Plan:`, and who speaks.
        domain: bool (n_tokens,), a top-level domain right after a dot.
        veto: bool (n_tokens,), inside a pattern that may only mask.
    """

    features: FloatArray = field(repr=False)
    sentence_start: BoolArray = field(repr=False)
    mostly_upper: BoolArray = field(repr=False)
    eponym: BoolArray = field(repr=False)
    place: BoolArray = field(repr=False)
    holiday: BoolArray = field(repr=False)
    titled: BoolArray = field(repr=False)
    label: BoolArray = field(repr=False)
    domain: BoolArray = field(repr=False)
    veto: BoolArray = field(repr=False)


def describe_context(tokens: Tokens, ids: IntArray, rows: WordRows, lexicon: Lexicon) -> Context:
    """Compute the features of every token that depend on its neighbours.

    Args:
        tokens: The document's tokens.
        ids: int32 (n_tokens,), row of each token in `rows`.
        rows: What is known of each distinct word.
        lexicon: Knows the phrases.
    """
    layout = _layout(tokens)
    cased = {name: rows.has(name, ids) for name in _LETTERS}
    after_title = _after_salutation(tokens, rows.flags[ids], layout)
    titled = after_title & cased["has-capital-beginning"]
    domain = layout.after_dot & ((rows.flags[ids] & np.uint32(WordFlag.TOP_LEVEL_DOMAIN)) != 0)
    phrases = _phrases(tokens, rows.flags[ids], lexicon)
    veto = np.logical_or.reduce(
        [np.zeros(len(tokens), np.bool_), *pattern_hits(tokens, VETO_PATTERNS.values())]
    )
    shares = _upper_shares(cased["all-upper-case"], cased["all-lower-case"], layout.line)
    place = phrases[PhraseKind.CITY] | phrases[PhraseKind.COUNTRY] | phrases[PhraseKind.STATE]
    city_word = (rows.flags[ids] & np.uint32(WordFlag.CITY)) != 0
    columns = [
        layout.sentence_start,
        layout.line_start,
        layout.after_empty_line,
        after_title,
        np.concatenate([[False], after_title[:-1]]) if len(tokens) else after_title,
        phrases[PhraseKind.CITY] | city_word,
        phrases[PhraseKind.EPONYM],
        phrases[PhraseKind.HOLIDAY],
        phrases[PhraseKind.COUNTRY] | phrases[PhraseKind.STATE],
        domain,
        layout.touches_previous,
        *shares,
        *_elsewhere(tokens, cased, layout.sentence_start, titled),
        _line_length(layout.line),
        veto,
        *pattern_hits(tokens, CONTEXT_PATTERNS.values()),
    ]
    return Context(
        features=np.stack(columns, axis=1).astype(np.float32),
        sentence_start=layout.sentence_start,
        mostly_upper=(shares[0] > 0.7) | (shares[1] > 0.8),
        eponym=phrases[PhraseKind.EPONYM],
        place=place,
        holiday=phrases[PhraseKind.HOLIDAY],
        titled=titled,
        label=layout.line_start & layout.before_colon,
        domain=domain,
        veto=veto,
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where tokens stand among sentences and lines; all arrays are (n_tokens,)."""

    sentence_start: BoolArray
    line_start: BoolArray
    after_empty_line: BoolArray
    touches_previous: BoolArray
    after_dot: BoolArray
    before_colon: BoolArray
    line: IntArray


def _layout(tokens: Tokens) -> _Layout:
    codes = np.frombuffer(tokens.text.encode("utf-32-le", "surrogatepass"), np.uint32)
    new_line = (codes == ord("\n")) | (codes == ord("\r"))
    lines_before = np.concatenate([[0], np.cumsum(new_line)])
    stops = np.concatenate([[0], np.cumsum(_STOP_TABLE[np.minimum(codes, 0x7F)])])
    previous_ends = np.concatenate([[0], tokens.ends[:-1]]) if len(tokens) else tokens.ends
    n_new_lines = lines_before[tokens.starts] - lines_before[previous_ends]
    gap_length = tokens.starts - previous_ends
    line_start = n_new_lines > 0
    line_start[:1] = True
    has_stop = stops[tokens.starts] - stops[previous_ends] > 0
    before = np.where(tokens.starts > 0, codes[np.maximum(tokens.starts - 1, 0)], 0) if len(codes) else codes
    return _Layout(
        sentence_start=line_start | (has_stop & (gap_length >= 2)),
        line_start=line_start,
        after_empty_line=n_new_lines > 1,
        touches_previous=gap_length == 1,
        after_dot=(before == ord(".")) & (gap_length == 1),
        before_colon=np.append(codes, 0)[tokens.ends] == ord(":"),
        line=np.cumsum(line_start).astype(np.int32),
    )


def _after_salutation(tokens: Tokens, flags: np.ndarray, layout: _Layout) -> BoolArray:
    """Right after a title on the same line, at most a dot and a space between."""
    is_title = (flags & np.uint32(WordFlag.SALUTATION)) != 0
    after = np.zeros(len(tokens), np.bool_)
    after[1:] = is_title[:-1] & ~layout.line_start[1:] & (tokens.starts[1:] - tokens.ends[:-1] <= 2)
    return after


def _upper_shares(upper: BoolArray, lower: BoolArray, line: IntArray) -> tuple[FloatArray, FloatArray]:
    """Share of capitals among the all-upper and all-lower words of document and line."""
    if not len(upper):
        empty = np.zeros(0, np.float32)
        return empty, empty
    n_upper, n_both = np.bincount(line, upper), np.bincount(line, upper | lower)
    of_line = (n_upper / np.maximum(n_both, 1)) * (n_both > 2)
    of_document = upper.sum() / max(1, int((upper | lower).sum()))
    return np.full(len(upper), of_document, np.float32), of_line[line].astype(np.float32)


def _elsewhere(
    tokens: Tokens, cased: dict[str, BoolArray], sentence_start: BoolArray, titled: BoolArray
) -> list[np.ndarray]:
    """How the same word, whatever its case, stands elsewhere in the document."""
    keys = [word.casefold() for word in tokens.words]
    counts = Counter(keys)
    inside = cased["has-capital-beginning"] & ~cased["all-upper-case"] & ~sentence_start

    def among(chosen: BoolArray) -> BoolArray:
        there = {keys[i] for i in np.flatnonzero(chosen).tolist()}
        return np.fromiter((key in there for key in keys), np.bool_, len(keys))

    count = np.fromiter((counts[key] for key in keys), np.float32, len(keys))
    return [
        among(cased["all-lower-case"]),
        among(titled),
        among(inside),
        np.minimum(np.log2(count + 1) / 6, 1),
    ]


def _line_length(line: IntArray) -> FloatArray:
    return (
        np.minimum(np.bincount(line)[line] / 20, 1).astype(np.float32)
        if len(line)
        else np.zeros(0, np.float32)
    )


def _phrases(tokens: Tokens, flags: np.ndarray, lexicon: Lexicon) -> dict[PhraseKind, BoolArray]:
    """Which tokens belong to a dictionary phrase of each kind; the longest phrase at a place wins."""
    member = {kind: np.zeros(len(tokens), np.bool_) for kind in PhraseKind}
    for i in np.flatnonzero(flags & np.uint32(WordFlag.PHRASE_START)).tolist():
        words = [word.casefold() for word in tokens.words[i : i + lexicon.max_phrase_tokens]]
        for n_words in range(len(words), 1, -1):
            kind = lexicon.phrase_kind(words[:n_words])
            if kind is not None and _contiguous(tokens, i, n_words):
                member[kind][i : i + n_words] = True
                break
    return member


def _contiguous(tokens: Tokens, first: int, n_words: int) -> bool:
    """Whether only short gaps without a full stop in prose lie between the tokens."""
    gaps = tokens.starts[first + 1 : first + n_words] - tokens.ends[first : first + n_words - 1]
    return bool((gaps <= 2).all())
