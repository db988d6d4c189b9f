"""Numbers for Prometheus: requests, durations, queues, memory. They contain no text, name or unknown path."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from inverse_deid.core.errors import InverseDeidError
from inverse_deid.web.connections import is_local

METRICS_PATH = "/metrics"

_PREFIX = "inverse_deid"
_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_NUMBER = re.compile(r"/[0-9]+(?=/|$)")
_PARAMETER = re.compile(r"\{[^}]*\}")
_METHODS = frozenset({"GET", "POST"})
_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-real-ip", b"via"})


class Metrics:
    """The numbers of one server.

    Args:
        token: Opens them to other machines; None = they are for this machine alone.
    """

    def __init__(self, token: bytes | None = None) -> None:
        self.token = token
        self._routes: frozenset[str] = frozenset()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._n_requests = Counter(
            f"{_PREFIX}_requests",
            "Answered requests.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            f"{_PREFIX}_request_seconds",
            "Time until the answer was complete.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.in_progress = Gauge(
            f"{_PREFIX}_requests_in_progress", "Requests that are answered now.", registry=self._registry
        )

    def know(self, routes: Iterable[BaseRoute]) -> None:
        """Take over the routes by which requests are counted."""
        self._routes = frozenset(_PARAMETER.sub("N", one.path) for one in routes if isinstance(one, Route))

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        path = _NUMBER.sub("/N", scope["path"])
        route = path if path in self._routes else "(other)"
        method = scope["method"] if scope["method"] in _METHODS else "(other)"
        self._n_requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def add(
        self,
        name: str,
        text: str,
        label: str,
        read: Callable[[], Mapping[str, float]],
        *,
        is_total: bool = False,
    ) -> None:
        """Add numbers that are read when somebody asks. Numbers that cannot be read then are left out.

        Args:
            name: Without the prefix of the program.
            text: What is counted.
            label: What the keys of the numbers are.
            read: Returns the numbers by key.
            is_total: They only grow.
        """
        kind = CounterMetricFamily if is_total else GaugeMetricFamily

        class Read(Collector):
            def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
                family = kind(f"{_PREFIX}_{name}", text, labels=[label])
                with suppress(InverseDeidError):
                    for key, value in read().items():
                        family.add_metric([key], value)
                yield family

        self._registry.register(Read())

    def route(self) -> Route:
        return Route(METRICS_PATH, self._show, methods=["GET"])

    async def _show(self, request: Request) -> Response:
        if not self._allows(request):
            refused = PlainTextResponse("send the token of the metrics, or ask from this machine", 403)
            refused.headers["www-authenticate"] = "Bearer"
            return refused
        content = await run_in_threadpool(generate_latest, self._registry)
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    def _allows(self, request: Request) -> bool:
        # On this machine with no proxy between, or with the token.
        names = {name for name, _ in request.scope["headers"]}
        if not names & _FORWARDED and request.client is not None and is_local(request.client.host):
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if self.token is None or scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(self.token, given.strip().encode("latin-1", "replace"))
