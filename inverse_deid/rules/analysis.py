"""The rules as one stage: tokens in, features and verdicts out.

The allowlister flags tokens as safe by one of two policies.

`literal` is the published method: in a safe dictionary and not in an unsafe one.
`case-aware` knows that most words are also somebody's name: an ambiguous word in
lower case counts as safe, with a capital in mid-sentence as unsafe, and where
the case says nothing (sentence beginning, text in capitals) by how often the
word is written in lower case in general English. Words named after people are
safe inside a medical phrase only. A capitalised word that is in lists of names
and in no safe list is never kept, unless clinical texts use that name. A name
that owns something as people do is never kept.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from inverse_deid.choices.table import Policy
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.values import BoolArray, FloatArray, IntArray, RuleAnalysis, RuleVerdicts, Tokens
from inverse_deid.lexicon import SAFE_FLAGS, UNSAFE_FLAGS, Lexicon, WordFlag
from inverse_deid.rules.context import CONTEXT_FEATURE_NAMES, Context, describe_context, find_misread
from inverse_deid.rules.language import find_other_languages
from inverse_deid.rules.words import WORD_FEATURE_NAMES, WordKnowledge, WordRows
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import join

_ROWS_AT_ONCE = 8_192
POLICIES: tuple[Policy, ...] = get_args(Policy)

MIN_LOWER_RATIO = 0.7
"""From this share of lower-case use, a word is not a name where its case says nothing."""

_MAX_SHORTHAND = 4
"""Characters of a word in capitals that reads as shorthand where the text around it is not in capitals."""

_CLINICAL_FLAGS = WordFlag.DRUG | WordFlag.SHORTHAND | WordFlag.UNIT | WordFlag.CLINICAL_NAME
_NAME_FLAGS = WordFlag.SURNAME | WordFlag.FIRST_NAME
_NEVER_FLAGS = WordFlag.WEEKDAY | WordFlag.MONTH | WordFlag.STREET | WordFlag.HOLIDAY | WordFlag.NUMBER_WORD

_TIME_FLAGS = WordFlag.WEEKDAY | WordFlag.MONTH
_NEVER_FLAGS_OF: dict[HyperClass, WordFlag] = {
    HyperClass.DATE: _TIME_FLAGS | WordFlag.HOLIDAY | WordFlag.NUMBER_WORD,
    HyperClass.AGE: WordFlag.NUMBER_WORD,
    HyperClass.PLACE: WordFlag.STREET,
}
"""The words that are always masked because they may belong to a class."""


def judge(
    ids: IntArray,
    rows: WordRows,
    context: Context,
    policy: Policy,
    kept: frozenset[HyperClass] = frozenset(),
) -> RuleVerdicts:
    """Return the verdict on every token of a document.

    Args:
        ids: int32 (n_tokens,), the row of each token.
        rows: Features of each distinct word.
        context: The neighbourhood of each token.
        policy: How ambiguous words are judged.
        kept: Classes that the user keeps. They change `lifted` alone.
    """
    flags = rows.flags[ids]
    in_safe = (flags & np.uint32(SAFE_FLAGS)) != 0
    # A top-level domain counts only after a dot; a shape with digits is unsafe by itself.
    unsafe_flags = UNSAFE_FLAGS & ~WordFlag.TOP_LEVEL_DOMAIN
    in_unsafe = ((flags & np.uint32(unsafe_flags)) != 0) | context.domain | context.place | context.holiday
    has_digit = rows.has("contains-digit", ids)
    safe = in_safe & ~in_unsafe
    if policy == "case-aware":
        ambiguous = in_safe & in_unsafe & ~context.domain & ~context.holiday & ~context.place
        safe |= ambiguous & _reads_as_a_word(ids, rows, context)
        safe |= context.eponym
    # A single capital letter is often an initial; "A" and "I" begin sentences.
    initial = rows.has("is-single-letter", ids) & rows.has("has-capital-beginning", ids)
    safe &= ~has_digit & ~rows.foreign[ids] & ~(initial & ~context.sentence_start)
    safe |= context.causality & ~context.titled
    certain = context.certain & ~context.titled & ~context.owner
    brand = context.brand & ~context.titled & ~context.owner
    fact = context.fact & ~safe & ~context.titled & (has_digit | in_safe | brand)
    never = ((flags & np.uint32(_NEVER_FLAGS)) != 0) & ~safe & ~certain
    # "Dr" is a street word and a title; the network tells which, the rules do not forbid it.
    never &= (flags & np.uint32(WordFlag.SALUTATION)) == 0
    # A single letter or a pair of capitals is not a whole name.
    in_capitals, n_chars = rows.has("all-upper-case", ids), rows.n_chars[ids]
    word = ~safe & ~has_digit & ((n_chars > 2) | ((n_chars == 2) & ~in_capitals))
    name = maybe_name = opening = np.zeros(len(ids), np.bool_)
    if policy == "case-aware":
        # CT is more often a scan than a court.
        only_street = (flags & np.uint32(_NEVER_FLAGS)) == np.uint32(WordFlag.STREET)
        never &= ~(only_street & in_safe & rows.has("is-two-letters", ids) & in_capitals)
        maybe_name = word & _may_be_name(ids, rows, context)
        maybe_name &= ~certain & ~brand
        opening = safe & context.sentence_start & ~context.mostly_upper & ~in_capitals & ~context.eponym
        opening &= ((flags & np.uint32(_NAME_FLAGS)) != 0) & ~certain & _may_be_name(ids, rows, context)
        usual_term = ((flags & np.uint32(WordFlag.MEDICAL)) != 0) & (rows.lower_ratio[ids] >= MIN_LOWER_RATIO)
        opening &= ~usual_term  # `Rash on both arms`
        name = maybe_name & ~in_safe & (((flags & np.uint32(_NAME_FLAGS)) != 0) | context.titled)
    long_number = rows.long_number[ids] & ~context.code
    unlisted = ~in_unsafe & (in_safe | (in_capitals & (n_chars <= _MAX_SHORTHAND)))
    verdicts = RuleVerdicts(
        safe=safe,
        fact=fact,
        certain=certain,
        never=never,
        veto=context.veto | (context.owner & context.titled) | rows.foreign[ids] | long_number,
        titled=context.titled,
        name=name | context.owner,
        word=word,
        maybe_name=maybe_name,
        opening=opening,
        lifted=np.zeros(len(ids), np.bool_),
        plain=unlisted & ~has_digit & ~rows.foreign[ids],
    )
    return replace(verdicts, lifted=_lift(verdicts, ids, rows, context, kept)) if kept else verdicts


def _lift(
    verdicts: RuleVerdicts, ids: IntArray, rows: WordRows, context: Context, kept: frozenset[HyperClass]
) -> BoolArray:
    """Tell which tokens are always masked for reasons of the kept classes alone: bool (n_tokens,).

    A name, a disguise or anything of another class masks as ever. Most months and weekdays are also
    names. With dates kept they count as such only after a title, or if they own something.
    """
    flags = rows.flags[ids]
    never_flags = _NEVER_FLAGS
    for one in kept:
        never_flags &= ~_NEVER_FLAGS_OF.get(one, WordFlag(0))
    firm = verdicts.never & ((flags & np.uint32(never_flags)) != 0)
    firm |= context.firm_veto | (context.owner & context.titled) | rows.foreign[ids]
    if kept.isdisjoint({HyperClass.ID, HyperClass.CONTACT}):
        firm |= rows.long_number[ids]
    if HyperClass.NAME not in kept:
        names = verdicts.name
        if HyperClass.DATE in kept:
            is_time = (flags & np.uint32(_TIME_FLAGS)) != 0
            names = names & ~(is_time & ~context.owner & ~context.titled)
        firm |= names
    return np.asarray(verdicts.always_masked & ~firm)


def _reads_as_a_word(ids: IntArray, rows: WordRows, context: Context) -> BoolArray:
    # Whether the case of an ambiguous word, or its usual case, shows that it is not a name.
    lower = rows.has("all-lower-case", ids)
    # "Will: nausea" in a list of speakers is as often a name as "Plan:" is a word.
    mute = (context.sentence_start & ~context.label) | context.mostly_upper
    with np.errstate(invalid="ignore"):
        usually_lower = rows.lower_ratio[ids] >= MIN_LOWER_RATIO
    return (lower | (mute & usually_lower)) & ~context.titled


def _may_be_name(ids: IntArray, rows: WordRows, context: Context) -> BoolArray:
    # Capitalised, and not clinical terms, eponyms or shorthand.
    flags = rows.flags[ids]
    # The lists of medical terms have plants and anatomy, and so many surnames: Rose, Head.
    only_medical = ((flags & np.uint32(WordFlag.MEDICAL)) != 0) & ((flags & np.uint32(_NAME_FLAGS)) == 0)
    clinical = only_medical | ((flags & np.uint32(_CLINICAL_FLAGS)) != 0)
    in_capitals = rows.has("all-upper-case", ids)
    shorthand = in_capitals & (rows.n_chars[ids] <= _MAX_SHORTHAND) & ~context.mostly_upper
    exempt = (clinical | context.before_head | shorthand) & ~context.titled
    return np.asarray(rows.has("has-capital-beginning", ids) & ~exempt)


FEATURE_NAMES: tuple[str, ...] = (*WORD_FEATURE_NAMES, *CONTEXT_FEATURE_NAMES)
"""Names of the columns of `RuleAnalysis.features`: the fifteen of the thesis and more."""


class RuleAnalyser:
    """Analyses documents by dictionaries, shape and context.

    Args:
        lexicon: The dictionaries.
        interned: Numbers the words; shared with the scorer.
        policy: How ambiguous words are judged.
        kept: Classes that the user keeps.
        repairs: Judge `rec0vered` as `recovered`, and tell the network that word. Training learns from
            the words as they are written.

    Raises:
        ValueError: Unknown policy.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        interned: InternedWords,
        policy: Policy = "case-aware",
        kept: frozenset[HyperClass] = frozenset(),
        *,
        repairs: bool = True,
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"policy is one of {', '.join(POLICIES)}")
        self._lexicon = lexicon
        self._interned = interned
        self._knowledge = WordKnowledge(lexicon, interned)
        self._policy = policy
        self._kept = kept
        self._repairs = repairs

    def judging(self, policy: Policy, kept: frozenset[HyperClass]) -> RuleAnalyser:
        """Return an analyser that judges otherwise, and shares what this one knows of words."""
        if policy not in POLICIES:
            raise ValueError(f"policy is one of {', '.join(POLICIES)}")
        other = copy.copy(self)
        other._policy, other._kept = policy, kept
        return other

    def analyse(self, tokens: Tokens) -> RuleAnalysis:
        return self.analyse_many([tokens])[0]

    def analyse_many(self, tokens: Sequence[Tokens]) -> list[RuleAnalysis]:
        """Analyse documents, looking up the distinct words of all of them together."""
        joined = join(tokens)
        ids = self._interned.ids(joined.words)
        rows = self._knowledge.rows()
        misread = find_misread(joined, ids, rows)
        if self._repairs and misread.any():
            words = list(joined.words)
            for i in np.flatnonzero(misread).tolist():
                words[i] = self._knowledge.misread.meant(words[i])
            joined = replace(joined, words=words)
            ids[misread] = self._interned.ids([words[i] for i in np.flatnonzero(misread).tolist()])
            rows = self._knowledge.rows()
        context = describe_context(joined, ids, rows, self._lexicon, self._kept)
        features = _put_side_by_side(rows.features, ids, context.columns)
        verdicts = judge(ids, rows, context, self._policy, self._kept)
        n_chars = rows.n_chars[ids]
        starts_low = rows.has("all-lower-case", ids) | rows.has("all-upper-case", ids)
        other_language = find_other_languages(
            joined,
            rows.flags[ids],
            written=starts_low & (n_chars > 1) & ~rows.has("contains-digit", ids),
            foreign=rows.foreign[ids],
            n_chars=n_chars,
        )
        return [
            RuleAnalysis(ids[of], features[of], verdicts.of(of), other_language=is_other)
            for of, is_other in zip(joined.slices(), other_language.tolist(), strict=True)
        ]


def _put_side_by_side(of_words: FloatArray, ids: IntArray, of_context: Sequence[np.ndarray]) -> FloatArray:
    """Return `[of_words[ids], *of_context]`, float32 (n_tokens, n_features): the largest array of all."""
    n_words = of_words.shape[1]
    features = np.empty((len(ids), n_words + len(of_context)), np.float32)
    for begin in range(0, len(ids), _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        features[rows, :n_words] = of_words[ids[rows]]
        for number, column in enumerate(of_context, n_words):
            features[rows, number] = column[rows]
    return features
