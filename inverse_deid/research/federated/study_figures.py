"""What a study's records say: means over seeds, by method, site and epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inverse_deid.research.federated.study_config import MethodConfig, StudyConfig
from inverse_deid.research.studies.tables import mean

Records = Mapping[tuple[str, int], Mapping[str, Any]]
"""The record of each run, by method and seed."""

Part = str
"""Which test documents: *all*, or a site's *own*."""


class StudyFigures:
    """Reads records.

    Args:
        config: The study.
        sites: Their names.
        records: Of every method and seed.
    """

    def __init__(self, config: StudyConfig, sites: Sequence[str], records: Records) -> None:
        self.config, self.sites, self._records = config, tuple(sites), records

    def values(self, method: str, measure: str, site: str, part: Part = "all") -> list[float | None]:
        """A measure after the last epoch, one value a seed."""
        return [
            self._epochs(method, seed)[-1]["sites"][site][part][measure] for seed in self.config.study.seeds
        ]

    def final(self, method: str, measure: str, site: str, part: Part = "all") -> float | None:
        """A measure after the last epoch, mean over seeds."""
        return mean(self.values(method, measure, site, part))

    def by_site(self, method: str, measure: str, part: Part = "all") -> dict[str, float | None]:
        """`final` of every site."""
        return {site: self.final(method, measure, site, part) for site in self.sites}

    def mean_of(self, method: str, measure: str, part: Part = "all") -> float | None:
        """Mean over sites and seeds after the last epoch."""
        return mean(list(self.by_site(method, measure, part).values()))

    def has_own(self) -> bool:
        """Whether sites have test documents of their own kind."""
        first = next(iter(self._records.values()))
        return all("own" in row for row in first["epochs"][-1]["sites"].values())

    def f1_curve(self, method: str) -> tuple[list[float], list[float], list[float]]:
        """F1 after each epoch: mean, lowest and highest site, each a mean over seeds; undefined is 0."""
        rows = np.array(
            [
                [[epoch["sites"][site]["all"]["f1"] or 0.0 for site in self.sites] for epoch in epochs]
                for epochs in (self._epochs(method, seed) for seed in self.config.study.seeds)
            ]
        )  # float64 (n_seeds, n_epochs, n_sites)
        curves = (rows.mean(axis=2), rows.min(axis=2), rows.max(axis=2))
        mean_curve, low, high = (curve.mean(axis=0).tolist() for curve in curves)
        return mean_curve, low, high

    def per_epoch(self, method: str, what: str) -> float:
        """Mean over epochs and seeds of a number that each epoch has."""
        return float(
            np.mean([epoch[what] for seed in self.config.study.seeds for epoch in self._epochs(method, seed)])
        )

    def calibrated(self, method: str, site: str, what: str) -> float | None:
        """What a site's own threshold gives, mean over seeds."""
        return mean(
            [self._records[method, seed]["calibrated"][site][what] for seed in self.config.study.seeds]
        )

    def membership(self, method: str, tokens: str) -> list[Mapping[str, Any] | None]:
        """The attempt on each seed's networks; None where a record is older than the attempt."""
        records = [self._records[method, seed] for seed in self.config.study.seeds]
        return [record.get("membership", {}).get(tokens) for record in records]

    def of_way(self, way: str) -> list[MethodConfig]:
        """The methods of a kind, in order."""
        return [method for method in self.config.methods if method.way == way]

    def _epochs(self, method: str, seed: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._records[method, seed]["epochs"]
        return found
