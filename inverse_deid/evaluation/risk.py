"""From leaks to the risk that a document is re-identified: an estimate under assumptions, no proof.

A document is re-identified if somebody attacks, takes what leaked for real, and is led
by it to the patient: by one direct identifier, or by several quasi-identifiers
together. What leaked is counted by document, so nothing has to be assumed of how
leaks go together; to compare, it is also modelled from the leak rate of every type
as if identifiers leaked independently of each other.

The upper bound takes the upper ends of the exact intervals of both shares of documents
(so both hold together with the confidence asked for), adds them, and lets everything leak
that the fullest document holds.

Source: the form is that of Scaiano et al. 2016 (J Biomed Inform 63:174-183);
`docs/leaks-and-risk.md` says what is theirs and what is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.stats import binom

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray
from inverse_deid.evaluation.counts import Counts
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.gold_tokens import Int64Array
from inverse_deid.evaluation.groups import GroupKind, group_number
from inverse_deid.evaluation.risk_assumptions import TYPE_LISTS, Assumptions
from inverse_deid.evaluation.uncertainty import Float64Array, clopper_pearson

FORMAT_NAME = "inverse-deid risk"
FORMAT_VERSION = 1

NO_PROOF = (
    "This is an estimate under the assumptions given and no proof that the documents are anonymous:",
    "it knows only marked identifiers, and a rare disease or course of events can point to a person too.",
)

_COLUMN = {fine: group_number(GroupKind.FINE, fine) for fine in PhiType}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A risk, in [0, 1]; None if there is no document.

    Args:
        documents: Of all documents, those where enough leaks for it.
        point: As counted.
        upper: Upper bound.
    """

    documents: Share
    point: float | None
    upper: float | None


class Verdict(StrEnum):
    """How a risk stands to the threshold."""

    BELOW = "below"
    UNDECIDED = "undecided"
    ABOVE = "above"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class TypeLeaks:
    """How often identifiers of a type leak.

    Args:
        type: The type.
        is_direct: Whether one is enough.
        documents: Of the documents with such an identifier, those where one leaks.
        upper: Upper end of the exact interval of that share.
        identifiers: Of the distinct identifiers, those that leak.
    """

    type: PhiType
    is_direct: bool
    documents: Share
    upper: float
    identifiers: Share


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """The risk that a document is re-identified, on average over the documents.

    Args:
        assumptions: What it holds under.
        direct: By direct identifiers.
        quasi: By quasi-identifiers.
        overall: By either.
        independent: By either, if identifiers leaked independently of each other.
        by_document: float64 (n_documents,), the risk of each.
        types: Of every type that counts and is there.
    """

    assumptions: Assumptions
    direct: Estimate
    quasi: Estimate
    overall: Estimate
    independent: float | None
    by_document: Float64Array
    types: tuple[TypeLeaks, ...]

    @property
    def verdict(self) -> Verdict:
        """Below only if the upper bound is; undecided if just the estimate is."""
        point, upper, threshold = self.overall.point, self.overall.upper, self.assumptions.threshold
        if point is None or upper is None:
            return Verdict.UNDEFINED
        if upper < threshold:
            return Verdict.BELOW
        return Verdict.UNDECIDED if point < threshold else Verdict.ABOVE


def reidentification_risk(counts: Counts, assumptions: Assumptions) -> Risk:
    """The risk that a document is re-identified.

    Args:
        counts: One row a document.
        assumptions: What is assumed of identifiers, readers and attacks.

    Example:
        >>> from inverse_deid.evaluation.risk_assumptions import read_assumptions
        >>> reidentification_risk(Counts.stack([]), read_assumptions()).verdict
        <Verdict.UNDEFINED: 'undefined'>
    """
    direct, quasi = (_way(counts, assumptions, is_direct=is_direct) for is_direct in (True, False))
    either = _Way(
        direct.at_risk | quasi.at_risk,
        _either(direct.counted, quasi.counted),
        _either(direct.independent, quasi.independent),
        min(1.0, direct.upper + quasi.upper),
    )
    attack = assumptions.attack
    return Risk(
        assumptions,
        direct=_estimate(direct, attack),
        quasi=_estimate(quasi, attack),
        overall=_estimate(either, attack),
        independent=attack * float(either.independent.mean()) if len(counts) else None,
        by_document=attack * either.counted,
        types=tuple(_type_leaks(counts, assumptions)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """How probably a document is re-identified in one way, if there is an attack.

    Args:
        at_risk: bool (n_documents,), whether enough leaked.
        counted: float64 (n_documents,), by what leaked.
        independent: float64 (n_documents,), by what it holds and the leak rate of each type.
        upper: Upper bound of the mean of `counted` over documents like these.
    """

    at_risk: BoolArray
    counted: Float64Array
    independent: Float64Array
    upper: float


def _way(counts: Counts, assumptions: Assumptions, *, is_direct: bool) -> _Way:
    types, needed, identifies = (
        (assumptions.direct, 1, assumptions.direct_identifies)
        if is_direct
        else (assumptions.quasi, assumptions.quasi_needed, assumptions.quasi_identifies)
    )
    columns = [_COLUMN[fine] for fine in sorted(types)]
    there = counts.entities[:, columns]
    leaked = there - counts.entities_masked[:, columns]
    at_risk = leaked.sum(1) >= needed
    bound = clopper_pearson(int(at_risk.sum()), len(at_risk), assumptions.confidence)
    rates = leaked.sum(0) / np.maximum(there.sum(0), 1)
    fullest = max(int(there.sum(1).max(initial=0)), needed)
    return _Way(
        at_risk,
        identifies * _enough_caught(needed, leaked.sum(1), assumptions.caught),
        identifies * _enough_leaked(needed, there, assumptions.caught * rates),
        identifies
        * (1.0 if bound is None else bound.high)
        * float(_enough_caught(needed, np.array([fullest]), assumptions.caught)[0]),
    )


def _estimate(way: _Way, attack: float) -> Estimate:
    documents = Share(int(way.at_risk.sum()), len(way.at_risk))
    if not documents.whole:
        return Estimate(documents, None, None)
    return Estimate(documents, attack * float(way.counted.mean()), attack * way.upper)


def _either(first: Float64Array, second: Float64Array) -> Float64Array:
    return 1 - (1 - first) * (1 - second)


def _enough_caught(needed: int, n_leaked: Int64Array, caught: float) -> Float64Array:
    """Probability that so many of the leaked identifiers of each document are taken for real."""
    return np.asarray(binom.sf(needed - 1, n_leaked, caught), np.float64)


def _enough_leaked(needed: int, there: Int64Array, rates: Float64Array) -> Float64Array:
    """Probability that so many identifiers leak and are caught, if each does so by itself.

    Args:
        needed: At least 1.
        there: (n_documents, n_types), identifiers.
        rates: (n_types,), probability of each to leak and be caught.
    """
    fewer = np.zeros((len(there), needed))
    fewer[:, 0] = 1
    for n_of_type, rate in zip(there.T, rates, strict=True):
        chance = np.asarray(binom.pmf(np.arange(needed), n_of_type[:, None], rate), np.float64)
        fewer = np.stack([(fewer[:, : i + 1] * chance[:, i::-1]).sum(1) for i in range(needed)], axis=1)
    return np.asarray(np.clip(1 - fewer.sum(1), 0, 1), np.float64)


def _type_leaks(counts: Counts, assumptions: Assumptions) -> Iterator[TypeLeaks]:
    total = counts.total()
    for fine, column in _COLUMN.items():
        documents = Share(int(total.leaking[0, column]), int(total.documents[0, column]))
        bound = clopper_pearson(documents.part, documents.whole, assumptions.confidence)
        if fine not in assumptions.neither and bound is not None:
            there, masked = (int(row[0, column]) for row in (total.entities, total.entities_masked))
            is_direct = fine in assumptions.direct
            yield TypeLeaks(fine, is_direct, documents, bound.high, Share(there - masked, there))


def json_risk(evaluation: Evaluation, risk: Risk) -> dict[str, Any]:
    """The estimate with nothing rounded; numbers and ids, no text.

    Args:
        evaluation: Names the documents.
        risk: Of its counts.
    """
    return {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "note": " ".join(NO_PROOF),
        "documents": len(evaluation.ids),
        "missing": list(evaluation.missing),
        "verdict": risk.verdict.value,
        "direct": _json_estimate(risk.direct),
        "quasi": _json_estimate(risk.quasi),
        "overall": _json_estimate(risk.overall),
        "independent": risk.independent,
        "types": {leaks.type.value: _json_type(leaks) for leaks in risk.types},
        "assumptions": _json_assumptions(risk.assumptions),
        "by_document": dict(zip(evaluation.ids, risk.by_document.tolist(), strict=True)),
    }


def _json_share(share: Share) -> dict[str, float | int | None]:
    return {"share": share.value, "part": share.part, "whole": share.whole}


def _json_estimate(estimate: Estimate) -> dict[str, Any]:
    return {**asdict(estimate), "documents": _json_share(estimate.documents)}


def _json_type(leaks: TypeLeaks) -> dict[str, Any]:
    documents, identifiers = _json_share(leaks.documents), _json_share(leaks.identifiers)
    return {**asdict(leaks), "type": leaks.type.value, "documents": documents, "identifiers": identifiers}


def _json_assumptions(assumed: Assumptions) -> dict[str, Any]:
    lists = {name: sorted(getattr(assumed, name)) for name in TYPE_LISTS}
    derived = ("quasi_identifies", "inadvertent", "attack")
    return {**asdict(assumed), **lists, **{name: getattr(assumed, name) for name in derived}}
