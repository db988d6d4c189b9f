"""Features of a token that need its neighbourhood or the whole document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, FloatArray, IntArray
from inverse_deid.lexicon import SAFE_FLAGS, Lexicon, PhraseKind, WordFlag
from inverse_deid.lexicon.entries import MAX_PHRASE_TOKENS
from inverse_deid.rules.disguised_words import MIN_NAME, NAME_FLAGS
from inverse_deid.rules.disguises import CharacterSet, Flags, find_disguises
from inverse_deid.rules.misread_words import MIN_LETTERS
from inverse_deid.rules.patterns.facts import CERTAIN_PATTERNS, SILENT_FACT_PATTERNS
from inverse_deid.rules.patterns.search import (
    CONTEXT_PATTERNS,
    FACT_PATTERNS,
    LIFTED_BY,
    SILENT_VETO_PATTERNS,
    VETO_PATTERNS,
    pattern_search,
)
from inverse_deid.rules.shapes import word_set
from inverse_deid.rules.words import WordRows
from inverse_deid.text.tokenizer import JoinedTokens

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
CONTEXT_FEATURE_NAMES: tuple[str, ...] = (*_POSITION_FEATURES, *CONTEXT_PATTERNS, *FACT_PATTERNS)

_MOST_OF_LOT = 9
"""Characters of a lot number that may leave with seven digits or more; telephone numbers have more."""
_STOP_TABLE = np.isin(np.arange(0x80), [ord(c) for c in ".!?;"])
_MOSTLY_OF_DOCUMENT, _MOSTLY_OF_LINE = 0.7, 0.8
"""From these shares of capitals on, the case of a word says nothing."""
_LETTERS = ("all-lower-case", "all-upper-case", "has-capital-beginning")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Context:
    """The neighbourhood of each token of one or more documents; all arrays are (n_tokens, ...)."""

    columns: Sequence[np.ndarray]  # the features, in [0, 1], of any type
    sentence_start: BoolArray
    mostly_upper: BoolArray  # the token's line or document is in capitals
    eponym: BoolArray  # part of a medical phrase named after a person
    place: BoolArray  # part of a city, state or country of several words
    holiday: BoolArray  # part of a holiday of several words
    titled: BoolArray  # a capitalised word directly after a title
    label: BoolArray  # begins a line and a colon follows: `Plan:`, or a speaker
    domain: BoolArray  # a top-level domain directly after a dot
    before_head: BoolArray  # the noun of an eponym follows: `Kocher's clamp`, `Jansen Middleton punch`
    veto: BoolArray  # inside a pattern that may only mask
    fact: BoolArray  # in a clinical fact that resembles an identifier
    certain: BoolArray  # in a closed clinical expression
    brand: BoolArray  # a product that has the name of a person, with its dose
    code: BoolArray  # a lot number, a term with its MedDRA code or a PubMed number: seven digits may leave
    causality: BoolArray  # in a closed list of words of causality assessment
    firm_veto: BoolArray  # inside one that also masks what the user keeps
    owner: BoolArray  # a name that owns something as people do: `Will's rash`


def describe_context(
    tokens: JoinedTokens,
    ids: IntArray,
    rows: WordRows,
    lexicon: Lexicon,
    kept: frozenset[HyperClass] = frozenset(),
) -> Context:
    """Compute the features of every token that depend on its neighbours.

    Args:
        tokens: The tokens of some documents, each independent of the others.
        ids: int32 (n_tokens,), row of each token in `rows`.
        rows: Features of each distinct word.
        lexicon: Contains the phrases.
        kept: Classes that the user keeps. They change no feature.
    """
    flags = rows.flags[ids]
    layout = _read_layout(tokens)
    cased = {name: rows.has(name, ids) for name in _LETTERS}
    after_title = _after((flags & np.uint32(WordFlag.SALUTATION)) != 0)
    after_title &= ~layout.line_start & layout.follows_closely
    titled = after_title & (capital := cased["has-capital-beginning"])
    domain = layout.after_dot & ((flags & np.uint32(WordFlag.TOP_LEVEL_DOMAIN)) != 0)
    phrases = _find_phrases(tokens, flags, lexicon, layout)
    hits = pattern_search().find(tokens, rows.anchors[ids])
    veto = _any_of(hits, VETO_PATTERNS)
    for name in ("account", "user-of-site"):  # `login: failed` names nobody
        hits[name] = hits[name] & ((flags & np.uint32(SAFE_FLAGS)) == 0)
    hits["name-in-talk"] = hits["name-in-talk"] & (
        (flags & np.uint32(WordFlag.DRUG)) == 0
    )  # "Thank you, Panadol!"
    # The network does not see these, so that it reads ordinary text as it was trained.
    silent = _any_of(hits, SILENT_VETO_PATTERNS)
    disguised = find_disguises(tokens, flags, lexicon) | rows.disguised[ids]
    all_vetoes = firm_veto = veto | silent | disguised
    if kept:
        masking = (*VETO_PATTERNS, *SILENT_VETO_PATTERNS)
        firm = [name for name in masking if name not in LIFTED_BY or not LIFTED_BY[name] <= kept]
        firm_veto = disguised | _any_of(hits, firm)
    of_document = _upper_share(cased, tokens.doc, min_words=0)
    of_line = _upper_share(cased, layout.line, min_words=3)
    inside = capital & ~cased["all-upper-case"] & ~layout.sentence_start
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
        of_document,
        of_line,
        *_elsewhere(tokens, rows.keys[ids], cased["all-lower-case"], titled, inside),
        np.minimum(np.bincount(layout.line)[layout.line] / 20, 1) if len(tokens) else layout.line,
        veto,
        *(hits[name] for name in CONTEXT_PATTERNS),
        *(hits[name] for name in FACT_PATTERNS),
    ]
    return Context(
        columns=columns,
        sentence_start=layout.sentence_start,
        mostly_upper=(of_document > _MOSTLY_OF_DOCUMENT) | (of_line > _MOSTLY_OF_LINE),
        eponym=phrases[PhraseKind.EPONYM],
        place=phrases[PhraseKind.CITY] | phrases[PhraseKind.COUNTRY] | phrases[PhraseKind.STATE],
        holiday=phrases[PhraseKind.HOLIDAY],
        # `nurse (Parent)` has two roles, and no name.
        titled=titled & ~hits["is-reporter"],
        label=layout.line_start & layout.before_colon,
        domain=domain,
        before_head=_before_head(flags, capital | rows.has("is-single-letter", ids), layout),
        fact=_any_of(hits, (*FACT_PATTERNS, *SILENT_FACT_PATTERNS)),
        certain=_any_of(hits, CERTAIN_PATTERNS),
        brand=hits["is-brand-with-dose"],
        # The word before the code must be known: a patient is also written `PT Okonkwo (10022061)`.
        code=hits["in-literature"]
        | (hits["after-lot-word"] & (rows.n_chars[ids] <= _MOST_OF_LOT))
        | (hits["in-coded-term"] & _after((flags & np.uint32(SAFE_FLAGS)) != 0)),
        causality=hits["in-causality-term"],
        veto=all_vetoes,
        firm_veto=firm_veto,
        owner=find_owners(tokens, flags),
    )


def _any_of(hits: Mapping[str, BoolArray], names: Iterable[str]) -> BoolArray:
    """Tell which tokens any of some patterns touches: bool (n_tokens,)."""
    distinct = {id(hits[name]): hits[name] for name in names}  # patterns that touch nothing share an array
    return np.asarray(np.logical_or.reduce(list(distinct.values())))


_BEFORE_WORD = CharacterSet(" \t\n\r\u00a0([{\"'\u2018\u201c,;:/-")
_BEHIND_WORD = CharacterSet(" \t\n\r\u00a0)]},;:.?!\"'\u2019\u201d/-")
_JOINING_SIGNS = CharacterSet("/-.:,;")
_DIGITS = CharacterSet("0123456789")
_MIN_WITH_DIGIT = 3


def find_misread(tokens: JoinedTokens, ids: IntArray, rows: WordRows) -> BoolArray:
    """Tell which words are misread and nothing speaks for a name or an identifier: bool (n_tokens,).

    In lower case, or where the case says nothing; beside no sign of addresses and codes; not after a
    title, unless it is long, in lower case and means no name (`nurse coneerning`). With a capital inside
    a sentence, only a long word with a digit counts, whose meaning is in no list of names: it is judged
    as the same word without the digit would be. A short word without a digit counts only in a document
    with another one that is misread.
    """
    chosen = rows.misread[ids]
    if not chosen.any():
        return chosen
    flags = rows.flags[ids]
    layout = _read_layout(tokens)
    cased = {name: rows.has(name, ids) for name in _LETTERS}
    after_title = _after((flags & np.uint32(WordFlag.SALUTATION)) != 0) & ~layout.line_start
    capitals = (_upper_share(cased, tokens.doc, min_words=0) > _MOSTLY_OF_DOCUMENT) | (
        _upper_share(cased, layout.line, min_words=3) > _MOSTLY_OF_LINE
    )
    lower = cased["all-lower-case"]
    has_digit = rows.has("contains-digit", ids)
    in_capitals = cased["all-upper-case"]
    n_chars = rows.n_chars[ids]
    no_name = (n_chars > MIN_LETTERS) & rows.misread_no_name[ids]
    may_be_word = lower | capitals | ((layout.sentence_start | (no_name & has_digit)) & ~in_capitals)
    may_be_word &= ~after_title | (no_name & lower)
    chosen = chosen & may_be_word & _stands_alone(tokens)
    is_sure = (n_chars >= MIN_LETTERS) | (lower & has_digit & (n_chars > _MIN_WITH_DIGIT))
    shown = np.bincount(tokens.doc[chosen & is_sure], minlength=len(tokens.docs))
    may_be_short = lower | (layout.sentence_start & rows.misread_no_name[ids])
    return np.asarray(chosen & (is_sure | (may_be_short & (shown[tokens.doc] > 0))))


def _stands_alone(tokens: JoinedTokens) -> BoolArray:
    """Tell which tokens no sign of an address or a code joins to another one: bool (n_tokens,)."""
    before, behind = tokens.codes[tokens.starts - 1], tokens.codes[tokens.ends]
    in_code = _JOINING_SIGNS.has(before) & _DIGITS.has(tokens.codes[tokens.starts - 2])
    in_code |= _JOINING_SIGNS.has(behind) & _DIGITS.has(tokens.codes[tokens.ends + 1])
    dotted = (behind == ord(".")) & ~_BEHIND_WORD.has(tokens.codes[tokens.ends + 1])
    # The borders of a text are line breaks, also before the first one.
    return np.asarray(_BEFORE_WORD.has(before) & _BEHIND_WORD.has(behind) & ~in_code & ~dotted)


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


def _read_layout(tokens: JoinedTokens) -> _Layout:
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


def _before_head(flags: np.ndarray, may_stand_between: BoolArray, layout: _Layout) -> BoolArray:
    # At most one name or the s of a genitive is between.
    head = (flags & np.uint32(WordFlag.EPONYM_HEAD)) != 0
    follows = np.append(layout.follows_closely[1:], False)
    directly = np.append(head[1:], False) & follows
    return np.asarray(directly | (np.append((directly & may_stand_between)[1:], False) & follows))


def _upper_share(cased: dict[str, BoolArray], group: IntArray, min_words: int) -> FloatArray:
    """Return the share of capitals among the words in capitals or lower case of each token's group."""
    upper = cased["all-upper-case"]
    n_upper, n_both = np.bincount(group, upper), np.bincount(group, upper | cased["all-lower-case"])
    share = (n_upper / np.maximum(n_both, 1)) * (n_both >= min_words)
    return share[group].astype(np.float32)


def _elsewhere(tokens: JoinedTokens, keys: IntArray, *chosen: BoolArray) -> list[np.ndarray]:
    """Tell if any mention of the same word in the document, in any case, is chosen; and count the mentions.

    Args:
        tokens: Of several documents.
        keys: int32 (n_tokens,), the same for words that differ only in case.
        chosen: bool (n_tokens,) each.
    """
    of_document = tokens.doc * (np.int64(keys.max(initial=0)) + 1) + keys
    _, group, n_mentions = np.unique(of_document, return_inverse=True, return_counts=True)
    columns: list[np.ndarray] = []
    for some in chosen:
        found = np.zeros(len(n_mentions), np.bool_)
        found[group[some]] = True
        columns.append(found[group])
    return [*columns, np.minimum(np.log2(n_mentions.astype(np.float32) + 1) / 6, 1)[group]]


def _find_phrases(
    tokens: JoinedTokens, flags: np.ndarray, lexicon: Lexicon, layout: _Layout
) -> dict[PhraseKind, BoolArray]:
    # The longest phrase at a place wins.
    member = {kind: np.zeros(len(tokens), np.bool_) for kind in PhraseKind}
    may_begin = (flags & np.uint32(WordFlag.PHRASE_START)) != 0
    may_begin[:-1] &= layout.follows_closely[1:] | layout.after_ampersand[1:]
    may_begin[-1:] = False
    closely = (layout.follows_closely | layout.after_ampersand).tolist()
    for i in np.flatnonzero(may_begin).tolist():
        if not lexicon.may_begin_phrase(tokens.words[i], tokens.words[i + 1]):
            continue
        stop = i + 2
        while stop < len(closely) and closely[stop] and stop - i < MAX_PHRASE_TOKENS:
            stop += 1
        words = [word.casefold() for word in tokens.words[i:stop]]
        found = lexicon.longest_phrase(words)
        if found is not None:
            kind, n_words = found
            member[kind][i : i + n_words] = True
    return member


_APOSTROPHES = CharacterSet("'’‘`´")  # noqa: RUF001
_NO_OWNER_BEFORE = word_set(
    """disease diseases syndrome sign signs test tests palsy cyst cysts ligament fascia lymphoma phenomenon
    stain node nodes spots paralysis line lines wort contracture release thyroiditis angle law triad
    tetralogy esophagus oesophagus ulcer tumor tumour sarcoma arteritis granulomatosis chorea ataxia
    criteria score scale classification maneuver manoeuvre position procedure operation technique
    method reflex reaction pouch point space tubercle bunion fracture solution lactate dementia
    encephalopathy anemia anaemia gland glands duct canal aneurysm gangrene edema oedema carcinoma
    nephropathy nephritis cartilage crisis triangle retractor forceps clamp needle catheter tube
    incision repair cell cells body bodies membrane muscle plexus patch patches tendon tendinitis
    tenosynovitis neuroma hernia diverticulum medium agar stroma lesion lesions cardinal spinal
    exercises index formula colitis ileitis vasculitis toe layer layers hypothyroid hypothyroidism
    colostomy aphasia testing groove pupil ophthalmopathy orbitopathy dermopathy hyperthyroidism"""
)
"""After these a name is the name of a finding or an instrument."""
_NO_NAMES = word_set(
    """sender doctor md child children surgeon nurse mother father parent parents baby sister brother son
    daughter wife husband uncle aunt man men woman women lady king god pope lord judge officer
    driver teacher world today patient boy girl"""
)

_MANUFACTURERS = word_set(
    """merck pfizer janssen roche bayer lilly novartis abbott moderna sanofi wyeth lederle pasteur takeda
    biogen amgen gilead teva mylan genentech genzyme baxter novavax sinovac aventis connaught squibb
    roussel schering boehringer astra"""
)
"""Companies with the name of a person; after a title they are a person."""


def find_owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    """Tell which capitalised names own something: bool (n_tokens,).

    `Will's rash` counts, `Bell's palsy` and `Parkinson's and` do not.
    """
    if len(tokens) < 2:
        return np.zeros(len(tokens), np.bool_)
    return _singular_owners(tokens, flags) | _plural_owners(tokens, flags)


def _may_own(tokens: JoinedTokens, flags: Flags, i: int) -> bool:
    # Not a relation or a company.
    owner = tokens.words[i]
    folded = owner.casefold()
    if not owner[0].isupper() or (owner.isupper() and len(owner) < MIN_NAME) or folded in _NO_NAMES:
        return False
    after_title = i > 0 and bool(int(flags[i - 1]) & WordFlag.SALUTATION)
    return folded not in _MANUFACTURERS or (after_title and tokens.doc[i] == tokens.doc[i - 1])


def _plural_owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    # `Marks' arm`, `Jones' rash`, not the end of a quotation.
    is_name = (flags & np.uint32(NAME_FLAGS)) != 0
    ends = tokens.ends[:-1]
    found = np.zeros(len(tokens), np.bool_)
    marked = is_name[:-1] & _APOSTROPHES.has(tokens.codes[ends])
    marked &= (tokens.starts[1:] - ends == 2) & (tokens.doc[1:] == tokens.doc[:-1])
    marked &= ~_APOSTROPHES.has(tokens.codes[tokens.starts[:-1] - 1])
    marked &= (flags[1:] & np.uint32(WordFlag.STOP_WORD)) == 0
    for i in np.flatnonzero(marked).tolist():
        owner, owned = tokens.words[i].casefold(), tokens.words[i + 1].casefold()
        named = owner[-1] in "sxz" and owner.removesuffix("s") not in _NO_NAMES and _may_own(tokens, flags, i)
        found[i] = named and tokens.words[i + 1].islower() and owned not in _NO_OWNER_BEFORE
    return found


def _singular_owners(tokens: JoinedTokens, flags: Flags) -> BoolArray:
    is_name = (flags & np.uint32(NAME_FLAGS)) != 0
    found = np.zeros(len(tokens), np.bool_)
    owning = (
        is_name[:-2]
        & _APOSTROPHES.has(tokens.codes[tokens.ends[:-2]])
        & (tokens.starts[1:-1] - tokens.ends[:-2] == 1)
    )
    owning &= (tokens.starts[2:] - tokens.ends[1:-1] == 1) & (tokens.doc[2:] == tokens.doc[:-2])
    stop_word = (flags & np.uint32(WordFlag.STOP_WORD)) != 0
    for i in np.flatnonzero(owning & ~stop_word[2:]).tolist():
        owner, ending, owned = tokens.words[i : i + 3]
        named = owner in ("will", "may") or _may_own(tokens, flags, i)
        found[i] = named and ending in ("s", "S") and owned.casefold() not in _NO_OWNER_BEFORE
    return found
