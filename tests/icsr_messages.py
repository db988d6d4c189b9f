"""Invented E2B messages, R3 and R2, with any number of cases and any share of the known elements.

Everything in them is made up for the tests; the structure follows the ICH implementation
guide. `invent` fills an element, `values` says what was put where.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from lxml import etree

from inverse_deid.formats.icsr.standard.elements import ElementKind, elements
from inverse_deid.formats.icsr.standard.profiles import FieldAction, Profile

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


XMLNS = 'xmlns="urn:hl7-org:v3" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
R3_MESSAGE = etree.parse(
    Path(__file__).with_name("icsr_message_r3.xml"), etree.XMLParser(remove_blank_text=True)
).getroot()
R3_CASE = "PORR_IN049016UV"
PLACE = re.compile(r"(.*)\{([\w.]+)\}")


def fill(template: etree._Element, value: Callable[[str], str | None]) -> etree._Element:
    """Fill the places `{id}` of a template. A place without a value leaves nothing.

    An element whose own places are all empty is taken out, and so is one that is `optional` and contains no filled
    place. An element with `unless` is taken out if that place is filled.
    """
    root = deepcopy(template)
    filled, empty, names = set(), set(), set()
    for place in root.xpath(".//@*[contains(., '{')] | .//text()[contains(., '{')]"):
        before, name = PLACE.fullmatch(place).groups()
        found = value(name)
        text = None if found is None else before + found
        owner = place.getparent()
        if not place.is_attribute:
            setattr(owner, "tail" if place.is_tail else "text", text)
        elif text is None:
            del owner.attrib[place.attrname]
        else:
            owner.set(place.attrname, text)
        names |= set() if text is None else {name}
        (empty if text is None else filled).add(owner.getparent() if place.is_tail else owner)
    without = [
        one for one in root.iter() if one.attrib.pop("optional", None) and filled.isdisjoint(one.iter())
    ]
    instead = [one for one in root.iter() if one.attrib.pop("unless", None) in names]
    for element in {*without, *instead, *(empty - filled)}:
        element.getparent().remove(element)
    return root


def as_part(element: etree._Element) -> str:
    """An element as it is written within a message, which declares the names of its XML."""
    return etree.tostring(element, encoding="unicode").replace(f" {XMLNS}", "", 1)


def uuid_of(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def r3_part(v: Invention, name: str) -> str:
    """The first element with this name of an R3 message, with invented values."""
    ids = {"drug": uuid_of(v.rng), "reaction": uuid_of(v.rng)}
    return as_part(fill(next(R3_MESSAGE.iter(f"{{*}}{name}")), lambda place: ids.get(place) or v(place)))


def r3_case(v: Invention) -> str:
    """One PORR_IN049016UV."""
    return r3_part(v, R3_CASE)


def r3_batch(cases: Iterable[str], v: Invention) -> str:
    """A batch around cases."""
    around = deepcopy(R3_MESSAGE)
    (case,) = around.iterfind(f"{{*}}{R3_CASE}")
    around.replace(case, etree.Comment("cases"))
    around = fill(around, v)
    return (
        etree.tostring(around, encoding="unicode").replace("<!--cases-->", "\n".join(["", *cases, ""])) + "\n"
    )


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


def node(tag: str, inner: str = "") -> str:
    return f"<{tag}>{inner}</{tag}>" if inner else f"<{tag}/>"


def r2_tree(plan: str, v: Invention) -> str:
    """XML from a plan: `name: ... ;` is an element, `name=text` a code, `name@id` a known element."""
    words = iter(plan.split())
    return "\n".join(_r2_nodes(words, v))


def _r2_nodes(words: Iterable[str], v: Invention) -> Iterable[str]:
    for word in words:
        if word == ";":
            return
        if word.endswith(":"):
            yield node(word[:-1], "\n" + "\n".join(_r2_nodes(words, v)) + "\n")
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
        return node(name, escape(value))
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
