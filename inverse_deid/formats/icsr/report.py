"""What was done to a message: elements, paths and counts, never a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from inverse_deid.formats.icsr.checks import Finding
from inverse_deid.formats.icsr.elements import elements
from inverse_deid.formats.icsr.rewriting import Change, Done
from inverse_deid.formats.icsr.survey import bare_path

MAX_CASES_LISTED = 1000


@dataclass(frozen=True, slots=True)
class CaseProblem:
    """Why a case was not written.

    Args:
        number: Which case of the file, from 1; 0 = something around the cases.
        reason: In words, without values.
        findings: What the rule check found.
    """

    number: int
    reason: str
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class MessageReport:
    """What was done to one message.

    Args:
        profile: Name of the profile.
        n_cases: Cases that were written.
        n_problems: Cases that were not written.
        problems: The first of them.
        done: How often what was done, by element id ("" = none that is known), path and deed.
        stripped: Comments, instructions and the like that were left out, by name.
    """

    profile: str
    n_cases: int = 0
    n_problems: int = 0
    problems: list[CaseProblem] = field(default_factory=list)
    done: Counter[tuple[str, str, Done]] = field(default_factory=Counter)
    stripped: dict[str, int] = field(default_factory=dict)

    def add(self, changes: Iterable[Change]) -> None:
        """Count what was done to a case."""
        self.done.update((change.element, bare_path(change.path), change.done) for change in changes)

    def fail(self, problem: CaseProblem) -> None:
        """Note a case that was not written."""
        self.n_problems += 1
        if len(self.problems) < MAX_CASES_LISTED:
            self.problems.append(problem)

    def as_json(self) -> dict[str, Any]:
        """For the run report; without a value of any case."""
        return {
            "profile": self.profile,
            "n_cases": self.n_cases,
            "n_problems": self.n_problems,
            "problems": [_problem(problem) for problem in self.problems],
            "stripped": dict(sorted(self.stripped.items())),
            "elements": [
                {"element": element or None, "name": _name(element), "path": path, "done": done, "n": n}
                for (element, path, done), n in sorted(self.done.items())
            ],
        }


def _name(element: str) -> str | None:
    return elements()[element].name if element else None


def _problem(problem: CaseProblem) -> dict[str, Any]:
    findings = [
        {"rule": finding.rule, "element": finding.element or None, "path": finding.path}
        for finding in problem.findings
    ]
    return {"case": problem.number, "reason": problem.reason, "findings": findings}
