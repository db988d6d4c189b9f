"""Explanations: the decision on each word, one JSON line per document (or per text, if a case has several).

Without the original text: `{"id", "failed", "words": [{"start", "end", "decision", "category"}]}`, with
offsets in the *masked* text. A marker is one word, also if it replaces several words. `category` is the
suspected category of a marker, null = unknown. `failed`: the document could not be analysed and was masked
completely.

With the original text: `{"id", "tokens": [{"start", "end", "decision", "reason", "p_safe", "threshold",
"text"}]}`, with offsets in the original. `p_safe` null: the network gave no value. `threshold` null: the
token is always masked. Such a file is as confidential as the original.

The first kind depends only on the masked text and the suspected categories. A reader with the model could try
a list of names for a marker: a probability, a threshold, a rare reason or the length of the word would reveal
the name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from inverse_deid.core.values import MaskedDocument, Reason
from inverse_deid.formats.records import Record, Writable

N_DECIMALS = 7
"""Single precision distinguishes this many near 1, where the thresholds are."""


@dataclass(frozen=True, slots=True)
class ExplanationSink:
    """Writes explanations (a `Sink`)."""

    target: Writable = field(repr=False)
    with_text: bool = False

    def write(self, record: Record, masked: Sequence[MaskedDocument]) -> None:
        """Write the line of each text; if records have several texts, it names the column."""
        for number, one in enumerate(masked):
            doc_id = record.carried[0] if record.carried and isinstance(record.carried[0], int) else one.id
            line: dict[str, object] = {"id": doc_id}
            if record.columns:
                line["column"] = record.columns[number]
            if self.with_text:
                line["tokens"] = list(explain_tokens(one))
            else:
                line |= {"failed": one.failed, "words": list(explain_words(one))}
            self.target.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def finish(self) -> None:
        """Nothing follows the last line."""


def explain_words(masked: MaskedDocument) -> Iterator[dict[str, object]]:
    """Yield one dictionary per word or marker of the masked text, in text order.

    Example:
        >>> from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
        >>> from inverse_deid.core.values import Document
        >>> deidentifier = build_deidentifier(MaskingSettings(rules_only=True))
        >>> for word in explain_words(deidentifier.mask(Document("1", "Mr. Amara Okonkwo had"))):
        ...     print(word)
        {'start': 0, 'end': 2, 'decision': 'keep', 'category': None}
        {'start': 4, 'end': 7, 'decision': 'mask', 'category': None}
        {'start': 8, 'end': 11, 'decision': 'keep', 'category': None}
    """
    tokens, decisions = masked.tokens, masked.decisions
    starts, ends, keep = tokens.starts.tolist(), tokens.ends.tolist(), decisions.keep.tolist()
    next_token = shift = 0
    past_the_end = (len(tokens.text), len(tokens.text))
    masks = zip((*masked.masks, past_the_end), (*masked.replaced, past_the_end), strict=True)
    for (start, end), (shown, stop) in masks:
        while next_token < len(tokens) and ends[next_token] <= start:
            if keep[next_token]:
                yield _word(starts[next_token] + shift, ends[next_token] + shift, "keep", None)
            next_token += 1
        first = next_token
        while next_token < len(tokens) and starts[next_token] < end:
            next_token += 1
        if next_token > first:
            yield _word(shown, stop, "mask", decisions.suspect(first, next_token))
        shift = stop - end


def _word(start: int, end: int, decision: str, category: str | None) -> dict[str, object]:
    return {"start": start, "end": end, "decision": decision, "category": category}


def explain_tokens(masked: MaskedDocument) -> Iterator[dict[str, object]]:
    """Yield one dictionary per token of the original, in text order. Confidential."""
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
        yield {
            "start": start,
            "end": end,
            "decision": "keep" if keep else "mask",
            "reason": Reason(reason).name,
            "p_safe": _finite(p_safe),
            "threshold": _finite(threshold),
            "text": word,
        }


def _finite(value: float) -> float | None:
    return round(value, N_DECIMALS) if math.isfinite(value) else None
