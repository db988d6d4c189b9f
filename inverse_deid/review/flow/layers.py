"""Layers: the actions of a user over a base, replayed, and the masked text that all layers result in.

An action is stored as steps, lists of the values of a `LayerStep`. An undecided token is never released.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Row, select

from inverse_deid.core.errors import NotAllowedError, ReviewError, UnreadableInputError
from inverse_deid.core.phi import HYPER_CLASS_OF, HyperClass, PhiType
from inverse_deid.core.values import BoolArray, Decisions, MaskedDocument, PhiSpan, Reason, Tokens
from inverse_deid.core.wording import _
from inverse_deid.replacement.markers import MarkerFor, markers_of
from inverse_deid.review.flow.contents import CaseContent, encode_categories
from inverse_deid.review.store.opening import Transaction
from inverse_deid.review.store.rows import hash_actions
from inverse_deid.review.store.sources import read_masking
from inverse_deid.review.store.tables import ACTIONS, LAYERS
from inverse_deid.review.store.values import (
    CATEGORIES,
    NO_CATEGORY,
    CasePart,
    CopiedValue,
    LayerKind,
    LayerTokens,
    MaskingFacts,
    TokenRange,
)
from inverse_deid.text.rendering import JOINING_GAPS, Rendering, render


class LayerStep(NamedTuple):
    """What an action does to some tokens that follow each other."""

    first: int
    stop: int  # after the last one
    keep: bool | None  # kept or masked, None = unchanged
    category: int | None = None  # None = unchanged
    entry: int | None = None  # the entry of a word list that decided it, None = the user themselves


UNKNOWN_TYPE = PhiType.LOCATION_OTHER
"""Of masked tokens of unknown category, as in the annotation files of `mask`."""

_CLASSES = tuple(HyperClass)
_CLASS_OF_CODE = np.zeros(256, np.uint8)
_CLASS_OF_CODE[: len(CATEGORIES)] = [_CLASSES.index(HYPER_CLASS_OF[one]) for one in CATEGORIES]
_TIMELY = [_CLASSES.index(kind) for kind in (HyperClass.DATE, HyperClass.AGE)]


def list_layers(
    transaction: Transaction, case_id: int, kind: LayerKind, *, approved: bool = False
) -> Sequence[Row[Any]]:
    found = select(LAYERS).where(LAYERS.c.case_id == case_id, LAYERS.c.kind == kind.value)
    if approved:
        found = found.where(LAYERS.c.approval.is_not(None))
    return transaction.read(found.order_by(LAYERS.c.approval, LAYERS.c.id), LAYERS)


def find_layer(transaction: Transaction, user_id: int, case_id: int) -> Row[Any]:
    """Return the layer that a user works on in a case: their adjudication, if there is one.

    Raises:
        NotAllowedError: The user never opened the case.
    """
    found = select(LAYERS).where(LAYERS.c.case_id == case_id, LAYERS.c.user_id == user_id)
    rows = transaction.read(found.order_by(LAYERS.c.kind), LAYERS)
    if not rows:
        raise NotAllowedError(
            _("you have not opened case {case_id}. Open it from the list of cases", case_id=case_id)
        )
    return rows[0]


def read_steps(transaction: Transaction, layer: Row[Any]) -> list[list[LayerStep]]:
    """Return all actions of a layer in order, including undone ones.

    Raises:
        UnreadableInputError: They are not those that the layer has a hash of.
    """
    found = select(ACTIONS).where(ACTIONS.c.layer_id == layer.id).order_by(ACTIONS.c.position)
    rows = transaction.execute(found).all()
    stored = [row.steps for row in rows]
    is_complete = [row.position for row in rows] == list(range(len(rows))) and layer.n_done <= len(rows)
    if not is_complete or hash_actions(stored) != layer.actions_hash:
        raise UnreadableInputError(
            _(
                "the actions of layers {id} of the store were altered outside the program. Run "
                "inverse-deid review verify, and restore a backup",
                id=layer.id,
            )
        )
    return [[LayerStep(*step) for step in json.loads(steps)] for steps in stored]


def replay_layer(transaction: Transaction, layer: Row[Any], content: CaseContent) -> LayerTokens:
    base = read_base(transaction, layer, content)
    actions = read_steps(transaction, layer)[: layer.n_done]
    return apply_steps(base, (step for action in actions for step in action))


def read_base(transaction: Transaction, layer: Row[Any], content: CaseContent) -> LayerTokens:
    """Return the decisions of a layer before its first action.

    A reviewer begins with the model's decisions, or, if blind to the model, with the bare text. An
    adjudicator begins with what both reviewers say, and nothing where they disagree.
    """
    n_tokens = len(content.tokens)
    everywhere = np.ones(n_tokens, np.bool_)
    if layer.kind == LayerKind.ADJUDICATION.value:
        return combine_reviewers(replay_approved(transaction, layer.case_id, content))
    if layer.is_blind:
        return LayerTokens(everywhere, np.full(n_tokens, NO_CATEGORY, np.uint8), everywhere.copy())
    return begin_from_model(content)


def begin_from_model(content: CaseContent) -> LayerTokens:
    """Return the model's decisions, with which a reviewer begins."""
    everywhere = np.ones(len(content.tokens), np.bool_)
    return LayerTokens(content.decisions.keep, encode_categories(content.decisions), everywhere)


def replay_approved(transaction: Transaction, case_id: int, content: CaseContent) -> list[LayerTokens]:
    """Return the approved layers of the reviewers, in the order of approval."""
    rows = list_layers(transaction, case_id, LayerKind.REVIEW, approved=True)
    return [replay_layer(transaction, row, content) for row in rows]


def combine_reviewers(layers: Sequence[LayerTokens]) -> LayerTokens:
    """Combine reviewers: masked and undecided where they disagree; the first known category.

    Raises:
        ReviewError: There is no layer.

    Example:
        >>> a = LayerTokens(np.array([True, False]), np.array([255, 3], np.uint8), np.ones(2, bool))
        >>> b = LayerTokens(np.array([True, True]), np.array([255, 255], np.uint8), np.ones(2, bool))
        >>> combined = combine_reviewers([a, b])
        >>> combined.keep.tolist(), combined.decided.tolist()
        ([True, False], [True, False])
    """
    if not layers:
        raise ReviewError(_("nobody has approved the case yet"))
    keep = np.logical_and.reduce([layer.keep for layer in layers])
    alike = np.logical_or.reduce([layer.keep for layer in layers]) == keep
    categories = layers[0].categories.copy()
    for layer in layers[1:]:
        # If only one reviewer masks a token, their category is better informed.
        unsure = (categories == NO_CATEGORY) | (layers[0].keep & ~layer.keep)
        categories[unsure] = layer.categories[unsure]
    decided = alike & np.logical_and.reduce([layer.decided for layer in layers])
    return LayerTokens(keep, categories, decided)


def apply_steps(base: LayerTokens, steps: Iterable[LayerStep]) -> LayerTokens:
    """Apply steps to a base; a step that keeps or masks also decides."""
    keep, categories, decided = base.keep.copy(), base.categories.copy(), base.decided.copy()
    for one in steps:
        if one.keep is not None:
            keep[one.first : one.stop] = one.keep
            decided[one.first : one.stop] = True
        if one.category is not None:
            categories[one.first : one.stop] = one.category
    return dataclasses.replace(base, keep=keep, categories=categories, decided=decided)


def find_changes(before: LayerTokens, after: LayerTokens) -> BoolArray:
    """Find where two states of a layer differ; categories count on masked tokens only: bool (n_tokens,)."""
    recategorised = (before.categories != after.categories) & ~after.keep
    changed: BoolArray = (before.keep != after.keep) | (before.decided != after.decided) | recategorised
    return changed


def find_runs(chosen: BoolArray, *alike: np.ndarray) -> list[TokenRange]:
    """Find runs of chosen tokens in which other arrays do not change.

    Example:
        >>> find_runs(np.array([True, True, False, True]), np.array([1, 2, 2, 2]))
        [TokenRange(first=0, stop=1), TokenRange(first=1, stop=2), TokenRange(first=3, stop=4)]
    """
    places = np.flatnonzero(chosen)
    if not len(places):
        return []
    breaks = np.diff(places) > 1
    for array in alike:
        breaks |= array[places[1:]] != array[places[:-1]]
    groups = np.split(places, np.flatnonzero(breaks) + 1)
    return [TokenRange(int(group[0]), int(group[-1]) + 1) for group in groups]


def read_final(transaction: Transaction, case_id: int, content: CaseContent) -> LayerTokens:
    """Return the decisions to release: those of the adjudicator, or those that all reviewers agree on.

    Raises:
        ReviewError: An approval is missing, a layer does not fit the case, or a token is undecided.
    """
    reviewers = replay_approved(transaction, case_id, content)
    if len(reviewers) < transaction.policy.approvals:
        raise ReviewError(
            _(
                "case {case_id} has {n_reviewers} of {approvals} approvals",
                case_id=case_id,
                n_reviewers=len(reviewers),
                approvals=transaction.policy.approvals,
            )
        )
    settled = list_layers(transaction, case_id, LayerKind.ADJUDICATION, approved=True)
    final = replay_layer(transaction, settled[0], content) if settled else combine_reviewers(reviewers)
    n_tokens = len(content.tokens)
    if {len(final.keep), len(final.categories), len(final.decided)} != {n_tokens}:
        raise ReviewError(
            _(
                "the decisions on case {case_id} do not match its {n_tokens} words",
                case_id=case_id,
                n_tokens=n_tokens,
            )
        )
    n_undecided = int((~final.decided).sum())
    if n_undecided:
        raise ReviewError(
            _(
                "case {case_id} has {n_undecided} undecided words. An adjudicator must settle them",
                case_id=case_id,
                n_undecided=n_undecided,
            )
        )
    return final


def read_copied(
    transaction: Transaction, case: Row[Any], content: CaseContent
) -> tuple[CopiedValue, ...] | None:
    """Return the values that are released beside the texts of a case, None = they were never stored."""
    if content.copied is not None:
        return content.copied
    options = read_masking(transaction, case.source_id).output.read_options
    return None if options.kept_columns or options.keep_all_columns else ()


def render_case(content: CaseContent, layer: LayerTokens, facts: MaskingFacts) -> Rendering:
    """Return the masked text of a layer over all parts; undecided words are masked."""
    decisions = _decide(content, layer)
    return render(content.tokens, decisions.keep, _choose_marker(facts)(decisions))


def render_part(
    content: CaseContent, final: LayerTokens, part: CasePart, facts: MaskingFacts
) -> MaskedDocument:
    """Return one text of a case as a masker would have returned it."""
    first, stop = np.searchsorted(content.tokens.starts, [part.start, part.end]).tolist()
    tokens = Tokens(
        content.text[part.start : part.end],
        content.tokens.words[first:stop],
        content.tokens.starts[first:stop] - np.int32(part.start),
        content.tokens.ends[first:stop] - np.int32(part.start),
    )
    decisions = _decide(content, final).of(slice(first, stop))
    rendering = render(tokens, decisions.keep, _choose_marker(facts)(decisions))
    return MaskedDocument(part.name, rendering.text, rendering.masks, rendering.replaced, tokens, decisions)


def _choose_marker(facts: MaskingFacts) -> MarkerFor:
    return markers_of("category" if facts.category_markers else "marker", facts.marker)


def _decide(content: CaseContent, final: LayerTokens) -> Decisions:
    # Words masked by a reviewer are read again only as dates or ages.
    model = content.decisions
    keep: BoolArray = final.keep & final.decided
    classes = _CLASS_OF_CODE[final.categories]
    hidden = ~keep & model.keep & ~np.isin(classes, _TIMELY)
    reasons = model.reasons.copy()
    reasons[~keep & model.keep] = Reason.BELOW_THRESHOLD
    reasons[hidden] = Reason.DENY_LIST
    reasons[keep & ~model.keep] = Reason.KEPT_ALLOW_LIST
    return Decisions(keep, reasons, model.p_safe, model.thresholds, classes)


def find_spans(content: CaseContent, final: LayerTokens, part: CasePart) -> tuple[PhiSpan, ...]:
    """Return the masks of one text as spans: neighbours of one category with only a joining gap between."""
    categories = np.where(final.categories == NO_CATEGORY, CATEGORIES.index(UNKNOWN_TYPE), final.categories)
    tokens = content.tokens
    masked: BoolArray = ~(final.keep & final.decided)
    masked &= (tokens.starts >= part.start) & (tokens.ends <= part.end)
    spans: list[PhiSpan] = []
    for run in find_runs(masked, categories):
        pieces: list[tuple[int, int]] = []
        for start, end in zip(
            tokens.starts[run.first : run.stop].tolist(),
            tokens.ends[run.first : run.stop].tolist(),
            strict=True,
        ):
            if pieces and tokens.text[pieces[-1][1] : start] in JOINING_GAPS:
                pieces[-1] = (pieces[-1][0], end)
            else:
                pieces.append((start, end))
        phi_type = CATEGORIES[int(categories[run.first])]
        spans += [PhiSpan(start - part.start, end - part.start, phi_type) for start, end in pieces]
    return tuple(spans)
