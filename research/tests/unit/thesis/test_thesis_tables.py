"""All tables of the study from invented scores, without any training."""

import numpy as np
import pytest

from inverse_deid.core.phi import PhiType
from inverse_deid.core.values import Document, PhiSpan
from inverse_deid_research.studies.scoring import TokenScores, analyse_corpus
from inverse_deid_research.thesis import judging
from inverse_deid_research.thesis.judging import judge_corpus
from inverse_deid_research.thesis.published import sample_records
from inverse_deid_research.thesis.runs import TrainedRun
from inverse_deid_research.thesis.tables import Findings, _kind_of, _leak_table, thesis_tables

DATES = ["2 May 2071", "5 June 2072", "March 2070", "12/19/88"]


def corpus_of(name):
    docs = []
    for number in range(8):
        text = f"Case {number}: nausea since {DATES[number % 4]}, seen by Dr Okonkwo{number * 'x'}."
        date, doctor = text.index(DATES[number % 4]), text.index("Okonkwo")
        spans = (
            PhiSpan(date, date + len(DATES[number % 4]), PhiType.DATE),
            PhiSpan(doctor, len(text) - 1, PhiType.DOCTOR),
        )
        docs.append(Document(f"{name}-{number}", text, spans))
    return analyse_corpus(name, docs)


@pytest.fixture(scope="module")
def sections():
    rng = np.random.default_rng(1)
    corpora = {name: corpus_of(name) for name in ("validation", "first", "second")}
    corpora["samples"] = analyse_corpus("samples", sample_records())

    def p_safe(corpus):
        noisy = np.where(corpus.is_phi, -2, 4) + 2 * rng.standard_normal(len(corpus.types))
        return (1 / (1 + np.exp(-noisy))).astype(np.float32)

    def epoch():
        found = {}
        for name, corpus in corpora.items():
            p = p_safe(corpus)
            found[name] = TokenScores(p, (p < 0.5).astype(np.uint8), np.zeros(len(p), np.uint8))
        return found

    def run(name, n_epochs):
        return TrainedRun(name, "fine", tuple(epoch() for _ in range(n_epochs)), (None,) * n_epochs, n_epochs)

    names = [f"{variant}-{number}" for variant in "abcd" for number in (1, 2)]
    judged = {name: judge_corpus(corpus, p_safe(corpus)) for name, corpus in corpora.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging.draw, "__defaults__", (40, 1))
        return thesis_tables(
            Findings(
                runs=[run(name, 2) for name in names],
                tuned=[run(f"{name}-tuned", 2) for name in names],
                named=[run(f"after-names-d-{number}", 2) for number in (1, 2)],
                rivals={name: p_safe(corpora["second"]) for name in ("patterns", "crf", "svm")},
                **judged,
            )
        )


def test_a_leak_counts_with_its_kind_and_its_share_of_networks():
    corpus = corpus_of("second")
    judged = judge_corpus(corpus, np.zeros(len(corpus.types), np.float32))

    def run(leaked):
        p = np.where(corpus.is_phi, 0, 1).astype(np.float32)
        words = [word for tokens in corpus.tokens for word in tokens.words]
        p[[i for i, word in enumerate(words) if word == leaked]] = 1
        nothing = np.zeros(len(p), np.uint8)
        return TrainedRun("d-1", "fine", ({"second": TokenScores(p, nothing, nothing)},), (None,), 1)

    runs = [run("2071"), run("nothing"), run("5")]
    found = Findings(
        runs=runs,
        tuned=runs,
        named=[],
        validation=judged,
        first=judged,
        second=judged,
        samples=judged,
        rivals={},
    )
    rows = _leak_table(found).frame.to_dict("records")
    shares = {row["kind of token"]: round(row["share"], 3) for row in rows if row["category"] == "DATE"}
    assert shares == {
        "number of more digits": round(2 / 12 / 3, 3),
        "one digit": round(2 / 4 / 3, 3),
        "other word": 0,
    }


def rows_of(sections, name):
    (table,) = [one for tables in sections.values() for one in tables if one.name == name]
    return table.frame.to_dict("records")


def test_every_table_has_a_name_of_its_own_and_renders(sections):
    tables = [table for of_heading in sections.values() for table in of_heading]
    assert len({table.name for table in tables}) == len(tables)
    assert all(table.markdown() and table.csv() for table in tables)


@pytest.mark.parametrize("which", ["first", "second"])
def test_all_combiners_are_compared_at_each_recall(sections, which):
    found = rows_of(sections, f"equal-recall-{which}")
    assert len(found) == 7 * 3
    assert [row["verdict"] for row in found if row["combiner"] == "network alone"] == ["-"] * 3
    assert all(row["precision low"] <= row["precision high"] for row in found)


def test_fine_tuning_has_a_row_per_variant_stage_and_pair(sections):
    found = rows_of(sections, "fine-tuned")
    assert len(found) == 4 * 3 * 2 + 3
    published = [row["published recall"] for row in found if row["method"].startswith("d ")]
    assert published == [0.983, 0.990, 0.979, 0.981, 0.901, 0.929]


def test_leaks_are_counted_by_kind_and_show_no_word(sections):
    found = rows_of(sections, "leaks")
    tokens = {(row["category"], row["kind of token"]): row["tokens"] for row in found}
    assert tokens == {
        ("DATE", "number of more digits"): 12,  # 2071, 2072, 2070, 12, 19, 88: two documents each
        ("DATE", "one digit"): 4,
        ("DATE", "other word"): 6,
        ("DOCTOR", "other word"): 8,
    }
    for row in found:
        assert row["leaked, mean of 2 networks"] == pytest.approx(row["tokens"] * row["share"])


def test_kinds_of_tokens():
    words = {"7": False, "2071": False, "3rd": False, "x": True, "of": True, "okonkwo": False}
    assert [_kind_of(*one) for one in words.items()] == [
        "one digit",
        "number of more digits",
        "letters and digits",
        "single letter",
        "word of a safe list",
        "other word",
    ]


def test_learning_names_first_is_compared_with_the_letters_alone(sections):
    first, second = rows_of(sections, "names-first")
    assert (first["training"], first["verdict of names"]) == ("letters alone", "-")
    assert second["verdict of names"] in ("reached", "undecided", "missed")
    assert 0 < second["recall of names"] <= 1


def test_a_row_compares_with_each_rival(sections):
    assert [row["compared with"] for row in rows_of(sections, "rival-gains")][1:] == [
        "patterns",
        "crf",
        "svm",
    ]


def test_sample_records_show_each_line_beside_its_masked_one(sections):
    found = rows_of(sections, "sample-2")
    assert len(found) == 5
    assert all(row["original"].count(":") == row["de-identified"].count(":") for row in found)
