"""What has the sites of a study: this process, or one of the engines of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from inverse_deid.research.federated.encoded_sites import EncodedStudy, Say
from inverse_deid.research.federated.site_training import BeginRun, DirectEpochs
from inverse_deid.research.federated.study_trainers import StudyTrainers

SitesOf = Callable[[float], BeginRun]
"""The sites, with this proximal term; 0 = none."""

Work = Callable[[SitesOf, Say], None]
"""What is done with sites. It says its lines where it is told to."""

Engine = Callable[[Work, Say], None]
"""Has sites for as long as the work takes."""


def direct_engine(trainers: StudyTrainers, study: EncodedStudy) -> Engine:
    """The sites take turns in this process."""
    documents = [site.train for site in study.sites]

    def run(work: Work, say: Say) -> None:
        work(lambda proximal: partial(DirectEpochs, trainers.of(proximal), documents), say)

    return run
