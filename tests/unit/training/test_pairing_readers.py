"""Thresholds for a network and an encoder together."""

import json

import numpy as np
import pytest
from tiny_encoders import tiny_encoder

from inverse_deid.core.errors import ConfigurationError, ModelError
from inverse_deid.core.values import Document, RuleVerdicts
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, packaged_model
from inverse_deid.network.doubt import Doubt
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.network.second_reader import read_encoder, write_encoder
from inverse_deid.training.calibration import ScoredCorpus
from inverse_deid.training.config import CalibrationConfig, RunConfig, TrainingConfig
from inverse_deid.training.encoders.second_reader import Readers, find_points, pair_readers

DOUBTFUL = {
    "strict": Doubt(0.05, 0.99, 0.99, 0.999),
    "balanced": Doubt(0.1, 0.9, 0.9, 0.9),
    "lenient": Doubt(0.1, 0.9, 0.9, 0.9),
}
TRAINING = TrainingConfig(validation_share=0.5)


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    """Twenty invented documents, of which about half are held out."""
    path = tmp_path_factory.mktemp("gold") / "gold.jsonl"
    lines = []
    for number, name in enumerate(("Okonkwo", "Lindqvist", "Haverkamp", "Brzozowski") * 5):
        text = f"Visit {number}: the rash of {name} lasted {number + 2} days after dose {number}."
        start = text.index(name)
        span = {"start": start, "end": start + len(name), "type": "PATIENT"}
        lines.append(json.dumps({"id": str(number), "text": text, "spans": [span]}))
    path.write_text("\n".join(lines) + "\n")
    return path


def encoder(folder, **changes):
    training = {"split_seed": TRAINING.split_seed, "validation_share": 0.5, **changes}
    write_encoder(tiny_encoder(provenance={"training": training}), folder)
    return folder


def test_the_pair_has_thresholds_figures_and_the_name_of_the_network(tmp_path, gold):
    readers = Readers(model=packaged_model(), encoder=encoder(tmp_path / "encoder"), doubtful=DOUBTFUL)
    lines = []
    config = RunConfig(gold=(gold,), training=TRAINING, calibration=CalibrationConfig(lenient_precision=0.5))
    pair_readers(readers, config, tmp_path / "pair", lines.append)
    parts = read_encoder(tmp_path / "pair")
    assert parts.first_reader == model_fingerprint(packaged_model())
    assert parts.doubtful == DOUBTFUL
    assert list(parts.operating_points) == ["strict", "balanced", "lenient"]
    (figures,) = parts.provenance["held_out"].values()
    assert figures["balanced"]["recall"] >= config.calibration.balanced_recall
    settings = MaskingSettings(reading="careful", second_reader=tmp_path / "pair")
    assert "rash" in build_deidentifier(settings).mask(Document("1", "The rash lasted two days.")).text
    assert not any("Okonkwo" in line for line in lines)


def test_an_operating_point_without_limits_is_refused():
    with pytest.raises(ConfigurationError, match="no limits of doubt for strict, lenient"):
        Readers(model=packaged_model(), encoder=packaged_model(), doubtful={"balanced": Doubt()})


def test_each_operating_point_is_calibrated_for_what_is_read_again_at_it():
    """At one aim, scores that find more of the identifiers need lower thresholds; none masks more than the stricter."""
    config = CalibrationConfig(strict_recall=1.0, balanced_recall=1.0, lenient_precision=0.99)
    points = find_points(
        {"strict": [corpus(0.95)], "balanced": [corpus(0.8)], "lenient": [corpus(0.9)]}, config
    )
    assert points["strict"].high > points["balanced"].high >= points["lenient"].high
    again = find_points(
        {"strict": [corpus(0.8)], "balanced": [corpus(0.95)], "lenient": [corpus(0.8)]}, config
    )
    assert again["balanced"] == again["strict"]


def corpus(highest: float) -> ScoredCorpus:
    """Return four identifiers, the safest of them with this `p_safe`, and four safe words."""
    p_safe = np.array([0.1, 0.2, 0.3, highest, 0.97, 0.98, 0.99, 0.99], np.float32)
    is_phi = np.arange(8) < 4
    identifiers = np.where(is_phi, np.arange(8), -1)
    return ScoredCorpus("x", is_phi, p_safe, RuleVerdicts.silent(8), np.zeros(8), identifiers, 1)


def test_an_encoder_that_may_have_seen_the_held_out_documents_is_refused(tmp_path, gold):
    folder = encoder(tmp_path / "encoder", split_seed=1)
    config = RunConfig(gold=(gold,), training=TRAINING)
    with pytest.raises(ModelError, match="trained with another split"):
        pair_readers(Readers(model=packaged_model(), encoder=folder), config, tmp_path / "pair")
    assert not (tmp_path / "pair").exists()
