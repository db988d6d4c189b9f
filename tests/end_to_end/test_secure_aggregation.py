"""The secure mean is that of FedAvg up to rounding, and refuses what it would distort."""

import numpy as np
import pytest

pytest.importorskip("flwr")

from inverse_deid.core.errors import ConfigurationError, UpdateError
from inverse_deid.research.federated.flower.secure_aggregation import average_securely
from inverse_deid.research.federated.settings import LEAST_SECURE
from inverse_deid.research.federated.weights import Update, average_weights

pytestmark = pytest.mark.slow


def updates(n_sites=LEAST_SECURE, largest=2.0):
    rng = np.random.default_rng(4)
    return [
        Update(
            [rng.uniform(-largest, largest, shape).astype(np.float32) for shape in ((4, 3), (5,), (1,))],
            100 * (i + 1) + 7,
        )
        for i in range(n_sites)
    ]


@pytest.mark.filterwarnings("ignore")
def test_the_secure_mean_is_the_mean():
    given = updates()
    found, wanted = average_securely(given), average_weights(given)
    assert [array.shape for array in found] == [array.shape for array in wanted]
    assert max(np.abs(a - b).max() for a, b in zip(found, wanted, strict=True)) < 2e-6


def test_two_sites_are_too_few():
    with pytest.raises(ConfigurationError, match="at least 3"):
        average_securely(updates(2))


@pytest.mark.parametrize("value", [40.0, -40.0, np.nan, np.inf])
def test_weights_that_would_be_cut_are_refused(value):
    given = updates()
    given[1].weights[0][0, 0] = value
    with pytest.raises(UpdateError, match="exceeds"):
        average_securely(given)
