"""The weights of a network by path, in and out."""

from __future__ import annotations

import keras
import numpy as np

from inverse_deid.core.errors import ModelError
from inverse_deid.core.values import FloatArray
from inverse_deid.research.representations.folders import PrivateNetwork, Representation, Weights
from inverse_deid.research.representations.representer import build_representer, standard_deviations_of
from inverse_deid.research.representations.tagger import build_tagger


def weights_by_path(network: keras.Model) -> dict[str, FloatArray]:
    """A copy of the trainable weights."""
    return {variable.path: np.asarray(variable).copy() for variable in network.trainable_variables}


def load_representer(representation: Representation) -> keras.Model:
    """The representation as a network.

    Raises:
        ModelError: The weights are not those of its sizes, or add no noise in some dimension.
    """
    network = build_representer(representation.config, representation.word_vectors.dim)
    network = _with_weights(network, representation.weights)
    if not all((values > 0).all() for values in standard_deviations_of(network).values()):
        raise ModelError("the representation adds no noise and hides nothing. Get another")
    return network


def load_tagger(network: PrivateNetwork) -> keras.Model:
    """The de-identification network; fails as `load_representer` does."""
    return _with_weights(build_tagger(network.config, network.representation.config.dim), network.weights)


def _with_weights(network: keras.Model, weights: Weights) -> keras.Model:
    expected = {variable.path: tuple(variable.shape) for variable in network.trainable_variables}
    if expected != {path: weight.shape for path, weight in weights.items()}:
        raise ModelError(
            f"the weights of the {network.name} are not those of its sizes. Make the folder again"
        )
    if not all(np.isfinite(weight).all() for weight in weights.values()):
        raise ModelError(f"the weights of the {network.name} are damaged. Get the folder again")
    for variable in network.trainable_variables:
        variable.assign(weights[variable.path])
    return network
