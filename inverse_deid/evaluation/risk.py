"""The risk that a document is re-identified by what leaked: an estimate under assumptions, not a proof.

A document is re-identified if somebody attacks, takes the leaks for real, and is led to the
patient by one direct identifier, or by several quasi-identifiers together. Leaks are counted by
document, so nothing is assumed about how they occur together. For comparison, they are also
modelled from the leak rate of every type, as if identifiers leaked independently.

The upper bound takes the upper ends of the exact intervals of both shares of documents (both
hold together with the requested confidence) and adds them. In it, everything leaks that the
fullest document contains.

Source: the form is that of Scaiano et al. 2016 (J Biomed Inform 63:174-183).
`docs/leaks-and-risk.md` says which parts are theirs and which are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from scipy.stats import binom

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.settings import make_settings, read_toml
from inverse_deid.core.values import BoolArray
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.evaluation import Evaluation
from inverse_deid.evaluation.measures.counts import Counts, GroupKind, Int64Array, group_number
from inverse_deid.evaluation.measures.figures import ReportPart, Share
from inverse_deid.evaluation.measures.uncertainty import Float64Array, clopper_pearson
from inverse_deid.evaluation.provenance import Provenance

FORMAT_NAME = "inverse-deid risk"

NO_PROOF = (
    N_("This is an estimate under the assumptions given, not a proof that the documents are anonymous."),
    N_("It covers only marked identifiers. A rare disease or course of events can also point to a person."),
)

_COLUMN = {fine: group_number(GroupKind.FINE, fine) for fine in PhiType}
_Probability = Annotated[int, msgspec.Meta(ge=0, le=1)] | Annotated[float, msgspec.Meta(ge=0, le=1)]


class AssumedValues(ReportPart, frozen=True):
    """The assumed values of an estimate. `risk.toml` gives the reasons. Probabilities are in [0, 1]."""

    direct: tuple[PhiType, ...]  # types of which one leaked identifier is enough
    quasi: tuple[PhiType, ...]  # types of which several are needed
    neither: tuple[PhiType, ...]  # types that do not count
    # Number of leaked quasi-identifiers that put a document at risk, 1 to 100.
    quasi_needed: Annotated[int, msgspec.Meta(ge=1, le=100)]
    caught: _Probability  # probability that a leaked identifier is taken for real
    direct_identifies: _Probability  # probability that a caught direct identifier leads to the patient
    # Persons who share the leaked quasi-identifiers, at least 1.
    persons_alike: Annotated[int, msgspec.Meta(ge=1)] | Annotated[float, msgspec.Meta(ge=1)]
    deliberate: _Probability  # probability of an attack on purpose
    breach: _Probability  # probability that the documents are lost to an attacker
    acquaintances: Annotated[int, msgspec.Meta(ge=0)]  # number of people that a reader knows
    prevalence: _Probability  # share of people with such a case
    threshold: _Probability  # accepted risk
    confidence: Annotated[float, msgspec.Meta(gt=0, lt=1)]  # of the upper bound, in (0, 1)


class Assumptions(AssumedValues, frozen=True):
    """The assumptions of an estimate, checked.

    Raises:
        ConfigurationError: A type is not in exactly one list, or a value is out of range.
    """

    def __post_init__(self) -> None:
        listed = (*self.direct, *self.quasi, *self.neither)
        if wrong := [fine.value for fine in PhiType if listed.count(fine) != 1]:
            raise ConfigurationError(
                _(
                    "{wrong}: in none or several of the lists direct, quasi, neither. Give every PHI "
                    "type in exactly one",
                    wrong=", ".join(wrong),
                )
            )
        if not math.isfinite(self.persons_alike):
            raise ConfigurationError(_("persons_alike is not finite. Give a number of at least 1"))

    @property
    def quasi_identifies(self) -> float:
        """The probability that enough caught quasi-identifiers lead to the patient."""
        return 1 / self.persons_alike

    @property
    def inadvertent(self) -> float:
        """The probability that a reader knows someone with such a case."""
        return float(1 - (1 - self.prevalence) ** self.acquaintances)

    @property
    def attack(self) -> float:
        """The probability of the most probable kind of attack."""
        return max(self.deliberate, self.breach, self.inadvertent)


def read_assumptions(path: Path | None = None) -> Assumptions:
    """Read the packaged assumptions, with the changes of a file.

    Raises:
        ConfigurationError: The file cannot be read, or a setting is unknown, of another type or
            out of range. Names file, setting and remedy.
    """
    values = read_toml(Path(str(files("inverse_deid.evaluation") / "risk.toml")))
    changes = {} if path is None else read_toml(path)
    try:
        return make_settings(values | changes, Assumptions)
    except ConfigurationError as error:
        raise error if path is None else error.add_prefix(f"{path}: ") from error


@dataclass(frozen=True, slots=True)
class RiskEstimate:
    """A risk in [0, 1] and its upper bound, None without documents, and where enough leaks."""

    documents: Share
    point: float | None
    upper: float | None


class Verdict(StrEnum):
    """A risk compared with the threshold."""

    BELOW = "below"
    UNDECIDED = "undecided"
    ABOVE = "above"
    UNDEFINED = "undefined"


@dataclass(frozen=True, slots=True)
class TypeLeaks:
    """The leaks of identifiers of a type, where one is enough if it `is_direct`."""

    type: PhiType
    is_direct: bool  # one is enough
    documents: Share
    upper: float  # upper end of the exact interval of the share of documents
    identifiers: Share  # distinct ones


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    """The risk that a document is re-identified, on average over the documents."""

    assumptions: Assumptions
    direct: RiskEstimate
    quasi: RiskEstimate
    overall: RiskEstimate  # by direct or quasi-identifiers
    independent: float | None  # the same if identifiers leaked independently of each other
    by_document: Float64Array
    types: tuple[TypeLeaks, ...]  # every type that counts and occurs

    @property
    def verdict(self) -> Verdict:
        """Below only if the upper bound is. Undecided if only the estimate is below."""
        point, upper, threshold = self.overall.point, self.overall.upper, self.assumptions.threshold
        if point is None or upper is None:
            return Verdict.UNDEFINED
        if upper < threshold:
            return Verdict.BELOW
        return Verdict.UNDECIDED if point < threshold else Verdict.ABOVE


def estimate_risk(counts: Counts, assumptions: Assumptions) -> Risk:
    """Estimate the risk that a document is re-identified."""
    direct, quasi = (_assess_way(counts, assumptions, is_direct=is_direct) for is_direct in (True, False))
    either = _Way(
        direct.at_risk | quasi.at_risk,
        _combine(direct.counted, quasi.counted),
        _combine(direct.independent, quasi.independent),
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
        types=tuple(_count_type_leaks(counts, assumptions)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """The probability that a document is re-identified in one way, if there is an attack."""

    at_risk: BoolArray  # (n_documents,), whether enough leaked
    counted: Float64Array  # (n_documents,), from the leaks
    independent: Float64Array  # (n_documents,), from the identifiers and the leak rate of each type
    upper: float  # bounds the mean of `counted` over documents like these


def _assess_way(counts: Counts, assumptions: Assumptions, *, is_direct: bool) -> _Way:
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
        identifies * _catch_enough(needed, leaked.sum(1), assumptions.caught),
        identifies * _leak_enough(needed, there, assumptions.caught * rates),
        identifies
        * (1.0 if bound is None else bound.high)
        * float(_catch_enough(needed, np.array([fullest]), assumptions.caught)[0]),
    )


def _estimate(way: _Way, attack: float) -> RiskEstimate:
    documents = Share(int(way.at_risk.sum()), len(way.at_risk))
    if not documents.whole:
        return RiskEstimate(documents, None, None)
    return RiskEstimate(documents, attack * float(way.counted.mean()), attack * way.upper)


def _combine(first: Float64Array, second: Float64Array) -> Float64Array:
    return 1 - (1 - first) * (1 - second)


def _catch_enough(needed: int, n_leaked: Int64Array, caught: float) -> Float64Array:
    """Return the probability that `needed` leaked identifiers of each document are taken for real."""
    return np.asarray(binom.sf(needed - 1, n_leaked, caught), np.float64)


def _leak_enough(needed: int, there: Int64Array, rates: Float64Array) -> Float64Array:
    """Return the probability that `needed` (at least 1) identifiers leak and are caught, independently.

    `there`, (n_documents, n_types), are identifiers, and `rates`, (n_types,), the probability that one
    leaks and is caught.
    """
    fewer = np.zeros((len(there), needed))
    fewer[:, 0] = 1
    for n_of_type, rate in zip(there.T, rates, strict=True):
        chance = np.asarray(binom.pmf(np.arange(needed), n_of_type[:, None], rate), np.float64)
        fewer = np.stack([(fewer[:, : i + 1] * chance[:, i::-1]).sum(1) for i in range(needed)], axis=1)
    return np.asarray(np.clip(1 - fewer.sum(1), 0, 1), np.float64)


def _count_type_leaks(counts: Counts, assumptions: Assumptions) -> Iterator[TypeLeaks]:
    total = counts.total()
    for fine, column in _COLUMN.items():
        documents = Share(int(total.leaking[0, column]), int(total.documents[0, column]))
        bound = clopper_pearson(documents.part, documents.whole, assumptions.confidence)
        if fine not in assumptions.neither and bound is not None:
            there, masked = (int(row[0, column]) for row in (total.entities, total.entities_masked))
            is_direct = fine in assumptions.direct
            yield TypeLeaks(fine, is_direct, documents, bound.high, Share(there - masked, there))


class AssumptionRecord(AssumedValues, frozen=True):
    """The `Assumptions`, and the probabilities that derive from them."""

    quasi_identifies: float
    inadvertent: float
    attack: int | float


class RiskReport(ReportPart, frozen=True, kw_only=True, tag_field="format", tag=FORMAT_NAME):
    """A risk as JSON: numbers and ids, no narrative text. Nothing is rounded."""

    version: Literal[1] = 1
    note: str
    documents: int
    missing: list[str]
    verdict: Verdict
    direct: RiskEstimate
    quasi: RiskEstimate
    overall: RiskEstimate
    independent: float | None
    types: dict[PhiType, TypeLeaks]
    assumptions: AssumptionRecord
    by_document: dict[str, int | float]
    provenance: Provenance


def report_risk(evaluation: Evaluation, risk: Risk, provenance: Provenance) -> RiskReport:
    assumed = risk.assumptions
    values = {name: getattr(assumed, name) for name in AssumptionRecord.__struct_fields__}
    lists = {name: tuple(sorted(values[name])) for name in ("direct", "quasi", "neither")}
    return RiskReport(
        note=" ".join(NO_PROOF),
        documents=len(evaluation.ids),
        missing=list(evaluation.missing),
        verdict=risk.verdict,
        direct=risk.direct,
        quasi=risk.quasi,
        overall=risk.overall,
        independent=risk.independent,
        types={leaks.type: leaks for leaks in risk.types},
        assumptions=AssumptionRecord(**(values | lists)),
        by_document=dict(zip(evaluation.ids, risk.by_document.tolist(), strict=True)),
        provenance=provenance,
    )
