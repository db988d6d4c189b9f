"""The settings of a training run, as a TOML file gives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from inverse_deid.core.errors import ConfigurationError, Remedy
from inverse_deid.core.settings import as_plain_values, make_settings, read_toml
from inverse_deid.core.thresholds import OperatingPoints, Thresholds
from inverse_deid.core.wording import N_, _
from inverse_deid.network.config import Count, NetworkConfig, Positive, Share, Size, TrainingConfig

Aim = Annotated[float, Meta(gt=0, le=1)]


class CalibrationConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the operating points aim at, on the held-out parts of the corpora.

    Recall, at strict and balanced, is that of PHI tokens in all corpora together. Precision, at lenient, is
    that in every corpus. `density_slope` is that of the `Thresholds` of all three.
    """

    strict_recall: Aim = 0.995
    balanced_recall: Aim = 0.985
    lenient_precision: Aim = 0.9
    density_slope: Annotated[float, Meta(ge=0, le=2)] = 0.0

    @property
    def like(self) -> Thresholds:
        """Thresholds with the slope of the operating points."""
        return Thresholds(1.0, 1.0, self.density_slope)


def calibration_of(operating_points: OperatingPoints, provenance: Mapping[str, Any]) -> CalibrationConfig:
    """Return the aims and the slope of a model: those that it states, else the usual aims with its slope."""
    try:
        return make_settings(provenance["calibration"], CalibrationConfig)
    except (KeyError, ConfigurationError):
        slopes = [pair.density_slope for pair in operating_points.values()]
        return CalibrationConfig(density_slope=max(slopes, default=0.0))


class EncoderConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an encoder's training that a network's training lacks: the table [encoder].

    Args:
        batch_pieces: Approximate number of word pieces per batch, with padding.
        learning_rate: Peak of the learning rate of the encoder.
        head_rate: Peak of that of the layers which are not pre-trained.
        hidden_words: Share of words hidden behind a mask piece, doubled on PHI.
        bfloat16: Multiply in half precision, which is faster on processors that can.
        reading_passes: Passes over the texts, without marks, in which hidden words are guessed beforehand.
        reading_rate: Peak of the learning rate of these.
        layers: Layers of the pre-trained encoder that are kept, from 0; none named = all.
        wide: Units that are kept of the dense part of each layer, those of the largest weights; 0 = all.
        shortest_window: If above 0, windows are cut again at every pass, at random, to between this number
            and `training.window` tokens, as a second reader reads them.
    """

    batch_pieces: Size = 2560
    learning_rate: Positive = 2e-4
    head_rate: Positive = 1e-3
    hidden_words: Share = 0.04
    bfloat16: bool = True
    reading_passes: Count = 0
    reading_rate: Positive = 2e-4
    layers: tuple[Count, ...] = ()
    wide: Count = 0
    shortest_window: Count = 0


class RunData(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The data of a training run: the table [data].

    Args:
        gold: Annotated corpora; the validation part of each is calibrated on. For a folder
            with the 2014 i2b2 release, its official training part is used.
        compare: Annotated corpora that are never trained on, measured before and after.
        carriers: Unannotated narratives to plant PHI in.
        mapping: TOML file that gives the i2b2 type of each type of another scheme.
        word_vectors: File of `WordVectors` (npz), None = those of the packaged model.
        teachers: Model folders whose opinion is learned along with the labels.
    """

    gold: tuple[Path, ...] = ()
    compare: tuple[Path, ...] = ()
    carriers: tuple[Path, ...] = ()
    mapping: Path | None = None
    word_vectors: Path | None = None
    teachers: tuple[Path, ...] = ()


class RunConfig(RunData, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A training run: its data, the aims of the calibration, the network, the training.

    `encoder` is for trainings of encoders.
    """

    calibration: CalibrationConfig = CalibrationConfig()
    network: NetworkConfig = NetworkConfig()
    training: TrainingConfig = TrainingConfig()
    encoder: EncoderConfig = EncoderConfig()


class _RunFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    data: RunData = RunData()
    calibration: CalibrationConfig = CalibrationConfig()
    network: NetworkConfig = NetworkConfig()
    training: TrainingConfig = TrainingConfig()
    encoder: EncoderConfig = EncoderConfig()


def read_run_config(
    path: Path,
    *,
    needs_gold: bool = True,
    training: TrainingConfig | None = None,
    calibration: CalibrationConfig | None = None,
) -> RunConfig:
    """Read a training configuration; paths in it count from the file's own folder.

    `needs_gold` refuses a file that names no annotated corpus. `training` and `calibration` replace the
    defaults of the file's tables [training] and [calibration].

    Raises:
        ConfigurationError: Missing, not TOML, unknown or unfit settings.
    """
    values = read_toml(path)
    for name, defaults in (("training", training), ("calibration", calibration)):
        table = values.get(name, {})
        if defaults is not None and isinstance(table, dict):
            values[name] = {**as_plain_values(defaults), **table}
    try:
        file = make_settings(values, _RunFile, folder=path.parent)
    except ConfigurationError as error:
        raise error.add_prefix(f"{path}: ") from error
    if needs_gold and not file.data.gold:
        raise ConfigurationError(
            _("{path}: [data] gold names no annotated corpus", path=path),
            remedies=[Remedy(step=N_("add one")), Remedy("gold")],
        )
    data = {name: getattr(file.data, name) for name in RunData.__struct_fields__}
    return RunConfig(
        **data,
        calibration=file.calibration,
        network=file.network,
        training=file.training,
        encoder=file.encoder,
    )
