"""`inverse-deid research federated site`: wait for the server, answer it, end with a model."""

from __future__ import annotations

import time
from pathlib import Path

from inverse_deid.core.errors import UpdateError
from inverse_deid.research.federated.deployment_config import SiteConfig
from inverse_deid.research.federated.file_exchange import DECLARATION, FileExchange, reply_name
from inverse_deid.research.federated.rounds import State, state_of
from inverse_deid.research.federated.site import SiteRun

_STEP_S = 0.2


def take_part(site: SiteRun) -> None:
    """Take part until the training is finished.

    Raises:
        UpdateError: The server was silent too long, or sent what does not fit.
        OutputError: The log, a message or the model cannot be written.
    """
    config = site.config
    if config.folder is not None:
        site.finish(_by_files(site, config, config.folder))
    if config.flower is not None:
        from inverse_deid.research.federated.flower_site import by_flower

        site.finish(by_flower(site, config.flower))


def _by_files(site: SiteRun, config: SiteConfig, folder: Path) -> State:
    """Answer states as they come into the folder; the finished one."""
    name = config.name
    exchange = FileExchange(folder)
    exchange.send("from", name, DECLARATION, site.declared())
    site.say(f"site {name}: declared, waits for the server")
    heard, answered = time.monotonic(), ""
    while True:
        latest = exchange.latest(name)
        if latest is not None and latest != answered:
            state = state_of(site.understood(exchange.data("to", name, latest)))
            heard, answered = time.monotonic(), latest
            if state.finished:
                return state
            _answer(site, exchange, state)
        elif time.monotonic() - heard > config.patience_s:
            raise UpdateError(f"the server was silent for {config.patience_s:g} s; start the site again")
        else:
            time.sleep(_STEP_S)


def _answer(site: SiteRun, exchange: FileExchange, state: State) -> None:
    name = site.config.name
    if exchange.has("from", name, reply_name(state.number)):
        return  # answered before this site was stopped
    exchange.send("from", name, reply_name(state.number), site.answered(state))
    site.say(f"site {name}: answered round {state.number}")
