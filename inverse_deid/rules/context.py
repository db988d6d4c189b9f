"""Features of a token that need its neighbourhood or the whole document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.lexicon import SAFE_FLAGS, Lexicon, PhraseKind, WordFlag
from inverse_deid.rules.anchors import anchored_hits
from inverse_deid.rules.disguises import disguised_tokens, owners
from inverse_deid.rules.patterns import CONTEXT_PATTERNS, SILENT_VETO_PATTERNS, VETO_PATTERNS
from inverse_deid.rules.words import WordRows
from inverse_deid.text.joined import JoinedTokens

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
    """The neighbourhood of each token of one or more documents.

    Args:
        features: float32 (n_tokens, len(CONTEXT_FEATURE_NAMES)), in [0, 1].
        sentence_start: bool (n_tokens,).
        mostly_upper: bool (n_tokens,), the token's line or document is in capitals.
        eponym: bool (n_tokens,), part of a medical phrase named after a person.
        place: bool (n_tokens,), part of a city, state or country of several words.
        holiday: bool (n_tokens,), part of a holiday of several words.
        titled: bool (n_tokens,), a capitalised word directly after a title.
        label: bool (n_tokens,), begins a line and a colon follows: `Plan:`, or a speaker.
        domain: bool (n_tokens,), a top-level domain directly after a dot.
        before_head: bool (n_tokens,), the noun of an eponym follows: `Kocher's clamp`,
            `Jansen Middleton punch`.
        veto: bool (n_tokens,), inside a pattern that may only mask.
        owner: bool (n_tokens,), a name that owns something as people do: `Will's rash`.
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
    before_head: BoolArray = field(repr=False)
    veto: BoolArray = field(repr=False)
    owner: BoolArray = field(repr=False)


def describe_context(tokens: JoinedTokens, ids: IntArray, rows: WordRows, lexicon: Lexicon) -> Context:
    """Compute the features of every token that depend on its neighbours.

    Args:
        tokens: The tokens of some documents, each independent of the others.
        ids: int32 (n_tokens,), row of each token in `rows`.
        rows: Features of each distinct word.
        lexicon: Has the phrases.
    """
    flags = rows.flags[ids]
    layout = _layout(tokens)
    cased = {name: rows.has(name, ids) for name in _LETTERS}
    after_title = _after_salutation(tokens, flags, layout)
    titled = after_title & cased["has-capital-beginning"]
    domain = layout.after_dot & ((flags & np.uint32(WordFlag.TOP_LEVEL_DOMAIN)) != 0)
    phrases = _phrases(tokens, flags, lexicon, layout)
    hits = anchored_hits(tokens, rows.anchors[ids])
    veto = np.logical_or.reduce([hits[name] for name in VETO_PATTERNS])
    # The network does not see these, so that it reads ordinary text as it was trained.
    hits["account"] &= (flags & np.uint32(SAFE_FLAGS)) == 0  # `login: failed` names nobody
    silent = np.logical_or.reduce([hits[name] for name in SILENT_VETO_PATTERNS])
    disguised = disguised_tokens(tokens, flags, lexicon) | rows.disguised[ids]
    shares = _upper_shares(cased["all-upper-case"], cased["all-lower-case"], (tokens.doc, layout.line))
    columns = [
        layout.sentence_start,
        layout.line_start,
        layout.after_empty_line,
        after_title,
        _after(after_title) & ~layout.document_start,
        phrases[PhraseKind.CITY] | ((flags & np.uint32(WordFlag.CITY)) != 0),
        phrases[PhraseKind.EPONYM],
        phrases[PhraseKind.HOLIDAY],
        phrases[PhraseKind.COUNTRY] | phrases[PhraseKind.STATE],
        domain,
        layout.touches_previous,
        *shares,
        *_elsewhere(_mentions(tokens, rows.keys[ids]), cased, layout.sentence_start, titled),
        _line_length(layout.line),
        veto,
        *(hits[name] for name in CONTEXT_PATTERNS),
    ]
    return Context(
        features=_as_columns(columns),
        sentence_start=layout.sentence_start,
        mostly_upper=(shares[0] > 0.7) | (shares[1] > 0.8),
        eponym=phrases[PhraseKind.EPONYM],
        place=phrases[PhraseKind.CITY] | phrases[PhraseKind.COUNTRY] | phrases[PhraseKind.STATE],
        holiday=phrases[PhraseKind.HOLIDAY],
        titled=titled,
        label=layout.line_start & layout.before_colon,
        domain=domain,
        before_head=_before_head(
            flags, cased["has-capital-beginning"] | rows.has("is-single-letter", ids), layout
        ),
        veto=veto | silent | disguised,
        owner=owners(tokens, flags),
    )


def _as_columns(columns: Sequence[np.ndarray]) -> FloatArray:
    """float32 (n_tokens, n_columns)."""
    matrix = np.empty((len(columns[0]), len(columns)), np.float32)
    for i, column in enumerate(columns):
        matrix[:, i] = column
    return matrix


def _after(values: BoolArray) -> BoolArray:
    """Return the values of the token before, False for the first: bool (n_tokens,)."""
    return np.concatenate([[False], values])[:-1]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The place of tokens in sentences and lines; all arrays are (n_tokens,)."""

    sentence_start: BoolArray
    line_start: BoolArray
    after_empty_line: BoolArray
    touches_previous: BoolArray
    after_dot: BoolArray
    before_colon: BoolArray
    line: IntArray
    document_start: BoolArray
    follows_closely: BoolArray
    after_ampersand: BoolArray


def _layout(tokens: JoinedTokens) -> _Layout:
    codes, starts = tokens.codes, tokens.starts
    new_line = (codes == ord("\n")) | (codes == ord("\r"))
    lines_before = np.concatenate([[0], np.cumsum(new_line)])
    stops = np.concatenate([[0], np.cumsum(_STOP_TABLE[np.minimum(codes, 0x7F)])])
    previous_ends = tokens.previous_ends()
    document_start = tokens.first_of_document()
    n_new_lines = lines_before[starts] - lines_before[previous_ends]
    gap_length = starts - previous_ends
    line_start = document_start | (n_new_lines > 0)
    has_stop = stops[starts] - stops[previous_ends] > 0
    return _Layout(
        sentence_start=line_start | (has_stop & (gap_length >= 2)),
        line_start=line_start,
        after_empty_line=n_new_lines > 1,
        touches_previous=gap_length == 1,
        after_dot=(codes[starts - 1] == ord(".")) & (gap_length == 1),
        before_colon=codes[tokens.ends] == ord(":"),
        line=np.cumsum(line_start, dtype=np.int32),
        document_start=document_start,
        follows_closely=~document_start & (gap_length <= 2),
        after_ampersand=~document_start & (gap_length == 3) & (codes[starts - 2] == ord("&")),
    )


def _after_salutation(tokens: JoinedTokens, flags: np.ndarray, layout: _Layout) -> BoolArray:
    """Tell which tokens follow a title on the same line, with at most a dot and a space between."""
    is_title = (flags & np.uint32(WordFlag.SALUTATION)) != 0
    return _after(is_title) & ~layout.line_start & layout.follows_closely


def _before_head(flags: np.ndarray, may_stand_between: BoolArray, layout: _Layout) -> BoolArray:
    """Tell whether the noun of an eponym follows, at most one name or the s of a genitive between."""
    head = (flags & np.uint32(WordFlag.EPONYM_HEAD)) != 0
    follows = np.append(layout.follows_closely[1:], False)
    directly = np.append(head[1:], False) & follows
    return np.asarray(directly | (np.append((directly & may_stand_between)[1:], False) & follows))


def _upper_shares(
    upper: BoolArray, lower: BoolArray, where: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the share of capitals among the all-upper and all-lower words of document and line."""
    doc, line = where
    n_upper, n_both = _counts(upper, doc), _counts(upper | lower, doc)
    of_document = n_upper / np.maximum(n_both, 1)
    n_upper, n_both = _counts(upper, line), _counts(upper | lower, line)
    of_line = (n_upper / np.maximum(n_both, 1)) * (n_both > 2)
    return of_document[doc].astype(np.float32), of_line[line].astype(np.float32)


def _counts(chosen: BoolArray, group: IntArray) -> npt.NDArray[np.float64]:
    """Return how many tokens of each group are chosen: float64 (n_groups,)."""
    return np.bincount(group, chosen).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Mentions:
    """The mentions of one word, whatever its case, in one document; `group` is int (n_tokens,)."""

    group: npt.NDArray[np.intp]
    n_tokens: npt.NDArray[np.intp]

    def any_of(self, chosen: BoolArray) -> BoolArray:
        """Tell whether any mention of the same word is chosen: bool (n_tokens,)."""
        found = np.zeros(len(self.n_tokens), np.bool_)
        found[self.group[chosen]] = True
        return found[self.group]


def _mentions(tokens: JoinedTokens, keys: IntArray) -> _Mentions:
    of_document = tokens.doc * (np.int64(keys.max(initial=0)) + 1) + keys
    _, group, n_tokens = np.unique(of_document, return_inverse=True, return_counts=True)
    return _Mentions(group, n_tokens)


def _elsewhere(
    mentions: _Mentions, cased: dict[str, BoolArray], sentence_start: BoolArray, titled: BoolArray
) -> list[np.ndarray]:
    """Return how the same word, in any case, is written elsewhere in the document."""
    inside = cased["has-capital-beginning"] & ~cased["all-upper-case"] & ~sentence_start
    count = mentions.n_tokens.astype(np.float32)
    return [
        mentions.any_of(cased["all-lower-case"]),
        mentions.any_of(titled),
        mentions.any_of(inside),
        np.minimum(np.log2(count + 1) / 6, 1)[mentions.group],
    ]


def _line_length(line: IntArray) -> FloatArray:
    """Return the number of tokens of the line over 20, at most 1: float32 (n_tokens,)."""
    if not len(line):
        return np.zeros(0, np.float32)
    return np.minimum(np.bincount(line)[line] / 20, 1).astype(np.float32)


def _phrases(
    tokens: JoinedTokens, flags: np.ndarray, lexicon: Lexicon, layout: _Layout
) -> dict[PhraseKind, BoolArray]:
    """Tell which tokens belong to a dictionary phrase of each kind; the longest phrase at a place wins."""
    member = {kind: np.zeros(len(tokens), np.bool_) for kind in PhraseKind}
    may_begin = (flags & np.uint32(WordFlag.PHRASE_START)) != 0
    may_begin[:-1] &= layout.follows_closely[1:] | layout.after_ampersand[1:]
    may_begin[-1:] = False
    closely = (layout.follows_closely | layout.after_ampersand).tolist()
    for i in np.flatnonzero(may_begin).tolist():
        if not lexicon.may_begin_phrase(tokens.words[i], tokens.words[i + 1]):
            continue
        stop = i + 2
        while stop < len(closely) and closely[stop] and stop - i < lexicon.max_phrase_tokens:
            stop += 1
        words = [word.casefold() for word in tokens.words[i:stop]]
        found = lexicon.longest_phrase(words)
        if found is not None:
            kind, n_words = found
            member[kind][i : i + n_words] = True
    return member
