"""What runs in a worker process: one masker, loaded once, that masks one batch after the other.

Nothing that a worker gives back or prints shows a narrative: an unforeseen error is told by its
kind and place alone, for its message and its traceback could quote one.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inverse_deid.core.errors import InverseDeidError, StageError, describe_error
from inverse_deid.core.values import Document, MaskedDocument
from inverse_deid.engine.masker import Masker


class LoadedMasker(Masker, Protocol):
    """A masker that says what it was made of; a `Deidentifier` does."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change a decision."""
        ...


Load = Callable[[], LoadedMasker]
"""Loads the masker; can be sent to another process."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a worker loaded.

    Args:
        pid: Of its process.
        fingerprint: Of its masker.
        made_of: Hashes and thresholds, for reports.
    """

    pid: int
    fingerprint: str
    made_of: Mapping[str, object] = field(repr=False)


_loaded: list[LoadedMasker] = []
"""The one masker of this process; a pool of processes keeps nothing for its calls but what is global."""


def load(build: Load) -> Loaded | InverseDeidError:
    """Load the masker of this process, or say why it cannot be; ends with the process that started it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        masker = build()
    except InverseDeidError as error:
        return plain(error)
    except Exception as error:  # noqa: BLE001 - its message may quote a file
        return StageError(f"a worker process met {describe_error(error)}")
    _loaded[:] = [masker]
    return Loaded(os.getpid(), masker.fingerprint, dict(getattr(masker, "made_of", {})))


def mask(docs: Sequence[Document]) -> list[MaskedDocument] | InverseDeidError:
    """Mask one batch, order kept, or say what went wrong."""
    try:
        return _loaded[0].mask_many(docs)
    except InverseDeidError as error:
        return plain(error)
    except Exception as error:  # noqa: BLE001 - its message may quote a narrative
        return StageError(f"a worker process met {describe_error(error)}")


def plain(error: InverseDeidError) -> InverseDeidError:
    """The error without what it was raised from and where."""
    return type(error)(str(error))


def _end_with_parent() -> None:
    """A killed program leaves no worker behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
