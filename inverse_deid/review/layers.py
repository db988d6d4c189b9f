"""Layers: a user's actions over a base, replayed to what they say of each token.

An action is stored as steps: `[first, stop, keep or null, category code or null]`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, delete, insert, select, update

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.values import BoolArray
from inverse_deid.review.contents import CaseContent, read_content
from inverse_deid.review.doubt import category_codes
from inverse_deid.review.store import ReviewStore
from inverse_deid.review.tables import ACTIONS, CASES, LAYERS
from inverse_deid.review.values import NO_CATEGORY, LayerKind, LayerTokens, TokenRange

Step = tuple[int, int, bool | None, int | None]
"""First token, behind the last, kept or masked, category; None = as it was."""


def locked_case(connection: Connection, case_id: int) -> Row[Any]:
    """The row of a case, locked until the transaction ends.

    Raises:
        ReviewError: No such case.
    """
    row = connection.execute(select(CASES).where(CASES.c.id == case_id).with_for_update()).one_or_none()
    if row is None:
        raise ReviewError(f"there is no case {case_id} in the store")
    return row


def layers_of(
    connection: Connection, case_id: int, kind: LayerKind, *, approved: bool = False
) -> Sequence[Row[Any]]:
    """The layers of a case, in the order of approval."""
    found = select(LAYERS).where(LAYERS.c.case_id == case_id, LAYERS.c.kind == kind.value)
    if approved:
        found = found.where(LAYERS.c.approval.is_not(None))
    return connection.execute(found.order_by(LAYERS.c.approval, LAYERS.c.id)).all()


def own_layer(connection: Connection, user_id: int, case_id: int) -> Row[Any]:
    """The layer that a user works on in a case: the adjudication, if he has one.

    Raises:
        NotAllowedError: He never opened it.
    """
    found = select(LAYERS).where(LAYERS.c.case_id == case_id, LAYERS.c.user_id == user_id)
    rows = connection.execute(found.order_by(LAYERS.c.kind)).all()
    if not rows:
        raise NotAllowedError(f"case {case_id} is not yours; open it from the work list")
    return rows[0]


def new_layer(
    connection: Connection, store: ReviewStore, place: tuple[int, int], kind: LayerKind, *, is_blind: bool
) -> None:
    """Make the layer of a user; `place` is user and case."""
    user_id, case_id = place
    row = {
        "case_id": case_id,
        "user_id": user_id,
        "kind": kind.value,
        "is_blind": is_blind,
        "revision": 0,
        "n_done": 0,
        "seconds": 0.0,
        "seen_at": store.now(),
    }
    connection.execute(insert(LAYERS), row)


def restart_blind(connection: Connection, layer_id: int, revision: int) -> None:
    """Empty the layer of a reviewer who becomes the second one and shall be blind to the model."""
    connection.execute(delete(ACTIONS).where(ACTIONS.c.layer_id == layer_id))
    changes = {"is_blind": True, "n_done": 0, "revision": revision + 1}
    connection.execute(update(LAYERS).where(LAYERS.c.id == layer_id).values(**changes))


def steps_of(connection: Connection, layer_id: int) -> list[list[Step]]:
    """All actions of a layer, also those undone, in order."""
    found = select(ACTIONS.c.steps).where(ACTIONS.c.layer_id == layer_id).order_by(ACTIONS.c.position)
    return [[tuple(step) for step in json.loads(steps)] for steps in connection.execute(found).scalars()]


def layer_tokens(
    connection: Connection, store: ReviewStore, layer: Row[Any], content: CaseContent
) -> LayerTokens:
    """What a layer says of each token now."""
    base = base_tokens(connection, store, layer, content)
    actions = steps_of(connection, layer.id)[: layer.n_done]
    return after_steps(base, (step for action in actions for step in action))


def base_tokens(
    connection: Connection, store: ReviewStore, layer: Row[Any], content: CaseContent
) -> LayerTokens:
    """What a layer says before its first action.

    A reviewer begins with the model's decisions; one who is blind to it, with the bare text; an
    adjudicator with what both reviewers say, and nothing where they disagree.
    """
    n_tokens = len(content.tokens)
    everywhere = np.ones(n_tokens, np.bool_)
    if layer.kind == LayerKind.ADJUDICATION.value:
        return common_ground(reviewers_tokens(connection, store, layer.case_id, content))
    if layer.is_blind:
        return LayerTokens(everywhere, np.full(n_tokens, NO_CATEGORY, np.uint8), everywhere.copy())
    return LayerTokens(content.decisions.keep, category_codes(content.decisions), everywhere)


def reviewers_tokens(
    connection: Connection, store: ReviewStore, case_id: int, content: CaseContent
) -> list[LayerTokens]:
    """The approved layers of the reviewers, in the order of approval."""
    rows = layers_of(connection, case_id, LayerKind.REVIEW, approved=True)
    return [layer_tokens(connection, store, row, content) for row in rows]


def common_ground(layers: Sequence[LayerTokens]) -> LayerTokens:
    """What all reviewers say: masked and not decided where they disagree; the first known category.

    Raises:
        ReviewError: There is no layer.

    Example:
        >>> a = LayerTokens(np.array([True, False]), np.array([255, 3], np.uint8), np.ones(2, bool))
        >>> b = LayerTokens(np.array([True, True]), np.array([255, 255], np.uint8), np.ones(2, bool))
        >>> ground = common_ground([a, b])
        >>> ground.keep.tolist(), ground.decided.tolist()
        ([True, False], [True, False])
    """
    if not layers:
        raise ReviewError("nobody approved the case yet")
    keep = np.logical_and.reduce([layer.keep for layer in layers])
    alike = np.logical_or.reduce([layer.keep for layer in layers]) == keep
    categories = layers[0].categories.copy()
    for layer in layers[1:]:
        # Of a token that only one masks, his category is the better informed one.
        unsure = (categories == NO_CATEGORY) | (layers[0].keep & ~layer.keep)
        categories[unsure] = layer.categories[unsure]
    decided = alike & np.logical_and.reduce([layer.decided for layer in layers])
    return LayerTokens(keep, categories, decided)


def after_steps(base: LayerTokens, steps: Iterable[Step]) -> LayerTokens:
    """A base with steps taken on it; a step that keeps or masks also decides."""
    keep, categories, decided = base.keep.copy(), base.categories.copy(), base.decided.copy()
    for first, stop, kept, category in steps:
        if kept is not None:
            keep[first:stop] = kept
            decided[first:stop] = True
        if category is not None:
            categories[first:stop] = category
    return dataclasses.replace(base, keep=keep, categories=categories, decided=decided)


def changed_tokens(before: LayerTokens, after: LayerTokens) -> BoolArray:
    """Where two states of a layer differ; a category counts on masked tokens alone: bool (n_tokens,)."""
    recategorised = (before.categories != after.categories) & ~after.keep
    changed: BoolArray = (before.keep != after.keep) | (before.decided != after.decided) | recategorised
    return changed


def runs_of(chosen: BoolArray, *alike: np.ndarray) -> list[TokenRange]:
    """Runs of chosen tokens in which other arrays do not change.

    Example:
        >>> runs_of(np.array([True, True, False, True]), np.array([1, 2, 2, 2]))
        [TokenRange(first=0, stop=1), TokenRange(first=1, stop=2), TokenRange(first=3, stop=4)]
    """
    places = np.flatnonzero(chosen)
    if not len(places):
        return []
    breaks = np.diff(places) > 1
    for array in alike:
        breaks |= array[places[1:]] != array[places[:-1]]
    edges = np.flatnonzero(breaks) + 1
    groups = np.split(places, edges)
    return [TokenRange(int(group[0]), int(group[-1]) + 1) for group in groups]


def content_and_layer(
    connection: Connection, store: ReviewStore, layer: Row[Any]
) -> tuple[CaseContent, LayerTokens]:
    """The case of a layer, decrypted, and what the layer says."""
    content = read_content(connection, layer.case_id, store.sealer)
    return content, layer_tokens(connection, store, layer, content)
