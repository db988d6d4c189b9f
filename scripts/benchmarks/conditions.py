"""On what machine, with what versions and how undisturbed the figures were measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from inverse_deid import __version__
from inverse_deid.core.revision import revision

BUSY_CORES = 0.2
"""A machine is busy if others use more than this before a measurement."""
LOOKS = 3
PACKAGES = ("numpy", "onnxruntime", "ray", "keras", "tensorflow", "uvicorn", "starlette")


def machine() -> dict[str, Any]:
    """What does not change during a run; no name of a host."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory_gib": round(psutil.virtual_memory().total / 1024**3, 1),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
    }


def cpu_model() -> str:
    """The name that the processor gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str | None]:
    """Our version, and those of packages, None = not installed."""
    return {"inverse-deid": __version__, **{package: _version(package) for package in packages}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def part_conditions() -> dict[str, Any]:
    """When and at which revision a part is measured."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "revision": revision() or "unknown",
        "machine": machine(),
        "versions": versions(),
    }


def disturbance() -> dict[str, Any]:
    """How much others do right now; takes a second, in which nothing of ours runs, or a few.

    What a measurement leaves behind may still be ending: a busy machine is looked at again.
    """
    for _ in range(LOOKS):
        busy = psutil.cpu_percent(interval=1.0) / 100 * (psutil.cpu_count() or 1)
        if busy <= BUSY_CORES:
            break
    return {"load_average": [round(load, 2) for load in psutil.getloadavg()], "busy_cores": round(busy, 2)}
