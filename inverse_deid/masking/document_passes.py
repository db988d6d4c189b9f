"""Passes over a whole document after the combiner. They only mask more, never less.

The one exception is the user's own allow list: it keeps words, but never a digit, a date word or a
word in a veto pattern.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, Decisions, MaskedDocument, Reason, RuleVerdicts, Tokens
from inverse_deid.rules.people import AFTER_PEOPLE, BEFORE_PEOPLE
from inverse_deid.rules.shapes import WORD_CLASSES, word_set
from inverse_deid.text.matching import OneTypo, Sequences, fold
from inverse_deid.text.tokenizer import JoinedTokens, tokenize, tokens_touched

_NAME = tuple(HyperClass).index(HyperClass.NAME)
_TIMELY = [tuple(HyperClass).index(kind) for kind in (HyperClass.AGE, HyperClass.DATE)]
_CERTAIN = 0.5
_SAFE_OPENING = 0.85
"""From this `p_safe` on, a word that is masked for its place is no reason to mask its other mentions."""
_MIN_LETTERS = 3
_MIN_CLEAR_LETTERS = 4
"""Letters below which a name looks like shorthand: `Alb`."""
_OLDEST = 125
_REASONS_OF_NAMES = (Reason.NAME_WITH_TITLE, Reason.OTHER_MENTION)
_APOSTROPHES = ("'", "\u2019")
_SIGNS_FOR_LETTERS = "!@$"
_JOINT = re.compile(rf"[/.\-{_SIGNS_FOR_LETTERS}](?<=[^\W_].)(?=[^\W_])")
_LABEL = re.compile(
    r"""^[ \t>*\u2022-]{0,8}
    (?:[\[(]?\d[\d/.,: \t-]{0,24}(?:[ap]\.?m\.?)?[\])]?[ \t,\u2013-]{0,3})?   # when it was said
    (?:<(?P<fenced>[^\W\d_]+(?:[ ][^\W\d_]+)?)>
    |(?P<named>[^\W\d_]{2,}(?:[ ][^\W\d_]+)?)(?:[ ]?[\[(][\d:., /-]{1,20}[\])])?\*{0,2}[ ]?[:>]
    |(?P<letter>[A-Z])(?:[.)]|[ ]?[:>\u2013-]))[ \t*]*(?P<spoken>[^\W\d_])?""",
    re.MULTILINE | re.VERBOSE,
)
"""The beginning of a line that somebody speaks: `Rose: ...`, `[14:02] rose: ...`, `<rose> ...`, `J. ...`."""
_MIN_LINES = 2
"""Lines of a conversation; with `<rose>` two are enough."""
_QUESTION_AND_ANSWER = frozenset(("q", "a"))
_ROLES = WORD_CLASSES["is-relation"] | WORD_CLASSES["is-name-label"].union(
    word_set(
        """agent caller clinician consumer dr gp helpline interviewer investigator midwife operator paramedic
        receptionist representative therapist"""
    )
)
"""Who speaks without a name."""
_FIELDS = WORD_CLASSES["is-lot-label"].union(
    WORD_CLASSES["is-id-label"],
    WORD_CLASSES["is-vital-or-score"],
    word_set(
        """action causality comment date diagnosis diet drug duration event exam finding frequency history
        indication medication note onset outcome plan product reaction result route start stop test time"""
    ),
)
"""What begins the lines of a form."""


def mask_more(decisions: Decisions, chosen: BoolArray, reason: Reason) -> Decisions:
    """Mask the chosen tokens that are still kept."""
    newly = chosen & decisions.keep
    if not newly.any():
        return decisions
    reasons = decisions.reasons.copy()
    reasons[newly] = reason
    return dataclasses.replace(decisions, keep=decisions.keep & ~newly, reasons=reasons)


def mask_names_everywhere(
    tokens: JoinedTokens,
    verdicts: RuleVerdicts,
    decisions: Decisions,
    given: Mapping[int, frozenset[str]] = MappingProxyType({}),
) -> Decisions:
    """Mask every mention of a word that is a name elsewhere in its document, or is given as one.

    A name has a title, speaks in a conversation, or is masked as one. It is masked wherever it has a
    capital, also in a genitive without an apostrophe and, if it is long enough, with a typo. In lower case it
    is masked if the rules do not call it safe, or if it is a person: `will's rash`, `then brown felt dizzy`.

    Args:
        tokens: Of all documents.
        verdicts: On these tokens.
        decisions: On these tokens.
        given: Names, folded, that other texts of a case have, by the number of the document.
    """
    speakers = _find_speakers(tokens, verdicts)
    decisions = _mask_speakers(decisions, speakers)
    masked = ~decisions.keep
    named = masked & (decisions.categories == _NAME)
    surely = named & (decisions.p_safe < _CERTAIN)
    maybe = named & ~verdicts.plain & (tokens.ends - tokens.starts >= _MIN_CLEAR_LETTERS)
    maybe &= ~(verdicts.opening & (decisions.p_safe >= _SAFE_OPENING))
    with_title = (verdicts.titled & masked) | speakers
    decisions = mask_more(decisions, _find_initials(tokens, speakers), Reason.OTHER_MENTION)
    for listed, reason in (
        (_list_names(tokens, with_title), Reason.NAME_WITH_TITLE),
        (_list_names(tokens, surely, given), Reason.OTHER_MENTION),
    ):
        decisions = mask_more(decisions, _find_mentions(tokens, listed, verdicts.safe), reason)
    mentions = np.zeros(len(tokens), np.bool_)
    is_title = np.fromiter(map(str.istitle, tokens.words), np.bool_, len(tokens))
    for of, names in _list_names(tokens, maybe & is_title):
        for i in (of.start + np.flatnonzero(is_title[of])).tolist():
            mentions[i] = tokens.words[i].casefold() in names
    return mask_more(decisions, mentions, Reason.OTHER_MENTION)


def mask_joined_parts(tokens: JoinedTokens, decisions: Decisions) -> Decisions:
    """Mask tokens that one sign joins to a masked token: the other half of a date or of a double name.

    Numbers are joined by `/`, `.` or `-`, words by `-` if the masked one is not an age or a date:
    `forty-three-year-old` keeps its last words. Only an age over 89, which HIPAA names as an
    identifier, masks the words joined to it as well. `!`, `@` and `$` join all: in `V!ll@neuva` they are
    letters.
    """
    joined = _find_joints(tokens)
    if not joined.any():
        return decisions
    timely = np.logical_or.reduce([decisions.categories == kind for kind in _TIMELY])
    masked = ~decisions.keep & ~timely
    for i in np.flatnonzero(~decisions.keep & timely).tolist():
        masked[i] = tokens.words[i].isdecimal()
    # Tokens that signs join form a chain; one masked token masks its whole chain.
    chain = np.cumsum(~np.concatenate([[False], joined[:-1]]))
    in_masked_chain = np.zeros(len(tokens) + 1, np.bool_)
    in_masked_chain[chain[masked]] = True
    return mask_more(decisions, in_masked_chain[chain], Reason.JOINED_TO_MASKED)


def _find_joints(tokens: JoinedTokens) -> BoolArray:
    """Return bool (n_tokens,): whether one sign and nothing else joins a token to a similar next one."""
    joined = np.zeros(len(tokens), np.bool_)
    for one, of in zip(tokens.docs, tokens.slices(), strict=True):
        places = [match.start() for match in _JOINT.finditer(one.text)]
        lefts = (of.start + np.searchsorted(one.ends, places)).tolist()
        for i, sign in zip(lefts, map(one.text.__getitem__, places), strict=True):
            left, right = tokens.words[i], tokens.words[i + 1]
            words = left.isalpha() and right.isalpha()
            numbers = left.isdecimal() and right.isdecimal()
            # HIPAA names ages over 89 as identifiers: `94-year-old` is masked as a whole.
            is_over_89 = left.isdecimal() and 90 <= int(left[:4]) <= _OLDEST
            is_letter = sign in _SIGNS_FOR_LETTERS
            joined[i] = numbers or is_letter or (sign == "-" and (words or is_over_89))
    return joined


def _mask_speakers(decisions: Decisions, speakers: BoolArray) -> Decisions:
    if not speakers.any():
        return decisions
    categories = np.where(speakers & decisions.keep, np.uint8(_NAME), decisions.categories)
    return mask_more(dataclasses.replace(decisions, categories=categories), speakers, Reason.OTHER_MENTION)


def _find_speakers(tokens: JoinedTokens, verdicts: RuleVerdicts) -> BoolArray:
    """Return the tokens of names that begin lines of a conversation: bool (n_tokens,).

    Two labels that take turns are speakers, unless all their words are ordinary: `Plan`, `Nurse`.
    """
    found = np.zeros(len(tokens), np.bool_)
    ordinary = verdicts.plain & verdicts.safe
    for one, of in zip(tokens.docs, tokens.slices(), strict=True):
        if one.text.count("\n") < _MIN_LINES - 1:
            continue
        labels = [_read_label(match) for match in _LABEL.finditer(one.text)]
        if "</" in one.text:  # the words between angle brackets are tags
            labels = [label for label in labels if not label.is_fenced]
        for i in (of.start + np.flatnonzero(tokens_touched(one, _find_turns(labels)))).tolist():
            word = tokens.words[i].casefold()
            found[i] = len(word) == 1 or not (ordinary[i] or word in _ROLES)
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class _Label:
    """The label of a line: its words, folded, and where they are."""

    words: str = dataclasses.field(repr=False)
    start: int
    end: int
    is_fenced: bool  # `<rose>`: always a speaker
    speaks: bool  # not a letter before a number, as in `T: 37.4`


def _read_label(match: re.Match[str]) -> _Label:
    group = next(name for name in ("fenced", "named", "letter") if match[name] is not None)
    speaks = group != "letter" or match["spoken"] is not None
    return _Label(match[group].casefold(), *match.span(group), group == "fenced", speaks)


def _find_turns(labels: Sequence[_Label]) -> list[tuple[int, int]]:
    # A takes turns in the lines A, B, A.
    speakers = {label.words for label in labels if label.is_fenced}
    for first, second, third in zip(labels, labels[1:], labels[2:], strict=False):
        pair = {first.words, second.words}
        speak = first.speaks and second.speaks and third.speaks and not _is_form(pair)
        if speak and first.words == third.words != second.words and pair != _QUESTION_AND_ANSWER:
            speakers |= pair
    return [(label.start, label.end) for label in labels if label.words in speakers]


def _is_form(labels: set[str]) -> bool:
    # Two letters may as well be initials.
    return any(len(label) >= _MIN_LETTERS and label in _FIELDS for label in labels)


def _find_initials(tokens: JoinedTokens, speakers: BoolArray) -> BoolArray:
    """Return which tokens are initials of speakers, as in `then JS told K`: bool (n_tokens,)."""
    found = np.zeros(len(tokens), np.bool_)
    for doc in np.unique(tokens.doc[speakers]).tolist():
        of = slice(*tokens.bounds[doc : doc + 2].tolist())
        spoken = {tokens.words[of.start + i] for i in np.flatnonzero(speakers[of]).tolist()}
        initials = {word for word in spoken if len(word) < _MIN_LETTERS and word.isupper()}
        for i in range(of.start, of.stop) if initials else ():
            word = tokens.words[i]
            found[i] = word in initials and (len(word) > 1 or _is_person(tokens, i, of))
    return found


def _find_mentions(
    tokens: JoinedTokens, listed: Iterable[tuple[slice, set[str]]], safe: BoolArray
) -> BoolArray:
    # With a typo, or in the genitive.
    mentions = np.zeros(len(tokens), np.bool_)
    for of, names in listed:
        unsafe = {tokens.words[i].casefold() for i in range(of.start, of.stop) if not safe[i]}
        typos = OneTypo(names).among(filter(str.isalpha, unsafe)) - names
        for i in range(of.start, of.stop):
            word = tokens.words[i]
            folded = word.casefold()
            if folded in typos and not safe[i]:
                mentions[i] = True
            elif folded not in names:
                mentions[i] = folded.endswith("s") and folded[:-1] in names and _may_own(tokens, i, of, safe)
            elif word[0].isupper():
                mentions[i] = True
            elif folded not in WORD_CLASSES["is-relation"]:
                mentions[i] = not safe[i] or _is_person(tokens, i, of)
    return mentions


def _may_own(tokens: JoinedTokens, i: int, of: slice, safe: BoolArray) -> bool:
    # `Floods husband`, not `THIS` beside `Thi`.
    follows_relation = i + 1 < of.stop and tokens.words[i + 1].casefold() in WORD_CLASSES["is-relation"]
    is_clear = len(tokens.words[i]) > _MIN_CLEAR_LETTERS or not safe[i]
    return tokens.words[i][0].isupper() and (is_clear or follows_relation)


def _is_person(tokens: JoinedTokens, i: int, of: slice) -> bool:
    after = tokens.words[i + 1] if i + 1 < of.stop else ""
    gap = tokens.gap(i) if after else ""
    if gap in _APOSTROPHES and after == "s":
        return True
    before = tokens.words[i - 1].casefold() if i > of.start else ""
    return before in BEFORE_PEOPLE or (gap == " " and after in AFTER_PEOPLE)


def _list_names(
    tokens: JoinedTokens, chosen: BoolArray, given: Mapping[int, frozenset[str]] = MappingProxyType({})
) -> Iterator[tuple[slice, set[str]]]:
    # Chosen words, folded, and given ones.
    for doc in sorted({*np.unique(tokens.doc[chosen]).tolist(), *given}):
        of = slice(*tokens.bounds[doc : doc + 2].tolist())
        names = {tokens.words[of.start + i].casefold() for i in np.flatnonzero(chosen[of]).tolist()}
        names |= given.get(doc, frozenset())
        yield of, {name for name in names if len(name) >= _MIN_LETTERS and name.isalpha()}


class NamesOfCase:
    """The words that are surely names in some texts of a case.

    Args:
        masked: The texts, masked each by itself.
    """

    def __init__(self, masked: Iterable[MaskedDocument]) -> None:
        self.words = frozenset(name for doc in masked for name in _list_certain_names(doc))
        self._near = OneTypo(self.words)

    def __repr__(self) -> str:
        return f"NamesOfCase(n_words={len(self.words)})"

    def may_be_kept_in(self, masked: MaskedDocument) -> bool:
        """Tell whether a document keeps a word that may mention one of the names."""
        kept = {masked.tokens.words[i].casefold() for i in np.flatnonzero(masked.decisions.keep).tolist()}
        kept |= {word.removesuffix("s") for word in kept}
        return not self.words.isdisjoint(kept) or bool(self._near.among(kept))


def _list_certain_names(masked: MaskedDocument) -> Iterator[str]:
    decisions = masked.decisions
    surely = (decisions.categories == _NAME) & (decisions.p_safe < _CERTAIN)
    found = ~decisions.keep & (surely | np.isin(decisions.reasons, _REASONS_OF_NAMES))
    for i in np.flatnonzero(found).tolist():
        word = masked.tokens.words[i]
        if len(word) >= _MIN_LETTERS and word.isalpha():
            yield word.casefold()


class PhraseList:
    """Words and phrases to find in any case, with or without accents, whatever the gaps.

    Args:
        phrases: As a person writes them; phrases without a letter or digit are left out.

    Example:
        >>> found = PhraseList(["Anna María"]).among(tokenize("ANNA-MARIA left"))
        >>> found.tolist()
        [True, True, False]
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = Sequences([fold(word) for word in tokenize(phrase).words] for phrase in phrases)

    def __bool__(self) -> bool:
        return bool(self._phrases)

    def among(self, tokens: Tokens) -> BoolArray:
        """Return which tokens belong to one of the phrases: bool (n_tokens,)."""
        return self._phrases.among([fold(word) for word in tokens.words])


def mask_phrases(tokens: Tokens, phrases: PhraseList, reason: Reason, decisions: Decisions) -> Decisions:
    return mask_more(decisions, phrases.among(tokens), reason) if phrases else decisions


def mask_origins(decisions: Decisions, chosen: BoolArray) -> Decisions:
    """Mask words of origin, which belong to no class of the network."""
    newly = chosen & decisions.keep
    if not newly.any():
        return decisions
    categories = decisions.categories.copy()
    categories[newly] = 0
    decisions = dataclasses.replace(decisions, categories=categories)
    return mask_more(decisions, newly, Reason.CHOSEN_CATEGORY)


def apply_allow_list(
    tokens: Tokens, allow: PhraseList, verdicts: RuleVerdicts, decisions: Decisions
) -> Decisions:
    """Keep words on the user's allow list, but never a digit, date word or contact."""
    if not allow:
        return decisions
    no_digit = np.fromiter((word.isalpha() for word in tokens.words), np.bool_, len(tokens))
    chosen = allow.among(tokens) & no_digit & ~verdicts.never & ~verdicts.veto & ~decisions.keep
    reasons = decisions.reasons.copy()
    reasons[chosen] = Reason.KEPT_ALLOW_LIST
    return dataclasses.replace(decisions, keep=decisions.keep | chosen, reasons=reasons)
