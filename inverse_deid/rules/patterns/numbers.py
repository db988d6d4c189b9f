"""Patterns of numbers that identify: of records, of persons in trials, of rooms, vehicles and places on a map.

All are silent vetoes (see `patterns.py`). A number after a label of identity identifies, however short it
is, unless it is an amount, a time or a count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.core.phi import HyperClass
from inverse_deid.rules.patterns.anchors import (
    ANY_WORD,
    SPACES,
    Anchor,
    any_of,
    begin_phrases,
    compile_patterns,
    within,
)

_QUANTITIES = any_of(
    """mg mcg [µμ]g ug ng pg g kg ml cc dl l iu units? mmol [µμ]mol meq mm cm m km kpa mmhg bpm msec ms hz lbs? oz
    deg degrees? percent x fold times? tabs? tablets? caps? capsules? puffs? drops? doses? ampoules? vials? sachets?
    s secs? seconds? mins? minutes? h hrs? hours? d days? nights? wks? weeks? mths? mos? months? y yrs? years? yo
    y/?o am pm o'?clock patients? subjects? cases? people persons? episodes? attacks? bouts? events? reactions?
    children sons daughters siblings cycles? rounds? courses? shocks? brothers sisters or to out more further other previous prior similar"""
)
NOT_A_QUANTITY = rf"(?![\s-]?{_QUANTITIES}\b|\sof\s\d|\s?%|\s?[°/]\s?\d|[.,]\d)"
"""What follows a number that is no amount, time, count or ratio."""

_NO_DATE = (
    r"(?!\d{1,2}[/.]\d{1,2}(?!\w|[/.-]\w)|\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}(?!\w)|\d{1,2}-?(?:jan|feb|mar|apr|may|ju[nl]|aug|sep|oct|nov|dec)|"
    r"\d{1,2}(?:st|nd|rd|th)\b)"
)
_CODE = rf"{_NO_DATE}(?=[\w./-]{{0,24}}\d)\w{{1,24}}(?:[./-]\w{{1,24}}){{0,6}}"
_CALLED_A_NUMBER = r"(?:\s?(?:nos?|nr|num|numbers?|ids?|code|ref|reference)\b\.?)"
_CLOCK = r"(?:[01]\d|2[0-3])[0-5]\d(?!\w|[./-]\w)"
_SIGN = r"\s?[:#=№]{1,2}\s?#?\s?"
_LINK = rf"(?:{_SIGN}|\s(?:is|was|of|are|reads?|ending|ending\sin|called)\s#?|\s?[(\[]\s?|\s?-\s|\s#?)"

_STRONG_LABELS = """
    claims? badge ticket docket invoice voucher membership employee staff payroll roll army prisoner inmate detainee
    passport visa permit licen[cs]e certificate cert booking reservation tracking parcel consignment locker wrist-?band bracelet
    pin passcode password otp imei iccid udid accession specimen policy account acct a/c iban bic
    sort_code card enrol?ment chart dossier folder barcode bar_code mrn nhs chi crn uhid hcn dva ahv bsn nino? nif nie dni cpf
    tin abn ein hicn? mbi medicare medicaid insurance insured social_security tax national_id student pupil library loyalty
    frequent_flyer flight pnr seat crew conscript recruit cadet constable bib rider competitor candidate
    applicant tenant delegate queue token tag donor ser s/n sn eudract nct isrctn ctri mfr aer icsr wwid safety_report
    case_id patient_id subject_id pid worker technician warder visitor guest soldier sailor pilot apprentice trainee intern agent
    porter cadre union key_?card room_key locker_key fob vat pager bleep meter asset jersey ballot raffle coupon gift_card sim_card consent ni_no nino pps ppsn hetu cpr personnummer bsn pesel egn cnp oib jmbg rut curp rfc aadhaar nric mykad hkid tckn nhi
    versicherten_?(?:nr|nummer)
"""
_WEAK_LABELS = """
    ref reference case file report order records? code sample lab film scan x-?ray study script prescription rx log incident
    complaint query enquiry inquiry entry form document doc request notes patient hospital clinic pharmacy practice customer
    client user device model pump monitor registration reg extension ext box po_box key line row item job message
    thread chat conversation session unit service manufacturer vaccination_card donation implant receipt biopsy serial slide
    histo histology id screen tube cassette aliquot swab container pass roster rota diary med medication treatment sponsor
    call_?sign
"""
"""After these, a number needs a sign, a word such as *number*, or four characters."""

_PERSONS = """
    patients? subjects? participants? volunteers? probands? donors? recipients? screenees? enrollees? randomi[sz]ed
    randomi[sz]ed_as randomi[sz]ation rando screening enrol?led_as enrol?lment allocation screened_as cent(?:re|er)s?
    investigators? kits? subj ppts? sbj vol patid subjid usubjid ptid dyad twin_pair household family pair controls? index_case visit_code study_id trial_id
"""
_RELATED = """
    mother father parents? mum mom dad wife husband spouse partner sister brother son daughter twin baby infant child
    carer nurse relatives? guardian neighbou?r physician doctor gp initials diary consent notes file chart data samples?
    bloods? serum ecg scans?"""
_SUBJECT = (
    rf"{_NO_DATE}(?-i:[A-Z]{{0,4}})-?(?:0+\d{{1,7}}(?:[-/.]\w{{1,8}}){{0,4}}(?!\w|[./-]\d)|"
    rf"\d{{1,7}}(?:[-/.]\w{{1,8}}){{0,4}}(?!\w|[./-]\d){NOT_A_QUANTITY})(?:\s?(?:,|and|&|or)\s?\d{{2,7}}(?!\w|[.,/]\d){NOT_A_QUANTITY}){{0,9}}"
)
_DID = any_of(
    """withdrew called rang phoned says said felt feels vomited died recovered developed denies denied told completed missed
    stopped took wants asked dropped_out discontinued consented complained
    (?:has|had|was|is)_(?:not_|been_|then_|also_)?(?:withdrawn|randomi[sz]ed|enrolled|dosed|screened|discharged|admitted|unblinded|
    seen|un?well|dizzy|sick|recover(?:ed|ing)|hospitali[sz]ed|started|given|told|fine|better|discontinued|contacted|lost)""".replace(
        "|\n    ", "|"
    )
)
_DONE_TO = """
    dosed randomi[sz]ed screened enrol?led consented unblinded withdrew contacted? contact_with rang call called calling visited told asked
    given_to lost lost_contact_with dosing_of screening_of exclusion_of unblinding_of withdrawal_of enrol?lment_of randomi[sz]ation_of call_from calls_from death_of visits_of ask asked tell told remind reminded email emailed warn warned interviewed code_for code_of page_of diary_of tablets_of consent_of spoke_to spoke_with seeing visiting dosing autopsy_of autopsies_of narratives?_of narratives?_for cards?_of pages?_for photos?_of
    ecgs?_of bloods_of samples?_of profiles?_of listings?_of both_of
"""
_SPOKEN_LABELS = """
    numbers? extension ext code pin policy digits? flat room bed ward line plate badge reference account centre center site double triple
    claim ticket postcode zip house_number street_number subject participant patient volunteer proband pt
"""
_DIGIT_WORDS = """
    zero oh nought one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand double triple
"""
_CODES_OF_DRUGS = any_of(
    """CD MK PF IL HLA AZD BNT SARS COVID CYP TNF NT T L C S H B G M FEV HB PM RU SR ABT BAY GSK LY CA EBV HPV HSV HIV CMV
    JAN FEB MAR APR MAY JUN JUL AUG SEP SEPT OCT NOV DEC BMS JNJ AMG HR BP RR PR N O P I SAR UCB ONO TAK MEDI REGN CHADOX VX GS SB BI E"""
)
"""Codes of substances, receptors and viruses have the form of numbers of persons: `PF-07321332`."""

_TWO_CODES = (
    rf"(?!(?:[CTLS]\d{{1,2}}-[CTLS]|{'|'.join(f'{letter}[0-9]{{1,3}}-{letter}' for letter in 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')})\d)"
    r"[A-Z]\d{1,3}-[A-Z]\d{1,4}"
)
"""`S3-P12`, but not vertebrae, leads, days, weeks or grades from one to another."""

_NUMBER = r"\d{1,3}(?:[.,]\d{1,10})?"
_MINUTE, _SECOND = r"(?:['′’‘`´]|min(?:utes?)?\b|m\b)", r"(?:[\"″”“]|['′’]{2}|sec(?:onds?)?\b|s\b)"
_DEGREE = r"(?:[°º˚*]|deg(?:rees)?\b|d\b)"
_DEGREES = rf"{_NUMBER}(?:\s?{_DEGREE}(?:\s?{_NUMBER}(?:\s?{_MINUTE})?(?:\s?{_NUMBER}(?:\s?{_SECOND})?)?)?)?"
_SPACED = rf"(?:\s{{1,2}}{_NUMBER}(?:\s?{_MINUTE})?(?:\s{{1,2}}{_NUMBER}(?:\s?{_SECOND})?)?)?"
_AXIS = r"(?:(?:lat(?:itude)?|lon(?:g(?:itude)?)?|lng)\b\.?\s?[:=]?\s?)?"


def _before(words: str, letters: str) -> str:
    # A pattern of degrees after a point of the compass.
    return rf"(?:{words}|(?-i:[{letters}]))\.?\s?{_DEGREES}{_SPACED}"


def _after(words: str, letters: str) -> str:
    # A pattern of degrees before a point of the compass.
    return rf"{_DEGREES}{_SPACED}\s?(?:{words}|(?-i:[{letters}]))\b"


_NS, _EW = ("north|south", "NS"), ("east|west", "EWO")
_BETWEEN_AXES = rf"[\s,;/]{{0,3}}(?:(?:and|by|x)\s)?{_AXIS}"
_NUMBER_WORDS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety hundred point oh minus
"""
_ALPHABET = any_of(
    """alpha alfa bravo charlie delta echo foxtrot golf hotel india juliett? kilo lima mike november oscar papa quebec romeo sierra tango
    uniform victor whiskey whisky x-?ray yankee zulu apple baby boy cat dog egg able baker sugar nuts mother orange peter queen robert
    tommy uncle victory zebra"""
)
_LOT_CODE = r"(?=[\w-]{0,14}\d)[\w-]{2,15}"
_NO_PERSON = any_of(
    """The A An This That Then No Not Lot Batch Exp Expiry Expires Manufacturer Dose Doses Vaccine Left Right Given Site Route Patient Pt He She It They
    We I In On At Was Is Unknown None Same Product Brand Vial Serial Nurse Doctor Dr Mrs? Ms Miss Prof Pharmacist Reporter Pfizer Moderna Novavax
    Janssen Merck Sanofi Bayer Roche Novartis AstraZeneca Astra Glaxo Lilly Abbott Intramuscular Oral Subcutaneous Deltoid Arm Manufacture Number
    Quality Investigation Analysis Testing Return Replacement Pharmacy Company Follow January February March April May June July August September
    October November December"""
)
_STATE = any_of(
    """fine well ok okay none sore ill sick rash hives fever feverish nausea nauseous dizzy tired unwell faint itchy itching better worse swollen
    headache vomited vomiting fainted cried wept slept called rang reports? has had got feels? felt took says said"""
)
_MAP_LABELS = """
    gps gps_?latitude gps_?longitude gps_?lat gps_?lon coordinates? coords? irish_grid british_grid national_grid map_grid latlng lat latitude longitude lng geolocation geotag geotagged grid_ref grid_reference
    grid_square os_grid breite breitengrad länge längengrad latitud longitud latitudine longitudine largo szerokość długość šířka délka locator qth map_ref map_reference mgrs utm eastings? northings? plus_code what_?3_?words what_three_words w3w
    waypoint geohash maidenhead_locator ordnance_survey open_location_code eircode
"""
_MAP_VALUE = (
    r"(?:[-+−]?\d{1,7}[^\s;)\n]*(?:[\s,;/]{1,3}(?:(?:lon|long|longitude|lng|and|by)[\s:=]{1,3})?[-+−]?\d{1,7}[^\s;)\n]*){0,6}(?:\s?[NSEW]\b)?|(?-i:[A-Z]{1,2})\s?\d{2,10}(?:\s\d{2,10})?|"
    r"\d{1,2}(?-i:[A-Z])\s?\S{2,16}(?:\s\d{2,7}){0,2}|[a-z]{3,14}[./][a-z]{3,14}[./][a-z]{3,14}|(?=\w{0,12}\d)\w{4,12}(?:\s\w{4})?)"
)
_OPEN = "23456789CFGHJMPQRVWX"
"""The signs of open location codes (https://github.com/google/open-location-code, specification)."""

_VEHICLES = """
    cars? vans? trucks? lorry lorries taxis? cabs? bikes? motor_?bikes? motor_?cycles? scooters? mopeds? vehicles? bus minibus
    coach uber lyft minicab matatu tuk-?tuk tanker digger quad snowmobile boat yacht ferry hearse limo limousine jeep sedan ambulance forklift quad_?bike lorries wagon estate_car hire_car pick-?up tractor trailer caravan camper rickshaw minivan ute hatchback ford
    toyota honda bmw audi vw volkswagen fiat renault nissan kia hyundai skoda mazda tesla vauxhall peugeot volvo mercedes
"""
_PLATE_LABELS = """
    plates? number_?plates? licen[cs]e_plates? registration registration_mark registration_plates? tags? rego reg_no reg_number kennzeichen matr[ií]cula
    immatriculation targa kenteken nummernschild nummerplade placa patente rendszám plaka rekisteri(?:numero)? nopol kfz spz vrm vin chassis index_mark private_plates? vanity_plates?
"""
_OF_VEHICLE = any_of(
    """reg registered with plates? number no was is bearing registration the of in on a an white black red blue grey gray silver
    green yellow old new parked"""
)
_NO_PLATE = any_of(
    """ESR CRP WBC HB HGB BP HR GCS RR PLT ALT AST CK INR T P Q CT MRI ECG EKG ICU ER ED OR USA UK US AM PM ID DOB ETOH LOC O2 BM CPR AED IV IM GTN N2O SATS TEMP RBS"""
)
_PLATE = (
    rf"(?-i:(?!{_NO_PLATE}\b)(?=[A-ZÄÖÜ0-9 ·•.-]{{0,14}}\d)[A-ZÄÖÜ0-9]{{1,8}}"
    r"(?:[ ·•.-]{1,3}(?=[A-Z0-9]{0,5}\d|[A-Z]{1,3}\b)[A-Z0-9]{1,7}){0,4})(?!\w)"
)
_SPOKEN_PLATE = r"(?-i:[A-Z][A-Z0-9]{1,8}(?:[ -][A-Z0-9]{1,7}){0,3})(?!\w)"

_ROOMS = """
    rooms? rm beds? bays? cubicles? wards? cabins? theatre tent incubator hut trolley barracks? block cell icu hdu nicu picu ccu itu unit suites? apts? apartments? flats? lockers? bunks? berths? dorm dormitory
    resus station cot crib bassinet carriage compartment kiosk villa hangar annexe? bett cama letto säng seng sala avdeling afdeling abteilung osasto zimmer chambre habitaci[oó]n stanza kamer pok[oó]j classrooms? chair stretcher gurney recliner couch desk office hostel hotel motel shelter cottage pavilion bldg chalets? decks? booths? caravans? trailers? condos? villas? side-?rooms? bedrooms? stateroom barrack barracks pacu mau amu cdu eau sau doors? lit zi blk
"""
_FLOORS = """
    floor deck block wing cell prison_cell police_cell office tower unit gate zone desk theatre house building pod plot pitch tent hut icu hdu itu corridor stall
    hall lodge cottage
"""

_PLACES_AT_START = r"""
    floor corridor tower gate hall lodge stall plot pitch deck level(?=\s\d{1,2}[,;:.)]\s?(?:room|rm|ward|bed|bay|flat|suite|east|west|north|south)\b)
"""

_CONJUNCTIONS = any_of(r"because while when that but since whether if whereas where until after before")
_PERSONS_IN_ROOMS = any_of(r"man woman lady gentleman patient girl boy pt neighbou?r resident")
_LIES = any_of(r"lies lay lying stays staying sits moved transferred back asleep found nursed")
_ROOMS_WITH_SLASH = any_of(r"rooms? rm zimmer chambre suite apt apartment flat habitaci[oó]n stanza")
_ROOMS_IN_QUOTES = any_of(r"room ward suite wing pod bay dorm theatre lounge")
_ORDINALS_OF_FLOORS = r"(?:\d{1,3}(?:st|nd|rd|th)|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|top)"
_ROOMS_WITH_LETTER = any_of(
    r"bed bay ward cubicle cell wing room pod block bunk theatre station gate desk dorm pavilion resus theater suite apt apartment hall tower villa lit bett cama letto"
)

_NO_ROOM = r"(?<!heart )(?<!egree )(?<!av )(?<!branch )(?<!nerve )(?<!blood )(?<!white )(?<!red )(?<!mast )(?<!per )(?<!sickle )(?<!total )"
_ROOM_NUMBER = rf"(?!V[1-6]\b|(?-i:DAY|POD|HD|AND|FOR|WAS|NO|AT|ON|IN|Day)\b|\d{{3}}[-.]\d{{3}}[-.]\d{{4}})(?!\d{{1,4}}/\d{{1,2}}(?!\d)|\d{{1,2}}-\d{{1,2}}-\d{{2,4}}(?!\d)|\d{{1,2}}(?:st|nd|rd|th)\b)(?-i:[A-Z]{{0,3}})[- ]?\d{{1,5}}(?-i:[A-Za-z]?)(?:[-/.]\w{{1,6}}){{0,3}}(?!\w|[.,/-]\d){NOT_A_QUANTITY}"

VETOES = compile_patterns(
    {
        "number-after-label": rf"\b{any_of(_STRONG_LABELS)}\b{_CALLED_A_NUMBER}?{_LINK}(?:the\s)?((?:(?-i:[A-Z]{{1,4}})\s(?=\d))?{_CODE}(?:\s\d{{2,6}}(?!\w|[.,/]\d){NOT_A_QUANTITY}){{0,4}}){NOT_A_QUANTITY}",
        "number-after-weak-label": rf"(?<!pubmed )(?<!pmid )(?<!doi )(?<!medline )(?<!cpt )(?<!icd )(?<!atc )(?<!dental )(?<!procedure )(?<!meddra )(?<!diagnosis )\b(?!ref\s[1-9]\d{{0,3}}-[1-9]\d{{0,4}}(?!\w)){any_of(_WEAK_LABELS)}\b(?:{_CALLED_A_NUMBER}{_LINK}|{_SIGN}|"
        rf"\s(?!{_CLOCK})(?=[A-Z./-]{{0,8}}\d[\w/-]{{3}}|[A-Z]{{1,4}}-\d\d\.\d))({_CODE}){NOT_A_QUANTITY}",
        "number-of-person": rf"\b(?:{any_of(_PERSONS)}|(?-i:[Pp]t|[Pp]at|Prob|Vp))\b\.?{_CALLED_A_NUMBER}?(?:\s?[:#=№(\[]{{1,2}}\s?#?\s?|\s?-\s?|\s)({_SUBJECT})",
        "person-as-number": rf"\b{any_of(_DONE_TO)}\s(?:to\s|of\s|for\s|with\s|from\s|numbers?\s)?[“\"'(]?(?!911|999|112|111|1-?800|\d{{3}}[-.]\d{{3}}[-.]\d{{4}})((?-i:[A-Z]{{0,4}})-?\d{{2,7}}(?<!\b\d\d)(?:[-/.]\w{{1,8}}){{0,3}}"
        rf"(?:\s?(?:,|and|&|or)\s?\d{{3,7}}){{0,9}})(?!\w|[.,/]\d|[ -]\d{{3}}|[’']s){NOT_A_QUANTITY}",
        "number-as-clause": rf"\b{_CONJUNCTIONS}\s(?!911|999|112|111)((?-i:[A-Z]{{0,3}})\d{{3,7}}(?:[-/]\w{{1,8}}){{0,3}})(?=\s(?:{_DID}|had|has|reported|reports|experienced|presented|got)\b)",
        "numbers-as-persons": rf"\b(?:both|either|neither)\s((?-i:(?!{_CODES_OF_DRUGS}-?\d)[A-Z]{{0,3}}-?\d{{2,7}}\s(?:and|or|nor)\s[A-Z]{{0,3}}-?\d{{2,7}}))(?!\w|[.,/-]\d){NOT_A_QUANTITY}",
        "number-of-person-on": rf"\b(?:patient|subject|participant|volunteer|donor|screening|randomi[sz]ation)(?:['’]s)?\s(?:ids?|nos?\.?|numbers?|codes?)\s(?:\w+\s){{1,4}}(?:was|is|reads?|said|says|states?)\s({_CODE}){NOT_A_QUANTITY}",
        "number-glued-to-label": r"(?<![\w./-])(?-i:(?:SCR|SUBJ|PAT|RAND|Scr|Subj|Pat|Pt|Rand|Rm|RM|Zi)\d{2,7}[A-Z]?)(?!\w|[.,]\d)",
        "person-in-room": rf"\b{_PERSONS_IN_ROOMS}\sin\s((?-i:[A-Z]?)\d{{1,4}}(?-i:[A-Z]?))(?!\w|[.,/-]\d){NOT_A_QUANTITY}",
        "degrees-before-axis": rf"(?<![\w.,]){_NUMBER}\s?°?\s?(?:(?:north|south|east|west)\s)?(?:latitude|longitude|lat|long|lon|lng)\b",
        "swiss-grid": r"(?<![\w.,])\d['’]\d{3}['’]\d{3}\s?[/,]\s?\d?['’]?\d{3}['’]\d{3}(?!\w)",
        "number-in-two": rf"\b(?-i:[Rr]and|[Ss]cr|[Ss]ubj?|[Pp]t|[Pp]at)\.\s?(?:no\.?\s|nr\.?\s|#\s?)?(\d{{1,4}}\s\d{{3,4}})(?!\w|[.,/]\d){NOT_A_QUANTITY}",
        "digits-spaced": r"(?<![\w.,/-])(?<!\d )(?=(?:[A-Za-z] ){0,6}\d(?: [A-Za-z]){0,6} \d(?: [A-Za-z]){0,6} \d(?: [A-Za-z]){0,6} \d)"
        r"(?=(?:\d ){0,12}[6-9A-Za-z](?!\w))(?-i:[A-Z\d])(?: (?-i:[A-Z\d])){4,24}(?![\w/]|[.,]\d)",
        "number-that-owns": r"(?<![\w.,/-])(\d{2,6}[1-9])(?=['’]s\b|\sand\s(?:her|his|their)\s(?:mother|father|parents?|husband|wife|partner|carer|child|son|daughter|mum|mom|dad)\b)",
        "plain-number": rf"(?<!lot )(?<!lots )(?<!batch )(?<!dose )(?<!cycle )(?<!vaccine )(?<!atomic )\bnumbers?\s(\d{{2,7}})(?!\w|[.,/]\d){NOT_A_QUANTITY}",
        "number-in-words": rf"\b(?!(?-i:number)\s{any_of(_DIGIT_WORDS)}\b(?![\s,-]{{1,3}}(?:and\s)?{any_of(_DIGIT_WORDS)}\b)){any_of(_SPOKEN_LABELS)}[\s:]{{1,2}}(?:(?:is|in|as|the|with|of|ends|ending)\s){{0,2}}"
        rf"((?:{any_of(_DIGIT_WORDS)}[\s,-]{{1,3}}(?:and\s)?){{0,12}}{any_of(_DIGIT_WORDS)})\b{NOT_A_QUANTITY}",
        "digits-in-words": rf"\b(?:{any_of(_DIGIT_WORDS)}[\s,-]{{1,3}}(?:(?:no|um|uh|er|erm|ehm|sorry|wait)[\s,-]{{1,3}}){{0,2}}){{3,}}{any_of(_DIGIT_WORDS)}\b",
        "number-of-site": rf"(?<!ion )(?<!ject )(?<!inj )\bsite\s(?:no\.?\s?|number\s|#|:\s?)?(\d{{2,5}})(?![\w%°]|[.-]\w|/\d){NOT_A_QUANTITY}",
        "person-of-number": rf"\b{any_of(_RELATED)}\s(?:of|for|from)\s(?:the\s)?(?:{any_of(_PERSONS)}\s|no\.?\s|number\s)?#?"
        rf"((?-i:[A-Z]{{0,4}})-?\d{{3,7}}(?:[-/.]\w{{1,8}}){{0,4}})(?!\w|[.,/]\d){NOT_A_QUANTITY}",
        "number-as-person": rf"(?:\A|(?<=[.;!?(\n]\s)|(?<=[\n(]))(?!911|999|112|111)(?-i:[A-Z]{{0,4}})-?\d{{3,7}}(?:[-/]\w{{1,8}}){{0,3}}(?=\s{_DID}\b)|"
        r"(?:\A|(?<=[.;!?(\n]\s)|(?<=[\n(]))0\d{2,6}(?:[-/]\w{1,8}){0,3}(?=\s(?:had|has|have|is|was|reported|reports|experienced|noticed|noted|presented|got|gets)\b)",
        "code-of-person": rf"(?<![\w./-])(?<!rotocol )(?<!tudy )(?<!rial )(?<!lot )(?<!lot: )(?<!lot # )(?<!lot #)(?<!batch )(?-i:(?!{_CODES_OF_DRUGS}-)[A-Z]{{1,4}}-\d{{3,7}}(?:-\w{{1,6}}){{0,3}}|\d{{2,4}}-[A-Z]{{1,2}}-?\d{{2,4}}|[A-Z]{{2}}\d{{2}}[.-]\d{{3,6}}|\d{{2}}-0\d{{3,5}}[A-Z]?|{_TWO_CODES}|"
        r"[A-Z]\d{1,2}/0\d{2,5}|(?!0\d[0-5]\d[-/]0\d[0-5]\d(?!\w))0\d{2,4}[-/]0\d{2,5}(?:[-/]\w{1,6})?)(?!\w|[./-]\w)",
        "decimal-coordinates": r"(?<!\w)(?<!\d[.,])\d{1,3}[.,]\d{3,10}°?\s?[,;/| x×]\s?[-+−]?\d{1,3}[.,]\d{3,10}°?(?!\w|[.,]\d|\s?[cm]?m\b)|"
        r"(?<!\w)(?<!\d[.,])\d{2}[.,]\d{1,10}\s?[,;/]\s?[-−]\d{1,3}[.,]\d{1,10}(?!\w|[.,]\d)",
        "coordinates-on-axes": rf"(?<![\w.,]){_AXIS}(?:{_before(*_NS)}{_BETWEEN_AXES}{_before(*_EW)}|{_after(*_NS)}{_BETWEEN_AXES}{_after(*_EW)}|{_before(*_EW)}{_BETWEEN_AXES}{_before(*_NS)}|{_after(*_EW)}{_BETWEEN_AXES}{_after(*_NS)})",
        "degrees-and-minutes": rf"(?<![\w.,]){_NUMBER}\s?(?:[°º˚]|deg(?:rees)?)\s?\d{{1,2}}(?:[.,]\d{{1,6}})?\s?(?:['′’‘`´]|min(?:utes)?\b)"
        rf"(?:\s?{_NUMBER}\s?{_SECOND})?(?:\s?[NSEWO]\b)?|(?<![\w.,])\d{{1,3}}[.,]\d{{3,10}}\s?[°º]?\s?(?-i:[NSEW])\b",
        "spelled-coordinates": rf"\b(?:{any_of(_NUMBER_WORDS)}[ -](?:and[ -])?){{1,6}}degrees?(?:[ -][a-z]+){{0,6}}\s(?:north|south|east|west)"
        r"(?:[\s,]{1,2}(?:and\s)?(?:[a-z]+[ -]){1,6}(?:east|west))?\b",
        "after-map-label": rf"\b{any_of(_MAP_LABELS)}\b(?:\s(?:position|fix|location|ref|code|address|of|at|is|was|to|tag|reads?|pin)\b){{0,3}}"
        rf"[\s:=(,\"'/]{{1,4}}({_MAP_VALUE})",
        "grid-square": r"(?<![\w./-])(?-i:(?!\d{1,2}(?:JAN|FEB|MAR|APR|MAY|JU[NL]|AUG|SEP|OCT|NOV|DEC))\d{1,2}[C-HJ-NP-X]\s?[A-HJ-NP-Z]{2}\s?(?:\d{6,10}|\d{2,5}\s\d{2,5})|"
        r"\d{1,2}[C-HJ-NP-X]\s\d{6}(?:\.\d+)?\s?(?:m\s?)?E?,?\s?\d{7}(?:\.\d+)?(?:\s?m?\s?N)?|"
        r"[HNOST][A-HJ-Z]\s?(?:\d{3}\s?\d{3}|\d{4}\s?\d{4}|\d{5}\s?\d{5}))(?!\w|[./-]\w)",
        "plus-code": rf"(?<![\w+])(?=[A-Z]{{0,8}}\+?[A-Z]{{0,2}}\d)[{_OPEN}]{{4,8}}\+[{_OPEN}]{{2,3}}(?![\w+])(?:,?\s(?-i:[A-Z][\w-]+))?",
        "three-words": r"///\s?[^\W\d_]{3,}\.[^\W\d_]{3,}\.[^\W\d_]{3,}|"
        r"(?<![\w./@-])(?-i:[a-z]{4,14}\.[a-z]{4,14}\.[a-z]{4,14})(?![\w/@-]|\.\w)",
        "place-in-address": r"\b(?:loc|ll|latlng|center|centre|daddr|saddr|geo|pos)=[-+]?\d\S+",
        "geo-address": r"\bgeo:\S+",
        "plate-after-label": rf"\b{any_of(_PLATE_LABELS)}\b(?:\s?(?:nos?|number|nr|mark)\b\.?)?"
        rf"(?:[\s:,(\"'“=-]|\b(?:is|was|were|reads?|reading|ends?|ending|in|with|began|begins|starts?|starting|of|the|his|her|on|noted|says?|said|show(?:s|ed|ing)?)\b){{1,8}}"
        rf"(?!\d+(?!\w|[ -][A-Z])|[CTLS]\d)((?:{_SPOKEN_PLATE}|{_PLATE})(?:\s(?:and|or|&)\s{_PLATE})?){NOT_A_QUANTITY}",
        "plate-of-vehicle": rf"\b{any_of(_VEHICLES)}\b(?:[\s,.:;(\"'“-]|\b{_OF_VEHICLE}\b){{1,9}}({_PLATE}){NOT_A_QUANTITY}",
        "plate-by-shape": r"(?<![\w./-])(?-i:(?!CD)[A-Z]{2}[0-6]\d [A-Z]{3}|(?!\w\w[ -]?\d{1,2}[ -]?(?:JAN|FEB|MAR|APR|MAY|JU|AUG|SEP|OCT|NOV|DEC))[A-Z]{2}[ -]?\d{1,2}[ -]?[A-Z]{1,3}[ -]?\d{4}|"
        r"[A-Z]{2}-\d{3}-[A-Z]{2}|\d{1,2}-(?!JAN|FEB|MAR|APR|MAY|JU[NL]|AUG|SEP|OCT|NOV|DEC)[B-DF-HJ-NP-TV-Z]{2,3}-\d{1,2}|(?!V-V)(?=[^\s]{4})[A-ZÄÖÜ]{1,3}-[A-Z]{1,2}\s\d{2,4}[EH]?|[A-Z]{1,3}\s?[•·]\s?[A-Z]{0,2}\s?\d{2,6}|\d(?!JAN|FEB|MAR|APR|MAY|JU[NL]|AUG|SEP|OCT|NOV|DEC)[A-Z]{3}\d{3}|[A-Z]{3} \d{3}[A-Z]|"
        r"[A-Z]\s?\d{3}\s(?!(?:BPM|MCG|AND|PER|THE|WAS|FOR|NOT|BUT)\b)[A-Z]{3}|(?!(?:HR|RR|BP|PR|CK|PT|TP|HB|PO|PH|ST|SC|CO|ON|AT|TO|OF|IN|IS)\b)[A-Z]{2}[ ·-]\d{3}[ ·-](?!(?:HR|RR|BP|PR|CK|PT|ON|AT|TO|OF|IN|IS|MG|ML|KG|MM|CM|IU|OR|PO|IV|IM|SC)\b)[A-Z]{2}|(?<!LOT )(?<!lot )(?<!atch )(?<!ATCH )(?<!no\. )(?<!ber )(?<!: )(?<!# )[ABCEHKMOPTXY]\d{3}[ABCEHKMOPTXY]{2}\d{2,3}|"
        r"[一-鿿]{1,4}\s?\d{2,3}\s?[ぁ-ゟ]\s?[\d・･-]{1,6})(?!\w|[./-]\w)",
        "number-of-room": rf"{_NO_ROOM}\b{any_of(_ROOMS)}\b\.?(?:\s?(?:nos?|number|nr)\b\.?)?(?: ?[:#=] ?| |-)#?({_ROOM_NUMBER})",
        "room-with-slash": rf"\b{_ROOMS_WITH_SLASH}\b\.?\s(?:no\.?\s|number\s|#\s?)?(\d{{1,4}}/\w{{1,4}})(?!\w|[.,/-]\d)",
        "room-with-point": rf"\b{_LIES}\s(?:in|to)\s(\d{{1,2}}\.\d{{2,3}}[A-Z]?)(?!\w|[.,/-]\d){NOT_A_QUANTITY}",
        "room-with-name": rf"\b(?:dorm|dormitory|ward|unit|pod|wing|block|hut|cabin|tent|villa|lodge|cottage|suite|room|bay|corridor)\s((?-i:(?!(?:Day|Dose|Week|Visit|Cycle|Grade|Phase|Stage|Type|No|Nos|Number|Nr)\b)[A-Z][a-z]{{2,14}})[ -]\d{{1,4}}[A-Z]?)(?!\w|[.,/-]\d){NOT_A_QUANTITY}",
        "room-in-quotes": rf"\b{_ROOMS_IN_QUOTES}\s(?:named\s|called\s)?[“\"'‘]((?-i:[A-Z])[\w' -]{{2,24}})[”\"'’]",
        "number-of-floor": rf"\b(?:(?:on|at|to|in|from|of)\s(?:the\s)?{any_of(_FLOORS)}\s|{any_of(_FLOORS)}\s?(?:(?:no|number|nr)\b\.?\s?[:#]?|[:#])\s?)({_ROOM_NUMBER})",
        "floor-of-house": rf"\b({_ORDINALS_OF_FLOORS}(?=\s(?:floor|deck|storey|story)\b)|R\d{{2,4}}/B\d{{1,2}})\b",
        "letter-of-room": rf"\b{_ROOMS_WITH_LETTER}\s((?-i:[B-HJ-Z]|A(?=[,.;)\n]|\Z)))(?![\w'’]|[.-]\w)",
        "floor-at-start": rf"(?:\A|(?<=[.;:!?(]\s)|(?<=[\n(])){any_of(_PLACES_AT_START)}\s({_ROOM_NUMBER})",
        "operating-room": rf"(?:\A|(?<=[.,;:(]\s)|(?<=\bin\s)|(?<=\bto\s)|(?<=\n))(?-i:OR|ER|ED|OT)\s?(\d{{1,2}})(?!\w|[.,/-]\d){NOT_A_QUANTITY}",
        "room-before-word": r"(?<![\w.,/-])((?-i:[A-Z]?\d{1,4}[A-Z]?))[\s-](?:room|ward|bed|bay|rm)(?=\s?[).,;:]|\s?\Z)",
        "trailer-lot": r"\b(?:house|home|trailer|caravan|tent|hut|cabin|shed|plot|land|camper|built|site|bungalow)\s(?:(?:on|at|in)\s)?lot\s(?:no\.?\s|number\s|#\s?)?[A-Z]?\d{1,5}[A-Z]?\b|"
        r"\b(?:lot|plot)\s[A-Z]?\d{1,5}[A-Z]?,?\s(?=(?-i:[A-Z])[\w'’]+(?:\s(?-i:[A-Z])[\w'’]+)?\s(?:road|rd|street|st|lane|ln|ave|avenue|drive|park|village|estates?|court|close|camp|site|resort|grove|heights|"
        r"meadows?|cemetery|acres|farm|gardens?|ranch|marina|crescent|way)\b)|"
        r"\b(?:liv(?:es?|ed|ing)|stay(?:s|ed|ing)?|home|parked|camp(?:s|ed|ing)?)\s(?:on|at|in)\slot\s(?:no\.?\s|number\s|#\s?)?[A-Z]?\d{1,5}[A-Z]?\b|"
        r"\b(?:lot|plot|space|site|pitch|stand)\s(?:no\.?\s|number\s|#\s?)?[A-Z]?\d{1,5}[A-Z]?\s(?:of|in|at|on)\s(?:the|a)\s"
        r"(?:[\w-]+\s){0,2}(?:trailer|caravan|camp|park|site|estate|cemetery|mobile|market|subdivision)",
        "lot-to-park": r"\b(?:(?:parked|cars?|van|truck|bike|left|towed|fell|collapsed|found|hit|walking)\s(?:in|on|at|from|across|to)\s(?:the\s)?lot|(?:parking|car|auction|camping|building|vacant|corner|empty)\s(?:lot|space|bay))\s(?:no\.?\s|number\s|#\s?)?"
        r"((?:(?-i:[A-Z])-\d{1,4}|(?-i:[A-Z])|[A-Z]?\d{1,5}[A-Z]?)(?:,?\s(?:row|level|space|bay|aisle|section)\s\w{1,4})?)(?!\w)",
        "lot-of-other-number": r"\b(?:lot|batch)(?:es|s)?(?:[\s.:#(=]|\b(?:no|nos|nr|num|numbers?|code|id|was|is)\b){1,8}"
        r"(\d{3}[ .-]\d{3}[ .-]\d{4}|\(\d{3}\)\s?\d{3}[ .-]\d{4}|\d{3}-\d{4}|\d{3}-\d{2}-\d{4}|\+\d[\d ().-]{7,18}\d|\d{8,}|"
        r"(?:MRN|NHS|SSN|CHI|DOB|tel|phone)\b[\s.:#]{0,3}[\w-]+)(?![\w])",
        "lot-of-person": r"\b(?:lot|batch)\s(?!num|no\b|nr\b|unk|not\b)((?-i:[A-Z][a-z]{1,14}))(?=\s(?:reports?|reported|had|has|says|said|called|rang|took|got|developed|felt|"
        r"is|was|and|told|who)\b)",
        "person-after-lot": rf"\b(?:lot|batch)\b(?:\s(?:nos?|nr|number)\b\.?)?[\s:#]{{1,3}}{_LOT_CODE},?\s(?-i:(?!{_NO_PERSON}\b)([A-Z][a-z]{{1,14}}))(?=\s(?:(?:is|was|feels?)\s)?{_STATE}\b)",
        "person-beside-lot": rf"\b(?:lot|batch)\b(?:\s(?:nos?|nr|number)\b\.?)?:?(?:\s{_LOT_CODE})?,?\s(?:(?:was\s|is\s)?given\s)?(?:see|ask|to|for|by|per|with|via|&|from)\s(?-i:(?!{_NO_PERSON}\b)([A-Z][a-z]{{1,14}}))(?![\w-])",
        "labelled-by-no": r"(?<!lot )(?<!lots )(?<!batch )(?<!dose )(?<!cycle )(?<!vaccine )(?<!tooth )(?<!teeth )(?<!figure )(?<!table )(?<!fig\. )(?<!visit )(?<!gauge )(?<!chromosome )"
        rf"(?:\b(?-i:no|No|NO|nr|Nr|num)\.|№|\bn[°º])\s?(\d{{2,7}})(?!\w|[.,/]\d){NOT_A_QUANTITY}",
        "person-and-number": rf"\b(?:cases?|infant|baby|neonate|newborn|control|carrier|proband|contact|visit\s\w{{1,5}}\sof|page\s\d{{1,3}}\sof|diary|bloods|samples)\s#?(?!{_CLOCK}){_NO_DATE}(\d{{3,7}}(?:-\w{{1,4}})?)(?!\w|[.,/]\d){NOT_A_QUANTITY}",
        "coded-person": r"\bsub-\d{2,6}(?!\w)|(?<![\w./-])(?-i:0\d{1,4}-[A-Z]{2,4})(?![\w-])",
        "number-with-zero": rf"(?<!lot )(?<!lots )(?<!batch )(?<!lot #)(?<!lot # )(?<!lot: )(?<!lot no )(?<!lot no. )(?<!lot# )(?<!number )(?<![\w.,/:+#-])(?<!\d )(?!0+\b)0(?:\d{{2}}|\d[6-9]\d|\d{{4,6}})(?!\w|[.,/:-]\d|[ -]\d{{3}}){NOT_A_QUANTITY}",
        "identity-by-shape": r"(?<![\w./-])(?-i:[A-Z]{2}\s?\d{2}\s?\d{2}\s?\d{2}\s?[A-D]|\d{6}[-+A]\d{3}[\dA-Z]|\d{8}-?[A-HJ-NP-TV-Z]|[A-Z]{4}\d{6}[A-Z0-9]{3,8})(?![\w-])",
        "grid-letters": r"\bgrid\s(?:square\s|ref\w*\s)?((?-i:[A-Z]{1,2})\s?\d{2,5}(?:\s?\d{2,5})?)(?!\w)",
        "nautical-position": r"(?<![\w.])\d{4,5}\.\d{2,6},[NS],\d{4,6}\.\d{2,6},[EW]\b",
        "spelled-code": rf"(?<!\w)(?=[^.\n]{{0,24}}\b{any_of(_DIGIT_WORDS)}\b)(?-i:[A-Z])[\s,-]{{1,2}}(?:(?:(?-i:[A-Z])|{any_of(_DIGIT_WORDS)})[\s,-]{{1,2}}){{1,9}}(?:(?-i:[A-Z])|{any_of(_DIGIT_WORDS)})(?!\w)",
        "letters-with-commas": r"(?<!itamin )(?<!itamins )(?<!epatitis )(?<!roups )(?<!rms )(?<!ypes )(?<!arts )(?<![\w,] )(?<!\w)(?-i:[A-Z])(?:,\s?(?-i:[A-Z])){2,14}(?:,?\s?(?:and\s)?(?-i:[A-Z]))(?!\w)",
        "letter-as-in": rf"\b(?-i:[B-HJ-Z])(?:,?\s(?:as\sin|like|for|is)\s)(?:(?<=as\sin\s)\w+|(?<=like\s)\w+|{_ALPHABET}\b)",
        "callsign": r"\b(?:call-?\s?sign|unit\scall)[\s:]{1,2}((?:[A-Z][a-z]+\s)?[\w-]{1,12}(?:\s\d{1,4})?)(?!\w)",
    }
)
"""Numbers and codes of persons, places and things."""

_NUMBERED = r"(?:nos?|nr|num|numbers?|ids?|code|ref|reference)\Z"
_CAPITALS = r"(?-i:[A-Z]{1,4}(?:\d|\Z))"
_DIGIT_WORD = rf"{any_of(_DIGIT_WORDS)}\Z"
_FIRST_OF_FLOORS = any_of(re.sub(r"_\S*", "", _FLOORS))
_NUMBER_OF_ROOM = rf"(?:no|nos|number|nr)\Z|\d|{_CAPITALS}"
ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "number-after-label": begin_phrases(_STRONG_LABELS),
        "number-after-weak-label": begin_phrases(_WEAK_LABELS),
        "number-of-person": [
            *begin_phrases(_PERSONS, then=rf"{_NUMBERED}|\d|{_CAPITALS}"),
            Anchor(r"(?:[Pp]a?t|Prob|Vp)\Z", cased=True, next=rf"{_NUMBERED}|\d|{_CAPITALS}"),
        ],
        "person-as-number": begin_phrases(
            _DONE_TO, then=rf"(?:to|of|for|with|from|numbers?)\Z|\d|{_CAPITALS}"
        ),
        "number-that-owns": [
            Anchor(r"\d{3,7}\Z", behind="'’", next=r"s\Z"),
            Anchor(r"\d{3,7}\Z", behind=SPACES, next=r"and\Z"),
        ],
        "plain-number": [Anchor(r"numbers?\Z", behind=SPACES, next=r"\d")],
        "number-in-words": begin_phrases(
            _SPOKEN_LABELS, then=rf"(?:is|in|as|the|with|of|ends|ending)\Z|{_DIGIT_WORD}"
        ),
        "digits-in-words": begin_phrases(_DIGIT_WORDS, then=_DIGIT_WORD),
        "number-of-site": [Anchor(r"site\Z", behind=SPACES)],
        "person-of-number": begin_phrases(_RELATED, then=r"(?:of|for|from)\Z"),
        "number-as-person": [Anchor(r"[A-Z]{0,4}\d{3,7}\Z"), Anchor(r"[A-Z]{1,4}\Z", behind="-", cased=True)],
        "code-of-person": [
            Anchor(r"[A-Z]{1,4}\Z", behind="-", cased=True, next=r"\d{3,7}\Z"),
            Anchor(r"\d{2,4}\Z", behind="-", next=r"(?-i:[A-Z]{1,2}(?:\d{2,4})?\Z)"),
            Anchor(r"[A-Z]{2}\d{2}\Z|[A-Z]\d{1,3}\Z", behind=".-", cased=True, next=r"\d{3}|[A-Z]\d"),
            Anchor(r"\d{2}\Z", behind="-", next=r"0\d{3}"),
            Anchor(r"[A-Z]\d{1,2}\Z", behind="/", cased=True, next=r"0\d{2}"),
            Anchor(r"0\d{2,4}\Z", behind="-/", next=r"0\d{2,5}\Z"),
        ],
        "number-as-clause": [
            Anchor(
                rf"{_CONJUNCTIONS}\Z",
                behind=SPACES,
                next=r"[A-Z]{0,3}\d{3}",
            )
        ],
        "numbers-as-persons": [
            Anchor(r"(?:both|either|neither)\Z", behind=SPACES, next=r"[A-Z]{0,3}\d|[A-Z]{1,3}\Z")
        ],
        "number-of-person-on": [
            Anchor(
                r"(?:patient|subject|participant|volunteer|donor|screening|randomi[sz]ation)\Z",
                behind=f"{SPACES}'’",
                next=r"(?:s|ids?|nos?|numbers?|codes?)\Z",
            )
        ],
        "number-glued-to-label": [
            Anchor(r"(?:SCR|SUBJ|PAT|RAND|Scr|Subj|Pat|Pt|Rand|Rm|RM|Zi)\d{2}", cased=True)
        ],
        "person-in-room": [
            Anchor(
                rf"{_PERSONS_IN_ROOMS}\Z",
                behind=SPACES,
                next=r"in\Z",
            )
        ],
        "degrees-before-axis": [within(r"(?:latitude|longitude|lat|long|lon|lng)\Z", before=f"{SPACES}°")],
        "swiss-grid": [Anchor(r"\d\Z", behind="'’", next=r"\d{3}\Z")],
        "number-in-two": [Anchor(r"(?:rand|scr|subj?|pt|pat)\Z", behind=".")],
        "digits-spaced": [Anchor(r"[A-Z\d]\Z", behind=" ", cased=True, next=r"[A-Z\d]\Z")],
        "room-with-slash": [
            Anchor(
                rf"{_ROOMS_WITH_SLASH}\Z",
                behind=f"{SPACES}.",
            )
        ],
        "room-with-point": [
            Anchor(
                rf"{_LIES}\Z",
                behind=SPACES,
                next=r"(?:in|to)\Z",
            )
        ],
        "room-in-quotes": [Anchor(rf"{_ROOMS_IN_QUOTES}\Z", behind=SPACES)],
        "room-with-name": [
            Anchor(
                r"(?:dorm|dormitory|ward|unit|pod|wing|block|hut|cabin|tent|villa|lodge|cottage|suite|room|bay|corridor|theatre|lounge)\Z",
                behind=SPACES,
            )
        ],
        "decimal-coordinates": [Anchor(r"\d{1,3}\Z", behind=".,", next=r"\d")],
        "coordinates-on-axes": [
            within(r"(?:north|south)\Z"),
            Anchor(r"(?:[NS]\d{0,3}|\d{1,10}[NS])\Z", begins=False, cased=True),
        ],
        "degrees-and-minutes": [
            within(r"\d{1,10}\Z", behind="°˚", next=r"\d"),
            within(r"\d{1,10}(?:deg|º)|º"),
            within(r"deg(?:rees)?\Z", next=r"\d"),
            within(r"\d{3,10}º?[NSEW]\Z", before=".,"),
            within(r"\d{3,10}\Z", before=".,", next=r"[nsew]\Z|\d"),
        ],
        "spelled-coordinates": begin_phrases(
            _NUMBER_WORDS, then=rf"(?:{any_of(_NUMBER_WORDS)}|and|degrees?)\Z"
        ),
        "after-map-label": begin_phrases(_MAP_LABELS),
        "grid-square": [
            Anchor(r"\d{1,2}[C-X]|[HNOST][A-Z]\d", cased=True),
            Anchor(r"[HNOST][A-Z]\Z", cased=True, next=r"\d"),
        ],
        "plus-code": [Anchor(rf"[{_OPEN}]{{4,8}}\Z", behind="+")],
        "three-words": [within(ANY_WORD, before=".", behind=".")],
        "place-in-address": [Anchor(r"(?:loc|ll|latlng|center|centre|daddr|saddr|geo|pos)\Z", behind="=")],
        "geo-address": [Anchor(r"geo\Z", behind=":")],
        "plate-after-label": begin_phrases(_PLATE_LABELS),
        "plate-of-vehicle": begin_phrases(_VEHICLES),
        "plate-by-shape": [
            Anchor(r"[A-ZÄÖÜ]{1,3}\Z", behind=f"{SPACES}-•·", cased=True),
            Anchor(r"\d{1,2}\Z", behind="-", next=r"[A-Z]{2,3}\Z"),
            Anchor(r"[A-Z]{1,2}\d|\d[A-Z]{3}\d{3}|[一-鿿]", cased=True),
        ],
        "number-of-room": begin_phrases(_ROOMS, then=_NUMBER_OF_ROOM),
        "number-of-floor": [
            *begin_phrases(_FLOORS, then=_NUMBER_OF_ROOM),
            Anchor(r"(?:on|at|to|in|from|of)\Z", next=rf"the\Z|{_FIRST_OF_FLOORS}"),
        ],
        "floor-of-house": [
            Anchor(
                rf"{_ORDINALS_OF_FLOORS}\Z",
                behind=SPACES,
                next=r"(?:floor|deck|storey|story)\Z",
            ),
            Anchor(r"R\d{2,4}\Z", behind="/"),
        ],
        "letter-of-room": [
            Anchor(
                rf"{_ROOMS_WITH_LETTER}\Z",
                behind=SPACES,
            )
        ],
        "room-before-word": [
            Anchor(r"[A-Z]?\d{1,4}[A-Z]?\Z", cased=True, next=r"(?:room|ward|bed|bay|rm)\Z")
        ],
        "trailer-lot": [
            Anchor(
                r"(?:liv(?:es?|ed|ing)|stay(?:s|ed|ing)?|home|parked|camp(?:s|ed|ing)?|lot|plot|space|site|pitch|stand|house|trailer|caravan|tent|hut|cabin|shed|land|mobile|camper|built|bungalow)\Z",
                behind=SPACES,
            )
        ],
        "lot-to-park": [
            Anchor(
                r"(?:parking|cars?|auction|camping|building|vacant|corner|empty|parked|van|truck|bike|left|towed|fell|collapsed|found|hit|walking)\Z",
                behind=SPACES,
            )
        ],
        "lot-of-other-number": [Anchor(r"(?:lot|batch)(?:es|s)?\Z")],
        "lot-of-person": [Anchor(r"(?:lot|batch)\Z", behind=SPACES)],
        "person-after-lot": [Anchor(r"(?:lot|batch)\Z")],
        "person-beside-lot": [Anchor(r"(?:lot|batch)\Z")],
        "labelled-by-no": [within(r"(?:no|nr|num|n)\Z", behind=".°º")],
        "person-and-number": [
            Anchor(
                r"(?:cases?|infant|baby|neonate|newborn|control|carrier|proband|contact|visit|page|diary|bloods|samples)\Z",
                behind=SPACES,
            ),
        ],
        "coded-person": [
            Anchor(r"sub\Z", behind="-"),
            Anchor(r"0\d{1,4}\Z", behind="-"),
        ],
        "number-with-zero": [Anchor(r"0\d{2,6}\Z")],
        "identity-by-shape": [
            Anchor(r"[A-Z]{2}(?:\d{2}|\Z)|\d{6}(?:A\w{4}\Z|\Z)|\d{8}[A-Z]?\Z|[A-Z]{4}\d{6}", cased=True)
        ],
        "grid-letters": [Anchor(r"grid\Z", behind=SPACES)],
        "nautical-position": [Anchor(r"\d{4,5}\Z", behind=".")],
        "spelled-code": [Anchor(r"[A-Z]\Z", behind=f"{SPACES},-", cased=True)],
        "letters-with-commas": [Anchor(r"[A-Z]\Z", behind=",", cased=True)],
        "letter-as-in": [Anchor(r"[A-Z]\Z", behind=f"{SPACES},", cased=True)],
        "callsign": [Anchor(r"(?:call|callsign|unit)\Z")],
        "floor-at-start": begin_phrases("floor corridor tower gate hall lodge stall plot pitch deck level"),
        "operating-room": [Anchor(r"(?:OR|ER|ED|OT)(?:\d{1,2})?\Z", cased=True)],
    }
)

_ID, _PLACE = frozenset({HyperClass.ID}), frozenset({HyperClass.PLACE})
_MAPS = """person-in-room degrees-before-axis swiss-grid decimal-coordinates coordinates-on-axes degrees-and-minutes spelled-coordinates after-map-label grid-square plus-code
    three-words geo-address place-in-address floor-of-house number-of-room room-with-slash room-with-point room-with-name room-in-quotes number-of-floor letter-of-room room-before-word trailer-lot lot-to-park grid-letters floor-at-start operating-room nautical-position"""
_NUMBERS = """number-glued-to-label number-as-clause numbers-as-persons number-of-person-on number-in-two digits-spaced number-after-label number-after-weak-label lot-of-other-number number-of-person person-as-number number-that-owns plain-number number-in-words digits-in-words number-of-site person-of-number number-as-person
    code-of-person plate-after-label plate-of-vehicle plate-by-shape labelled-by-no number-with-zero person-and-number coded-person identity-by-shape spelled-code letters-with-commas letter-as-in callsign"""
LIFTED_BY: Mapping[str, frozenset[HyperClass]] = MappingProxyType(
    {**dict.fromkeys(_MAPS.split(), _PLACE), **dict.fromkeys(_NUMBERS.split(), _ID)}
)
"""The classes that a user must keep, all of them, before a pattern loses its force."""
