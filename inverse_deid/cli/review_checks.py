"""`inverse-deid review verify`, `sample` and `summary`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from inverse_deid.cli.review_store import opened, read_key, store_options
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.evaluation.figures import Share
from inverse_deid.evaluation.uncertainty import Interval
from inverse_deid.review.accounts import user_named
from inverse_deid.review.causality import CausalitySummary, summarise_forms
from inverse_deid.review.reviewers import ReviewSummary, summarise_reviewers
from inverse_deid.review.sampling import CONFIDENCE, draw_sample, record_reading, sample_result
from inverse_deid.review.trail import verify_export, verify_store
from inverse_deid.review.work_list import progress

_FILE = click.Path(dir_okay=False, path_type=Path)
_TAMPERED = 1


@click.command()
@store_options
@click.option("--trail", type=_FILE, help="An exported trail instead of that of the store.")
def verify(address: str, key: Path | None, trail: Path | None) -> int:
    """Check that no entry of the trail was edited, removed, moved or cut off.

    Exit status: 0 intact; 1 tampered with, and where is listed.
    """
    if trail is not None:
        check = verify_export(trail, read_key(address, key))
    else:
        with opened(address, key) as store:
            check = verify_store(store)
    for problem in check.problems:
        click.echo(f"inverse-deid: {problem}", err=True)
    click.echo(f"{check.n_entries:,} entries, {'intact' if check.is_intact else 'TAMPERED WITH'}")
    return 0 if check.is_intact else _TAMPERED


@click.command()
@click.argument("n_cases", type=click.IntRange(1), required=False, metavar="[N]")
@store_options
@click.option("--result", is_flag=True, help="Report the bound from the latest sample.")
@click.option("--confidence", type=float, default=CONFIDENCE, show_default=True, help="With --result.")
@click.option("--clean", type=int, metavar="CASE", help="This case was read and holds no identifier.")
@click.option("--leak", type=int, metavar="CASE", help="This case was read and leaks; it is withdrawn.")
@click.option("--user", "name", help="Who read it, with --clean and --leak.")
def sample(
    n_cases: int | None,
    address: str,
    key: Path | None,
    result: bool,
    confidence: float,
    **read: int | str | None,
) -> None:
    """Draw N released cases to be read in full, or report how many leak at most."""
    case_id = read["clean"] if read["clean"] is not None else read["leak"]
    if (n_cases is not None) + result + (case_id is not None) != 1:
        raise ConfigurationError("give N, or --result, or one of --clean and --leak with --user")
    with opened(address, key) as store:
        if n_cases is not None:
            drawn = draw_sample(store, n_cases)
            click.echo(f"cases to read: {' '.join(map(str, drawn.case_ids))}")
        elif case_id is not None:
            if read["name"] is None:
                raise ConfigurationError("give --user: who read the case")
            reader = user_named(store, str(read["name"]))
            record_reading(store, reader, int(case_id), leaks=read["leak"] is not None)
        else:
            found = sample_result(store, confidence=confidence)
            click.echo(
                f"{found.n_leaking} of {found.n_read} cases leak; with {100 * confidence:g} % confidence at "
                f"most {found.bound_percent:.2f} % of the released cases do"
            )


@click.command()
@store_options
def summary(address: str, key: Path | None) -> None:
    """Print progress, agreement of reviewers, time a case, and the causality forms."""
    with opened(address, key) as store:
        lines = [
            *(f"{state:<12} {n:>8,}" for state, n in progress(store).by_state.items()),
            *_reviewer_lines(summarise_reviewers(store)),
            *_form_lines(summarise_forms(store)),
        ]
    click.echo("\n".join(lines))


def _reviewer_lines(found: ReviewSummary) -> Iterator[str]:
    kappa = None if found.tokens is None else found.tokens.kappa
    yield f"agreement    {found.n_double:,} cases with two reviews"
    if kappa is not None:
        span = "" if kappa.low is None or kappa.high is None else f" ({kappa.low:.3f} to {kappa.high:.3f})"
        yield f"  Cohen's kappa of tokens {_number(kappa.value)}{span}, span F1 {_number(found.spans.f1)}"
    for one in found.times:
        minutes = None if one.median_seconds is None else one.median_seconds / 60
        yield f"  {one.user:<24} {one.n_approved:>6,} cases, median {_number(minutes)} minutes"


def _form_lines(found: CausalitySummary) -> Iterator[str]:
    yield f"causality    {found.n_forms:,} forms"
    names = ("still hold valuable information", "miss none", "miss none that was needed")
    shares = (found.any_preserved, found.none_missing, found.none_needed_missing)
    for name, share, interval in zip(names, shares, found.intervals, strict=True):
        yield f"  {name:<34} {_share(share, interval)}"
    for one in found.topics:
        told = f"yes {one.n_yes:,}, partly {one.n_partly:,}, no {one.n_no:,}"
        yield f"  {one.topic:<14} {told}; needed and missing {one.n_needed:,}"


def _share(share: Share, interval: Interval | None) -> str:
    if share.value is None or interval is None:
        return "-"
    return f"{share.value:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
