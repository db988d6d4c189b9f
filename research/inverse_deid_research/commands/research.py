"""`inverse-deid research`: the studies that the product came from, and others built on it."""

from __future__ import annotations

import os
from types import MappingProxyType

import click

from inverse_deid.cli.parts.lazy_group import Commands, LazyGroup

_HERE = "inverse_deid_research.commands"
_COMMANDS: Commands = MappingProxyType(
    {
        "Networks": {
            "thesis": (f"{_HERE}.experiment", "Repeat the tables of the KTH thesis."),
            "network-alone": (f"{_HERE}.experiment", "Measure a network without rules."),
            "ablations": (f"{_HERE}.experiment", "Change one thing at a time."),
        },
        "Comparison": {
            "compare": (f"{_HERE}.compare", "Run several systems side by side."),
            "open-benchmarks": (f"{_HERE}.benchmarks", "Measure the masker on open benchmarks."),
        },
        "Training without pooled documents": {
            "federated": (f"{_HERE}.federated", "Train at several sites."),
            "share": (f"{_HERE}.share", "Share training data as private vectors."),
        },
        "Concepts": {"extraction": (f"{_HERE}.extraction", "Extract drugs, effects and others.")},
    }
)


@click.group(cls=LazyGroup, commands=_COMMANDS)
def research() -> None:
    """Repeat and extend the published studies (see docs/experiments.md)."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
