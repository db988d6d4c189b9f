"""Invented texts whose identifiers are encoded, interrupted or written otherwise than plainly.

Two sets with other names, templates and seeds: rules are written against DEVELOPMENT and HELD_OUT says
how well they do on what nobody looked at. Each text marks its identifiers, so that recall by kind follows.
"""

from __future__ import annotations

import base64
import quopri
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote


@dataclass(frozen=True)
class DisguisedText:
    """A text of one kind and the half-open ranges of its identifiers."""

    kind: str
    text: str = field(repr=False)
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Material:
    """What the texts of one set are made of; `{}` in a template is where the identifier stands."""

    seed: int
    names: Sequence[str]
    accented: Sequence[str]
    words_as_names: Sequence[str]
    templates: Sequence[str]
    titled: Sequence[str]
    possessives: Sequence[str]
    initials: Sequence[str]
    word_initials: Sequence[str]
    glued: Sequence[str]
    ages: Sequence[str]
    handles: Sequence[str]
    before: str
    behind: str


def _split(words: str) -> list[str]:
    return words.split()


DEVELOPMENT = Material(
    seed=27,
    names=_split(
        "Okonkwo Smith Petrovic Nguyen Abernathy Kowalczyk Hernandez Yamamoto Lindqvist Oyelaran Papadakis "
        "Fitzgerald Rahman Chaudhary Vandenberg Takahashi Mbeki Schneider Rossi Dubois Jankowska Ferreira "
        "Macdonald Adeyemi Krishnan Thornbury Ivanova Haddad Osterman Quispe Margaret Gloria Tobias Ingrid "
        "Chipo Dmitri Fatima Rajesh Soledad Winifred"
    ),
    accented=_split(
        "José Núñez Müller Åkesson Gonçalves Jiménez Šimić Dvořák Élodie Björk Nguyễn Żółkowski Lévesque "
        "Peña Çelik Håkansson"
    ),
    words_as_names=_split(
        "Will Grace Mark Hope Rose Bill Faith Drew Chase Frank Art Dawn Ivy Pearl Ruby Olive Summer "
        "Miles Grant Dean Heather Holly Nick Ward Wade Stone Price Banks Bishop Cook"
    ),
    templates=(
        "The patient, {}, developed a rash two hours after the second dose.",
        "{} was given ibuprofen 400 mg and felt dizzy.",
        "We spoke with {} about the headache and the nausea.",
        "The report was sent by {} after the infusion had been stopped.",
        "According to {} the swelling resolved without treatment.",
        "Reporter {} states that the fever lasted for three days.",
        "Seen by {} in the clinic, no new symptoms.",
        "Her husband {} drove her home, where she vomited twice.",
    ),
    titled=(
        "Mr. {Name} had chest pain. Later {name} was given aspirin and {name} felt better.",
        "Dr. {Name} saw the patient. The next day {name} called and said that the rash was gone.",
        "Mrs. {Name} reported hives. On follow-up {name} reported no itching.",
        "Ms. {Name} started warfarin. The wife of {name} noticed bruises. Since then {name} has stopped it.",
    ),
    possessives=(
        "{}'s rash was gone after the second dose.",
        "The nurse looked at {}'s arm, which was swollen.",
        "On the next day {}’s fever was higher.",
        "We recorded {}'s blood pressure twice.",
    ),
    initials=(
        "The patient (initials {}) recovered.",
        "Patient initials: {}, female, with nausea.",
        "The initials of the patient are {} and she had hives.",
        "Patient {} reported nausea after the vaccine.",
        "A report was received about a patient ({}) who had a seizure.",
    ),
    word_initials=_split("TO IT AM AN AS AT BY ME MY OF ON SO UP US WE GO T.O. I.T. A.M. M.E. IS HE"),
    glued=(
        "reporter{}",
        "Patient{}",
        "patient{}",
        "dr{}",
        "Dr{}",
        "Mr{}",
        "Mrs{}",
        "nurse{}",
        "{}MD",
        "name{}",
        "mother{}",
    ),
    ages=(
        "A [[nonagenarian]] with a history of stroke had a rash.",
        "The [[centenarian]] was given the vaccine and felt well.",
        "She is [[ninety]]-[[two]] years old and has asthma.",
        "He was [[XCII]] years old when the fever began.",
        "The patient, aged [[XCIV]], had dizziness.",
        "A [[ninety]] [[seven]] year old woman had nausea.",
        "A man of [[one]] [[hundred]] and [[one]] years fell after the dose.",
        "Two [[nonagenarians]] and a [[supercentenarian]] had no reaction.",
        "The lady is in her [[nineties]] and takes warfarin.",
        "A [[ninety]]-[[nine]]-year-old man with gout.",
        "The patient was aged [[ninety]] [[five]] and confused.",
        "She turned [[ninety]]-[[one]] before the second dose.",
    ),
    handles=(
        "Contact by gmail: [[{n}john]], no other symptoms.",
        "Reach her on insta @[[{n}]] for the follow up.",
        "Instagram: [[{n}_{m}]] told us about the rash.",
        "The message came from [[192]][.][[168]][.][[1]][.][[77]] in the night.",
        "Write to [[{n}]](at)[[mail]](dot)[[com]] about the fever.",
        "Write to [[{n}]] at [[gmail]] dot [[com]] about the fever.",
        "Mail: [[{n}]][at][[hollybrook]][dot][[org]], nausea.",
        "Skype [[{n}.{m}]] for the interview about the seizure.",
        "See hxxp://[[{n}]][.][[example]]/[[rash]] for the pictures.",
        "WhatsApp: [[{n}{m}]], she had hives.",
        "Her twitter is @[[{n}]], where she wrote of the swelling.",
        "facebook.com/[[{n}.{m}]] has the photograph of the rash.",
        "Username: [[{n}]], she had a headache.",
        "e-mail [[{n}]] @ [[hotmail]] . [[com]] and nausea",
    ),
    before="A report was received from a consumer about an adverse event after a vaccine. The patient had a "
    "history of asthma and hypertension and took lisinopril 10 mg daily. No other drug was given on that day. "
    "About two hours after the injection the arm became red, warm and swollen, and the patient had chills. ",
    behind=" Paracetamol was taken twice and the swelling resolved within two days. The blood pressure was 120/80 "
    "and the heart rate was normal. The physician considered the event as not serious and possibly related to "
    "the vaccine. No further information is available, and the batch number was not given.",
)

HELD_OUT = Material(
    seed=72,
    names=_split(
        "Achterberg Bhattacharya Castellano Doumbia Eriksen Faulkner Gutierrez Hashimoto Iwasaki Jovanovic "
        "Kaminski Leclerc Mwangi Novotny Ogunleye Pemberton Qureshi Reinhardt Santoro Tanaka Underwood Villanueva "
        "Wickramasinghe Xiong Yilmaz Zimmerman Blumenthal Carrington Johnson Patel Charlotte Emmanuel Giovanni Harriet "
        "Kwame Ludmila Priscilla Santiago Yolanda Zachary"
    ),
    accented=_split(
        "André Muñoz Köhler Ångström Araújo Fernández Đorđević Čapek Zoë Sørensen Phạm Wałęsa Côté "
        "Ibáñez Gökçe Lindström"
    ),
    words_as_names=_split(
        "May Joy June Mike Lance Gene Jean Rusty Clay Cliff Reed Forrest Ginger Daisy Jade Amber "
        "Crystal Autumn Sage Penny Brook Robin Jay Glen Hunter Porter Mason Page Marsh Lane"
    ),
    templates=(
        "It was {} who noticed the hives on the morning after the vaccine.",
        "This case was reported by {} and concerns an elderly woman with syncope.",
        "After amoxicillin {} had severe diarrhea and was admitted.",
        "Her daughter {} called the hospital because of the vomiting.",
        "I gave {} paracetamol and the pain went away.",
        "Follow-up with {} showed normal liver function.",
        "Name: {}. Complaint: cough and fatigue.",
        "The consumer {} had taken the tablets without food, then fainted.",
    ),
    titled=(
        "Mrs. {Name} was admitted with syncope. Overnight {name} vomited and {name} needed fluids.",
        "Mr. {Name} received the vaccine. After an hour {name} developed hives.",
        "The patient was referred by Dr. {Name}. A week later {name} stated that she had recovered.",
        "Miss {Name} took one tablet. The mother of {name} called. When {name} was seen, the cough had gone.",
    ),
    possessives=(
        "The doctor said that {}'s liver tests were normal.",
        "{}'s symptoms began in the evening.",
        "It was {}’s second seizure.",
        "I think {}'s headache came from the tablets.",
    ),
    initials=(
        "Initials {} were given for the subject, who fainted.",
        "The subject (initials: {}) had diarrhea.",
        "Subject {} had a cough for a week.",
        "Pt initials {}, nausea and vomiting.",
        "The reporter gave the patient's initials as {} and no birth date.",
    ),
    word_initials=_split("TO IT AM BE DO HE IF IN NO OR WE UP SO MY AS A.S. O.N. B.Y. U.S. AN AT OX"),
    glued=(
        "Reporter{}",
        "doctor{}",
        "Doctor{}",
        "physician{}",
        "Pt{}",
        "Miss{}",
        "wife{}",
        "{}RN",
        "consumer{}",
        "Name{}",
    ),
    ages=(
        "This [[nonagenarian]] took one tablet and vomited.",
        "Hives in a [[centenarian]] after amoxicillin.",
        "The woman was [[ninety]]-[[four]] years of age.",
        "A [[ninety]]-[[six]] year old man had a cough.",
        "Aged [[XCVI]], she had a fall after the tablets.",
        "At [[XCIX]] years she had her first seizure.",
        "He is [[ninety]] [[eight]] y/o and has fatigue.",
        "She was [[one]] [[hundred]] and [[three]] years old at the time.",
        "The [[nonagenarian]]'s cough went away.",
        "His mother, in her [[nineties]], had the same rash.",
        "Age: [[ninety]]-[[three]]. Complaint: dizziness.",
        "At the age of [[ninety]] [[two]] he fainted.",
    ),
    handles=(
        "Her gmail is [[{n}{m}]] and she had diarrhea.",
        "Send the form to [[{n}]] [at] [[clinic]] [dot] [[org]] today.",
        "The tablet was ordered from [[10]][.][[0]][.][[44]][.][[9]] at night.",
        "Follow her on instagram ([[{n}{m}]]), she wrote about the hives.",
        "telegram @[[{n}{m}]] says she vomited.",
        "Yahoo: [[{n}.{m}]], cough for a week.",
        "linkedin.com/in/[[{n}-{m}]] is the reporter's page.",
        "Contact [[{n}]].[[{m}]] (at) [[outlook]] (dot) [[com]] about the syncope.",
        "Mail to [[{n}]] AT [[mail]] DOT [[net]], she had fainted.",
        "server [[172]](.)[[16]](.)[[4]](.)[[20]] sent the report",
        "hxxps://[[{n}]][.][[com]] shows the hives.",
        "login [[{n}]] was used for the report of the seizure.",
        "tiktok: @[[{n}{m}]] posted the swelling.",
        "signal/whatsapp user [[{n}{m}]] had nausea",
    ),
    before="This spontaneous report concerns an adult with a history of migraine and type 2 diabetes. Metformin 500 "
    "mg was taken twice a day and there were no known allergies. The first tablet of the new drug was taken in "
    "the evening with a glass of water. During the night the patient had abdominal pain and did not sleep. ",
    behind=" Laboratory tests showed a mild increase of liver enzymes and a normal white cell count. The drug was "
    "withdrawn and all symptoms disappeared within one week. Rechallenge was not done. The outcome was reported "
    "as recovered, and the causality was assessed as probable by the company.",
)

_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u180e\u034f"
_BIDI = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_COMBINING = "\u0300\u0301\u0308\u0323\u0331\u0336\u0338\u20d2"
_LEET = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7"}


def _inserted(rng: random.Random, name: str, pieces: Callable[[], str]) -> str:
    """The name with something between some of its letters, at least once."""
    cuts = set(rng.sample(range(1, len(name)), rng.randint(1, min(3, len(name) - 1))))
    return "".join((pieces() if i in cuts else "") + letter for i, letter in enumerate(name))


def _some_letters(rng: random.Random, name: str, encode: Callable[[str], str]) -> str:
    """The name with all, or some, of its letters encoded."""
    if rng.random() < 0.25:
        return "".join(map(encode, name))
    chosen = set(rng.sample(range(len(name)), rng.randint(1, len(name) - 1)))
    return "".join(encode(letter) if i in chosen else letter for i, letter in enumerate(name))


def _tagged(rng: random.Random, name: str) -> str:
    first, last = sorted(rng.sample(range(len(name) + 1), 2))
    if last - first == len(name):
        last -= 1
    tag = rng.choice(["b", "i", "em", "u", "strong", "font", "mark"])
    if tag == "font" or rng.random() < 0.2:
        return f'{name[:first]}<{tag} class="x">{name[first:last]}</{tag}>{name[last:]}'
    if rng.random() < 0.2:
        return f"{name[: first + 1]}{rng.choice(['<wbr>', '<!-- x -->', '<br/>'])}{name[first + 1 :]}"
    return f"{name[:first]}<{tag}>{name[first:last]}</{tag}>{name[last:]}"


def _quoted_printable(rng: random.Random, name: str) -> str:
    if rng.random() < 0.2:
        cut = rng.randint(2, len(name) - 2) if len(name) > 4 else 2
        return f"{name[:cut]}=\n{name[cut:]}"
    return _some_letters(rng, name, lambda letter: f"={ord(letter):02X}")


def _leet(rng: random.Random, name: str) -> str:
    places = [i for i, letter in enumerate(name.lower()) if letter in _LEET]
    chosen = {i for i in places if rng.random() < 0.7} or set(places[:1])
    return "".join(rng.choice(_LEET[c.lower()]) if i in chosen else c for i, c in enumerate(name))


def _escaped(rng: random.Random, name: str) -> str:
    form = rng.choice(["\\u{:04x}", "\\x{:02x}", "\\u{{{:x}}}"])
    return _some_letters(rng, name, lambda letter: form.format(ord(letter)))


def _mime(rng: random.Random, name: str) -> str:
    raw = name.encode()
    if rng.random() < 0.5:
        return f"=?UTF-8?B?{base64.b64encode(raw).decode()}?="
    return f"=?utf-8?Q?{quopri.encodestring(raw, header=True).decode()}?="


def _base64(rng: random.Random, name: str) -> str:
    return base64.b64encode(f"{name} {rng.choice(['Ann', 'Li', 'K.'])}".encode()).decode()


_ENTITIES = {
    "é": "eacute", "ú": "uacute", "ñ": "ntilde", "ü": "uuml", "Å": "Aring", "å": "aring", "ç": "ccedil", "á": "aacute",
    "Š": "Scaron", "ć": "cacute", "ř": "rcaron", "É": "Eacute", "ö": "ouml", "í": "iacute", "Ż": "Zdot", "ó": "oacute",
    "ł": "lstrok", "Ç": "Ccedil", "Đ": "Dstrok", "đ": "dstrok", "Č": "Ccaron", "ë": "euml", "ø": "oslash", "ô": "ocirc",
    "ğ": "gbreve", "ę": "eogon", "è": "egrave",
}  # fmt: skip


def _named_entities(rng: random.Random, name: str) -> str:
    return "".join(
        f"&{_ENTITIES[c]};" if c in _ENTITIES else c if c.isascii() else f"&#{ord(c)};" for c in name
    )


Write = Callable[[random.Random, str], str]
NAME_KINDS: dict[str, Write] = {
    "zero-width": lambda rng, name: _inserted(rng, name, lambda: rng.choice(_INVISIBLE)),
    "bidi": lambda rng, name: _inserted(rng, name, lambda: rng.choice(_BIDI)),
    "soft-hyphen": lambda rng, name: _inserted(rng, name, lambda: "\u00ad"),
    "combining-marks": lambda rng, name: _inserted(rng, name, lambda: rng.choice(_COMBINING)),
    "entity": lambda rng, name: _some_letters(
        rng, name, lambda letter: rng.choice(["&#{};", "&#x{:x};", "&#0{};"]).format(ord(letter))
    ),
    "invisible-entity": lambda rng, name: _inserted(
        rng, name, lambda: rng.choice(["&shy;", "&zwj;", "&zwnj;", "&#8203;", "&#xAD;", "&ZeroWidthSpace;"])
    ),
    "tag": _tagged,
    "percent": lambda rng, name: _some_letters(rng, name, lambda letter: f"%{ord(letter):02X}"),
    "quoted-printable": _quoted_printable,
    "escape": _escaped,
    "mime-word": _mime,
    "base64": _base64,
    "hex": lambda rng, name: name.encode().hex(),
    "leet": _leet,
    "parted-by-space": lambda rng, name: " ".join(name),
    "parted-by-two-spaces": lambda rng, name: "  ".join(name),
    "parted-by-line": lambda rng, name: "\n".join(name),
    "parted-by-slash": lambda rng, name: "/".join(name),
    "parted-by-dot": lambda rng, name: rng.choice([".", ". "]).join(name),
    "parted-by-comma": lambda rng, name: rng.choice([",", ", "]).join(name),
    "parted-by-sign": lambda rng, name: rng.choice(["-", "_", "*", "|", "+", "~", "\\", ":", "·", " - ", "'"]).join(name),
}  # fmt: skip
"""How a name is written, by kind."""
ACCENTED_KINDS: dict[str, Write] = {
    "decomposed": lambda rng, name: unicodedata.normalize("NFD", name),
    "named-entity": _named_entities,
    "percent-utf8": lambda rng, name: quote(name),
    "quoted-printable-utf8": lambda rng, name: quopri.encodestring(name.encode()).decode(),
}


def _marked(kind: str, marked: str) -> DisguisedText:
    """A text whose identifiers stand in [[ ]]."""
    text, ranges = "", []
    for i, piece in enumerate(marked.replace("]]", "[[").split("[[")):
        if i % 2:
            ranges.append((len(text), len(text) + len(piece)))
        text += piece
    return DisguisedText(kind, text, tuple(ranges))


def _embedded(material: Material, rng: random.Random, sentence: str) -> str:
    """About every second sentence inside a longer narrative."""
    return f"{material.before}{sentence}{material.behind}" if rng.random() < 0.5 else sentence


def _sentences(material: Material, rng: random.Random) -> Iterator[tuple[str, str]]:
    for kind, write in NAME_KINDS.items():
        for i, name in enumerate(material.names):
            yield kind, material.templates[i % len(material.templates)].format(f"[[{write(rng, name)}]]")
    for kind, write in ACCENTED_KINDS.items():
        for name in material.accented * 2:
            yield kind, rng.choice(material.templates).format(f"[[{write(rng, name)}]]")
    for name in (*material.names, *material.words_as_names):
        template = rng.choice(material.titled)
        yield "titled-in-lower-case", template.format(Name=f"[[{name}]]", name=f"[[{name.lower()}]]")
        yield "possessive", rng.choice(material.possessives).format(f"[[{name}]]")
    for initials in material.word_initials * 2:
        yield "word-initials", rng.choice(material.initials).format(f"[[{initials}]]")
    for name in material.names:
        glued = rng.choice(material.glued).format(name)
        yield "glued", rng.choice(material.templates).format(f"[[{glued}]]")
    for age in material.ages * 3:
        yield "age-in-words", age
    for handle in material.handles * 3:
        first, second = rng.sample(material.names, 2)
        yield "handle", handle.format(n=first.lower(), m=second.lower())


def disguised_texts(material: Material) -> list[DisguisedText]:
    """All texts of one set; the same ones each time."""
    rng = random.Random(material.seed)
    return [_marked(kind, _embedded(material, rng, text)) for kind, text in _sentences(material, rng)]
