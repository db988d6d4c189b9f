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

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np

from inverse_deid.core.values import BoolArray, IntArray, RuleAnalysis, RuleVerdicts, Tokens
from inverse_deid.lexicon import SAFE_FLAGS, UNSAFE_FLAGS, Lexicon, WordFlag
from inverse_deid.rules.context import CONTEXT_FEATURE_NAMES, Context, describe_context, find_misread
from inverse_deid.rules.words import WORD_FEATURE_NAMES, WordKnowledge, WordRows
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import join

Policy = Literal["literal", "case-aware"]
POLICIES: tuple[Policy, ...] = ("literal", "case-aware")

MIN_LOWER_RATIO = 0.7
"""From this share of lower-case use, a word is not a name where its case says nothing."""

_MAX_SHORTHAND = 4
"""Characters of a word in capitals that reads as shorthand where the text around it is not in capitals."""

_CLINICAL_FLAGS = WordFlag.DRUG | WordFlag.SHORTHAND | WordFlag.UNIT | WordFlag.CLINICAL_NAME
_NAME_FLAGS = WordFlag.SURNAME | WordFlag.FIRST_NAME
_NEVER_FLAGS = WordFlag.WEEKDAY | WordFlag.MONTH | WordFlag.STREET | WordFlag.HOLIDAY | WordFlag.NUMBER_WORD


def judge(ids: IntArray, rows: WordRows, context: Context, policy: Policy) -> RuleVerdicts:
    """Return the verdict on every token of a document; `ids` are their rows, int32 (n_tokens,)."""
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
    never = ((flags & np.uint32(_NEVER_FLAGS)) != 0) & ~safe
    # "Dr" is a street word and a title; the network tells which, the rules do not forbid it.
    never &= (flags & np.uint32(WordFlag.SALUTATION)) == 0
    # A single letter or a pair of capitals is not a whole name.
    in_capitals, n_chars = rows.has("all-upper-case", ids), rows.n_chars[ids]
    word = ~safe & ~has_digit & ((n_chars > 2) | ((n_chars == 2) & ~in_capitals))
    name = maybe_name = np.zeros(len(ids), np.bool_)
    if policy == "case-aware":
        # CT is more often a scan than a court.
        only_street = (flags & np.uint32(_NEVER_FLAGS)) == np.uint32(WordFlag.STREET)
        never &= ~(only_street & in_safe & rows.has("is-two-letters", ids) & in_capitals)
        maybe_name = word & _may_be_name(ids, rows, context)
        name = maybe_name & ~in_safe & (((flags & np.uint32(_NAME_FLAGS)) != 0) | context.titled)
    return RuleVerdicts(
        safe=safe,
        never=never,
        veto=context.veto | (context.owner & context.titled) | rows.foreign[ids] | rows.long_number[ids],
        titled=context.titled,
        name=name | context.owner,
        word=word,
        maybe_name=maybe_name,
    )


def _reads_as_a_word(ids: IntArray, rows: WordRows, context: Context) -> BoolArray:
    """Tell whether the case of an ambiguous word, or its usual case, shows that it is not a name."""
    lower = rows.has("all-lower-case", ids)
    # "Will: nausea" in a list of speakers is as often a name as "Plan:" is a word.
    mute = (context.sentence_start & ~context.label) | context.mostly_upper
    with np.errstate(invalid="ignore"):
        usually_lower = rows.lower_ratio[ids] >= MIN_LOWER_RATIO
    return (lower | (mute & usually_lower)) & ~context.titled


def _may_be_name(ids: IntArray, rows: WordRows, context: Context) -> BoolArray:
    """Tell which words are capitalised and not clinical terms, eponyms or shorthand."""
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
        *,
        repairs: bool = True,
    ) -> None:
        if policy not in POLICIES:
            raise ValueError(f"policy is one of {', '.join(POLICIES)}")
        self._lexicon = lexicon
        self._interned = interned
        self._knowledge = WordKnowledge(lexicon, interned)
        self._policy = policy
        self._repairs = repairs

    def analyse(self, tokens: Tokens) -> RuleAnalysis:
        """Analyse one document."""
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
            joined = dataclasses.replace(joined, words=words)
            ids[misread] = self._interned.ids([words[i] for i in np.flatnonzero(misread).tolist()])
            rows = self._knowledge.rows()
        context = describe_context(joined, ids, rows, self._lexicon)
        features = np.concatenate([rows.features[ids], context.features], axis=1)
        verdicts = judge(ids, rows, context, self._policy)
        return [RuleAnalysis(ids[of], features[of], verdicts.of(of)) for of in joined.slices()]
