"""The dates of one case: finds them in its masked texts and replaces them as the settings say.

Dates of birth are found by the words directly before or after a date, in the languages whose months are
read. A cue refers to the date that follows it in the same sentence, or to the one directly before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from datetime import date

from inverse_deid.replacement.case_texts import CaseTexts
from inverse_deid.replacement.dates.layouts import find_readings
from inverse_deid.replacement.dates.parts import partial
from inverse_deid.replacement.dates.policies import (
    DatePolicy,
    MaskedDates,
    RelativeDays,
    YearDates,
    relative_days,
    shift_dates,
)
from inverse_deid.replacement.dates.reading import KnownDates, case_dates
from inverse_deid.replacement.masked_words import MaskedWords, Proposal
from inverse_deid.replacement.settings import CaseSettings, DateMode

_WORDS = (
    r"(?<![a-z])(?:still)?born(?![a-z])|(?<![a-z])brn(?![a-z])",
    r"(?:birth|brith|birht|bitrh|bith(?=\W{0,2}date))(?!\W+(?:control|defects?|rates?)\b)",
    r"(?<![a-z])b['\u2019 -]?day(?![a-z])|(?<![a-z])b[ ._-]?date(?![a-z])",
    r"(?<![a-z])[dy][./ ]?\s?o[./ ]?\s?b(?![a-z])(?:(?<=\.b)\.)?",
    r"(?<!mg )(?<!ml )(?<!mcg )(?<!iu )(?<![A-Za-z])(?-i:BD|FN|F\.\s?N\.)(?=[\s:=.]{0,3}\d)",
    r"(?<![a-z])geb(?:oren|urts|\b\.?)|geboorte",
    r"(?<![a-z])n[\u00e9e]\(?e?\)?\W{1,3}(?:le|en)\b|naissance|(?<![a-z])DDN(?![a-z])",
    r"(?<![a-z])nacid[oa]|nacimiento|(?<![a-z])f(?:echa|\.)?\s?(?:de\s)?nac(?![a-z])\.?",
    r"(?<![a-z])nat[oa](?:\s(?:a|ad|in)\s[^.;\n\d]{1,30}?)?\W{1,3}(?:il|l['\u2019]|nel)|nascita",
    r"(?<![a-z])nascid[oa]|nascimento|(?<![a-z])nasc(?![a-z])\.?",
    r"(?<![a-z])f[\u00f6\u00f8]d(?:d|t|else)?(?![a-z])",
    r"(?<![a-z])ur(?:\.|odz)|(?<![a-z])ur(?=\s+\d)",
    r"(?<![a-z])c[ao]me\sinto\sth(?:e|is)\sworld",
    r"(?<![a-z])day\s(?:of\slife\W{0,3}(?:[01]|one|zero)|(?:[01]|one|zero)\sof\slife)(?![a-z\d])",
    r"(?<![a-z])(?:premature|preterm)\b(?=[^.;\n]{0,20}\bweeks?\b)",
    r"(?<![a-z])deliver(?:ed|y)(?![a-z])",
    r"(?<![a-z])(?:newborn|neonate)(?![a-z])(?:\s(?:girl|boy|baby|infant|twin|male|female)(?![a-z]))?",
)
_CUE = re.compile("|".join(_WORDS), re.IGNORECASE)
_VERB = re.compile(r"(?:still)?born|b?ith|birt?ht?|brith|brn|c[ao]me|deliver|day", re.IGNORECASE)
_DELIVERY = re.compile("deliver", re.IGNORECASE)
_OF_A_BABY = re.compile(
    r"\b(?:bab(?:y|ies)|infants?|girls?|boys?|child(?:ren)?|newborns?|neonates?|twins?|son|daughter|"
    r"section|c-?section|ca?esarean)\b",
    re.IGNORECASE,
)
_CHILD = (
    r"(?:bab(?:y|ies)|infants?|newborns?|twins?|triplets|girls?|boys?|sons?|daughters?|child|children|"
    r"little\sone)"
)
_BIRTH_EVENTS = (
    r"deliver(?:ed|y|ies|s)?(?![a-z])|\bc\W?sections?\b|\bca?esa?[er]r?[ei]?an\w*",
    r"\b(?:emergency|elective|repeat)\ssection\b|\bsectio\b|\b(?:vacuum|forceps)\sextraction\b|\bventouse\b",
    r"\b(?-i:LSCS|LUSCS|EMCS|ELCS|EmCS|ElCS|SVD|NSVD|SVB|VBAC|FTND|C/S|EDD|EDC)\b",
    r"\bpart(?:us|urition)\b|\bconfinement\b|\bchild-?birth\b|\bwaters?\sbroke\b|\bmembranes\sruptured\b",
    r"(?<!hard )(?<!manual )\blabou?r\b(?!\s(?:day|intensive|force))",
    rf"\b{_CHILD}\b[^.;\n\d]{{0,40}}\b(?:arriv(?:ed|al|es)|came(?!\s(?:to|in|with|for|back)\b)|joined|"
    r"(?:was|were)\s(?:here|out|welcomed)|made\s(?:her|his|their|an)\s(?:entrance|appearance|arrival))",
    rf"\bwelcomed?\b[^.;\n\d]{{0,20}}\b{_CHILD}\b",
    r"\bbecame\s(?:a\s)?(?:mother|father|parents?|mum|mom|dad|grand\w+)\b",
    r"\b(?:saw|seen)\s(?:the\s)?light\b|\bentered\s(?:the|this)\sworld\b|\bapgars?\b",
    r"\b(?:fe)?male\s(?:infant|newborn)\b|\blive\s(?:male|female|birth|born|infant|baby|boy|girl)\b",
    r"\bdue\sdate\b|\bbaby(?:\s(?:is|was))?\sdue\b|\bexpected\sdate\sof\b",
)
_BIRTH_EVENT = re.compile("|".join(_BIRTH_EVENTS), re.IGNORECASE)
_GOODS = (
    r"(?:packages?|parcels?|orders?|drugs?|medic\w+|doses?|products?|vaccines?|suppl\w+|letters?|mail|equipment|oxygen|shocks?|kits?|"
    r"food|pens?|pumps?|devices?|samples?|goods|shipments?|prescriptions?|tablets?|insulin|reports?|results?|speech|talk)"
)
_OF_GOODS = re.compile(
    rf"\b{_GOODS}\s(?:(?:was|were|is|are|been|being|had\sbeen|to\sbe)\s)?deliver|\bdeliver(?:ed|y|ies|s)?\s(?:of\s|the\s|a\s|an\s|his\s|her\s)*{_GOODS}\b|"
    r"\bdelivered\sto\s(?:the\s|her\s|his\s)?(?:home|house|clinic|pharmacy|site|ward|door|hospital|patient|address)\b|"
    r"\bdelivery\s(?:system|device|note|driver|man|van|service)\b",
    re.IGNORECASE,
)
_BETWEEN_EVENT_AND_DATE = re.compile(
    r"(?:[\s:=,()>\[\]\d/-]|\b(?:on|in|at|was|is|were|performed|done|date|of|the|a|an|her|his|via|by|live|healthy|male|female|due|for|"
    r"infant|baby|boy|girl|twins?|section|delivery|term|emergency|elective|began|started|induced|onset|occurred|took|place|early)\b){0,24}",
    re.IGNORECASE,
)
_ONLY_BESIDE = re.compile("newborn|neonate", re.IGNORECASE)
_SIGN = re.compile(
    r"(?:(?<![A-Za-z0-9])b\.?|\(\s?\*|(?<![A-Za-z0-9])[FMfm]\s?/|"
    r"\b[Aa]ged?\W{1,2}\d{1,3}(?:\s?(?:y/?o|ye?a?rs?|m|months?|weeks?|days?))?\s?\()\s{0,2}$"
)
_TIGHT = re.compile(
    r"\w{0,20}+\.?+[\s:=.>,\"'|(\[*_-]{0,12}+(?:(?:on|in|is|was|the|value|am|le|el|il|den|dnia)\b\W{1,3}){0,3}",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"\w{0,20}+\.?+[\s:=.>,\"'|()\[\]*_-]{0,12}+(?:(?!\.\s+[^\W\d_a-z])[^;!?\n]){0,60}")
_LISTED = re.compile(r"[^,|>]*")
_AFTER_DATE = re.compile(
    r"[\s(\[,=:<>|\"'-]{0,4}(?:(?:is|was|are|were|being)\s)?(?:(?:\w{2,12}\s){0,2}as\s)?"
    r"(?:(?:the|his|her|their|(?:patient|child|baby|mother)['\u2019]?s?)\s)?(?:(?:date|day|year)s?\s+of\s+)?",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(r"[\s|\"']{0,2}(?:[(\[=]|(?:is|was|are|were)\b)", re.IGNORECASE)
_APART = re.compile(r"\s*[,;|(\[\n\t]")
_STOP = re.compile(r"(?<![\s.]\w)(?<!approx)(?<!circa)(?<!\best)(?<!\b\w\w)[.!?]\s+(?![a-z])")
_MAX_BEFORE, _MAX_AFTER = 60, 120
_AND = re.compile(
    r"\s*(?:[,/;&+]|(?:,\s*)?\b(?:and|or|to|y|et|und|oder|ou|o|e)\b)\s*"
    r"(?:(?:and|the|her|his|their|my)\s+){0,2}"
    r"(?:(?:child|baby|infant|twin|mother|father|sister|brother|son|daughter|sibling)(?:['\u2019]?s)?\s*[:=]?\s*"
    r"(?:(?:on|is|was)\s+)?)?",
    re.IGNORECASE,
)
_AND_BACK = re.compile(r"\s*(?:/|&|\b(?:and|or)\b)\s*", re.IGNORECASE)
_COLUMNS = re.compile(r"[\t|;,]|\s{2,}")
_TABLE = frozenset("\t|")
_N_LINES = 100

Dates = Sequence[tuple[int, int]]


def born_on(text: str, dates: Dates) -> set[int]:
    """Return which dates of a text (half-open ranges, in order) are dates of birth.

    If a cue between two dates can refer to either, both are.

    Returns:
        Positions in `dates`.

    Example:
        >>> born_on("DOB 12 May 1962, seen 3 Oct 2019", [(4, 15), (22, 32)])
        {0}
    """
    if not dates:
        return set()
    ends = [end for _, end in dates]
    found = {i for i, (start, _) in enumerate(dates) if _SIGN.search(text, max(0, start - 30), start)}
    for cue in _CUE.finditer(text):
        if _DELIVERY.match(cue[0]) and not _OF_A_BABY.search(text, *_sentence_around(text, cue.start())):
            continue
        after = bisect_right(ends, cue.start())
        found.update(_dates_of_cue(text, dates, cue, after))
    found.update(_dates_of_events(text, dates))
    found.update(_dates_under_headings(text, dates))
    return _add_joined(text, dates, found)


def _dates_of_cue(text: str, dates: Dates, cue: re.Match[str], after: int) -> Iterator[int]:
    start = dates[after][0] if after < len(dates) else -1
    start = start if start - cue.end() <= _MAX_AFTER else -1
    is_tight = start >= cue.end() and _TIGHT.fullmatch(text, cue.end(), start) is not None
    is_loose = start >= cue.end() and _LOOSE.fullmatch(text, cue.end(), start) is not None
    if _ONLY_BESIDE.match(cue[0]):
        yield from [after] if is_tight and not _STOP.search(text, cue.end(), start) else []
        return
    end = dates[after - 1][1] if after else -1
    is_after_date = after > 0 and _AFTER_DATE.fullmatch(text, end, cue.start()) is not None
    is_apart = is_after_date and _APART.match(text, end) is not None
    is_sure = is_tight and _LISTED.fullmatch(text, cue.end(), start) is not None
    is_beyond = start >= cue.end() and _STOP.search(text, cue.end(), start) is not None
    if is_sure and not is_beyond and (is_apart or not is_after_date):
        yield after
        return
    says_so = is_after_date and _SAYS_SO.match(text, end) is not None
    is_before = is_after_date and (says_so or not (is_tight and is_apart and not is_beyond))
    if after > 0 and not is_after_date and _VERB.match(cue[0]):
        is_apart_by_sign = any(sign in text[end : cue.start()] for sign in ";\n")
        ends_sentence = is_apart_by_sign or _STOP.search(text, end, cue.start()) is not None
        is_before = cue.start() - end <= _MAX_BEFORE and not ends_sentence
    if is_before:
        yield after - 1
    if (is_tight or is_loose) and not (says_so and not is_tight) and not (is_beyond and is_before):
        yield after


def _dates_of_events(text: str, dates: Dates) -> Iterator[int]:
    # `C-section on`, `twins arrived`, `delivered`.
    # The date after the event in its sentence counts, and the one before it unless nothing but a few words
    # separates the event from the date after it.
    starts, ends = [start for start, _ in dates], [end for _, end in dates]
    for event in _BIRTH_EVENT.finditer(text):
        begin, stop = _sentence_around(text, event.start())
        if _DELIVERY.match(event[0]) and _OF_GOODS.search(text, max(begin, event.start() - 40), stop):
            continue
        after, before = bisect_left(starts, event.end()), bisect_right(ends, event.start()) - 1
        is_after = after < len(dates) and starts[after] - event.end() <= _MAX_AFTER and starts[after] < stop
        if is_after:
            yield after
        is_close = is_after and _BETWEEN_EVENT_AND_DATE.fullmatch(text, event.end(), starts[after])
        if not is_close and before >= 0 and ends[before] > begin:
            yield before


def _sentence_around(text: str, place: int) -> tuple[int, int]:
    # Never more than a line.
    begin = max((stop.end() for stop in _STOP.finditer(text, max(0, place - 300), place)), default=0)
    begin = max(begin, text.rfind("\n", 0, place) + 1, place - 300)
    stop = _STOP.search(text, place, place + 300)
    return begin, min(stop.start() if stop else place + 300, len(text))


def _dates_under_headings(text: str, dates: Dates) -> Iterator[int]:
    # Below each line of headings of which one is a cue.
    starts = [start for start, _ in dates]
    seen = -1
    for cue in _CUE.finditer(text):
        if cue.start() < seen:
            continue
        begin, end = text.rfind("\n", 0, cue.start()) + 1, text.find("\n", cue.end())
        if end < 0:
            return
        seen = end
        if not text[begin:end].rstrip().endswith(":"):
            yield from _dates_in_rows_below(text, starts, begin, end)


def _dates_in_rows_below(text: str, starts: Sequence[int], begin: int, end: int) -> Iterator[int]:
    # They share a column separator with it.
    if bisect_left(starts, begin) < bisect_left(starts, end):
        return
    columns = _columns(text, begin, end)
    for _ in range(_N_LINES if columns else 0):
        begin, end = end + 1, text.find("\n", end + 1)
        end = len(text) if end < 0 else end
        if begin >= len(text):
            return
        here = range(bisect_left(starts, begin), bisect_left(starts, end))
        shared = columns & _columns(text, begin, end)
        is_row = bool(shared) if here else bool(shared & _TABLE) and not _CUE.search(text, begin, end)
        if not is_row and any(map(str.isalnum, text[begin:end])):
            return
        yield from here


def _columns(text: str, begin: int, end: int) -> set[str]:
    # A space means two or more.
    return {sign[0] for sign in _COLUMNS.findall(text, begin, end)}


def _add_joined(text: str, dates: Dates, found: set[int]) -> set[int]:
    # *and*, *or* or a sign of a list joins them.
    for i in range(len(dates) - 1):
        if i in found and _AND.fullmatch(text, dates[i][1], dates[i + 1][0]):
            found.add(i + 1)
    for i in range(len(dates) - 1, 0, -1):
        if i in found and _AND_BACK.fullmatch(text, dates[i - 1][1], dates[i][0]):
            found.add(i - 1)
    return found


class DateReplacer:
    """Replaces the dates of one case (a `Replacer`); those of one text tell how to read another's.

    Raises:
        ConfigurationError: A shift without a key, or a case without an id.
    """

    def __init__(self, case: CaseTexts, texts: Sequence[MaskedWords], settings: CaseSettings) -> None:
        self.policy: DatePolicy = MaskedDates()
        self._statement = ""
        self._found: dict[MaskedWords, _DatesOfText] = {}
        if settings.dates is DateMode.MASK:
            return
        today = case.today or settings.today
        found = [_DatesOfText(text, today) for text in texts]
        self._found = dict(zip(texts, found, strict=True))
        dates = case_dates(
            list(dict.fromkeys(words for one in found for words in one.words)),
            today=today,
            day_first=settings.day_first,
            structured=case.date_fields,
            births=(*case.births, *(one.words[number] for one in found for number in sorted(one.births))),
            span_years=settings.date_span_years,
        )
        hidden = {one.words[number] for one in found for number in one.hidden}
        self.policy = policy_of(case, dates, settings, hidden)
        if isinstance(self.policy, RelativeDays):
            self._statement = self.policy.statement

    def propose(self, text: MaskedWords) -> list[Proposal]:
        """Propose words for the dates of one text; the first of a case says what Day 0 is."""
        found = self._found.get(text)
        proposals: list[Proposal] = []
        for number, span in enumerate(found.spans if found else ()):
            if found is None or number in found.hidden:
                continue
            words = self.policy.replacement(found.words[number])
            if words is None:
                continue
            if self._statement:
                words, self._statement = f"{words} ({self._statement})", ""
            proposals.append(Proposal(span.first, span.stop, words, "date"))
        return proposals


class _DatesOfText:
    """The dates of one text; `births` and `hidden` (births, words on the deny list) are numbers of them."""

    def __init__(self, text: MaskedWords, today: date) -> None:
        self.spans = text.date_spans(lambda words: bool(find_readings(words, today)))
        self.words = [text.words(span) for span in self.spans]
        self.births = born_on(text.masked.tokens.text, [(span.start, span.end) for span in self.spans])
        self.hidden = self.births | {n for n, span in enumerate(self.spans) if text.is_denied(span)}


def policy_of(
    case: CaseTexts, dates: KnownDates, settings: CaseSettings, hidden: Collection[str] = ()
) -> DatePolicy:
    """Return the date policy of a case; `hidden` words of dates cannot be anchors.

    Raises:
        ConfigurationError: A shift without a key, or a case without an id.
    """
    match settings.dates:
        case DateMode.YEAR:
            return YearDates(dates)
        case DateMode.RELATIVE_DAY:
            return relative_days(dates, *_anchor(case, dates), hidden=hidden)
        case DateMode.SHIFT:
            return shift_dates(dates, settings.key or b"", case.id, _anchor(case, dates)[0])
        case _:
            return MaskedDates()


def _anchor(case: CaseTexts, dates: KnownDates) -> tuple[date | None, str]:
    # The first dose, or the onset if the dose is a birth or far before the onset.
    given = () if case.anchor is None else ((case.anchor, case.anchor_name),)
    days = [(day, name) for day, name in (*given, *case.other_anchors) if not dates.is_birth(partial(day))]
    near = [(day, name) for day, name in days if not dates.is_far(partial(day), days[-1][0])]
    return near[0] if near else (None, "")
