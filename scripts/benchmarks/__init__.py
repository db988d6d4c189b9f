"""The parts of `scripts/benchmark`, one module an idea; `docs/benchmark.md` says how they measure."""
