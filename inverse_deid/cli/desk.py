"""`inverse-deid desk`: from a file to its masked file in the browser, on this computer alone."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.extras import need_modules
from inverse_deid.core.wording import _

if TYPE_CHECKING:
    from inverse_deid.review.pages.door import Door, Place

_NEEDED = (
    *("sqlalchemy", "cryptography", "argon2", "starlette", "uvicorn", "httptools", "prometheus_client"),
    *("platformdirs", "filelock"),
)


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help=_("Where everything but the key is kept, encrypted.  [default: a folder of your user account]"),
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help=_("Port of the pages.  [default: 8018, or a free one]")
)
@click.option("--no-browser", is_flag=True, help=_("Print the address and do not open it."))
def desk(folder: Path | None, port: int | None, no_browser: bool) -> None:
    """Mask, read and release files in the browser, on this computer alone.

    Opens a page where you drop files, choose what is hidden, read the result and
    download it. Nobody else can open the page, and nothing is sent anywhere. Press
    Enter for a new address, and Ctrl+C to stop (docs/desk.md).

    Needs the extra `desk`.
    """
    need_modules(_("the desk"), "desk", *_NEEDED)
    from inverse_deid.desk import ask_running_desk, bind, find_place, hold_folder, open_key, serve_desk

    place = find_place(folder)
    key = open_key(place)
    with hold_folder(place.folder) as is_mine:
        if not is_mine:
            address = ask_running_desk(place, key)
            if address is None:
                raise ConfigurationError(
                    _("another program uses {folder}. Stop it, or use another --folder", folder=place.folder)
                )
            click.echo(_("The desk is already running. Here is a new address for it."))
            _show_address(place, address, opens=not no_browser)
            return
        with bind(port) as listening:
            serve_desk(place, key, listening, lambda door: _welcome(door, place, opens=not no_browser))


def _welcome(door: Door, place: Place, *, opens: bool) -> None:
    click.echo(_("Everything is kept, encrypted, in {folder}", folder=place.folder))
    click.echo(_("The key is in {key_file}", key_file=place.key_file))
    click.echo(_("Press Enter for a new address. Stop with Ctrl+C."))
    _show_address(place, door.make_address(), opens=opens)
    Thread(target=copy_context().run, args=(_answer_enter, door, opens), daemon=True).start()


def _answer_enter(door: Door, opens: bool) -> None:
    # Read without a lock that would be held at the end.
    with suppress(OSError, ValueError, AttributeError):  # no standard input
        while os.read(sys.stdin.fileno(), 1024):
            _show_address(door.place, door.make_address(), opens=opens)


def _show_address(place: Place, address: str, *, opens: bool) -> None:
    click.echo(_("Open in your browser (works once): {address}", address=address))
    if opens:
        with suppress(OSError):  # the address is in the terminal
            webbrowser.open(place.write_opening(address))
