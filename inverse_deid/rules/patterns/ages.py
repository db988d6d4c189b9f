"""Patterns of ages that the patterns of the network do not find; like those, they may only mask.

Ages over 89 in whatever words and units always mask. Other ages mask in the frames that speak of a person's
age: `turned fifty`, `in his fifties`, `aged fifty-one`, `septuagenarian`. Durations are facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.core.phi import HyperClass
from inverse_deid.rules.patterns.anchors import SPACES, Anchor, compile_patterns, within
from inverse_deid.rules.shapes import word_set

_ONES = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_TEENS = r"(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)"
_TENS = r"(?:twenty|thirty|fou?rty|fifty|sixty|seventy|eighty|nin(?:e)?ty)"
_DECADES = r"(?:twenties|thirties|fou?rties|fifties|sixties|seventies|eighties|nineties)"
_HUNDRED = rf"(?:(?:one|a)[\s-]{{1,2}})?hundred(?:(?:[\s-]and)?[\s-]{{1,2}}(?:{_TENS}|{_TEENS}|{_ONES}))?"
_WORDS = rf"(?:{_HUNDRED}|{_TENS}(?:[\s-]{{0,2}}{_ONES})?|{_TEENS}|{_ONES})"
_LARGE_WORDS = rf"(?:{_HUNDRED}|{_TENS}(?:[\s-]{{0,2}}{_ONES})?|{_TEENS})"
_DIGITS = r"(?:1[0-2]\d|\d{1,2})(?![\w%°]|[.,:/]\d|\s?%)"
_NUMBER = rf"(?:{_DIGITS}|{_WORDS}\b)"
_LARGE_NUMBER = rf"(?:(?:1[0-2]\d|\d\d)(?![\w%°]|[.,:/]\d|\s?%)|{_LARGE_WORDS}\b)"
_NO_AMOUNT = (
    r"(?!\s?(?:mg|mcg|g|kg|ml|l|iu|units?|mmol|mm|cm|m|bpm|mmhg|tablets?|pills?|capsules?|doses?|drops?|puffs?|times?|"
    r"degrees?|minutes?|mins?|hours?|hrs?|days?|nights?|lesions?|spots?|episodes?|patients?|people|subjects?|cases?|per|percent|"
    r"over|out|of\sthe|steps?|miles?|cigarettes?|pack|pounds?|lbs?|beats?|breaths?|injections?|bites?|stings?|sessions?|cycles?|visits?)\b)"
)
_ORDINAL_TENS = (
    rf"(?:{_TENS}[\s-]{{0,2}}(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|twentieth|thirtieth|fou?rtieth|fiftieth|"
    r"sixtieth|seventieth|eightieth|nin(?:e)?tieth|(?:one[\s-])?hundredth|hundred[\s-]and[\s-](?:first|second|third|fourth|fifth|"
    r"sixth|seventh|eighth|ninth|tenth)|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|tenth|"
    r"eleventh|twelfth|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
)
_ORDINAL_90 = (
    r"(?:9\d(?:st|nd|rd|th)|1[0-2]\d(?:st|nd|rd|th)|nin(?:e)?ty[\s-]{0,2}(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|"
    r"nin(?:e)?tieth|(?:one[\s-])?hundredth|hundred[\s-]and[\s-](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth))"
)
_NEXT_PHRASE = (
    r"(?=\s*(?:[.,;:!?)\n]|\Z)|\s(?:and|with|when|this|next|last|in|on|at|who|by|now|years?|yrs?|but|soon|tomorrow|today|"
    r"yesterday|so|had|has|was|is|years-old)\b|\s(?-i:[A-Z]))"
)
_SPELLED_DIGITS = rf"(?:{_ONES}|\d|zero|oh|o)(?:[\s.,-]{{1,2}}(?:{_ONES}|\d|zero|oh|o)(?!\w)){{1,2}}"
_OCR_NUMBER = r"(?=[\dOolISB]{0,2}[OolISB])(?=[OolISB]{0,2}\d)(?-i:[\dOolISB]{2,3})(?!\w)"
_OLD = r"(?:[\s-]{0,2}(?:old|of\sage|of\slife|young))"
_YEARS = r"(?:years?|yrs?|y\W?o|y/o|yo)"
_WARS = (
    r"(?:wars?|armistice|great\sdepression|titanic|kaiser|tsar|czar|empire|revolution|independence|partition|blitz|prohibition|"
    r"world\swar|great\swar|ww\s?(?:1|2|i{1,2})|jazz\sage|roaring\stwenties|(?:victorian|edwardian)\s(?:era|age|times)|reign|"
    r"queen\svictoria|moon\slanding|d-day|ve[\s-]day|nineteen\shundreds|last\scentury|1[89]00s|turn\sof\sthe\scentury)"
)
_ROMAN = r"(?-i:(?=[CXLVI]{2})C?(?:X[CL]|L?X{0,3})(?:IX|IV|V?I{0,3}))"
_AGE_WORD = r"(?:ages?d?|aet(?:at)?|æt(?:at)?|alter|edad|âge|età|leeftijd|ålder|wiek)"
_FOREIGN_YEARS = (
    r"(?:ans|anni|a[nñ]os|anos|jahre?n?|jaar|år|aar|lat|lata|vuotta|let|éves|ani|yaş\w*|"
    r"j[aä]hrige?[rnsm]?|jarige?|årig[ea]?|tahun|godina|leti)"
)
_AGE_FRAME = r"(?:\W{0,3}\b(?:at|on|of|in|is|was|now|exam|examination|visit|onset|admission|event|time|yrs?|years?|about|approx|approximately|around|circa|ca|group|over|above|reported|patient|dose|vaccination|diagnosis|death|then)\b){0,4}"
_AGE_SIGNS = r"[\s.:;=>(<~≈\[|_\"'’/-]{1,6}(?:(?:was|is|of|about|approx\.?|around|yrs?|years?)[\s:=)]{1,3})?"

_OVER_89 = {
    "age-of-hundreds": rf"\b(?:nonagener?ians?|nonogenarians?|cent[ei]n[ae]rians?|super[\s-]?cent[ei]n[ae]rians?|centennials?)\b|"
    r"\bnin(?:e)?ty(?:ish|odd|plus|something)?\b(?=[\s-]{0,2}(?:odd|plus|ish|something|a-half|and\sa\s(?:half|bit|quarter)))[\s-]{0,2}(?:odd|plus|ish|something|and\sa\s\w+)?|"
    rf"\b(?:tenth|10th|eleventh|11th|twelfth)[\s-]decade\b|\b(?:9|10|11|nine|ten|eleven)(?:\.\d|½|[\s-]and[\s-]a[\s-]half|[\s-]plus)?[\s-]decades\b|"
    r"\b(?:four|4|five|5)[\s-]?score(?:\b(?:[\s-]and)?[\s-]\w+|\b)(?:[\s-]years?)?|"
    r"\b(?:over|nearly|almost|more\sthan|about|just\s(?:over|under)|under|past|(?:short|shy|off|away|off\sreaching|from)(?:\sof)?|reached|reaching|approaching|completed|lived|for)\s"
    r"(?:a|an|one|her|his|their|the)\s(?:whole\s|full\s)?(?:century|centenary)\b|\b(?:a|one)[\s-]century[\s-]old\b|\bcentury[\s-]old\b|\bcenten(?:ary|nial)\b|"
    rf"\b(?:years?\s(?:short|shy|off|from|away\sfrom)|(?:short|shy)\sof|older\sthan|younger\sthan)\s(?:of\s)?(?:the\s)?(?:(?:a|one|the|big)\s)?(?:hundred|ton|nin(?:e)?ty|100|9\d|10\d|three\sfigures)\b{_NO_AMOUNT}(?!\s?[%/.\d])|"
    r"\b(?:ton|telegram|card|letter|message)\sfrom\s(?:the|her|his)\s(?:queen|king|palace|majesty)\b",
    "high-ordinal": rf"\b{_ORDINAL_90}(?:[\s-](?:year|birthday|yr|winter|summer))?\b(?!\s(?:percentile|centile|day|minute|hour|week|month|patient|dose|time))",
    "high-decade": r"\b(?:early|mid|late|middle)[\s-]{0,2}nineties\b|\b(?:in|into|reached)\s(?:his|her|their|my)\s(?:very\s)?(?:(?:early|mid|late|middle|high|low)[\s-]{0,2})?90['’]?s\b",
    "many-units": r"\b(?!(?:19|20)\d\d[\s-]?month\b)(?:[1-9]\d{3,4}|[1-9]\d?,\d{3})[\s-]?(?:months?|mths?|mos?)(?![^\W_])|\b(?:[4-9]\d{3}|[1-9]\d{4}|[4-9],\d{3}|[1-9]\d,\d{3})[\s-]?(?:weeks?|wks?)(?![^\W_])|"
    r"\b(?:3[2-9]\d{3}|[4-9]\d{4}|3[2-9],\d{3}|[4-9]\d,\d{3})[\s-]?days?(?![^\W_])|\b(?:[7-9]\d{5}|1\d{6}|[7-9]\d\d,\d{3}|1,\d{3},\d{3})[\s-]?(?:hours?|hrs?)(?![^\W_])|"
    rf"\b(?:9\d|1[0-2]\d|nin(?:e)?ty(?:[\s-]{_ONES})?|{_HUNDRED})\s(?:winters|summers|springs|autumns|christmases|birthdays)\b",
    "century-of-life": r"\b(?:pass(?:ed|es)?|past|reach(?:ed|es)?|hit|beyond|turned|nearing|approaching|(?:short|shy)\sof|completed|celebrated|lived)\s(?:out\s)?"
    r"(?:the|a|her|his|one|their)\s(century)\b",
    "roman-after-label": r"\b(?:aet(?:at)?|æt(?:at)?|aged?)\b\.?\s(?:suae\s)?((?=\w\w)(?:xc|cx{0,2})(?:ix|iv|v?i{0,3}))\b",
    "nine-oh": r"\b(?:big|turned|turning|hit|past|reached)\s(?:the\s)?(?:big\s)?(?:nine[\s-]oh|9-oh|one[\s-]oh[\s-]\w+)\b|"
    r"\b(?:lived|seen|after|through)\s(?:nine|ten|9|10)\sdecades\b",
    "hundred-and-months": rf"\baged?\s({_HUNDRED}\syears?(?:\sand\s(?:{_ONES}|{_TEENS}|\d{{1,2}})\smonths?)?)\b",
    "will-be-hundred": r"\b(?:will|would|to)\s(?:be|turn)\s((?:a|one)\s?hundred)\b(?!\s(?:mg|ml|percent|per|times|and|units|tablets|capsules|mcg|g)\b|\s?%)",
    "high-number-of-years": rf"\b(?:9\d|1[0-2]\d)[\s-]?(?:y(?:ea)?rs?|y/?o|y\.\s?o|yo[mfwb]?|ys|y)\b(?!\s(?:ago|later|earlier|before|after|of\s(?:use|therapy|treatment|smoking)|pack|history))\.?(?:[\s-]?old)?|"
    rf"\b(?-i:(?:9\d|1[01]\d)M)\b|(?:(?<=\ba )|(?<=\bthis )|(?<=\ban )|(?<=\n)|(?<=\A))(?-i:(?:9\d|1[01]\d)[MFmf])\b|\b(?-i:[MF])/?(?:9\d|10\d)\b(?!\.\d)|"
    rf"\b(?:9\d|1[01]\d)(?:\+|\s?plus\b)(?=\s?(?:y/?o|yo|yrs?|years?|age|old)\b|\s*\Z)|(?<!\w)(?:9\d|1[01]\d)-?(?:odd|ish|something)\b{_NO_AMOUNT}|\bnin(?:e)?ty[\s-]{{0,2}}{_ONES}\b(?=\s(?:this|next|last|in|and|with|but)\b|[.,;]|\Z){_NO_AMOUNT}|"
    rf"(?<=\bbig )one[\s-](?:oh|o)[\s-]{_ONES}\b|\bone[\s-](?:oh|o)[\s-]{_ONES}(?=[\s-](?:years?|yrs?|y/?o|old)\b)|\b(?:a|one)\shundred\sand\s{_ONES}\b{_NO_AMOUNT}",
    "bare-ninety": rf"(?<![-\w])(?<!to )(?<!by )(?<!than )(?<!from )(?<!sats )(?<!saturations )(?<!spo2 )(?<!pulse )(?<!rate )nin(?:e)?ty(?:[\s-]{{0,2}}{_ONES})?\b(?![\s-]{{0,2}}(?:days?|minutes?|mins?|seconds?|hours?|degrees?|percent|per|weeks?|months?|milligrams?|tablets?|pills?|units?|patients?|times|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|thousand|hundred|miles?|steps?|over|out|to|and\s{_TENS})\b)|"
    rf"(?:(?:\A|(?<=[.;:!?\n(]\s)|(?<=\bis\s)|(?<=\bnow\s)|(?<=\bturned\s)|(?<=\baged\s)|(?<=['’]s\s)))(?:(?:just|only|now|about|almost|nearly|over|still|exactly|well\sover)\s)?(?:a|one)\shundred(?:\sand\s(?:{_ONES}|ten|eleven|twelve))?\b(?=\s*[.,;)]|\s*\Z|\s(?:and|but|with|years?|today|now)\b){_NO_AMOUNT}",
    "age-in-doubt": rf"\b{_AGE_WORD}(?![^\W_])\.?{_AGE_FRAME}{_AGE_SIGNS}(?:{_SPELLED_DIGITS}|{_OCR_NUMBER}|"
    rf"(?:9\d|1[0-3]\d)(?!\d|\s?%|[.,/]\d|\s?(?:mg|days?\spost)|[\s-]?(?:st|nd|rd|th)\b)|(?:nin(?:e)?ty|{_HUNDRED})(?:[\s-]?{_ONES})?\b|"
    r"neunzig\w*|hundert\w*|noventa\w*|novant\w*|negentig\w*|nittio\w*|nitti\w*|quatre[\s-]vingt\S*|cent\sans|nonante)|"
    r"\bage[ds]?(?:9\d|1[0-3]\d)(?!\w)|\bage(?:_|\(|\s\()(?:yrs?|years?|y)\)?\s?[=:]{1,2}\s?(?:9\d|1[0-3]\d)(?!\d)|"
    rf"\bage[\s]?(?:nin(?:e)?ty|{_HUNDRED})(?:[\s-]?{_ONES})?|\b{_OCR_NUMBER}[\s-]?(?:{_YEARS})\b[\s-]?(?:old)?|"
    rf"\b{_ONES}[\s-](?:{_ONES}|zero|oh|o)(?:[\s-]{_ONES})?\s(?:y/?o|years?\s(?:old|of\sage))\b|\b\d\s\d\s(?:y/?o|years?\sold)\b",
    "high-by-event": rf"\bborn\s(?:[^\W_]+[\s-]){{0,6}}?{_WARS}\b|\b(?:ww\s?(?:1|2|i{{1,2}})|(?:first|second|1st|2nd)\sworld\swar|world\swar\s(?:one|two|1|2|i{{1,2}})|great\swar|korean\swar|d-day)(?:\s(?:veteran|vet|survivor|pilot|soldier|nurse|hero))?\b|"
    r"\b(?:war\s(?:veteran|widow|baby|child|bride)|holocaust\ssurvivor|battle\sof\sbritain|evacuee|blitz)\b",
}

_ANY_AGE = {
    "age-with-number": rf"\b{_AGE_WORD}(?![^\W_])\.?{_AGE_FRAME}{_AGE_SIGNS}(?:{_WORDS}\b(?!\s(?:or\smore|days?|hours?|groups?|patients?|times|of\sthe))|"
    rf"{_ROMAN}(?<=\w\w)\b|\d{{1,2}}(?=\s?[)\],.;]|\Z|\s(?:and|with|who|when|was|y)\b|\s(?-i:[A-Z])))|\bage[ds]?\d{{1,2}}(?!\w)|"
    rf"\bage(?:_|\(|\s\()(?:yrs?|years?|y)\)?\s?[=:]{{1,2}}\s?\d{{1,2}}(?!\d)|\bage\s?{_TENS}(?:[\s-]?{_ONES})?",
    "genarian": r"\b(?:vicen|tricen|quadragen|quinquagen|sexagen|septuagen|octogen|octagen|nonagen|centen|supercenten)[ae]ri(?:an|en)s?\b|\b[^\W_]{3,12}agenarians?\b",
    "decade-of-life": rf"\b(?:{_ORDINAL_TENS}|\d{{1,2}}(?:st|nd|rd|th)|decade)[\s-]decades?\b(?!\sof\s(?:treatment|therapy|use|the))|\bdecade\s(?:of\slife\s)?(?:two|three|four|five|six|seven|eight|nine|ten|[2-9]|10)\b",
    "in-ones-decade": rf"\b(?:in(?:to)?|reached|entering|of)\s(?:his|her|their|my|the)\s(?:very\s)?(?:(?:early|mid|middle|late|upper|lower|low|high)(?:[\s-](?:to|or)[\s-](?:mid|middle|late))?[\s-]{{0,3}})?"
    rf"(?:teens|{_DECADES}|(?<=his )\d0['’]?s|(?<=her )\d0['’]?s|(?<=early )\d0['’]?s|(?<=late )\d0['’]?s|(?<=mid )[2-7]0['’]?s|(?<=mid-)\d0['’]?s)\b|"
    rf"\b(?:early|mid|middle|late)[\s-]{{0,2}}(?:teens\b|{_DECADES}\b|[2-8]0['’]?s\b)|\b(?:his|her|their|my)\s(?:teens|{_DECADES})\b",
    "turned": rf"\b(?:turn(?:ed|s|ing)?|becom(?:es?|ing)|became|celebrat(?:ed|es|ing))\s(?:just\s|only\s|exactly\s|the\sbig\s)?{_LARGE_NUMBER}{_NO_AMOUNT}{_NEXT_PHRASE}|"
    rf"\bturn(?:ed|s|ing)\s(?:just\s)?{_NUMBER}(?=\s*[.,;]|\Z|\s(?:this|last|next|in|on|yesterday|today)\b)",
    "pushing": rf"\b(?:pushing|nearing|approaching|going\son|rising|coming\sup\s(?:to|for)|getting\son\sfor|(?:right|wrong|other|far|sunny)\sside\sof|knocking\son|touching|not\sfar\soff|shy\sof|well\spast|well\sover|just\sunder)\s(?:a\s)?"
    rf"(?:{_LARGE_NUMBER}){_NO_AMOUNT}{_NEXT_PHRASE}|\b(?:hitting|hit|reached|reaching|past|just\sover)\s(?:{_LARGE_WORDS})\b{_NO_AMOUNT}{_NEXT_PHRASE}|\b\d{{1,2}}\sgoing\son\s\d{{1,2}}\b|\b(?:nearly|almost|over|about)\s(?:{_TENS}(?:[\s-]?{_ONES})?)\b{_NO_AMOUNT}{_NEXT_PHRASE}|\b(?:nearly|almost|about|over)\s(?:a\s)?hundred{_NO_AMOUNT}{_NEXT_PHRASE}|\bover[\s-]nin(?:e)?ty\b{_NO_AMOUNT}",
    "who-is": rf"\b(?:he|she|who|patient|pt|mother|father|mum|mom|dad|wife|husband|son|daughter|man|woman|lady|gentleman|child|boy|girl|baby|grandmother|grandfather|aunt|uncle|i)(?:\s(?:is|was|am)|['’](?:s|m))\s(?:now\s|only\s|just\s|about\s|nearly\s|almost\s|over\s|around\s|approximately\s|well\sover\s)?"
    rf"{_NUMBER}(?=\s*(?:[.,;)!?]|\Z)|\s(?-i:[A-Z])|\s(?:years?|yrs?|yo|y/o|and\s(?:a|has|had|lives|deaf|frail|fit|otherwise|well|was|is|takes)|this|next|last|now|in\s(?:may|june|march|july|april|august)|but)\b){_NO_AMOUNT}|\b(?:he|she|who|patient|pt)(?:\sis|['’]s)\s(?:one[\s-](?:oh|o)|a\shundred\sand)[\s-]{_ONES}",
    "will-be": rf"\b(?:will|would|to|about\sto)\s(?:be|turn)\s{_LARGE_NUMBER}(?=\s*[.,;]|\Z|\s(?:in|next|this|on|tomorrow|soon|years|yrs)\b)|"
    rf"\b{_LARGE_WORDS}\s(?:next|this|last)\s(?:week|month|year|birthday|summer|winter|spring|autumn|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    "about-an-age": rf"(?:\A|(?<=[.;:!?\n(]\s)|(?<=\bis\s)|(?<=\bnow\s)|(?<=man\s)|(?<=lady\s)|(?<=pt\s)|(?<=\bpatient,\s)|(?<=\bhe['’]s\s)|(?<=mother,\s)|(?<=father,\s))(?:nearly|almost|about|around|just|only|still|barely|not\syet|not\squite|close\sto|roughly|approx(?:\.|imately)?|circa|ca\.?|maybe|perhaps|over|past|just\sover|just\sunder|under|getting\son\sfor|at\sleast)\s"
    rf"{_LARGE_NUMBER}(?=\s*[.,;)]|\s*\Z|\s(?:and|with|but|who)\b|\s(?-i:[A-Z])){_NO_AMOUNT}|"
    r"(?<![\w.,/+-])[2-9]\d\+(?=\s(?:and|with|on|who|yo|y|years?|yrs?)\b|\s?[.,;)]|\s*\Z)",
    "sex-before-age": r"(?:\A|(?<=[.;:!?\n(]\s)|(?<=\n)|(?<=\bpt\s))(?-i:[MFmf])\d{2}(?=\s[^\W\d_]|\s?[,;:)]|\s*\Z)|(?<![\w.])(?-i:[MF])\s\d{2}(?=\s(?:with|c/o|presented|who|on|h/o|yo|y)\b)",
    "score-of-years": r"\b(?:three|two|3)[\s-]?score(?:[\s-]and[\s-]\w+|[\s-]years)|\b\d[\s-]?score[\s-]and[\s-]\w+|\bthreescore\b|\bfourscore\b|\b(?:half|quarter|three[\s-]quarters)(?:\sof)?(?:[\s-]a)?[\s-]century\b|\b(?:half|quarter)[\s-]centur(?:y|ies)\b",
    "age-in-passing": rf"\b\d{{1,3}}ish(?=\s(?:girl|boy|man|woman|male|female|lady|gent\w*|child|year)\b)|(?<=\bshort of ){_TENS}(?:[\s-]?{_ONES})?\b{_NO_AMOUNT}|"
    rf"(?<=\bshy of ){_TENS}(?:[\s-]?{_ONES})?\b{_NO_AMOUNT}",
    "odd-years": rf"\b(?:{_TENS}|\d0)[\s-]?(?:something|ish|odd)s?\b{_NO_AMOUNT}|\b{_TENS}[\s-](?:plus|{_ONES}r|er)\b|\bforty-?fiver\b",
    "nth-birthday": rf"(?:(?<=\bhis )|(?<=\bher )|(?<=\bmy )|(?<=\btheir )|(?<=\bthe ))(?:(?:1[6-9]|[2-9]\d|1[0-2]\d)(?:st|nd|rd|th)|(?:{_TENS}[\s-]first|eighteenth|fiftieth|sixtieth|hundredth))\b(?:[\s-](?:birthday|year))?(?!\s(?:day|dose|percentile|week|patient|visit|centile))|"
    rf"\b(?:{_ORDINAL_TENS}|\d{{1,3}}(?:st|nd|rd|th))[\s-](?:birthday|bday|name[\s-]day)\b|(?:(?<=\bhis )|(?<=\bher ))(?:{_ORDINAL_TENS})\syear\b",
    "years-of-life": rf"\b(?:(?=\d)(?:\d{{1,3}}|\d\s?½)|(?=[a-z])(?:{_WORDS}|{_WORDS}[\s-]and[\s-]a[\s-](?:half|quarter)|{_WORDS}[\s-]and[\s-]three[\s-]quarters?))[\s-]{{1,2}}(?:years?|yrs?|months?|mths?|mos?|weeks?|wks?|days?|winters|summers|springs|decades)"
    rf"{_OLD}\b|\b(?:\d{{1,3}}|{_LARGE_WORDS})\s(?:winters|summers)\b|\b(?:{_TENS}(?:[\s-]?{_ONES})?)[\s-]?(?:y/?o\b|year[\s-]old)|(?<!\bfor )(?<!\bover )(?<!\bpast )(?<!\bafter )\b{_TENS}(?:[\s-]?{_ONES})?\syrs\b(?!\s(?:ago|later|history|of\s))|\b\d\s?½\s?(?:years?|yrs?|y\b)|"
    rf"\b\d{{1,3}}[\s-]{_FOREIGN_YEARS}\b|\b\d{{1,2}}/12\s(?:old|of\sage)|\b\d{{1,2}}\s?y(?:rs?)?\s?\d{{1,2}}\s?m(?:o|ths?|onths?)?\b|\b{_ROMAN}(?<=\w\w)\s(?:years?|yrs?|anni|ans)\b|\blast\sbirthday\b",
    "sex-and-age": rf"(?<![\w/.-])(?-i:[MFmf])\s?[/,|]\s?\d{{1,3}}(?!\s?(?:kg|cm|lbs?|mg|bpm|kilos?|stone|kilograms?)\b)(?![\w%]|[./:,-]\d)|(?<![\w/.,-])\d{{1,3}}\s?[/,|]\s?(?-i:[MFmf])(?![\w/.])|\b(?-i:[WBHA][MF])[\s,]\d{{2}}(?![\w%./:,])|"
    rf"\b\d{{1,3}}[\s-]?(?:y/?o|y\.\s?o\.?|y-o)\b(?:[\s-]?(?-i:[MF]|[WBHA][MF])\b)?|\b\d\d(?-i:yo[MFmfwb]|[MFmf])\b(?=\s(?:with|c/o|presented|presents|who|pt|patient|here|admitted|s/p|on|h/o|reports?|fell))|\b(?:\d{{1,3}})[♂♀]|"
    rf"(?<!\d\s)\b(?:over|under)[\s-](?:the\sage\sof\s)?(?:\d0|\d5)s?(?=\s*[.;)]|\Z)|\b(?:over|under)-?(?:{_DECADES}|fives|eights|twelves)\b|\b(?:teenager|teen|youth|lad|girl|boy|man|woman|lady)\sof\s{_NUMBER}{_NO_AMOUNT}",
}

AGE_PATTERNS = compile_patterns({**_OVER_89, **_ANY_AGE})

AGES_LIFTED_BY: Mapping[str, frozenset[HyperClass]] = MappingProxyType(
    dict.fromkeys(_ANY_AGE, frozenset({HyperClass.AGE}))
)
"""See `patterns.LIFTED_BY`: ages over 89 always mask."""

_FRAME_WORDS = word_set(
    """in into on of at the his her their my is was were be am will would to about age aged ages yr yrs years year old he she who i patient pt
    turn turned turns turning becomes became become becoming celebrated celebrating celebrates reached reaching just only nearly almost over
    under exactly now exam examination visit onset admission event time reported dose vaccination diagnosis death then group approx
    approximately around circa ca past well mother father mum mom dad wife husband son daughter man woman lady gentleman child boy girl baby
    grandmother grandfather aunt uncle still barely not yet quite close roughly maybe perhaps at least teenager teen youth lad male female s young short shy off away from than older younger for lived
    completed approaching nearing pushing hitting hit rising going getting coming up entering aet alter edad wiek leeftijd"""
)
_UNIT_WORDS = word_set(
    """y o yo month months mth mths mo mos week weeks wk wks day days hour hours hrs life m f w"""
)
_WITH_UNITS = frozenset(
    {"years-of-life", "sex-and-age", "high-number-of-years", "age-with-number", "age-in-doubt", "who-is"}
)
PLAIN_AGE_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {name: _FRAME_WORDS | (_UNIT_WORDS if name in _WITH_UNITS else frozenset()) for name in AGE_PATTERNS}
)
"""See `patterns.PLAIN_WORDS`."""

_UNIT_OF_AGE = r"(?:year|yr|month|mth|mo|week|wk|day|winters|summers|springs|decades)"
_ORDINAL_ONE = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
_WHOLE_ORDINAL = (
    rf"(?:{_ORDINAL_ONE}|tenth|eleventh|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|"
    r"(?:twent|thirt|fou?rt|fift|sixt|sevent|eight|nine?t|nint)ieth|hundredth)"
)
_LARGE_WORD = rf"(?:(?:a|one|hundred|{_TEENS})\Z|{_TENS})"
_OVER = r"(?:9\d|1[0-2]\d)"
_HAPPY_DAYS = r"(?:winters|summers|springs|autumns|christmases|birthdays)\Z"
AGE_ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "age-of-hundreds": [
            within(
                r"(?:nonag|nonog|centen|centin|supercent|nin(?:e)?ty|decades?\Z|(?:four|five|4|5)?score|century|centenary|centennial|"
                r"queen|king|palace|majesty)"
            ),
            within(r"years?\Z", next=r"(?:short|shy|off|from|away)\Z"),
            within(r"(?:short|shy)\Z", next=r"of\Z"),
            within(r"(?:older|younger)\Z", next=r"than\Z"),
        ],
        "high-ordinal": [Anchor(r"(?:9\d|1[0-2]\d)(?:st|nd|rd|th)|nin(?:e)?t|one\Z|hundred")],
        "high-decade": [within(r"(?:nineties|90s?)\Z|midnineties")],
        "many-units": [
            Anchor(r"\d{4,7}(?:m|w|d|h)"),
            Anchor(r"\d{4,7}\Z", behind=f"{SPACES}-", next=r"mo|mth|we|wk|d|h"),
            Anchor(r"\d{1,3}\Z", behind=",", next=r"\d{3}"),
            Anchor(rf"{_OVER}\Z", next=_HAPPY_DAYS),
            Anchor(r"(?:nin(?:e)?ty|hundred)"),
            Anchor(r"(?:a|one)\Z", next=r"hundred\Z"),
        ],
        "century-of-life": [within(r"century\Z")],
        "will-be-hundred": [Anchor(r"(?:will|would|to)\Z", next=r"(?:be|turn)\Z")],
        "high-number-of-years": [
            Anchor(rf"{_OVER}\Z", behind=f"{SPACES}-", next=r"y|plus\Z|odd|ish|something"),
            Anchor(rf"{_OVER}\Z", behind="+"),
            Anchor(rf"{_OVER}[a-z]"),
            Anchor(r"[MF](?:9\d|10\d)\Z", cased=True),
            Anchor(r"[MF]\Z", cased=True, behind="/", next=r"(?:9\d|10\d)\Z"),
            Anchor(r"nin(?:e)?ty\Z", next=_ONES),
            Anchor(rf"nin(?:e)?ty{_ONES}"),
            Anchor(r"one\Z", next=r"oh?\Z"),
            Anchor(r"(?:a|one)\Z", next=r"hundred\Z"),
        ],
        "high-by-event": [Anchor(r"ww[12i]|(?:born|ww|first|second|1st|2nd|world|great|korean|d|war|holocaust|battle|evacuee|blitz)\Z")],
        "age-in-doubt": [
            Anchor(rf"{_AGE_WORD}\Z"),
            Anchor(r"age[ds]?\d"),
            Anchor(r"age(?:nin(?:e)?ty|one|hundred)"),
            Anchor(r"(?-i:(?=\d{0,2}[OolISB])(?=[OolISB]{0,2}\d)[\dOolISB]{2,3})\Z", next="y"),
            Anchor(rf"{_ONES}\Z", next=rf"(?:{_ONES}|zero|oh|o)\Z"),
            Anchor(r"\d\Z", behind=SPACES, next=r"\d\Z"),
        ],
        "age-with-number": [Anchor(rf"{_AGE_WORD}\Z"), Anchor(r"age[ds]?\d"), Anchor(rf"age{_TENS}")],
        "genarian": [Anchor(r"[^\W_]{3,20}(?:[ae]ri(?:an|en)s?)\Z")],
        "decade-of-life": [within(r"decades?\Z")],
        "in-ones-decade": [
            within(rf"(?:teens|{_DECADES}|\d0s)\Z|(?:early|mid|middle|late)(?:teens|{_DECADES}|\d0s?)\Z"),
            within(r"\d0\Z", behind="'’", next=r"s\Z"),
        ],
        "turned": [Anchor(r"(?:turn|becom|became|celebrat)")],
        "pushing": [
            Anchor(
                r"(?:pushing|nearing|approaching|rising|touching|hit|hitting|reached|reaching|past|nearly|almost|over|about)\Z",
                next=rf"\d|{_LARGE_WORD}",
            ),
            Anchor(r"(?:right|wrong|other|far|sunny)\Z", next=r"side\Z"),
            Anchor(r"(?:going|getting|knocking)\Z", next=r"on\Z"),
            Anchor(r"(?:coming|not|shy)\Z", next=r"(?:up|far|of)\Z"),
            Anchor(r"(?:well|just)\Z", next=r"(?:past|over|under)\Z"),
            Anchor(r"\d{1,2}\Z", next=r"going\Z"),
        ],
        "who-is": [
            Anchor(
                r"(?:he|she|who|patient|pt|mother|father|mum|mom|dad|wife|husband|son|daughter|man|woman|lady|gentleman|child|"
                r"boy|girl|baby|grandmother|grandfather|aunt|uncle|i)\Z",
                behind=f"{SPACES}'’",
                next=r"(?:is|was|am|s|m)\Z",
            )
        ],
        "will-be": [
            Anchor(r"(?:will|would|to)\Z", next=r"(?:be|turn)\Z"),
            Anchor(r"about\Z", next=r"to\Z"),
            Anchor(r"(?:a|one)\Z", next=r"hundred\Z"),
            Anchor(rf"{_TEENS}\Z", next=r"(?:next|this|last)\Z"),
            Anchor(rf"hundred\Z|{_TENS}"),
        ],
        "bare-ninety": [Anchor(r"nin(?:e)?ty|(?:just|only|now|about|almost|nearly|over|still|exactly|well|a|one)\Z")],
        "about-an-age": [
            Anchor(r"(?:nearly|almost|about|around|just|only|still|barely|not|close|roughly|approx|approximately|circa|ca|maybe|perhaps|over|past|under|getting|at)\Z"),
            Anchor(r"[2-9]\d\Z", behind="+"),
        ],
        "sex-before-age": [Anchor(r"[MF]\d{2}\Z"), Anchor(r"[MF]\Z", behind=SPACES, cased=True)],
        "score-of-years": [within(r"(?:\d|three|two|four)?score\Z|centur(?:y|ies)\Z")],
        "nine-oh": [Anchor(r"(?:big|turned|turning|hit|past|reached|lived|seen|after|through)\Z")],
        "hundred-and-months": [Anchor(r"aged?\Z")],
        "roman-after-label": [Anchor(r"(?:aet(?:at)?|æt(?:at)?|aged?)\Z")],
        "age-in-passing": [
            Anchor(r"\d{1,3}ish\Z", behind=" ", next=r"(?:girl|boy|man|woman|male|female|lady|gent\w*|child|year)\Z"),
            Anchor(rf"{_TENS}"),
        ],
        "odd-years": [
            Anchor(rf"(?:{_TENS}|\d0)\Z", behind=f"{SPACES}-", next=rf"something|ish|odd|plus\Z|er\Z|{_ONES}r|fiver\Z"),
            Anchor(rf"(?:{_TENS}|\d0)(?:something|ish|odd)|fou?rtyfiver"),
        ],
        "nth-birthday": [
            Anchor(r"\d{1,3}(?:st|nd|rd|th)\Z|(?:eighteenth|fiftieth|sixtieth|hundredth)\Z"),
            Anchor(rf"(?:{_TENS}{_ORDINAL_ONE}|{_WHOLE_ORDINAL})\Z", next=r"(?:birthday|bday|name|year)\Z"),
            Anchor(rf"{_TENS}\Z", next=_ORDINAL_ONE),
            Anchor(r"one\Z", next=r"hundredth\Z"),
            Anchor(r"hundred\Z", next=r"and\Z"),
        ],
        "years-of-life": [
            Anchor(r"\d{1,3}\Z", next=rf"{_UNIT_OF_AGE}|½|y|{_FOREIGN_YEARS}|12\Z"),
            Anchor(r"\d½|\d{1,2}y"),
            Anchor(rf"(?:{_ONES}|{_TEENS})\Z", next=rf"{_UNIT_OF_AGE}|and\Z|hundred\Z"),
            Anchor(rf"hundred\Z|{_TENS}"),
            Anchor(r"a\Z", next=r"hundred\Z"),
            Anchor(r"last\Z", next=r"birthday\Z"),
            Anchor(r"[XLVIC]{2,7}\Z", cased=True, next=r"(?:years?|yrs?|anni|ans)\Z"),
        ],
        "sex-and-age": [
            Anchor(r"[MF]\Z", behind=f"{SPACES}/,|", next=r"\d"),
            Anchor(r"\d{1,3}\Z", behind=f"{SPACES}/,|", next=r"[MF]\Z"),
            Anchor(r"\d{1,3}\Z", behind=f"{SPACES}-", next=r"yo?\Z"),
            Anchor(r"\d{1,3}\Z", behind="♂♀"),
            Anchor(r"\d{1,3}(?:yo?\Z|(?:yo)?[mfwb]\Z)"),
            Anchor(r"[WBHA][MF]\Z", cased=True, behind=f"{SPACES},", next=r"\d"),
            Anchor(r"(?:over|under)\Z", behind=f"{SPACES}-", next=rf"\d|the\Z|{_DECADES}|fives|eights|twelves"),
            Anchor(r"(?:over|under)(?:tw|th|fo|fi|si|se|ei|ni)"),
            Anchor(r"(?:teenager|teen|youth|lad|girl|boy|man|woman|lady)\Z", behind=SPACES, next=r"of\Z"),
        ],
    }
)  # fmt: skip
"""See `patterns.ANCHORS`."""

AGE_LONGEST: Mapping[str, int] = MappingProxyType(
    {
        "age-of-hundreds": 80,
        "high-decade": 60,
        "decade-of-life": 70,
        "in-ones-decade": 70,
        "score-of-years": 60,
    }
)
"""Characters of the longest match of a pattern and of what it looks ahead to, with a margin."""
