"""Patterns over characters: the looks of a run of tokens.

`VETO_PATTERNS` and `SILENT_VETO_PATTERNS` may only mask; the network sees the former. `CONTEXT_PATTERNS`
decide nothing: they are features of the network. So are `FACT_PATTERNS`, whose tokens are in addition kept
at the lower threshold. If a pattern has a group 1, only that group counts.

`ANCHORS` names the words without which a pattern cannot match (see `anchors.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from inverse_deid.core.phi import HyperClass
from inverse_deid.rules.patterns import accounts as account_patterns
from inverse_deid.rules.patterns import numbers as number_patterns
from inverse_deid.rules.patterns.ages import (
    AGE_ANCHORS,
    AGE_LONGEST,
    AGE_PATTERNS,
    AGES_LIFTED_BY,
    PLAIN_AGE_WORDS,
)
from inverse_deid.rules.patterns.anchors import (
    SPACES,
    Anchor,
    PatternSearch,
    any_of,
    begin_phrases,
    compile_patterns,
    within,
)
from inverse_deid.rules.patterns.dates import (
    DATE_ANCHORS,
    DATE_LONGEST,
    DATE_PATTERNS,
    DATES_LIFTED_BY,
    PLAIN_DATE_WORDS,
)
from inverse_deid.rules.patterns.facts import CERTAIN_PATTERNS, FACT_ANCHORS, SILENT_FACT_PATTERNS

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
YEAR = r"(?:1[89]|20|21)\d\d"
ORDINAL_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_ID_VALUE = r"((?=[\w./-]{0,30}\d)\w+(?:[./-]\w+)*)"
_IDENTIFYING_KEY = (
    r"(?:[a-z]{0,20}name|initials|patient|doctor|physician|reporter|nok|location|address|street|city|town|"
    r"county|state|country|zip(?:code)?|postcode|organi[sz]ation|employer|hospital|clinic|facility|"
    r"occupation|profession|age|dob|date|phone|tel|fax|e?mail|url|user(?:id)?|login|password)"
)
ID_LABEL = (
    r"(?:MRN|SSN|NHS|DOB|PESEL|UHID|ABHA|NRIC|CRN|URN|hosp(?:ital)? no|record|account|acct|licen[cs]e|lic|"
    r"member|policy|passport|medicare|medicaid|insurance|registration|reg|GMC|NPI|DEA|NMC|plate|VIN|"
    r"serial|s/n|pager|bleep)"
)


_UNIT = (
    r"(?:mg|mcg|[µμ]g|ug|g|kg|ml|cc|l|dl|iu|units?|u|mmol|meq|mm|cm|m|kpa|mmhg|bpm|%|°|deg|degrees|lbs?|oz|"
    r"tabs?|tablets?|caps?|capsules?|puffs?|drops?|doses?|hz|k|x|f|c)"
)
_AT = r"(?:@|\(at\)|\[at\])"
_DOT = r"(?:\.|\(dot\)|\[dot\])"
_SPACED_DOMAIN = r"(?:com|org|net|edu|gov|info|example|uk)"
"""The end of an e-mail address with spaces, which "99 % @ RA. Lungs clear" is not."""
_AT_A_TIME_OR_AMOUNT = (
    rf"(?:\d{{1,4}}\s?(?:[ap]\.?m|h|hrs?|days?|wks?|weeks?|{_UNIT})|ra|rest|home|night|noon|bedtime)\b"
)
"""What `@` is before where it means *at*: `@11AM`, `@2L`, `@RA`."""


VETO_PATTERNS = compile_patterns(
    {
        "email": rf"(?<![\w.+'’-])[\w.+'’-]+(?:{_AT}[\w-]+(?:{_DOT}[\w-]+)*{_DOT}(?=[\w-]*[^\W\d_])[\w-]+|"
        rf"@(?:\d{{1,3}}\.){{3}}\d{{1,3}}|\s?{_AT}\s?[\w-]+(?:\s?{_DOT}\s?[\w-]+){{0,4}}?\s?{_DOT}\s?{_SPACED_DOMAIN}\b)",
        "handle": rf"(?<![\w.])@(?!{_AT_A_TIME_OR_AMOUNT})(?=\w*[^\W\d_])\w+",
        "url": r"\b(?:https?|ftp)\W{1,3}\S+|\bwww\.\S+|(?<![\w.-])[\w-]+(?:\.[\w-]+){0,5}\.(?:com|org|net|gov|edu|example|info|"
        r"ac\.uk|co\.uk|nhs\.uk|io)\b(?:/\S*)?",
        "ip-address": r"(?<!\d)(?<!\d\.)(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)|(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}|"
        r"(?<![\w:])(?=[0-9a-f:]{0,30}\d[0-9a-f]{0,2}[a-f]|[0-9a-f:]{0,30}[a-f][0-9a-f]{0,2}\d)(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])",
        "mac-address": r"\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b",
        "social-security-number": r"(?<!\d)(?<!\d-)\d{3}-\d{2}-\d{4}(?!\d|-\d)",
        "phone": r"(?<!\w)(?<!\d\.)(?:\+(?=(?:[ ().-]{0,2}\d){7})\d{1,3}[ .-]?(?:\(\d+\)[ .-]?)?\d{1,5}(?:[ .-]?\d{2,5}){1,5}|"
        r"\(\d{3}\)[ .-]?\d{3}[ .-]\d{4}|\d{3}[-.]\d{3}[-.]\d{4})(?!\w|-\d)(?:\s*(?:x|ext\.?)\s*\d+)?",
        "full-date": r"(?<!\w)(?<!\d[./-])(?:\d{1,2}([/.-])\d{1,2}\1(?:\d{4}|\d{2})|(?:1[89]|2[01])\d\d([/.-])\d{1,2}\2\d{1,2})(?![\w/]|[.-]\d)",
        "glued-date": rf"(?<![A-Z0-9])\d{{1,2}}[ ./-]?{MONTH}[ ./,-]{{0,2}}(?:{YEAR}|'?\d\d)(?!\w)",
        "month-day-year": rf"\b{MONTH}\.?[ -]{{0,2}}{ORDINAL_DAY},?[ -]{{1,2}}(?:{YEAR}|'\d\d)\b",
        "day-month-year": rf"\b{ORDINAL_DAY} (?:of )?{MONTH},? (?:{YEAR}|'\d\d)\b",
        "month-year": rf"\b{MONTH}[ ,/-]{{1,2}}{YEAR}\b",
        "identifying-key": rf"(?<![a-z]){_IDENTIFYING_KEY}\s?=\s?([^;,|&\n]{{1,80}})",
        "spelled-out": r"(?<![\w.])(?<![^\w.][^\W\d_][ -])(?<!\A[^\W\d_][ -])[^\W\d_](?:[ -][^\W\d_]){3,}(?!\w|['’/&-]\w)",
        "labelled-id": rf"\b{ID_LABEL}\b\s*(?:no|num|number|nr|id)?\s?[.:#]{{1,3}}\s?{_ID_VALUE}",
    }
)
"""Well-formed contacts, dates, labelled numbers and words spelled letter by letter. A token inside is masked, whatever else says safe."""

_WORDS_OF_TWO_LETTERS = "IT AN BE GO HE ME MY OX SO US WE HI HA AH OH PA MA"
_PREPOSITIONS = "TO AM AS AT BY IF IN OF ON OR UP"
"""Capitals often stress these words, as in `Patient ON oxygen`; they need not be initials."""
_WORD_INITIALS = re.sub(r"(\w)(\w) ?", r"\1(?:\2|\\.\\s?\2\\.)|", _WORDS_OF_TWO_LETTERS)
_WORD_INITIALS += re.sub(r"(\w)(\w) ?", r"\1\\.\\s?\2\\.|", _PREPOSITIONS).rstrip("|")
_DID = (
    r"had|has|reported|reports|felt|was|is|developed|experienced|complained|took|received|fainted|recovered|"
    r"presented|stated|states|denied|denies|vomited|died|started|noticed|called|said|says|stopped|got"
)
_EMPHASISED = rf"(?:NO|IS|DO)(?=\s(?:{_DID})\b|\))|(?:{_PREPOSITIONS.replace(' ', '|')})(?=\s(?:{_DID})\b|[,)]|[.;!?]?\s*\Z|[.;!?]\s)"
_ONES = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_OVER_89 = rf"(?:nin(?:e)?ty(?:[\s-]{{1,3}}{_ONES})?|(?:(?:one|a)[\s-]{{1,3}})?hundred(?:(?:\sand)?[\s-]{{1,3}}(?:{_ONES}|ten|eleven|twelve))?)"
TOP_LEVEL_DOMAIN = r"(?:com|org|net|gov|edu|example|info|io|uk|de|fr|it|es|in|eu|us|ca|au|ch|nl|biz|me|co)"
_ATOM = r"[\w+-]{1,64}"
_FENCED_DOT = r"(?:\s?[\[({]\s?dot\s?[\])}]\s?|[\[({]\.[\])}]|\sdot\s)"
_FENCED_AT = r"(?:\s?@\s?|\s?[\[({<]\s?(?:at|@)\s?[\])}>]\s?|\sat\s)"
_SERVICES = (
    "gmail", "hotmail", "yahoo", "googlemail", "icloud", "protonmail", "instagram", "insta", "twitter", "facebook",
    "skype", "telegram", "whats app", "snapchat", "tiktok", "linkedin", "wechat", "viber", "discord", "reddit",
    "user name", "user id", "user", "login", "screen name",
)  # fmt: skip
SERVICE = rf"(?:{'|'.join(_SERVICES)})".replace(" ", r"\s?")
SERVICE_WORD = "|".join(service.replace(" ", "") for service in (*_SERVICES, "whats", "screen"))
"""The word that `SERVICE` begins with, or all of it."""

_BEFORE_NAME = """
    this_is my_name_is my_name's name_is speaking_to speaking_with speak_to speak_with ask_for asked_for put_me_through_to
    put_you_through_to put_her_through_to put_him_through_to transferring_you_to on_behalf_of connect_you_to connect_me_to
    hello hi hey thanks thank_you cheers bye goodbye good_morning good_afternoon good_evening message_for is_that
    it's i'm here_is here's
"""
"""What is said before a name on the telephone."""
_NO_NAME = """
    Doctors? Dr Nurses? Sir Madam Ma'am Mrs? Ms Miss All Team There Sister Matron Mum Mom Dad Mother Father Colleagues? Everyone Again
    Professor Agent Caller Operator Patient Pharmacist The An? My Your His Her Our Their This That It He She They We You I Not So To For
    And In On At Of Is Was But If What When Where How Who Why Let Can Could Would Do Does Did Just Very God Then Please Sorry Okay
    Ok Medical Customer Drug Safety Poison Reception Switchboard Nursing Home Hospital St Clinic One Two Three Four Five Six Seven Eight Nine Ten Zero No Yes Now
"""
_OTHER_SILENT_VETOES = compile_patterns(
    {
        "initials": r"\b(?:initials|initial(?=\(s\)|\sis\s|\s?:))\b(?:\(s\))?(?:[\s:=(,]{1,3}(?:(?:of|for|the|her|his|this|patient|subject|reporter|pt|is|are|were|"
        r"was|given|as)\b)?){0,6}[\s:=(\"'“‘]{0,3}((?-i:[A-Z](?:[. -]{0,2}[A-Z]){1,3})\b)",
        "word-initials": r"\b(?-i:[Pp]atient|[Pp]t|[Ss]ubject|[Rr]eporter|[Cc]onsumer|[Vv]olunteer|[Cc]lient|Dr|Mrs?|Ms|"
        rf"[Nn]urse)\b\.?\s\(?((?-i:(?:{_WORD_INITIALS})(?!\w)|{_EMPHASISED}))",
        "age-over-89": r"\b(?:nonagenarians?|(?:super-?)?centenarians?|nineties)\b|"
        rf"\b{_OVER_89}[\s-]{{1,3}}(?:years?|yrs?|y/?o)\b(?!\sago)|\b(?:aged?|age\sof|turn(?:ed|s|ing))\W{{1,3}}{_OVER_89}\b",
        "age-in-roman": r"(?-i:\bXC(?:IX|IV|V?I{1,3}|V)\b)|(?:(?<=\bage\s)|(?<=\baged\s))(?-i:(?:XC|CI{0,3}|CIV)\b)",
        "account": rf"\b{SERVICE}\b(?:\s(?:name|account|user|handle|id|address))?(?:\s?[:=@(/]{{1,2}}\s?@?|\sis\s)"
        r"(?!(?:the|where|not|that|she|he|a|an|is|was|and|to|in|on)\b)([\w.+-]{3,64})",
        "account-with-sign": rf"\b{SERVICE}\b(?:\s(?:name|account|user|handle|id|address))?(?:\s?[:=@(/]{{1,2}}\s?@?|\sis\s|\s)(?=[a-z]{{0,30}}[._\d][a-z\d])([\w.+-]{{3,64}})",
        "fenced-address": rf"(?<![\w.+-]){_ATOM}(?:\.{_ATOM}){{0,4}}(?:{_FENCED_AT}{_ATOM}(?:(?:\.|{_FENCED_DOT}){_ATOM}){{0,4}}"
        rf"(?:\s?\.|{_FENCED_DOT}){TOP_LEVEL_DOMAIN}\b|{_FENCED_DOT}(?:{_ATOM}{_FENCED_DOT}){{0,3}}{TOP_LEVEL_DOMAIN}\b(?:/\S{{0,200}})?)",
        "fenced-number": rf"(?<![\d.])\d{{1,3}}(?:{_FENCED_DOT}\d{{1,3}}){{3}}(?!\d)",
        "code-points": r"(?<![^\W_])(?:[^\W_]{0,40}?U\+[0-9A-F]{4}){1,40}[^\W_]{0,40}",
        "disabled-url": r"\bhxxps?\W{1,3}\S+",
        "name-in-markup": r"(?:<|&lt;|\$?\{\{?|\[\[)\s?((?-i:(?!(?:Br|Td|Tr|Th|Div|Span|Font|Table|Body|Html|Sup|Sub|Li|Ul|Ol|Em|Strong|Center|Style|Title|Head|Img|Hr|Pre)\b)"
        r"[A-Z][a-z]{1,15}))\s?(?:>|&gt;|\}\}?|\]\])",
        "reversed-name": r"(?-i:\b(?!hyp(?:o|er)[A-Z]\b)[a-z]{4,}[A-Z]\b)",
        "name-in-talk": rf"\b{any_of(_BEFORE_NAME)},?\s((?-i:(?!{any_of(_NO_NAME)}\b)[A-Z][a-z'’-]{{1,20}}(?:\s[A-Z][a-z'’-]{{1,20}})?))"
        r"(?=\s?[,.;:!?\n]|\s(?:speaking|here|from|again|at|calling|and|please)\b|\Z)",
        "name-that-speaks": rf"((?-i:\b(?!{any_of(_NO_NAME)}\b)[A-Z][a-z'’-]{{1,20}}))\s(?:speaking(?=\s?[.,;!?\n]|\s?\Z)|calling\s(?:from|about|for|on|again)\b|here\sagain|here\sfrom)",
        "year-of-birth": r"\b(?:(?:birth|born)[ _-]?(?:year|yr)|born\sin(?:\sthe\syear)?|(?:year|yr)\.?[\s_-]?of[\s_-]?birth|y\.?\s?o\.?\s?b)"
        r"(?:[\s:=.,(|>\"'\u2019-]|\b(?:is|was|in|as|19|about|approx)\b){0,8}(\d{4}|\d{2})(?!\d)",
    }
)

SILENT_VETO_PATTERNS = (
    _OTHER_SILENT_VETOES | number_patterns.VETOES | account_patterns.VETOES | DATE_PATTERNS | AGE_PATTERNS
)
"""Like `VETO_PATTERNS`, but not features: the packaged network was trained without them."""

_CASED_CONTEXT = {
    "day-month-glued": rf"\b\d{{1,2}}{MONTH.upper()}\d{{0,4}}\b",
    "code-with-digits": r"\b(?=[A-Z/-]{0,30}\d)(?=[\d/-]{0,30}[A-Z])[A-Z0-9]+(?:[-/][A-Z0-9]+)+\b",
}
_ANY_CASE_CONTEXT = {
    "date-of-two-numbers": r"(?<![\w./-])((?:0?[1-9]|1[0-2])/(?:0?[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|3[01])[/.]"
    r"(?:0?[1-9]|1[0-2]))(?![\w/%]|[.-]\d)",
    "month-slash-year": r"(?<![\w./-])((?:0?[1-9]|1[0-2])[/-](?:\d\d|(?:19|20)\d\d))(?![\w/%]|[.-]\d)",
    "bare-year": rf"(?<![\w./-]){YEAR}(?![\w/]|[.-]\d)",
    "short-year": r"(?<!\w)['’]\d\d\b",
    "time-of-day": r"\b(?:[01]?\d|2[0-4])[:.h][0-5]\d(?:\s?[ap]\.?m)?\b|\b\d{1,2}\s?[ap]\.?m\b",
    "age-with-unit": r"\b(\d{1,3})\s?-?\s?(?:y/?o|yrs?|years?|months?|mos?|m/o|weeks?|wks?|days?|ans|jahre)\b[ -]?(?:old|of age|o\b)",
    "age-short-form": r"\b(\d{1,3})\s?(?:y/?o|yof|yom|y\.o|yr? ?old|[mfMF])\b",
    "aged": r"\b(?:aged?|age of|age[:=])\s*(\d{1,3})\b",
    "blood-pressure": r"(?<![\w/])\d{2,3}\s?/\s?\d{2,3}(?![\w/])",
    "score": r"(?<![\w/])\d{1,2}\s?/\s?(?:5|6|8|10|14|15|20|24|27|28|30|60|63|80|100)(?![\w/])",
    "number-with-unit": r"(?<![\w.])(\d+(?:[.,]\d+)?)\s?(?:-\s?\d+(?:[.,]\d+)?\s?)?"
    rf"{_UNIT}\b",
    "decimal": r"(?<![\w.])\d+[.,]\d+(?![\w.])",
    "duration": r"\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten|several|few)(?:\s?-\s?\d+)?\s?-?\s?(?:secs?|seconds?|"
    r"mins?|minutes?|hrs?|hours?|days?|wks?|weeks?|h|d|wk)\b",
    "id-after-label": r"\b(?:no|nr|num|number|id|ref|reference|case|report|file|control|mfr|patient|subject|case id|code|ticket|order)"
    rf"\b\s?(?:no|nr|number|id)?[ .:#]{{1,3}}{_ID_VALUE}",
    "phone-after-label": r"\b(?:tel|phone|ph|fax|mob|mobile|cell|call|ext|pager|bleep|contact|direct)\b\W{0,4}(?:no|number)?\W{0,3}"
    r"((?:\+?\(?\d[\d ().-]{2,18}\d)|\d{2,})",
    "digit-groups": r"(?<![\w.])\d{2,5}(?:[ -]\d{2,5}){1,5}(?![\w.])",
    "date-of-birth": r"\b(?:dob|d\.o\.b|born|birth(?:day|date)?|date of birth)\b\W{0,4}(?:on |in )?([\w/.-]+(?: \w+){0,2})",
    "postal-code": r"\b(?:[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|[A-Z]{2} \d{5}(?:-\d{4})?|[A-Z]\d[A-Z] \d[A-Z]\d)\b",
}

CONTEXT_PATTERNS = compile_patterns(_CASED_CONTEXT, re.NOFLAG) | compile_patterns(_ANY_CASE_CONTEXT)
"""Named patterns whose hits are features, in the order of the columns."""

_TIME_UNIT = (
    r"(?:sec(?:ond)?s?|min(?:ute)?s?|hrs?|hours?|days?|nights?|wks?|weeks?|mths?|months?|yrs?|years?)"
)
_COUNT = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|few)"
_AMOUNT = r"\d{1,4}(?:[.,]\d{1,2})?"
_END_OF_NUMBER = r"(?![\w/]|[.,-]\d)"
_LOT_VALUE = rf"(?=[A-Z]{{0,4}}\d)(?!{YEAR}\b)[A-Z0-9]{{3,14}}(?:-[A-Z0-9]{{1,6}}){{0,2}}(?![\w/]|[.-]\d)"
_LEVEL_OF_TERM = r"(?-i:PTs?|LLTs?|SOCs?|HLTs?|HLGTs?|MedDRA|MEDDRA)|preferred term|lowest level term"
_TERM = r"(?:[^\W\d_][\w'’-]{0,30}[ ,/]{1,2}){0,9}[^\W\d_][\w'’-]{0,30}"
_CAUSALITY = (
    r"causality|relatedness|naranjo|(?:who[- ])?umc|certain|probable|possible|probably|possibly|unlikely|doubtful|"
    r"definite|definitely|conditional|unassess?able|unclassifi(?:able|ed)|unrelated|related|(?:de|re)-?challenge"
)
_OF_CAUSALITY = (
    rf"{_CAUSALITY}|likely|not|positive|negative|pos|neg|[+-]?ve|was|is|as|by|to|the|of|with|scale|score|category|"
    r"categories|assessment|assessed|done|unknown|n/a|and|or"
)
_SCORE_LABEL = (
    r"gcs|pain|apgars?|power|strength|mmse|moca|amts?|vision|acuity|visus|va|vn|murmurs?|grade|score|scored|rated|"
    r"severity|nrs|vas|nihss|phq|curb|deauville|ecog|headache|esm|psm"
)
_OF_SCORE = (
    r"score[ds]?|was|is|of|at|as|scale|level|now|currently|rated|a|the|about|about|initially|then|to|and|or|both|eyes?|"
    r"right|left|[rl]|od|os|ou|ph|rt|lt|hip|knee|back|chest"
)
_DAY_OF_NO_SCORE = r"(?:0?[127]|1[1-3679]|2[1-369]|31)"
_FRACTION = (
    rf"(?!(?!6/12)(?:0?[1-9]|1[0-2])\s?/\s?{_DAY_OF_NO_SCORE}(?!\d))\d{{1,2}}\s?/\s?\d{{1,3}}(?![\w/]|[.-]\d)"
)
"""A score; not a month and a day that no score has as its maximum, but 6/12 is an acuity of vision."""
_TEMPERATURE = r"t|temp|temps|temperature|tmax|febrile|afebrile|fever|pyrexia"
_PRESSURE = r"bp|b/p|blood pressure|nibp"
_RATE = r"hr|heart rate|pulse|rr|resp(?:iratory)? rate|spo2|(?:o2|oxygen) sat|sats|saturations?|(?:(?<=\d )|(?<=\d[,;] ))p"
_OF_VITAL = r"(?:[\s:=,(~-]{1,3}(?:was|is|of|to|at|up|about|now|then|a|approx|max)\b){0,3}[\s:=,(~-]{1,3}"
_DEGREES = r"(?:3[4-9]|4[0-2]|9[5-9]|10[0-8])(?:[.,]\d{1,2})?(?:\s?°)?(?:\s?[CF]\b)?"
_APPOINTED = "".join(
    rf"(?<!{word} for )"
    for word in ("scheduled", "booked", "planned", "ppointment", "appt", "set", "due", "listed")
)
_BEFORE_SHORT_DURATION = "|".join(
    rf"(?<=\b{word} )" for word in (
        "x", "over", "in", "last", "past", "next", "every", "within", "another", "further", "previous", "history of",
        "hx of", "course of", "duration of", "review", "od", "bd", "tds", "qds", "tid", "bid", "qid", "c/o", "h/o",
    )
)  # fmt: skip
_BEFORE_RANGE = "|".join(
    rf"(?<={begin})" for begin in (
        r"[(\[]", r"\bref ", r"\bnr ", "range ", "range: ", "normal ", "target ", r"\bwas ", r"\bof ", "systolic ", "between ",
    )
)  # fmt: skip
_NOT_A_BAY = "".join(
    rf"(?<!\b{word} )"
    for word in ("ward", "room", "bed", "bay", "block", "unit", "flat", "apt", "floor", "level", "dublin")
)
_NOT_A_DAY = "".join(
    rf"(?<!\b{month} )" for month in (
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "january", "february",
        "march", "april", "june", "july", "august", "september", "october", "november", "december",
    )
)  # fmt: skip

FACT_PATTERNS = compile_patterns(
    {
        "after-lot-word": r"(?<!\ba )(?<!\bparking )(?<!\bcar )(?<!\bwhole )\b(?:lot|batch)(?:es|s)?(?:\s?/\s?(?:lot|batch))?\b"
        r"(?:[\s.:#(=]|\b(?:no|nos|nr|num|numbers?|code|id|was|is)\b){1,8}"
        rf"({_LOT_VALUE}(?:\s?(?:,|;|/|&|and)\s?(?=\d{{0,8}}[A-Z]|\d{{5}}){_LOT_VALUE}){{0,3}})",
        "in-coded-term": rf"\b(?:{_LEVEL_OF_TERM})(?:\s?[:=]\s?|\s){_TERM}\s?[(\[]\s?"
        r"(?:code:?\s)?100\d{5}\b|"
        rf"\bMedDRA\b(?:\s(?:{_LEVEL_OF_TERM}|term|code|number|no)\b){{0,4}}[\s.:#(=]{{1,3}}100\d{{5}}\b",
        "in-causality-term": rf"\b(?:(?:positive|negative|pos|neg|not|un)[\s-])?(?:{_CAUSALITY})\b"
        rf"(?:[\s/,:()-]{{1,3}}(?:{_OF_CAUSALITY})\b){{0,8}}",
        "in-day-count": rf"\b(?:days?|pod)\s?[#+-]?\s?\d{{1,3}}(?:\s?-\s?\d{{1,3}})?{_END_OF_NUMBER}(?!\s(?:of\s)?{MONTH}\b)|"
        r"\b\d{1,2}(?:st|nd|rd|th)\s(?:post-?(?:op(?:erative)?)?\s)?(?:day|dose|week|wk|cycle|trimester|visit|injection|shot|"
        rf"infusion|course|vaccine|vaccination|booster)s?\b(?!\sof\s{MONTH}\b)|\b(?-i:POD)\d{{1,2}}{_END_OF_NUMBER}|"
        rf"{_NOT_A_BAY}\b(?-i:D)[1-9]\d?{_END_OF_NUMBER}(?!\s[A-Z0-9]{{4}}\b)",
        "in-interval": rf"(?<![\w.,/])(?:(?:(?<=\bx )|(?<=\bfor )|(?<=\bwithin )){_COUNT}(?: ?(?:-|to)\s?{_COUNT})?[ -]?{_TIME_UNIT}"
        rf"\b|x\d{{1,2}}\s?{_TIME_UNIT}\b|{_COUNT}(?: ?(?:-|to)\s?{_COUNT}\s?| ?){_TIME_UNIT}\s(?:after|later|post|prior|before|"
        r"following)\b)(?![ -](?:old|of\sage))",
        "in-score": rf"\b(?:{_SCORE_LABEL})\b(?:[\s:=,(~-]{{1,3}}(?:{_OF_SCORE})\b){{0,5}}[\s:=,(~-]{{1,3}}{_FRACTION}"
        rf"(?:[\s,;()>-]{{1,4}}(?:(?:{_OF_SCORE})[\s:()]{{1,4}}){{0,3}}{_FRACTION}){{0,4}}|"
        r"(?<![\w./-])(?:1[3-9]|2\d|30)/(?:14|15|20|24|27|28|30)(?![\w/]|[.-]\d)",
        "in-range": rf"(?:{_BEFORE_RANGE})(?:\d{{1,3}}[.,]\d{{1,2}}\s?[–-]\s?\d{{1,3}}[.,]\d{{1,2}}|[1-4]?\d\d[–-][1-4]\d\d){_END_OF_NUMBER}|"
        rf"(?<![\w.,/-])(?:\d{{1,4}}|\d{{1,4}}[.,]\d{{1,2}}\s?)[–-]\s?{_AMOUNT} ?(?:[µμmu]?g|mcg|kg|ng|pg|[mcd]l|iu|units?|[µμmun]?mol|meq|mm|cm|mmhg|bpm|tabs?|tablets?|puffs?|drops?)\b",
        "in-short-duration": rf"(?=\d{{1,2}}/(?:7|52|12))(?:(?<=\bfor ){_APPOINTED}|(?<=\bx)|{_BEFORE_SHORT_DURATION})\d{{1,2}}/(?:7|52|12)"
        r"(?![\w/]|[.-]\d)|(?<=\bsince )\d{1,2}/52(?![\w/]|[.-]\d)",
        "in-measurement": rf"\b(?:(?:{_TEMPERATURE})\b{_OF_VITAL}{_DEGREES}|(?:{_PRESSURE})\b{_OF_VITAL}\d{{2,3}}\s?/\s?\d{{2,3}}|"
        rf"(?:{_RATE})\b{_OF_VITAL}\d{{2,3}}){_END_OF_NUMBER}|(?<![\w.,/-])(?:3[4-9]|4[0-2])[.,]\d\s?°?\s?C\b",
        "is-clock-time": r"(?<![\w.:,/-])(?:(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?:\s?[ap]\.?m\b)?|"
        rf"{_NOT_A_DAY}(?:1[0-2]|0?[1-9])(?:[.:][0-5]\d\s?| ?)[ap]\.?m\b|(?:[01]\d|2[0-4])[0-5]\d(?:h|\s?hrs?|\shours)\b)(?![\w/:]|[.-]\d)",
    }
)
"""Clinical facts that resemble identifiers: features, and the lower threshold, never a reason to keep alone."""


_CONTACT, _ID, _DATE, _NAME = HyperClass.CONTACT, HyperClass.ID, HyperClass.DATE, HyperClass.NAME
LIFTED_BY: Mapping[str, frozenset[HyperClass]] = MappingProxyType(
    {
        **number_patterns.LIFTED_BY,
        **account_patterns.LIFTED_BY,
        **DATES_LIFTED_BY,
        **AGES_LIFTED_BY,
        "email": frozenset({_CONTACT, _NAME}),
        "handle": frozenset({_CONTACT, _NAME}),
        "url": frozenset({_CONTACT}),
        "ip-address": frozenset({_CONTACT}),
        "mac-address": frozenset({_CONTACT, _ID}),
        "social-security-number": frozenset({_ID}),
        "phone": frozenset({_CONTACT}),
        "full-date": frozenset({_DATE}),
        "glued-date": frozenset({_DATE}),
        "month-day-year": frozenset({_DATE}),
        "day-month-year": frozenset({_DATE}),
        "month-year": frozenset({_DATE}),
        "labelled-id": frozenset({_ID}),
        "initials": frozenset({_NAME}),
        "word-initials": frozenset({_NAME}),
        "account": frozenset({_CONTACT, _NAME}),
        "account-with-sign": frozenset({_CONTACT, _NAME}),
        "fenced-address": frozenset({_CONTACT, _NAME}),
        "fenced-number": frozenset({_CONTACT}),
        "disabled-url": frozenset({_CONTACT}),
        "name-in-talk": frozenset({_NAME}),
        "name-that-speaks": frozenset({_NAME}),
        "reversed-name": frozenset({_NAME}),
        "name-in-markup": frozenset({_NAME}),
    }
)
"""The classes that a user must keep, all of them, before a pattern that masks loses its force.

E-mail addresses and accounts show names. Ages over 89, years of birth and disguises are not listed: these
patterns always mask.
"""


_COUNTED = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|few)"
_SHORT_UNIT = r"(?:sec|min|hr|hour|day|night|wk|week|m(?:on)?th|yr|year|[hdwmy]\Z)"
_OF_MONTH = rf"{MONTH}\Z"
_DOT_WORD = within(r"dot\Z")
ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        **number_patterns.ANCHORS,
        **account_patterns.ANCHORS,
        **DATE_ANCHORS,
        **AGE_ANCHORS,
        "email": [within(r"at\Z", before="([", behind=")]")],
        "handle": [],
        "url": [
            within(r"(?:https?|ftp)\Z"),
            within(r"www\Z", behind="."),
            within(r"(?:com|org|net|gov|edu|example|info|uk|io)\Z", before="."),
        ],
        "ip-address": [within(r"\d{1,3}\Z", before=".", behind="."), within(r"[0-9a-f]{1,4}\Z", before=":", behind=":")],
        "mac-address": [within(r"[0-9a-f]{2}\Z", before=":-", behind=":-")],
        "social-security-number": [within(r"\d{2}\Z", before="-", behind="-")],
        "phone": [
            within(r"\d", before="+"),
            within(r"\d{3}\Z", before="(", behind=")"),
            within(r"\d{3}\Z", before=".-", behind=".-"),
        ],
        "full-date": [Anchor(rf"(?:\d{{1,2}}|{YEAR})\Z", behind="/.-", next=r"\d{1,2}\Z")],
        "glued-date": [
            within(rf"{_OF_MONTH}", before=" ./-", next=r"\d"),
            within(rf".*\d{_OF_MONTH}", next=r"\d"),
            within(rf".*\d{MONTH}\d"),
            within(rf"{MONTH}\d"),
        ],
        "month-day-year": [Anchor(_OF_MONTH, next=r"\d"), Anchor(rf"{MONTH}\d")],
        "day-month-year": [Anchor(rf"{ORDINAL_DAY}\Z", behind=" ", next=rf"of\Z|{_OF_MONTH}")],
        "month-year": [Anchor(_OF_MONTH, behind=" ,/-", next=r"\d")],
        "identifying-key": [],
        "spelled-out": [Anchor(r"[^\W\d_]\Z", behind=" -", next=r"[^\W\d_]\Z")],
        "labelled-id": [Anchor(rf"(?:{ID_LABEL}|hosp(?:ital)?)\Z"), Anchor(r"s\Z", behind="/")],
        "initials": [Anchor(r"initials?\Z")],
        "word-initials": [
            Anchor(r"(?:patient|pt|subject|reporter|consumer|volunteer|client|dr|mrs?|ms|nurse)\Z", behind=f"{SPACES}.", next=r"(?-i:[A-Z]{1,2}\Z)")
        ],
        "age-over-89": [within(r"(?:nin(?:e)?ty|hundred|nineties|nonagenarians?|(?:super)?centenarians?)\Z")],
        "age-in-roman": [Anchor(r"(?:XC[IVX]*|CI{0,3}|CIV)\Z", cased=True)],
        "account": [Anchor(rf"(?:{SERVICE_WORD})\Z")],
        "account-with-sign": [Anchor(rf"(?:{SERVICE_WORD})\Z")],
        "fenced-address": [_DOT_WORD, within(rf"{TOP_LEVEL_DOMAIN}\Z", before="])}.")],
        "fenced-number": [_DOT_WORD, within(r"\d{1,3}\Z", behind="[({")],
        "code-points": [within(r"[^\W_]*U\Z", behind="+")],
        "year-of-birth": [Anchor(r"(?:birth|born|year|yr|yo?b?)")],
        "disabled-url": [Anchor(r"hxxps?\Z")],
        "name-in-markup": [
            Anchor(r"[A-Z][a-z]{1,15}\Z", "<;{[", ">&}]", begins=False, cased=True),
        ],
        "reversed-name": [Anchor(r"[a-z]{4,}[A-Z]\Z", cased=True)],
        "name-in-talk": begin_phrases(_BEFORE_NAME),
        "name-that-speaks": [within(r"(?:speaking|calling|here)\Z", before=SPACES)],
        "day-month-glued": [Anchor(rf"\d{{1,2}}{MONTH.upper()}", cased=True)],
        "code-with-digits": [Anchor(r"[A-Z0-9]+\Z", behind="/-", cased=True, next=r"(?-i:[A-Z0-9]+\Z)")],
        "date-of-two-numbers": [Anchor(r"\d{1,2}\Z", behind="/.", next=r"\d{1,2}\Z")],
        "month-slash-year": [Anchor(r"\d{1,2}\Z", behind="/-", next=r"(?:\d\d|(?:19|20)\d\d)\Z")],
        "bare-year": [Anchor(rf"{YEAR}\Z")],
        "short-year": [within(r"\d\d\Z", before="'\u2019")],
        "time-of-day": [
            Anchor(r"\d{1,2}\Z", behind=":.", next=r"[0-5]\d"),
            Anchor(r"\d{1,2}\Z", behind=SPACES, next=r"[ap]m?\Z"),
            Anchor(r"\d{1,2}(?:h\d|[ap]m?\Z)"),
        ],
        "age-with-unit": [
            Anchor(r"\d{1,3}\Z", behind=f"{SPACES}-", next=r"(?:yo?|yrs?|years?|months?|mos?|m|weeks?|wks?|days?|ans|jahre)\Z"),
            Anchor(r"\d{1,3}(?:y|m|w|d|ans|jahre)"),
        ],
        "age-short-form": [Anchor(r"\d{1,3}\Z", behind=SPACES, next=r"y|[mf]\Z"), Anchor(r"\d{1,3}[ymf]")],
        "aged": [Anchor(r"aged?\Z"), Anchor(r"aged?\d")],
        "blood-pressure": [Anchor(r"\d{2,3}\Z", behind=f"{SPACES}/", next=r"\d{2,3}\Z")],
        "score": [Anchor(r"\d{1,2}\Z", behind=f"{SPACES}/", next=r"(?:5|6|8|10|14|15|20|24|27|28|30|60|63|80|100)\Z")],
        "number-with-unit": [Anchor(r"\d+\Z", behind=f"{SPACES}.,-%°"), Anchor(r"\d+[^\W\d_]")],
        "decimal": [Anchor(r"\d+\Z", behind=".,", next=r"\d")],
        "duration": [
            Anchor(rf"{_COUNTED}\Z", behind=f"{SPACES}-", next=rf"\d|{_SHORT_UNIT}"),
            Anchor(rf"{_COUNTED}[smhdw]"),
        ],
        "id-after-label": [
            Anchor(r"(?:no|nr|num|number|id|ref|reference|case|report|file|control|mfr|patient|subject|code|ticket|order)\Z", behind=f"{SPACES}.:#")
        ],
        "phone-after-label": [Anchor(r"(?:tel|phone|ph|fax|mob|mobile|cell|call|ext|pager|bleep|contact|direct)\Z")],
        "digit-groups": [Anchor(r"\d{2,5}\Z", behind=" -", next=r"\d{2,5}\Z")],
        "date-of-birth": [Anchor(r"(?:dob|born|birth(?:day|date)?|date)\Z"), Anchor(r"d\Z", behind=".")],
        "postal-code": [
            Anchor(r"[A-Z]{1,2}\d[A-Z\d]?\Z", behind=" ", next=r"\d[A-Z][A-Z\d]\Z"),
            Anchor(r"[A-Z]{2}\Z", behind=" ", next=r"\d{5}\Z"),
        ],
        "after-lot-word": [Anchor(r"(?:lot|batch)(?:es|s)?\Z")],
        "in-coded-term": [
            Anchor(r"(?:PTs?|LLTs?|SOCs?|HLTs?|HLGTs?)\Z", cased=True),
            Anchor(r"MedDRA\Z"),
            Anchor(r"(?:preferred|lowest)\Z", next=r"(?:term|level)\Z"),
        ],
        "in-causality-term": [
            Anchor(rf"(?:{_CAUSALITY.replace('(?:who[- ])?umc', 'umc')})\Z"),
            Anchor(r"(?:who|de|re)\Z", next=r"(?:umc|challenge)\Z"),
            Anchor(r"(?:positive|negative|pos|neg|not|un)\Z", next=rf"(?:{_CAUSALITY.replace('(?:who[- ])?umc', 'umc')}|who|de|re)\Z"),
        ],
        "in-day-count": [
            Anchor(r"(?:days?|pod)\Z", next=r"\d"),
            Anchor(r"(?:(?:days?|pod)\d{1,3}|d\d{1,2}|\d{1,2}(?:st|nd|rd|th))\Z"),
        ],
        "in-interval": [
            Anchor(rf"{_COUNT}\Z", behind=" -", next=rf"to|{_COUNTED}|{_SHORT_UNIT}"),
            Anchor(r"x?\d{1,2}(?:sec|min|h|day|night|w|m|y)|x\d{1,2}\Z"),
        ],
        "in-score": [
            Anchor(rf"(?:{_SCORE_LABEL})\Z"),
            Anchor(r"(?:1[3-9]|2\d|30)\Z", behind="/", next=r"(?:14|15|20|24|27|28|30)\Z"),
        ],
        "in-range": [Anchor(r"\d{1,4}\Z", behind=".,–-", next=r"\d")],
        "in-short-duration": [Anchor(r"\d{1,2}\Z", behind="/", next=r"(?:7|52|12)\Z")],
        "in-measurement": [
            Anchor(
                r"(?:bp|b|blood|nibp|t|temps?|temperature|tmax|a?febrile|fever|pyrexia|hr|heart|pulse|p|rr|resp(?:iratory)?|"
                r"spo2|o2|oxygen|sats|saturations?)\Z"
            ),
            Anchor(r"(?:3[4-9]|4[0-2])\Z", behind=".,", next=r"\dC?\Z"),
        ],
        "is-clock-time": [
            Anchor(r"\d{1,2}\Z", behind=":.", next=r"[0-5]\d"),
            Anchor(r"(?:1[0-2]|0?[1-9])\Z", behind=" ", next=r"[ap]m?\Z"),
            Anchor(r"(?:(?:1[0-2]|0?[1-9])[ap]m?|(?:[01]\d|2[0-4])[0-5]\d(?:h|hrs?))\Z"),
            Anchor(r"(?:[01]\d|2[0-4])[0-5]\d\Z", behind=SPACES, next=r"(?:hrs?|hours)\Z"),
        ],
    }
)  # fmt: skip
"""The anchors of every pattern of the rules: each of its matches has one of them, or its sign."""

SIGNS: Mapping[str, str] = MappingProxyType(
    {"email": "@", "handle": "@", "identifying-key": "=", "labelled-by-no": "№", **account_patterns.SIGNS}
)
"""A sign that every match of a pattern contains, or one of the anchors."""

LONGEST: Mapping[str, int] = MappingProxyType(
    {
        "ip-address": 39,
        "mac-address": 17,
        "glued-date": 18,
        "short-year": 3,
        **DATE_LONGEST,
        **AGE_LONGEST,
    }
)
"""Characters of the longest match of patterns with such a limit: they are searched near their anchors only."""

PLAIN_WORDS: Mapping[str, frozenset[str]] = MappingProxyType({**PLAIN_DATE_WORDS, **PLAIN_AGE_WORDS})
"""Words at either end of a match that tell nothing and are not masked, of some patterns."""


@cache
def pattern_search() -> PatternSearch:
    """Return the search for all patterns of the rules, which are compiled when a text has their anchors."""
    vetoes = VETO_PATTERNS | SILENT_VETO_PATTERNS
    facts = FACT_PATTERNS | CERTAIN_PATTERNS | SILENT_FACT_PATTERNS
    anchors = {**ANCHORS, **FACT_ANCHORS}
    return PatternSearch(vetoes | CONTEXT_PATTERNS | facts, anchors, SIGNS, LONGEST, PLAIN_WORDS)
