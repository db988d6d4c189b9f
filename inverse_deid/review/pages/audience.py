"""Whom the pages are for: a team, or the one person of a desk. It is chosen once, with the application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inverse_deid.core.wording import N_, _
from inverse_deid.review.store.values import CaseState, UserRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """What differs between the pages of a team and those of a desk."""

    name: str  # beside that of the program
    leave: str  # on the button that ends a session
    shows_people: bool  # there are accounts, so pages say who did what, who holds a case and how people agree
    shows_steps: bool  # one person goes from adding files to the download
    # A column that may name people is copied only after another adjudicator confirmed it.
    asks_second: bool
    selects_cases: bool  # several cases can be handled at once
    deleting_roles: frozenset[UserRole]  # who delete files and cases
    state_names: Mapping[CaseState, str]  # of the states that a case can have
    after_approval: Mapping[CaseState, str]  # what becomes of a case, in words that follow "approved"
    # The folder and the key file that the user is shown, None = they are elsewhere.
    places: tuple[Path, Path] | None = None

    @property
    def released(self) -> str:
        """The word for a case that can be downloaded."""
        return self.name_state(CaseState.RELEASED)

    def name_state(self, state: CaseState) -> str:
        """Return the name of a state, in the language of the context."""
        return _(self.state_names[state])


TEAM = Audience(
    name=N_("review"),
    leave=N_("Log out"),
    shows_people=True,
    shows_steps=False,
    asks_second=True,
    selects_cases=True,
    deleting_roles=frozenset({UserRole.ADMIN}),
    state_names={state: state.value for state in CaseState},
    after_approval={
        CaseState.IN_REVIEW: N_(" It is waiting for the second reviewer."),
        CaseState.DISAGREED: N_(" The two reviewers differ, so an adjudicator decides."),
        CaseState.AGREED: N_(" It is waiting for its release."),
        CaseState.RELEASED: N_(" Released."),
    },
)

DESK = Audience(
    name=N_("desk"),
    leave=N_("Lock"),
    shows_people=False,
    shows_steps=True,
    asks_second=False,
    selects_cases=False,
    deleting_roles=frozenset({UserRole.ADJUDICATOR}),
    state_names={
        CaseState.NEW: CaseState.NEW.value,
        CaseState.IN_REVIEW: CaseState.IN_REVIEW.value,
        CaseState.RELEASED: N_("approved"),
    },
    after_approval=dict.fromkeys(CaseState, ""),
)
"""One approval releases a case."""
