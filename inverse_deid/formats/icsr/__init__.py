"""Individual case safety reports: ICH E2B(R3) and E2B(R2) messages, case by case (docs/icsr.md).

`messages` reads, `writing` writes, `cases` is one case, `profiles` says what happens to its
structured fields, `checks` refuses what must not be written, `masking` does all of it in a row.
"""
