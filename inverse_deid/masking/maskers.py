"""Maskers of several settings, of which the last ones that were asked for stay in memory."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from inverse_deid.masking.assemble import MaskingSettings
from inverse_deid.masking.case_masker import DocumentMasker

BuildMasker = Callable[[MaskingSettings], DocumentMasker]
"""Loads dictionaries and model; takes about a second."""

Settings = TypeVar("Settings", bound=Hashable)
Masker = TypeVar("Masker")


class Maskers(Generic[Settings, Masker]):
    """Gives maskers by their settings, and keeps the last ones that were asked for.

    One masker must not be used by two threads at once: hold `lock` while it works. Each takes about 100 MB
    unless it shares its parts, so that old ones go before a new one comes.
    """

    def __init__(self, build: Callable[[Settings], Masker], n_kept: int = 1) -> None:
        self._build = build
        self._n_kept = n_kept
        self._kept: OrderedDict[Settings, Masker] = OrderedDict()
        self.lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, settings: Settings) -> Masker:
        """Return a masker; the caller holds the lock."""
        masker = self._kept.pop(settings, None)
        if masker is None:
            while len(self._kept) >= self._n_kept:
                self._kept.popitem(last=False)
            masker = self._build(settings)
        self._kept[settings] = masker
        return masker

    def drop_idle(self) -> None:
        """Forget all maskers, unless one works now."""
        if self.lock.acquire(blocking=False):
            try:
                self._kept.clear()
            finally:
                self.lock.release()
            gc.collect()
