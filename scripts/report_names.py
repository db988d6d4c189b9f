"""Measure how many names of every kind the masker finds, in texts invented for this purpose.

Usage: report_names.py [--out reports/names] [--operating-point balanced] [--model FOLDER] [--narratives N]

Writes `report.md` and `names.csv`. A name is masked if every token of it is. Intervals are Wilson's, with
names as units (Wilson 1927); names share templates, so they are a little too narrow.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import bare_names
from name_cases import (
    LISTED,
    NAME_FORMS,
    SEXES,
    UNLISTED,
    Case,
    bare_surname_cases,
    hospital_cases,
    job_cases,
    narrative_cases,
    region_cases,
    regions,
    word_cases,
)

from inverse_deid.core.revision import require_clean_revision, revision
from inverse_deid.core.values import Document
from inverse_deid.evaluation.plain_text import markdown_lines
from inverse_deid.masking.assemble import (
    MaskingSettings,
    build_deidentifier,
    packaged_model,
    packaged_second_reader,
)
from inverse_deid.masking.pipeline import Deidentifier
from inverse_deid.network.folder import model_fingerprint

_BATCH = 256
_Z = 1.959964
_KEPT = ": should be kept"
_COLUMNS = [
    "table",
    "group",
    "should be masked",
    "n",
    "masked",
    "share",
    "low",
    "high",
    "tokens",
    "token share",
]


@dataclass(slots=True)
class Tally:
    """Of planted phrases: how many there are and are masked whole; the same of tokens."""

    n: int = 0
    masked: int = 0
    n_tokens: int = 0
    masked_tokens: int = 0

    def add(self, masks: Sequence[bool]) -> None:
        """Count a phrase by whether each of its tokens is masked."""
        self.n += 1
        self.masked += all(masks)
        self.n_tokens += len(masks)
        self.masked_tokens += sum(masks)

    @property
    def share(self) -> float | None:
        """Share of phrases that are masked whole."""
        return self.masked / self.n if self.n else None

    @property
    def leaks_per_thousand(self) -> float | None:
        """Phrases of which a token is kept, in a thousand."""
        return 1000 * (self.n - self.masked) / self.n if self.n else None


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share.

    Example:
        >>> [round(bound, 3) for bound in wilson(9, 10)]
        [0.596, 0.982]
    """
    if not 0 <= hits <= n or not n:
        raise ValueError(f"{hits} of {n} is not a share")
    share, z2 = hits / n, _Z * _Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def measure(deidentifier: Deidentifier, cases: Iterable[Case]) -> Iterator[tuple[Case, list[bool], int, int]]:
    """Yield each case, which planted tokens are masked, how many others there are, how many are kept."""
    cases = list(cases)
    for first in range(0, len(cases), _BATCH):
        batch = cases[first : first + _BATCH]
        docs = [Document(str(first + i), case.text) for i, case in enumerate(batch)]
        for case, masked in zip(batch, deidentifier.mask_many(docs), strict=True):
            tokens, keep = masked.tokens, np.asarray(masked.decisions.keep)
            planted = (tokens.starts < case.end) & (tokens.ends > case.start)
            yield case, (~keep[planted]).tolist(), int((~planted).sum()), int(keep[~planted].sum())


@dataclass(slots=True)
class Figures:
    """Tallies by table and labels, and the kept share of all other tokens by table."""

    tallies: dict[tuple[str, tuple[str, ...], bool], Tally]
    others: dict[str, list[int]]

    def total(self, table: str, wanted: Callable[[tuple[str, ...]], bool] = lambda _: True) -> Tally:
        """Return the tally of all groups of a table whose labels are wanted."""
        total = Tally()
        for (name, labels, _), tally in self.tallies.items():
            if name == table and wanted(labels):
                total.n += tally.n
                total.masked += tally.masked
                total.n_tokens += tally.n_tokens
                total.masked_tokens += tally.masked_tokens
        return total


def count(measured: Iterable[tuple[Case, list[bool], int, int]]) -> Figures:
    """Count measured cases."""
    figures = Figures(defaultdict(Tally), defaultdict(lambda: [0, 0]))
    for case, masks, n_others, n_kept in measured:
        figures.tallies[case.table, case.labels, case.is_phi].add(masks)
        figures.others[case.table][0] += n_others
        figures.others[case.table][1] += n_kept
    return figures


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _cells(name: str, tally: Tally) -> tuple[str, ...]:
    """Return a row; controls, which should be kept, have no leaks."""
    if not tally.n:
        return (name, "0", "-", "-", "-", "-")
    low, high = wilson(tally.masked, tally.n)
    tokens = _percent(tally.masked_tokens / tally.n_tokens if tally.n_tokens else None)
    leaks = "-" if name.endswith(_KEPT) else f"{tally.leaks_per_thousand:.0f}"
    return (
        name,
        f"{tally.n}",
        _percent(tally.share),
        f"{_percent(low)} to {_percent(high)}",
        tokens,
        leaks,
    )


def _table(title: str, rows: Iterable[tuple[str, Tally]]) -> list[str]:
    columns = ("group", "n", "masked", "interval", "tokens masked", "leaks per 1,000")
    return [f"\n### {title}\n", *markdown_lines(columns, [_cells(name, tally) for name, tally in rows])]


def _region_tables(figures: Figures) -> list[str]:
    def pick(**wanted: str) -> Tally:
        places = {"region": 0, "sex": 1, "form": 2, "listing": 3}
        return figures.total("regions", lambda found: all(found[places[k]] == v for k, v in wanted.items()))

    lines = ["\n## Names by region\n", "Twelve forms, women and men."]
    lines += _table("By list", [(kind, pick(listing=kind)) for kind in (LISTED, UNLISTED)])
    lines += _table("By sex", [(sex, pick(sex=sex)) for sex in SEXES])
    lines += _table("By form", [(form, pick(form=form)) for form in NAME_FORMS])
    lines += _table(
        "By form, not in our lists", [(form, pick(form=form, listing=UNLISTED)) for form in NAME_FORMS]
    )
    lines += _table(
        "By region and sex",
        [
            (f"{region}, {sex}, {kind}", pick(region=region, sex=sex, listing=kind))
            for region in regions()
            for sex in SEXES
            for kind in (LISTED, UNLISTED)
        ],
    )
    lines += ["\n### By region and form: percent of names masked\n"]
    shares = [
        (region, *(_percent(pick(region=region, form=form).share) for form in NAME_FORMS))
        for region in regions()
    ]
    return [*lines, *markdown_lines(("region", *NAME_FORMS), shares)]


def _word_tables(figures: Figures) -> list[str]:
    def pick(writing: str, trained: str = "") -> Tally:
        return figures.total("words", lambda found: found[2] == writing and trained in ("", found[1]))

    rows = [(f"name, {writing}", pick(writing)) for writing in ("capital", "no capital")]
    rows += [
        (f"name, {writing}, {trained}", pick(writing, trained))
        for writing in ("capital", "no capital")
        for trained in ("trained on", "not trained on")
    ]
    control = pick("control")
    names = pick("capital").masked_tokens + pick("no capital").masked_tokens
    precision = names / max(1, names + control.masked_tokens)
    lines = _table("Names that are words", [*rows, (f"only a word{_KEPT}", control)])
    return [*lines, f"\nPrecision on these words (masked tokens that are names): {_percent(precision)} %."]


def _other_tables(figures: Figures, golden: Sequence[tuple[bare_names.Case, bool]]) -> list[str]:
    lines = _word_tables(figures)
    rows = [
        (kind, figures.total("bare surnames", lambda found, k=kind: found == (k,)))
        for kind in (LISTED, UNLISTED)
    ]
    lines += _table("Bare surnames as subject or object", rows)
    golden_rows = [
        (f"{group}, {place}", f"{rate.n}", f"{1000 * rate.kept / rate.n:.0f}")
        for (group, place), rate in bare_names.rates(golden).items()
        if group in bare_names.SURNAMES
    ]
    lines.append("\n### Bare surnames of `tests/golden/bare_names.toml`\n")
    lines += markdown_lines(("group, place", "n", "leaks per 1,000"), golden_rows)
    kinds = ("name", "abbreviation", "unit")
    rows = [(kind, figures.total("hospitals", lambda found, k=kind: found == (k,))) for kind in kinds]
    rows[2] = (f"unit of a hospital{_KEPT}", rows[2][1])
    lines += _table("Hospitals without a telling word", rows)
    labels = ("the patient's own job", "role of somebody else")
    rows = [(label, figures.total("jobs", lambda found, k=label: found == (k,))) for label in labels]
    rows[1] = (f"{labels[1]}{_KEPT}", rows[1][1])
    lines += _table("Jobs", rows)
    forms = [form for form in NAME_FORMS if ("narratives", (form,), True) in figures.tallies]
    rows = [("all", figures.total("narratives"))]
    rows += [(form, figures.total("narratives", lambda found, k=form: found == (k,))) for form in forms]
    lines += _table("Narratives with one planted name that is in no list", rows)
    n_others, n_kept = figures.others["narratives"]
    return [
        *lines,
        f"\nOf their {n_others} other tokens, {_percent(n_kept / max(1, n_others))} % are kept.",
    ]


def render_report(
    figures: Figures, golden: Sequence[tuple[bare_names.Case, bool]], command: str, model: str
) -> str:
    """Return the report as Markdown."""
    lines = [
        "# Names of every kind\n",
        f"Made by\n\n```\n{command}\n```\n",
        f"- revision {revision() or 'unknown'}",
        f"- model {model}",
        "- texts, names and hospitals are invented for this report, never trained on (`scripts/name_sets`)",
        f"- *{LISTED}*: a part of the name is in the lexicon or in the lists of the training generator",
        "- a name is masked if every token of it is; percent of names, Wilson's 95 % interval",
    ]
    return (
        "\n".join([*lines, *_region_tables(figures), "\n## Other names", *_other_tables(figures, golden)])
        + "\n"
    )


def write_csv(path: Path, figures: Figures) -> None:
    """Write a row for every group."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for (table, labels, is_phi), tally in figures.tallies.items():
            low, high = wilson(tally.masked, tally.n)
            shares = [f"{value:.4f}" for value in (tally.share or 0.0, low, high)]
            token_share = f"{tally.masked_tokens / tally.n_tokens:.4f}" if tally.n_tokens else ""
            counts = [tally.n, tally.masked, *shares, tally.n_tokens, token_share]
            writer.writerow([table, " / ".join(labels), "yes" if is_phi else "no", *counts])


def make_cases(n_narratives: int) -> Iterator[Case]:
    """Yield all cases."""
    yield from region_cases()
    yield from word_cases()
    yield from bare_surname_cases()
    yield from hospital_cases()
    yield from job_cases()
    yield from narrative_cases(n_narratives)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("reports/names"))
    parser.add_argument("--operating-point", default="balanced", choices=["strict", "balanced", "lenient"])
    parser.add_argument("--model", type=Path, help="model folder, by default the packaged one")
    parser.add_argument("--narratives", type=int, default=2000)
    parser.add_argument("--golden-sentences", type=int, default=2, help="for each surname of the golden test")
    parser.add_argument("--fast", action="store_true", help="without the packaged second reader")
    options = parser.parse_args()
    require_clean_revision(options.out)
    settings = MaskingSettings(
        operating_point=options.operating_point,
        model=options.model,
        reading="fast" if options.fast else "careful",
        n_threads=1,
    )
    deidentifier = build_deidentifier(settings)
    figures = count(measure(deidentifier, make_cases(options.narratives)))
    golden = bare_names.outcomes(deidentifier, bare_names.cases(options.golden_sentences))
    command = " ".join(["python scripts/report_names.py", *sys.argv[1:]])
    model = f"{model_fingerprint(options.model or packaged_model())[:12]}, {options.operating_point}"
    if not options.fast:
        model += f", with the second reader {model_fingerprint(packaged_second_reader())[:12]}"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.md").write_text(render_report(figures, golden, command, model), encoding="utf-8")
    write_csv(options.out / "names.csv", figures)


if __name__ == "__main__":
    main()
