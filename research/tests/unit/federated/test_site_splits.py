"""Sites are disjoint, of like size, and keep what belongs together."""

import itertools

import pytest

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.phi import PhiType
from inverse_deid.core.settings import read_settings
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid.formats.tables.json_lines import gold_json_line
from inverse_deid_research.federated.documents import (
    deal_documents,
    find_site,
    split_by_kind,
    split_evenly,
)
from inverse_deid_research.federated.settings import FederatedStudySettings

KINDS = {"narratives": ["v-"], "letters": ["L1-", "L2-"]}


def of_patient(doc_id, name, n_words=12):
    """A document that names a patient, unlike every other one."""
    words = " ".join(f"{doc_id.replace('-', '')}w{i}" for i in range(n_words))
    return Document(doc_id, f"{name} {words}", (PhiSpan(0, len(name), PhiType.PATIENT),))


@pytest.fixture
def docs():
    names = [f"Zorvald Quentiss{chr(97 + i)}" for i in range(20)]
    return [of_patient(f"v-{i}", names[i % 20], 8 + i % 7) for i in range(60)]


def test_every_document_is_at_one_site(docs):
    sites = split_evenly(docs, 5, seed=3)
    dealt = [doc.id for some in sites.values() for doc in some]
    assert sorted(dealt) == sorted(doc.id for doc in docs)
    assert list(sites) == [f"site-{i}" for i in range(1, 6)]


def test_a_patient_is_at_one_site(docs):
    sites = split_evenly(docs, 5, seed=3)
    patients = [{doc.text[: doc.spans[0].end] for doc in some} for some in sites.values()]
    assert all(not one & other for one, other in itertools.combinations(patients, 2))


def test_sites_are_of_like_size(docs):
    sizes = [sum(len(doc.text.split()) for doc in some) for some in split_evenly(docs, 5, seed=3).values()]
    assert max(sizes) < 1.35 * min(sizes)


def test_the_order_of_the_input_and_the_seed(docs):
    first = split_evenly(docs, 5, seed=3)
    assert split_evenly(docs, 5, seed=3) == first
    assert split_evenly(docs, 5, seed=4) != first


def test_an_empty_site_is_refused(docs):
    with pytest.raises(ConfigurationError, match="site-21"):
        split_evenly(docs, 21, seed=1)  # twenty patients
    with pytest.raises(ConfigurationError, match="letters: has no document"):
        split_by_kind(docs, KINDS)


def test_the_kind_is_the_site(docs):
    letters = [of_patient(f"L{1 + i % 2}-{i}", f"Ambrosine Teldrake{chr(97 + i)}") for i in range(6)]
    sites = split_by_kind([*docs, *letters], KINDS)
    assert {doc.id for doc in sites["letters"]} == {doc.id for doc in letters}


def test_a_patient_of_two_kinds_goes_where_most_documents_are():
    name = "Ambrosine Teldrake"
    docs = [of_patient("L1-1", name), of_patient("L2-1", name), of_patient("v-1", name)]
    other = of_patient("v-2", "Zorvald Quentiss")
    sites = split_by_kind([*docs, other], KINDS)
    assert [doc.id for doc in sites["narratives"]] == ["v-2"]
    assert [doc.id for doc in sites["letters"]] == ["L1-1", "L2-1", "v-1"]


@pytest.mark.parametrize(("doc_id", "word"), [("x-1", "no site"), ("L1-1", "several")])
def test_a_document_of_no_clear_site_is_refused(doc_id, word):
    kinds = {"narratives": ["v-", "L1"], "letters": ["L1-"]}
    with pytest.raises(ConfigurationError, match=f"{doc_id}: its id fits {word}"):
        find_site(doc_id, kinds)


def test_no_site_has_a_person_or_ten_words_in_a_row_of_a_test_document(tmp_path):
    head = " ".join(f"head{i}" for i in range(12))
    docs = [of_patient(f"v-{i}", f"Zorvald Quentiss{chr(97 + i)}") for i in range(12)]
    text = f"{head}\n{docs[0].text}"
    test = [of_patient("t-1", "Zorvald Quentissc"), Document("t-2", f"{head} and another end")]
    moved = tuple(PhiSpan(s.start + len(head) + 1, s.end + len(head) + 1, s.type) for s in docs[0].spans)
    docs[0] = Document("v-0", text, moved)
    for name, some in (("train", docs), ("test", test)):
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(map(gold_json_line, some)))
    (tmp_path / "study.toml").write_text(
        '[data]\ntrain = ["train.jsonl"]\ntest = ["test.jsonl"]\n[sites]\nnumber = 2\n[methods.A]\nway = "central"\n',
        encoding="utf-8",
    )
    dealt = deal_documents(read_settings(tmp_path / "study.toml", FederatedStudySettings))
    assert (dealt.n_left_out, dealt.n_cut) == (1, 1)
    kept = {doc.id: doc for parts in dealt.sites.values() for part in parts for doc in part}
    assert sorted(kept) == sorted(doc.id for doc in docs if doc.id != "v-2")
    assert kept["v-0"] == of_patient("v-0", "Zorvald Quentissa")


def test_a_common_phrase_joins_no_patients():
    """Forms of one hospital begin alike; that makes them no documents of one patient."""
    phrase = " ".join(f"heading{i}" for i in range(15))
    docs = [Document(f"d-{i}", f"{phrase} patient number w{i}") for i in range(6)]
    assert [len(some) for some in split_evenly(docs, 3, seed=1).values()] == [2, 2, 2]
