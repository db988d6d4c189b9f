"""What the generator is for: identifiers in many forms, beside safe words and numbers that look like them."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document
from inverse_deid.training.corpora import dates, templates
from inverse_deid.training.corpora.people import Person, load_name_pools, write_name
from inverse_deid.training.corpora.places import WORK_FORMS, draw_work
from inverse_deid.training.corpora.surrogates import hard_wrapped
from inverse_deid.training.corpora.synthetic import generate_documents
from inverse_deid.training.corpora.wordlists import words

N_DOCUMENTS = 1500
NAMES = (PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR)

IN_NAMES = {
    "accents": "[À-ɏḀ-ỿ]",
    "particles": r"(?i)\b(?:van|de|von|al|el|bin|dos|da|del|di|ap|st|abu)[ -]|\b[DO]['’]",
    "initials": r"^(?:[A-Z]\. ?){2,3}$",
    "nicknames": r'["(]\w+[")]',
    "lower case": "^[a-z]{5,}$",
    "capitals": "^[A-Z]{5,}$",
    "surname first": r"^\w+, \w+$",
    "glued": "^[A-Z][a-z]{2,}[A-Z][a-z]{2,}$",
    "two lines": r"\w\n\w",
    "parted by a hyphen": r"\w-\n\w",
    "double": r"^\w{3,}-\w{3,}$",
    "spelling alphabet": r"^Trauma \w+$",
}
IN_DATES = {
    "glued": r"\d\d?[A-Z]{3}\d{4}",
    "year first and glued": r"\d{4}[A-Z]{3}\d\d",
    "two-digit year": r"\d\d?/\d\d?/\d\d",
    "apostrophe": r"'\d\d",
    "iso": r"\d{4}-\d\d-\d\d",
    "roman month": r"\d\d?[./-][ivxIVX]+(?:[./-]\d+)?",
    "weekday": r"(?i)(?:mon|tues|wednes|thurs|fri|satur|sun)day\b.*\d",
    "misspelt": "|".join((*words("misspelt_months"), *words("misspelt_weekdays"))),
    "season": r"(?i)(?:spring|summer|autumn|winter)\b.*",
    "holiday": "(?i)(?:christmas|easter|diwali|eid|ramadan|thanksgiving|hanukkah|cny|halloween|xmas).*",
    "decade": r"(?:the |mid-|early )?(?:\d\d)?\d0s",
    "decade in words": r"(?:the |mid-)\w+ties",
    "in words": r"(?i).*\b(?:nineteen|twenty)[ -]\w+.*",
    "partial": r"(?:\?\?|XX|UN|--|__).*\d{4}",
    "range": r"\d\d?\.?\d?\d?\.?[-–]\d\d?.*",
    "en dash": ".*–.*",
    "two lines": r"\w+,?\n\w+",
    "quarter": r"Q[1-4][ /].*",
    "hijri": r".*\b1[34]\d\d ?(?:AH|H|A\.H\.)",
    "buddhist": r".*(?:BE|B\.E\.).*|.*[ /]25\d\d",
    "foreign": r"\d\d?\.? (?:de )?(?:" + "|".join(words("foreign_months")) + ").*",
}
IN_AGES = {
    "digits": r"\d\d",
    "words": "(?:thirty|forty|fifty|sixty)[ -](?:one|two|three|four|five|six|seven|eight|nine)",
    "over 89": r"9\d|10\d",
    "over 89 in words": "(?:ninety|(?:one|a) hundred).*",
    "months glued": r"\d\d?mo",
    "years and months": r"\d+y\d+m",
    "in twelfths": r"\d\d?/12",
    "half years": r"\d(?:½|[ -]1/2|\.5)",
    "decades": r"[2-9]0'?s",
    "decades in words": "(?:thir|for|fif|six|seven)ties",
    "about": r"\d0(?:ish|-odd)",
}
IN_PHONES = {
    "north america": r"\(?\d{3}\)?[ .-]?\d{3}[.-]\d{4}",
    "abroad": r"\+\d{2,3} .*",
    "double zero": r"00\d\d.*",
    "extension": r"(?i).*\b(?:ext|x)\.? ?\d+",
    "pager": r"(?:pager|bleep|beeper|pgr|pg) [\d-]+",
    "letters": "1-8[08][08]-[A-Z-]+",
}
IN_WORK = {
    "a job": "(?:teacher|nurse|farmer|welder|miner|baker|pastor|priest|plumber|courier|soldier|librarian)",
    "plain speech": r"(?:drive|teach|run|mend|fix|work|sell|keep|clean) .*",
    "third person": r"(?:drives|teaches|runs|mends|fixes|works|sells) .*",
    "a numbered bus": r"driv\w+ the \d+[A-Z]? (?:bus|tram)",
}
AROUND = {
    "34 F": (PhiType.AGE, r"\[\d\d\] F\b"),
    "F34": (PhiType.AGE, r"\bF\[\d\d\]"),
    "7 y/o": (PhiType.AGE, r"\[\d+\] y/o"),
    "six week needles": (
        PhiType.AGE,
        r"\[(?:six|eight|twelve)\] (?:week|month|wk)s? (?:needles|old|shots|check)",
    ),
    "glued to a title": (PhiType.DOCTOR, r"\bDr\[[A-Z]"),
    "possessive": (PhiType.PATIENT, r"\]'s "),
    "an address over lines": (PhiType.STREET, r"\],?\n\s*"),
}
SAFE = {
    "dose": r"\b\d+ ?mg\b",
    "blood pressure": r"\bBP \d{2,3}/\d{2,3}",
    "fraction": r"\b1/2 ",
    "score": r"\b\d/10\b",
    "power": r"\b[0-5]/5\b",
    "lot": r"(?i)\blot (?:number |no\. )?[A-Z0-9]{5,}",
    "like a year": r"(?:CK|BNP|ALT|LDH|IgE|D-dimer) (?:19|20)\d\d\b",
    "like an age": r"\b\d+-(?:week|year)(?: |-)(?:course|history|follow-up)",
    "like an id": r"\bATC [A-Z]\d\d[A-Z]{2}\d\d|\bCAS \d+-\d\d-\d",
}


@pytest.fixture(scope="module")
def docs() -> list[Document]:
    return list(generate_documents(N_DOCUMENTS, 11))


@pytest.fixture(scope="module")
def texts(docs: list[Document]) -> dict[PhiType, list[str]]:
    found: dict[PhiType, list[str]] = {phi_type: [] for phi_type in PhiType}
    for doc in docs:
        for span in doc.spans:
            found[span.type].append(doc.text[span.start : span.end])
    return found


def _without_identifiers(doc: Document) -> str:
    text, position = "", 0
    for span in doc.spans:
        text += doc.text[position : span.start] + "\0"
        position = span.end
    return text + doc.text[position:]


def test_every_type_occurs_and_spans_are_exact(docs: list[Document], texts: dict[PhiType, list[str]]) -> None:
    counts = {phi_type: len(found) for phi_type, found in texts.items()}
    assert min(counts.values()) > 15, counts
    assert all(text == text.strip() != "" for found in texts.values() for text in found)
    assert len({doc.text for doc in docs}) == len(docs)


def test_dates_are_of_many_patterns(texts: dict[PhiType, list[str]]) -> None:
    patterns = Counter(map(dates.pattern_of, texts[PhiType.DATE]))
    assert sum(count >= 5 for pattern, count in patterns.items() if pattern) > 200


def test_names_are_of_many_origins(texts: dict[PhiType, list[str]]) -> None:
    found = set(re.findall(r"\w+", " ".join(text for kind in NAMES for text in texts[kind])))
    pools = load_name_pools()
    known = [origin.code for origin in pools.origins if found & {*origin.given, *origin.surnames}]
    assert len(pools.origins) > 70
    assert len(known) == len(pools.origins)


@pytest.mark.parametrize("form", IN_NAMES)
def test_names_are_written_in_every_form(texts: dict[PhiType, list[str]], form: str) -> None:
    assert any(re.search(IN_NAMES[form], text) for kind in NAMES for text in texts[kind])


@pytest.mark.parametrize(
    ("phi_type", "pattern"),
    [
        pytest.param(phi_type, pattern, id=f"{phi_type}: {name}")
        for phi_type, patterns in (
            (PhiType.DATE, IN_DATES),
            (PhiType.AGE, IN_AGES),
            (PhiType.PHONE, IN_PHONES),
            (PhiType.PROFESSION, IN_WORK),
        )
        for name, pattern in patterns.items()
    ],
)
def test_identifiers_are_written_in_every_form(
    texts: dict[PhiType, list[str]], phi_type: PhiType, pattern: str
) -> None:
    assert any(re.fullmatch(pattern, text) for text in texts[phi_type])


@pytest.mark.parametrize("name", AROUND)
def test_identifiers_stand_in_every_setting(docs: list[Document], name: str) -> None:
    phi_type, pattern = AROUND[name]
    settings = (
        f"{doc.text[max(0, s.start - 8) : s.start]}[{doc.text[s.start : s.end]}]{doc.text[s.end : s.end + 16]}"
        for doc in docs
        for s in doc.spans
        if s.type is phi_type
    )
    assert any(re.search(pattern, setting) for setting in settings)


def test_hospitals_go_without_the_word(texts: dict[PhiType, list[str]]) -> None:
    named = re.compile(
        r"(?i)hosp|clini|medic|health|infirm|pract|surger|cent|pharm|care|lab|hôp|szpit|sjuk|memorial|ward"
    )
    bare = [text for text in texts[PhiType.HOSPITAL] if not named.search(text)]
    assert len(bare) > 0.2 * len(texts[PhiType.HOSPITAL])
    assert any(re.fullmatch(r"[Tt]he \w+s", text) for text in bare)


@pytest.mark.parametrize("name", SAFE)
def test_safe_numbers_that_look_alike_stay_unmarked(docs: list[Document], name: str) -> None:
    assert any(re.search(SAFE[name], _without_identifiers(doc)) for doc in docs)


def test_names_stand_beside_the_word_that_they_are(docs: list[Document]) -> None:
    """A drug, an eponym or a word is safe in the very document in which it is somebody's name."""
    known = {name.casefold() for _, name, _ in templates.load_lookalikes()}
    beside: set[str] = set()
    for doc in docs:
        safe = set(re.findall(r"[a-z]+", _without_identifiers(doc).casefold()))
        for span in doc.spans:
            if span.type in NAMES:
                beside |= safe & known & set(re.findall("[a-z]+", doc.text[span.start : span.end].casefold()))
    assert len(beside) > 120
    assert {"will", "may", "young", "rash"} & beside
    assert {"yasmin", "camila", "junel", "mirena", "allegra", "yaz"} & beside
    assert {"parkinson", "crohn", "bell", "foley", "graves", "wilson", "turner"} & beside


def test_every_lookalike_has_a_phrase_with_the_word() -> None:
    found = templates.load_lookalikes()
    assert found
    for _, name, phrases in found:
        assert any(re.search(rf"(?i)\b{name}\b", phrase) for phrase in phrases), name


def test_plain_speech_is_inflected() -> None:
    drawn = {form: draw_work(random.Random(3), form).split()[0] for form in WORK_FORMS}
    assert drawn["does"].startswith(drawn["do"][:-1])
    assert {WORK_FORMS["does"](verb) for verb in ("fly", "teach", "play", "fix")} == {
        "flies",
        "teaches",
        "plays",
        "fixes",
    }
    assert [WORK_FORMS["doing"](verb) for verb in ("run", "drive", "shoe")] == [
        "running",
        "driving",
        "shoeing",
    ]


def test_particles_have_initials() -> None:
    rng = random.Random(1)
    surnames = ("van der Berg", "McCabe", "Okafor")
    written = [write_name(Person("Ada", name), rng, form="initials_particle") for name in surnames]
    assert written == ["AvdB", "AMcC", "AO"]


def test_accents_are_lost_at_times() -> None:
    rng = random.Random(1)
    written = Counter(write_name(Person("José", "Nuñez"), rng, form="full") for _ in range(300))
    assert written["José Nuñez"] > 200
    assert 15 < written["Jose Nunez"] < 90


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("aa bb cc", "aa bb\ncc"),
        ("aa\nbb cc", "aa\nbb cc"),
        ("aaaaaaaa bb", "aaaaaaaa\nbb"),
        ("", ""),
    ],
)
def test_wrapping_keeps_offsets(text: str, wrapped: str) -> None:
    assert hard_wrapped(text, 5) == wrapped
