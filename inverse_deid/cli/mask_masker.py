"""From the options of `inverse-deid mask` to a masker, and what the run report says of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inverse_deid.cli.mask_options import MaskOptions
from inverse_deid.core.errors import ConfigurationError, UnreadableInputError
from inverse_deid.formats.registry import input_errors

if TYPE_CHECKING:
    from inverse_deid.assemble import MaskingSettings
    from inverse_deid.cases.masker import CaseMasker
    from inverse_deid.formats.icsr.profiles import Profile
    from inverse_deid.formats.known_values import KnownOfDocuments
    from inverse_deid.pipeline import Deidentifier


@contextmanager
def case_masker(options: MaskOptions, known: KnownOfDocuments | None = None) -> Iterator[CaseMasker]:
    """The masker with what stands in the place of dates and ages; cheap errors come first.

    With several workers, they end when the context does.
    """
    from inverse_deid.cases.masker import CaseMasker

    settings = options.cases.settings(options.cases.secret())
    masking = masking_settings(options)
    if options.workers == 1:
        yield CaseMasker(load_masker(masking), settings, known=known)
        return
    from inverse_deid.engine.worker_pool import WorkerPool
    from inverse_deid.replacement.markers import category_marker, fixed_marker

    marker_for = category_marker(options.marker) if options.category_markers else fixed_marker(options.marker)
    with WorkerPool(partial(load_masker, masking), options.workers, marker_for) as pool:
        yield CaseMasker(pool, settings, known=known)


def load_masker(settings: MaskingSettings) -> Deidentifier:
    """Load lexicon and model; imported here so that `--help` stays quick."""
    from inverse_deid.assemble import build_deidentifier

    return build_deidentifier(settings)


def masking_settings(options: MaskOptions) -> MaskingSettings:
    """The part of the options that the de-identifier needs."""
    from inverse_deid.assemble import MaskingSettings

    return MaskingSettings(
        model=options.model,
        lexicon=options.lexicon,
        policy=options.policy,
        rules_only=options.rules_only,
        marker=options.marker,
        category_markers=options.category_markers,
        operating_point=options.operating_point,
        low=options.low,
        high=options.high,
        certificate=options.certificate,
        allow=_listed(options.allow, phrases=False),
        deny=_listed(options.deny, phrases=True),
        n_threads=_threads(options),
    )


def _threads(options: MaskOptions) -> int:
    """Threads of the network in each process, 0 = one a core."""
    if options.threads or options.workers == 1:
        return options.threads
    from inverse_deid.engine.worker_pool import n_threads_each

    return n_threads_each(options.workers)


def _listed(path: Path | None, *, phrases: bool) -> frozenset[str]:
    """The words (or phrases) of a file, one a line; blank lines and lines that begin with # are skipped.

    Raises:
        UnreadableInputError: The file cannot be read or is not UTF-8.
        ConfigurationError: A line is no word or, where no phrases are allowed, several.
    """
    from inverse_deid.text.tokenizer import tokenize

    if path is None:
        return frozenset()
    text = None
    try:
        with input_errors():
            text = path.read_bytes().decode("utf-8-sig")
    except UnicodeError:
        pass
    except UnreadableInputError as error:
        raise UnreadableInputError(f"{path} {error}") from None
    if text is None:
        raise UnreadableInputError(f"{path} is not UTF-8 text; save it as UTF-8, one word a line")
    lines = {number: line.strip() for number, line in enumerate(text.splitlines(), start=1)}
    words = {number: line for number, line in lines.items() if line and not line.startswith("#")}
    for number, line in words.items():
        found = tokenize(line).words
        if not found or (not phrases and found != [line]):
            raise ConfigurationError(
                f"{path} line {number} is not one word of letters and digits; give each part its own line"
            )
    return frozenset(words.values())


def report_settings(
    options: MaskOptions, masker: CaseMasker, profile: Profile, known_sha256: str
) -> dict[str, Any]:
    """Everything that shapes the output, for the run report: hashes for words and keys, no values."""
    from inverse_deid.engine.document_ids import hash_of_words
    from inverse_deid.engine.run_report import profile_json

    cases = masker.settings
    lists = {"allow": _listed(options.allow, phrases=False), "deny": _listed(options.deny, phrases=True)}
    return {
        "fingerprint": masker.fingerprint,
        **masker.made_of,
        "policy": options.policy,
        "rules_only": options.rules_only,
        "operating_point": options.operating_point,
        "certificate": None if options.certificate is None else str(options.certificate),
        "marker": options.marker,
        "category_markers": options.category_markers,
        **{name: {"n": len(words), "sha256": hash_of_words(words)} for name, words in lists.items()},
        "known_sha256": known_sha256 if options.cases.known is not None else None,
        "dates": str(cases.dates),
        "day_first": cases.day_first,
        "ages": str(cases.ages),
        "age_bands": cases.age_bands,
        "today": cases.today.isoformat(),
        "key_given": cases.key is not None,
        "profile": profile_json(profile),
    }
