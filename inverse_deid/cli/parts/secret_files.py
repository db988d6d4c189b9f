"""Secrets of a file, of the environment or of a program's output, and files that must not be shared."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, cast

import click

from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.core.wording import _
from inverse_deid.formats.registry import input_errors

KEY_VARIABLE = "INVERSE_DEID_KEY"
_MAX_SECRET_BYTES = 4096
_MAX_OUTPUT_BYTES = 64 * 1024  # with white space
_COMMAND_SECONDS = 30.0
_COMMAND = "inverse_deid.key_command"


def _note_command(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_COMMAND] = value


KEY_COMMAND_OPTION = click.option(
    "--key-command",
    metavar="COMMAND",
    expose_value=False,
    callback=_note_command,
    help=_("Program that prints the key, such as 'vault kv get ...'."),
)
"""Next to `--key`: `read_secret` finds what was given."""


def read_secret(path: Path | None, option: str = "--key", variable: str = KEY_VARIABLE) -> bytes | None:
    """Return a secret without one line break at its end; all else may be part of it. None = not given.

    Raises:
        UnreadableInputError: The file cannot be read.
        ConfigurationError: It is given twice, the secret is too long, or the key command failed.
    """
    from_environment = os.environ.get(variable)
    context = click.get_current_context(silent=True) if option == "--key" else None
    command = None if context is None else context.meta.get(_COMMAND)
    if context is not None and command is not None:
        if path is not None or from_environment is not None:
            given = option if path is not None else variable
            raise ConfigurationError(
                _("--key-command and {given} are both given. Leave one of them out", given=given)
            )
        secret: bytes = command if isinstance(command, bytes) else run_key_command(command)
        context.meta[_COMMAND] = secret
        return secret
    if path is None:
        return None if from_environment is None else _strip_line_break(os.fsencode(from_environment))
    if from_environment is not None:
        raise ConfigurationError(
            _(
                "{option} and {variable} are both given. Leave one of them out",
                option=option,
                variable=variable,
            )
        )
    try:
        with input_errors(), path.open("rb") as stream:
            secret = _strip_line_break(stream.read(_MAX_SECRET_BYTES + 3))
    except UnreadableInputError as error:
        raise error.add_prefix(f"{path} ") from None
    if len(secret) > _MAX_SECRET_BYTES:
        raise ConfigurationError(
            _(
                "{path}: longer than {max_secret_bytes} bytes. Give a file with the secret alone",
                path=path,
                max_secret_bytes=_MAX_SECRET_BYTES,
            )
        )
    return secret


def _strip_line_break(secret: bytes) -> bytes:
    return secret.removesuffix(b"\n").removesuffix(b"\r") if secret.endswith(b"\n") else secret


def run_key_command(command: str) -> bytes:
    """Return what a program prints, without white space around it. No shell runs it, and it gets no input.

    Raises:
        ConfigurationError: It cannot be run, fails, takes too long, or prints nothing or too much.
    """
    try:
        program = subprocess.Popen(  # noqa: S603 - whoever runs the command names the program
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it could quote the key
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError):
        raise ConfigurationError(
            _("the program of --key-command cannot be started. Check its name")
        ) from None
    until = time.monotonic() + _COMMAND_SECONDS
    stream, printed = cast("IO[bytes]", program.stdout), bytearray()

    def read() -> None:
        with stream:
            printed.extend(stream.read(_MAX_OUTPUT_BYTES + 1))

    # A thread, because a program that was started in turn may keep the output open for ever.
    reader = Thread(target=read, daemon=True)
    reader.start()
    is_late = False
    try:
        reader.join(_COMMAND_SECONDS)
        if len(printed) <= _MAX_OUTPUT_BYTES:
            program.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        is_late = True
    finally:
        _end(program)
    is_late |= reader.is_alive()
    secret, problem = bytes(printed).strip(), ""
    if len(secret) > _MAX_SECRET_BYTES or len(printed) > _MAX_OUTPUT_BYTES:
        problem = _("printed more than {max_secret_bytes} bytes", max_secret_bytes=_MAX_SECRET_BYTES)
    elif is_late:
        problem = _("took longer than {command_seconds:g} seconds", command_seconds=_COMMAND_SECONDS)
    elif program.returncode:
        problem = _("ended with status {returncode}", returncode=program.returncode)
    elif not secret:
        problem = _("printed nothing")
    if problem:
        raise ConfigurationError(
            _(
                "the program of --key-command {problem}. Run it by itself: it must print the key alone",
                problem=problem,
            )
        )
    return secret


def _end(program: subprocess.Popen[bytes]) -> None:
    # What the program started is killed as well.
    if program.returncode is not None:
        return
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    else:
        program.kill()
    program.wait()


def check_list_place(path: Path, folders: Mapping[str, Path]) -> None:
    """Refuse a list of `--rename` in a folder of masked files; `folders` has their options.

    Raises:
        ConfigurationError: It would be shared with them.
    """
    for option, folder in folders.items():
        if path.resolve().is_relative_to(folder.resolve()):
            raise ConfigurationError(
                _(
                    "--rename has the original names. Give a file outside of the folder of {option}",
                    option=option,
                )
            )
