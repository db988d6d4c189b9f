r"""Closed expressions of courses, roles and clinical shorthand: `after 4 days`, `Reporter: nurse.`, `dec appetite`.

As those of `facts.py`, their tokens are kept from a far lower probability on (docs/decisions/0019). No pattern
has a place for free words, for a number of four digits or more, or for years: they may be ages over 89.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.rules.patterns.anchors import SPACES, Anchor

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
NO_LABEL = "".join(
    rf"(?<!\b{label}{sign} )"
    for label in (
        "mrn", "no", "nr", "number", "id", "record", "account", "acct", "case", "file", "nhs", "ssn", "room", "ward",
        "policy", "phone", "tel", "ext",
    )
    for sign in ("", ":", r"\.")
)  # fmt: skip
"""Before a value without a test: it would be an identifier with a unit after it."""
HOURS_IN_WORDS = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"

_NO_DATE_BEFORE = "".join(
    rf"(?<!\b{word} )"
    for word in (
        "in", "of", "on", "since", "from", "to", "until", "till", "by", "before", "after", "during", "through", "last",
        "this", "next", "early", "mid", "late", "end", "each", "every", "seen", "dated",
    )
)  # fmt: skip
"""Before a word that may be a month."""
_WHAT_DECREASES = (
    r"(?:appetite|intake|po|oral|feeding|eating|fluids?|feeling|sensation|sensory|energy|activity|strength|grip|tone|rom|"
    r"range|mobility|movements?|motion|gait|vision|visual|hearing|speech|vocabulary|swelling|redness|erythema|size|pain|"
    r"urine|urinary|uop|output|loc|consciousness|alertness|responsiveness|reflexes|dtrs?|memory|concentration|sleep|bp|hr|"
    r"pulse|o2|oxygen|sats?|sao2|spo2|breath\ssounds|bs|bowel\ssounds|fetal|foetal|libido|weight|wt|fever|temp|platelets?|"
    r"plts?|wbc|hgb|hct|hb|renal|function|tears)\b"
)
_EMERGENCY = r"(?:911|999|112)(?![\w/-]|[.,:]\d)"
_CALLED = "".join(
    rf"(?<=\b{word} )|"
    for word in ("called", "call", "calling", "dialed", "dialled", "rang", "phoned", "ring", "activated")
).rstrip("|")
_WORKERS = r"(?:physician|doctor|pharmacist|nurse|midwife|dentist|paramedic|consumer)"
_LAYPEOPLE = r"(?:patient|parent|mother|father|relative|carer|caregiver|consumer)"
_REPORTERS = rf"(?:{_WORKERS}|{_LAYPEOPLE}|health\s?care\s(?:professional|provider)|hcp|lawyer|investigator)"
"""Not `GP`, which may be initials."""
_SMALL_NUMBERS = (
    rf"[1-9]\d?|{HOURS_IN_WORDS}|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty"
)
_FEW = rf"(?:{_SMALL_NUMBERS}|(?:a\s)?(?:few|couple\sof)|several)"
_FIRST_OF_FEW = rf"(?:{_SMALL_NUMBERS}|a|few|couple|several)"
_TIME_UNIT = r"(?:min(?:ute)?s?|h(?:(?:ou)?rs?)?|days?|nights?|w(?:ee)?ks?|months?)"
_COUNT_OF_TIME = rf"{_FEW}(?:\s?(?:-|\u2013|to|or)\s?{_FEW})?\s?{_TIME_UNIT}\b"
_NO_AGE_AFTER = r"(?!-|['\u2019]|\s?(?:old|of\s(?:age|life)|shots?|vacc\w*|immuni\w*|boosters?|checks?|check-?ups?|well|visits?)\b)"
_EARLY = r"(?:[1-9](?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)"
_DAY_OF_COURSE = (
    r"(?:day|night|morning|evening|afternoon|week|month|dose|injection|infusion|tablet|cycle|course|visit)"
)
_NO_MONTH_AFTER = rf"(?!\s(?:of|in)\b|,?\s(?:of\s)?{MONTH}|['\u2019])"
_OF_PAIN = r"(?:pain|headaches?|migraine|discomfort|itch(?:ing)?|pruritus|cramps?|soreness|tenderness|severity|intensity)"
_OF_MUSCLE = (
    r"(?:power|strength|grip|(?:dorsi|plantar)?flexion|extension|abduction|adduction|deltoids?|biceps|triceps|quadriceps|"
    r"hamstrings|iliopsoas)"
)
_ELEMENT = r"(?-i:(?:C\.[1-5]|D\.(?:10|[1-9])|E\.i|F\.r|G\.k|H\.[1-5])(?:\.(?:\d{1,2}[abc]?|[rik])){1,4})"
"""The number of an element of an individual case safety report, ICH E2B(R3)."""

SHORTHAND: Mapping[str, str] = MappingProxyType(
    {
        "is-decreased": rf"{_NO_DATE_BEFORE}(?<!\d )(?<![\d.,-])(?-i:\bdec)(?=\s(?:in\s)?{_WHAT_DECREASES})",
        "in-salutation": r"\bdear\s(?:doctor|dr|sirs?|madam|colleagues?)(?:\s?(?:/|or|and)\s?(?:sirs?|madam|doctor|colleagues?))?"
        r"(?=\s?(?:[,:;!\r\n]|\Z))",
        "is-emergency-number": rf"{NO_LABEL}(?:(?:{_CALLED}){_EMERGENCY}(?!\s(?-i:[A-Z]))|(?<![\w/.,#-]){_EMERGENCY}"
        r"(?=\s(?:(?:was|were)\s)?(?:called|activated|dispatched|ambulance|crew|operator|responders?)\b))",
        "is-reporter": rf"\b(?:reporter(?:\s(?:type|qualification|occupation))?|reported\sby|notifier)\s?[:=]\s?{_REPORTERS}"
        rf"(?=\s?(?:[.,;|)(/\r\n]|\Z))|\b{_WORKERS}\s?\(\s?{_LAYPEOPLE}\s?\)",
        "in-time-course": rf"\b(?:after|for|within|over|lasted|lasting|another|following)\s(?:about\s|approximately\s|approx\s|only\s|"
        rf"the\s(?:first|last|next|past|following)\s)?{_COUNT_OF_TIME}{_NO_AGE_AFTER}|"
        rf"(?<![\w.,/#:-]){_COUNT_OF_TIME}\s(?:later|ago|after|before|following|post|prior|into|earlier|apart)\b",
        "in-day-of-course": rf"\b(?:on|by|in|until|till|after|since)\sthe\s{_EARLY}(?:\s(?:and|or|to)\s{_EARLY})?\s{_DAY_OF_COURSE}\b"
        rf"{_NO_MONTH_AFTER}|\b(?:on|by|until|till|post-?op(?:erative)?)\sday\s(?:[1-9]\d?|{HOURS_IN_WORDS})(?![\w/]|[.,:-]\d)"
        rf"{_NO_MONTH_AFTER}",
        "in-score-of-ten": rf"\b{_OF_PAIN}(?:\s(?:was|is|rated|rating|scored?|scale|level|severity|intensity|a|as|currently|of)\b){{1,4}}\s"
        r"(?:10|\d)(?:\s?(?:-|\u2013|to)\s?(?:10|\d))?/10(?![\w/]|[.-]\d)",
        "in-score-of-ten-before": rf"(?=[\d\s\u2013-]{{1,7}}/10){_NO_DATE_BEFORE}(?<![\w.,/-])(?:10|\d)(?:\s?(?:-|\u2013)\s?(?:10|\d))?/10(?=,?\s(?:in\s(?:severity|intensity)|"
        r"(?:on\s(?:the\s)?)?pain\sscale|severity|intensity|at\s(?:its\s)?worst|non-?radiating|with\sno\sradiation)\b)",
        "in-grade-of-muscle": rf"\b{_OF_MUSCLE}(?:\s(?:was|is|of|now|only|mrc|grade|left|right|bilaterally)\b){{0,3}}\s[0-5][+-]?/5(?![\w/]|[.-]\d)",
        "is-abbreviated-place": r"(?<=\bthe )(?-i:E\.R|E\.D|I\.C\.U)(?![\w-]|\.\w)|(?<![\w&])(?-i:A&E)(?![\w&]|['\u2019]s)",
        "is-necrolysis": r"\b(?-i:SJS\s?(?:[/-]|and|or|to)\s?TEN)(?!\w)|\b(?-i:TEN)(?=\soverlap\b)|(?<=\bnecrolysis \()(?-i:TEN)(?=\))",
        "is-credential-in-capitals": r"(?<![\w-])(?-i:PA-C|EMT-[PB]|PGY-?[1-7])(?![\w-]|['\u2019]s)",
        "is-ethnic-group": r"\b(?-i:(?:African|Asian|Native|Latin)[\s-]Americans?)(?![\w-]|['\u2019]|\s(?-i:[A-Z]))",
        "is-element-of-report": rf"(?<![^\n\r\t|]){_ELEMENT}(?=[\s:=]|\Z)|(?<=  ){_ELEMENT}(?=  |\t|\s?[:=])|(?<=/ ){_ELEMENT}(?=  |\t|\s?[:=])",
    }
)
"""Patterns by name. Identifiers are not written so."""

SHORTHAND_ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "is-decreased": [Anchor(r"dec\Z", behind=SPACES, cased=True)],
        "in-salutation": [Anchor(r"dear\Z", behind=SPACES)],
        "is-emergency-number": [Anchor(r"(?:911|999|112)\Z")],
        "is-reporter": [
            Anchor(r"(?:reporter|reported|notifier)\Z"),
            Anchor(rf"{_WORKERS}\Z", behind=f"{SPACES}(", next=_LAYPEOPLE),
        ],
        "in-time-course": [
            Anchor(
                r"(?:after|for|within|over|lasted|lasting|another|following)\Z",
                behind=SPACES,
                next=rf"(?:(?:about|approximately|approx|only|the)\Z|{_FIRST_OF_FEW})",
            ),
            Anchor(
                rf"{_FIRST_OF_FEW}\Z", next=rf"(?:{_FIRST_OF_FEW}|(?:to|or)(?:\d|\Z)|of\Z|{_TIME_UNIT}\Z)"
            ),
            Anchor(rf"{_FIRST_OF_FEW}{_TIME_UNIT}\Z"),
        ],
        "in-day-of-course": [
            Anchor(r"(?:on|by|in|until|till|after|since|post|postop|postoperative)\Z", behind=f"{SPACES}-")
        ],
        "in-score-of-ten": [Anchor(rf"{_OF_PAIN}\Z", behind=SPACES)],
        "in-score-of-ten-before": [Anchor(r"(?:10|\d)\Z", behind=f"{SPACES}-\u2013/")],
        "in-grade-of-muscle": [Anchor(rf"{_OF_MUSCLE}\Z", behind=SPACES)],
        "is-abbreviated-place": [
            Anchor(r"[EI]\Z", before=" ", behind=".", cased=True),
            Anchor(r"A\Z", behind="&", cased=True),
        ],
        "is-necrolysis": [Anchor(r"(?:SJS|TEN)\Z", cased=True)],
        "is-credential-in-capitals": [
            Anchor(r"(?:PA|EMT)\Z", behind="-", cased=True),
            Anchor(r"PGY", cased=True),
        ],
        "is-ethnic-group": [
            Anchor(r"(?:African|Asian|Native|Latin)\Z", behind=f"{SPACES}-", cased=True, next=r"americans?\Z")
        ],
        "is-element-of-report": [Anchor(r"[CDEFGH]\Z", behind=".", cased=True)],
    }
)
