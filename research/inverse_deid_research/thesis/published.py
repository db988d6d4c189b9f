"""What the thesis does otherwise than the product: characters, weights of the loss, rules, sample records.

Source: master's thesis of the method, sections 4.3.3 to 4.3.5 and 5.1.5.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import BoolArray, Document, PhiSpan, RuleVerdicts
from inverse_deid.lexicon import load_lexicon
from inverse_deid.masking.scorers import feature_columns
from inverse_deid.network.batches import Example
from inverse_deid.network.config import NetworkConfig, class_names
from inverse_deid.network.encoding import CHARACTERS, WordVectors
from inverse_deid.rules.analysis import FEATURE_NAMES, RuleAnalyser
from inverse_deid.training.corpora.synthetic import generate_documents
from inverse_deid.training.examples import ExampleMaker, Weights
from inverse_deid_research.studies.scoring import AnalysedCorpus

_CHARACTER_OF = ("", "\u0180", "\u2603", *CHARACTERS)
"""A character for each code of a gap: those of the table, and one that reads as other letter or sign."""

PERSON_TYPES = (PhiType.PATIENT, PhiType.RELATIVE, PhiType.DOCTOR)

_SAFE = ("is-stop-word", "is-common-word", "is-drug", "is-medical-term")
_ALWAYS_UNSAFE = ("is-weekday", "is-month")
_NEVER_IF_UNSAFE = ("is-holiday", "in-holiday", "is-written-out-number")
_UNSAFE = ("is-possibly-city", "is-possibly-name", "contains-digit", "is-top-level-domain")


def encode_as_published(
    docs: Sequence[Document], network: NetworkConfig, vectors: WordVectors
) -> list[Example]:
    """Encode documents with the characters of the thesis, which have no case.

    With `post_space`, up to three characters after a token end its own sequence of characters. The
    network is then built without an input for them.
    """
    maker = ExampleMaker(network, load_lexicon(), vectors)
    found = []
    for example in maker.make_many([(doc, Weights()) for doc in docs]):
        words = [word.lower() for word in example.words]
        if network.post_space:
            ends = ["".join(_CHARACTER_OF[code] for code in codes) for codes in example.gaps.tolist()]
            words = [word + end for word, end in zip(words, ends, strict=True)]
        found.append(dataclasses.replace(example, words=words))
    return found


def weigh_types(examples: Sequence[Example], network: NetworkConfig) -> list[Example]:
    """Give every token the weight of its type: the decimal logarithm of how rare it is, at least 1.

    A type of a hundredth of all tokens weighs twice as much as safe tokens do. The thesis says that rare
    classes weigh more, and gives no formula.
    """
    counts = np.zeros(len(class_names(network.targets)))
    for example in examples:
        counts += np.bincount(example.labels, minlength=len(counts))
    weights = np.maximum(1.0, np.log10(counts.sum() / np.maximum(counts, 1))).astype(np.float32)
    weights[0] = 1.0
    return [dataclasses.replace(one, weights=weights[one.labels]) for one in examples]


def judge_as_published(corpus: AnalysedCorpus, *, always: bool = False) -> RuleVerdicts:
    """Return the verdicts of the thesis on all tokens: four safe lists, seven unsafe ones, and no veto.

    A weekday, month, street word, holiday or written-out number that is not safe is always masked. The
    first three are in unsafe lists, so they never are safe. Holidays and numbers are if a safe list has
    them; with `always` they never are, as in the product. Lists that the thesis does not have (countries,
    hospitals, units, shorthand) say nothing.
    """
    analyser = RuleAnalyser(load_lexicon(), corpus.interned, repairs=False)
    analyses = analyser.analyse_many(corpus.tokens)
    features = np.concatenate(
        [np.zeros((0, len(FEATURE_NAMES)), np.float32), *(a.features for a in analyses)]
    )

    def has(*names: str) -> BoolArray:
        return np.asarray((features[:, feature_columns(names)] > 0).any(axis=1))

    # The street words of the thesis are three. "Dr" is a title there.
    unsafe = has(*_ALWAYS_UNSAFE) | (has("is-street") & ~has("is-salutation"))
    never = unsafe | has(*_NEVER_IF_UNSAFE)
    safe = has(*_SAFE) & ~has(*_UNSAFE) & ~(never if always else unsafe)
    return dataclasses.replace(RuleVerdicts.silent(len(features)), safe=safe, never=never & ~safe)


def invent_names(n_documents: int, seed: int) -> list[Document]:
    """Return invented documents in which names of persons alone are annotated, to learn those first."""
    return [
        dataclasses.replace(doc, spans=tuple(span for span in doc.spans if span.type in PERSON_TYPES))
        for doc in generate_documents(n_documents, seed)
    ]


_RECORDS = (
    """Record date: [DATE:2071-08-14]

[PATIENT:OKAFOR, JUNE]
[MEDICALRECORD:40718826]

[DOCTOR:Helen Marsh], M.D.
[STREET:18 Quarry Lane]
[CITY:Dunmore], [STATE:PA] [ZIP:18512]

Dear Dr. [DOCTOR:Marsh]:
Thank you for sending [PATIENT:June Okafor] to the [HOSPITAL:Lakeview] clinic. She is a [AGE:67]-year-old
woman with gout, and had an operation of the right knee on [DATE:March 3, 2070].
She took colchicine 0.6 mg twice a day until [DATE:July], when a rash began after nine days.
I told [PATIENT:June] that the rash should fade within two weeks.

Sincerely,
[DOCTOR:Peter Young], MD""",
    """Name: [PATIENT:Castellano, Rufus T]
MRN: [MEDICALRECORD:55120937]
Date: [DATE:11-02-68]
Phone: [PHONE:(570) 555-0142]
Address: [STREET:7 B Mill Street], [CITY:Toledo], [STATE:Ohio]""",
    """Record date: [DATE:2088-12-19]
Patient Name: [PATIENT:WINTER, ROSE]; MRN: [MEDICALRECORD:7730215]
Dictated by [DOCTOR:MARTA B. Chu], M.D.

Mrs. [PATIENT:Winter] returns with back pain. She works as a [PROFESSION:baker] in [CITY:Reading].
Medications: Lisinopril 20 mg po qd, Ibuprofen, 400 mg p.n., insulin 12 u q 24 hrs
Allergies: NKDA
Pulse of 76, blood pressure 148/82, oxygen saturation 97%, and temperature is 98.4.

D: [DATE:12/19/88]
T: [DATE:12/20/88]""",
)
"""Three invented records in the forms of tables 5.5 to 5.7; a mark is `[TYPE:words]`."""

_MARK = re.compile(r"\[([A-Z]+):([^\]]+)\]")


def sample_records() -> list[Document]:
    """Return the three invented records with their annotations."""
    found = []
    for number, record in enumerate(_RECORDS, start=1):
        text, spans, end = "", [], 0
        for mark in _MARK.finditer(record):
            text += record[end : mark.start()]
            spans.append(PhiSpan(len(text), len(text) + len(mark[2]), PhiType(mark[1])))
            text, end = text + mark[2], mark.end()
        found.append(Document(f"sample-{number}", text + record[end:], tuple(spans)))
    return found
