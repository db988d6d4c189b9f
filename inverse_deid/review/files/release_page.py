"""The report of a release as a page that people read and print: what, when, by whom, with which choices.

It says what `run-report.json` says, in words. It has no script, no external address and no text of a case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from inverse_deid.choices.categories import Category
from inverse_deid.choices.names import CATEGORY_NAMES
from inverse_deid.choices.records import find_choice
from inverse_deid.choices.table import CHOICES
from inverse_deid.core.files import printable
from inverse_deid.core.packaged import SHARED_PAGES
from inverse_deid.core.pages.template_texts import TEMPLATE_TEXTS, join_sheets
from inverse_deid.core.wording import _


def write_page(report: Mapping[str, Any]) -> bytes:
    """Return the page of a report of `exporting`."""
    style, digest = join_sheets([SHARED_PAGES / "pages.css", Path(__file__).with_suffix(".css")])
    environment = Environment(
        loader=PackageLoader("inverse_deid.review.files", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(TEMPLATE_TEXTS)
    environment.filters["printable"] = printable
    page = environment.get_template("release_page.html.j2").render(
        report,
        style=style,
        style_digest=digest,
        made_at=datetime.fromisoformat(report["made_at"]),
        ways=[dict(describe_way(way)) for way in report["settings"]],
        people=_join_people(report["files"]),
        n_words=sum(one["n_words"] for one in report["files"]),
        n_masked=sum(one["n_masked"] for one in report["files"]),
    )
    return page.encode("utf-8", "replace")


def describe_way(way: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the questions of the desk and the answers that shaped the files, for `settings` of a report."""
    masking, cases = way["masking"], way["cases"]
    hidden = [CATEGORY_NAMES[Category(one)].many for one in masking["categories"]]
    yield _ask("categories"), ", ".join(map(_, hidden)) or _label("categories", "all")
    yield _ask("dates"), _label("dates", cases["dates"])
    bands = cases["age_bands"]
    yield _ask("ages"), _label("age_bands", bands) if bands else _label("ages", cases["ages"])
    marker = _("their category in brackets") if masking["category_markers"] else masking["marker"]
    yield _("What stands for hidden words?"), marker
    if masking["n_deny"] or masking["n_allow"]:
        yield (
            _("Which words did a list decide?"),
            _(
                "always masked: {n_deny:,}, never masked: {n_allow:,}",
                n_deny=masking["n_deny"],
                n_allow=masking["n_allow"],
            ),
        )
    if masking["low"] is None:
        yield _("Who decided about doubtful words?"), _("dictionaries and rules, without the network")
    else:
        yield (
            _("How sure was the tool before it showed a word?"),
            _(
                "{low} % if the rules call it safe, otherwise {high} %",
                low=f"{100 * masking['low']:.3g}",
                high=f"{100 * masking['high']:.4g}",
            ),
        )
        yield _("Which network decided?"), _("SHA-256 {hash}", hash=masking["model_sha256"])
    for name, said in (
        ("keep_columns", _("Which columns were copied after a check?")),
        ("keep_unchecked", _("Which columns were copied without a check?")),
    ):
        if way[name]:
            yield said, ", ".join(printable(str(one)) for one in way[name])


def _ask(name: str) -> str:
    return _(find_choice(CHOICES, name).question)


def _label(name: str, value: str) -> str:
    return next(_(one.label) for one in find_choice(CHOICES, name).values if one.name == value)


def _join_people(files: list[Mapping[str, Any]]) -> dict[str, int]:
    people: dict[str, int] = {}
    for file in files:
        for name, n in file["approved_by"].items():
            people[name] = people.get(name, 0) + n
    return dict(sorted(people.items()))
