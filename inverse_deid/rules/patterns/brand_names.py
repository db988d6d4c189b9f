r"""Brands that are also given names: `Yasmin (drospirenone)`, `Alli 60 mg`, `Diane-35`.

Lists of names have these words, so they are masked unless the text shows the product: its own substance
directly next to it, or the number that belongs to the brand. A dose alone is weaker, as a dose also follows a
person (`gave Yasmin 25 mg prednisolone`). A brand with a dose is kept only if nothing says that a person is
given something, no other drug follows, and the network agrees.
"""

from __future__ import annotations

import re

_LEVONORGESTREL = "levonorgestrel"
_NORETHINDRONE = "norethindrone|norethisterone"
_BRANDS_OF = {
    "orlistat": "Alli",
    "fexofenadine": "Allegra",
    "drospirenone": "Yasmin Yaz Syeda Zarah Jasmiel Nikki Loryna Gianvi Tilia Ocella Eloine Isabelle Arianna",
    "cyproterone|co-cyprindiol": "Diane Dianette Estelle Brenda Juliet Laila Chelsea Carolyn Clairette Jene Ginet",
    f"{_NORETHINDRONE}": "Camila Errin Heather Jolivette Nora Lyza Deblitane Norlyda Incassia Tulana Sharobel Hailey Larin "
    "Junel Aurovela Charlotte Leena Nylia Wera Philith",
    f"{_LEVONORGESTREL}": "Portia Levora Marlissa Lessina Aviane Ayuna Kyleena Skyla Jaydess Mirena Liletta Evelyn Eleanor "
    "Lillow Delyla Ashlyna Amethia Daysee Camrese Jolessa Ava Katya Leona",
    "desogestrel": "Apri Kariva Cerelle Zelleta Hana Cesia Lovima",
    "norgestimate": "Mili Estarylla Lisette",
    "dienogest": "Natazia Valette Sibilla",
    "chlormadinone": "Belara Bellissima",
    "estradiol|oestradiol": "Vivelle Elleste",
    "ulipristal": "Ella Esmya",
    "lercanidipine": "Carmen",
    "pregabalin": "Lyrica",
}
"""The brands of each substance; they are words of a pattern."""

BRANDS = tuple(sorted({brand for brands in _BRANDS_OF.values() for brand in brands.split()}))

SUBSTANCES = (
    *(one for some in _BRANDS_OF for one in some.split("|")),
    "ethinylestradiol",
    "ethinyloestradiol",
)
"""All substances of the brands, in lower case, and those that are named before them."""

_ESTROGEN = r"(?:(?:ethin(?:yl)?|a)?\s?o?estradiol\s?(?:/|and|\+|-|,)\s?)?"
_MARK = "[\u00ae\u2122]?"
_AMOUNT = r"\d{1,4}(?:[.,]\d{1,3})?"
_DOSE = (
    rf"(?:{_AMOUNT}(?:\s?/\s?{_AMOUNT})?\s?(?:mg|mcg|[\u00b5\u03bc]g|micrograms?|milligrams?)(?:\s?/\s?{_AMOUNT}\s?(?:mg|mcg|[\u00b5\u03bc]g))?|"
    r"(?:one|two|three|half\sa|[1-4])\s(?:tablets?|capsules?|pills?|caps?))"
)


def _any_brand(brands: str) -> str:
    return rf"(?:{'|'.join(map(re.escape, brands.split()))})(?!\w){_MARK}"


def _beside(substance: str, brands: str) -> str:
    brand = _any_brand(brands)
    return (
        rf"\b{brand}(?:[\s-]{_DOSE})?\s?[(\[]\s?{_ESTROGEN}(?:{substance})\b|"
        rf"\b(?:{substance})(?:\s(?:hydrochloride|hcl|acetate))?\s?[(\[]\s?{brand}(?:\s{_DOSE})?(?=\s?[)\],;])"
    )


BRAND_BESIDE_SUBSTANCE = "|".join(
    [
        r"\b(?:Diane|Estelle|Brenda|Juliet|Laila|Chelsea|Carolyn)-35(?:\sED)?(?![\w-]|\s?(?:y|-|m\b|f\b))|\bGinet-84(?![\w-])",
        *(_beside(substance, brands) for substance, brands in _BRANDS_OF.items()),
    ]
)
"""A brand with its own substance in brackets or before it, or with the number that belongs to it."""

_NO_PERSON = "".join(
    rf"(?<!\b{word} )"
    for word in (
        "gave", "give", "gives", "given", "giving", "to", "told", "for", "by", "with", "mr", "mrs", "ms", "miss", "dr",
        "nurse", "mother", "daughter", "sister", "wife", "baby", "patient", "named", "called", "infant", "child", "girl",
        r"mr\.", r"mrs\.", r"ms\.", r"dr\.", "name:", "patient:",
    )
)  # fmt: skip
_FOLLOWS = (
    r"(?=\s?(?:[.,;:)\]]|\Z)|\s(?:tablets?|capsules?|caps?|pills?|once|twice|three|thrice|daily|nightly|weekly|every|each|per|bid|"
    r"tid|od|bd|tds|po|orally|by\smouth|a\sday|with|for|in|and|or|was|were|at|as|since|on|from|until|before|after|when|because)\b)"
)

BRAND_WITH_DOSE = (
    rf"\b(?={_any_brand(' '.join(BRANDS))}){_NO_PERSON}\w+{_MARK}[\s,-]{{1,2}}{_DOSE}(?!\w){_FOLLOWS}"
)
"""A brand with a dose, after no word that says that a person is given something, and before no other drug."""
