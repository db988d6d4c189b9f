"""Masks medical case narratives inversely: everything is masked, only confidently safe tokens are let back.

Example:
    >>> import inverse_deid
    >>> inverse_deid.mask("Mr. Okonkwo had a rash.").text
    'Mr. PHI had a rash.'
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# ONNX Runtime 1.32 for Linux prepares reports to its maker as soon as it is imported. Nothing may leave.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

if TYPE_CHECKING:
    from inverse_deid.core.phi import PhiType
    from inverse_deid.core.values import Document, MaskedDocument, PhiSpan
    from inverse_deid.files.survey import survey
    from inverse_deid.masking.assemble import MaskingSettings, build_deidentifier
    from inverse_deid.masking.pipeline import Deidentifier
    from inverse_deid.masking.texts import MaskedText, mask

_HOME = {
    "Deidentifier": "inverse_deid.masking.pipeline",
    "Document": "inverse_deid.core.values",
    "MaskedDocument": "inverse_deid.core.values",
    "MaskedText": "inverse_deid.masking.texts",
    "MaskingSettings": "inverse_deid.masking.assemble",
    "PhiSpan": "inverse_deid.core.values",
    "PhiType": "inverse_deid.core.phi",
    "build_deidentifier": "inverse_deid.masking.assemble",
    "mask": "inverse_deid.masking.texts",
    "survey": "inverse_deid.files.survey",
}

__all__ = [
    "Deidentifier",
    "Document",
    "MaskedDocument",
    "MaskedText",
    "MaskingSettings",
    "PhiSpan",
    "PhiType",
    "build_deidentifier",
    "mask",
    "survey",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562; the types are declared above
    """Import a public name when it is first asked for: importing the package stays cheap."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """Return the public names, whether or not they were imported."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
