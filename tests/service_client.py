"""A client of the service in this process: no network, the lifespan runs."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import httpx
from fake_maskers import mask_capitals

from inverse_deid.masking.case_masker import DocumentMasker
from inverse_deid.service.app import MakeMasker, build_app
from inverse_deid.service.batching import BatchingSettings
from inverse_deid.service.settings import ServiceSettings


class ServiceClient:
    """Asks one request after the other."""

    def __init__(
        self, masker: DocumentMasker | None, settings: ServiceSettings, make_masker: MakeMasker | None = None
    ) -> None:
        self._app = build_app(make_masker or (lambda chosen: masker), settings)
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()

    def __enter__(self) -> Self:
        self._client = self._runner.run(self._open())
        return self

    async def _open(self) -> httpx.AsyncClient:
        await self._stack.enter_async_context(self._app.router.lifespan_context(self._app))
        transport = httpx.ASGITransport(self._app)
        return await self._stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://x")
        )

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **options))

    def run(self, coroutine: Any) -> Any:
        """Let the service run while a coroutine does."""
        return self._runner.run(coroutine)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)


def client_of(masker: DocumentMasker | None = None, **settings: Any) -> ServiceClient:
    """A client of a service with a stand-in for the model; requests are not gathered."""
    given = ServiceSettings(**{"batching": BatchingSettings(wait_seconds=0.0), **settings})
    return ServiceClient(masker or mask_capitals(), given)
