"""A case as the reading page gets it: no offsets, so that browser and store count alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from inverse_deid.core.values import BoolArray, Tokens
from inverse_deid.review.pages.legend import legend
from inverse_deid.review.store import MaskingFacts
from inverse_deid.review.values import CaseView, DisputeView, Edited, LayerTokens, ModelTokens, Note
from inverse_deid.text.gaps import forbidden_gaps
from inverse_deid.text.rendering import GAP_MARK, JOINING_GAPS

N_LEVELS = 5
"""Strengths of colour that doubt is shown in."""


def case_data(view: CaseView, facts: MaskingFacts, dispute: DisputeView | None = None) -> dict[str, Any]:
    """All that the reading page shows of a case, for JSON.

    Args:
        view: What the user sees.
        facts: How masked text is marked.
        dispute: What the reviewers say, for an adjudicator.
    """
    tokens = view.tokens
    return {
        "case_id": view.case_id,
        "name": view.name,
        "state": view.state.value,
        "kind": view.kind.value,
        "revision": view.revision,
        "can_undo": view.can_undo,
        "can_redo": view.can_redo,
        "is_approved": view.is_approved,
        "words": tokens.words,
        "gaps": _gaps(tokens),
        "masked_gaps": masked_gaps(tokens),
        "joining_gaps": sorted(JOINING_GAPS),
        "parts": [
            {"name": part.name, "first": int(np.searchsorted(tokens.starts, part.start))}
            for part in view.parts
        ],
        "marker": facts.marker,
        "category_markers": facts.category_markers,
        "layer": _layer(view.layer),
        "model": None if view.model is None else _model(view.model),
        "reviewers": [] if dispute is None else [_layer(one) for one in dispute.reviewers],
        "disputed": "" if dispute is None else bits(dispute.disputed),
        "notes": notes_data(view.notes),
        "legend": legend(),
    }


def bits(flags: BoolArray) -> str:
    """One sign a token.

    Example:
        >>> bits(np.array([True, False]))
        '10'
    """
    return _digits(flags)


def _gaps(tokens: Tokens) -> list[str]:
    """What stands before, between and behind the tokens: n_tokens + 1 strings."""
    begins = [0, *tokens.ends.tolist()]
    stops = [*tokens.starts.tolist(), len(tokens.text)]
    return [tokens.text[begin:stop] for begin, stop in zip(begins, stops, strict=True)]


def masked_gaps(tokens: Tokens) -> Mapping[int, str]:
    """Gaps that look different in the masked text, by number: a sign stands for what may not leave."""
    changed: dict[int, str] = {}
    for start, end in reversed(list(forbidden_gaps(tokens.text))):
        number = int(np.searchsorted(tokens.ends, start, side="right"))
        begin = int(tokens.ends[number - 1]) if number else 0
        stop = int(tokens.starts[number]) if number < len(tokens) else len(tokens.text)
        gap = changed.get(number, tokens.text[begin:stop])
        changed[number] = gap[: start - begin] + GAP_MARK + gap[end - begin :]
    return changed


def _layer(layer: LayerTokens) -> dict[str, Any]:
    return {
        "keep": bits(layer.keep),
        "decided": bits(layer.decided),
        "categories": layer.categories.tolist(),
    }


def _model(model: ModelTokens) -> dict[str, Any]:
    return {
        "keep": bits(model.keep),
        "doubtful": bits(model.is_doubtful),
        "rules_safe": bits(model.rules_safe),
        "known": bits(model.known),
        "reasons": model.reasons.tolist(),
        "categories": model.categories.tolist(),
        "p_safe": _ten_thousandths(model.p_safe),
        "thresholds": _ten_thousandths(model.thresholds),
        "levels": _digits(np.minimum(model.doubt * N_LEVELS, N_LEVELS - 1)),
    }


def _ten_thousandths(numbers: npt.NDArray[np.float32]) -> list[int | None]:
    """Whole numbers are written and read fastest; None = unknown (p_safe) or never (threshold)."""
    known = np.isfinite(numbers)
    found: list[int | None] = np.rint(np.where(known, numbers, 0.0) * 10_000.0).astype(np.int32).tolist()
    for token in np.flatnonzero(~known).tolist():
        found[token] = None
    return found


def _digits(numbers: npt.NDArray[Any]) -> str:
    """One digit a token, in [0, 9]; what stands behind the point is cut off."""
    return (numbers.astype(np.uint8) + np.uint8(ord("0"))).tobytes().decode()


def notes_data(notes: tuple[Note, ...]) -> list[dict[str, Any]]:
    """Notes for JSON."""
    return [
        {
            "user": note.user,
            "at": int(note.at),
            "first": None if note.tokens is None else note.tokens.first,
            "stop": None if note.tokens is None else note.tokens.stop,
            "text": note.text,
        }
        for note in notes
    ]


def edited_data(edited: Edited) -> dict[str, Any]:
    """What a stored action changed, for JSON."""
    rows = zip(edited.changed, edited.keep, edited.categories, strict=True)
    return {
        "revision": edited.revision,
        "changed": [[one.first, one.stop, keep, category] for one, keep, category in rows],
        "can_undo": edited.can_undo,
        "can_redo": edited.can_redo,
        "n_undecided": edited.n_undecided,
    }
