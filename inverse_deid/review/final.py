"""What all layers of a case together say, and the masked text of it. Nothing undecided ever gets through."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection

from inverse_deid.core.errors import ReviewError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import BoolArray, Decisions, MaskedDocument, PhiSpan, Reason, Tokens
from inverse_deid.replacement.markers import MarkerFor, markers_of
from inverse_deid.review.contents import CaseContent
from inverse_deid.review.layers import common_ground, layer_tokens, layers_of, reviewers_tokens, runs_of
from inverse_deid.review.store import MaskingFacts, ReviewStore
from inverse_deid.review.values import CATEGORIES, NO_CATEGORY, LayerKind, LayerTokens, MaskedView, Part
from inverse_deid.text.rendering import JOINING_GAPS, render

_CLASSES = tuple(HyperClass)
_CLASS_OF_CODE = np.zeros(256, np.uint8)
_CLASS_OF_CODE[: len(CATEGORIES)] = [_CLASSES.index(HYPER_CLASS_OF[one]) for one in CATEGORIES]

_TIMELY = [_CLASSES.index(kind) for kind in (HyperClass.DATE, HyperClass.AGE)]

UNKNOWN_TYPE = PhiType.LOCATION_OTHER
"""Of masked tokens whose category nobody knows, as in the annotation files of `mask`."""


def final_tokens(
    connection: Connection, store: ReviewStore, case_id: int, content: CaseContent
) -> LayerTokens:
    """What is released: the adjudicator's word, or what all reviewers agree on.

    Raises:
        ReviewError: An approval is missing, a layer does not fit the case, or a token is not decided.
    """
    reviewers = reviewers_tokens(connection, store, case_id, content)
    if len(reviewers) < store.policy.approvals:
        raise ReviewError(f"case {case_id} has {len(reviewers)} of {store.policy.approvals} approvals")
    settled = layers_of(connection, case_id, LayerKind.ADJUDICATION, approved=True)
    final = layer_tokens(connection, store, settled[0], content) if settled else common_ground(reviewers)
    n_tokens = len(content.tokens)
    if {len(final.keep), len(final.categories), len(final.decided)} != {n_tokens}:
        raise ReviewError(f"the decisions on case {case_id} do not fit its {n_tokens} tokens")
    n_undecided = int((~final.decided).sum())
    if n_undecided:
        raise ReviewError(
            f"{n_undecided} tokens of case {case_id} are not decided; an adjudicator settles them"
        )
    return final


def masked_view(content: CaseContent, layer: LayerTokens, facts: MaskingFacts) -> MaskedView:
    """The masked text of a layer over all parts; what is not decided is masked."""
    decisions = final_decisions(content, layer)
    rendering = render(content.tokens, decisions.keep, _markers(facts)(decisions))
    return MaskedView(rendering.text, rendering.masks, rendering.replaced)


def masked_part(content: CaseContent, final: LayerTokens, part: Part, facts: MaskingFacts) -> MaskedDocument:
    """One text of a case as a masking would have given it back."""
    first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
    tokens = Tokens(
        content.text[part.start : part.end],
        content.tokens.words[first:stop],
        content.tokens.starts[first:stop] - np.int32(part.start),
        content.tokens.ends[first:stop] - np.int32(part.start),
    )
    whole = final_decisions(content, final)
    decisions = Decisions(
        whole.keep[first:stop],
        whole.reasons[first:stop],
        whole.p_safe[first:stop],
        whole.thresholds[first:stop],
        whole.categories[first:stop],
    )
    rendering = render(tokens, decisions.keep, _markers(facts)(decisions))
    return MaskedDocument(part.name, rendering.text, rendering.masks, rendering.replaced, tokens, decisions)


def final_decisions(content: CaseContent, final: LayerTokens) -> Decisions:
    """A layer as decisions. Words that a reviewer masked are never read again, unless as a date or age."""
    model = content.decisions
    keep: BoolArray = final.keep & final.decided
    classes = _CLASS_OF_CODE[final.categories]
    hidden = ~keep & model.keep & ~np.isin(classes, _TIMELY)
    reasons = model.reasons.copy()
    reasons[~keep & model.keep] = Reason.BELOW_THRESHOLD
    reasons[hidden] = Reason.DENY_LIST
    reasons[keep & ~model.keep] = Reason.KEPT_ALLOW_LIST
    return Decisions(keep, reasons, model.p_safe, model.thresholds, classes)


def final_spans(content: CaseContent, final: LayerTokens, part: Part) -> tuple[PhiSpan, ...]:
    """What is masked in one text, as spans: neighbours of one category that only signs or a space join."""
    categories = np.where(final.categories == NO_CATEGORY, CATEGORIES.index(UNKNOWN_TYPE), final.categories)
    masked: BoolArray = ~(final.keep & final.decided)
    inside = (content.tokens.starts >= part.start) & (content.tokens.ends <= part.end)
    spans: list[PhiSpan] = []
    for run in runs_of(masked & inside, categories):
        phi_type = CATEGORIES[int(categories[run.first])]
        for start, end in _pieces(content.tokens, run.first, run.stop):
            spans.append(PhiSpan(start - part.start, end - part.start, phi_type))
    return tuple(spans)


def _pieces(tokens: Tokens, first: int, stop: int) -> list[tuple[int, int]]:
    """Ranges of characters of tokens that joining gaps connect."""
    pieces: list[tuple[int, int]] = []
    for start, end in zip(tokens.starts[first:stop].tolist(), tokens.ends[first:stop].tolist(), strict=True):
        if pieces and tokens.text[pieces[-1][1] : start] in JOINING_GAPS:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return pieces


def _markers(facts: MaskingFacts) -> MarkerFor:
    return markers_of("category" if facts.category_markers else "marker", facts.marker)
