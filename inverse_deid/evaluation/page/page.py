"""An evaluation as one HTML page: no script, no external address, readable on screen and on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from msgspec import UnsetType

from inverse_deid.core.pages.template_texts import TEMPLATE_TEXTS
from inverse_deid.core.phi import HYPER_CLASS_OF
from inverse_deid.core.wording import N_, _
from inverse_deid.evaluation.added_reports import AddedReport
from inverse_deid.evaluation.measures.curves import Reliability, ReliabilityBin, choose_corners
from inverse_deid.evaluation.measures.uncertainty import FEW_UNITS, Method
from inverse_deid.evaluation.page.added import show_added, show_provenance
from inverse_deid.evaluation.page.blocks import (
    Chart,
    Headline,
    NumberTable,
    Section,
    TableRow,
    drop_empty_columns,
    interval_head,
    share_cells,
    tabulate_bars,
)
from inverse_deid.evaluation.page.charts import (
    Bar,
    CurvePoint,
    count_leak_columns,
    draw_bars,
    draw_curve,
    draw_histogram,
    draw_reliability,
)
from inverse_deid.evaluation.page.measures import (
    DASH,
    FIGURE_LABELS,
    KIND_LABELS,
    SPACE,
    Measure,
    category_label,
    count_nouns,
    interval_name,
    number,
    percent,
    percent_range,
    plain_label,
)
from inverse_deid.evaluation.report import CurveRecord, DocumentRecord, EvaluationReport, GroupRecord

MAX_IDS = 50
"""The most documents with leaks that are listed."""

_MAX_DRAWN = 500
"""The most points of a curve that are drawn. The table uses all of them."""
_TARGETS = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)


def measure_figure(report: EvaluationReport, name: str) -> Measure:
    return Measure.of(report.figures[name], report.intervals.get(name))


def choose_headlines(report: EvaluationReport) -> tuple[Headline, ...]:
    found = []
    for name, (describe, if_none) in _HEADLINES.items():
        share = measure_figure(report, name)
        interval = ""
        if share.has_interval:
            interval = f"{interval_name(share.confidence)} {percent_range(share, 1)}"
        sentence = describe(share.part or 0, share.whole) if share.whole else if_none
        found.append(Headline(percent(share.value, 1), sentence, interval))
    return tuple(found)


def _describe_recall(part: int, whole: int) -> str:
    n_missed = whole - part
    masked = _("is masked") if part == 1 else _("are masked")
    missed = (
        _("{n_missed:,} were missed", n_missed=n_missed)
        if n_missed > 1
        else (_("one was missed") if n_missed else _("none was missed"))
    )
    return _(
        "Of {nouns}, {part:,} {masked} and {missed}.",
        nouns=count_nouns(whole, "identifying word"),
        part=part,
        masked=masked,
        missed=missed,
    )


_HEADLINES: Mapping[str, tuple[Callable[[int, int], str], str]] = {
    "recall_all": (_describe_recall, N_("These documents contain no identifying words.")),
    "documents_without_leak": (
        lambda part, n: _(
            "Nothing leaked in {part:,} of {nouns} with identifiers.",
            part=part,
            nouns=count_nouns(n, "document"),
        ),
        N_("These documents contain no identifiers."),
    ),
    "precision": (
        lambda part, whole: _(
            "of the masked words were identifying: {part:,} of {whole:,}.", part=part, whole=whole
        ),
        N_("No word is masked."),
    ),
    "safe_kept": (
        lambda part, whole: _(
            "of the safe words can still be read: {part:,} of {whole:,}.", part=part, whole=whole
        ),
        N_("These documents contain no safe words."),
    ),
}
"""The sentence of a part and a whole, and the sentence if the whole is 0."""


@dataclass(frozen=True, slots=True)
class Category:
    """A hyper-class (depth 0) or one of its fine types (depth 1)."""

    name: str
    depth: int
    record: GroupRecord

    def measure(self, name: str) -> Measure:
        return Measure.of(getattr(self.record, name), self.record.intervals.get(name))

    @property
    def missed(self) -> Measure:
        return self.measure("recall").complement()

    @property
    def label(self) -> str:
        return category_label(self.name)

    @property
    def is_drawn_from_few(self) -> bool:
        is_drawn = self.measure("recall").method is Method.BOOTSTRAP
        return is_drawn and self.record.documents_without_leak.whole < FEW_UNITS


def list_categories(report: EvaluationReport) -> list[Category]:
    """Return hyper-classes with PHI, each followed by its fine types with PHI if it has several types."""
    fine = report.categories.fine
    listed = []
    for name, record in report.categories.hyper.items():
        members = [t.value for t, group in HYPER_CLASS_OF.items() if group.value == name and t.value in fine]
        listed.append(Category(name, 0, record))
        if len(members) > 1:
            listed += [Category(member, 1, fine[member]) for member in members]
    return [row for row in listed if row.record.documents_without_leak.whole or row.record.recall.whole]


def show_kinds(report: EvaluationReport) -> Section:
    title = _("Missed words, by kind of identifier")
    listed = list_categories(report)
    if not listed:
        return Section("kinds", title, (_("These documents contain no identifiers."),))
    blocks: list[Chart | NumberTable] = []
    groups, kinds = (_sort_by_misses(row for row in listed if row.depth == depth) for depth in (0, 1))
    leaking = [kind for kind in kinds if kind.missed.part]
    n_others = len(kinds) - len(leaking)
    others = (
        _(" See the table for {nouns} without a missed word.", nouns=count_nouns(n_others, "kind"))
        if n_others
        else ""
    )
    if groups:
        blocks.append(_chart_misses("groups", _("By group"), groups))
    if leaking:
        blocks.append(_chart_misses("fine", _("Within the groups"), leaking, others))
    blocks.append(_tabulate_categories(listed))
    sentences = [_("Bars show the share of identifying words that was missed. Shorter is better.")]
    if any(row.is_drawn_from_few for row in listed):
        sentences.append(
            _(
                "Intervals are too narrow for kinds found in fewer than {few_units} documents (see the "
                "table).",
                few_units=FEW_UNITS,
            )
        )
    return Section("kinds", title, tuple(sentences), tuple(blocks))


def _sort_by_misses(listed: Iterable[Category]) -> list[Category]:
    # Categories without words are left out.
    with_words = [row for row in listed if row.record.recall.whole]
    return sorted(with_words, key=lambda row: (-(row.missed.part or 0), row.label))


def _chart_misses(key: str, title: str, ranked: Sequence[Category], others: str = "") -> Chart:
    bars = [Bar(category.label, category.missed) for category in ranked]
    name = _("Missed words, {title}", title=title.lower())
    drawing = draw_bars(key, name, bars, counted=_("missed of all"), kind="bar-missed")
    sentence = _("Kinds with most missed words come first.")
    if any(bar.share.has_interval for bar in bars):
        sentence += _(" The line across the end of a bar is its interval.")
    numbers = tabulate_bars(name, _("Kind"), bars, _("Missed"))
    return Chart(title, sentence + others, drawing, numbers, is_labelled=True)


def _tabulate_categories(listed: Sequence[Category]) -> NumberTable:
    interval = interval_head(category.measure("recall") for category in listed)
    recall = (_("Masked"), interval, _("Corrected"), _("Words"), _("Missed"))
    head = (_("Kind"), _("Type"), *recall, _("Documents"), _("Without leak"), _("Identifiers"))
    rows = []
    for category in listed:
        share, documents = category.measure("recall"), category.measure("documents_without_leak")
        cells = (
            category.label,
            category.name,
            percent(share.value),
            percent_range(share),
            percent(category.measure("corrected_recall").value),
            number(share.whole),
            number(category.missed.part),
            number(documents.whole),
            percent(documents.value),
            percent(category.measure("entities_masked").value),
        )
        rows.append(TableRow(cells, category.depth))
    return NumberTable(_("Every kind of identifier"), head, tuple(rows), frozenset({1}))


def show_documents(report: EvaluationReport) -> Section:
    found = [doc for doc in report.by_document if doc.phi]
    if not found:
        sentence = _("These documents contain no identifying words.")
        return Section("documents", _("Leaks by document"), (sentence,))
    columns = count_leak_columns([doc.phi - doc.recalled for doc in found])
    title = _("Missed words per document")
    rows = tuple(TableRow((name, number(n))) for name, n in columns)
    chart = Chart(
        title,
        _("{nouns} with identifying words.", nouns=count_nouns(len(found), "document")),
        draw_histogram("histogram", title, columns, axis=_("missed words in a document"), tail="bar-missed"),
        NumberTable(title, (_("Missed words"), _("Documents")), rows),
        is_labelled=True,
    )
    sentence = _("One leaked word can be enough to identify a person.")
    return Section("documents", _("Leaks by document"), (sentence,), (chart, *_tabulate_leaking(found)))


def _tabulate_leaking(found: Sequence[DocumentRecord]) -> Iterator[NumberTable]:
    leaks = {doc.id: doc.phi - doc.recalled for doc in found}
    leaking = sorted((doc for doc in found if leaks[doc.id]), key=lambda doc: (-leaks[doc.id], doc.id))
    if not leaking:
        return
    caption = _("Documents with leaks, most first")
    if len(leaking) > MAX_IDS:
        caption += _(" ({n_leaking:,} more are in the JSON report)", n_leaking=len(leaking) - MAX_IDS)
    rows = tuple(TableRow((doc.id, number(leaks[doc.id]), number(doc.phi))) for doc in leaking[:MAX_IDS])
    yield NumberTable(caption, (_("Document"), _("Missed"), _("Identifying words")), rows)


def show_over_masking(report: EvaluationReport) -> Section:
    found = {name: Measure.of(share) for name, share in report.over_masking.items() if share.whole}
    bars = [Bar(_(KIND_LABELS.get(name, plain_label(name))), share) for name, share in found.items()]
    bars.sort(key=lambda bar: (-(bar.share.part or 0), bar.label))
    title = _("Safe words that were masked")
    blocks: tuple[Chart, ...] = ()
    if bars:
        drawing = draw_bars("overmasking", title, bars, counted=_("masked of all"), kind="bar-quiet")
        numbers = drop_empty_columns(tabulate_bars(title, _("Kind of word"), bars, _("Masked")))
        sentence = _("Kinds with most masked words come first.")
        blocks = (Chart(_("By kind of word"), sentence, drawing, numbers, is_labelled=True),)
    sentence = _("Safe words that are masked are lost to the reader, but identify nobody.")
    return Section("overmasking", _("Words masked without need"), (sentence,), blocks)


def show_thresholds(report: EvaluationReport) -> Iterator[Section]:
    """Show the curve over all thresholds and the reliability of the probabilities, where known."""
    blocks = []
    if isinstance(report.curve, CurveRecord):
        blocks.append(_chart_curve(report, report.curve))
    if not isinstance(report.reliability, UnsetType) and report.reliability.bins:
        blocks.append(_chart_reliability(report.reliability))
    if blocks:
        sentence = _(
            "The program estimates for every word how likely it is to be safe. A threshold decides which "
            "words are masked."
        )
        yield Section("thresholds", _("Thresholds and probabilities"), (sentence,), tuple(blocks))


def _chart_curve(report: EvaluationReport, curve: CurveRecord) -> Chart:
    columns = curve.points
    points = [
        CurvePoint(*row)
        for row in zip(columns.threshold, columns.recall, columns.precision, columns.safe_kept, strict=True)
    ]
    title = _("Recall against precision")
    sentence = _(
        "If more identifying words are masked, more safe words are masked with them. The lines compare "
        "only the probability with a threshold. Masking also follows rules, so the ring may be off the "
        "lines. Average precision: {number}.",
        number=number(curve.average_precision),
    )
    caption = _("The least loss for each recall (of {nouns})", nouns=count_nouns(len(points), "threshold"))
    head = (_("Recall of at least"), _("Recall"), _("Precision"), _("Safe words kept"), _("Threshold"))
    numbers = NumberTable(caption, head, tuple(_choose_target(points, target) for target in _TARGETS))
    recall, precision = (measure_figure(report, name).value for name in ("recall_all", "precision"))
    drawing = draw_curve("curve", title, thin_points(points), recall, precision)
    return Chart(title, sentence, drawing, numbers, is_labelled=False)


def thin_points(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Return the points of a long curve that are needed to draw it."""
    columns = [(point.recall, point.precision, point.safe_kept) for point in points]
    return [points[i] for i in choose_corners(np.array(columns, np.float64).reshape(-1, 3), _MAX_DRAWN)]


def _choose_target(points: Sequence[CurvePoint], target: float) -> TableRow:
    enough = [point for point in points if point.recall >= target]
    name = f"{100 * target:.4g}{SPACE}%"
    if not enough:
        return TableRow((name, *[DASH] * 4))
    best = max(enough, key=lambda point: (point.safe_kept, point.precision, -point.recall))
    shares = (percent(best.recall), percent(best.precision), percent(best.safe_kept))
    return TableRow((name, *shares, _("masks all") if best.threshold is None else number(best.threshold)))


def _chart_reliability(found: Reliability) -> Chart:
    title = _("Reliability of the probabilities")
    sentence = _("On the diagonal, 80 of 100 words with a probability of 80{space}% are safe.", space=SPACE)
    if any(row.interval is not None for row in found.bins):
        sentence += _(" Intervals treat words as independent and are too narrow.")
    if found.unknown:
        sentence += _(" Left out: {nouns} without a probability.", nouns=count_nouns(found.unknown, "word"))
    if found.expected_calibration_error is not None:
        sentence += _(
            " Expected calibration error: {number}.", number=number(found.expected_calibration_error)
        )
    interval = interval_head(Measure.of(row.safe, row.interval) for row in found.bins)
    head = (_("Probability"), _("Words"), _("Mean probability"), _("Safe"), interval)
    numbers = NumberTable(title, head, tuple(map(_tabulate_bin, found.bins)))
    drawing = draw_reliability("reliability", title, found.bins)
    return Chart(title, sentence, drawing, numbers, is_labelled=False)


def _tabulate_bin(row: ReliabilityBin) -> TableRow:
    safe = Measure.of(row.safe, row.interval)
    ends = _("{number} to {number_2}", number=number(row.low), number_2=number(row.high))
    cells = (number(row.tokens), percent(row.mean_p_safe), percent(safe.value), percent_range(safe))
    return TableRow((ends, *cells))


def show_figures(report: EvaluationReport) -> Section:
    shares = {name: measure_figure(report, name) for name in FIGURE_LABELS}
    rows = []
    methods: dict[tuple[str, str], list[str]] = {}
    for name, share in shares.items():
        label = _(FIGURE_LABELS[name])
        rows.append(TableRow((label, *share_cells(share)), int(FIGURE_LABELS[name][:1].islower())))
    for name in report.intervals:
        share = shares[name]
        if share.method is not None and share.confidence is not None:
            confidence = f"{100 * share.confidence:.4g}{SPACE}%"
            methods.setdefault((share.method.value, confidence), []).append(name)
    head = (_("Figure"), _("Share"), interval_head(shares.values()), _("Part"), _("Of"))
    tables = [NumberTable(_("Overall, with exact counts"), head, tuple(rows))]
    if methods:
        listed = tuple(TableRow((*way, ", ".join(names))) for way, names in methods.items())
        titles = (_("Method"), _("Confidence"), _("Figures, by their names in the JSON report"))
        tables.append(NumberTable(_("Methods of the intervals"), titles, listed, frozenset({1, 2})))
    sentences = (
        _("A word is a run of letters and digits. Of an identifier, only the part inside its marks counts."),
        _("Corrected figures count a missed word as masked if it is on the list of harmless words."),
        _("{dash} means undefined.", dash=DASH),
    )
    return Section("figures", _("All figures"), sentences, tuple(tables))


def show_harmless(report: EvaluationReport) -> Section:
    rows = tuple(
        TableRow((category_label(name), ", ".join(words))) for name, words in sorted(report.harmless.items())
    )
    if not rows:
        sentence = _("The list is empty, so corrected figures correct nothing.")
        return Section("harmless", _("Harmless words"), (sentence,))
    sentence = _(
        "On their own, these words of an identifier point to nobody. Corrected figures forgive them."
    )
    table = NumberTable(_("The list"), (_("In identifiers of the kind"), _("Words")), rows, frozenset({1}))
    return Section("harmless", _("Harmless words"), (sentence,), (table,))


TITLE = N_("What masking caught and what it missed")


def render_page(
    report: EvaluationReport,
    added: Sequence[AddedReport] = (),
    *,
    title: str = TITLE,
    command: str | None = None,
) -> str:
    """Render the page of one evaluation. The same report always gives the same bytes.

    It contains numbers and settings, the harmless list, and the ids of at most 50 documents
    with leaks. No narrative text.
    """
    sections = (
        show_kinds(report),
        show_documents(report),
        show_over_masking(report),
        *show_thresholds(report),
        *show_added(added),
        show_figures(report),
        show_harmless(report),
        show_provenance(report.provenance),
    )
    template = _environment().get_template("report.html.j2")
    return template.render(
        title=_(title),
        facts=_list_facts(report),
        n_missing=len(report.missing),
        headlines=choose_headlines(report),
        reading=_judge_intervals(report),
        sections=sections,
        command=command,
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__, package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(TEMPLATE_TEXTS)
    return environment


def _list_facts(report: EvaluationReport) -> list[str]:
    facts = [
        count_nouns(report.documents, "document"),
        count_nouns(report.tokens, "word"),
        _("{masked_tokens:,} of them masked", masked_tokens=report.masked_tokens),
    ]
    version = report.provenance.get("version")
    return [*facts, f"inverse-deid {version}"] if version is not None else facts


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the intervals."""

    confidences: tuple[str, ...]  # in percent, each once
    unit: str
    n_few: int | None  # the number of units with identifiers if they are too few
    is_alike: bool  # whether all resamples of an interval were equal


def _judge_intervals(report: EvaluationReport) -> Reading:
    overall = [measure_figure(report, name) for name in report.intervals]
    within = [category.measure("recall") for category in list_categories(report)]
    known = [share for share in overall if share.has_interval]
    n_units = report.provenance.get("units_with_phi")
    is_few = bool(known) and isinstance(n_units, int) and n_units < FEW_UNITS
    return Reading(
        tuple(f"{100 * c:.4g}" for c in sorted({share.confidence for share in known if share.confidence})),
        _("patient") if report.provenance.get("intervals_by") == "patient" else _("document"),
        n_units if is_few and isinstance(n_units, int) else None,
        any(share.is_alike for share in [*known, *within]),
    )
