"""Score masks against marked identifiers. It shares no code with the project's own evaluation.

    python scripts/score.py GOLD.jsonl MASKED.jsonl

GOLD has lines {"id", "text", "spans": [{"start", "end", "type"}]}, and MASKED {"id", "masks": [[start, end],
...]}, with half-open code-point offsets in the original text. A token is a longest run of letters and digits.
A gold token is one within a gold span. It is recalled if masks cover all of it. Precision is the share of the
masked tokens that overlap a gold span. A token is masked if a mask touches it. Prints JSON, without narrative
text.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TOKEN = re.compile(r"[^\W_]+")
PEOPLE = frozenset({"PATIENT", "DOCTOR", "RELATIVE", "NAME"})
NOT_HIPAA = frozenset({"AGE", "DOCTOR", "USERNAME", "PROFESSION", "HOSPITAL", "STATE", "COUNTRY"})
"""Types that the figure of HIPAA categories leaves out, as the 2014 i2b2 task did."""


def positions(ranges: Iterable[tuple[int, int]]) -> set[int]:
    """Return the offsets within half-open ranges."""
    return {offset for start, end in ranges for offset in range(start, end)}


def count_document(doc: Mapping[str, Any], masks: Iterable[tuple[int, int]], counts: Counter[Any]) -> None:
    """Add what one document contributes: gold tokens by type and outcome, and tokens by kind."""
    hidden = positions(masks)
    n_lost = 0
    for span in doc["spans"]:
        for token in TOKEN.finditer(doc["text"], span["start"], span["end"]):
            recalled = hidden.issuperset(range(*token.span()))
            n_lost += not recalled
            counts["gold", span["type"], recalled] += 1
            if span["type"] in PEOPLE and len(token[0]) <= 3:
                counts["short name", recalled] += 1
    if doc["spans"]:
        counts["document", not n_lost] += 1
    identifying = positions((span["start"], span["end"]) for span in doc["spans"])
    for token in TOKEN.finditer(doc["text"]):
        touched = range(*token.span())
        counts["token", not identifying.isdisjoint(touched), not hidden.isdisjoint(touched)] += 1


def share(part: int, rest: int) -> float | None:
    """Return `part` of `part + rest` with six decimals, None of nothing."""
    return round(part / (part + rest), 6) if part + rest else None


def score(
    gold: Iterable[Mapping[str, Any]], masks: Mapping[str, Iterable[tuple[int, int]]]
) -> dict[str, Any]:
    """Return the figures of all documents.

    Raises:
        KeyError: A gold document has no masks.
    """
    counts: Counter[Any] = Counter()
    n_documents = 0
    for doc in gold:
        n_documents += 1
        count_document(doc, masks[doc["id"]], counts)
    types = sorted({key[1] for key in counts if key[0] == "gold"})
    by_type = {name: (counts["gold", name, True], counts["gold", name, False]) for name in types}
    hipaa = [pair for name, pair in by_type.items() if name not in NOT_HIPAA]
    n_recalled, n_lost = (sum(pair[at] for pair in by_type.values()) for at in (0, 1))
    n_safe_kept, n_safe_masked = counts["token", False, False], counts["token", False, True]
    return {
        "documents": n_documents,
        "phi_tokens": n_recalled + n_lost,
        "safe_tokens": n_safe_kept + n_safe_masked,
        "recall_all": share(n_recalled, n_lost),
        "recall_hipaa": share(sum(pair[0] for pair in hipaa), sum(pair[1] for pair in hipaa)),
        "precision": share(counts["token", True, True], n_safe_masked),
        "safe_kept": share(n_safe_kept, n_safe_masked),
        "documents_without_leak": share(counts["document", True], counts["document", False]),
        "recall_short_names": share(counts["short name", True], counts["short name", False]),
        "by_type": {name: [share(*pair), sum(pair)] for name, pair in by_type.items()},
    }


def main(gold: Path, masked: Path) -> None:
    """Print the figures of a file of masks."""
    with gold.open(encoding="utf-8") as gold_lines, masked.open(encoding="utf-8") as masked_lines:
        masks = {line["id"]: line["masks"] for line in map(json.loads, masked_lines)}
        try:
            print(json.dumps(score(map(json.loads, gold_lines), masks), indent=1))
        except KeyError as error:
            raise SystemExit(f"{masked}: no masks of document {error}") from None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
