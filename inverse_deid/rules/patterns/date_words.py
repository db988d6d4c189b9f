"""Words and phrases that tell a date: public days and events, seasons of schools, foreign months and weekdays.

A phrase is written with single spaces. `join_phrases` lets any gap, an apostrophe or a hyphen replace them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from inverse_deid.rules.patterns.anchors import Anchor, split_alternatives

FEASTS = """
new year|new years|hogmanay|epiphany|twelfth night|candlemas|groundhog day|burns night|valentine|valentines|
shrove tuesday|pancake day|mardi gras|fat tuesday|ash wednesday|mothering sunday|palm sunday|maundy thursday|
good friday|holy week|holy thursday|holy saturday|easter|eastertide|whitsun|whitsuntide|whit monday|whit sunday|pentecost|
ascension day|corpus christi|midsummer|michaelmas|martinmas|lammas|halloween|hallowe en|all saints|all souls|
bonfire night|guy fawkes|fireworks night|thanksgiving|black friday|cyber monday|giving tuesday|small business saturday|
christmas|xmas|x mas|yuletide|noel|boxing day|christmastide|plough monday|lady day|twelfthtide|
may day|may bank|mothers? day|fathers? day|grandparents day|womens day|childrens day|teachers day|nurses day|
april fools?|fools day|earth day|arbor day|pi day|star wars day|flag day|patriot day|
independence day|republic day|national day|constitution day|liberation day|victory day|unity day|revolution day|
bastille day|canada day|victoria day|australia day|anzac day|waitangi day|labou?r day|memorial day|veterans day|
armistice day|remembrance day|remembrance sunday|poppy day|presidents day|mlk day|martin luther king day|columbus day|
indigenous peoples day|juneteenth|kwanzaa|cinco de mayo|day of the dead|dia de los muertos|family day|civic holiday|
fourth of july|4th of july|july 4th|st\\.? patricks? day|saint patricks? day|paddys? day|st\\.? davids? day|
st\\.? georges? day|st\\.? andrews? day|st\\.? nicholas|saint nicholas|st\\.? stephens day|st\\.? johns day|
kings? day|queens? birthday|koningsdag|koninginnedag|sinterklaas|walpurgis|fasching|fastnacht|rosenmontag|karneval|
carnaval|oktoberfest|santa lucia|st\\.? lucys? day|ferragosto|semana santa|navidad|nochebuena|nochevieja|reyes magos|pascua|
natale|pasqua|pasquetta|capodanno|befana|páscoa|noël|pâques|pentecôte|toussaint|weihnachten|weihnachtsfeiertag|
heiligabend|silvester|neujahr|ostern|ostermontag|ostersonntag|karfreitag|pfingsten|pfingstmontag|fronleichnam|
christi himmelfahrt|jul|julafton|nyårsafton|påsk|påske|midsommar|kerst|kerstmis|pasen|pinksteren|hemelvaart|
oudejaarsavond|boże narodzenie|wielkanoc|wigilia|sylwester|joulu|juhannus|vappu|pääsiäinen|karácsony|húsvét|vánoce|velikonoce|
crăciun|paște|noel bayramı|kurban bayramı|ramazan|
ramadh?an|ramzan|eid|eid al fitr|eid ul fitr|eid al adha|eid ul adha|bakrid|muharram|ashura|mawlid|milad un nabi|laylat al qadr|
hajj|shab e barat|diwali|deepavali|navratri|navaratri|dussehra|dasara|vijayadashami|durga puja|ganesh chaturthi|ganesha chaturthi|
raksha bandhan|rakhi|krishna janmashtami|janmashtami|maha shivaratri|shivaratri|pongal|makar sankranti|vaisakhi|baisakhi|lohri|
ugadi|gudi padwa|onam|vishu|chhath|karva chauth|guru nanak jayanti|gurpurab|dhanteras|bhai dooj|
vesak|wesak|visakha|buddha day|buddhas birthday|songkran|loy krathong|losar|thingyan|pchum ben|dashain|tihar|
chinese new year|lunar new year|spring festival|lantern festival|qingming|tomb sweeping|dragon boat|mid autumn festival|
moon festival|double ninth|singles day|golden week|obon|shichi go san|hinamatsuri|tanabata|setsubun|chuseok|seollal|tết|
nowruz|norooz|newroz|nauroz|naw ruz|sizdah bedar|yalda|purim|passover|pesach|shavuot|tisha b av|rosh hashanah?|yom kippur|
sukkot|simchat torah|hanukkah|chanukah|hanukah|tu bishvat|lag baomer|yom haatzmaut|timkat|meskel|enkutatash|mashujaa day|
jamhuri day|heritage day|freedom day|youth day|samhain|beltane|imbolc|lughnasadh|yule|bank holiday|public holiday|
solstice|equinox|leap day|leap year day|leap year|y2k|millennium (?:eve|night|bug)|turn of the (?:millennium|century|year)
"""
"""Days of the year, and the rest of what every year has."""

CASED_FEASTS = "Lent|Advent|Tet|Holi|Carnival|Ridvan|Bairam|Bayram|Lohri|Vishu|Pasch|DST"
"""Written in lower case these are other words."""

EVENTS = """
clocks? (?:went|go|going|were|was|are|had|have|turned|changed?|changing|moved|moves|sprang|spring|fell|fall|put)(?: (?:gone|going|been|put|turned|moved|set))?
(?: (?:back|forwards?|ahead|an hour|one hour))*|
daylight savings?(?: time)?|summer time (?:began|begins|started|starts|ended|ends|change)|winter time (?:began|begins|started|starts|ended|ends|change)|
(?:time|hour) change (?:weekend|sunday|night|day)|(?:change|switch) to (?:summer|winter|standard|daylight) time|
(?:polling|election|referendum|census|inauguration|coronation|budget|results?|graduation|prom|derby|race|match|cup final|marathon|jubilee|
sports|speech|open|independence|independance|sentencing|draft|deadline|tax|moving|snow|exam|ski|gcse|sats|parade|fireworks) (?:day|night|eve|weekend|sunday)|
(?:gcse|sats|exam|baccalaureate|abitur) results?(?: day)?|
(?:general|presidential|local|federal|state|midterm|mid term|european|snap|parliamentary) elections?|
(?:brexit|independence|eu|scottish|marriage) (?:day|vote|referendum|night)|brexit|
(?:solar|lunar|total|partial|annular) eclipse|eclipse(?: (?:day|night))?|
(?:full|blue|harvest|blood|super|hunter s|strawberry|wolf) ?moon(?! (?:face|faces|facies))|night of the new moon|
super ?bowl|world cup|euros? (?:2\\d\\d\\d|final|20\\d\\d)|champions league|cup final|fa cup|grand final|grand national|melbourne cup|ashes test|
stanley cup|nba finals?|world series|super sunday|six nations|rugby world cup|ryder cup|masters sunday|kentucky derby|royal ascot|
(?:boston|london|new york|berlin|chicago|tokyo|paris) marathon|tour de france|giro d italia|wimbledon|roland garros|olympics?|olympic games|
paralympics?|commonwealth games|asian games|asian cup|copa america|opening ceremony|closing ceremony|eurovision|
oscars?(?: night)|academy awards|grammys?|met gala|live aid|woodstock|coachella|glastonbury|burning man|lollapalooza|notting hill carnival|
royal wedding|state funeral|(?:queen|king|pope|president|princess)(?: s)? (?:funeral|wedding|visit|death|coronation|jubilee|inauguration)|
(?:queen s|king s|diana s|thatcher s|churchill s|kennedy s|elvis s|mandela s) (?:funeral|death|assassination|coronation)|
(?:platinum|diamond|golden|silver) jubilee|coronation|inauguration|
moon landing|fall of the (?:berlin )?wall|berlin wall fell|nine eleven|boxing day tsunami|chernobyl|fukushima|
(?:first|second|third|national|covid|corona|spring|winter|last) lockdown|lockdown (?:began|started|ended|one|two|three|[1-3])|
jubilee weekend|state opening|trooping the colou?r|ides of march|ides
"""
"""Events of which everybody can look the day up."""

TERMS = """
half term|(?:michaelmas|hilary|trinity|lent|easter|autumn|spring|summer|fall|winter|midsummer|term) (?:term|semester|break|holidays?|vacation|recess|
half term|bank holiday|quarter|trimester|hols)|term (?:began|started|ended|begins|starts|ends)|(?:school|university|college) (?:holidays?|vacation|break)|
fresher s? week|freshers week|freshers|reading week|rag week|finals week|exam week|orientation week|homecoming|prom night|commencement day|
first day back|(?:first|last) day (?:of|back at|at) (?:the )?(?:school|term|semester|classes|kindergarten|college|nursery|year|holidays?)|
summer camp|ski week|schoolies|sports day|speech day
"""
"""Parts of a year at school."""

MONTH_WORDS = """
januar|jänner|jaenner|februar|feber|märz|maerz|mai|juni|juli|august|oktober|dezember|
janvier|janv|février|fevrier|févr|fevr|mars|avril|juin|juillet|juil|août|aout|septembre|octobre|novembre|décembre|decembre|
enero|ene|febrero|marzo|abril|abr|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|dic|
gennaio|genn|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|
janeiro|fevereiro|março|marco|maio|junho|julho|setembro|outubro|novembro|dezembro|
januari|februari|maart|mrt|mei|augustus|maj|augusti|marts|marta|
styczeń|stycznia|styczen|luty|lutego|marzec|marca|kwiecień|kwietnia|kwiecien|maja|czerwiec|czerwca|lipiec|lipca|sierpień|
sierpnia|sierpien|wrzesień|września|wrzesnia|październik|października|pazdziernika|listopad|listopada|grudzień|grudnia|
leden|ledna|únor|února|březen|března|duben|dubna|květen|května|červen|června|červenec|července|srpen|srpna|září|říjen|října|
listopadu|prosinec|prosince|január|február|marec|apríl|máj|jún|júl|október|
január|február|március|április|május|június|július|augusztus|szeptember|október|november|december|
ianuarie|februarie|martie|aprilie|iunie|iulie|septembrie|octombrie|noiembrie|decembrie|
tammikuu\\w{0,3}|helmikuu\\w{0,3}|maaliskuu\\w{0,3}|huhtikuu\\w{0,3}|toukokuu\\w{0,3}|kesäkuu\\w{0,3}|heinäkuu\\w{0,3}|elokuu\\w{0,3}|
syyskuu\\w{0,3}|lokakuu\\w{0,3}|marraskuu\\w{0,3}|joulukuu\\w{0,3}|
ocak|şubat|subat|mart|nisan|mayıs|mayis|haziran|temmuz|ağustos|agustos|eylül|eylul|ekim|kasım|kasim|aralık|aralik|
siječnja|veljače|ožujka|travnja|svibnja|lipnja|srpnja|kolovoza|rujna|listopada|studenoga|prosinca|januara|februara|aprila|jula|avgusta|
septembra|oktobra|novembra|decembra|janvarya|yanvarya|fevralya|aprelya|iyunya|iyulya|avgusta|sentyabrya|oktyabrya|noyabrya|dekabrya|
maret|mei|juni|juli|agustus|desember|ogos|julai|jun|disember|
jaanuar|veebruar|märts|aprill|juuni|juuli|detsember|sausio|vasario|kovo|balandžio|gegužės|birželio|liepos|rugpjūčio|rugsėjo|spalio|
lapkričio|gruodžio|janvāris|februāris|aprīlis|maijs|jūnijs|jūlijs|augusts|oktobris|decembris|
thermidor|brumaire|germinal|floréal|prairial|messidor|fructidor|vendémiaire|frimaire|nivôse|pluviôse|ventôse|
muharram|safar|rabi al awwal|rajab|shaban|shawwal|dhu al hijjah|zilhaj|tishri|cheshvan|kislev|tevet|shevat|adar|nisan|iyar|sivan|
tammuz|elul|farvardin|ordibehesht|khordad|mordad|shahrivar|aban|azar|bahman|esfand|
baisakh|jestha|asar|shrawan|bhadra|ashwin|kartik|mangsir|poush|magh|falgun|chaitra
"""
"""Months, other than in English; every one counts beside a number."""

CLEAR_MONTHS = """
januar|jänner|februar|märz|maerz|oktober|dezember|janvier|février|fevrier|avril|juillet|août|septembre|octobre|novembre|décembre|
enero|febrero|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|
luglio|settembre|ottobre|dicembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|januari|februari|maart|
augustus|augusti|juli|juni|stycznia|lutego|kwietnia|czerwca|lipca|sierpnia|września|października|listopada|grudnia|ocak|şubat|nisan|
mayıs|haziran|temmuz|ağustos|eylül|ekim|kasım|aralık|ianuarie|februarie|martie|aprilie|iunie|iulie|septembrie|octombrie|noiembrie|
decembrie|toukokuu|kesäkuu|heinäkuu|elokuu|agustus|desember|marzo|juin
"""
"""Months that are no other word where narratives are written in English."""

WEEKDAY_WORDS = """
montag|montags|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|
lunes|martes|miércoles|miercoles|jueves|viernes|sábado|sabado|domingo|lunedì|lunedi|martedì|martedi|mercoledì|mercoledi|giovedì|giovedi|
venerdì|venerdi|sabato|domenica|segunda feira|terça feira|terca feira|quarta feira|quinta feira|sexta feira|sexta|terça|
maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag|måndag|mandag|tisdag|tirsdag|onsdag|torsdag|fredag|lördag|lørdag|lordag|
söndag|søndag|sondag|poniedziałek|poniedzialek|wtorek|środa|środę|sroda|czwartek|piątek|piatek|sobota|sobotę|niedziela|niedzielę|
pondělí|pondeli|úterý|utery|středa|stredu|čtvrtek|pátek|patek|neděle|nedele|hétfő|kedd|szerda|csütörtök|péntek|szombat|vasárnap|
luni|marți|marti|miercuri|joi|vineri|sâmbătă|sambata|duminică|duminica|maanantai\\w{0,2}|tiistai\\w{0,2}|keskiviikko\\w{0,2}|torstai\\w{0,2}|
perjantai\\w{0,2}|lauantai\\w{0,2}|sunnuntai\\w{0,2}|pazartesi|salı|çarşamba|carsamba|perşembe|persembe|cumartesi|pazar günü|
ponedeljak|ponedjeljak|utorak|sreda|srijeda|četvrtak|cetvrtak|petak|subota|nedelja|nedjelja|ponedelnik|vtornik|chetverg|pyatnitsa|
subbota|voskresenye|senin|selasa|rabu|kamis|jumat|sabtu|minggu|isnin|khamis|jumaat|ahad|somvar|mangalvar|budhvar|guruvar|shukravar|
shanivar|ravivar|lunedag|samedag|getsuyoubi|doyoubi|nichiyoubi
"""
"""Weekdays, other than in English."""

ERAS = "reiwa|heisei|showa|shōwa|taisho|taishō|minguo|anno domini|anno hegirae|anno mundi"


_FIRST_WORD = re.compile(r"[^\W_]+")


def join_phrases(phrases: str) -> str:
    """Return a pattern of any of the phrases, longest first where one begins another.

    Example:
        >>> re.fullmatch(join_phrases("boxing day|valentines"), "Boxing-Day", re.IGNORECASE) is not None
        True
    """
    found = split_phrases(phrases)
    return "(?:" + "|".join(one.replace(" ", r"['’]?[\s-]{1,2}") for one in found) + ")"


def split_phrases(phrases: str) -> list[str]:
    """Return phrases that `|` separates outside of parentheses, longest first."""
    found = split_alternatives(phrases.strip().replace("\n", ""))
    return sorted(dict.fromkeys(filter(None, found)), key=len, reverse=True)


def first_words(phrases: str, *, begins: bool = True) -> list[Anchor]:
    r"""Return the anchors of phrases: the words that they begin with.

    Args:
        phrases: Separated by `|`.
        begins: See `Anchor`.

    Example:
        >>> found = first_words("the eclipse|super ?bowl|(?:solar|lunar) eclipse")
        >>> [(anchor.word, anchor.next) for anchor in found]
        [('(?:super)', ''), ('(?:lunar|solar|the)\\Z', 'eclipse')]
    """
    begun = set(_begin(split_phrases(phrases), ""))
    alone = {word for word, is_whole, following in begun if not following}
    followed = [one for one in begun if one[0] not in alone]
    nexts = "|".join(sorted({following for _, _, following in followed}))
    anchors = []
    for some, following in ((begun, ""), (followed, nexts)):
        for end in (r"\Z", ""):
            words = {
                word
                for word, is_whole, other in some
                if bool(other) == bool(following) and is_whole == bool(end)
            }
            if words:
                anchors.append(Anchor(rf"(?:{'|'.join(sorted(words))}){end}", begins=begins, next=following))
    return anchors


def _begin(phrases: Iterable[str], behind: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the first word of each phrase, or the alternatives that it begins with.

    Yields:
        The word, whether it is whole, and the beginning of the word that must follow, "" = none or any.
    """
    for phrase in phrases:
        if phrase.startswith("("):
            close = phrase.index(")")
            yield from _begin(split_phrases(phrase[3:close]), phrase[close + 1 :])
            continue
        word = _FIRST_WORD.match(phrase)
        if word is not None:
            rest = phrase[word.end() :] or behind
            is_whole = re.match(r"\Z|(?:\\\.\?)? (?!\?)", rest) is not None
            following = re.match(r"[^ ()|]*(?<!\() (?!\?)([^\W_]+)(\??)", rest)
            second = "" if following is None else following[1][: -1 if following[2] else None]
            yield (word.group()[:-1] if rest[:1] == "?" else word.group()), is_whole, second
