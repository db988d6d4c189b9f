"""Why each token was kept or masked, one JSON line a document (with several text columns: a text).

`{"id", "tokens": [{"start", "end", "decision", "reason", "p_safe", "threshold"}]}`
with code-point offsets of the original text. `p_safe` null: the network gave no
value. `threshold` null: nothing could have kept the token. No text, unless it
was asked for: then each token has a `text`, and the file is as confidential as
the original.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.formats.records import Record, Writable

N_DECIMALS = 7
"""As many as single precision tells apart near 1, where the thresholds lie."""


@dataclass(frozen=True, slots=True)
class ExplanationSink:
    """Writes explanations (a `Sink`)."""

    target: Writable = field(repr=False)
    with_text: bool = False

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the line of each text; where records have several, it names the column."""
        for number, one in enumerate(masked):
            doc_id = record.carried[0] if record.carried and isinstance(record.carried[0], int) else one.id
            column = {"column": record.columns[number]} if record.columns else {}
            line = {"id": doc_id, **column, "tokens": list(explain(one, with_text=self.with_text))}
            self.target.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def finish(self) -> None:
        """Nothing follows the last line."""


def explain(masked: MaskedDocument, *, with_text: bool = False) -> Iterator[dict[str, object]]:
    """One dictionary a token, in text order."""
    tokens, decisions = masked.tokens, masked.decisions
    columns = zip(
        tokens.words,
        tokens.starts.tolist(),
        tokens.ends.tolist(),
        decisions.reasons.tolist(),
        decisions.p_safe.tolist(),
        decisions.thresholds.tolist(),
        strict=True,
    )
    for keep, (word, start, end, reason, p_safe, threshold) in zip(
        decisions.keep.tolist(), columns, strict=True
    ):
        token: dict[str, object] = {
            "start": start,
            "end": end,
            "decision": "keep" if keep else "mask",
            "reason": Reason(reason).name,
            "p_safe": _finite(p_safe),
            "threshold": _finite(threshold),
        }
        if with_text:
            token["text"] = word
        yield token


def _finite(value: float) -> float | None:
    return round(value, N_DECIMALS) if math.isfinite(value) else None
