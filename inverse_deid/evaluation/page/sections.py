"""The sections of the page that every report has, from what leaked to how it was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from inverse_deid.core.phi import HYPER_CLASS_OF
from inverse_deid.evaluation.page.blocks import Chart, Headline, Row, Section, Table, without_empty_columns
from inverse_deid.evaluation.page.charts import Bar, histogram, interval_bars, leak_columns
from inverse_deid.evaluation.page.labels import CATEGORY_LABELS, FIGURE_LABELS, KIND_LABELS, plain_label
from inverse_deid.evaluation.page.measures import (
    DASH,
    SPACE,
    Measure,
    counted,
    interval_name,
    mapping,
    number,
    percent,
    percent_range,
    read_measure,
    whole_number,
)
from inverse_deid.evaluation.uncertainty import FEW_UNITS, Method

MAX_IDS = 50
"""Of documents with leaks, at most so many are listed."""

Report = Mapping[str, object]


def figure(report: Report, name: str) -> Measure:
    """One of the overall figures with its interval; undefined if the report does not hold it."""
    intervals = mapping(report.get("intervals"))
    return read_measure(mapping(report.get("figures")).get(name), intervals.get(name))


def headlines(report: Report) -> tuple[Headline, ...]:
    """The four numbers of the top of the page."""
    recall, documents = figure(report, "recall_all"), figure(report, "documents_without_leak")
    precision, kept = figure(report, "precision"), figure(report, "safe_kept")
    return (
        _headline(recall, _recall_words(recall)),
        _headline(documents, _document_words(documents)),
        _headline(precision, _precision_words(precision)),
        _headline(kept, _kept_words(kept)),
    )


def _headline(share: Measure, sentence: str) -> Headline:
    shown = f"{interval_name(share.confidence)} {percent_range(share, 1)}" if share.has_interval else ""
    return Headline(percent(share.value, 1), sentence, shown)


def _recall_words(recall: Measure) -> str:
    if not recall.whole or recall.part is None:
        return "No word of these documents is marked as identifying."
    n_missed = recall.whole - recall.part
    masked = "is masked" if recall.part == 1 else "are masked"
    missed = f"{n_missed:,} were missed" if n_missed > 1 else f"{'one' if n_missed else 'none'} was missed"
    return f"Of {counted(recall.whole, 'identifying word')}, {recall.part:,} {masked}; {missed}."


def _document_words(documents: Measure) -> str:
    if not documents.whole or documents.part is None:
        return "No document holds identifiers."
    return f"In {documents.part:,} of {counted(documents.whole, 'document')} with identifiers nothing leaked."


def _precision_words(precision: Measure) -> str:
    if not precision.whole or precision.part is None:
        return "No word is masked."
    words = counted(precision.whole, "masked word")
    return f"of what is masked identified someone: {precision.part:,} of {words}."


def _kept_words(kept: Measure) -> str:
    if not kept.whole or kept.part is None:
        return "No word of these documents is safe."
    return f"of safe words kept: {kept.part:,} of {kept.whole:,} are still there to read."


@dataclass(frozen=True, slots=True)
class Category:
    """A hyper-class (depth 0) or a fine type in it (depth 1)."""

    name: str
    depth: int
    figures: Mapping[str, object]

    def measure(self, name: str) -> Measure:
        """One of its figures with its interval."""
        intervals = mapping(self.figures.get("intervals"))
        return read_measure(self.figures.get(name), intervals.get(name))

    @property
    def missed(self) -> Measure:
        """Its identifying words that were not masked."""
        return self.measure("recall").complement()

    @property
    def label(self) -> str:
        """Its name in plain words."""
        return CATEGORY_LABELS.get(self.name, plain_label(self.name))


def categories(report: Report) -> list[Category]:
    """Hyper-classes with PHI, each followed by its fine types with PHI if it has several."""
    found = mapping(report.get("categories"))
    hyper, fine = mapping(found.get("hyper")), mapping(found.get("fine"))
    listed = []
    for name, figures in hyper.items():
        members = [t.value for t, group in HYPER_CLASS_OF.items() if group.value == name and t.value in fine]
        listed.append(Category(name, 0, mapping(figures)))
        if len(members) > 1:
            listed += [Category(member, 1, mapping(fine[member])) for member in members]
    return [category for category in listed if _has_phi(category)]


def _has_phi(category: Category) -> bool:
    return any(category.measure(name).whole for name in ("documents_without_leak", "recall"))


def leaks_section(report: Report) -> Section:
    """What was missed, by kind of identifier."""
    title = "What was missed, by kind of identifier"
    listed = categories(report)
    if not listed:
        return Section("kinds", title, ("No document holds identifiers.",))
    blocks: list[Chart | Table] = []
    groups, kinds = (_by_misses([row for row in listed if row.depth == depth]) for depth in (0, 1))
    leaking = [kind for kind in kinds if kind.missed.part]
    n_others = len(kinds) - len(leaking)
    others = f"{counted(n_others, 'kind')} without a missed word: see the table." if n_others else ""
    if groups:
        blocks.append(_missed_chart("groups", "By group", groups))
    if leaking:
        blocks.append(_missed_chart("fine", "Within the groups", leaking, others))
    blocks.append(_category_table(listed))
    sentences = ["Bars show the share of identifying words that was missed: shorter is better."]
    if any(map(_is_drawn_from_few, listed)):
        sentences.append(
            f"Intervals of kinds that fewer than {FEW_UNITS} documents hold (see the table) are too narrow."
        )
    return Section("kinds", title, tuple(sentences), tuple(blocks))


def _is_drawn_from_few(category: Category) -> bool:
    """Whether its interval comes from drawing fewer documents than an interval needs."""
    n_documents = category.measure("documents_without_leak").whole
    is_drawn = category.measure("recall").method == Method.BOOTSTRAP
    return is_drawn and n_documents is not None and n_documents < FEW_UNITS


def _by_misses(listed: Sequence[Category]) -> list[Category]:
    """Those with most missed words first, then by label; categories without words are left out."""
    counted_ones = [category for category in listed if category.measure("recall").whole]
    return sorted(counted_ones, key=lambda category: (-(category.missed.part or 0), category.label))


def _missed_chart(key: str, title: str, ranked: Sequence[Category], others: str = "") -> Chart:
    bars = [Bar(category.label, category.missed) for category in ranked]
    name = f"Missed words, {title.lower()}"
    drawing = interval_bars(key, name, bars, counted="missed of all", kind="bar-missed")
    sentence = f"Most missed words first. {others}"
    if any(bar.share.has_interval for bar in bars):
        sentence = f"Most missed words first; the line across a bar's end is its interval. {others}"
    return Chart(
        title, sentence.strip(), drawing, share_table(name, "Kind", bars, "Missed"), is_labelled=True
    )


def share_table(caption: str, first: str, bars: Sequence[Bar], part: str) -> Table:
    """The numbers of a chart of bars."""
    rows = tuple(Row((bar.label, *share_cells(bar.share))) for bar in bars)
    return Table(caption, (first, "Share", interval_head([bar.share for bar in bars]), part, "Of"), rows)


def interval_head(shares: Iterable[Measure]) -> str:
    """The head of a column of intervals, with their confidence if it is the same for all."""
    confidences = {share.confidence for share in shares if share.has_interval}
    name = interval_name(confidences.pop() if len(confidences) == 1 else None)
    return name[:1].upper() + name[1:]


def share_cells(share: Measure) -> tuple[str, str, str, str]:
    """A share as four cells: percent, interval, part, whole."""
    return percent(share.value), percent_range(share), number(share.part), number(share.whole)


def _category_table(listed: Sequence[Category]) -> Table:
    interval = interval_head(category.measure("recall") for category in listed)
    recall = ("Masked", interval, "Corrected", "Words", "Missed")
    head = ("Kind", "Type", *recall, "Documents", "Without leak", "Identifiers")
    return Table("Every kind of identifier", head, tuple(map(_category_row, listed)), frozenset({1}))


def _category_row(category: Category) -> Row:
    recall, documents = category.measure("recall"), category.measure("documents_without_leak")
    cells = (
        category.label,
        category.name,
        percent(recall.value),
        percent_range(recall),
        percent(category.measure("corrected_recall").value),
        number(recall.whole),
        number(category.missed.part),
        number(documents.whole),
        percent(documents.value),
        percent(category.measure("entities_masked").value),
    )
    return Row(cells, category.depth)


@dataclass(frozen=True, slots=True)
class Leaks:
    """How many words a document with identifying words leaked."""

    doc_id: str
    n_words: int
    n_missed: int


def leaks_by_document(report: Report) -> list[Leaks]:
    """Of the documents with identifying words, in the order of the report."""
    listed = report.get("by_document")
    rows = [mapping(row) for row in listed] if isinstance(listed, Sequence) else []
    found = []
    for row in rows:
        n_words, n_recalled = whole_number(row.get("phi")), whole_number(row.get("recalled"))
        if n_words and n_recalled is not None:
            found.append(Leaks(str(row.get("id", DASH)), n_words, n_words - n_recalled))
    return found


def documents_section(report: Report) -> Section:
    """How the leaks spread over documents, and which documents leaked."""
    found = leaks_by_document(report)
    if not found:
        return Section("documents", "Leaks by document", ("No document holds identifying words.",))
    columns = leak_columns([doc.n_missed for doc in found])
    title = "Missed words a document"
    chart = Chart(
        title,
        f"{counted(len(found), 'document')} with identifying words.",
        histogram("histogram", title, columns, axis="missed words in a document", tail="bar-missed"),
        Table(title, ("Missed words", "Documents"), tuple(Row((name, number(n))) for name, n in columns)),
        is_labelled=True,
    )
    leaking = sorted((doc for doc in found if doc.n_missed), key=lambda doc: (-doc.n_missed, doc.doc_id))
    return Section(
        "documents",
        "Leaks by document",
        ("One leaked word is enough to expose a document.",),
        (chart, *_leaking_table(leaking)),
    )


def _leaking_table(leaking: Sequence[Leaks]) -> Iterator[Table]:
    if not leaking:
        return
    shown = leaking[:MAX_IDS]
    n_more = len(leaking) - len(shown)
    caption = "Documents with leaks, most first"
    if n_more:
        caption += f"; {n_more:,} more are in the JSON report"
    rows = tuple(Row((doc.doc_id, number(doc.n_missed), number(doc.n_words))) for doc in shown)
    yield Table(caption, ("Document", "Missed", "Identifying words"), rows)


def over_masking_section(report: Report) -> Section:
    """The safe words that were masked, by kind."""
    shares = {name: read_measure(share) for name, share in mapping(report.get("over_masking")).items()}
    found = {name: share for name, share in shares.items() if share.whole}
    bars = [Bar(KIND_LABELS.get(name, plain_label(name)), share) for name, share in found.items()]
    bars.sort(key=lambda bar: (-(bar.share.part or 0), bar.label))
    title = "Safe words that were masked"
    blocks: tuple[Chart, ...] = ()
    if bars:
        drawing = interval_bars("overmasking", title, bars, counted="masked of all", kind="bar-quiet")
        numbers = without_empty_columns(share_table(title, "Kind of word", bars, "Masked"))
        blocks = (Chart("By kind of word", "Most masked words first.", drawing, numbers, True),)
    sentence = "What is masked without need is lost to the reader, but exposes nobody."
    return Section("overmasking", "What was masked without need", (sentence,), blocks)


def figures_section(report: Report) -> Section:
    """All overall figures."""
    found = mapping(report.get("figures"))
    names = [
        *(name for name in FIGURE_LABELS if name in found),
        *(n for n in found if n not in FIGURE_LABELS),
    ]
    labels = [FIGURE_LABELS.get(name, plain_label(name)) for name in names]
    shares = [figure(report, name) for name in names]
    rows = [
        Row((label, *share_cells(share)), int(label[:1].islower()))
        for label, share in zip(labels, shares, strict=True)
    ]
    head = ("Figure", "Share", interval_head(shares), "Part", "Of")
    table = Table("Overall, with exact counts", head, tuple(rows))
    sentences = (
        "A word is a run of letters and digits; of an identifier, what lies inside its marks.",
        "Corrected figures count a missed word as masked if it stands on the list of harmless words.",
        f"{DASH} stands for what is undefined.",
    )
    return Section("figures", "All figures", sentences, (table, *_method_table(report)))


def _method_table(report: Report) -> Iterator[Table]:
    """Which intervals were found in which way."""
    methods: dict[tuple[str, str], list[str]] = {}
    for name in mapping(report.get("intervals")):
        share = figure(report, name)
        if share.has_interval:
            confidence = DASH if share.confidence is None else f"{100 * share.confidence:.4g}{SPACE}%"
            methods.setdefault((share.method or DASH, confidence), []).append(name)
    rows = tuple(Row((*way, ", ".join(names))) for way, names in methods.items())
    if rows:
        head = ("Method", "Confidence", "Figures, as the JSON report names them")
        yield Table("Methods of the intervals", head, rows, frozenset({1, 2}))


def harmless_section(report: Report) -> Section:
    """The list behind the corrected figures."""
    found = mapping(report.get("harmless"))
    rows = tuple(
        Row((CATEGORY_LABELS.get(name, plain_label(name)), ", ".join(map(str, words))))
        for name, words in sorted(found.items())
        if isinstance(words, Sequence) and not isinstance(words, str)
    )
    if not rows:
        return Section(
            "harmless", "Harmless words", ("The list is empty, corrected figures correct nothing.",)
        )
    sentence = "Missed alone, these words of an identifier point to nobody; corrected figures forgive them."
    table = Table("The list", ("In identifiers of the kind", "Words"), rows, frozenset({1}))
    return Section("harmless", "Harmless words", (sentence,), (table,))
