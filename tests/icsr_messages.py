"""Invented E2B messages, R3 and R2, with any number of cases and any share of the known elements.

Everything in them is made up for the tests; the structure follows the ICH implementation
guide. `invent` fills an element, `values` says what was put where.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from inverse_deid.formats.icsr.standard.elements import ElementKind, elements
from inverse_deid.formats.icsr.standard.profiles import FieldAction, Profile

ICH = "2.16.840.1.113883.3.989.2.1"
OBS = f"{ICH}.1.19"
MEDDRA = "2.16.840.1.113883.6.163"

ALL_KEEP = Profile(
    name="all-keep",
    actions={
        e.id: FieldAction.TEXT if e.kind == ElementKind.FREE_TEXT else FieldAction.KEEP
        for e in elements().values()
    },
    attachments=FieldAction.KEEP,
    display_names=FieldAction.KEEP,
    other_dates=FieldAction.KEEP,
)

GIVEN = ["Amara", "Tobias", "Ingrid", "Yusuf", "Priya", "Callum", "Renée", "Björk", "Oluwaseun", "Noor"]
FAMILY = [
    "Okonkwo",
    "Lindqvist",
    "Featherstone",
    "Marchetti",
    "Nakagawa",
    "Ó Súilleabháin",
    "Vantongeren",
    "Quispe",
]
STREETS = ["Harrow Lane", "Birkenweg", "Rua das Flores", "Quay Street", "Ashgrove Road"]
CITIES = ["Velmont", "Torrhaven", "Brixfield", "Santa Lucera"]
FIRMS = ["Northmoor Clinic", "Halden Pharma AB", "Kestrel Biologics", "Greyfriars Infirmary"]
DRUGS = ["Cortalexin", "Brundapril", "Zelovastatin", "Immunex-B"]
SYMPTOMS = ["rash", "fever", "dizziness", "nausea & vomiting", "wheals > 3 cm", 'a "tight" chest']


@dataclass
class Invention:
    """Invents values and remembers them.

    Args:
        rng: Source of chance.
        share: How many of the optional elements are filled, in [0, 1].
        given: Values that are not invented, by element id; None = the element is missing.
    """

    rng: random.Random
    share: float = 1.0
    given: Mapping[str, str | None] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, element: str) -> str | None:
        value = self._value(element)
        if value is not None:
            self.values.setdefault(element, []).append(value)
        return value

    def _value(self, element: str) -> str | None:
        known = elements()[element]
        if element in self.given:
            return self.given[element]
        if not known.required and self.rng.random() >= self.share:
            return None
        return self._invented(element)

    def _invented(self, element: str) -> str:
        known, rng = elements()[element], self.rng
        if known.kind == ElementKind.DATE:
            return self._date()
        if known.kind == ElementKind.AGE:
            return {"D.2.3": "5", "D.2.2.1a": "10", "G.k.6a": "10"}.get(element, "48")
        if known.kind == ElementKind.FREE_TEXT:
            return self._text(element)
        if known.kind == ElementKind.PRODUCT:
            return rng.choice(DRUGS) + f"-{rng.randrange(100)}"
        sorts: dict[str, Callable[[], str]] = {
            "organisation": lambda: rng.choice(FIRMS),
            "address": lambda: (
                f"{rng.randrange(1, 99)} {rng.choice(STREETS)}"
                if element.endswith(("3", "3a", "4.1"))
                else rng.choice(CITIES)
            ),
            "phone": lambda: f"0{rng.randrange(10**8, 10**9)}"[:10],
            "email": lambda: f"box{rng.randrange(999)}@mail.invalid",
            "name or initials": lambda: rng.choice(GIVEN)[0] + rng.choice(FAMILY)[0],
            "name": lambda: rng.choice(FAMILY if element.endswith(("1.4", "3.5", "2f")) else GIVEN),
        }
        if "ountry" in known.name:
            return rng.choice(["SE", "PT", "IE", "US"])
        if "itle" in known.name:
            return rng.choice(["Dr", "Ms", "Prof"])
        if "postcode" in known.name:
            return f"{rng.randrange(10**4, 10**5)}"
        if known.known in sorts:
            return sorts[known.known]()
        number = rng.randrange(10**5, 10**6)
        of_form = {
            "lot": f"EK{2100 + number % 7900}",
            "device-lot": f"DV{2100 + number % 7900}",
            "organisation": FIRMS[number % len(FIRMS)],
            "place": CITIES[number % len(CITIES)],
        }
        short = str(number) if element == "FDA.C.5.5" else f"{element.replace('.', '')[:6]}-{number}"
        return of_form.get(known.form, short)

    def _date(self) -> str:
        year, month, day = (
            self.rng.randrange(2005, 2023),
            self.rng.randrange(1, 13),
            self.rng.randrange(1, 29),
        )
        full = f"{year}{month:02}{day:02}"
        return self.rng.choice([full, full, full, full[:6], full[:4]])

    def _text(self, element: str) -> str:
        symptom, drug = self.rng.choice(SYMPTOMS), self.rng.choice(DRUGS)
        if element.startswith("H"):
            return (
                f"{symptom} after {drug}, {self.rng.randrange(10)} days later seen by "
                f"{self.rng.choice(GIVEN)} {self.rng.choice(FAMILY)}.\n\tRecovered."
            )
        return symptom if (elements()[element].max_length["r3"] or 99) < 100 else f"{symptom} with {drug}"


def node(tag: str, words: str | None = None, inner: str = "", /, **attributes: str | None) -> str:
    """An XML element; nothing if every value is None."""
    shown = {k.replace("__", ":"): v for k, v in attributes.items() if v is not None}
    start = tag + "".join(f" {k}={quoteattr(v)}" for k, v in shown.items())
    text = escape(words) if words is not None else ""
    return f"<{start}>{text}{inner}</{tag}>" if text or inner else f"<{start}/>"


def maybe(tag: str, value: str | None, /, **attributes: str) -> str:
    """An XML element with a text, or nothing."""
    return "" if value is None else node(tag, value, **attributes)


def with_attribute(
    tag: str, attribute: str, value: str | None, prefix: str = "", /, **attributes: str
) -> str:
    """An XML element with an attribute value, or nothing."""
    return "" if value is None else node(tag, **{attribute: prefix + value}, **attributes)


def observation(code: str, value: str, /, **attributes: str) -> str:
    """An observation with a code of list 19."""
    return node(
        "observation",
        None,
        node("code", code=code, codeSystem=OBS, displayName="observationCode") + value,
        classCode="OBS",
        moodCode="EVN",
        **attributes,
    )


def period(low: str | None, high: str | None, tag: str = "effectiveTime", kind: str = "IVL_TS") -> str:
    inner = with_attribute("low", "value", low) + with_attribute("high", "value", high)
    return node(tag, None, inner, xsi__type=kind) if inner else ""


def when(condition: str, wrapped: Callable[[str], str]) -> str:
    """What is wrapped around something, if there is something."""
    return wrapped(condition) if condition else ""


def person(v: Invention, p: dict[str, str]) -> str:
    """Address, telecoms, name and organisation of a reporter or sender."""
    address = "".join(maybe(tag, v(p[tag])) for tag in ("streetAddressLine", "city", "state", "postalCode"))
    name = (
        maybe("prefix", v(p["prefix"]))
        + maybe("given", v(p["given"]))
        + maybe("given", v(p["middle"]))
        + maybe("family", v(p["family"]))
    )
    country = with_attribute("code", "code", v(p["country"]), codeSystem="1.0.3166.1.2.2")
    located = (
        node(
            "asLocatedEntity",
            None,
            node("location", None, country, classCode="COUNTRY", determinerCode="INSTANCE"),
            classCode="LOCE",
        )
        if country
        else ""
    )
    department, firm = maybe("name", v(p["department"])), maybe("name", v(p["organisation"]))
    organisation = node("representedOrganization", None, firm, classCode="ORG", determinerCode="INSTANCE")
    entity = node("assignedEntity", None, organisation, classCode="ASSIGNED")
    return (
        when(address, lambda a: node("addr", None, a))
        + "".join(
            with_attribute("telecom", "value", v(p[scheme]), f"{scheme}:")
            for scheme in ("tel", "fax", "mailto")
            if scheme in p
        )
        + node(
            "assignedPerson",
            None,
            node("name", None, name) + located,
            classCode="PSN",
            determinerCode="INSTANCE",
        )
        + node(
            "representedOrganization", None, department + entity, classCode="ORG", determinerCode="INSTANCE"
        )
    )


REPORTER = {
    "streetAddressLine": "C.2.r.2.3",
    "city": "C.2.r.2.4",
    "state": "C.2.r.2.5",
    "postalCode": "C.2.r.2.6",
    "prefix": "C.2.r.1.1",
    "given": "C.2.r.1.2",
    "middle": "C.2.r.1.3",
    "family": "C.2.r.1.4",
    "country": "C.2.r.3",
    "department": "C.2.r.2.2",
    "organisation": "C.2.r.2.1",
    "tel": "C.2.r.2.7",
    "mailto": "FDA.C.2.r.2.8",
}
SENDER = {
    "streetAddressLine": "C.3.4.1",
    "city": "C.3.4.2",
    "state": "C.3.4.3",
    "postalCode": "C.3.4.4",
    "prefix": "C.3.3.2",
    "given": "C.3.3.3",
    "middle": "C.3.3.4",
    "family": "C.3.3.5",
    "country": "C.3.4.5",
    "department": "C.3.3.1",
    "organisation": "C.3.2",
    "tel": "C.3.4.6",
    "fax": "C.3.4.7",
    "mailto": "C.3.4.8",
}


def identified(v: Invention, element: str, code: str) -> str:
    value = v(element)
    inner = with_attribute("id", "extension", value, root=f"{ICH}.3.{6 + int(code)}") + node(
        "code", code=code, codeSystem=f"{ICH}.1.4"
    )
    return node("asIdentifiedEntity", None, inner, classCode="IDENT") if value is not None else ""


def organizer(code: str, *components: str) -> str:
    inner = "".join(node("component", None, c, typeCode="COMP") for c in components if c)
    if not inner:
        return ""
    whole = node("code", code=code, codeSystem=f"{ICH}.1.20", displayName="list") + inner
    return node(
        "subjectOf2",
        None,
        node("organizer", None, whole, classCode="CATEGORY", moodCode="EVN"),
        typeCode="SBJ",
    )


def history(v: Invention, start: str, end: str, comment: str, text: str) -> str:
    noted = maybe("value", v(comment), xsi__type="ED")
    episode = node(
        "observation",
        None,
        node("code", code="10012431", codeSystem=MEDDRA, codeSystemVersion="25.0", displayName="Condition")
        + period(v(start), v(end))
        + when(noted, lambda n: node("outboundRelationship2", None, observation("10", n), typeCode="COMP")),
        classCode="OBS",
        moodCode="EVN",
    )
    words = maybe("value", v(text), xsi__type="ED")
    return organizer("1", episode, when(words, lambda w: observation("18", w)))


def past_drug(v: Invention, name: str, start: str, end: str) -> str:
    product = node("kindOfProduct", None, maybe("name", v(name)), classCode="MMAT", determinerCode="KIND")
    inner = period(v(start), v(end)) + node(
        "consumable", None, node("instanceOfKind", None, product, classCode="INST"), typeCode="CSM"
    )
    return organizer("2", node("substanceAdministration", None, inner, classCode="SBADM", moodCode="EVN"))


def dose(v: Invention) -> str:
    taken = period(v("G.k.4.r.4"), v("G.k.4.r.5"), "comp", "IVL_TS")
    lot, form = maybe("lotNumberText", v("G.k.4.r.7")), maybe("originalText", v("G.k.4.r.9.1"))
    route, parent = maybe("originalText", v("G.k.4.r.10.1")), maybe("originalText", v("G.k.4.r.11.1"))
    kind = when(
        lot, lambda x: node("productInstanceInstance", None, x, classCode="MMAT", determinerCode="INSTANCE")
    ) + when(
        form,
        lambda x: node(
            "kindOfProduct",
            None,
            node("formCode", None, x, codeSystem="0.4.0.127.0.16.1.1.2.1"),
            classCode="MMAT",
            determinerCode="KIND",
        ),
    )
    inner = (
        maybe("text", v("G.k.4.r.8"))
        + when(
            taken,
            lambda t: node(
                "effectiveTime",
                None,
                node("comp", None, node("period", value="1", unit="d"), xsi__type="PIVL_TS") + t,
                xsi__type="SXPR_TS",
            ),
        )
        + when(route, lambda x: node("routeCode", None, x, code="048", codeSystem="0.4.0.127.0.16.1.1.2.6"))
        + node("doseQuantity", value="20", unit="mg")
        + when(
            kind,
            lambda k: node(
                "consumable", None, node("instanceOfKind", None, k, classCode="INST"), typeCode="CSM"
            ),
        )
        + when(
            parent,
            lambda x: node(
                "inboundRelationship",
                None,
                observation(
                    "28", node("value", None, x, xsi__type="CE", codeSystem="0.4.0.127.0.16.1.1.2.6")
                ),
                typeCode="REFR",
            ),
        )
    )
    return node(
        "outboundRelationship2",
        None,
        node("substanceAdministration", None, inner, classCode="SBADM", moodCode="EVN"),
        typeCode="COMP",
    )


def device(v: Invention) -> str:
    maker = maybe("name", v("FDA.G.k.12.r.7"))
    lot = maybe("lotNumberText", v("FDA.G.k.12.r.9"))
    inner = (
        maybe("name", v("FDA.G.k.12.r.4"))
        + when(
            maker,
            lambda m: node(
                "asManufacturedProduct",
                None,
                node("manufacturerOrganization", None, m, classCode="ORG", determinerCode="INSTANCE"),
                classCode="MANU",
            ),
        )
        + when(
            lot,
            lambda x: node(
                "instanceOfKind",
                None,
                node("productInstanceInstance", None, x, classCode="MMAT", determinerCode="INSTANCE"),
                classCode="INST",
            ),
        )
    )
    return when(
        inner,
        lambda i: node(
            "part",
            None,
            node("partProduct", None, i, classCode="DEV", determinerCode="KIND"),
            classCode="PART",
        ),
    )


def drug(v: Invention, uuid: str) -> str:
    number, holder = v("G.k.3.1"), maybe("name", v("G.k.3.3"))
    approval = with_attribute("id", "extension", number, root=f"{ICH}.3.4") + when(
        holder,
        lambda h: node(
            "holder",
            None,
            node(
                "role",
                None,
                node("playingOrganization", None, h, classCode="ORG", determinerCode="INSTANCE"),
                classCode="HLD",
            ),
            typeCode="HLD",
        ),
    )
    substance = maybe("name", v("G.k.2.3.r.1"))
    product = (
        node("code", code="59762-2858", codeSystem="2.16.840.1.113883.6.69", codeSystemVersion="2014")
        + maybe("name", v("G.k.2.2"))
        + when(
            approval,
            lambda a: node(
                "asManufacturedProduct",
                None,
                node(
                    "subjectOf",
                    None,
                    node("approval", None, a, classCode="CNTRCT", moodCode="EVN"),
                    typeCode="SBJ",
                ),
                classCode="MANU",
            ),
        )
        + when(
            substance,
            lambda s: node(
                "ingredient",
                None,
                node("ingredientSubstance", None, s, classCode="MMAT", determinerCode="KIND"),
                classCode="ACTI",
            ),
        )
        + device(v)
    )
    more, reason = maybe("value", v("G.k.11"), xsi__type="ST"), maybe("originalText", v("G.k.7.r.1"))
    performer = node(
        "performer",
        None,
        node("assignedEntity", None, node("code", code="3", codeSystem=f"{ICH}.1.21"), classCode="ASSIGNED"),
        typeCode="PRF",
    )
    inner = (
        node("id", root=uuid)
        + node(
            "consumable",
            None,
            node(
                "instanceOfKind",
                None,
                node("kindOfProduct", None, product, classCode="MMAT", determinerCode="KIND"),
                classCode="INST",
            ),
            typeCode="CSM",
        )
        + dose(v)
        + when(more, lambda m: node("outboundRelationship2", None, observation("2", m), typeCode="REFR"))
        + when(
            with_attribute("value", "value", v("G.k.6a"), unit="wk", xsi__type="PQ"),
            lambda x: node("outboundRelationship2", None, observation("16", x), typeCode="PERT"),
        )
        + when(
            reason,
            lambda r: node(
                "inboundRelationship",
                None,
                observation(
                    "19",
                    node("value", None, r, xsi__type="CE", code="10028813", codeSystem=MEDDRA) + performer,
                ),
                typeCode="RSON",
            ),
        )
    )
    return organizer("4", node("substanceAdministration", None, inner, classCode="SBADM", moodCode="EVN"))


def uuid_of(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    digits = f"{digits[:12]}4{digits[13:]}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def patient(v: Invention, drug_id: str, reaction_id: str) -> str:
    parent = (
        node("code", code="PRN", codeSystem="2.16.840.1.113883.5.111")
        + node(
            "associatedPerson",
            None,
            maybe("name", v("D.10.1")) + with_attribute("birthTime", "value", v("D.10.2.1")),
            classCode="PSN",
            determinerCode="INSTANCE",
        )
        + when(
            with_attribute("value", "value", v("D.10.2.2a"), unit="a", xsi__type="PQ"),
            lambda x: node("subjectOf2", None, observation("3", x), typeCode="SBJ"),
        )
        + when(
            with_attribute("value", "value", v("D.10.3"), xsi__type="TS"),
            lambda x: node("subjectOf2", None, observation("22", x), typeCode="SBJ"),
        )
        + history(v, "D.10.7.1.r.2", "D.10.7.1.r.4", "D.10.7.1.r.5", "D.10.7.2")
        + past_drug(v, "D.10.8.r.1", "D.10.8.r.4", "D.10.8.r.5")
    )
    player = (
        maybe("name", v("D.1"))
        + node("administrativeGenderCode", code="2", codeSystem="1.0.5218")
        + with_attribute("birthTime", "value", v("D.2.1"))
        + with_attribute("deceasedTime", "value", v("D.9.1"))
        + "".join(identified(v, f"D.1.1.{n}", str(n)) for n in (1, 2, 3, 4))
        + node("role", None, parent, classCode="PRS")
    )
    registered = with_attribute("id", "extension", v("C.5.1.r.1"), root=f"{ICH}.3.6")
    ind = with_attribute("id", "extension", v("FDA.C.5.5"), root="2.16.840.1.113883.3.989.5.1.2.2.1.2.1")
    study = (
        with_attribute("id", "extension", v("C.5.3"), root=f"{ICH}.3.5")
        + node("code", code="1", codeSystem=f"{ICH}.1.8")
        + maybe("title", v("C.5.2"))
        + "".join(
            node(
                "authorization",
                None,
                node("studyRegistration", None, r, classCode="ACT", moodCode="EVN"),
                typeCode="AUTH",
            )
            for r in (registered, ind)
            if r
        )
    )
    reaction = (
        node("id", root=reaction_id)
        + node("code", code="29", codeSystem=OBS, displayName="reaction")
        + period(v("E.i.4"), v("E.i.5"))
        + node(
            "value",
            None,
            maybe("originalText", v("E.i.1.1a"), language="eng"),
            xsi__type="CE",
            code="10027940",
            codeSystem=MEDDRA,
            codeSystemVersion="25.0",
        )
        + node(
            "location",
            None,
            node(
                "locatedEntity",
                None,
                node(
                    "locatedPlace",
                    None,
                    node("code", code="SE", codeSystem="1.0.3166.1.2.2"),
                    classCode="COUNTRY",
                    determinerCode="INSTANCE",
                ),
                classCode="LOCE",
            ),
            typeCode="LOC",
        )
        + when(
            maybe("value", v("E.i.1.2"), xsi__type="ED"),
            lambda x: node("outboundRelationship2", None, observation("30", x), typeCode="PERT"),
        )
        + node(
            "outboundRelationship2",
            None,
            observation("34", node("value", xsi__type="BL", nullFlavor="NI")),
            typeCode="PERT",
        )
    )
    test_day, test_name, result, note = v("F.r.1"), v("F.r.2.1"), v("F.r.3.4"), v("F.r.6")
    test = (
        node(
            "code",
            None,
            maybe("originalText", test_name),
            code="10050520",
            codeSystem=MEDDRA,
            codeSystemVersion="25.0",
        )
        + with_attribute("effectiveTime", "value", test_day)
        + (
            maybe("value", result, xsi__type="ED")
            or node("value", None, node("center", value="10", unit="mg/dl"), xsi__type="IVL_PQ")
        )
        + when(
            maybe("value", note, xsi__type="ED"),
            lambda n: node("outboundRelationship2", None, observation("10", n), typeCode="PERT"),
        )
    )
    cause, autopsy = maybe("originalText", v("D.9.2.r.2")), maybe("originalText", v("D.9.4.r.2"))
    other = (
        when(with_attribute("value", "value", v("D.6"), xsi__type="TS"), lambda x: observation("22", x)),
        when(
            with_attribute("value", "value", v("D.2.2a"), unit="a", xsi__type="PQ"),
            lambda x: observation("3", x),
        ),
        when(
            with_attribute("value", "value", v("D.2.2.1a"), unit="wk", xsi__type="PQ"),
            lambda x: observation("16", x),
        ),
        when(with_attribute("value", "code", v("D.2.3"), xsi__type="CE"), lambda x: observation("4", x)),
        when(
            cause,
            lambda c: observation(
                "32", node("value", None, c, xsi__type="CE", code="10036807", codeSystem=MEDDRA)
            ),
        ),
        when(
            autopsy,
            lambda a: observation(
                "5",
                node("value", xsi__type="BL", value="true")
                + node(
                    "outboundRelationship2",
                    None,
                    observation("8", node("value", None, a, xsi__type="CE", codeSystem=MEDDRA)),
                    typeCode="DRIV",
                ),
            ),
        ),
        node("observation", None, reaction, classCode="OBS", moodCode="EVN"),
    )
    inner = (
        node("player1", None, player, classCode="PSN", determinerCode="INSTANCE")
        + node(
            "subjectOf1",
            None,
            node("researchStudy", None, study, classCode="CLNTRL", moodCode="EVN"),
            typeCode="SBJ",
        )
        + "".join(node("subjectOf2", None, o, typeCode="SBJ") for o in other if o)
        + history(v, "D.7.1.r.2", "D.7.1.r.4", "D.7.1.r.5", "D.7.2")
        + past_drug(v, "D.8.r.1", "D.8.r.4", "D.8.r.5")
        + organizer("3", node("observation", None, test, classCode="OBS", moodCode="EVN"))
        + drug(v, drug_id)
    )
    return node("subject1", None, node("primaryRole", None, inner, classCode="INVSBJ"), typeCode="SBJ")


def comment(v: Invention, element: str, author: str) -> str:
    value = maybe("value", v(element), xsi__type="ED")
    by = node(
        "author",
        None,
        node(
            "assignedEntity", None, node("code", code=author, codeSystem=f"{ICH}.1.21"), classCode="ASSIGNED"
        ),
        typeCode="AUT",
    )
    event = node("code", code="10", codeSystem=OBS, displayName="comment") + value + by
    return when(
        value,
        lambda _: node(
            "component1",
            None,
            node("observationEvent", None, event, classCode="OBS", moodCode="EVN"),
            typeCode="COMP",
        ),
    )


def assessment(v: Invention, drug_id: str, reaction_id: str) -> str:
    result, method, source = (
        maybe("value", v("G.k.9.i.2.r.3"), xsi__type="ST"),
        maybe("originalText", v("G.k.9.i.2.r.2")),
        maybe("originalText", v("G.k.9.i.2.r.1")),
    )
    inner = (
        node("code", code="39", codeSystem=OBS, displayName="causality")
        + result
        + when(method, lambda m: node("methodCode", None, m))
        + when(
            source,
            lambda s: node(
                "author",
                None,
                node("assignedEntity", None, node("code", None, s), classCode="ASSIGNED"),
                typeCode="AUT",
            ),
        )
        + node(
            "subject1",
            None,
            node(
                "adverseEffectReference", None, node("id", root=reaction_id), classCode="OBS", moodCode="EVN"
            ),
            typeCode="SUBJ",
        )
        + node(
            "subject2",
            None,
            node("productUseReference", None, node("id", root=drug_id), classCode="SBADM", moodCode="EVN"),
            typeCode="SUBJ",
        )
    )
    return node(
        "component",
        None,
        node("causalityAssessment", None, inner, classCode="OBS", moodCode="EVN"),
        typeCode="COMP",
    )


def role(code: str, drug_id: str) -> str:
    """The part that a drug plays: 1 = suspect, 2 = concomitant."""
    use = node("productUseReference", None, node("id", root=drug_id), classCode="SBADM", moodCode="EVN")
    inner = (
        node("code", code="20", codeSystem=OBS)
        + node("value", xsi__type="CE", code=code, codeSystem=f"{ICH}.1.13")
        + node("subject2", None, use, typeCode="SUBJ")
    )
    causality = node("causalityAssessment", None, inner, classCode="OBS", moodCode="EVN")
    return node("component", None, causality, typeCode="COMP")


def document(v: Invention, code: str, words: str, file: str) -> str:
    """A held document or a literature reference, with an embedded file."""
    tag = "title" if code == "1" else "bibliographicDesignationText"
    title, data = maybe(tag, v(words)), v(file)
    text = (
        ""
        if data is None
        else node(
            "text",
            None,
            node("reference", value="scan.pdf") + data,
            mediaType="application/pdf",
            representation="B64",
        )
    )
    inner = node("code", code=code, codeSystem=f"{ICH}.1.27") + (
        title + text if code == "1" else text + title
    )
    return node(
        "reference", None, node("document", None, inner, classCode="DOC", moodCode="EVN"), typeCode="REFR"
    )


def related(inner: str, code: str) -> str:
    event = node(
        "subjectOf2",
        None,
        node("controlActEvent", None, inner, classCode="CACT", moodCode="EVN"),
        typeCode="SUBJ",
    )
    return node(
        "outboundRelationship",
        None,
        node("relatedInvestigation", None, code + event, classCode="INVSTG", moodCode="EVN"),
        typeCode="SPRT",
    )


def author_of(entity: str) -> str:
    return node("author", None, node("assignedEntity", None, entity, classCode="ASSIGNED"), typeCode="AUT")


def r3_case(v: Invention) -> str:
    """One PORR_IN049016UV."""
    drug_id, reaction_id = uuid_of(v.rng), uuid_of(v.rng)
    reason = maybe("originalText", v("C.1.11.2"))
    duplicate, source = v("C.1.9.1.r.2"), v("C.1.9.1.r.1")
    other_id = (
        ""
        if duplicate is None
        else node("id", assigningAuthorityName=source, extension=duplicate, root=f"{ICH}.3.3")
    )
    if duplicate is None and source is not None:
        v.values.pop("C.1.9.1.r.1")
    linked = with_attribute("id", "extension", v("C.1.10.r"), root=f"{ICH}.3.2")
    summary = maybe("value", v("H.5.r.1a"), xsi__type="ED", language="eng")
    assessed = (
        patient(v, drug_id, reaction_id)
        + role("1", drug_id)
        + assessment(v, drug_id, reaction_id)
        + comment(v, "H.2", "3")
        + comment(v, "H.4", "1")
    )
    investigation = (
        with_attribute("id", "extension", v("C.1.1"), root=f"{ICH}.3.1")
        + with_attribute("id", "extension", v("C.1.8.1"), root=f"{ICH}.3.2")
        + node("code", code="PAT_ADV_EVNT", codeSystem="2.16.840.1.113883.5.4")
        + maybe("text", v("H.1"))
        + node("statusCode", code="active")
        + node("effectiveTime", None, with_attribute("low", "value", v("C.1.4")))
        + with_attribute("availabilityTime", "value", v("C.1.5"))
        + document(v, "1", "C.1.6.1.r.1", "C.1.6.1.r.2")
        + document(v, "2", "C.4.r.1", "C.4.r.2")
        + node(
            "component",
            None,
            node("adverseEventAssessment", None, assessed, classCode="INVSTG", moodCode="EVN"),
            typeCode="COMP",
        )
        + when(
            summary,
            lambda s: node(
                "component",
                None,
                node(
                    "observationEvent",
                    None,
                    node("code", code="36", codeSystem=OBS)
                    + s
                    + author_of(node("code", code="2", codeSystem=f"{ICH}.1.21")),
                    classCode="OBS",
                    moodCode="EVN",
                ),
                typeCode="COMP",
            ),
        )
        + when(linked, lambda x: related(x, node("code", nullFlavor="NA")))
        + related(author_of(person(v, REPORTER)), node("code", code="2", codeSystem=f"{ICH}.1.22"))
        + node(
            "subjectOf1",
            None,
            node(
                "controlActEvent",
                None,
                author_of(node("code", code="1", codeSystem=f"{ICH}.1.7") + person(v, SENDER)),
                classCode="CACT",
                moodCode="EVN",
            ),
            typeCode="SUBJ",
        )
        + when(
            other_id,
            lambda x: node(
                "subjectOf1",
                None,
                node("controlActEvent", None, x, classCode="CACT", moodCode="EVN"),
                typeCode="SUBJ",
            ),
        )
        + when(
            reason,
            lambda r: node(
                "subjectOf2",
                None,
                node(
                    "investigationCharacteristic",
                    None,
                    node("code", code="4", codeSystem=f"{ICH}.1.23") + node("value", None, r, xsi__type="CE"),
                    classCode="OBS",
                    moodCode="EVN",
                ),
                typeCode="SUBJ",
            ),
        )
    )
    act = (
        node("code", code="PORR_TE049016UV", codeSystem="2.16.840.1.113883.1.18")
        + with_attribute("effectiveTime", "value", v("C.1.2"))
        + node(
            "subject",
            None,
            node("investigationEvent", None, investigation, classCode="INVSTG", moodCode="EVN"),
            typeCode="SUBJ",
        )
    )
    inner = (
        with_attribute("id", "extension", v("N.2.r.1"), root=f"{ICH}.3.1")
        + with_attribute("creationTime", "value", v("N.2.r.4"))
        + node("interactionId", extension="PORR_IN049016UV", root="2.16.840.1.113883.1.6")
        + endpoint("receiver", v("N.2.r.3"), 12)
        + endpoint("sender", v("N.2.r.2"), 11)
        + node("controlActProcess", None, act, classCode="CACT", moodCode="EVN")
    )
    return node("PORR_IN049016UV", None, inner)


def endpoint(tag: str, value: str | None, oid: int) -> str:
    inner = with_attribute("id", "extension", value, root=f"{ICH}.3.{oid}")
    return node(
        tag,
        None,
        node("device", None, inner, classCode="DEV", determinerCode="INSTANCE"),
        typeCode="RCV" if tag == "receiver" else "SND",
    )


XMLNS = 'xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


def r3_batch(cases: Iterable[str], v: Invention) -> str:
    """A batch around cases."""
    head = (
        with_attribute("id", "extension", v("N.1.2"), root=f"{ICH}.3.22")
        + with_attribute("creationTime", "value", v("N.1.5"))
        + node("responseModeCode", code="D")
        + node("interactionId", extension="MCCI_IN200100UV01", root="2.16.840.1.113883.1.6")
        + node("name", code="1", displayName="ichicsr", codeSystem=f"{ICH}.1.1")
    )
    foot = endpoint("receiver", v("N.1.4"), 14) + endpoint("sender", v("N.1.3"), 13)
    location = 'xsi:schemaLocation="urn:hl7-org:v3 MCCI_IN200100UV01.xsd"'
    body = "\n".join(cases)
    return f'<MCCI_IN200100UV01 {XMLNS} ITSVersion="XML_1.0" {location}>\n{head}\n{body}\n{foot}\n</MCCI_IN200100UV01>\n'


R2_CASE = """safetyreport: safetyreportversion=1 safetyreportid@C.1.1 primarysourcecountry=SE occurcountry=SE transmissiondate@C.1.2
 reporttype=1 serious=1 seriousnessdeath=2 receivedate@C.1.4 receiptdate@C.1.5 additionaldocument=1 documentlist@C.1.6.1.r.1
 fulfillexpeditecriteria=1 companynumb@C.1.8.1 duplicate=1
 reportduplicate: duplicatesource@C.1.9.1.r.1 duplicatenumb@C.1.9.1.r.2 ;
 linkedreport: linkreportnumb@C.1.10.r ;
 casenullification=1 nullificationreason@C.1.11.2 medicallyconfirm=1
 primarysource: reportertitle@C.2.r.1.1 reportergivename@C.2.r.1.2 reportermiddlename@C.2.r.1.3 reporterfamilyname@C.2.r.1.4
  reporterorganization@C.2.r.2.1 reporterdepartment@C.2.r.2.2 reporterstreet@C.2.r.2.3 reportercity@C.2.r.2.4 reporterstate@C.2.r.2.5
  reporterpostcode@C.2.r.2.6 reportercountry@C.2.r.3 qualification=1 literaturereference@C.4.r.1 studyname@C.5.2 sponsorstudynumb@C.5.3 observestudytype=1 ;
 sender: sendertype=1 senderorganization@C.3.2 senderdepartment@C.3.3.1 sendertitle@C.3.3.2 sendergivename@C.3.3.3 sendermiddlename@C.3.3.4
  senderfamilyname@C.3.3.5 senderstreetaddress@C.3.4.1 sendercity@C.3.4.2 senderstate@C.3.4.3 senderpostcode@C.3.4.4 sendercountrycode@C.3.4.5
  sendertel@C.3.4.6 senderfax@C.3.4.7 senderemailaddress@C.3.4.8 ;
 receiver: receivertype=2 receiverorganization@A.3.2.2a receiverdepartment@A.3.2.2b receivertitle@A.3.2.2c receivergivename@A.3.2.2d
  receivermiddlename@A.3.2.2e receiverfamilyname@A.3.2.2f receiverstreetaddress@A.3.2.3a receivercity@A.3.2.3b receiverstate@A.3.2.3c
  receiverpostcode@A.3.2.3d receivercountrycode@A.3.2.3e receivertel@A.3.2.3f receiveremailaddress@A.3.2.3l ;
 patient: patientinitial@D.1 patientgpmedicalrecordnumb@D.1.1.1 patientspecialistrecordnumb@D.1.1.2 patienthospitalrecordnumb@D.1.1.3
  patientinvestigationnumb@D.1.1.4 patientbirthdate@D.2.1 patientonsetage@D.2.2a patientonsetageunit=801 gestationperiod@D.2.2.1a gestationperiodunit=803 patientagegroup@D.2.3 patientweight=70.5 patientsex=2
  patientlastmenstrualdate@D.6 patientmedicalhistorytext@D.7.2 resultstestsprocedures@F.r.3.4
  medicalhistoryepisode: patientepisodenamemeddraversion=20.1 patientepisodename=10012431 patientmedicalstartdate@D.7.1.r.2
   patientmedicalcontinue=1 patientmedicalenddate@D.7.1.r.4 patientmedicalcomment@D.7.1.r.5 ;
  patientpastdrugtherapy: patientdrugname@D.8.r.1 patientdrugstartdate@D.8.r.4 patientdrugenddate@D.8.r.5 ;
  patientdeath: patientdeathdate@D.9.1 patientautopsyyesno=1 patientdeathcause: patientdeathreport@D.9.2.r.2 ; patientautopsy: patientdetermineautopsy@D.9.4.r.2 ; ;
  parent: parentidentification@D.10.1 parentbirthdate@D.10.2.1 parentage@D.10.2.2a parentageunit=801 parentlastmenstrualdate@D.10.3 parentsex=2
   parentmedicalrelevanttext@D.10.7.2
   parentmedicalhistoryepisode: parentmedicalstartdate@D.10.7.1.r.2 parentmedicalenddate@D.10.7.1.r.4 parentmedicalcomment@D.10.7.1.r.5 ;
   parentpastdrugtherapy: parentdrugname@D.10.8.r.1 parentdrugstartdate@D.10.8.r.4 parentdrugenddate@D.10.8.r.5 ; ;
  reaction: primarysourcereaction@E.i.1.1a reactionmeddraversionllt=20.1 reactionmeddrallt=10037844 termhighlighted=3 reactionstartdate@E.i.4 reactionenddate@E.i.5 reactionoutcome=1 ;
  test: testdate@F.r.1 testname@F.r.2.1 testresult=7.4 lowtestrange=1 moreinformation=2 ;
  drug: drugcharacterization=1 medicinalproduct@G.k.2.2 obtaindrugcountry=SE drugbatchnumb@G.k.4.r.7 drugauthorizationnumb@G.k.3.1
   drugauthorizationcountry=SE drugauthorizationholder@G.k.3.3 drugstructuredosagenumb=20 drugstructuredosageunit=003 drugdosagetext@G.k.4.r.8
   drugdosageform@G.k.4.r.9.1 drugadministrationroute=048 drugindication@G.k.7.r.1 drugstartdate@G.k.4.r.4 drugenddate@G.k.4.r.5 actiondrug=1
   reactiongestationperiod@G.k.6a reactiongestationperiodunit=803
   drugadditional@G.k.11 activesubstance: activesubstancename@G.k.2.3.r.1 ;
   drugreactionrelatedness: drugreactionasses=10037844 drugassessmentsource@G.k.9.i.2.r.1 drugassessmentmethod@G.k.9.i.2.r.2 drugresult@G.k.9.i.2.r.3 ; ;
  summary: narrativeincludeclinical@H.1 reportercomment@H.2 senderdiagnosis=10037844 sendercomment@H.4 ; ; ;"""

R2_HEADER = """ichicsrmessageheader: messagetype=ichicsr messageformatversion=2.1 messageformatrelease=1.0 messagenumb@N.1.2
 messagesenderidentifier@N.1.3 messagereceiveridentifier@N.1.4 messagedate@N.1.5 ;"""

R2_FORMATS = {4: "602", 6: "610", 8: "102"}


def r2_tree(plan: str, v: Invention) -> str:
    """XML from a plan: `name: ... ;` is an element, `name=text` a code, `name@id` a known element."""
    words = iter(plan.split())
    return "\n".join(_r2_nodes(words, v))


def _r2_nodes(words: Iterable[str], v: Invention) -> Iterable[str]:
    for word in words:
        if word == ";":
            return
        if word.endswith(":"):
            yield node(word[:-1], None, "\n" + "\n".join(_r2_nodes(words, v)) + "\n")
        elif "=" in word:
            name, text = word.split("=")
            yield node(name, text)
        else:
            name, element = word.split("@")
            yield _r2_leaf(name, v(element))


def _r2_leaf(name: str, value: str | None) -> str:
    if value is None:
        return node(name)
    if not name.endswith("date"):
        return node(name, value)
    beside = {"patientlastmenstrualdate": "lastmenstrualdateformat"}.get(name, f"{name}format")
    return node(beside, R2_FORMATS[len(value)]) + node(name, value)


R2_DOCTYPE = "<!DOCTYPE ichicsr SYSTEM 'icsr21xml.dtd'>"


def r2_case(v: Invention) -> str:
    """One safetyreport."""
    return r2_tree(R2_CASE, v)


def r2_batch(cases: Iterable[str], v: Invention) -> str:
    """An ichicsr file around cases."""
    return f'<ichicsr lang="en">\n{r2_tree(R2_HEADER, v)}\n' + "\n".join(cases) + "\n</ichicsr>\n"


@dataclass(frozen=True)
class Invented:
    """A message and what stands in it.

    Args:
        xml: The message without XML declaration.
        cases: For every case the values by element id.
        batch: The values around the cases.
    """

    xml: str
    cases: tuple[dict[str, list[str]], ...]
    batch: dict[str, list[str]]

    @property
    def data(self) -> bytes:
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{self.xml}'.encode()


def invent(
    dialect: str,
    n_cases: int = 1,
    *,
    seed: int = 1,
    share: float = 1.0,
    given: Mapping[str, str | None] | None = None,
) -> Invented:
    """A batch of invented cases.

    Args:
        dialect: r3 or r2.
        n_cases: How many.
        seed: Of all chance.
        share: How many of the optional elements are filled.
        given: Values to use in every case, by element id; None = leave the element out.
    """
    rng = random.Random(seed)
    given = {"C.1.6.1.r.2": "SmFuZSBEb2U=", "C.4.r.2": "SmFuZSBEb2U=", **(given or {})}
    write, frame = (r3_case, r3_batch) if dialect == "r3" else (r2_case, r2_batch)
    around = Invention(rng, 1.0, given)
    inventions = [Invention(rng, share, given) for _ in range(n_cases)]
    xml = frame([write(invention) for invention in inventions], around)
    return Invented(xml, tuple(invention.values for invention in inventions), around.values)
