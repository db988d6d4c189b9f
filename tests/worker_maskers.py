"""Maskers that are loaded in worker processes: for each failure a word that brings it about."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fake_maskers import FakeMasker, mask_capitals

from inverse_deid.core.errors import ModelError
from inverse_deid.core.values import Document, MaskedDocument

KILLS_ONCE = "KILLSONCE"
KILLS = "KILLSEACHTIME"
RAISES = "RAISESWITHTEXT"
SLOW = "SLOWDOCUMENT"


class FailingMasker(FakeMasker):
    """Masks like `mask_capitals`; some words kill its process, stop it or raise an error that quotes them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str.islower)
        self._folder = folder

    def mask_many(self, docs: Sequence[Document]) -> list[MaskedDocument]:
        words = {word for doc in docs for word in doc.text.split()}
        if KILLS in words or (KILLS_ONCE in words and self._is_first()):
            os.kill(os.getpid(), signal.SIGKILL)
        if RAISES in words:
            raise KeyError(docs[0].text)
        if SLOW in words:
            (self._folder / f"pid-{os.getpid()}").touch()
            time.sleep(60)
        return super().mask_many(docs)

    def _is_first(self) -> bool:
        mark = self._folder / "killed"
        if mark.exists():
            return False
        mark.touch()
        return True


def _failing(folder: Path) -> FailingMasker:
    return FailingMasker(folder)


def _unloadable() -> FakeMasker:
    raise ModelError("the model is missing")


def _changing(folder: Path) -> FakeMasker:
    masker = FailingMasker(folder)
    masker.fingerprint = f"made by {os.getpid()}"
    return masker


def failing(folder: Path) -> partial[FailingMasker]:
    return partial(_failing, folder)


def changing(folder: Path) -> partial[FakeMasker]:
    """Another masker in every process, as if the model was changed meanwhile."""
    return partial(_changing, folder)


unloadable = _unloadable
plain = mask_capitals
