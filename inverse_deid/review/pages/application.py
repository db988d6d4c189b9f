"""The routes and the headers of every response: loopback by default, elsewhere TLS or a proxy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Scope

from inverse_deid import __version__
from inverse_deid.core.errors import (
    ConfigurationError,
    InverseDeidError,
    Remedy,
    UnreadableInputError,
)
from inverse_deid.core.wording import N_, _
from inverse_deid.files.workers import MAX_FILES_AT_ONCE
from inverse_deid.masking.assemble import build_deidentifier
from inverse_deid.review.files.service import IntakeService
from inverse_deid.review.flow.table import RowsShown
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.pages import (
    account_pages,
    case_page,
    file_pages,
    form_pages,
    intake_pages,
    list_pages,
    table_page,
    trail_page,
    visits,
)
from inverse_deid.review.pages.audience import DESK, TEAM
from inverse_deid.review.pages.door import Door
from inverse_deid.review.pages.lanes import LogIns
from inverse_deid.review.pages.visits import (
    LOG,
    PAGES,
    Handler,
    report_problem,
    require,
    require_stream,
)
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.values import UserRole
from inverse_deid.web.connections import parse_address
from inverse_deid.web.metrics import Metrics
from inverse_deid.web.server import LogFormat, WebSettings, run_server
from inverse_deid.web.shell import HEADERS, LOOPBACK_NAMES, OVER_TLS, Shell, names_host

if TYPE_CHECKING:
    from inverse_deid.review.pages.sign_in import Provider

_TOO_LONG = re.compile(r"/\d{19}")
"""No number of the store is this long, and databases cannot compare longer ones."""

_BACKGROUND = frozenset({case_page.keep_open, intake_pages.list_files})
"""What open pages ask by themselves."""

_READINGS = frozenset(
    {
        intake_pages.submit_choices,
        intake_pages.answer_column,
        intake_pages.mask_again,
        case_page.list_pictures,
        case_page.show_picture,
        file_pages.download,
        file_pages.download_old_names,
        file_pages.download_selected,
        file_pages.delete,
        form_pages.ask_entry,
        form_pages.store_entry,
        form_pages.change_entry,
        form_pages.work_on,
        form_pages.show_doubts,
        form_pages.decide_doubt,
        form_pages.read_doubts,
        table_page.list_words,
    }
)
_DECISIONS = frozenset(
    {
        case_page.send_case,
        case_page.send_dispute,
        case_page.act_on_tokens,
        case_page.undo_action,
        case_page.redo_action,
        case_page.store_note,
        case_page.approve_case,
        case_page.keep_open,
        case_page.close,
        table_page.note_read,
        table_page.act,
    }
)
"""What a reader does on the reading page and, with one row, in the table."""

PROVIDER_THREADS = 4
"""Sign-ins that wait for an OpenID provider at the same time."""

DECISION_THREADS = 4
"""Decisions have threads of their own, so that no list, example or download holds them up."""
READING_THREADS = 4
"""So do those who wait until a child process reads a file, or all cases are searched, so that they hold up no
page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where the pages are served: an IP address, and a port in [1, 65535].

    Raises:
        ConfigurationError: Not loopback and neither TLS nor a proxy; a certificate without key or a key
            without certificate; a malformed IP address.
        UnreadableInputError: A file is missing.
    """

    address: str = "127.0.0.1"
    port: int = 8017
    certificate: Path | None = None  # (chain) PEM
    private_key: Path | None = None  # PEM
    # Its IP address; it ends TLS, and its statements about clients are trusted, others refused.
    proxy: str | None = None
    log_format: LogFormat = "text"
    reload: Callable[[], None] | None = None  # on SIGHUP
    provider: Provider | None = None  # where people can sign in

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.private_key is None):
            raise ConfigurationError(
                _("TLS needs a certificate and its key"),
                remedies=[Remedy("certificate", also=("private_key",), step=N_("give both {}"))],
            )
        for file in (self.certificate, self.private_key):
            if file is not None and not file.is_file():
                raise UnreadableInputError(_("{file} does not exist", file=file))
        if not (self.is_loopback or self.is_secure):
            raise ConfigurationError(
                _("others can reach {address}, so TLS is needed", address=self.address),
                remedies=[Remedy("certificate", also=("private_key",)), Remedy("behind_proxy", step="{}")],
            )
        parse_address(self.proxy or "127.0.0.1")

    @property
    def is_loopback(self) -> bool:
        return parse_address(self.address).is_loopback

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it through TLS."""
        return self.certificate is not None or self.proxy is not None

    @property
    def hosts(self) -> frozenset[str] | None:
        """Host names that it answers to; None = any, as only the proxy or the certificate knows them."""
        return LOOPBACK_NAMES | {self.address} if self.is_loopback and self.proxy is None else None

    @property
    def url(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{'https' if self.certificate is not None else 'http'}://{host}:{self.port}/"


def serve(store: ReviewStore, settings: ServeSettings, metrics: Metrics) -> None:
    """Serve the pages until the program is stopped; running requests are finished first.

    Call it within `owned_signals`, as whoever anchors the trail afterwards must do.
    """
    intake = IntakeService(store, build_deidentifier)
    application = make_application(
        store,
        is_secure=settings.is_secure,
        hosts=settings.hosts,
        intake=intake,
        metrics=metrics,
        door=settings.provider,
    )
    web = WebSettings(
        host=settings.address,
        port=settings.port,
        certificate=settings.certificate,
        private_key=settings.private_key,
        proxy=settings.proxy,
        log_format=settings.log_format,
        reload=settings.reload,
        cut=partial(intake_pages.cut_uploads, application),
    )
    intake.load()
    intake.start()
    try:
        run_server(application, web, metrics)
    finally:
        intake.close()
        store.checkpoint()


def make_application(
    store: ReviewStore,
    *,
    is_secure: bool = False,
    hosts: frozenset[str] | None = None,
    intake: IntakeService | None = None,
    door: Door | Provider | None = None,
    metrics: Metrics | None = None,
) -> Starlette:
    """Return the application over an open store.

    `is_secure`: browsers reach it through TLS, and cookies are sent in no other way. `hosts`: host names
    that it answers to, None = any. `intake` takes new files, None = nobody can add any. `door`: one person
    enters by a one-time address, and nobody logs in with a password; or people can sign in at a provider, and
    only there if its settings say so.
    """
    audience, routes, cookie = TEAM, _list_log_ins(), "session"
    refuses: Callable[[Scope], bool] = _refuse_nobody
    provider = None if isinstance(door, Door) else door
    if isinstance(door, Door):
        audience = replace(DESK, places=(door.place.folder, door.place.key_file))
        routes, cookie, refuses = door.list_routes(), door.cookie, door.refuses
    elif provider is not None:
        routes += _list_sign_ins()
    passwords, sign_ins, metrics = LogIns(1), LogIns(PROVIDER_THREADS), metrics or Metrics()
    metrics.add("cases", "Cases by state.", "state", partial(_count_states, store))
    metrics.add(
        "queue_length",
        "What waits.",
        "queue",
        lambda: {"passwords": passwords.n_waiting, "sign_ins": sign_ins.n_waiting},
    )
    application = Starlette(
        routes=[
            Route("/health", _show_health, methods=["GET"]),
            metrics.route(),
            *routes,
            *(_list_intake_routes() if intake else ()),
            *_list_routes(),
        ],
        middleware=[
            Middleware(
                Shell,
                gate=_Gate(hosts, refuses),
                static=PAGES.address,
                unforeseen=lambda: Response(_("an unforeseen error"), status_code=500),
                log=LOG,
                headers=HEADERS | OVER_TLS if is_secure else HEADERS,
            )
        ],
        exception_handlers={404: _report_missing, 405: _report_missing},
    )
    # The address of such a redirect would contain the `Host` of the request.
    application.router.redirect_slashes = False
    application.state.store = store
    application.state.rows_shown = RowsShown(store.swept)
    application.state.decisions = CapacityLimiter(DECISION_THREADS)
    application.state.readings = CapacityLimiter(READING_THREADS)
    application.state.uploads = CapacityLimiter(MAX_FILES_AT_ONCE)
    application.state.receiving = set()
    application.state.passwords = passwords
    application.state.sign_ins = sign_ins
    application.state.is_secure = is_secure
    application.state.cookie = f"__Host-{cookie}" if is_secure else cookie
    application.state.intake = intake
    application.state.audience = audience
    application.state.provider = provider
    application.state.local_accounts = provider is None or provider.settings.local_accounts
    return application


def _list_log_ins() -> list[Route]:
    return [Route("/log-in", visits.show_log_in, methods=["GET", "POST"])]


def _list_sign_ins() -> list[Route]:
    from inverse_deid.review.pages import sign_in

    return [
        Route("/sign-in", sign_in.begin_sign_in, methods=["GET"]),
        Route(sign_in.CALLBACK, sign_in.finish_sign_in, methods=["GET"]),
        Route("/signed-out", sign_in.show_signed_out, methods=["GET"]),
    ]


def _refuse_nobody(_scope: Scope) -> bool:
    return False


def _list_intake_routes() -> list[Route]:
    # They show values of the files. Adjudicators use them.
    handlers: list[tuple[str, str, Handler]] = [
        ("GET", "/add", intake_pages.show_add),
        ("GET", "/add/list", intake_pages.list_files),
        ("POST", "/add/{upload_id:int}", intake_pages.change_file),
        ("GET", "/choices", intake_pages.show_choices),
        ("POST", "/choices", intake_pages.submit_choices),
        ("POST", "/choices/example", intake_pages.show_example),
        ("GET", "/masking", intake_pages.show_masking),
        ("GET", "/confirm", intake_pages.show_unconfirmed),
        ("POST", "/confirm/{upload_id:int}", intake_pages.answer_column),
        ("GET", "/files/again", intake_pages.ask_again),
        ("POST", "/files/again", intake_pages.mask_again),
    ]
    roles = (UserRole.ADJUDICATOR,)
    receive = require_stream(roles, intake_pages.receive_file)
    return [
        Route("/add/file", receive, methods=["POST"]),
        *(
            Route(
                path,
                require(roles, handler, is_background=handler in _BACKGROUND, threads=_find_threads(handler)),
                methods=[method],
            )
            for method, path, handler in handlers
        ),
    ]


def _list_routes() -> list[Route | Mount]:
    case, dispute = "/cases/{case_id:int}", "/disputes/{case_id:int}"
    table = "/table/{source_id:int}"
    everybody, admin = tuple(UserRole), (UserRole.ADMIN,)
    reviewer, adjudicator = (UserRole.REVIEWER, UserRole.ADJUDICATOR), (UserRole.ADJUDICATOR,)
    keeper = (UserRole.ADJUDICATOR, UserRole.ADMIN)
    handlers: list[tuple[str, str, tuple[UserRole, ...], Handler]] = [
        ("POST", "/log-out", everybody, visits.leave),
        ("POST", "/theme", everybody, visits.choose_theme),
        ("POST", "/legend", everybody, visits.choose_legend),
        ("GET", "/", everybody, list_pages.show_work_list),
        ("GET", "/next", reviewer, list_pages.go_next),
        ("POST", "/find", everybody, list_pages.find_cases),
        ("POST", "/release", adjudicator, list_pages.release_cases),
        ("POST", "/assign", admin, list_pages.assign_cases),
        ("POST", "/locks", admin, list_pages.break_selected),
        ("GET", "/activity", admin, account_pages.show_activity),
        ("POST", "/activity", admin, account_pages.change_limits),
        ("GET", "/summary", everybody, form_pages.show_summary),
        ("GET", "/accounts", admin, account_pages.show_accounts),
        ("POST", "/accounts", admin, account_pages.change_account),
        ("POST", "/accounts/policy", admin, account_pages.change_policy),
        ("GET", "/account", everybody, account_pages.show_account),
        ("POST", "/account", everybody, account_pages.change_own_account),
        ("GET", "/second-factor", everybody, account_pages.show_second_factor),
        ("POST", "/second-factor", everybody, account_pages.add_second_factor),
        ("GET", "/code", everybody, account_pages.ask_code),
        ("POST", "/code", everybody, account_pages.check_code),
        ("GET", "/password", everybody, account_pages.show_password),
        ("POST", "/password", everybody, account_pages.change_password),
        ("GET", "/trail", admin, trail_page.show_trail),
        ("POST", "/trail/find", admin, trail_page.find_entries),
        ("POST", "/trail/export", admin, trail_page.export_trail),
        ("GET", case, reviewer, case_page.show_case),
        ("POST", case + "/open", reviewer, case_page.send_case),
        ("POST", case + "/pictures", reviewer, case_page.list_pictures),
        ("GET", case + "/pictures/{page:int}", reviewer, case_page.show_picture),
        ("POST", case + "/act", reviewer, case_page.act_on_tokens),
        ("POST", case + "/undo", reviewer, case_page.undo_action),
        ("POST", case + "/redo", reviewer, case_page.redo_action),
        ("POST", case + "/note", reviewer, case_page.store_note),
        ("POST", case + "/approve", reviewer, case_page.approve_case),
        ("POST", case + "/keep", reviewer, case_page.keep_open),
        ("POST", case + "/close", reviewer, case_page.close),
        ("GET", table, reviewer, table_page.show_table),
        ("POST", table + "/rows", reviewer, table_page.send_rows),
        ("POST", table + "/read", reviewer, table_page.note_read),
        ("POST", table + "/act", reviewer, table_page.act),
        ("POST", table + "/sweep", reviewer, table_page.sweep_file),
        ("POST", table + "/words", reviewer, table_page.list_words),
        ("POST", table + "/undo", reviewer, table_page.undo),
        ("POST", table + "/ask", reviewer, table_page.ask_approval),
        ("POST", table + "/approve", reviewer, table_page.approve),
        ("POST", table + "/reopen", reviewer, table_page.reopen),
        ("GET", dispute, adjudicator, case_page.show_case),
        ("POST", dispute + "/open", adjudicator, case_page.send_dispute),
        ("GET", case + "/print", reviewer, form_pages.show_print),
        ("GET", case + "/finished", reviewer, form_pages.show_finished),
        ("POST", case + "/release", adjudicator, form_pages.release_case),
        ("POST", case + "/withdraw", adjudicator, form_pages.withdraw_case),
        ("POST", case + "/undo-approval", reviewer, form_pages.undo_own_approval),
        ("GET", case + "/form", reviewer, form_pages.ask_preserved),
        ("POST", case + "/form/original", reviewer, form_pages.ask_needed),
        ("POST", case + "/form", reviewer, form_pages.store_form),
        ("GET", "/lists", adjudicator, form_pages.show_lists),
        ("POST", "/lists/ask", adjudicator, form_pages.ask_entry),
        ("POST", "/lists/add", adjudicator, form_pages.store_entry),
        ("POST", "/lists/change", adjudicator, form_pages.change_entry),
        ("GET", "/lists/work", adjudicator, form_pages.show_work),
        ("POST", "/lists/work", adjudicator, form_pages.work_on),
        ("GET", "/lists/doubts", adjudicator, form_pages.show_doubts),
        ("POST", "/lists/doubts", adjudicator, form_pages.decide_doubt),
        ("POST", "/lists/doubts/read", adjudicator, form_pages.read_doubts),
        ("GET", "/files", keeper, file_pages.show_files),
        ("POST", "/files/download", adjudicator, file_pages.download),
        ("POST", "/files/names", adjudicator, file_pages.download_old_names),
        ("POST", "/files/selected", adjudicator, file_pages.download_selected),
        ("GET", "/files/delete", keeper, file_pages.ask_delete),
        ("POST", "/files/delete", keeper, file_pages.delete),
        ("GET", "/sample", adjudicator, form_pages.show_sample),
        ("POST", "/sample", adjudicator, form_pages.draw),
        ("GET", "/sample/{case_id:int}", adjudicator, form_pages.read_case),
        ("POST", "/sample/{case_id:int}", adjudicator, form_pages.answer),
    ]
    return [
        *(
            Route(
                path,
                require(roles, handler, is_background=handler in _BACKGROUND, threads=_find_threads(handler)),
                methods=[method],
            )
            for method, path, roles, handler in handlers
        ),
        PAGES.mount(),
    ]


def _find_threads(handler: Handler) -> visits.Threads | None:
    if handler in _DECISIONS:
        return "decisions"
    return "readings" if handler in _READINGS else None


def _count_states(store: ReviewStore) -> dict[str, float]:
    return {str(state): n for state, n in count_cases(store).items()}


def _show_health(request: Request) -> Response:
    try:
        count_cases(request.app.state.store)
    except InverseDeidError:
        return JSONResponse({"status": _("the store cannot be read")}, 503)
    return JSONResponse({"status": "ok", "version": __version__})


def _report_missing(request: Request, error: Exception) -> Response:
    return report_problem(request, int(getattr(error, "status_code", 404)), _("this page does not exist"))


class _Gate:
    """Responds only to known host names (against DNS rebinding).

    `refuses` says whether a request comes from another user of this computer.
    """

    def __init__(self, hosts: frozenset[str] | None, refuses: Callable[[Scope], bool]) -> None:
        self._hosts = hosts
        self._refuses = refuses

    def refuse(self, scope: Scope, *, is_static: bool) -> Response | None:
        # None = a handler may answer it.
        if not names_host(scope, self._hosts):
            return Response(_("wrong host name"), status_code=421)
        if not is_static and self._refuses(scope):
            return Response(_("another user of this computer has this desk"), status_code=403)
        if _TOO_LONG.search(scope["path"]):
            return _report_missing(Request(scope), HTTPException(404))
        return None

    def note_end(self, scope: Scope, status: int, seconds: float) -> None:
        # Paths contain numbers of cases.
        pass
