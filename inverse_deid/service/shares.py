"""Places that clients share: nobody is refused because another has taken them all.

While there is room, a client takes as many places as it likes. When all are taken, a client with less than
its share is still admitted: the limit divided by the number of clients that have a place or want one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class Shares:
    """Counts of places by client.

    Example:
        >>> shares = Shares(4)
        >>> shares.take("ward-7", 4)
        >>> shares.admits("ward-7"), shares.admits("ward-8")
        (False, True)
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken: Counter[str] = Counter()
        self.n_taken = 0

    def admits(self, client: str, n: int = 1) -> bool:
        """Tell whether a client may take n places; if nobody has any, as many as it likes."""
        own = self._taken[client]
        if not own:
            del self._taken[client]
        if not self.n_taken or self.n_taken + n <= self._limit:
            return True
        n_clients = len(self._taken) + (not own)
        return (own + n) * n_clients <= self._limit

    def take(self, client: str, n: int = 1) -> None:
        self._taken[client] += n
        self.n_taken += n

    def give_back(self, client: str, n: int = 1) -> None:
        self._taken[client] -= n
        self.n_taken -= n
        if not self._taken[client]:
            del self._taken[client]

    @contextmanager
    def taken(self, client: str, n: int = 1) -> Iterator[None]:
        """Take places until the block ends."""
        self.take(client, n)
        try:
            yield
        finally:
            self.give_back(client, n)


class Turns:
    """Uses of which only some are possible at a time; next is the client that has the fewest."""

    def __init__(self, n: int) -> None:
        self._n_free = n
        self._used: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the block ends."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((client, turn))
        self._grant()
        try:
            await turn
            yield
        finally:
            if turn.done() and not turn.cancelled():
                self._n_free += 1
                self._used[client] -= 1
                if not self._used[client]:
                    del self._used[client]
            self._grant()

    def _grant(self) -> None:
        self._waiting = [one for one in self._waiting if not one[1].done()]
        while self._waiting and self._n_free:
            found = min(self._waiting, key=lambda one: self._used.get(one[0], 0))
            self._waiting.remove(found)
            client, turn = found
            self._n_free -= 1
            self._used[client] += 1
            turn.set_result(None)
