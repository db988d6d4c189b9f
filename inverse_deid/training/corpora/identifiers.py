"""Numbers and addresses that identify: phones, records, licences, devices, e-mails, URLs."""

from __future__ import annotations

import random
import re
import string

from inverse_deid.core.phi import PhiType
from inverse_deid.replacement.surrogates.numbers import same_kind
from inverse_deid.training.corpora.people import Person
from inverse_deid.training.corpora.wordlists import load_lists, words

_DIGIT_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def is_numbered(phi_type: PhiType) -> bool:
    """Whether identifiers of a type are numbers, so that `numbers.toml` has patterns for it."""
    return phi_type.name.lower() in load_lists("numbers")


def draw_number(rng: random.Random, phi_type: PhiType) -> str:
    """Draw a number of the type: a pattern of `numbers.toml`, `#` a digit, `@` a capital, `?` either.

    Example:
        >>> len(draw_number(random.Random(0), PhiType.SSN)) > 5
        True
    """
    pattern = rng.choice(load_lists("numbers")[phi_type.name.lower()])
    if phi_type in (PhiType.PHONE, PhiType.FAX) and rng.random() < 0.02:
        return spoken_digits(rng, rng.choice((7, 10)))
    return fill_pattern(pattern, rng)


def fill_pattern(pattern: str, rng: random.Random) -> str:
    """Replace `#`, `@`, `?`, `~` (lower-case letter) and `{MON}`/`{yy}`/`{yyyy}`."""
    text = pattern.replace("{MON}", rng.choice(words("months"))[:3].upper())
    text = text.replace("{yyyy}", str(rng.randint(1996, 2079))).replace("{yy}", f"{rng.randrange(100):02}")
    return "".join(_sign(char, rng) for char in text)


def _sign(char: str, rng: random.Random) -> str:
    pools = {"#": string.digits, "@": string.ascii_uppercase, "~": string.ascii_lowercase}
    if char == "?":
        return rng.choice(string.digits + string.ascii_uppercase)
    return rng.choice(pools[char]) if char in pools else char


def spoken_digits(rng: random.Random, n_digits: int) -> str:
    """Return digits as dictated, `five oh one`."""
    zero = rng.choice(("oh", "zero"))
    spoken = [rng.choice(_DIGIT_WORDS) for _ in range(n_digits)]
    return " ".join(zero if word == "zero" else word for word in spoken)


def reshape_number(original: str, rng: random.Random) -> str:
    """Return new digits and letters in the shape of the original; a leading word may stay.

    Example:
        >>> reshape_number("12-34", random.Random(1))
        '29-14'
    """
    prefix = re.match(r"[A-Za-z]{3,}[-_ /]|https?://|www\.", original)
    kept = prefix.group() if prefix and rng.random() < 0.5 else ""
    if not any(char.isdigit() for char in original) and len(original) > 12:
        return spoken_digits(rng, len(original.split()))
    parts = re.split(r"([a-z]{3,})", original[len(kept) :])
    changed = ("".join(same_kind(char, rng) for char in part) for part in parts[::2])
    words_between = [*parts[1::2], ""]
    return kept + "".join(part + word for part, word in zip(changed, words_between, strict=True))


def draw_username(rng: random.Random, person: Person) -> str:
    """Draw a login or screen name."""
    given, surname = plain(person.given), plain(person.surname)
    number = rng.choice(("", str(rng.randrange(10)), str(rng.randrange(100)), str(rng.randint(1950, 2012))))
    noun, adjective = rng.choice(words("screen_nouns")), rng.choice(words("screen_adjectives"))
    shapes = (
        f"{given[:1]}{surname}{number}",
        f"{given}.{surname}",
        f"{given}_{surname}",
        f"{surname}{given[:1]}{number}",
        f"{given}{number}",
        f"{given}.{surname}{number}",
        f"{surname}_{given[:1]}",
        f"{given[:1]}{surname[:5]}{number}",
        f"{given}_in_{rng.choice(words('cities')).split()[0].lower()}",
        f"mrs_{surname}",
        f"dr{surname}{number}",
        f"{adjective}_{noun}{number}",
        f"{adjective}{noun.capitalize()}{number}",
        f"xX_{noun}_Xx",
        f"{noun}mum{number}",
        f"u/{adjective}{noun}{number}",
        f"{given[:2]}{rng.randrange(10000):04}",
        f"{surname[:4]}{rng.randrange(1000):03}",
        f"site{rng.randrange(1000, 2000)}_crc{rng.randrange(1, 4)}",
        f"rn_{surname}",
        f"{surname}-md",
        f"big.{given}.{number}x",
        f"ward{rng.randrange(1, 30)}_{rng.choice(('duty', 'clerk', 'reg'))}{rng.randrange(1, 9)}",
    )
    name = rng.choice(shapes)
    return f"@{name}" if rng.random() < 0.12 else name.upper() if rng.random() < 0.06 else name


def draw_email(rng: random.Random, person: Person) -> str:
    """Draw an e-mail address at a reserved or an ordinary domain."""
    user = draw_username(rng, person).lstrip("@").removeprefix("u/")
    if rng.random() < 0.25:
        user = rng.choice(words("mailboxes"))
    return f"{user}@{draw_domain(rng)}".lower()


def draw_domain(rng: random.Random) -> str:
    """Draw a domain name such as `northbank-clinic.example`."""
    if rng.random() < 0.25:
        return rng.choice(words("mail_providers"))
    stem = (
        rng.choice(words("place_stems")).lower()
        + rng.choice(("", "", "-", ""))
        + rng.choice(words("domain_nouns"))
    )
    ending = rng.choice(words("domain_endings"))
    return plain(stem, keep="-") + ending


def draw_url(rng: random.Random) -> str:
    """Draw a web address."""
    path = rng.choice(
        (
            "",
            "",
            "/portal",
            "/results",
            "/feedback",
            f"/p/{fill_pattern('#~?~', rng)}",
            "/my-visit",
            f"/r?id={rng.randrange(100000)}",
            "/patients/login",
            f"/case/{rng.randrange(9999)}",
            "/",
        )
    )
    return (
        rng.choice(("www.", "https://", "http://", "https://www.", "my.", "portal."))
        + draw_domain(rng)
        + path
    )


def draw_ip(rng: random.Random) -> str:
    """Draw an IPv4 or, at times, an IPv6 address."""
    if rng.random() < 0.12:
        return "2001:db8:" + ":".join(f"{rng.randrange(65536):x}" for _ in range(rng.choice((3, 6))))
    first = rng.choice(("203.0.113", "198.51.100", "192.0.2", "10.{}.{}", "172.16.{}", "192.168.{}"))
    return first.format(rng.randrange(256), rng.randrange(256)) + f".{rng.randrange(1, 255)}"


def plain(name: str, keep: str = "") -> str:
    """Return the letters and digits of a name, lower case."""
    return "".join(char for char in name.lower() if char.isalnum() or char in keep) or "x"
