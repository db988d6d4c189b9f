"""Calibration must see the very probabilities that masking will see, for every feature set."""

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from inverse_deid.core.thresholds import Thresholds
from inverse_deid.core.values import Document
from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier, packaged_model
from inverse_deid.masking.combine import log_density
from inverse_deid.masking.scorers import feature_names
from inverse_deid.network import export
from inverse_deid.network.config import NetworkConfig
from inverse_deid.network.folder import ModelParts, read_model, write_model
from inverse_deid.network.network import build_network
from inverse_deid.training.run import score_corpus

DOCS = [
    Document("1", "Mrs. Okonkwo took 40mg on 12/03/2019 AND RECOVERED."),
    Document("2", "dr lindqvist saw Mr Wu in Velmo; rash."),
]


@pytest.mark.parametrize("feature_set", ["none", "casing", "all"])
def test_calibration_and_masking_score_alike(tmp_path, feature_set):
    config = NetworkConfig(feature_set=feature_set, token_units=8, token_layers=1)
    names = feature_names(feature_set)
    vectors = read_model(packaged_model()).word_vectors
    network = build_network(config, len(names), vectors.matrix())
    parts = ModelParts(
        network=config,
        feature_names=names,
        word_vectors=vectors,
        characters=export.export_characters(network),
        tokens=export.export_tokens(network, config, len(names)),
        weights=export.all_weights(network),
        operating_points={"balanced": Thresholds(0.5, 0.9)},
    )
    write_model(parts, tmp_path / "model")
    masked = build_deidentifier(MaskingSettings(model=tmp_path / "model")).mask_many(DOCS)
    expected = np.concatenate([one.decisions.p_safe for one in masked])
    scored = score_corpus(parts, "corpus", DOCS)
    assert np.abs(scored.p_safe - expected).max() < 1e-6
    own = [log_density(one.decisions.p_safe) for one in masked]
    assert np.unique(scored.densities) == pytest.approx(np.unique(own), abs=1e-6)
