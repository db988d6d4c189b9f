"""`inverse-deid research`: the studies that the product came from, and others built on it."""

from __future__ import annotations

from types import MappingProxyType

import click

from inverse_deid.cli.lazy_group import Commands, LazyGroup

_COMMANDS: Commands = MappingProxyType(
    {
        "Networks": {
            "thesis": ("inverse_deid.research.commands.experiment", "Repeat the tables of the KTH thesis."),
            "network-alone": (
                "inverse_deid.research.commands.experiment",
                "Measure a network without rules.",
            ),
            "ablations": ("inverse_deid.research.commands.experiment", "Change one thing at a time."),
        },
        "Comparison": {
            "compare": ("inverse_deid.research.commands.compare", "Run several systems side by side.")
        },
        "Training without pooled documents": {
            "federated": ("inverse_deid.research.commands.federated", "Train at several sites."),
            "share": ("inverse_deid.research.commands.share", "Share training data as private vectors."),
        },
        "Concepts": {
            "extraction": ("inverse_deid.research.commands.extraction", "Extract drugs, effects and others.")
        },
    }
)


@click.group(cls=LazyGroup, commands=_COMMANDS)
def research() -> None:
    """Repeat and extend the published studies.

    Most commands need an extra, which they name.
    """
