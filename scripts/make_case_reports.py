"""Write an invented E2B batch of any size, and its narratives as JSON Lines, to measure speed and memory.

    python scripts/make_case_reports.py r3 500 CASES.xml NARRATIVES.jsonl

Each case has about 50 kB; the narratives are those of its element H.1, so that
`inverse-deid mask NARRATIVES.jsonl` is the plain-text speed that CASES.xml is held against.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from icsr_messages import Invention, r2_batch, r2_case, r3_batch, r3_case

SENTENCES = (
    "The patient developed urticaria and a fever of 38.9 C two hours after the second dose.",
    "Cetirizine 10 mg was given with relief, and the rash resolved within 3 days.",
    "Laboratory values on {date} showed ALT 88 U/L, creatinine 1.1 mg/dL and normal platelets.",
    "Seen by Dr. {name} on {date}; blood pressure 128/84, pulse 104, oxygen saturation 97 percent.",
    "The reporter considered the event possibly related to the vaccine, and it was not serious.",
    "Past history included asthma, hypertension and an allergy to penicillin since childhood.",
)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
CHARS_A_CASE = 25_000


def narrative(rng: random.Random, name: str) -> str:
    words: list[str] = []
    n_chars = 0
    while n_chars < CHARS_A_CASE:
        day = f"{rng.randrange(1, 29)}-{rng.choice(MONTHS)}-2019"
        words.append(rng.choice(SENTENCES).format(date=day, name=name))
        n_chars += len(words[-1]) + 1
    return " ".join(words)


def main(dialect: str, n_cases: str, xml: str, lines: str) -> None:
    write, frame = (r3_case, r3_batch) if dialect == "r3" else (r2_case, r2_batch)
    rng = random.Random(1)
    start, end = frame(["@@@"], Invention(rng)).split("@@@")
    with Path(xml).open("w", encoding="utf-8") as cases, Path(lines).open("w", encoding="utf-8") as texts:
        cases.write('<?xml version="1.0" encoding="UTF-8"?>\n' + start)
        for number in range(int(n_cases)):
            text = narrative(rng, "Okonkwo")
            given = {"H.1": text[: 19_000 if dialect == "r2" else None], "C.1.6.1.r.2": None, "C.4.r.2": None}
            cases.write(write(Invention(rng, 0.8, given)) + "\n")
            texts.write(json.dumps({"id": number, "text": given["H.1"]}) + "\n")
        cases.write(end)


if __name__ == "__main__":
    main(*sys.argv[1:])
