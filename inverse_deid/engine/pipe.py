"""From standard input to standard output; nothing is kept, so nothing can be resumed."""

from __future__ import annotations

from typing import BinaryIO

from inverse_deid.core.errors import InputError, OutputError
from inverse_deid.engine.masker import Masker
from inverse_deid.engine.run_settings import RunSettings
from inverse_deid.engine.serial import Reporting, Start, mask_source
from inverse_deid.engine.tally import Tally
from inverse_deid.formats.records import Format
from inverse_deid.formats.registry import input_errors, open_source

PIPE_NAME = "standard input"


class _Pipe:
    """A pipe to write into; a closed one is an error with a remedy."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes, /) -> int:
        problem = ""
        try:
            left = memoryview(data)
            while left:
                left = left[self._stream.write(left) :]  # without a buffer a part may be taken
            self._stream.flush()
        except OSError as error:
            problem = error.strerror or type(error).__name__
        if problem:
            raise OutputError(f"standard output cannot be written: {problem}; the rest was not masked")
        return len(data)


def mask_pipe(pipes: tuple[BinaryIO, BinaryIO], kind: Format, masker: Masker, run: RunSettings) -> Tally:
    """Mask what comes in and write it out; what was wrong with the input is in the tally.

    Args:
        pipes: Input and output.
        kind: Format of both.
        masker: Masks the documents.
        run: Only reading, progress and batches at once matter.

    Raises:
        OutputError: Nobody reads the output any more.
    """
    tally = Tally()
    try:
        _mask(pipes, kind, masker, run, tally)
    except InputError as error:
        tally.fail(PIPE_NAME, str(error))
    return tally


def _mask(
    pipes: tuple[BinaryIO, BinaryIO], kind: Format, masker: Masker, run: RunSettings, tally: Tally
) -> None:
    """Mask and write; everything is counted in the tally."""
    stream, target = pipes
    with input_errors():
        source = open_source(stream, "stdin", kind, run.read_options)
    sink = source.sink(_Pipe(target))
    report = Reporting(PIPE_NAME, run.on_progress, run.n_at_once)
    for _ in mask_source(source, [sink], masker, Start(0, tally), report):
        pass
    sink.finish()
