"""A key that stands twice is an error wherever JSON comes in; which of the two counts is not guessed."""

import io

import pytest
from fake_maskers import CANARY

from inverse_deid.core.errors import FormatError
from inverse_deid.formats.beside.known_values import read_known_values
from inverse_deid.formats.tables.json_lines import read_gold_json_lines
from inverse_deid.formats.tables.strict_json import RepeatedKeyError, parse_json
from inverse_deid.service.documents import read_request


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]', '{"a": 1, "\\u0061": 2}'])
def test_a_key_twice_is_an_error_at_every_depth(text):
    with pytest.raises(RepeatedKeyError):
        parse_json(text)


@pytest.mark.parametrize("text", ["NaN", '{"a": -Infinity}', "[1e999]"])
def test_numbers_that_json_has_not_are_an_error(text):
    with pytest.raises(ValueError, match="number"):
        parse_json(text)


def test_known_values_gold_and_requests_refuse_a_key_twice(tmp_path):
    path = tmp_path / "known.jsonl"
    path.write_text(f'{{"id": 7, "name": "{CANARY}", "name": "Li"}}\n')
    with pytest.raises(FormatError, match="row 1 has the same key twice") as known:
        read_known_values(path)
    line = f'{{"id": 7, "text": "{CANARY}", "text": "well", "spans": []}}'.encode()
    with pytest.raises(FormatError, match="line 1 has the same key twice") as gold:
        list(read_gold_json_lines(io.BytesIO(line)))
    with pytest.raises(FormatError, match="the body has the same key twice") as request:
        read_request(f'{{"id": 7, "text": "well", "text": "{CANARY}"}}'.encode(), 10)
    assert CANARY not in f"{known.value}{gold.value}{request.value}"
