import psutil
import pytest
from icsr_messages import invent
from icsr_trees import mask_message, treating

from inverse_deid.formats.icsr.standard.profiles import builtin_profile

N_CASES = 2_000
MIB = 2**20


class Nowhere:
    n_bytes = 0

    def write(self, data: bytes) -> int:
        self.n_bytes += len(data)
        return len(data)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["r3", "r2"])
def test_a_batch_of_two_thousand_cases_takes_constant_memory(dialect, tmp_path):
    path = tmp_path / "batch.xml"
    few = invent(dialect, 50).xml
    tag = "<PORR_IN049016UV>" if dialect == "r3" else "<safetyreport>"
    start, end = few.index(tag), few.rindex(tag.replace("<", "</")) + len(tag) + 1
    with path.open("w", encoding="utf-8") as file:
        file.write(few[:start])
        for _ in range(N_CASES // 50):
            file.write(few[start:end] + "\n")
        file.write(few[end:])
    memory: list[int] = []

    def mask(case):
        if case.number in (N_CASES // 2, N_CASES):
            memory.append(psutil.Process().memory_info().rss)
        return ["PHI" for _ in case.free_texts]

    target = Nowhere()
    with path.open("rb") as stream:
        report = mask_message((stream, target), treating(mask), builtin_profile("public"))
    assert (report.n_cases, report.n_problems) == (N_CASES, 0)
    assert target.n_bytes > 10 * MIB
    assert memory[1] - memory[0] < 16 * MIB
