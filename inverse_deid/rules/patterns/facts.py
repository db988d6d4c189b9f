r"""Closed clinical expressions: values between their test and their unit, Apgar scores, doses in words.

The network was trained without these patterns, so they are not features. `CERTAIN_PATTERNS` have a shape
that identifiers do not have: their tokens are kept from a far lower probability on. `SILENT_FACT_PATTERNS`
count like `FACT_PATTERNS`: their tokens are kept from the lower threshold on. A pattern that may only mask
wins over both (docs/decisions/0019).

No pattern has a place for free words, for a number of seven digits or more outside a reference to the
literature, or for a day beside a month.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.rules.patterns.anchors import SPACES, Anchor, compile_patterns, within
from inverse_deid.rules.patterns.brand_names import (
    BRAND_BESIDE_SUBSTANCE,
    BRAND_WITH_DOSE,
    BRANDS,
    SUBSTANCES,
)
from inverse_deid.rules.patterns.shorthand import (
    HOURS_IN_WORDS,
    MONTH,
    NO_LABEL,
    SHORTHAND,
    SHORTHAND_ANCHORS,
)

# --- Laboratory values ---

_TESTS = """
    alanine aminotransferase, alanine transaminase, aspartate aminotransferase, aspartate transaminase, alt, sgpt, ast,
    sgot, gamma gt, gamma glutamyl transferase, gamma glutamyltransferase, ggt, alkaline phosphatase, alp,
    transaminase, transaminases, bilirubin, total bilirubin, direct bilirubin, creatinine, creatine kinase, creatine
    phosphokinase, cpk, ck, ck mb, ckmb, ldh, lactate dehydrogenase, lactate, lactic acid, urea, blood urea nitrogen,
    bun, egfr, gfr, uric acid, urate, sodium, potassium, chloride, bicarbonate, calcium, magnesium, phosphate,
    phosphorus, glucose, blood glucose, blood sugar, hba1c, a1c, amylase, lipase, albumin, protein, total protein,
    globulin, ferritin, iron, transferrin, tibc, folate, vitamin b12, b12, vitamin d, troponin, troponin t, troponin i,
    hs troponin, myoglobin, nt probnp, nt pro bnp, ntprobnp, probnp, bnp, d dimer, d dimers, fibrinogen, inr, aptt,
    ptt, prothrombin time, esr, crp, c reactive protein, procalcitonin, haemoglobin, hemoglobin, hgb, haematocrit,
    hematocrit, hct, wbc, wcc, white cell count, white blood cell count, white blood cells, white cells, leukocytes,
    leucocytes, neutrophils, neutrophil count, absolute neutrophil count, lymphocytes, lymphocyte count, monocytes,
    eosinophils, eosinophil count, basophils, platelets, platelet count, platelet, plt, thrombocytes, rbc, red cell
    count, reticulocytes, mcv, mch, mchc, anc, tsh, free t3, free t4, ft3, ft4, cortisol, prolactin, beta hcg, hcg,
    afp, psa, cea, ca 125, ige, igg, iga, igm, total ige, tryptase, cholesterol, total cholesterol, ldl, hdl,
    triglycerides, triglyceride, ammonia, osmolality, anion gap, base excess, pco2, po2, paco2, pao2, haptoglobin,
    viral load, cd4, cd4 count, lithium, digoxin, vancomycin, phenytoin, valproate, tacrolimus, carbamazepine,
    fio2, peep, qtc, qtcf, qtcb, theophylline, lamotrigine, paracetamol, acetaminophen, salicylate"""


def _split(names: str) -> list[str]:
    return [" ".join(name.split()) for name in names.split(",")]


_TEST_NAMES = _split(_TESTS)
_SHORT_TESTS = r"(?-i:Na|K|Cl|Ca|Mg|Fe|Cr|Hb|HB|PT|TP|pH|T4|T3)"
"""Also initials, words or a patient: they count only with a unit, or a range, or a small value."""


def _any_of(names: Sequence[str]) -> str:
    # A hyphen or nothing may be where a name has a space.
    by_letter: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        written = re.escape(name[1:]).replace(r"\ ", r"[\s-]{0,2}")
        by_letter.setdefault(name[0], []).append(written)
    groups = (f"{first}(?:{'|'.join(rest)})" for first, rest in by_letter.items())
    return f"(?:{'|'.join(groups)})"


_TEST = rf"\b{_any_of(_TEST_NAMES)}(?!\w)"
_ANY_TEST = rf"(?:{_TEST}|\b{_SHORT_TESTS}(?!\w))"
_LINK = (
    r"(?:[\s:=,(-]{1,3}(?:levels?|values?|counts?|results?|activity|concentrations?|was|were|is|are|of|at|to|rose|rising|"
    r"risen|raised|increased|increasing|elevated|peak|peaked|peaking|maximum|max|nadir|fell|dropped|decreased|reached|"
    r"reaching|over|above|below|up|down|about|approximately|approx|around|still|now|then|initially|from|high|low|as|"
    r"serum|plasma|total)\b){0,5}"
)
"""Words between a test and its value."""
_CELL = r"(?:[^\S\n]{0,3}[\t|;][^\S\n]{0,3}|[ ]{2,12})"
"""Between two cells of a row."""
_GAP = rf"(?:{_CELL}|\s?[:=|(\[]?\s{{0,2}})"

_NO_AGE = r"(?!\s?-?\s?(?:years?|yrs?|y/?o|y|months?|mths?|mos?|weeks?|wks?|days?)\b)"
_END = rf"(?![\d°]|[.,/-]\d){_NO_AGE}"
_SIGN = r"(?:[<>\u2264\u2265~\u2248]=?\s?)?"
_DIGITS = r"(?!0\d)(?:\d{1,3},\d{3}|\d{1,6}(?:[.,]\d{1,3})?)"
_FEW_DIGITS = r"(?!0\d)\d{1,4}(?:[.,]\d{1,3})?"
_NO_YEAR = r"(?!(?:19|20)\d\d\b(?![.,]\d))"
_NUMBER, _SMALL_NUMBER = rf"{_SIGN}{_DIGITS}{_END}", rf"{_SIGN}{_FEW_DIGITS}{_END}"

_VOLUME = r"(?:[dmcu\u00b5\u03bc]?l|mcl|mm3|mm\u00b3|mm\^3|cmm|cu\.?\s?mm|c?umm|hpf|lpf)"
_WIDE_UNIT = (
    r"(?:\s?(?:[kmu\u00b5\u03bc]?iu|[kmu\u00b5\u03bc]?u|units?|[nfp]g|mcg|[u\u00b5\u03bc]g|[nfpu\u00b5\u03bc]mol|cells|"
    rf"copies|k|thou|(?:x|\u00d7)?\s?10\s?[\^*]\s?\d{{1,2}})?\s?/\s?{_VOLUME}(?!\w))"
)
"""Units with which values of up to six digits are written: a concentration or an activity."""
_NARROW_UNIT = (
    rf"(?:\s?(?:(?:[mk]?g|[mc]?mol|m?eq|m?osm|mosmol|mmoles)\s?/\s?(?:{_VOLUME}|kg|mol|mmol|g|24\s?h(?:rs?|ours)?)|"
    r"ml\s?/\s?min(?:ute)?(?:\s?/\s?1[.,]73\s?m2?)?|mm\s?/\s?h(?:r|our)?|m[lg]\s?/\s?kg)(?!\w))"
)
_UNIT_OF_TEST = r"(?:\s?%|\s?(?:seconds?|secs?|fl|pg|ms|msec|mmhg|kpa|g%|mg%|mmol|x\s?uln|times\s(?:the\s)?(?:uln|upper)|iu|units?)(?!\w))"
"""Units that count only directly after a value of a named test."""
_ANY_UNIT = rf"(?:{_WIDE_UNIT}|{_NARROW_UNIT}|{_UNIT_OF_TEST})"

_LIMIT = r"\d{1,6}(?:[.,]\d{1,3})?"
_DAY_AND_MONTH = (
    r"(?:(?:0?[1-9]|1[0-2])\s?[\u2013-]\s?(?:0?[1-9]|[12]\d|3[01])|"
    r"(?:0?[1-9]|[12]\d|3[01])\s?[\u2013-]\s?(?:0?[1-9]|1[0-2]))(?!\d|[.,]\d)"
)
_RANGE = (
    rf"(?:[<>\u2264\u2265]=?\s?{_LIMIT}|(?!(?:19|20)\d\d\b){_LIMIT}\s?(?:[\u2013\u2014-]|to)\s?(?!(?:19|20)\d\d\b){_LIMIT})"
    rf"(?![\d/]|[.,-]\d){_NO_AGE}"
)
"""Both limits have at most six digits; years are not limits."""
_CLEAR_RANGE = rf"(?!{_DAY_AND_MONTH}){_RANGE}"
"""A range that cannot be a day and a month."""
_OF_RANGE = r"(?:(?:normal|reference|ref\.?|range|ranges|interval|limits?|values?|nr|nl|uln|lln|laboratory)[\s:.,=]{1,3}){1,4}"
_LETTER = r"(?-i:HH?|LL?|N|A)"
_IN_BRACKETS = (
    rf"\s?[(\[]\s?(?:{_LETTER}|high|low|normal|(?:{_OF_RANGE}{_RANGE}|{_CLEAR_RANGE}){_ANY_UNIT}?)\s?[)\]]"
)
_VALUE = (
    rf"(?:{_NUMBER}{_WIDE_UNIT}|{_SMALL_NUMBER}(?:\s?[\u2013-]\s?{_SMALL_NUMBER})?(?:{_NARROW_UNIT}|{_UNIT_OF_TEST})|"
    rf"{_NUMBER}(?:\s?(?:,|and|to|then|->|\u2192)\s?{_NUMBER}){{1,4}}{_WIDE_UNIT}|"
    rf"{_NUMBER}(?={_CELL}{_WIDE_UNIT})|{_NO_YEAR}{_NUMBER}(?={_IN_BRACKETS}))"
)
_TAIL = (
    rf"(?:,?{_IN_BRACKETS}|\r?\n{_CLEAR_RANGE}(?=[^\S\n]*(?:\r?\n|\Z))|"
    rf"[\s,;]{{1,2}}{_OF_RANGE}{_RANGE}{_ANY_UNIT}?){{0,3}}"
)
"""Flag and limits after a value."""
_BARE_VALUE = rf"{_TEST}{_LINK}{_GAP}{_NO_YEAR}{_NUMBER}(?![\s-]\d{{3}})(?!\s?{MONTH})"
_CELL_VALUE = (
    rf"(?:(?:{_CLEAR_RANGE}|{_NO_YEAR}{_SMALL_NUMBER}){_ANY_UNIT}?|{_NUMBER}{_WIDE_UNIT}|"
    rf"{_NUMBER}(?={_CELL}{_WIDE_UNIT})|{_ANY_UNIT}|{_LETTER}|high|low|normal|negative|positive|-)"
    r"(?=\s*(?:[\t|;\r\n]|\Z)|[ ]{2})"
)

# --- Births and times ---

_TENS = r"(?:twenty|thirty|forty)(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?"
_WEEKS = rf"(?:[1-3]\d|4[0-5]|[4-9]|{_TENS})"
_AND_DAYS = (
    r"(?:\s?\+\s?[0-6](?:/7)?(?!\d)|\s[0-6]/7|\s?(?:w|weeks?|wks?)[\s,+]{0,2}(?:and\s)?[0-6]\s?d(?:ays?)?\b)"
)
_SPAN = rf"{_WEEKS}(?:{_AND_DAYS}|\s?(?:-|\u2013|to)\s?{_WEEKS})?"
_WEEK_WORD = r"[\s-]?(?:weeks?|wks?)\b['\u2019]?"
_GESTATION = r"(?:gestation(?:al)?|pregnan(?:t|cy)|amenorrh?o?ea|GA|EGA)\b"
_SCORE = rf"(?:10|\d)(?!\d|\.\d|\s?{MONTH})"
_MINUTES = (
    r"(?:\s(?:at|after|in)\s(?:\d{1,2}|one|five|ten)(?:(?:\s?(?:,|/|and|&)\s?){1,2}(?:\d{1,2}|one|five|ten)){0,2}"
    r"\s?(?:min(?:ute)?s?)\b)"
)

_OF_NOBODY = (
    "".join(
        rf"(?<!\b{word} )"
        for word in (
            "patient",
            "patient['\u2019]s",
            "his",
            "her",
            "their",
            "mrn",
            "hospital",
            "subject",
            "my",
        )
    )
    + "(?<!/)"
)
"""Before a number of PubMed; a register of patients may have the same letters."""

# --- Doses in words and forms ---

_COUNT = (
    rf"(?:{HOURS_IN_WORDS}|thirteen|fourteen|fifteen|sixteen|eighteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty)"
    r"(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?|(?:(?:one|two|three|four|five|six|seven|eight)\s)?hundred(?:\sand\sfifty)?|"
    r"(?:one|two|five|ten)\sthousand|half|quarter|couple)"
)
_FORM_OF_DRUG = (
    r"(?:tablets?|tabs?|capsules?|caps?|pills?|puffs?|drops?|sprays?|ampoules?|vials?|sachets?|suppositor(?:y|ies)|patch(?:es)?|"
    r"teaspoon(?:ful)?s?|tablespoon(?:ful)?s?|milligrams?|micrograms?|grams?|millilit(?:er|re)s?|mls?|mg|mcg|"
    r"(?:international\s)?units?|lozenges?|inhalations?|actuations?)\b"
)
_FORM_CELLS = (
    "id, case id, case, patient, initials, sex, gender, race, ethnicity, age, weight, height, country, state, city, name, "
    "date of birth, dob, birth date, date, hospital, physician, doctor, reporter, occupation, drug, dose, event, reaction, "
    "outcome, onset, indication, n/a"
)
_RARE_FORM_CELLS = (
    "initials, sex, gender, race, ethnicity, weight, height, country, state, dob, occupation, reporter"
)
"""Cells that a row begins with for the search: the others are frequent words, which are safe alone."""
_RARE_HEADINGS = (
    "test, tests, lab test, laboratory test, test name, parameter, analyte, investigation, component, result, results, "
    "value, values, unit, units, normal range, reference, reference range, reference interval, ref range, range, flag"
)
_HEADINGS = (
    "test, tests, lab test, laboratory test, test name, parameter, analyte, investigation, component, result, results, "
    "value, values, unit, units, normal, normal range, normal ranges, normal values, reference, reference range, "
    "reference ranges, reference interval, reference values, ref range, ref. range, ref, range, flag, flags, status, low, "
    "high, lower limit, upper limit, uln, lln, method, specimen, comment, comments, date, time, baseline, abnormal"
)
_SEPARATOR = r"(?:[^\S\n]?[\t|;][^\S\n]?|,(?=\S)|\s/\s|[ ]{2,12}|\r?\n)"
_END_OF_CELL = r"(?=\s*(?:[\t|;,:\r\n]|/\s|\Z|[ ]{2}))"


def _row_of(cells: str, firsts: str) -> str:
    # It begins at one of `firsts`, and its cells are of a list of words only.
    first, any_cell = (rf"(?:{_any_of(_split(one))}){_END_OF_CELL}" for one in (firsts, cells))
    return rf"(?<![^\n\r\t|;, ])\b{first}(?:{_SEPARATOR}{any_cell}){{1,12}}"


_ORDINAL = r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth)"
_PARTS_COUNTED = (
    r"(?:percentiles?|centiles?|toes?|fingers?|digits?|ribs?|metatarsals?|metacarpals?|molars?|premolars?|(?:cranial\s)?nerves?|ventricles?|"
    r"intercostal|(?:lumbar|cervical|thoracic|sacral)\svertebrae?|heart\ssounds?|degree)"
)
_SCALES = (
    r"(?:ecog|karnofsky|nyha|asa|mmse|moca|pasi|easi|edss|gcs|dlqi|das-?28|haq(?:-di)?|sofa|qsofa|apache(?:\sii)?|curb-?65|meld(?:-na)?|child-pugh|wells|"
    r"cha2ds2-vasc|has-bled|naranjo|nihss|phq-?[29]|gad-?7|ham-?[da]|madrs|panss|bprs|ymrs|updrs|barthel|braden|scorad|urticaria\sactivity|uas7?|vas|nrs|"
    r"apgar|bishop|gleason|epworth|alsfrs|rass|cam-icu|ranson|mrs|glasgow(?:\scoma)?|rankin|fibrosis-4|fib-?4|basdai|cdai|sdai|sledai|act|acq|mayo|harvey-bradshaw)"
)
_MOLECULES = (
    r"(?-i:5-?HT(?:\d[A-F]?|[1-7]-?[A-F]?)?|5-?(?:FU|ASA)|IL-?\d{1,2}(?:[A-Z]|\s?R[A-B]?)?|CD\d{1,3}[a-z]?|CYP\d[A-Z]\d{1,2}|HLA-(?:D[PQR][AB]?\d?|[ABC]w?)(?:\d{1,2}|\*\d{2,3}(?::\d{2,3})?)|"
    r"COX-?[12]|PD-?L?1|CTLA-?4|GLP-?1|SGLT-?2|DPP-?4|PDE-?[345]|HER-?[23]|BRCA[12]|EGFR|BRAF|KRAS|NRAS|JAK-?[123]|MTHFR|UGT1A\d|NAT2|TPMT|DPYD|NUDT15|SLCO1B1|VKORC1|"
    r"GAD-?65|NMDA|AMPA|TNF(?:-(?:alpha|α))?|IFN-(?:gamma|γ|beta|β|alpha|α)|TGF-(?:beta|β)|VEGF|[Ff]actor\s(?:V|VII|VIII|IX|X|XI|XII|XIII)a?|H[12]-?(?=\s?(?:blocker|antagonist|receptor))|"
    r"M[1-5](?=\s(?:receptor|antagonist))|D[1-5](?=\s(?:receptor|antagonist|agonist))|P2Y12|Xa)"
)
_FRAMES = (
    r"(?:visits?|assessments?|doses?|follow-?ups?|infusions?|injections?|scans?|biopsy|samples?|bloods|labs?|results?|data|analysis|evaluation|review|treatment|chemotherapy|endpoint|"
    r"timepoint|time\spoint|day\s\d{1,2})"
)
_POINTS = r"(?:week|wk|day|month|cycle|visit|session|dose|course|period)"
_SEASON = r"(?:spring|summer|autumn|winter|fall)"
CERTAIN_PATTERNS = compile_patterns(
    {
        "in-point-of-course": rf"\b(?:the\s)?{_POINTS}\s\d{{1,2}}(?:,?\sday\s\d{{1,2}})?(?=,?\s{_FRAMES}\b(?!\s(?:no|number|id)\b))|"
        r"\bcycles?\s\d{1,2},?\sday\s\d{1,2}(?!\w|[./-]\d)",
        "in-counted-part": rf"\b(?:the\s)?{_ORDINAL}(?:\s?(?:to|and|or|-|,)\s?(?:the\s)?{_ORDINAL}){{0,3}}[\s-](?:(?:left|right)\s)?{_PARTS_COUNTED}\b|"
        rf"\b(?:the\s)?{_ORDINAL}(?=\s(?:and|to|or)\s(?:the\s)?{_ORDINAL}\s(?:per)?centiles?\b)",
        "in-power-of-ten": r"(?<![\w.,/-])(?:\d{1,3}(?:[.,]\d{1,2})?\s?)?[x\u00d7*]\s?10\s?(?:\^|\*\*|[Ee])?\s?(?:[369]|12)(?:\s?/\s?u?[lL])?(?![\w.])",
        "is-molecule": rf"(?<![\w.])(?:(?:the\s)?anti-)?{_MOLECULES}(?![\w.]\w|\w)|\b(?:the\s)?anti-(?:CCP|GBM|TPO|DNA|dsDNA|Ro|La|Jo-?1|Sm|Scl-?70|HBs|HBc|HCV|MOG|AQP4)\b|\bomega-[369]\b|"
        r"\b(?:(?:ultra-?)?rapid|poor|intermediate|extensive|normal|slow|fast)\s(?:metaboli[sz]er|acetylator)s?\b",
        "in-compound-measure": r"(?<![\w.,/-])\d{1,3}(?:[.,]\d)?-(?:lead|valent|hours?|h|hr|min|minutes?|seconds?|days?|weeks?|months?|channel|point|fold|french|gauge|slice|item|step|dose|drug|joint|"
        r"met(?:re|er)s?|mm|cm|mg|ml|mcg|lit(?:re|er)s?|tesla|vessel|part|cycle|arm)(?![\w-]|\s(?:old|of\sage))(?:\sHolter\b)?|"
        r"\bHolter(?=\s(?:monitor\w*|ecg|recordings?|tape|test|showed|study)\b)",
        "in-size-of-device": r"(?<![\w.,/-])\d{1,2}(?:[.,]\d)?[\s-]?(?-i:Fr|FR|French|french|G|gauge|Gauge|Ch|CH|Charri[e\u00e8]re)(?=[\s-](?:\w+\s){0,2}?(?:catheter|cannula|needle|sheath|tube|drain|line|venflon|iv|IV|"
        r"Foley|stent|introducer|port|chest|urinary|butterfly|angiocath|trocar|nasogastric|feeding|spinal|peripheral|central)\b)",
        "in-value-of-scale": rf"\b{_SCALES}(?:[\s:=(,-]{{1,2}}(?:scores?|index|performance|status|class|scale|total|grade|functional|coma|disability|of|was|is|were|at|from|dropped|fell|rose|improved|increased|decreased|"
        r"baseline|admission|then|now|a|to)\b){0,6}[\s:=(,-]{1,2}(?:\d{1,2}(?:[.,]\d)?|I{1,3}|IV)(?:\s(?:to|and)\s\d{1,2}(?:[.,]\d)?)?(?!\w|[/.,-]\d|\s(?:mg|years?|yo))",
        "in-statistic": r"(?<![\w.])p(?:[\s-]?values?)?\s?(?:[=<>]|(?:was|of|is|were)\b)\s?[<>]?\s?0?[.,]0?\d{1,4}(?![\w.]\w|\w)|\b(?:Kaplan-Meier|Mann-Whitney|Ziehl-Neelsen|Hosmer-Lemeshow|Bland-Altman)(?=\s\w)",
        "in-ratio-or-interval": r"\b(?:hazard|odds|risk|relative\srisk|rate|incidence|likelihood)\s(?:ratio\s)?(?:was|of|is)\s\d{1,2}[.,]\d{1,2}(?![\w.]\w|\w)|(?<![\w.,/-])9[059](?:[.,]\d)?\s?%[\s-](?:CI|confidence)\b(?:[\s:,=]{1,2}(?:intervals?|limits?|was|of)\b){0,2}(?:[\s:,=(]{1,2}\d{1,2}[.,]\d{1,2}\s?(?:to|-|\u2013|,)\s?\d{1,2}[.,]\d{1,2})?|"
        r"\bhalf-?\s?life\s(?:time\s)?(?:was|of|is)\s(?:about\s|approximately\s)?\d{1,3}(?:[.,]\d)?\s?(?:h|hours?|hrs?|d|days?|min|minutes?|weeks?)\b|\b(?-i:[CT]max|Cmin|Ctrough|aV[RLF])(?!\w)|\bsegments?\s(?-i:[IVX]{1,4}[ab]?)(?!\w)|"
        r"\b(?:blood\s)?(?:group|type)\s(?-i:AB?|B|O)(?=\s(?:positive|negative|pos|neg|Rh\w*|rhesus|plasma|blood|red)\b)|(?<![\w.])(?-i:G\d{1,2}\s?P\d{1,2}(?:A\d)?)\s(?:at\s\d{1,2}\sweeks)?",
        "is-lead-of-ecg": r"\b(?-i:ST)[\s-](?:segments?|elevations?|depressions?|changes?)\b|\b(?-i:[TPQ])[\s-]waves?\b|(?:(?<=\bin\s)|(?<=\bleads\s)|(?<=\bto\s)|(?<=\blead\s))(?-i:V[1-6])(?:\s?(?:to|-|\u2013|and|,)\s?(?-i:V?[1-6])(?!\w))?(?!\w)|"
        r"\b(?-i:QTc[FB]?|QRS|PR)(?=\s(?:interval|was|of|prolong\w+|duration|>)\b)|\bthe\s(?:(?:proximal|mid|distal)\s)?(?-i:LAD|LCX|RCA|LMCA)\b|\b(?-i:LAD|LCX|RCA)(?=\s(?:stenosis|occlusion|lesion|stent|artery)\b)",
        "is-test-in-capitals": r"\b(?-i:ANA|ANCA|ELISA|RAST|PCR)(?=\s(?:titres?|titers?|tests?|assays?|pattern|serology|kit)\b)|(?:(?<=\bthe\s)|(?<=\ban\s))(?-i:ELISA|ANA|ANCA)\b|"
        r"\b(?:(?-i:ANA|ANCA|AMA|ASMA|RPR|VDRL)|titres?|titers?|dilutions?)(?:\s(?:titre|titer|was|were|of|is|at|to|rose|positive)){0,3}\s1\s?:\s?\d{2,5}(?!\w|[.,:/]\d)|\b(?:arm|cohort)\s(?-i:[A-D])(?=\s(?:received|was|of|had|and|in|with)\b)|"
        r"(?<![\w-])(?-i:(?:R-)?(?:CHOP|CVP|DHAP|ICE|CHOEP|EPOCH)|FOLFOX|FOLFIRI(?:NOX)?|FOLFOXIRI|ABVD|BEACOPP|XELOX|CAPOX|FLAG-IDA|MVAC)(?=\s(?:cycles?|regimen|chemotherapy|course|\d|was)\b)",
        "is-word-in-its-phrase": rf"\bhay[\s-]fever\b|\b(?:worse|worst|better|occurs?|recurs?|cough|rhinitis|asthma|fever|eczema|symptoms)\s(?:in|during)\s(?:the\s)?{_SEASON}(?:\s(?:and|or)\s(?:the\s|in\s)?{_SEASON})?(?!\s(?:of\b|\d|['\u2019]))|"
        r"\b(?:cut|split|broken|snapped|halved|divided|bent|folded)\sin\shalf\b|\bby\shalf\b|\b(?:burn|bite|tick|puncture|stretch|needle|pressure|strawberry|scratch|check|question|skin)\smarks?\b|"
        r"\b(?:autoinjector|pen|injector|device|coil|plunger|inhaler)\sspring\b|\bmarch\sfractures?\b|\bmarch(?:ed|es|ing)?\sin\splace\b",
        "in-shorthand-pair": r"(?<![\w&])(?-i:(?:N ?& ?V(?: ?& ?D)?|N/V(?:/D)?|V&D|D&C|T&A|I&D|H&P|H&H)|N&amp;V|D&amp;C|H&amp;P)(?![\w&]|['’]s)",
        "in-measured-value": rf"{_ANY_TEST}(?:(?:\s?/\s?{_TEST}{_LINK}{_GAP}{_DIGITS}\s?/\s?|{_LINK}{_GAP}){_VALUE}|"
        rf",?\s?[(\[]\s?{_ANY_UNIT}\s?[)\]](?:{_LINK}{_GAP}{_NUMBER})?){_TAIL}",
        "in-risen-value": rf"{_TEST}(?:(?:[\s:=,(-]{{1,3}}(?:levels?|values?|count|was|were|had)\b){{0,2}}\s(?:rose|risen|increased|elevated|peaked|"
        r"raised|fell|dropped|decreased|reached(?!\s(?:8[5-9]|9\d|1[01]\d)\b)|up|down)(?:\s(?:to|at|from|of|up|about|over)){0,2}|\s(?:(?:levels?|values?|count)\s)?of)"
        rf"\s{_NO_YEAR}{_NUMBER}(?:\s?(?:to|->|\u2192|and)\s?{_NO_YEAR}{_NUMBER}(?!\s?{MONTH}))?(?:,?\sand\s{_TEST}\s(?:to|at|of|from)\s{_NO_YEAR}{_NUMBER})?",
        "in-list-of-values": rf"{_BARE_VALUE}{_ANY_UNIT}?(?:\s?(?:,|;|/|and)\s?(?:and\s)?{_BARE_VALUE}{_ANY_UNIT}?){{1,12}}",
        "in-row-of-values": rf"(?<![^\n\r\t| ])(?:{_TEST}{_CELL}{_CELL_VALUE}|\b{_SHORT_TESTS}{_CELL}(?:\d{{1,3}}(?![\w.,/-])|{_FEW_DIGITS}(?={_CELL}{_ANY_UNIT})))"
        rf"(?:{_CELL}{_CELL_VALUE}){{0,12}}|(?<![^\n\r]){_TEST},{_NUMBER},{_ANY_UNIT}(?:,{_CLEAR_RANGE}(?=[,\r\n]|\Z))?",
        "in-value-with-unit": rf"(?<![\w.,/#-])(?=\d[^/\n]{{0,18}}/){NO_LABEL}(?<!\d )(?:{_DIGITS}(?!\s?k?\s?/\s?l(?!\w)){_WIDE_UNIT}|{_FEW_DIGITS}{_NARROW_UNIT}){_TAIL}",
        "in-reference-range": rf"\b(?:(?:normal|reference|ref\.?|therapeutic|target)\s(?:ranges?|intervals?|values?|limits?)|range|nr|uln|lln)"
        rf"(?:\s(?:is|was|of|for\s(?:men|women|adults)))?(?:\s?[:=,]|\s)\s?[(\[]?{_RANGE}{_ANY_UNIT}?|"
        rf"\b(?:normal|reference|ref\.?)\s?:?\s(?:<|>|\u2264|\u2265)\s?{_LIMIT}(?![\d/]|[.,-]\d)|"
        rf"(?<=[(\[])(?:normal|reference|ref\.?|n)\s?[:=]?\s?{_RANGE}{_ANY_UNIT}?(?=\s?[)\]])|\bnormal\s{_CLEAR_RANGE}",
        "in-labelled-result": rf"\b(?:test|lab(?:oratory)?\stest|analyte|parameter|investigation)(?:\sname)?\s?[:=]\s?{_ANY_TEST}"
        rf"(?:[.,;|\s]{{1,4}}(?:test\s)?(?:results?|value)\s?[:=]\s?{_NUMBER}{_ANY_UNIT}?)?|"
        rf"\b(?:results?|value)\s?[:=]\s?(?:{_VALUE}|{_NO_YEAR}{_SMALL_NUMBER}(?=[.,;|]?\s|[.,;|]?\Z))|"
        rf"\bunits?\s?[:=]\s?{_ANY_UNIT}|\bflags?\s?[:=]\s?(?:{_LETTER}|high|low|normal)\b",
        "in-heading": _row_of(_HEADINGS, _RARE_HEADINGS),
        "in-apgar": r"\bapgars?(?:[\s:=,(]{1,3}(?:scores?|was|were|is|of|at|birth|one|1|five|5|min(?:ute)?s?|and)\b['\u2019]?){0,6}[\s:=,(]{1,3}"
        rf"{_SCORE}(?:{_MINUTES}?(?:\s?(?:/|-|\u2013|,|;|&|and|then|to)\s?(?:and\s)?(?:(?:5|five|10|ten|1|one)\s?(?:['\u2019]|min(?:ute)?s?)\s?:?\s)?){_SCORE}){{0,3}}"
        rf"{_MINUTES}?(?![\w/]|[.-]\d)",
        "in-gestation": rf"(?<![\w./+-])(?=[\w+/\s\u2013-]{{1,24}}(?:w|/40))(?:{_SPAN}{_WEEK_WORD}(?:\s(?:of|and\s[0-6]\sdays?(?:\sof)?))?\s(?:{_GESTATION}|premature|preterm|premie|preemie)|"
        rf"{_WEEKS}\s?\+\s?[0-6](?:/7)?\s?(?:weeks?|wks?|w)\b(?!\s?old)|{_WEEKS}\s[0-6]/7\s(?:weeks?|wks?)\b(?!\s?old)|"
        r"[1-4]\dw\s?[0-6]d\b|(?:(?<=\bat )|(?<=\bGA )|(?<=gestation )|(?<=pregnant ))[1-4]\d\s?(?:\+\s?[0-6]\s?)?/40(?![\w/]|[.-]\d|\s(?-i:[A-Z]))|[23]\d[\s-]weekers?\b)",
        "in-gestation-after": r"\b(?:(?-i:E?GA)|gestational\s(?:age|weeks?)|gestation)(?:[\s:=,(]{1,3}(?:at|birth|delivery|was|is|of|about|week|weeks)\b\)?){0,4}"
        rf"[\s:=(]{{1,3}}{_SPAN}(?:{_WEEK_WORD})?(?![\w/]|[.+-]\d)|"
        rf"\b(?:born|birth|delivered|delivery|preterm|premature(?:ly)?|prematurity|induced|labou?r|section|caesarean|cesarean)"
        rf"\s(?:at|in|of|after)\s(?:about\s|approximately\s)?{_SPAN}{_WEEK_WORD}(?!\s?(?:old|ago|later|after|post|of\sage))|"
        rf"\bweek\s{_WEEKS}\sof\s(?:the\s|her\s)?(?:pregnancy|gestation)\b",
        "in-clock-time": rf"(?<![\w.:,/-])(?=[\d:.\s]{{1,8}}o)(?:1[0-2]|[1-9])(?:[:.][0-5]\d)?\s?o\s?['\u2019]?\s?clock\b|\b(?:half|quarter)\s(?:past|to)\s(?:{HOURS_IN_WORDS})\b|"
        rf"\b(?:{HOURS_IN_WORDS})\so\s?['\u2019]?\s?clock\b",
        "in-literature": rf"{_OF_NOBODY}\b(?:PMID|PubMed)(?:\s(?:ID|number|no))?(?:\s?[:#.=]{{1,2}}\s?|\s)\d{{5,8}}(?![\w-])|"
        rf"{_OF_NOBODY}\bPMIDs:?\s(?:\d{{7,8}}(?:,\s?|\sand\s|,\sand\s)){{0,9}}\d{{7,8}}(?![\w-])|\b(?:PMC\s?ID(?:\s?:\s?|\s))?PMC\d{{6,8}}(?![\w-])",
        "in-dose-in-words": rf"\b{_COUNT}(?:\sand\sa\s(?:half|quarter))?(?:\s(?:a|of\sa))?[\s-]{_FORM_OF_DRUG}(?![\s-](?:old|street|st|road|rd)\b)",
        "is-form-label": r"(?<![^\n\r\t|;.,:)\]/ ])(?:(?:sex|gender)(?:\s?\(m/f\))?\s?[:=]\s?(?-i:[MF])(?!\w|\.\w)|"
        r"(?:sex|gender|initials|race|ethnicity|country|weight|height|route|indication|outcome|reporter|onset)(?=\s?[:=]))|"
        rf"{_row_of(_FORM_CELLS, _RARE_FORM_CELLS)}|(?<![\w/.])(?-i:N/A|n/a)(?![\w/]|\.\w)",
        **SHORTHAND,
        "is-brand-beside-substance": BRAND_BESIDE_SUBSTANCE,
    }
)
"""Closed expressions. Identifiers are not written so."""

_BEFORE_TIME = "|".join(rf"(?<=\b{word} )" for word in ("around", "until", "by", "since", "from", "till"))

SILENT_FACT_PATTERNS = compile_patterns(
    {
        # Five digits or more need a word or a sign between, unlike the record of a patient with the initials CK.
        "in-value-without-unit": rf"{_TEST}(?:{_GAP}{_NO_YEAR}{_SMALL_NUMBER}|(?=\s?[=:]|\s(?:was|were|is|of|levels?|above|over)\b)"
        rf"{_LINK}{_GAP}{_NO_YEAR}{_NUMBER})(?![\s-]\d{{3}})(?!\s?{MONTH})",
        "in-time-of-four-digits": rf"(?:(?<=\bat )|(?!19|20)(?:{_BEFORE_TIME}))(?:[01]\d|2[0-3])[0-5]\d"
        r"(?=\s?(?:[,;)]|\.\s|\.?\Z|(?-i:and|on|he|she|the|with|when|after|to)\b))",
        "is-brand-with-dose": BRAND_WITH_DOSE,
    }
)
"""Facts that identifiers may resemble: the lower threshold, never a reason to keep alone."""


def _first_words(names: Sequence[str]) -> str:
    # As a tokenizer splits them.
    firsts = {re.findall(r"[^\W_]+", name)[0] for name in names}
    glued = {"".join(re.findall(r"[^\W_]+", name)[:2]) for name in names}
    whole = {"".join(re.findall(r"[^\W_]+", name)) for name in names}
    return rf"(?:{'|'.join(sorted(map(re.escape, firsts | glued | whole)))})\Z"


_TEST_ANCHOR = Anchor(_first_words(_TEST_NAMES))
_SHORT_ANCHOR = Anchor(rf"{_SHORT_TESTS}\Z", cased=True)
_HEADING_ANCHOR = Anchor(_first_words(_split(_RARE_HEADINGS)))
_BRAND_ANCHOR = Anchor(rf"(?:{'|'.join(map(str.lower, BRANDS))})\Z")
_NUMBER_ANCHOR = Anchor(r"\d{1,6}(?!\d)")
_WEEKS_ANCHOR = Anchor(r"(?:[1-3]\d|4[0-5]|[4-9])(?!\d)|(?:twenty|thirty|forty)\Z")
FACT_ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "in-point-of-course": [
            Anchor(r"the\Z", behind=SPACES, next=rf"{_POINTS}\Z"),
            Anchor(rf"(?:{_POINTS}|cycles)\Z", behind=SPACES, next=r"\d"),
        ],
        "in-counted-part": [
            Anchor(r"the\Z", behind=SPACES, next=_ORDINAL),
            Anchor(rf"{_ORDINAL}\Z", behind=f"{SPACES}-,"),
        ],
        "in-power-of-ten": [
            within(r"(?:\d{1,3})?x10(?:e?\Z|e(?:[369]|12)\Z)"),
            within(r"10e?\Z", before=f"\u00d7*{SPACES}", next=r"(?:[369]|12)\Z"),
            within(r"10e(?:[369]|12)\Z", before=f"\u00d7*{SPACES}"),
        ],
        "is-molecule": [
            Anchor(r"the\Z", behind=SPACES, next=r"anti\Z"),
            Anchor(r"(?:anti|omega|ultra)\Z", behind="-"),
            Anchor(
                r"(?:rapid|ultrarapid|poor|intermediate|extensive|normal|slow|fast)\Z",
                behind=SPACES,
                next=r"metaboli|acetylator",
            ),
            Anchor(
                r"(?:5|IL|CD|CYP|HLA|COX|PD|CTLA|GLP|SGLT|DPP|PDE|HER|BRCA|EGFR|BRAF|KRAS|NRAS|JAK|MTHFR|UGT|NAT2|TPMT|DPYD|NUDT15|SLCO1B1|VKORC1|GAD|NMDA|AMPA|TNF|IFN|TGF|VEGF|[Ff]actor|H[12]|M[1-5]|D[1-5]|P2Y12|Xa)",
                cased=True,
            ),
        ],
        "in-compound-measure": [Anchor(r"\d{1,3}\Z", behind="-.,"), Anchor(r"holter\Z", behind=SPACES)],
        "in-size-of-device": [Anchor(r"\d{1,2}(?:\Z|Fr|FR|French|french|G|gauge|Gauge|Ch|CH)", cased=True)],
        "in-value-of-scale": [
            Anchor(
                r"(?:ecog|karnofsky|nyha|asa|mmse|moca|pasi|easi|edss|gcs|dlqi|das(?:28)?|haq|sofa|qsofa|apache|curb(?:65)?|meld|child|wells|cha2ds2|has|naranjo|nihss|phq[29]?|gad7?|ham[da]?|"
                r"madrs|panss|bprs|ymrs|updrs|barthel|braden|scorad|urticaria|uas7?|vas|nrs|apgar|bishop|gleason|epworth|alsfrs|rass|cam|ranson|mrs|glasgow|rankin|fibrosis|fib4?|basdai|"
                r"cdai|sdai|sledai|act|acq|mayo|harvey)\Z"
            )
        ],
        "in-statistic": [
            Anchor(r"p(?:values?)?\Z"),
            Anchor(r"(?:kaplan|mann|ziehl|hosmer|bland)\Z", behind="-"),
        ],
        "in-ratio-or-interval": [
            Anchor(
                r"(?:hazard|odds|risk|relative|rate|incidence|likelihood|9[059]|half|halflife|[CT]max|Cmin|Ctrough|aV[RLF]|segments?|blood|group|type|G\d{1,2}(?:P\d{1,2}(?:A\d)?)?)\Z"
            )
        ],
        "is-lead-of-ecg": [
            Anchor(r"(?:ST|[TPQ])\Z", behind=f"{SPACES}-", cased=True),
            Anchor(r"V[1-6]\Z", before=" ", cased=True),
            Anchor(r"(?:QTc[FB]?|QRS|PR|LAD|LCX|RCA)\Z", behind=SPACES, cased=True),
            Anchor(r"the\Z", behind=SPACES, next=r"(?:proximal|mid|distal|lad|lcx|rca|lmca)\Z"),
        ],
        "is-test-in-capitals": [
            Anchor(
                r"(?:ANA|ANCA|AMA|ASMA|RPR|VDRL|[Tt]itres?|[Tt]iters?|[Dd]ilutions?|[Aa]rm|[Cc]ohort|ELISA|RAST|PCR|R|CHOP|CVP|DHAP|ICE|CHOEP|EPOCH|FOLFOX|FOLFIRI|FOLFIRINOX|FOLFOXIRI|ABVD|BEACOPP|XELOX|CAPOX|FLAG|MVAC)\Z",
                cased=True,
            )
        ],
        "is-word-in-its-phrase": [
            Anchor(
                r"(?:hay(?:fever)?|worse|worst|better|occurs?|recurs?|cough|rhinitis|asthma|fever|eczema|symptoms|cut|split|broken|snapped|halved|divided|bent|folded|by|burn|bite|tick|puncture|"
                r"stretch|needle|pressure|strawberry|scratch|check|question|skin|autoinjector|pen|injector|device|coil|plunger|inhaler|march(?:ed|es|ing)?)\Z"
            )
        ],
        "in-shorthand-pair": [Anchor(r"[NVDTIH]\Z", behind="&/ ", cased=True)],
        "in-measured-value": [_TEST_ANCHOR, _SHORT_ANCHOR],
        "in-risen-value": [_TEST_ANCHOR],
        "in-list-of-values": [_TEST_ANCHOR],
        "in-row-of-values": [_TEST_ANCHOR, _SHORT_ANCHOR],
        "in-value-with-unit": [_NUMBER_ANCHOR],
        "in-reference-range": [Anchor(r"(?:normal|reference|ref|therapeutic|target|range|nr|uln|lln|n)\Z")],
        "in-labelled-result": [
            Anchor(r"(?:test|lab|laboratory|analyte|parameter|investigation|results?|value|units?|flags?)\Z")
        ],
        "in-heading": [_HEADING_ANCHOR],
        "in-apgar": [Anchor(r"apgars?\Z")],
        "in-gestation": [_WEEKS_ANCHOR],
        "in-gestation-after": [
            Anchor(
                r"(?:E?GA|gestational|gestation|born|birth|delivered|delivery|preterm|premature|prematurely|prematurity|"
                r"induced|labou?r|section|caesarean|cesarean|week)\Z"
            )
        ],
        "in-clock-time": [
            Anchor(r"(?:1[0-2]|[1-9])(?:o(?:clock)?)?\Z"),
            Anchor(rf"(?:half|quarter|{HOURS_IN_WORDS})\Z"),
        ],
        "in-literature": [Anchor(r"(?:pmids?|pubmed|pmc|pmcid|pmc\d{6,8})\Z")],
        "in-dose-in-words": [
            Anchor(
                rf"(?:{HOURS_IN_WORDS}|thirteen|fourteen|fifteen|sixteen|eighteen|twenty|thirty|forty|fifty|sixty|seventy|"
                r"eighty|hundred|half|quarter|couple)\Z"
            )
        ],
        "is-form-label": [
            Anchor(
                r"(?:sex|gender|initials|race|ethnicity|weight|height|country|state|dob|occupation|reporter|route|"
                r"indication|outcome|onset|n)\Z"
            ),
        ],
        **SHORTHAND_ANCHORS,
        "is-brand-beside-substance": [_BRAND_ANCHOR, Anchor(rf"(?:{'|'.join(SUBSTANCES)}|co)\Z")],
        "in-value-without-unit": [_TEST_ANCHOR],
        "in-time-of-four-digits": [Anchor(r"(?:[01]\d|2[0-3])[0-5]\d\Z", before=" ")],
        "is-brand-with-dose": [_BRAND_ANCHOR],
    }
)
