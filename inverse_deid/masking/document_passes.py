"""Passes over a whole document after the combiner. They only mask more, never less.

The one exception is the user's own allow list: it keeps words, but never a digit, a date word or a
word in a veto pattern.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, Decisions, Reason, RuleVerdicts, Tokens
from inverse_deid.rules.shapes import WORD_CLASSES, word_set
from inverse_deid.text.matching import Sequences, fold
from inverse_deid.text.tokenizer import JoinedTokens, tokenize

_NAME = tuple(HyperClass).index(HyperClass.NAME)
_TIMELY = [tuple(HyperClass).index(kind) for kind in (HyperClass.AGE, HyperClass.DATE)]
_CERTAIN = 0.5
_MIN_LETTERS = 3
_OLDEST = 125
_APOSTROPHES = "'\u2019"
_SIGNS_FOR_LETTERS = "!@$"
_DONE_BY_A_PERSON = word_set(
    """was is has had felt feels said says reported reports stated states developed experienced noticed
    called calls denied denies took takes received complained presented recovered vomited needed
    needs started stopped remains remained became began went came did does got fainted died told
    asked wrote lives lived"""
)
_TELL_OF_A_PERSON = word_set("told asked called gave saw per mr mrs ms miss dr")


def mask_more(decisions: Decisions, chosen: BoolArray, reason: Reason) -> Decisions:
    """Mask the chosen tokens that are still kept."""
    newly = chosen & decisions.keep
    if not newly.any():
        return decisions
    reasons = decisions.reasons.copy()
    reasons[newly] = reason
    return dataclasses.replace(decisions, keep=decisions.keep & ~newly, reasons=reasons)


def mask_names_everywhere(tokens: JoinedTokens, verdicts: RuleVerdicts, decisions: Decisions) -> Decisions:
    """Mask every capitalised mention of a word that has a title or is surely a name elsewhere.

    Elsewhere is in the same document. In lower case, a word that has a title elsewhere is masked if
    the rules do not call it safe, or if it is a person: `will's rash`, `then brown felt dizzy`.
    """
    surely = ~decisions.keep & (decisions.categories == _NAME) & (decisions.p_safe < _CERTAIN)
    with_title = verdicts.titled & ~decisions.keep
    if not (surely.any() or with_title.any()):
        return decisions
    mentions = _find_capitalised(tokens, with_title)
    mentions |= _find_lower_case(tokens, with_title, verdicts.safe)
    decisions = mask_more(decisions, mentions, Reason.NAME_WITH_TITLE)
    return mask_more(decisions, _find_capitalised(tokens, surely), Reason.OTHER_MENTION)


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
    signs = tokens.codes[tokens.ends[:-1]]
    is_joining = np.logical_or.reduce([signs == ord(sign) for sign in f"/.-{_SIGNS_FOR_LETTERS}"])
    for i in np.flatnonzero(is_joining & (tokens.starts[1:] - tokens.ends[:-1] == 1)).tolist():
        left, right = tokens.words[i], tokens.words[i + 1]
        words = left.isalpha() and right.isalpha()
        numbers = left.isdecimal() and right.isdecimal()
        # HIPAA names ages over 89 as identifiers: `94-year-old` is masked as a whole.
        is_over_89 = left.isdecimal() and 90 <= int(left[:4]) <= _OLDEST
        is_letter = chr(signs[i]) in _SIGNS_FOR_LETTERS
        joined[i] = numbers or is_letter or (signs[i] == ord("-") and (words or is_over_89))
    return joined


def _find_capitalised(tokens: JoinedTokens, chosen: BoolArray) -> BoolArray:
    """Return which tokens mention, with a capital, the chosen words of their document."""
    mentions = np.zeros(len(tokens), np.bool_)
    for of, names in _list_names(tokens, chosen):
        words = tokens.words[of]
        written = {word for word in set(words) if word[0].isupper() and word.casefold() in names}
        mentions[of] = [word in written for word in words]
    return mentions


def _find_lower_case(tokens: JoinedTokens, chosen: BoolArray, safe: BoolArray) -> BoolArray:
    """Return which tokens mention, in lower case, the chosen words of their document."""
    mentions = np.zeros(len(tokens), np.bool_)
    for of, names in _list_names(tokens, chosen):
        for i in range(of.start, of.stop):
            if tokens.words[i] in names and tokens.words[i] not in WORD_CLASSES["is-relation"]:
                mentions[i] = not safe[i] or _is_person(tokens, i, of)
    return mentions


def _is_person(tokens: JoinedTokens, i: int, of: slice) -> bool:
    """Tell whether the words beside a word in lower case show that it is a person."""
    after = tokens.words[i + 1] if i + 1 < of.stop else ""
    gap = tokens.codes[tokens.ends[i] : tokens.starts[i + 1]].tolist() if after else []
    if len(gap) == 1 and chr(gap[0]) in _APOSTROPHES and after == "s":
        return True
    before = tokens.words[i - 1].casefold() if i > of.start else ""
    return before in _TELL_OF_A_PERSON or (gap == [ord(" ")] and after in _DONE_BY_A_PERSON)


def _list_names(tokens: JoinedTokens, chosen: BoolArray) -> Iterator[tuple[slice, set[str]]]:
    """Return the tokens of each document with chosen words, and those words, folded."""
    for doc in np.unique(tokens.doc[chosen]).tolist():
        of = slice(*tokens.bounds[doc : doc + 2].tolist())
        names = {tokens.words[of.start + i].casefold() for i in np.flatnonzero(chosen[of]).tolist()}
        yield of, {name for name in names if len(name) >= _MIN_LETTERS and name.isalpha()}


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
    """Mask every mention of the phrases of the user's deny list."""
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
