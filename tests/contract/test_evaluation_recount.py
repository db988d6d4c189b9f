"""The counts equal those of a second, slow count that shares no code with the first."""

import re

from annotated_documents import masked_corpora
from hypothesis import given

from inverse_deid.evaluation.evaluation import evaluate_masks

HIPAA = {"PATIENT", "DATE", "CITY", "IDNUM"}
NAMES = {"PATIENT", "DOCTOR"}
HARMLESS = {"AGE": {"years", "old", "of", "s"}, "DATE": {"of", "s"}}


def runs(text, start, end):
    """The runs of letters and digits between two offsets, as sets of positions."""
    return [set(range(*match.span())) for match in re.compile(r"(?:(?!_)\w)+").finditer(text, start, end)]


def recount(docs, masks):
    gold = []  # document, type, word, masked
    masked, false, inexact, safe, leaky, with_phi = 0, 0, 0, 0, set(), set()
    for doc in docs:
        hidden = {i for start, end in masks[doc.id] for i in range(start, end)}
        pieces = [
            (span.type.value, run) for span in doc.spans for run in runs(doc.text, span.start, span.end)
        ]
        for name, run in pieces:
            word = "".join(doc.text[i] for i in sorted(run))
            gold.append((doc.id, name, word, run <= hidden))
        for token in runs(doc.text, 0, len(doc.text)):
            inside = [run for _, run in pieces if run & token]
            safe += not inside
            masked += bool(token & hidden)
            false += bool(token & hidden) and not inside
            inexact += bool(token & hidden) and bool(inside) and (token & hidden) not in inside
        with_phi |= {doc.id} if doc.spans else set()
    leaky = {doc_id for doc_id, _, _, hit in gold if not hit}

    def share(which):
        chosen = [hit for doc_id, name, word, hit in gold if which(name, word)]
        return sum(chosen), len(chosen)

    hits = share(lambda name, word: True)[0]
    forgiven = sum(not hit and word in HARMLESS.get(name, ()) for _, name, word, hit in gold)
    return {
        "recall_all": (hits, len(gold)),
        "recall_all_corrected": (hits + forgiven, len(gold)),
        "recall_hipaa": share(lambda name, word: name in HIPAA),
        "recall_short_names": share(lambda name, word: name in NAMES and len(word) <= 3),
        "precision": (masked - false, masked),
        "precision_overlap": (hits, hits + false + inexact),
        "safe_kept": (safe - false, safe),
        "documents_without_leak": (len(with_phi - leaky), len(with_phi)),
    }


@given(masked_corpora())
def test_the_counts_are_those_of_a_second_count(corpus):
    evaluation = evaluate_masks(*corpus)
    expected = recount(*corpus)
    found = {name: evaluation.figure(name) for name in expected}
    assert {name: (share.part, share.whole) for name, share in found.items()} == expected
