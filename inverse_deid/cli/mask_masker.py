"""From the options of `inverse-deid mask` to a masker, and what the run report says of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from inverse_deid.cli.mask_options import MaskOptions
from inverse_deid.cli.word_lists import listed_words

if TYPE_CHECKING:
    from inverse_deid.formats.icsr.profiles import Profile
    from inverse_deid.formats.known_values import KnownOfDocuments
    from inverse_deid.masking.assemble import MaskingSettings
    from inverse_deid.masking.case_masker import CaseMasker
    from inverse_deid.masking.pipeline import Deidentifier


@contextmanager
def case_masker(options: MaskOptions, known: KnownOfDocuments | None = None) -> Iterator[CaseMasker]:
    """The masker with what stands in the place of dates and ages; cheap errors come first.

    With several workers, they end when the context does.
    """
    from inverse_deid.masking.case_masker import CaseMasker

    settings = options.cases.settings(options.cases.secret())
    masking = masking_settings(options)
    surrogates = options.cases.surrogates(settings.key, options.lexicon)
    if options.workers == 1:
        yield CaseMasker(load_masker(masking), settings, surrogates, known=known)
        return
    from inverse_deid.engine.worker_pool import WorkerPool
    from inverse_deid.replacement.markers import markers_of

    marker_for = markers_of(options.marker_kind, options.marker)
    with WorkerPool(partial(load_masker, masking), options.workers, marker_for) as pool:
        yield CaseMasker(pool, settings, surrogates, known=known)


def load_masker(settings: MaskingSettings) -> Deidentifier:
    """Load lexicon and model; imported here so that `--help` stays quick."""
    from inverse_deid.masking.assemble import build_deidentifier

    return build_deidentifier(settings)


def masking_settings(options: MaskOptions) -> MaskingSettings:
    """The part of the options that the de-identifier needs."""
    from inverse_deid.masking.assemble import MaskingSettings

    return MaskingSettings(
        model=options.model,
        lexicon=options.lexicon,
        policy=options.policy,
        rules_only=options.rules_only,
        marker=options.marker,
        replace=options.marker_kind,
        operating_point=options.operating_point,
        low=options.low,
        high=options.high,
        certificate=options.certificate,
        allow_low_thresholds=options.allow_low_thresholds,
        allow=listed_words(options.allow, phrases=False),
        deny=listed_words(options.deny, phrases=True),
        n_threads=_threads(options),
    )


def _threads(options: MaskOptions) -> int:
    """Threads of the network in each process, 0 = one a core."""
    if options.threads or options.workers == 1:
        return options.threads
    from inverse_deid.engine.worker_pool import n_threads_each

    return n_threads_each(options.workers)


def report_settings(
    options: MaskOptions, masker: CaseMasker, profile: Profile, known_sha256: str
) -> dict[str, Any]:
    """Everything that shapes the output, for the run report: no values, and of words keyed hashes alone."""
    from inverse_deid.engine.document_ids import hash_of_words
    from inverse_deid.engine.run_report import keyed_hash, profile_json

    cases = masker.settings
    hidden = partial(keyed_hash, cases.key)
    lists = {
        "allow": listed_words(options.allow, phrases=False),
        "deny": listed_words(options.deny, phrases=True),
    }
    return {
        "fingerprint_hmac_sha256": hidden(masker.fingerprint),
        **masker.made_of,
        "policy": options.policy,
        "rules_only": options.rules_only,
        "operating_point": options.operating_point,
        "allow_low_thresholds": options.allow_low_thresholds,
        "certificate": None if options.certificate is None else str(options.certificate),
        "marker": options.marker,
        "category_markers": options.marker_kind == "category",
        "text_columns": list(options.text_column),
        "id_column": options.id_column,
        "keep_columns": list(options.keep_column),
        "keep_all_columns": options.keep_all_columns,
        "surrogates": options.cases.makes_surrogates,
        "maps": options.cases.maps is not None,
        **{
            name: {"n": len(words), "hmac_sha256": hidden(hash_of_words(words))}
            for name, words in lists.items()
        },
        "known_hmac_sha256": hidden(known_sha256) if options.cases.known is not None else None,
        "dates": str(cases.dates),
        "date_span_years": cases.date_span_years,
        "day_first": cases.day_first,
        "ages": str(cases.ages),
        "age_bands": cases.age_bands,
        "today": cases.today.isoformat(),
        "key_given": cases.key is not None,
        "profile": profile_json(profile),
    }
