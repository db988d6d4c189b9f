"""What leaves tells no more of a masked word than the masked text does.

The attacker has an output and the packaged model. He puts every name of a list into the place of the marker, masks
that, and crosses out the names that give another output than the one he holds.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import pytest
from name_oracles import SENTENCES, SURNAMES

from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.formats.beside.explanation import ExplanationSink
from inverse_deid.formats.records import Record, Sink, Writable
from inverse_deid.formats.tables.json_lines import JsonLinesSink
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
from inverse_deid.review.flow.contents import join_texts, rank_case

DOUBTFUL = (
    " Pt seen in Zenvara clinic, lives near Ward, batch AB12, neighbour Rose and Dr Hunter agreed; hx of Lyme, "
    "Coxsackie, Norvasc, Brown tumour."
)
"""Words of which the model is not sure: without them a case has no doubt."""


@pytest.fixture(scope="module")
def masked() -> list[list[tuple[Document, MaskedDocument]]]:
    """Of every sentence what masking makes of it with every surname."""
    docs = [Document("1", sentence.format(name) + DOUBTFUL) for sentence in SENTENCES for name in SURNAMES]
    found = list(zip(docs, build_deidentifier(MaskingSettings()).mask_many(docs), strict=True))
    n = len(SURNAMES)
    return [found[first : first + n] for first in range(0, len(found), n)]


def written(sink_of: Callable[[Writable], Sink], doc: Document, masked: MaskedDocument) -> bytes:
    target = io.BytesIO()
    sink_of(target).write(Record(1, (doc,)), [masked])
    return target.getvalue()


def n_left(outputs: Sequence[object], target: int) -> int:
    """How many names give the same output as the true one."""
    return sum(one == outputs[target] for one in outputs)


OUTPUTS = {
    "masked text": lambda doc, masked: masked.text,
    "JSON Lines": lambda doc, masked: written(JsonLinesSink, doc, masked),
    "explanation": lambda doc, masked: written(ExplanationSink, doc, masked),
    "doubt of a case in a review store": lambda doc, masked: rank_case(
        join_texts([doc], [masked]), is_failed=False
    ),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_no_masked_surname_is_recovered_by_masking_every_surname_of_a_list(masked, kind):
    n_recovered, left, n_hidden = 0, [], 0
    for number, tried in enumerate(masked):
        name = SURNAMES[number]
        if name in tried[number][1].text:
            continue
        n_hidden += 1
        outputs = [OUTPUTS[kind](*one) for one in tried]
        left.append(n_left(outputs, number))
        n_recovered += left[-1] == 1
    assert n_hidden == len(SENTENCES) == 15
    # A word at the very edge of its threshold can depend on the masked name beside it (docs/threat-model.md).
    assert n_recovered <= 1, f"{n_recovered} of {n_hidden} surnames recovered; names left: {left}"
    assert sum(n >= len(SURNAMES) // 2 for n in left) >= n_hidden - 1, left
