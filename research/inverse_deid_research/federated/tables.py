"""The tables and learning curves of a study, from the records of its runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from inverse_deid.evaluation.measures.resampling import Difference, bootstrap_difference
from inverse_deid_research.federated.documents import EncodedSite, EncodedStudy, count_tokens
from inverse_deid_research.federated.settings import FederatedStudySettings, MethodSettings
from inverse_deid_research.studies.figures import chart_from_zero, curve_of, panels
from inverse_deid_research.studies.records import Record
from inverse_deid_research.studies.tables import NO_VERDICT, Cell, Table, by_section, mean, read_forms, spread

_FORMS = read_forms("inverse_deid_research.federated")
_COLOURS = {
    "central": "#111111",
    "round-robin": "#c2185b",
    "selective": "#2e7d32",
    "isolated": "#d32f2f",
    "average": "#1565c0",
}
_AIM = -0.02
"""How far below central training a method may be."""
_ATTACKED = ("all tokens", "tokens of PHI")
_PARTS = {"own": "test documents of the site's own kind", "all": "all test documents"}
_CURVE = ("epoch", "mean", "lowest site", "highest site")
_FRAME_OF_FIGURE = ("central", "round-robin", "isolated")
"""Ways that every chart shows beside one of the others."""


class StudyFrames:
    """The records of a study as tidy frames.

    Attributes:
        epochs: A row per method, seed and epoch.
        scores: A row per method, seed, measured epoch, site and part of the test documents (*all*, or a
            site's *own*).
        calibrated: A row per method, seed and site.
        is_whole: Whether all seeds that were fixed beforehand have run. Without them nothing is judged.
        membership: A row per method, seed and kind of tokens; none where a record is older than the attempt.
    """

    def __init__(
        self,
        settings: FederatedStudySettings,
        sites: Sequence[str],
        records: Mapping[tuple[str, int], Record],
        planned: Sequence[int] = (),
    ) -> None:
        self.settings, self.sites = settings, tuple(sites)
        self.is_whole = set(planned) <= set(settings.study.seeds)
        self._f1_by_document = {run: record.get("f1_by_document", {}) for run, record in records.items()}
        rows: dict[str, list[Record]] = defaultdict(list)
        for (method, seed), record in records.items():
            run = {"method": method, "seed": seed}
            for number, epoch in enumerate(record["epochs"], start=1):
                numbers = {name: value for name, value in epoch.items() if name != "sites"}
                rows["epochs"].append({**run, "epoch": number, **numbers})
                for site, parts in epoch.get("sites", {}).items():
                    place = {**run, "epoch": number, "site": site}
                    rows["scores"] += [{**place, "part": part, **row} for part, row in parts.items()]
            rows["calibrated"] += [{**run, "site": site, **row} for site, row in record["calibrated"].items()]
            attempts = record.get("membership", {})
            rows["membership"] += [
                {**run, "tokens": tokens, **row} for tokens, row in attempts.items() if row
            ]
        self.epochs, self.scores = pd.DataFrame(rows["epochs"]), pd.DataFrame(rows["scores"])
        self.calibrated, self.membership = (pd.DataFrame(rows[name]) for name in ("calibrated", "membership"))

    @property
    def part(self) -> str:
        """Test documents that matter to a site: of its *own* kind where sites differ in kind, else *all*."""
        return "own" if "own" in set(self.scores["part"]) else "all"

    def average_sites(self, method: str, measure: str, part: str = "all") -> dict[str, float | None]:
        """Return a measure after the last epoch for every site, mean over seeds."""
        rows = _select(self.scores, method=method, part=part, epoch=self.settings.study.epochs)
        return {site: mean(_select(rows, site=site)[measure]) for site in self.sites}

    def average(self, method: str, measure: str) -> float | None:
        """Return a measure on all test documents after the last epoch, mean over sites and seeds."""
        return mean(self.average_sites(method, measure).values())

    def average_curve(self, method: str) -> pd.DataFrame:
        """Return mean, lowest and highest F1 of sites in measured epochs, mean over seeds; undefined is 0."""
        rows = _select(self.scores, method=method, part="all")
        f1 = rows["f1"].astype(float).fillna(0.0).to_numpy()
        by_site = f1.reshape(len(self.settings.study.seeds), -1, len(self.sites))  # seeds, epochs, sites
        curves = (by_site.mean(axis=2), by_site.min(axis=2), by_site.max(axis=2))
        middle, low, high = (curve.mean(axis=0) for curve in curves)
        columns = (rows["epoch"].unique(), middle, low, high)
        return pd.DataFrame(dict(zip(_CURVE, columns, strict=True)))

    def difference(self, method: str, other: str, site: str | None = None) -> Difference | None:
        """Return F1 after the last epoch less that of another method, each the mean over sites and seeds.

        The interval is over test documents and seeds. It is None where a record is older than the counts by
        document.
        """
        a, b = (
            [
                [found[network] for network in ([site] if site in found else found)]
                for seed in self.settings.study.seeds
                for found in [self._f1_by_document[name, seed]]
            ]
            for name in (method, other)
        )
        return bootstrap_difference(np.array(a), np.array(b)) if all(a) and all(b) else None

    def average_epoch(self, method: str, column: str) -> float:
        """Return the mean over epochs and seeds of a number that each epoch has."""
        return float(_select(self.epochs, method=method)[column].to_numpy().mean())

    def find_methods(self, way: str) -> list[str]:
        return [name for name, method in self.settings.methods.items() if method.way == way]


def _select(frame: pd.DataFrame, **values: object) -> pd.DataFrame:
    for column, value in values.items():
        frame = frame[frame[column] == value]
    return frame


def make_sections(frames: StudyFrames, study: EncodedStudy, attempts: Record) -> dict[str, list[Table]]:
    """Return the tables of the report by heading; `attempts` are those of gradient inversion."""
    wanted, methods = frames.settings.study, frames.settings.methods
    rows: dict[str, Iterable[Sequence[Cell]]] = {
        "sites": map(_count, study.sites),
        "experiments": (_describe(*method) for method in methods.items()),
        "scores": (_measure(frames, name) for name in methods),
        "differences": list_differences(frames),
        "recall-at-precision": (_find_recall(frames, name) for name in methods),
        "calibrated": (_find_threshold(frames, name, site) for name in methods for site in frames.sites),
        "exchange": (_count_numbers(frames, name) for name in methods),
        "seconds": ((name, frames.average_epoch(name, "seconds")) for name in methods),
        "membership": (_attack(frames, name, tokens) for name in methods for tokens in _ATTACKED),
        "inversion": (_invert(attempts, seen, what) for seen in attempts for what in ("characters", "words")),
        "learning-curves": (
            (name, *point)
            for name in methods
            for point in frames.average_curve(name).itertuples(index=False, name=None)
        ),
    }
    values = {
        "n_documents": len(study.test),
        "n_tokens": count_tokens(study.test),
        "epochs": wanted.epochs,
        "aim": _AIM,
        "most_lost": -_AIM,
        "precision": wanted.precision,
        "recall": wanted.recall,
        "documents": _PARTS[frames.part],
        "sites": frames.sites,
        "curve": _CURVE,
    }
    return by_section(form.fill(rows[name], **values) for name, form in _FORMS.items())


def _count(site: EncodedSite) -> tuple[Cell, ...]:
    n_train, n_held_out, n_own = map(len, (site.train, site.held_out, site.own_test))
    return (site.name, n_train, count_tokens(site.train), n_held_out, n_own or None)


def _describe(name: str, method: MethodSettings) -> tuple[Cell, ...]:
    chosen = method.selection()
    shares: Sequence[Cell] = (chosen.download, chosen.upload, chosen.gamma, chosen.tau)
    shares = shares if method.way == "selective" else (None,) * 4
    return (name, method.way, *shares, method.proximal or None, ", ".join(method.sites) or None)


def _measure(frames: StudyFrames, name: str) -> tuple[Cell, ...]:
    study = frames.settings.study
    last = _select(frames.scores, part="all", epoch=study.epochs, method=name)
    by_site = [value for value in frames.average_sites(name, "f1").values() if value is not None]
    by_seed = [mean(_select(last, seed=seed)["f1"]) for seed in study.seeds]
    f1, precision, recall = (frames.average(name, what) for what in ("f1", "precision", "recall"))
    ends = min(by_site, default=None), max(by_site, default=None)
    return (name, f1, *ends, precision, recall, spread(by_seed))


def list_differences(frames: StudyFrames) -> list[tuple[Cell, ...]]:
    """Return how far every method is below central and above isolated training."""
    central, isolated = (frames.find_methods(way)[:1] for way in ("central", "isolated"))
    rows: list[tuple[Cell, ...]] = []
    for name in frames.settings.methods:
        others = central if name not in central else []
        to_central = [one for other in others if (one := frames.difference(name, other)) is not None]
        alone = isolated if name not in (*central, *isolated) else []
        ahead = {
            site: one
            for site in frames.sites
            for other in alone
            if (one := frames.difference(name, other, site)) is not None
        }
        site = find_worst_site({site: one.value for site, one in ahead.items()})
        least = [ahead[site]] if site else []
        if to_central or ahead:
            verdicts = (_judge(to_central, _AIM), _judge(ahead.values(), 0.0))
            near, better = (one if frames.is_whole or one is None else NO_VERDICT for one in verdicts)
            rows.append((name, *_show_difference(to_central), near, *_show_difference(least), site, better))
    return rows


def _show_difference(found: Sequence[Difference]) -> tuple[Cell, Cell, Cell]:
    return (found[0].value, found[0].low, found[0].high) if found else (None, None, None)


def _judge(found: Iterable[Difference], aim: float) -> Cell:
    # None without differences.
    sides = {one.judge(aim) for one in found}
    if not sides:
        return None
    return "missed" if "lower" in sides else "reached" if sides == {"higher"} else "undecided"


def find_worst_site(values: Mapping[str, float | None]) -> str | None:
    """Return the site of the lowest figure, the first of equals; None if there is no figure.

    Example:
        >>> find_worst_site({"east": 0.9, "west": 0.8, "north": None})
        'west'
    """
    known = {site: value for site, value in values.items() if value is not None}
    return min(known, key=lambda site: known[site]) if known else None


def _find_recall(frames: StudyFrames, name: str) -> tuple[Cell, ...]:
    by_site = frames.average_sites(name, "recall_at_precision", frames.part)
    return (name, mean(by_site.values()), find_worst_site(by_site), *by_site.values())


def _find_threshold(frames: StudyFrames, name: str, site: str) -> tuple[Cell, ...]:
    found = _select(frames.calibrated, method=name, site=site)
    return (f"{name}, {site}", *(mean(found[what]) for what in ("high", "recall", "precision")))


def _count_numbers(frames: StudyFrames, name: str) -> tuple[Cell, ...]:
    sums = (frames.average_epoch(name, column) for column in ("n_sent", "n_received"))
    return (name, *(round(one / len(frames.sites)) for one in sums))


def _attack(frames: StudyFrames, name: str, tokens: str) -> tuple[Cell, ...]:
    found = frames.membership
    found = _select(found, method=name, tokens=tokens) if len(found) else found
    if not len(found):
        return (name, tokens, *[None] * 5)
    counts = (int(found[what].iloc[0]) for what in ("n_members", "n_others"))
    return (name, tokens, *(mean(found[what]) for what in ("auc", "low", "high")), *counts)


def _invert(attempts: Record, seen: str, what: str) -> tuple[Cell, ...]:
    found = attempts[seen]
    shares = (found[what][name] for name in ("there", "recall", "precision"))
    return (seen, found["n"], f"which {what} occur", *shares)


def draw_curves(frames: StudyFrames) -> str:
    """Draw F1 over the epochs as an SVG file, as in figure 6 of the paper.

    A chart for each method that keeps documents at their sites, beside A, B and D: the mean over
    sites and seeds as a line, the range over sites as an area.
    """
    ways = {name: method.way for name, method in frames.settings.methods.items()}
    curves = {
        name: curve_of(name, _COLOURS[way], frames.average_curve(name), _CURVE) for name, way in ways.items()
    }
    common = [curves[name] for name, way in ways.items() if way in _FRAME_OF_FIGURE]
    charts = {name: [*common, curves[name]] for name, way in ways.items() if way not in _FRAME_OF_FIGURE}
    late = min(value for curve in curves.values() for value in curve.low[len(curve.low) // 4 :])
    lowest = max(0.0, int(10 * late) / 10 if late < 1 else 0.9)
    drawn = (charts or {"all": common}).items()
    return panels(
        "F1 on the test documents over the epochs",
        [chart_from_zero(title, "epoch", shown, lowest) for title, shown in drawn],
    )
