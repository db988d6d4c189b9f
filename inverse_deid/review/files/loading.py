"""Make a new store, empty or with the cases of files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.engine.tally import Tally
from inverse_deid.files.finding import FoundFile
from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.review.files.intake import LoadSettings, add_cases, plan_cases
from inverse_deid.review.store.creation import new_tables
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.opening import Clock, ReviewStore, open_store

__all__ = ["LoadSettings", "create_store", "plan_cases"]


def create_store(
    address: str | Path,
    key: ReviewKey,
    jobs: Sequence[FoundFile],
    masker: DocumentMasker | None,
    settings: LoadSettings,
    *,
    clock: Clock = time.time,
) -> tuple[ReviewStore, Tally]:
    """Make a store of all cases in the files of jobs from `plan_cases`, or without jobs an empty one.

    The file of a store appears only when it is complete; the masker can be None for an empty one. The cases
    are added as `add_cases` does. The address is the path of an SQLite file, or a URL of SQLAlchemy. The key
    encrypts the texts; without it they cannot be read again.

    Raises:
        OutputExistsError: The address already has a store.
        InputError: There are files, but no case could be read.
        ConfigurationError: There are files, but no masker.
    """
    if jobs and masker is None:
        raise ConfigurationError(_("cases cannot be added without a masker"))
    tally = Tally()
    with new_tables(address, key, settings.policy, settings.facts) as made:
        with open_store(made, key, clock=clock) as store:
            if masker is not None and jobs:
                tally = add_cases(store, jobs, masker, settings, by="command")
        if jobs and not tally.n_documents:
            first = tally.failures[0] if tally.failures else None
            why = "" if first is None else f": {first.where}: {first.reason}"
            raise UnreadableInputError(
                _("no case could be read{why}", why=why), remedies=() if first is None else first.remedies
            )
    return open_store(address, key, clock=clock), tally
