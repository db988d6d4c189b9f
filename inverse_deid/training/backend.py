"""Make Keras ready before it is imported: its device, its threads, and no messages about missing drivers.

Keras runs on the backend that `KERAS_BACKEND` names, TensorFlow if none is named. A backend that was imported
before does not notice what is set here.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from inverse_deid.choices.table import Device
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import missing_extra
from inverse_deid.core.wording import _

_THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


def check_packages() -> None:
    """Check that Keras and its backend are installed, without the seconds that importing them takes.

    Raises:
        ConfigurationError: One is missing.
    """
    for package in (_backend(), "keras"):
        if find_spec(package) is None:
            raise missing_extra("training", package, "train")


def prepare_backend(device: Device = "auto", n_threads: int | None = None) -> str:
    """Import Keras and its backend, and return which device trains, in a sentence.

    `auto` trains on a GPU if the backend finds one. `n_threads` limits the threads of the processor.

    Raises:
        ConfigurationError: A package is missing, or there is no GPU for `cuda`.
    """
    check_packages()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    if n_threads is not None:
        os.environ |= dict.fromkeys(_THREADS, str(n_threads))
    with _silence():
        names = _find_gpus()
    if device == "cuda" and not names:
        raise ConfigurationError(
            _(
                "device cuda: {backend} finds no NVIDIA GPU. Install its packages for CUDA "
                "(docs/training.md) and check that nvidia-smi shows the GPU, or use device cpu",
                backend=_backend(),
            )
        )
    if device == "cpu" or not names:
        return f"training on the CPU{'' if device == 'cpu' else ' (no GPU was found)'}"
    return f"training on {', '.join(names)}"


def _backend() -> str:
    return os.environ.get("KERAS_BACKEND", "tensorflow")


def _find_gpus() -> list[str]:
    """Return the names of the GPUs that the backend of Keras can use."""
    import keras

    if keras.backend.backend() == "torch":
        import torch

        return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if keras.backend.backend() == "jax":
        import jax

        return [str(one) for one in jax.devices() if one.platform == "gpu"]
    import tensorflow as tf

    return [one.name for one in tf.config.list_physical_devices("GPU")]


@contextmanager
def _silence() -> Iterator[None]:
    """Throw away what native code writes to standard error; errors are still raised."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    try:
        with tempfile.TemporaryFile() as sink:
            os.dup2(sink.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
