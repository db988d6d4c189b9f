"""The log of a training run: a CSV file, TensorBoard events, a progress bar, as callbacks of Keras."""

from __future__ import annotations

import csv
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import keras
from tqdm import tqdm

from inverse_deid.core.errors import OutputError, Remedy
from inverse_deid.core.wording import N_, _
from inverse_deid.network.training import RECALL

_COLUMNS = ("epoch", "loss", "tokens", "tokens_per_second", "validation_recall", "best")
Logs = dict[str, float]


class TrainingLog(keras.callbacks.Callback):  # type: ignore[misc]
    """Writes `log.csv` to a folder and shows progress.

    `say` receives a line per epoch, with the time that the rest takes at this speed, and `show` draws a
    progress bar of all epochs on standard error. The lines of the `n_done` epochs of an interrupted run are
    kept, those of an earlier run are removed.
    """

    def __init__(self, folder: Path, say: Callable[[str], None], *, n_done: int = 0, show: bool) -> None:
        super().__init__()
        self._folder, self._say, self._show, self._n_done = folder, say, show, n_done
        self._start = 0.0
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            if not n_done:
                (folder / "log.csv").unlink(missing_ok=True)
                shutil.rmtree(folder / "tensorboard", ignore_errors=True)

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Begin the bar."""
        self._start = time.perf_counter()
        n_steps = self.params["steps"] or 0
        self._bar: tqdm[None] = tqdm(
            total=self.params["epochs"] * n_steps,
            initial=self._n_done * n_steps,
            unit="batch",
            leave=False,
            disable=not self._show,
            dynamic_ncols=True,
        )

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Name the epoch."""
        self._bar.set_description(f"epoch {epoch + 1}/{self.params['epochs']}")

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        """Move the bar."""
        self._bar.set_postfix(loss=f"{logs['loss']:.4f}", refresh=False)
        self._bar.update()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Take the bar away."""
        self._bar.close()

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Write a line of the CSV file, and say how it went.

        Raises:
            OutputError: The file cannot be written.
        """
        gain = f"{logs[RECALL]:.4f}" if RECALL in logs else ""
        tokens, speed, best = logs["tokens"], f"{logs['tokens_per_second']:.0f}", int(logs.get("best", 0))
        path = self._folder / "log.csv"
        with writing(path):
            fresh = not path.exists()
            with path.open("a", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                values = (epoch + 1, f"{logs['loss']:.5f}", tokens, speed, gain, best)
                writer.writerows([_COLUMNS, values] if fresh else [values])
        validated = f", validation recall {gain}{' (best)' if best else ''}" if gain else ""
        n_epochs = self.params["epochs"]
        seconds = (time.perf_counter() - self._start) / (epoch + 1 - self._n_done) * (n_epochs - epoch - 1)
        left = f", about {format_seconds(seconds)} left" if epoch + 1 < n_epochs else ""
        self._say(
            f"epoch {epoch + 1}/{n_epochs}: loss {logs['loss']:.4f}, {tokens} tokens, {speed} tokens/s"
            f"{validated}{left}"
        )


class Events(keras.callbacks.TensorBoard):  # type: ignore[misc]
    """TensorBoard events of Keras; errors are one line with a remedy."""

    def __init__(self, folder: Path) -> None:
        super().__init__(log_dir=folder / "tensorboard", write_graph=False)
        self._events = folder / "tensorboard"

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Write the logs of an epoch.

        Raises:
            OutputError: They cannot be written.
        """
        with writing(self._events):
            super().on_epoch_end(epoch, logs)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Close the files.

        Raises:
            OutputError: They cannot be written.
        """
        with writing(self._events):
            super().on_train_end(logs)


def format_seconds(seconds: float) -> str:
    """Return a duration in words.

    Example:
        >>> format_seconds(42), format_seconds(3000), format_seconds(7260)
        ('42 s', '50 min', '2 h 1 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system and TensorFlow raise into one line with a remedy.

    Raises:
        OutputError: It was raised.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and not type(error).__module__.startswith("tensorflow"):
            raise
        reason = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        raise OutputError(
            _("{path}: cannot be written ({reason})", path=path, reason=reason),
            remedies=[
                Remedy("resume", step=N_("free disk space or grant write permission, then run again with {}"))
            ],
        ) from error
