"""Results of a benchmark, made up for tests."""

QUIET = {"load_average": [0.1, 0.1, 0.1], "busy_cores": 0.02}
MACHINE = {
    "cpu": "Test CPU",
    "cores": 2,
    "usable_cores": 2,
    "memory_gib": 8.0,
    "system": "Linux 6 x86_64",
    "python": "3.11.7",
}


def run(**figures):
    return {"before": QUIET, "peak_memory_mb": 200, "all_processes_mb": 210, **figures}


def point(at, **figures):
    one = run(**figures)
    return {"at": at, "runs": [one], "median": {name: one[name] for name in one if name != "before"}}


def part(*points, missing="", revision="abc"):
    return {
        "missing": missing,
        "conditions": {
            "date": "2026-01-01 10:00 UTC",
            "revision": revision,
            "machine": MACHINE,
            "versions": {"inverse-deid": "0.1.0"},
            "command": "python scripts/benchmark",
        },
        "documents": {
            "files": {},
            "seed": 1,
            "documents": {"documents": 100, "tokens": 10_000},
            "few": {"documents": 10, "tokens": 1_000},
        },
        "settings": {"workers": 2, "clients": 50},
        "points": list(points),
    }


def speed(at, tokens_a_second, **figures):
    return point(
        at,
        documents=100,
        tokens=10_000,
        seconds=10_000 / tokens_a_second,
        tokens_a_second=tokens_a_second,
        seconds_to_first_output=0.5,
        **figures,
    )


def growth(sizes, *, start=0.5, seconds_a_document=0.001):
    points = [point("start", documents=1, tokens=30, seconds=start, tokens_a_second=60)]
    for size in sizes:
        seconds = start + size * seconds_a_document
        points.append(
            point(
                size, documents=size, tokens=30 * size, seconds=seconds, tokens_a_second=30 * size / seconds
            )
        )
    return part(*points)
