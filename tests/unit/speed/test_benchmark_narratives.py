"""The texts that the benchmark masks."""

import gzip
import json
from itertools import islice

import pytest
from benchmarks.narratives import endless, first_texts, of_length, pieces, write_sample

from inverse_deid.core.errors import InputError
from inverse_deid.text.tokenizer import tokenize

TEXTS = (
    "Ms. Okonkwo had 38.9 C on 5-MAY-2019; Dr. Lindqvist gave 75 mg.",
    "Millbrook, lot 4471B: rash after 3 days.\nMother: Amara, 43.",
)


def n_tokens(text):
    return len(tokenize(text))


def test_repeated_texts_are_changed_and_as_long_as_before():
    found = list(islice(endless(TEXTS, 1), 40))
    assert tuple(found[:2]) == TEXTS
    assert len(set(found)) > 30
    assert [n_tokens(text) for text in found] == [n_tokens(text) for text in TEXTS] * 20


def test_the_same_seed_gives_the_same_texts():
    first, second, other = (list(islice(endless(TEXTS, seed), 30)) for seed in (1, 1, 2))
    assert first == second != other


def test_new_words_come_with_every_round():
    def words(n):
        return {w for text in islice(endless(TEXTS, 1), n) for w in tokenize(text).words if w.isalpha()}

    assert len(words(2)) < len(words(400)) < len(words(4000))


def test_lower_case_words_never_change():
    kept = [[w for w in tokenize(text).words if w.islower()] for text in islice(endless(TEXTS, 1), 40)]
    assert kept == kept[:2] * 20


@pytest.mark.parametrize("length", [10, 12, 1000])
def test_pieces_hold_all_tokens_but_short_rests(length):
    text = " ".join(f"w{i}" for i in range(57))
    found = [tokenize(piece).words for piece in pieces([text], length)]
    assert all(10 <= len(words) <= length for words in found)
    whole = [word for words in found for word in words]
    assert whole == tokenize(text).words[: len(whole)]
    assert len(whole) > 57 - 10


@pytest.mark.parametrize("length", [1, 2, 12, 13, 1000])
def test_a_text_has_exactly_the_length_asked_for(length):
    assert n_tokens(of_length(endless(TEXTS, 1), length)) == length


def test_a_sample_counts_with_our_tokenizer(tmp_path):
    texts = [*TEXTS, "line\u2028separator\x85and\r\nmore é𝔘"]
    sample = write_sample(tmp_path / "s.jsonl", texts)
    with sample.path.open(encoding="utf-8") as stream:
        lines = [json.loads(line) for line in stream]
    assert [line["text"] for line in lines] == texts
    assert (sample.n_documents, sample.n_tokens) == (3, sum(map(n_tokens, texts)))


def test_texts_of_files_are_all_taken_in_random_order(tmp_path):
    file = tmp_path / "cases.jsonl.gz"
    texts = [f"case {i}" for i in range(50)]
    lines = [json.dumps({"text": text}) for text in [*texts, "", "..."]]
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    found = first_texts([file], 5, seed=1)
    assert found != texts
    assert sorted(found) == sorted(texts)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.jsonl does not exist"):
        first_texts([tmp_path / "none.jsonl"], 5, seed=1)


def test_files_without_text_are_refused(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InputError, match="contain no text"):
        first_texts([tmp_path / "empty.jsonl"], 5, seed=1)
