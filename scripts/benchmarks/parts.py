"""All parts, in the order of the report."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from benchmarks import serving
from benchmarks.masking import GROWTH, MILLION, longer_and_longer, more_and_more, whole_documents
from benchmarks.part import Part, Settings
from benchmarks.warm import in_process, peer, peers_missing


def _needs(*modules: str, extra: str) -> Callable[[Settings], str]:
    """Why a part cannot run: modules of an extra are missing."""

    def missing(settings: Settings) -> str:
        lacking = [module for module in modules if find_spec(module) is None]
        return f"{', '.join(lacking)} not installed: pip install '.[{extra}]'" if lacking else ""

    return missing


PARTS = {
    "serial": Part("`mask --fast`", whole_documents(lambda _: ())),
    "default": Part("`mask`, two readings", whole_documents(lambda _: ("--careful",))),
    "workers": Part(
        "`mask --fast --workers {workers}`",
        whole_documents(lambda chosen: ("--workers", f"{chosen.workers}")),
    ),
    "ray": Part(
        "`mask --fast --engine ray`",
        whole_documents(lambda chosen: ("--engine", "ray", "--partition-mib", f"{chosen.partition_mib}")),
        _needs("ray", "fsspec", extra="scale"),
    ),
    "service": Part("`serve`", serving.points, _needs("starlette", "uvicorn", extra="serve")),
    "warm": Part("inverse-deid, `fast`", in_process("warm")),
    "careful": Part("inverse-deid, two readings", in_process("careful")),
    "onnx": Part("its network alone, ONNX Runtime", in_process("onnx")),
    "keras": Part(
        "its network alone, Keras", in_process("keras"), _needs("tensorflow", "keras", extra="train")
    ),
    "presidio": Part("Presidio, small spaCy model", peer("presidio"), peers_missing),
    "scrubadub": Part("scrubadub", peer("scrubadub"), peers_missing),
    "datafog": Part("datafog", peer("datafog"), peers_missing),
    "documents": Part("growth with the number of documents", more_and_more(GROWTH)),
    "lengths": Part("growth with the length of documents", longer_and_longer),
    "million": Part("growth to a million documents", more_and_more((MILLION,))),
}
PEERS = ("presidio", "scrubadub", "datafog")
ON_DEMAND = frozenset({"million"})
"""Parts that run only if they are named."""
