"""Patterns of dates that the patterns of the network do not find; like those, they may only mask.

Weeks and days of a year, quarters, public days, odd ways of writing, other languages, time zones of few
countries. Weeks of a treatment or a pregnancy, durations and doses are facts, and no pattern matches them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.core.phi import HyperClass
from inverse_deid.rules.patterns.anchors import SPACES, Anchor, compile_patterns, within
from inverse_deid.rules.patterns.date_words import (
    CASED_FEASTS,
    CLEAR_MONTHS,
    ERAS,
    EVENTS,
    FEASTS,
    MONTH_WORDS,
    TERMS,
    WEEKDAY_WORDS,
    first_words,
    join_phrases,
)
from inverse_deid.rules.shapes import word_set

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"(?:1[89]|20|21)\d\d"
_ANY_YEAR = rf"(?:{_YEAR}|['’]?\d\d)(?!\d)"
_THAT_YEAR = (
    rf"(?:{_YEAR}|(?:the|this|last|next|that|each|every)\s(?:(?:calendar|current|past|previous|same)\s)?year)"
)
_UNIT = (
    r"(?:mg|mcg|[µμ]g|ug|g|kg|ml|cc|l|dl|iu|units?|u|mmol|meq|mm|cm|m|kpa|mmhg|bpm|%|hz|cal|kcal|k?cells|copies|"
    r"steps|patients|subjects|days?|hours?|hrs?|h|weeks?|months?|years?|pg|ng|psi|calories|puffs?|drops?|per|/)"
)
_NO_UNIT = rf"(?!\s?{_UNIT}(?:\b|(?<=/)))(?!\s?%)(?!\s?[a-zµμ]{{1,5}}/[a-z]{{1,4}}\b)"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"
_FINE_ORDINALS = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|"
    r"fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|twenty[\s-]first|twenty[\s-]second|"
    r"twenty[\s-]third|twenty[\s-]fourth|twenty[\s-]fifth|twenty[\s-]sixth|twenty[\s-]seventh|twenty[\s-]eighth|"
    r"twenty[\s-]ninth|thirtieth|thirty[\s-]first)"
)
_LATE_ORDINALS = (
    r"(?:thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|"
    r"twenty[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|thirtieth|thirty[\s-]first)"
)
_ROMAN_MONTH = r"(?-i:I{1,3}|IV|VI{0,3}|IX|XI{0,2}|i{1,3}|iv|vi{0,3}|ix|xi{0,2})"
_SEASON = r"(?:spring|summer|autumn|winter)"
_SEASON_OR_FALL = r"(?:spring|summer|autumn|winter|fall)"
_WEEK_NUMBER = r"(?:5[0-3]|[1-4]\d|0?[1-9])"
_OF_A_COURSE = (
    r"(?!\s?(?:of|post|after|visit|follow|gestation|pregnan|ante|pre|on|from|since|into|to|through|dose|treatment|"
    r"therapy|study|assessment|scan|evaluation|[-–+]\s?\d|\)|%|\.\d)|,?\s(?:and|or)\s(?:week\s)?\d)"
)
_NO_COURSE_BEFORE = "".join(
    rf"(?<!\b{word} )" for word in (
        "gestational", "gestation", "pregnancy", "study", "treatment", "therapy", "trial", "dosing", "visit", "at", "by", "to",
        "until", "through", "post", "between", "and", "or", "before", "after", "protocol", "cycle", "postpartum", "every",
    )
)  # fmt: skip
_SINCE = r"(?:(?<=\bsince )|(?<=\bin )|(?<=\bduring )|(?<=\bfrom )|(?<=\buntil )|(?<=\btill )|(?<=\blast )|(?<=\bthis )|(?<=\bnext ))"
_ON_THE = (
    r"(?:(?<=\bsince the )|(?<=\bon the )|(?<=\buntil the )|(?<=\btill the )|(?<=\bby the )|(?<=\bfrom the )|"
    r"(?<=\bto the )|(?<=\baround the )|(?<=\babout the )|(?<=\bbetween the )|(?<=\bof the ))"
)
_NEAR_THE = r"(?:(?<=\bthe )|(?<=\bsince )|(?<=\bon )|(?<=\buntil )|(?<=\btill ))"
_ENDS_PHRASE = (
    r"(?=\s*(?:[.,;:!?)\n]|\Z)|\s(?:to|at|she|he|they|it|her|his|with|when|but|until|till|this|because|patient|pt|i|we|was|had|"
    r"felt|developed|started|began|came|went|there|onwards?|inst|ult|(?-i:[A-Z]))\b|\s(?-i:[A-Z]))"
)
_SEPARATOR = r"(?:\s{0,2}[|\\/_*~:;,.·•–—-]{1,2}\s{0,2}|\s)"
_TIGHT_SEPARATOR = r"(?:\s{0,2}[|\\/_*~:·•–—-]{1,2}\s{0,2}|\s|\.)"
_ODD_SEPARATOR = r"\s?(?:[|\\_*~·•–—]{1,2}|(?<=\s)[./-](?=\s)|'|’)\s?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_DATE_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])"

_CODES = {
    "calendar-week": r"\b(?:calendar|cal|iso|epi(?:demiological)?|fiscal|financial|tax|school|academic|surveillance|julian)\.?"
    r"[\s-]{1,2}(?:weeks?|wks?|years?|yrs?|quarters?|months?|days?|dates?|period)\.?\s?(?:no\.?|number|nr\.?|of)?"
    r"[\s:#(=]{0,2}(?:\d{1,8}(?:\.\d{1,5})?)(?:\s?[/–-]\s?\d{1,4})?(?!\d)",
    "day-of-month-in-order": r"\b\d{1,2}(?:st|nd|rd|th)\s(?:day\s)?of\s(?:the\s)?(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|"
    r"seventh|eighth|ninth|tenth|eleventh|twelfth)\smonth\b",
    "julian-day": r"\bjulian\b\W{1,3}(?:(?:date|day|code|no|number|is|was|on|pack|label)\W{1,3}){0,3}(?:\d{2}|20\d\d)[-/.]?\d{3}(?!\w|[-/.]\d)",
    "week-code": r"\b(?:(?-i:KW|CW|Kw)[\s.:#-]{0,2}\d{1,2}(?:\s?[/–-]\s?\d{1,4})?|(?-i:DOY|MJD|JD)[\s.:#-]{0,2}\d{1,7}|"
    r"(?-i:FY|AY|TY)[\s'’-]{0,2}\d{2,4}(?:\s?[/–-]\s?\d{2,4})?|year[\s-]?day\s\d{1,3}|day[\s-]of[\s-]year\W{1,3}\d{1,3})(?!\w)",
    "week-of-year": rf"\b(?:week|wk)\.?\s?(?:no\.?\s?|number\s?|nr\.?\s?|#\s?)?{_WEEK_NUMBER}(?!\d)(?:\s?(?:-|–|to|and)\s?{_WEEK_NUMBER})?"
    rf"(?:\s?[/'’]\s?(?:(?:19|20)\d\d|[012]\d)|,?\s\(?(?:of\s|in\s)?{_THAT_YEAR})(?!\d)|"
    rf"\b(?:week|w[/.]?)\s?(?:commencing|beginning|starting|ending|c|e|b)\W{{1,3}}(?:the\s)?{_DATE_NUMBER}(?:st|nd|rd|th)?(?!\d)"
    rf"(?:\s?[/.-]\s?\d{{1,2}})?(?!\s?(?:weeks?|days?|mg|doses?)\b)|\bweek\sof\sthe\s{_ORDINAL}\b",
    "bare-week": rf"(?:{_SINCE}|{_NO_COURSE_BEFORE}(?=week\s(?:2[79]|3[134579]|4[1-79]|5[013])))\b(?:week|wk)\s(?!(?:1[026]|2[0468]|3[0268]|4[048]|52)\b)"
    rf"(?:1[3-9]|[2-4]\d|5[0-3]){_OF_A_COURSE}\b",
    "day-of-year": rf"\bday\s(?:no\.?\s?|number\s?|#\s?)?\d{{1,3}}(?:st|nd|rd|th)?\s(?:of|in)\s(?:{_THAT_YEAR}|{_MONTH}\b|the\smonth)|"
    r"\bD\d{1,3}\sof\s(?:19|20)\d\d",
    "nth-of-year": rf"\b(?:\d{{1,3}}(?:st|nd|rd|th)|{_FINE_ORDINALS}|last|final)\s(?:calendar\s)?(?:day|week|weekend|month|quarter|qtr|half|fortnight|"
    rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day)\s(?:of|in)\s(?:{_THAT_YEAR}|(?:the\s)?(?:{_MONTH}\b|ramadan|lent|advent|{_SEASON}|"
    r"(?:(?:calendar|school|academic|fiscal|financial|new|tax)\s)?(?:year|term|semester|month|school|season|summer|winter|holidays?|classes)\b))",
    "part-of-year": rf"\b(?:beginning|start|middle|end|turn|rest|close)\sof\s(?:{_THAT_YEAR}|(?:the\s)?(?:{_MONTH}\b|{_SEASON}\b|"
    r"(?:academic|school|fiscal|tax)\syear|term\b|semester\b|decade\b|century\b|millennium\b))",
    "quarter": rf"(?:(?<=\bin )|(?<=\bof )|(?<=\bduring )|(?<=\bsince )|(?<=\bby )|(?<=\blate )|(?<=\bearly )|(?<=\bmid )|(?<=\bmid-)|(?<=\blast )|(?<=\bthis )|(?<=\bnext ))"
    rf"(?-i:Q[1-4])(?![\w%]|[-–]\s?\d|\.\d)|\b(?-i:Q[1-4])(?:[\s/’'-]{{1,2}}(?:of\s)?{_ANY_YEAR}|(?=\s(?:(?:of\s)?(?:last|this|next|the|that)\s)?(?:year|fiscal|calendar)\b))|\b(?-i:(?:{_YEAR}|\d\d)[\s/-]?[QH][1-4])\b(?!\.)|"
    r"\b(?-i:[1-4]Q(?:\d{4}|\d\d)?|[12]H(?:20\d\d|\d\d))\b|"
    rf"\b(?-i:[HSTPQ]\d{{1,2}})[\s/’'-]{{1,2}}(?:of\s)?{_YEAR}|\b(?:{_FINE_ORDINALS}|{_ORDINAL}|last)\s(?:quarter|half|trimester|semester)\s(?:of\s)?{_YEAR}",
    "iso-week": rf"\b{_YEAR}[\s-]?W{_WEEK_NUMBER}(?:[\s-]?[1-7])?(?!\w)|\bW{_WEEK_NUMBER}[\s/-]{_YEAR}(?!\d)|\b\d\d-W{_WEEK_NUMBER}(?:-[1-7])?(?!\w)|"
    rf"{_SINCE}\b(?-i:W(?:0[1-9]|[1-4]\d|5[0-3]))(?!\w)|\b{_YEAR}W[0-5]\d[1-7](?!\w)",
    "ordinal-date": rf"(?<![\d.,/-])\b{_YEAR}[-/.](?:[0-2]\d\d|3[0-6]\d)(?![\w]|[-./]\d){_NO_UNIT}",
    "year-range": rf"(?<![\d.,/-])\b{_YEAR}\s?[/–-]\s?(?:{_YEAR}|\d\d)(?![\w%]|[-./,]\d){_NO_UNIT}",
    "foreign-week": r"\b(?:uke|uge|vecka|veckan|vika|viikko|viikolla|semaine|settimana|semana|woche|kalenderwoche|tydzień|tydzien|týden|tyden|tjedan|nedelja|hét|hafta|nädal|nedēļa|savaitė|săptămâna|setmana)\.?\s?(?:nr\.?\s?|n[°º]\s?)?\d{1,2}(?:\s?/\s?\d{2,4})?(?![\w%]|[.,]\d)|"
    r"\b(?-i:[PMTQ]\d{1,2})[\s/-](?-i:FY|AY|TY)\s?['’]?\d{2,4}(?!\w)",
    "period-of-year": r"\bFY\s?\d{2,4}[\s,/-]{1,2}(P\d{1,2})(?!\w)",
    "week-and-weekday": r"\b(W\d{1,2})(?=,?\s(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)",
    "digits-apart": r"(?<![\w.,])\d(?:\s\d){3}\s?[-/.]\s?\d\s\d\s?[-/.]\s?\d\s\d(?!\w)|(?<![\w.,])\d\s\d\s?[-/.]\s?\d\s\d\s?[-/.]\s?\d(?:\s\d){1,3}(?!\w)",
    "six-digits": rf"(?<![\w.,/-])(?<!lot )(?<!lot #)(?<!lot: )(?<!lots )(?<!batch )(?<!number )(?<!no )(?<!# )(?<!#)(?:(?:[0-4]\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:[0-4]\d))"
    rf"(?![\w%]|[-./,]\d){_NO_UNIT}",
    "serial-date": r"\b(?:excel|serial|spreadsheet|epoch|unix|stardate|lilian|mjd|timestamp|posix)\W{1,3}(?:(?:date|day|time|number|stamp|serial)\W{1,3})?"
    r"\d{4,13}(?:\.\d+)?(?!\d)",
    "date-in-sheet": r"\b(?:excel|spreadsheet|workbook)\s(?:(?:turned|made|shows?|showed|gave|gives|reads?|changed|converted|put|has|cell|date|number|"
    r"serial|value|onset|start|stop|end|birth|dose|it|the|of|in|into|to|as|for)\s){1,7}([2-5]\d{4}(?:\.\d+)?)(?!\w|[.,]\d)",
}

_SPOKEN = {
    "public-day": rf"\b(?:{join_phrases(FEASTS)})(?:['’]?s)?(?![^\W_])(?:[\s-](?:day|eve|night|sunday|monday|tuesday)\b)?",
    "cased-feast": rf"\b(?-i:{CASED_FEASTS}|LENT|ADVENT|TET|HOLI|CARNIVAL)(?![^\W_])(?!\s(?:him|her|me|them|us|of|a|the)\b)",
    "public-event": rf"\b{join_phrases(EVENTS)}(?:['’]?s)?(?![^\W_])(?:[\s-](?:day|eve|night|weekend|week|sunday|final|finals|semi-?final)\b)?",
    "school-term": rf"\b{join_phrases(TERMS)}(?![^\W_])",
    "birthday": r"(?:(?<=\bhis )|(?<=\bher )|(?<=\bmy )|(?<=\btheir )|(?<=\bthe ))(?:(?:[^\W_]{1,20}['’]s\s)?(?:last\s|next\s|own\s|"
    r"[\w-]{2,20}(?:st|nd|rd|th)\s)?(?:birthday|name\sday|wedding\s(?:day|anniversary)|anniversary|bar\smitzvah|bat\smitzvah|confirmation)\b)",
    "season": rf"\b(?:last|this|next|past|previous|early|late|mid)[\s-]{{1,2}}{_SEASON}\b(?!\s(?:coats?|jackets?|allerg\w+|cold|flu))|"
    rf"\b(?:last|next)\sfall\b(?!\s(?:was|he|she|on|from|in|at|resulted|caused|risk)\b)|"
    rf"\b(?:in|over|during|since|throughout|by|until)\sthe\s(?:(?:early|late)\s)?{_SEASON}\b(?!\smonths)|\b(?:since|until|till)\s{_SEASON}\b|"
    rf"\b{_SEASON_OR_FALL}\s(?:of\s)?(?:{_THAT_YEAR}|['’]\d\d(?!\d))|\bfall\s(?:of\s)?{_YEAR}|\b{_SEASON}\sof\s(?:her|his|their|my|our)\b|"
    rf"\bin\sthe\sfall\sof\s{_THAT_YEAR}",
    "nth": rf"{_ON_THE}{_ORDINAL}\b{_ENDS_PHRASE}|{_ON_THE}{_ORDINAL}\sof\s(?:the\smonth|last|this|next|that|each|every|{_MONTH}\b)|"
    rf"(?<=\bthe ){_ORDINAL}\sof\s(?:the|last|this|next|that|each|every|same)\smonth\b|{_NEAR_THE}(?:[4-9]|[12]\d|3[01])(?:st|nd|rd|th)\b(?=\s*(?:[.,;:!?)\n]|\Z)|\s(?:of\s(?:the\smonth|last|this|next)))|"
    rf"(?:(?<=\bthe )|(?<=\bon )|(?<=\bsince ))(?:[12]\d|3[01]|[4-9])(?:st|nd|rd|th)\s(?:inst|ult|prox)\b",
    "nth-in-words": rf"{_ON_THE}{_LATE_ORDINALS}\b{_ENDS_PHRASE}|"
    rf"\b{_FINE_ORDINALS}\s(?:day\s)?of\s(?:{_MONTH}\b|the\smonth|last\smonth|this\smonth)",
    "nth-of-nth": rf"\b(?:{_FINE_ORDINALS}|{_ORDINAL})\s(?:day\s)?of\s(?:the\s)?(?:{_FINE_ORDINALS}|{_ORDINAL})\b(?!\s(?:dose|day|week|month|cycle|visit|trimester|infusion|injection|year|degree|course|patient|toe|finger|rib|metatarsal|line))",
    "month-and-nth": rf"\b{_MONTH}\s(?:the\s)?(?:{_FINE_ORDINALS}|{_ORDINAL})\b(?!\s(?:dose|vaccin|injection|infusion))",
    "small-month": r"\b(?:in|since|last|next|early|late|mid|until|till|during|every|each|by|from)[\s-]{1,2}(?:may|march|august)\b"
    r"(?!\s(?:be|have|not|also|cause|still|need|well|or\smay|in\splace|fracture)\b)|"
    r"\bthis\s(?:march|august)\b|\b(?:in|since|until)\s(?:mar|jun|jul|sept?|oct|nov|dec|jan|feb|apr|aug)\b\.?|"
    r"\b(?-i:May)\b(?=\s(?:last|this|next)\syear)",
    "short-weekday": r"\b(?:on|last|next|since|until|till|every|from|this)\s(?:mon|tues?|weds?|thurs?|thu|fri|sat|sun)\b"
    r"(?!\s(?:exposure|cream|screen|light|burn|bath|damage|exposed|up|down|on|for|in|with|and\sfelt|\d\d\s?%)|-?(?:screen|burn|exposed|damaged))",
}

_MISSPELT_MONTH = (
    r"(?:janu?[ar]{1,2}y|jaunary|januari|feb[ur]{1,4}a?ry|febuary|feburary|frebruary|marhc|mrach|apirl|aprl|appril|juen|jully|juley|"
    r"agust|augest|augsut|setp?ember|setpember|sep[te]{1,4}mb[er]{1,3}|septmber|ocotber|octobor|octber|ocober|novemb[re]{1,3}|novmber|"
    r"novemeber|decemb[re]{1,3}|decmber|decemeber|desember|decembar)"
)

_NEAR_YEAR = r"(?:c|ca|circa|pre|post|mid|since|in|from|till|until|yr|year|y|summer|winter|spring|autumn)"

_WRITTEN = {
    "spaced-date": rf"(?<![\w.,/-]){_DATE_NUMBER}(?!\d){_SEPARATOR}{_DATE_NUMBER}(?!\d){_SEPARATOR}['’]?{_YEAR}(?![\w%]|[.,]\d){_NO_UNIT}|"
    rf"(?<![\w.,/-]){_YEAR}(?!\d){_TIGHT_SEPARATOR}(?:0?[1-9]|1[0-2])(?!\d){_TIGHT_SEPARATOR}{_DAY}(?![\w%]|[.,]\d){_NO_UNIT}",
    "odd-date": rf"(?<![\w.,-]){_DATE_NUMBER}{_ODD_SEPARATOR}{_DATE_NUMBER}(?!\d){_ODD_SEPARATOR}\d\d(?![\w%]|[.,]\d){_NO_UNIT}|"
    rf"(?<![\w.,/-])(?:0?[1-9]|1[0-2])\s?[|\\_*~./–-]\s?{_YEAR}(?![\w%]|[.,]\d){_NO_UNIT}|"
    rf"(?<![\w.,/-]){_DATE_NUMBER}(?:/{_DATE_NUMBER}-|-{_DATE_NUMBER}/|[/.-]{_DATE_NUMBER}[/.-]['’])"
    rf"(?!10|1[45]\b|[2-9]0)['’]?[0-4]\d(?![\w%]|[.,/-]\d){_NO_UNIT}",
    "parted-date": rf"(?<![\w.,/-])\d\s\d(?:\s?[/.|-]\s?|\s{{2,3}})\d\s\d(?:\s?[/.|-]\s?|\s{{2,3}})\d\s\d(?:\s\d\s\d)?(?![\w%]|[.,]\d)|(?<!\w)[(\[{{<]\s?\d{{1,2}}\s?[)\]}}>]\s?[(\[{{<]\s?\d{{1,2}}\s?[)\]}}>]\s?[(\[{{<]\s?(?:{_YEAR}|\d\d)\s?[)\]}}>]|"
    rf"\b{_NEAR_YEAR}[.-]?{_YEAR}(?![\w%]|[.,]\d|-\d)",
    "ocr-date": r"(?<![\w.,/-])(?=[\dOolI|]{1,2}[/.-]?[\dOolI]{0,2}[/.-]?[\dOolI]{0,4})(?=[\d/.-]{0,9}[OolI])[0-3OolI]?[\dOolI][/.-][01OolI]?[\dOolI][/.-](?:[12lI][09Oo])?[\dOolI]{2}(?!\w)|"
    r"(?<![\w.,/-])[0-3]?\d[/.-](?:[Ool]\d|[01][OolI])[/.-](?:[12lI][09Oo])?[\dOolI]{2}(?!\w)|(?<![\w.,/-])\d{1,2}[/.-]\d{1,2}[/.-](?=\d{0,3}[OolI])[Ool2][\dOolI]{1,3}(?!\w)|"
    r"\b(?:19|20)\d\d[/.-](?=[\d/.-]{0,4}[OolI])[OolI\d]{2}[/.-][OolI\d]{2}(?!\w)|\b(?-i:2[Oo]\d\d|20[Oo]\d|20\d[OolI]|2[Oo][Oo]\d|l9\d\d)(?!\w)",
    "short-year-word": r"\b2k\d{1,2}\b|\b(?:two|twenty)[\s-]?(?:thousand|hundred)(?:[\s-](?:and[\s-])?(?:\w{3,9}(?:teen|ty|elve|even|one|two|three|four|five|six|eight|nine|ten)"
    r"(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?|one|two|three|four|five|six|seven|eight|nine|ten))(?!\s(?:mg|units|dollars|times))\b|"
    r"\b(?:nineteen|twenty|eighteen)[\s-](?:(?:oh|o|hundred)[\s-])?(?:ten|eleven|twelve|\w{3,5}teen|(?:twen|thir|for|four|fif|six|seven|eigh|nine)ty)"
    r"(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?\b|\b(?:19|20)\d0['’]?s\b|"
    r"(?-i:\bM{1,2}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?<=\w{4})\b)",
    "apostrophe-year": r"(?:(?<=\bin )|(?<=\bof )|(?<=\bsince )|(?<=\bfrom )|(?<=\buntil )|(?<=\bfor ))['’]\d\d(?![\w%])",
    "roman-month": rf"(?<![\w.,/-]){_DAY}[./-]\s?{_ROMAN_MONTH}[./-]\s?['’]?(?:{_YEAR}|\d\d)(?![\w%])|(?<![\w.,/-]){_DAY}\s{_ROMAN_MONTH}\s{_YEAR}(?!\w)|"
    rf"(?<![\w.,/-])(?-i:I{{1,3}}|IV|VI{{0,3}}|IX|XI{{0,2}})[\s./-]{{1,2}}{_YEAR}(?!\w)",
    "month-with-number": rf"(?<![\w])\d{{1,2}}(?:st|nd|rd|th)?(?:[\s./-]{{0,2}}|,\s?(?!may\b|march\b)){_MONTH}(?![^\W_])(?:[\s./,-]{{0,3}}['’]?(?:\d{{4}}|\d\d)(?![\w]|[.:]\d))?"
    r"(?!\s(?:be|have|not|also|cause|need)\b)|"
    rf"\b{_MONTH}\.?[\s./,_-]{{0,2}}\d{{1,2}}(?:st|nd|rd|th)?(?![\w%]|\.\d)(?:[\s./,_-]{{1,3}}['’]?(?:\d{{4}}|\d\d)(?!\w|[.:]\d))?{_NO_UNIT}|"
    rf"\b{_MONTH}['’]\d\d(?!\w)|\b{_MONTH}{_YEAR}(?!\w)|\b{_YEAR}[\s./,-]{{0,2}}{_MONTH}(?:[\s./,-]{{0,2}}\d{{1,2}})?(?!\w)",
    "misspelt-month": rf"\b(?!{_MONTH}(?![^\W_])){_MISSPELT_MONTH}(?:[\s,./-]{{1,2}}(?:\d{{1,2}}(?:st|nd|rd|th)?|\d{{4}})(?![\w]|\.\d)){{0,2}}\b",
}

_FOREIGN = {
    "foreign-month": rf"(?<![\w])\d{{1,2}}(?:\.|er|re|º|ª|o|e|:e|a|-?án)?[\s./-]{{1,2}}(?:(?:de|di|d['’]|den|del)\s?)?{join_phrases(MONTH_WORDS)}(?![^\W_])"
    rf"(?:\.?,?[\s./-](?:de[l]?\s)?['’]?\d{{2,4}}(?!\w|:\d))?",
    "foreign-month-first": rf"\b{join_phrases(MONTH_WORDS)}\.?[\s,./-]{{1,2}}\d{{1,4}}(?:\.|er)?(?!\w|:\d){_NO_UNIT}",
    "clear-month": rf"\b{join_phrases(CLEAR_MONTHS)}(?![^\W_])",
    "after-foreign-word": r"\b(?:(?-i:im|Im|Anfang|Ende|Mitte|seit|bis|vom|en|au|d[eé]but|fin|mi|desde|hasta|sinds|vanaf|begin|eind|sedan|siden|od|do))[\s-]"
    rf"{join_phrases(MONTH_WORDS)}(?![^\W_])|\b(?-i:vom|bis|den|seit|zum|le|el|du|desde|op)\s(?:zum\s|el\s|al\s)?{_DATE_NUMBER}(?:\.|er)(?!\d)"
    rf"|\b(?-i:am|Am)\s{_DATE_NUMBER}\.\s?(?:\d{{1,2}}\.)?(?!\d)|\b(?-i:le|el|den)\s{_DATE_NUMBER}(?![\w%.,/-]){_NO_UNIT}",
    "foreign-weekday": rf"\b{join_phrases(WEEKDAY_WORDS)}(?![^\W_])(?:,?\s(?:(?:den|le|el|il|dem|the|dia|día|de|em)\s)?\d{{1,2}}\b\.?)?",
    "number-by-foreign-script": r"(?<![\w.,/-])\d{1,4}\.?\s?(?=[\u0370-\u1fff\u3040-\u9fff\uac00-\ud7af]{3,})|(?<=[\u0370-\u1fff\u3040-\u9fff\uac00-\ud7af]{3}\s)\d{1,4}(?![\w%]|[.,]\d)",
    "era": rf"\b(?:{ERAS})\W{{1,2}}\d{{1,4}}(?!\w)|\b(?-i:BE|AH|AM|CE|AD|R|H|S)\s(?:1[34]\d\d|2[45]\d\d|57\d\d|58\d\d)(?!\w)|\b(?:1[34]\d\d|2[45]\d\d|57\d\d)\s(?-i:BE|AH|AM|H)\b",
}

_CLOCK = r"(?:[01]?\d|2[0-4])[:.h][0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?(?:\s?[ap]\.?m\b\.?)?"
_FAR_ZONES = (
    "NPT|NST|NDT|AFT|IRST|IRDT|MMT|ACST|ACDT|ACWST|AEST|AEDT|AWST|LHST|LHDT|CHAST|CHADT|NZST|NZDT|NZT|TOT|PHOT|LINT|FJT|FJST|SGT|HKT|"
    "PHT|PHST|MYT|WIB|WITA|WIT|ICT|KST|JST|PKT|BDT|BTT|SLST|IST|MVT|UZT|TJT|TMT|KGT|ALMT|AZT|GET|AMT|GST|TRT|MSK|SAMT|YEKT|OMST|NOVT|"
    "KRAT|IRKT|YAKT|VLAT|MAGT|PETT|WAT|SAST|CVT|AZOT|AZOST|BRT|BRST|CLT|CLST|PYT|UYT|BOT|GYT|HAST|HST|AKST|AKDT|ChST|CHST|GILT|TVT|NRT|"
    "SBT|NCT|VUT|PGT|PONT|CHUT|KOST|MHT|WAKT|CKT|TAHT|MART|GAMT|TKT|NUT|SST|MUT|SCT|EGT|WGT|FKT|PMST|HOVT|ULAT|TLT|BNT|RET|IDT"
)
_COMMON_OFFSET = r"(?:-0?[345678](?::?00)?|[+±-]?0?[0123](?::?00)?|[+]0?[78](?::?00)?)(?![\d:])"

_ZONES = {
    "time-zone": rf"(?<![\w.:]){_CLOCK}\s?[(,\[]?\s?((?-i:{_FAR_ZONES})\b)",
    "zone-name": rf"\b(?:UTC|GMT)\s?(?!{_COMMON_OFFSET})([+±−–-]\s?\d{{1,2}}(?:(?::|\.)?[0-5]\d)?)(?!\d)",
    "zone-offset": rf"(?<![\w.:])(?:\d\d\d\d-\d\d-\d\d[T\s])?(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d(?:\.\d{{1,6}})?)?\s?(?!{_COMMON_OFFSET})"
    r"((?:\+|(?<=\d\d:\d\d:\d\d)[−-])\d\d:?[0-5]\d)(?![\d:]|\s?[ap]\.?m)",
    "zone-of-city": r"\b(?:Asia|Africa|America|Europe|Australia|Pacific|Atlantic|Indian|Antarctica|Arctic)/((?-i:[A-Z])[A-Za-z_]{2,30}(?:/[A-Za-z_]{2,30})?)",
}
DATE_PATTERNS = compile_patterns({**_CODES, **_SPOKEN, **_WRITTEN, **_FOREIGN, **_ZONES})

DATES_LIFTED_BY: Mapping[str, frozenset[HyperClass]] = MappingProxyType(
    {
        **dict.fromkeys(
            {*_CODES, *_SPOKEN, *_WRITTEN, *_FOREIGN} - {"birthday"}, frozenset({HyperClass.DATE})
        ),
        **dict.fromkeys(_ZONES, frozenset({HyperClass.PLACE})),
    }
)
"""See `patterns.LIFTED_BY`: a birthday is a birth, and a time zone is a place."""

_FUNCTION_WORDS = word_set(
    """in on the of at since until till during from to by around about between over throughout for this last next each every
    day week wk calendar cal year her his their my end middle beginning start month"""
)
_NOT_PLAIN = {"public-day", "public-event", "school-term", "nth-of-year", "short-year-word", "week-code"}
PLAIN_DATE_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    dict.fromkeys(DATE_PATTERNS.keys() - _NOT_PLAIN, _FUNCTION_WORDS)
    | dict.fromkeys(_NOT_PLAIN - {"short-year-word"}, frozenset({"the"}))
)
"""See `patterns.PLAIN_WORDS`."""

_ORDINAL_WORD = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|"
    r"twenty|thirty|thirtieth|last|final)\Z"
)
_OF_MONTH = rf"{_MONTH}\Z"
_NUMBER_OF_DATE = rf"{_DATE_NUMBER}\Z"
_UNIT_OF_YEAR = (
    r"(?:calendar|day|week|weekend|month|quarter|qtr|half|fortnight|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)\Z"
)
DATE_ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "calendar-week": [
            Anchor(
                r"(?:calendar|cal|iso|epi(?:demiological)?|fiscal|financial|tax|school|academic|surveillance|julian)\Z"
            )
        ],
        "day-of-month-in-order": [Anchor(r"\d{1,2}(?:st|nd|rd|th)\Z", behind=SPACES, next=r"(?:day|of)\Z")],
        "julian-day": [Anchor(r"julian\Z")],
        "week-code": [
            Anchor(r"(?:KW|CW|Kw|DOY|MJD|JD|FY|AY|TY)\d{0,7}\Z", cased=True),
            Anchor(r"yearday\Z"),
            Anchor(r"(?:year|day)\Z", next=r"(?:day|of)\Z"),
        ],
        "week-of-year": [Anchor(r"(?:week|wk|w)(?:\d|\Z)")],
        "bare-week": [Anchor(r"(?:week|wk)\Z", next=r"(?:1[3-9]|[2-4]\d|5[0-3])\Z")],
        "day-of-year": [Anchor(r"day\d{0,3}(?:st|nd|rd|th)?\Z|D\d{1,3}\Z")],
        "nth-of-year": [
            Anchor(r"\d{1,3}(?:st|nd|rd|th)\Z", next=_UNIT_OF_YEAR),
            Anchor(_ORDINAL_WORD, next=_UNIT_OF_YEAR),
        ],
        "part-of-year": [Anchor(r"(?:beginning|start|middle|end|turn|rest|close)\Z")],
        "quarter": [
            Anchor(
                r"(?:(?:\d{4}|\d\d)?[QH][1-4]|[1-4]Q(?:\d{4}|\d\d)?|[12]H(?:\d{4}|\d\d))\Z",
                begins=False,
                cased=True,
            ),
            Anchor(r"[HSTPQ]\d{1,2}\Z", begins=False, cased=True, next=rf"of\Z|{_YEAR}"),
            within(r"(?:quarter|half|trimester|semester)\Z", next=rf"of\Z|{_YEAR}"),
        ],
        "iso-week": [within(r"(?:\d{4})?W\d{1,3}\Z")],
        "ordinal-date": [Anchor(rf"{_YEAR}\Z", behind="-/.", next=r"\d{3}\Z")],
        "year-range": [Anchor(rf"{_YEAR}\Z", behind=f"{SPACES}/–-", next=rf"(?:{_YEAR}|\d\d)\Z")],
        "foreign-week": [
            Anchor(
                r"(?:uke|uge|veckan?|vika|viikko|viikolla|semaine|settimana|semana|woche|kalenderwoche|tydzień|tydzien|týden|tyden|tjedan|nedelja|hét|hafta|nädal|nedēļa|savaitė|săptămâna|setmana)\d{0,2}\Z"
            ),
            Anchor(r"[PMTQ]\d{1,2}\Z", behind=f"{SPACES}/-", cased=True),
        ],
        "period-of-year": [Anchor(r"FY(?:\d{2,4})?\Z")],
        "week-and-weekday": [Anchor(r"W\d{1,2}\Z", next=r"(?:mon|tues|wednes|thurs|fri|satur|sun)day\Z")],
        "digits-apart": [Anchor(r"\d\Z", next=r"\d\Z")],
        "six-digits": [Anchor(r"\d{6}\Z")],
        "serial-date": [
            Anchor(r"(?:excel|serial|spreadsheet|epoch|unix|stardate|lilian|mjd|timestamp|posix)\Z")
        ],
        "date-in-sheet": [Anchor(r"(?:excel|spreadsheet|workbook)\Z", behind=" ")],
        "public-day": first_words(FEASTS),
        "cased-feast": [Anchor(rf"(?:{CASED_FEASTS})\Z")],
        "public-event": first_words(EVENTS),
        "school-term": first_words(TERMS),
        "birthday": [
            within(r"(?:birthday|anniversary|mitzvah|confirmation)\Z"),
            within(r"(?:name|wedding)\Z", next=r"day\Z"),
        ],
        "season": [within(rf"{_SEASON_OR_FALL}\Z")],
        "nth": [Anchor(rf"{_ORDINAL}\Z")],
        "nth-in-words": [Anchor(_ORDINAL_WORD)],
        "nth-of-nth": [Anchor(r"\d{1,2}(?:st|nd|rd|th)\Z"), Anchor(_ORDINAL_WORD)],
        "month-and-nth": [Anchor(rf"{_MONTH}\Z")],
        "small-month": [
            Anchor(
                r"(?:in|since|last|next|early|late|mid|until|till|during|every|each|by|from|this)\Z",
                behind=f"{SPACES}-",
                next=r"(?:may|march|august|mar|jun|jul|sept?|oct|nov|dec|jan|feb|apr|aug)\Z",
            ),
            Anchor(r"May\Z", cased=True, next=r"(?:last|this|next)\Z"),
        ],
        "short-weekday": [
            Anchor(
                r"(?:on|last|next|since|until|till|every|from|this)\Z",
                behind=SPACES,
                next=r"(?:mon|tues?|weds?|thurs?|thu|fri|sat|sun)\Z",
            )
        ],
        "spaced-date": [
            Anchor(_NUMBER_OF_DATE, next=_NUMBER_OF_DATE),
            Anchor(rf"{_YEAR}\Z", next=r"(?:0?[1-9]|1[0-2])\Z"),
        ],
        "odd-date": [
            Anchor(_NUMBER_OF_DATE, behind=f"{SPACES}|\\_*~·•–—'’./-", next=rf"(?:{_DATE_NUMBER}|{_YEAR})\Z")
        ],
        "parted-date": [
            Anchor(r"\d\Z", behind=SPACES, next=r"\d\Z"),
            within(r"\d{1,2}\Z", before="([{<" + SPACES, behind=")]}>" + SPACES),
            Anchor(rf"{_NEAR_YEAR}\Z", behind=".-", next=rf"{_YEAR}\Z"),
            Anchor(rf"{_NEAR_YEAR}{_YEAR}\Z"),
        ],
        "ocr-date": [
            Anchor(r"[\dOlI]{1,2}\Z", behind="/.-", next=r"[\dOlI]{1,2}\Z"),
            Anchor(r"(?:19|20)\d\d\Z", behind="/.-", next=r"[\dOlI]{2}\Z"),
            Anchor(r"(?:2o\d\d|20o\d|20\d[oli]|2oo\d|l9\d\d)\Z"),
        ],
        "short-year-word": [
            Anchor(r"2k\d|(?:two|twenty|nineteen|eighteen)|(?:19|20)\d0|M{1,2}[CDXLVI]{2,16}\Z")
        ],
        "apostrophe-year": [within(r"\d\d\Z", before="'’")],
        "roman-month": [
            Anchor(rf"{_DAY}\Z", next=r"[IVX]{1,4}\Z"),
            Anchor(r"[IVX]{1,4}\Z", cased=True, next=rf"{_YEAR}\Z"),
        ],
        "month-with-number": [
            Anchor(r"\d{1,2}(?:st|nd|rd|th)?\Z", next=_OF_MONTH),
            Anchor(rf"\d{{1,2}}(?:st|nd|rd|th)?{_OF_MONTH}"),
            Anchor(_OF_MONTH, next=r"\d"),
            Anchor(rf"{_MONTH}\d"),
            Anchor(rf"{_YEAR}\Z", next=_MONTH),
            Anchor(rf"{_YEAR}{_MONTH}"),
        ],
        "misspelt-month": [Anchor(rf"{_MISSPELT_MONTH}\Z")],
        "foreign-month": first_words(MONTH_WORDS, begins=False),
        "foreign-month-first": first_words(MONTH_WORDS),
        "clear-month": first_words(CLEAR_MONTHS),
        "after-foreign-word": [
            Anchor(
                r"(?:im|anfang|ende|mitte|seit|bis|vom|en|au|d[eé]but|fin|mi|desde|hasta|sinds|vanaf|begin|eind|sedan|siden|"
                r"od|do|den|zum|le|el|du|op|am)\Z"
            )
        ],
        "foreign-weekday": first_words(WEEKDAY_WORDS),
        "number-by-foreign-script": [Anchor(r"\d")],
        "era": [
            *first_words(ERAS),
            Anchor(r"(?:BE|AH|AM|CE|AD|R|H|S)\Z", cased=True, next=r"(?:1[34]|2[45]|57|58)\d\d\Z"),
            Anchor(r"(?:1[34]|2[45]|57|58)\d\d\Z", next=r"(?-i:(?:BE|AH|AM|H)\Z)"),
        ],
        "time-zone": [Anchor(r"\d{1,2}\Z", behind=":.", next=r"[0-5]\d"), Anchor(r"\d{1,2}h\d\d")],
        "zone-name": [Anchor(r"(?:UTC|GMT)\Z")],
        "zone-offset": [
            Anchor(r"\d{1,2}\Z", behind=":", next=r"[0-5]\d"),
            Anchor(r"\d{4}\Z", behind="-", next=r"\d\d\Z"),
        ],
        "zone-of-city": [
            Anchor(
                r"(?:Asia|Africa|America|Europe|Australia|Pacific|Atlantic|Indian|Antarctica|Arctic)\Z",
                behind="/",
            )
        ],
    }
)
"""See `patterns.ANCHORS`."""

DATE_LONGEST: Mapping[str, int] = MappingProxyType(
    {
        "quarter": 60,
        "iso-week": 24,
        "birthday": 90,
        "season": 80,
        "apostrophe-year": 12,
        "parted-date": 40,
        "month-with-number": 60,
        "foreign-month": 70,
    }
)
"""Characters of the longest match of a pattern and of what it looks ahead to, with a margin."""
