"""The log of a training run: a CSV file, TensorBoard events, a progress bar."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import tensorflow as tf
from tqdm import tqdm

from inverse_deid.core.errors import OutputError, Remedy
from inverse_deid.core.wording import N_, _
from inverse_deid.network.training import EpochReport

_COLUMNS = ("epoch", "loss", "tokens", "tokens_per_second", "validation_recall", "best")


class TrainingLog:
    """Writes `log.csv` and TensorBoard events to a folder and shows progress; numbers only.

    `say` receives a line per epoch, and `show` draws a progress bar on standard error. The lines of the
    `n_done` epochs of an interrupted run are kept, those of an earlier run are removed.
    """

    def __init__(
        self, folder: Path, n_epochs: int, say: Callable[[str], None], *, n_done: int = 0, show: bool
    ) -> None:
        self._folder, self._n_epochs, self._say = folder, n_epochs, say
        self._bar: tqdm[None] = tqdm(unit="batch", leave=False, disable=not show, dynamic_ncols=True)
        self._loss = 0.0
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if not n_done:
                (folder / "log.csv").unlink(missing_ok=True)
                shutil.rmtree(folder / "tensorboard", ignore_errors=True)
            self._events = tf.summary.create_file_writer(str(folder / "tensorboard"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
        try:
            with _writing(self._folder / "tensorboard"):
                self._events.close()
        except OutputError:
            if error is None:  # the earlier error is the one to report
                raise

    def on_batch(self, epoch: int, done: int, n_batches: int, loss: float) -> None:
        """Move the bar."""
        if done == 1:
            self._bar.reset(total=n_batches)
            self._bar.set_description(f"epoch {epoch}/{self._n_epochs}")
            self._loss = loss
        self._loss += 0.05 * (loss - self._loss)
        self._bar.set_postfix(loss=f"{self._loss:.4f}", refresh=False)
        self._bar.update()

    def on_epoch(self, report: EpochReport) -> None:
        """Write a line of the CSV file and the events, and say how it went.

        Raises:
            OutputError: The file or the events cannot be written.
        """
        speed = report.n_tokens / max(report.seconds, 1e-9)
        gain = "" if report.gain is None else f"{report.gain:.4f}"
        values = (report.epoch, f"{report.loss:.5f}", report.n_tokens, f"{speed:.0f}", gain, int(report.best))
        path = self._folder / "log.csv"
        with _writing(path):
            fresh = not path.exists()
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerows([_COLUMNS, values] if fresh else [values])
        with _writing(self._folder / "tensorboard"), self._events.as_default():
            tf.summary.scalar("loss", report.loss, report.epoch)
            tf.summary.scalar("tokens per second", speed, report.epoch)
            if report.gain is not None:
                tf.summary.scalar("validation recall", report.gain, report.epoch)
            self._events.flush()
        validated = f", validation recall {gain}{' (best)' if report.best else ''}" if gain else ""
        self._say(
            f"epoch {report.epoch}/{self._n_epochs}: loss {report.loss:.4f}, "
            f"{report.n_tokens} tokens, {speed:.0f} tokens/s{validated}"
        )


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn what the operating system and TensorFlow raise into one line with a remedy."""
    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        raise OutputError(
            _("{path}: cannot be written ({reason})", path=path, reason=reason),
            remedies=[
                Remedy("resume", step=N_("free disk space or grant write permission, then run again with {}"))
            ],
        ) from error
