"""The tables of a study; those of the paper are its tables 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence

from inverse_deid.research.federated.measuring import worst_site
from inverse_deid.research.federated.study_config import MethodConfig, StudyConfig
from inverse_deid.research.federated.study_figures import StudyFigures
from inverse_deid.research.studies.tables import Cell, Table, frame_of, mean

PUBLISHED = (
    "Published: mean F1 0.955 for collaborative against 0.962 for central training after 200 epochs, on the "
    "2014 i2b2 corpus, another one (Festag and Spreckelsen 2020, abstract)."
)


def experiments_table(config: StudyConfig) -> Table:
    """What each method does: table 2 of the paper."""
    rows = [_experiment_row(method) for method in config.methods]
    return Table(
        "experiments",
        "Experiments",
        frame_of(
            ("method", "way", "theta_d", "theta_u", "gamma", "tau", "mu", "sites with own settings"),
            tuple(rows),
        ),
        digits=4,
    )


def _experiment_row(method: MethodConfig) -> tuple[Cell, ...]:
    chosen = method.settings if method.way == "selective" else None
    shares: Sequence[Cell] = (
        (chosen.download, chosen.upload, chosen.gamma, chosen.tau) if chosen else (None,) * 4
    )
    return (method.name, method.way, *shares, method.proximal or None, ", ".join(method.own) or None)


def scores_table(figures: StudyFigures) -> Table:
    """F1 after the last epoch: table 3 of the paper."""
    rows: list[tuple[Cell, ...]] = []
    for method in figures.config.methods:
        by_site = [value for value in figures.by_site(method.name, "f1").values() if value is not None]
        over_seeds = [
            mean([figures.values(method.name, "f1", site)[i] for site in figures.sites])
            for i in range(len(figures.config.study.seeds))
        ]
        known = [value for value in over_seeds if value is not None]
        spread = max(known) - min(known) if len(known) > 1 else None
        rows.append(
            (
                method.name,
                figures.mean_of(method.name, "f1"),
                min(by_site, default=None),
                max(by_site, default=None),
                figures.mean_of(method.name, "precision"),
                figures.mean_of(method.name, "recall"),
                spread,
            )
        )
    return Table(
        "scores",
        f"F1 on all test documents after epoch {figures.config.study.epochs}",
        frame_of(
            ("method", "mean F1", "lowest site", "highest site", "precision", "recall", "spread over seeds"),
            tuple(rows),
        ),
        notes=(PUBLISHED,),
        digits=4,
    )


def differences_table(figures: StudyFigures) -> Table:
    """How far distributed selective SGD is from central, and how far ahead of isolated training."""
    rows: list[tuple[Cell, ...]] = []
    central, isolated = (figures.of_way(way) for way in ("central", "isolated"))
    for method in figures.of_way("selective"):
        own = figures.by_site(method.name, "f1")
        to_central = (
            _difference(mean(list(own.values())), figures.mean_of(central[0].name, "f1")) if central else None
        )
        ahead = (
            {site: _difference(own[site], figures.final(isolated[0].name, "f1", site)) for site in own}
            if isolated
            else {}
        )
        least = worst_site(ahead)
        rows.append(
            (
                method.name,
                to_central,
                ahead[least] if least else None,
                least,
                _kept(to_central, ahead[least] if least else None),
            )
        )
    return Table(
        "differences",
        "Distributed selective SGD against central and isolated training",
        frame_of(("method", "mean F1 - central", "F1 - isolated, least site", "which", "aim"), tuple(rows)),
        notes=(
            "The aim: at most 0.02 below central training, and better than isolated training at every site.",
        ),
        digits=4,
        signed=True,
    )


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _kept(to_central: float | None, ahead: float | None) -> str:
    if to_central is None or ahead is None:
        return "not measured"
    return "reached" if to_central >= -0.02 and ahead > 0 else "missed"


def recall_table(figures: StudyFigures) -> Table:
    """Recall at a fixed precision, what matters: each site, the worst one named."""
    part = "own" if figures.has_own() else "all"
    rows: list[tuple[Cell, ...]] = []
    for method in figures.config.methods:
        by_site = figures.by_site(method.name, "recall_at_precision", part)
        rows.append((method.name, mean(list(by_site.values())), worst_site(by_site), *by_site.values()))
    documents = "test documents of the site's own kind" if part == "own" else "all test documents"
    return Table(
        "recall-at-precision",
        f"Recall at precision {figures.config.study.precision:g}, {documents}",
        frame_of(("method", "mean", "worst site", *figures.sites), tuple(rows)),
        notes=("0: no threshold reaches the precision.",),
        digits=4,
    )


def calibrated_table(figures: StudyFigures) -> Table:
    """What each site's own threshold does on the test documents."""
    rows: list[tuple[Cell, ...]] = []
    for method in figures.config.methods:
        for site in figures.sites:
            row = [figures.calibrated(method.name, site, what) for what in ("high", "recall", "precision")]
            rows.append((f"{method.name}, {site}", *row))
    wanted = figures.config.study.recall
    return Table(
        "calibrated",
        f"Thresholds that each site calibrates to recall {wanted:g} on its own held-out documents",
        frame_of(("method and site", "threshold", "recall", "precision"), tuple(rows)),
        digits=4,
    )


def exchange_table(figures: StudyFigures) -> Table:
    """How many numbers move."""
    n_sites = len(figures.sites)
    rows = tuple(
        (
            method.name,
            round(figures.per_epoch(method.name, "n_sent") / n_sites),
            round(figures.per_epoch(method.name, "n_received") / n_sites),
        )
        for method in figures.config.methods
    )
    return Table(
        "exchange",
        "Numbers that a site sends and receives in an epoch, mean",
        frame_of(("method", "sent", "received"), rows),
        notes=(
            "Method A moves the documents themselves. Secure aggregation masks its numbers, and sends "
            "keys besides.",
        ),
    )


def seconds_table(figures: StudyFigures) -> Table:
    """Time of the training steps."""
    rows = tuple(
        (method.name, figures.per_epoch(method.name, "seconds")) for method in figures.config.methods
    )
    return Table(
        "seconds",
        "Seconds of training steps for one epoch of all sites",
        frame_of(("method", "seconds"), rows),
        digits=1,
    )


def curves_table(figures: StudyFigures) -> Table:
    """The points of the figure."""
    rows: list[tuple[Cell, ...]] = []
    for method in figures.config.methods:
        for epoch, point in enumerate(zip(*figures.f1_curve(method.name), strict=True), start=1):
            rows.append((method.name, epoch, *point))
    return Table(
        "learning-curves",
        "F1 after each epoch, mean over seeds",
        frame_of(("method", "epoch", "mean", "lowest site", "highest site"), tuple(rows)),
        digits=4,
    )
