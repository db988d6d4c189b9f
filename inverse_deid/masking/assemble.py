"""From settings to a ready pipeline. With `training` the only place that knows rules and network."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from inverse_deid import __version__
from inverse_deid.choices.categories import (
    ALL_CATEGORIES,
    Categories,
    Category,
    check_categories,
    kept_classes,
    list_categories,
    permits_years,
)
from inverse_deid.choices.table import CHOICES, Device, Policy, ReadingMode
from inverse_deid.core.errors import ConfigurationError, FormatError, Remedy, UnreadableInputError
from inverse_deid.core.packaged import packaged_path
from inverse_deid.core.phi import HyperClass
from inverse_deid.core.seals import is_sealed
from inverse_deid.core.thresholds import (
    EVERYTHING_MASKED,
    LEAST_HIGH,
    LEAST_LOW,
    MOST_SLOPE,
    OperatingPoints,
    Thresholds,
)
from inverse_deid.core.wording import N_, _
from inverse_deid.lexicon import SAFE_FLAGS, UNSAFE_FLAGS, Lexicon, load_lexicon
from inverse_deid.masking.document_passes import PhraseList
from inverse_deid.masking.pipeline import Deidentifier, Stages, TokenScorer
from inverse_deid.masking.scorers import CarefulScorer, is_paired, open_scorer
from inverse_deid.network.folder import model_fingerprint
from inverse_deid.replacement.markers import MarkerKind, markers_of
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.rules.origins import load_origins
from inverse_deid.rules.shapes import is_glued_quantity
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.reading import read_text

CERTIFICATE_FORMAT = "inverse-deid certificate"
CERTIFICATE_VERSION = 1
_BOTH = "+"
"""Between the hashes of a network and of the second reader that was calibrated with it."""
USUAL_READING: ReadingMode = "careful"
"""How words in doubt are read if nobody chose it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingSettings:
    """The choices of a user when masking.

    Each is described in `inverse_deid.choices.table`, under the same name. Paths and thresholds that are None
    are the packaged ones. A reading that is None is the one that `find_reading` returns. A certificate
    excludes every other choice that could keep more words. The device is not part of the fingerprint: on
    another one, a probability differs only by rounding.
    """

    model: Path | None = None
    lexicon: Path | None = None
    policy: Policy = "case-aware"
    rules_only: bool = False
    marker: str = "PHI"
    replace: MarkerKind = "marker"
    operating_point: str | None = None
    low: float | None = None
    high: float | None = None
    certificate: Path | None = None
    allow_low_thresholds: bool = False
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    reading: ReadingMode | None = None
    second_reader: Path | None = None
    n_threads: int = 0
    device: Device = "cpu"
    categories: Categories = ALL_CATEGORIES
    # Keep years without day and month if the categories are those of HIPAA. False where dates are replaced: a
    # year as written would tell how far a date was moved. Not chosen by users.
    keep_years: bool = False


def packaged_model() -> Path:
    """Return the folder of the model that is shipped with the package."""
    return packaged_path("model")


def packaged_second_reader() -> Path:
    """Return the folder of the second reader that is shipped with the package."""
    return packaged_path("second_reader")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoadedParts:
    """What takes long to load; pipelines of other settings share it, all of them in one thread at a time."""

    lexicon: Lexicon
    interned: InternedWords
    analyser: RuleAnalyser
    scorer: TokenScorer | None  # None = no network
    points: OperatingPoints
    model_sha256: str  # `model_fingerprint`; "" = no network
    named: tuple[object, ...]  # the settings that name what was loaded


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """A wired pipeline and the hashes of what it was made of."""

    stages: Stages  # rules, network, thresholds and replacement
    model_sha256: str  # `model_fingerprint`; "" = no network
    lexicon_sha256: str  # `Lexicon.sha256`


def build_deidentifier(settings: MaskingSettings, parts: LoadedParts | None = None) -> Deidentifier:
    """Load lexicon and model and wire the stages.

    Args:
        settings: What is masked, and how.
        parts: What was loaded before for the same model and lexicon; None = load them.

    Raises:
        LexiconError: The lexicon is missing or damaged.
        ModelError: The model is missing, damaged or does not fit this version.
        ConfigurationError: Thresholds or marker out of range, the certificate does not hold for these
            settings, or the device cannot be used.
        InputError: The certificate cannot be read or was altered.
    """
    assembly = assemble(settings, parts)
    hashes = (assembly.lexicon_sha256, assembly.model_sha256)
    thresholds = assembly.stages.thresholds
    made_of = {
        "model_sha256": assembly.model_sha256 or None,
        "lexicon_sha256": assembly.lexicon_sha256,
        "thresholds": None if settings.rules_only else thresholds.as_json(),
        "categories": list_categories(settings.categories),
        # None = no network, or one of another kind
        "device": getattr(assembly.stages.scorer, "device", None),
    }
    return Deidentifier(assembly.stages, _fingerprint(settings, assembly.stages, *hashes), made_of)


def find_reading(settings: MaskingSettings) -> ReadingMode | None:
    """Return how words in doubt are read: None = there is no network, so none is in doubt.

    A reading that was chosen holds. If none was, a user's own model that no second reader was calibrated with
    reads alone. See `lacks_second_reader`.
    """
    if settings.rules_only:
        return None
    if settings.reading is not None:
        return settings.reading
    return "fast" if lacks_second_reader(settings) else USUAL_READING


def lacks_second_reader(settings: MaskingSettings) -> bool:
    """Tell whether words in doubt are read once only because no second reader fits the model."""
    if settings.rules_only or settings.reading is not None or settings.second_reader is not None:
        return False
    is_own = settings.model is not None and USUAL_READING == "careful"
    return is_own and not is_paired(settings.model or packaged_model(), packaged_second_reader())


def load_parts(settings: MaskingSettings) -> LoadedParts:
    """Load lexicon and model for pipelines that share them; raise as `build_deidentifier` does."""
    lexicon = load_lexicon(settings.lexicon)
    interned = InternedWords()
    analyser = RuleAnalyser(lexicon, interned)
    named = _name_parts(settings)
    if settings.rules_only:
        return LoadedParts(lexicon, interned, analyser, None, {}, "", named)
    folder = settings.model or packaged_model()
    is_careful = find_reading(settings) == "careful"
    second = (settings.second_reader or packaged_second_reader()) if is_careful else None
    scorer, points = open_scorer(folder, interned, settings.n_threads, settings.device, second)
    model_sha256 = model_fingerprint(folder)
    if second is not None:
        # A certificate or a resumed run for one reader is none for both.
        model_sha256 = f"{model_sha256}{_BOTH}{model_fingerprint(second)}"
    return LoadedParts(lexicon, interned, analyser, scorer, points, model_sha256, named)


def _name_parts(settings: MaskingSettings) -> tuple[object, ...]:
    readers = (find_reading(settings), settings.second_reader)
    return (settings.model, settings.lexicon, *readers, settings.n_threads, settings.device)


def assemble(
    settings: MaskingSettings, parts: LoadedParts | None = None, *, seeks_thresholds: bool = False
) -> Assembly:
    """Return the stages of a de-identifier; raise as `build_deidentifier` does.

    Args:
        settings: What is masked, and how.
        parts: What was loaded before for the same model and lexicon; None = load them.
        seeks_thresholds: The thresholds are still to be found: a second reader reads as with a certificate.
    """
    kept = _check_kept(settings)
    certificate = None if settings.certificate is None else _read_certificate(settings)
    Thresholds(settings.low or 0.0, 1.0 if settings.high is None else settings.high)
    parts = load_parts(settings) if parts is None else parts
    if parts.named != _name_parts(settings):
        raise ConfigurationError(_("the settings name another model or lexicon than what was loaded"))
    lexicon = parts.lexicon
    thresholds = EVERYTHING_MASKED
    if not settings.rules_only:
        if kept and not getattr(parts.scorer, "tells_classes", False):
            raise ConfigurationError(
                _(
                    "{model}: the model does not tell all categories apart",
                    model=settings.model or packaged_model(),
                ),
                remedies=[
                    Remedy("categories", "all", step=N_("mask all of them ({})")),
                    Remedy(step=N_("choose another model")),
                ],
            )
        if certificate is None:
            thresholds = _choose_thresholds(parts.points, settings)
        else:
            thresholds = _read_thresholds(
                certificate, settings, model=parts.model_sha256, lexicon=lexicon.sha256
            )
        if thresholds.are_low and not settings.allow_low_thresholds:
            raise ConfigurationError(
                _describe_low(thresholds, settings),
                remedies=[
                    Remedy(step=N_("choose other thresholds")),
                    Remedy("allow_low_thresholds", step=N_("accept these with {}")),
                ],
            )
    scorer = parts.scorer
    if isinstance(scorer, CarefulScorer):
        scorer = scorer.reading_at(None if seeks_thresholds else _name_limits(settings))
    stages = Stages(
        analyser=parts.analyser.judging(settings.policy, kept),
        scorer=scorer,
        thresholds=thresholds,
        marker_for=markers_of(settings.replace, settings.marker),
        allow=PhraseList(sorted(settings.allow)),
        deny=PhraseList(sorted(settings.deny)),
        kept=kept,
        keeps_years=_keeps_years(settings),
        origins=load_origins().among if Category.ORIGIN in settings.categories else None,
        is_common_word=lambda word: bool(lexicon.flags(word) & SAFE_FLAGS),
        between_batches=parts.interned.trim,
        read=lambda text: read_text(
            text,
            lambda word: bool(lexicon.flags(word) & (SAFE_FLAGS | UNSAFE_FLAGS)),
            lambda word: bool(lexicon.flags(word) & SAFE_FLAGS) or is_glued_quantity(word),
        ),
    )
    return Assembly(stages, parts.model_sha256, lexicon.sha256)


def _check_kept(settings: MaskingSettings) -> frozenset[HyperClass]:
    check_categories(settings.categories)
    kept = kept_classes(settings.categories)
    if kept and settings.rules_only:
        raise ConfigurationError(
            _("the rules alone do not tell categories apart"),
            remedies=[
                Remedy("rules_only", step=N_("leave out {}")),
                Remedy("categories", "all", step=N_("mask all ({})")),
            ],
        )
    return kept


def _keeps_years(settings: MaskingSettings) -> bool:
    return settings.keep_years and permits_years(settings.categories)


def _name_limits(settings: MaskingSettings) -> str | None:
    """Return the operating point whose words are read a second time; None = thresholds of another source."""
    if settings.certificate is not None or settings.low is not None or settings.high is not None:
        return None
    return settings.operating_point or "balanced"


def _choose_thresholds(points: OperatingPoints, settings: MaskingSettings) -> Thresholds:
    name = settings.operating_point or "balanced"
    pair = points.get(name)
    if pair is None:
        known = ", ".join(points)
        raise ConfigurationError(
            _("the model has no operating point {name!r}. It has {known}", name=name, known=known)
        )
    if settings.low is None and settings.high is None:
        return pair
    # Thresholds that the user gives apply to every document alike.
    low = pair.low if settings.low is None else settings.low
    high = pair.high if settings.high is None else settings.high
    if low > high:
        own, other = ("low", "high") if settings.high is None else ("high", "low")
        raise ConfigurationError(
            _(
                "low {low:g} is above high {high:g}, and {other} is that of the operating point {name}. "
                "Give {other} as well, or another {own}",
                low=low,
                high=high,
                other=other,
                name=name,
                own=own,
            )
        )
    return Thresholds(low, high)


def _describe_low(thresholds: Thresholds, settings: MaskingSettings) -> str:
    if settings.certificate is not None:
        source = f"{settings.certificate}"
    elif settings.low is not None or settings.high is not None:
        source = _("the thresholds given")
    else:
        source = _(
            "the operating point {operating_point} of the model",
            operating_point=settings.operating_point or "balanced",
        )
    return _(
        "{source}: low {low:g}, high {high:g}, density slope {density_slope:g} would keep words that are "
        "probably identifiers. Low must be at least {least_low:g}, high at least {least_high:g}, the "
        "slope at most {most_slope:g}",
        source=source,
        low=thresholds.low,
        high=thresholds.high,
        density_slope=thresholds.density_slope,
        least_low=LEAST_LOW,
        least_high=LEAST_HIGH,
        most_slope=MOST_SLOPE,
    )


def _read_certificate(settings: MaskingSettings) -> dict[str, Any]:
    path = settings.certificate or Path()
    clashing = {
        "operating_point": settings.operating_point is not None,
        "low": settings.low is not None,
        "high": settings.high is not None,
        "rules_only": settings.rules_only,
        "allow": bool(settings.allow),
        "policy": settings.policy != "case-aware",
        "categories": bool(kept_classes(settings.categories)),
    }
    if given := [name for name, is_given in clashing.items() if is_given]:
        raise ConfigurationError(
            _("{path}: the certificate brings thresholds and rules", path=path),
            remedies=[Remedy(given[0], also=tuple(given[1:]), step=N_("leave out {}"))],
        )
    try:
        certificate = json.loads(path.read_bytes())
    except OSError as error:
        raise UnreadableInputError(
            _("{path}: cannot be read ({strerror}). Check the path", path=path, strerror=error.strerror)
        ) from error
    except (ValueError, RecursionError):
        certificate = None
    if not isinstance(certificate, dict) or certificate.get("format") != CERTIFICATE_FORMAT:
        raise FormatError(
            _("{path}: not a certificate. Give a file that `inverse-deid calibrate` wrote", path=path)
        )
    if not is_sealed(certificate):
        raise FormatError(_("{path}: altered after it was written. Calibrate again", path=path))
    return certificate


def _read_thresholds(
    certificate: Mapping[str, Any], settings: MaskingSettings, *, model: str, lexicon: str
) -> Thresholds:
    bound = {
        "version of certificates": (certificate.get("version"), CERTIFICATE_VERSION),
        "version of inverse-deid": (certificate.get("tool_version"), __version__),
        "model": (certificate.get("model_sha256"), model),
        "lexicon": (certificate.get("lexicon_sha256"), lexicon),
    }
    other = [name for name, (certified, ours) in bound.items() if certified != ours]
    was_careful, is_careful = (_BOTH in str(one) for one in bound["model"])
    if other:
        raise ConfigurationError(
            _(
                "{certificate}: was made for another {other}. Mask with what it names, or calibrate again",
                certificate=settings.certificate,
                other=_(" and another ").join(other),
            ),
            remedies=[Remedy("reading", "careful" if was_careful else "fast")] * (was_careful != is_careful),
        )
    return Thresholds.from_json(certificate["thresholds"])


_HASHED_OTHERWISE = frozenset({"operating_point", "low", "high", "allow_low_thresholds", "reading"})
"""Choices whose effect is in the thresholds; that of files and readers is in their hashes."""


def _fingerprint(settings: MaskingSettings, stages: Stages, *hashes: str) -> str:
    # Of everything that can change the output. Not threads, nor the device.
    choices: dict[str, object] = {}
    for choice in CHOICES:
        is_file = choice.kind in ("file", "folder")
        if not choice.shapes_output or is_file or choice.name in _HASHED_OTHERWISE:
            continue
        value = getattr(settings, choice.name, None)  # None = a setting of cases
        choices[choice.name] = sorted(value) if isinstance(value, frozenset) else value
    numbers = astuple(stages.thresholds)
    if isinstance(stages.scorer, CarefulScorer):
        numbers += astuple(stages.scorer.doubt)
    parts = (choices, numbers, hashes, _keeps_years(settings))
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
