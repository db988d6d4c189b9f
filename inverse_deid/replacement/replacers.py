"""The one mechanism of replacement: the first replacer that proposes words for a masked word wins.

A masked word without a proposal keeps its marker. A new replacement is a module with a `Replacer`
and one line in `replace_case`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.replacement.ages import AgePolicy, AgeReplacer, MaskedAges
from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.policies import DatePolicy
from inverse_deid.replacement.dates.replacing import DateReplacer
from inverse_deid.replacement.masked_words import MaskedWords, Proposal
from inverse_deid.replacement.settings import CaseSettings
from inverse_deid.replacement.surrogates.keyed import SurrogateReplacer, SurrogatesFor
from inverse_deid.text.rendering import Piece, forbidden_gaps, substitute


class Replacer(Protocol):
    """Replaces some masked words of the texts of one case."""

    def propose(self, text: MaskedWords) -> Sequence[Proposal]:
        """Propose words for masked words of one text; they keep their marker where it proposes none.

        Texts are given in order, each once.

        Returns:
            In text order, not overlapping; each begins and ends with a masked token.
        """
        ...


@dataclass(frozen=True, slots=True)
class MaskedCase:
    """All texts of one case, masked."""

    docs: tuple[MaskedDocument, ...]  # the masked texts, in the order of the originals
    dates: DatePolicy = field(repr=False)  # the policy of the dates of the case, for its fields
    ages: AgePolicy = field(default_factory=MaskedAges)  # the policy of its ages, for its fields
    is_plain: bool = False  # only markers were used, since the replacements could not be worked out


def replace_case(
    case: CaseTexts,
    docs: Sequence[MaskedDocument],
    settings: CaseSettings,
    surrogates_for: SurrogatesFor | None = None,
) -> MaskedCase:
    """Replace the dates and ages of a case as the settings say, and with surrogates its other masked words.

    Raises:
        ConfigurationError: The settings cannot be applied to this case.
    """
    texts = [MaskedWords(doc) for doc in docs]
    dates = DateReplacer(case, texts, settings)
    replacers: list[Replacer] = [dates, AgeReplacer(settings.age_policy, case)]
    if surrogates_for is not None and any(doc.masks for doc in docs):
        replacers.append(SurrogateReplacer(case, texts, surrogates_for))
    replaced = tuple(replace_masks(text, replacers) for text in texts)
    return MaskedCase(replaced, dates.policy, settings.age_policy)


def replace_masks(text: MaskedWords, replacers: Sequence[Replacer]) -> MaskedDocument:
    """Put proposed words in the place of masked ones; the first replacer to propose for a token wins.

    Everything masked stays masked: a proposal replaces the masks that it covers (and the little
    between them), the rest of a longer mask keeps its marker. A proposal with a character that is
    always masked is not used.
    """
    masked = text.masked
    chosen: list[Proposal] = []
    taken: set[int] = set()
    for replacer in replacers:
        proposals = replacer.propose(text)
        chosen += [one for one in proposals if taken.isdisjoint(range(one.first, one.stop))]
        taken.update(token for one in proposals for token in range(one.first, one.stop))
    chosen = sorted((one for one in chosen if not forbidden_gaps(one.text)), key=lambda one: one.first)
    if not chosen:
        return masked
    pieces = _pieces(masked, chosen)
    rendering = substitute(masked.tokens.text, pieces)
    keep, reasons = masked.decisions.keep.copy(), masked.decisions.reasons.copy()
    for one in chosen:
        covered = slice(one.first, one.stop)
        reasons[covered][keep[covered]] = Reason.JOINED_TO_MASKED
        keep[covered] = False
    return dataclasses.replace(
        masked,
        text=rendering.text,
        masks=rendering.masks,
        replaced=rendering.replaced,
        decisions=dataclasses.replace(masked.decisions, keep=keep, reasons=reasons),
        stand_ins=dict(Counter(masked.stand_ins) + Counter(one.sort for one in chosen)),
    )


def _pieces(masked: MaskedDocument, chosen: Sequence[Proposal]) -> list[Piece]:
    starts, ends = masked.tokens.starts, masked.tokens.ends
    spans = [(int(starts[one.first]), int(ends[one.stop - 1]), one.text) for one in chosen]
    pieces: list[Piece] = []
    n_passed = 0
    for (start, end), (shown, stop) in zip(masked.masks, masked.replaced, strict=True):
        marker, position = masked.text[shown:stop], start
        while n_passed < len(spans) and spans[n_passed][1] <= start:
            n_passed += 1
        for left, right, _ in spans[n_passed:]:
            if left >= end:
                break
            pieces += _rest(masked, position, left, marker)
            position = right
        pieces += _rest(masked, position, end, marker)
    return sorted([*pieces, *spans])


def _rest(masked: MaskedDocument, start: int, end: int, marker: str) -> list[Piece]:
    # Nothing if only spaces are left.
    text = masked.tokens.text[start:end] if start < end else ""
    words = text.strip(" ")
    if not words:
        return []
    begin = start + text.index(words)
    return [(begin, begin + len(words), marker)]
