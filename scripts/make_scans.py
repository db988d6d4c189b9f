"""Draw made-up scans of case reports, to measure how they are read: twenty pages, askew, stamped, faxed.

    python scripts/make_scans.py FOLDER

Each page is an invented case as a form with boxes, a letter or a fax. It is rendered at the resolution of a
scanner and then harmed: turned, spotted, stamped, blurred, bleached, or sent by fax. FOLDER gets the pictures
and `truth.json`: the text of each, what of it identifies somebody, and which words are drugs and reactions.

The same version of PDFium draws the same pictures. Needs the extras `office` and `scans`.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pypdfium2
from PIL import Image, ImageFilter
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

Page = npt.NDArray[np.uint8]
"""A grey page, (height, width), 255 = white."""

_WIDTH, _HEIGHT = 595.0, 842.0  # A4
_PEOPLE = (
    "José Núñez|12/03/1961|Calle Mayor 14, 28013 Madrid|"
    "+34 91 555 0142|4471922|Dr. Inés Peña|Hospital San Telmo",
    "Greta Weiß|07.11.1948|Lindenstraße 5, 35390 Gießen|"
    "+49 641 555 0178|MR-88120|Dr. Jürgen Groß|Klinikum Lahntal",
    "Amélie Lefèvre|23 May 1975|8 rue des Écoles, 69003 Lyon|"
    "+33 4 55 50 12 88|20993817|Dr. René Dubé|Hôpital Saint-Aubin",
    "Amara Okonkwo|02-FEB-1983|12 Larch Road, Leeds LS6 2QT|"
    "0113 496 0771|943 476 5919|Dr. Priya Raman|Northmoor Infirmary",
    "Søren Ødegård|30/08/1957|Fjordveien 22, 5003 Bergen|"
    "+47 55 55 01 99|300857 41183|Dr. Liv Brekke|Haraldsplass sykehus",
    "Wilhelmina Baptiste|14 Dec 1939|77 Prospect Ave, Dayton, OH 45402|"
    "(937) 555-0163|MRN 6620418|Dr. Carl Whitcombe|Riverbend Medical Center",
    "Chiara Bellucci|19/06/1990|Via Garibaldi 31, 40121 Bologna|"
    "+39 051 555 0110|BLCCHR90H59|Dr. Luca Moretti|Ospedale Santa Chiara",
    "Zoltán Kovács|01.04.1966|Kossuth utca 9, 6720 Szeged|"
    "+36 62 555 014|044 112 871|Dr. Ágnes Szabó|Tisza-parti Kórház",
    "Hannah Vandermeer|11-09-1972|Keizersgracht 210, 1016 DZ Amsterdam|"
    "020 555 0134|7725519|Dr. Joost Akkerman|Sint Lucas Ziekenhuis",
    "Tobias Lindqvist|26/01/2004|Storgatan 40, 582 23 Linköping|"
    "013-555 01 27|20040126-2391|Dr. Elsa Nyberg|Vrinnevi sjukhus",
)
_EVENTS = (
    "amoxicillin 500 mg three times daily|bacterial sinusitis|"
    "maculopapular rash, pruritus|prednisolone 40 mg",
    "methotrexate 15 mg weekly|rheumatoid arthritis|pancytopenia, mucositis|folinic acid 15 mg",
    "carbamazepine 200 mg twice daily|epilepsy|Stevens-Johnson syndrome, fever|cetirizine 10 mg",
    "warfarin 5 mg once daily|atrial fibrillation|haematuria, epistaxis|phytomenadione 2 mg",
    "ciprofloxacin 250 mg twice daily|cystitis|tendon rupture, arthralgia|ibuprofen 400 mg",
    "lisinopril 10 mg once daily|hypertension|angioedema, dyspnoea|adrenaline 0.5 mg",
    "infliximab 5 mg/kg|Crohn disease|anaphylaxis, hypotension|hydrocortisone 100 mg",
    "clozapine 300 mg daily|schizophrenia|agranulocytosis, pneumonia|filgrastim 300 mcg",
    "metformin 850 mg twice daily|type 2 diabetes|lactic acidosis, vomiting|insulin glargine 12 units",
    "atorvastatin 40 mg once daily|hypercholesterolaemia|rhabdomyolysis, myalgia|paracetamol 500 mg",
)


@dataclass(frozen=True, slots=True)
class Case:
    """An invented case: who it is about, and what happened."""

    name: str
    birth: str
    address: str
    phone: str
    number: str
    doctor: str
    hospital: str
    drug: str  # with its dose
    indication: str
    reactions: str
    treatment: str  # with its dose
    seen: str  # a date

    @property
    def identifying(self) -> list[str]:
        """The texts that identify somebody, as they are printed, longer ones first."""
        texts = (self.name, self.birth, self.address, self.phone, self.number, self.seen, self.hospital)
        parts = (self.doctor.removeprefix("Dr. "), self.hospital[:20], *self.name.split())
        return sorted({*texts, *parts}, key=len, reverse=True)

    @property
    def clinical(self) -> list[str]:
        """The words of drugs and reactions."""
        return [self.drug.split()[0], *self.reactions.replace(",", "").split(), self.treatment.split()[0]]

    @property
    def story(self) -> str:
        first, _, second = self.reactions.partition(", ")
        return (
            f"The patient received {self.drug} for {self.indication}. Two days after the first dose, "
            f"{first} and {second} were noted. {self.doctor} of {self.hospital} stopped the treatment on "
            f"{self.seen} and gave {self.treatment}. The {first} resolved within one week, and the "
            f"{second} was resolving at the last visit. The reporter considered both events related to "
            f"{self.drug.split()[0]}. Past history included asthma and chronic kidney disease. "
            f"{self.name.split()[0]} did not take any other medicines and had no known allergies."
        )


def list_cases() -> list[Case]:
    """Return the twenty cases: each person with two events."""
    cases = []
    for number in range(20):
        person = _PEOPLE[number % 10].split("|")
        event = _EVENTS[(3 * number + number // 10) % 10].split("|")
        cases.append(Case(*person, *event, seen=f"{3 + number} {('March', 'June')[number % 2]} 2024"))
    return cases


def draw_form(case: Case, canvas: Canvas, font: str) -> None:
    """Draw a form of boxes with small labels, as those of CIOMS and MedWatch."""
    canvas.setFont("Helvetica-Bold", 13)
    canvas.drawString(50, 790, "SUSPECT ADVERSE REACTION REPORT")
    rows = (
        (("1. PATIENT NAME", case.name), ("1a. DATE OF BIRTH", case.birth)),
        (("2. ADDRESS", case.address), ("2a. TELEPHONE", case.phone)),
        (("3. RECORD NUMBER", case.number), ("4. DATE OF REPORT", case.seen)),
        (("5. SUSPECT DRUG AND DOSE", case.drug), ("6. INDICATION FOR USE", case.indication)),
        (("7. REACTIONS", case.reactions), ("8. TREATMENT", case.treatment)),
        (("9. REPORTER", case.doctor), ("10. INSTITUTION", case.hospital)),
    )
    y = 770.0
    for row in rows:
        y -= 44
        for column, (label, value) in enumerate(row):
            x = 50 + 270 * column
            canvas.rect(x, y, 270 if not column else 230, 44)
            canvas.setFont("Helvetica", 7)
            canvas.drawString(x + 4, y + 34, label)
            canvas.setFont(font, 11)
            canvas.drawString(x + 6, y + 12, value)
    canvas.rect(50, y - 190, 500, 190)
    canvas.setFont("Helvetica", 7)
    canvas.drawString(54, y - 10, "11. DESCRIBE REACTIONS (INCLUDING RELEVANT TESTS AND LABORATORY DATA)")
    _draw_lines(canvas, case.story, font, 11, (56, y - 26, 488))
    for number, label in enumerate(("DEATH", "LIFE THREATENING", "HOSPITALISATION", "OTHER")):
        canvas.rect(60 + 120 * number, y - 220, 9, 9)
        canvas.setFont("Helvetica", 8)
        canvas.drawString(74 + 120 * number, y - 218, label)
    canvas.line(62, y - 219, 67, y - 213)


def draw_letter(case: Case, canvas: Canvas, font: str) -> None:
    """Draw a letter of a doctor."""
    canvas.setFont(font, 12)
    lines = (case.hospital, "Department of Internal Medicine", "", f"Date: {case.seen}", "")
    about = (f"Re: {case.name}, born {case.birth}", f"{case.address}", f"Record number: {case.number}", "")
    y = 780.0
    for line in (*lines, *about, "Dear colleague,", ""):
        canvas.drawString(70, y, line)
        y -= 17
    y = _draw_lines(canvas, case.story, font, 12, (70, y, 455))
    for line in ("", f"You can reach me at {case.phone}.", "", "Yours sincerely,", "", case.doctor):
        canvas.drawString(70, y, line)
        y -= 17


def draw_fax(case: Case, canvas: Canvas, font: str) -> None:
    """Draw a fax with a line of the machine on top and a table of fields."""
    canvas.setFont("Courier", 9)
    canvas.drawString(40, 822, f"FROM: {case.hospital[:20]}   FAX {case.phone}   {case.seen}  09:41  P.01")
    canvas.setFont(font, 16)
    canvas.drawString(60, 780, "DRUG SAFETY FAX")
    y = 750.0
    for label, value in (
        ("Patient", case.name), ("Date of birth", case.birth), ("Address", case.address),
        ("Chart no.", case.number), ("Drug", case.drug), ("Indication", case.indication),
        ("Reactions", case.reactions), ("Treatment", case.treatment), ("Reporter", case.doctor),
    ):  # fmt: skip
        canvas.setFont(font, 12)
        canvas.drawString(60, y, f"{label}:")
        canvas.drawString(180, y, value)
        y -= 20
    _draw_lines(canvas, case.story, font, 12, (60, y - 14, 470))


def _draw_lines(
    canvas: Canvas, text: str, font: str, size: float, place: tuple[float, float, float]
) -> float:
    x, y, width = place
    canvas.setFont(font, size)
    for line in simpleSplit(text, font, size, width):
        canvas.drawString(x, y, line)
        y -= 1.4 * size
    return y


def draw_stamp(canvas: Canvas, x: float, y: float, degrees: float) -> None:
    """Stamp a page, in grey, beside and over its text."""
    canvas.saveState()
    canvas.translate(x, y)
    canvas.rotate(degrees)
    canvas.setStrokeGray(0.45)
    canvas.setFillGray(0.45)
    canvas.setLineWidth(2)
    canvas.roundRect(-70, -20, 140, 40, 6)
    canvas.setFont("Helvetica-Bold", 18)
    canvas.drawCentredString(0, -6, "RECEIVED")
    canvas.restoreState()


def render(draw: Callable[[Canvas], None], dpi: int) -> tuple[Page, str]:
    """Return what is drawn as a grey page, and its text."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=(_WIDTH, _HEIGHT), invariant=1)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    pdf = pypdfium2.PdfDocument(target.getvalue())
    try:
        picture = pdf[0].render(scale=dpi / 72, grayscale=True).to_pil().convert("L")
        return np.array(picture), pdf[0].get_textpage().get_text_range()
    finally:
        pdf.close()


def turn(page: Page, degrees: float) -> Page:
    """Turn a page by a few degrees, as a scanner does."""
    picture = Image.fromarray(page).rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
    return np.array(picture)


def spot(page: Page, rng: np.random.Generator, share: float) -> Page:
    """Blacken and whiten a share of the pixels."""
    noise = rng.random(page.shape)
    page = np.where(noise < share, 0, page)
    return np.where(noise > 1 - share / 2, 255, page).astype(np.uint8)


def bleach(page: Page, rng: np.random.Generator) -> Page:
    """Fade the ink, shade the paper from one side, and add the grain of a camera."""
    shade = np.linspace(0.72, 1.0, page.shape[1])[None, :]
    faded = (95 + page.astype(np.float64) * (160 / 255)) * shade + rng.normal(0, 6, page.shape)
    return np.clip(faded, 0, 255).astype(np.uint8)


def blur(page: Page, radius: float) -> Page:
    """Blur a page, as an old copier does."""
    return np.array(Image.fromarray(page).filter(ImageFilter.GaussianBlur(radius)))


def fax(page: Page, rng: np.random.Generator) -> Page:
    """Send a page of 200 dpi by fax: black and white, with spots and some broken rows."""
    sent = np.where(spot(page, rng, 0.004) < 150, 0, 255).astype(np.uint8)
    for row in rng.integers(0, page.shape[0], 6):
        sent[row] = 255
    return sent


def make_scan(number: int, case: Case) -> tuple[Page, str]:
    """Return the scan of a case and its text: layout, font, resolution and harm depend on its number."""
    rng = np.random.default_rng(1000 + number)
    layout = (draw_form, draw_letter, draw_fax)[number % 3]
    font = ("Helvetica", "Times-Roman", "Courier")[number // 3 % 3]
    dpi = (150, 200, 300)[number % 3] if number % 3 != 2 else 200

    def draw(canvas: Canvas) -> None:
        layout(case, canvas, font)
        if number % 2:
            draw_stamp(canvas, 430, 330 - 8 * number, 18)
        if number % 5 == 0:
            draw_stamp(canvas, 210, 500, -9)

    page, text = render(draw, dpi)
    page = turn(page, (-1.8, 1.2, 0.6, -0.9, 2.4, -2.6, 0.0)[number % 7])
    harm: Mapping[int, Callable[[], Page]] = {
        0: lambda: spot(page, rng, 0.04),
        1: lambda: bleach(page, rng),
        2: lambda: fax(page, rng),
        3: lambda: blur(page, 1.1),
        4: lambda: spot(page, rng, 0.12),
    }
    return harm[number % 5](), text


def make_scans(folder: Path) -> list[dict[str, Any]]:
    """Write the twenty scans and return what is on each."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = []
    for number, case in enumerate(list_cases()):
        page, text = make_scan(number, case)
        suffix = (".png", ".jpg", ".tif")[number % 3]
        name = f"scan-{number + 1:02}{suffix}"
        options: dict[str, Any] = {".jpg": {"quality": 70}}.get(suffix, {})
        if suffix == ".tif":
            bits = Image.fromarray(page).convert("1", dither=Image.Dither.NONE)
            bits.save(folder / name, compression="group4", dpi=(200, 200))
        else:
            Image.fromarray(page).save(folder / name, **options)
        truth.append({"file": name, "identifying": case.identifying, "clinical": case.clinical, "text": text})
    (folder / "truth.json").write_text(json.dumps(truth, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return truth


if __name__ == "__main__":
    make_scans(Path(sys.argv[1]))
