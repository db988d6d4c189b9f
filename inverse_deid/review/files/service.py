"""Takes files, looks into them, and masks them in the background into a store that is in use.

One thread masks, one file after the other, so that the pages stay responsive. The store knows how far each
file is. After a crash, the files that were not finished wait to be resumed.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from threading import Condition, Thread
from typing import Any, NamedTuple

from sqlalchemy import select

from inverse_deid.choices.categories import Category
from inverse_deid.choices.questions import list_questions
from inverse_deid.choices.records import Surface
from inverse_deid.core.child_process import LimitedProcess
from inverse_deid.core.errors import (
    InputError,
    InverseDeidError,
    NotAllowedError,
    Remedy,
    ReviewError,
    StageError,
    add_remedies,
    describe_error,
)
from inverse_deid.core.wording import N_, _
from inverse_deid.engine.tally import Tally
from inverse_deid.files.facts import FileFacts
from inverse_deid.files.given import MAX_FILE_BYTES, digest_given, open_given
from inverse_deid.files.reading import read_first
from inverse_deid.files.survey import list_values, survey_file
from inverse_deid.files.workers import borrow_worker
from inverse_deid.formats.converted import convert
from inverse_deid.formats.icsr.standard.profiles import DEFAULT_PROFILE, builtin_profile
from inverse_deid.formats.tables.columns import ColumnFate
from inverse_deid.masking.kept.columns import KeptColumns, MaskedKinds
from inverse_deid.masking.maskers import BuildMasker, Maskers
from inverse_deid.review.files.asked import count_values, describe_count
from inverse_deid.review.files.choices import (
    Concern,
    Examples,
    MaskingChoices,
    describe_fates,
    make_read_options,
)
from inverse_deid.review.files.intake import LoadSettings, add_cases, find_source, has_name_key, state_facts
from inverse_deid.review.files.waiting import (
    PIECE_BYTES,
    AskedColumn,
    Upload,
    UploadFacts,
    UploadState,
    add_piece,
    begin_upload,
    change_upload,
    list_uploads,
    note_carried,
    open_waiting_area,
    read_bytes,
    remove_upload,
)
from inverse_deid.review.flow.contents import Listed
from inverse_deid.review.flow.oversight import read_limits
from inverse_deid.review.flow.word_lists import follow_lists
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.sources import open_source, read_file_facts
from inverse_deid.review.store.tables import INTAKES, SOURCES

LOG = logging.getLogger("inverse_deid.review")

_IDLE_SECONDS = 60.0
PACKED = 20
"""How many times as large a packed file is expected to be at most; a larger one may take no more."""


_STEPS = {
    "text_column": N_("choose Mask"),
    "id_column": N_("choose another Case number"),
    "keep_unchecked": N_("choose Keep unchecked"),
    "dates": N_("choose what should happen to dates"),
    "ages": N_("choose what should happen to ages"),
}
"""How the pages offer what mends an error; they do not offer other choices."""


def explain_problem(message: str, remedies: Sequence[Remedy] = ()) -> str:
    """Return what is wrong and what mends it, in the words of the pages.

    Example:
        >>> explain_problem("has a name", [Remedy("encoding"), Remedy("keep_unchecked")])
        'has a name. Choose Keep unchecked'
        >>> explain_problem("has a name", [Remedy("operating_point")])
        'has a name. Change your answer to “How strict should the tool be when it is not sure?”'
    """
    questions = {one.name: one.text for one in list_questions(Surface.DESK)}
    here = []
    for one in remedies:
        step = _(_STEPS.get(one.choice, "")) if one.choice else one.step
        if not step and one.choice in questions:
            step = _("change your answer to “{question}”", question=questions[one.choice])
        here.append(Remedy(step=step))
    return add_remedies(message, here, lambda _choice, _value: None)


def _is_choice(problem: InverseDeidError) -> bool:
    # Whether another choice on the page mends it, so that the file need not be added again.
    offered = {*_STEPS, *(one.name for one in list_questions(Surface.DESK))}
    return any(one.choice in offered for one in problem.remedies)


def _note_refused(facts: UploadFacts, names: Collection[str]) -> dict[str, Any]:
    # Columns of these names in which something was found that must not be kept. They are set to Mask.
    found = () if facts.survey is None else facts.survey.columns
    pairs = enumerate(zip(found, facts.columns, strict=True)) if facts.columns else ()
    refused = {n for n, (column, fate) in pairs if fate is ColumnFate.KEPT and column.name in names}
    columns = tuple(ColumnFate.MASKED if n in refused else fate for n, fate in enumerate(facts.columns))
    return {"refused": tuple(sorted(refused.union(facts.refused))), "columns": columns}


_ADDED_BEFORE = N_("was added before, with the same contents. Nothing is left to do")
_ANSWERED = N_("this column does not wait for an answer any more. Load the page again")


@dataclass(slots=True)
class _Running:
    """The file that is being masked."""

    upload_id: int
    began: float
    n_done: int = 0
    is_cancelled: bool = False


class _Ended(NamedTuple):
    """The outcome of the work on a file."""

    state: UploadState
    problem: InverseDeidError | None = None
    changes: Mapping[str, Any] = {}


class IntakeService:
    """Adds files to a store. Start it before use, and close it at the end.

    Args:
        store: Where files wait and cases go.
        build: Loads a masker.
        today: The last day that a date of a case can be.
    """

    def __init__(
        self, store: ReviewStore, build: BuildMasker, today: Callable[[], date] = date.today
    ) -> None:
        self.store = store
        self._today = today
        self._maskers = Maskers(build)
        self._examples = Examples(build, store.case_key)
        self._changed = Condition()
        self._running: _Running | None = None
        self._worker = LimitedProcess(convert)
        self._is_closing = False
        self._thread = Thread(target=self._work, name="intake", daemon=True)
        self.is_ready = False
        self.fault = ""

    def start(self) -> None:
        """Tidy up after a program that was stopped, and load the model in the background, if it is not."""
        open_waiting_area(self.store)
        self._thread.start()

    def close(self) -> None:
        """Stop after the batch that is being masked; its file can be resumed. Half-received files go."""
        self._is_closing = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join(30)
        self._worker.end()
        open_waiting_area(self.store)

    def wake(self) -> None:
        """Look for files to mask."""
        with self._changed:
            self._changed.notify_all()

    def mask_example(self, choices: MaskingChoices) -> list[tuple[str, bool]]:
        """Return the masked example in pieces: the text of each, and whether it was replaced."""
        return [(part.text, part.is_replaced) for part in self._examples.mask(choices, self._today())]

    def inspect(self, upload_id: int) -> Upload | None:
        """Look into a file that was received: its format and documents, or why it cannot be masked."""
        # Nobody sees it before it is known what it is.
        upload = change_upload(self.store, upload_id, UploadState.RECEIVING)
        if upload is None:
            return None
        received = TrailEvent(user=upload.facts.by, event=f"file received: {upload.n_bytes} bytes")

        def is_stopped() -> bool:
            return self._is_closing

        def refuse(problem: str) -> Upload | None:
            if self._is_closing:  # its upload is cut
                return None
            return change_upload(
                self.store, upload_id, UploadState.FAILED, events=[received], problem=problem
            )

        try:
            name = upload.facts.name
            # A file that waits for its turn takes no memory.
            with borrow_worker(is_stopped) as worker:
                data = read_bytes(self.store, upload_id)
                n_bytes = len(data) * (PACKED if name.lower().endswith(".gz") else 1)
                call = partial(worker.call, is_stopped=is_stopped, n_bytes=min(n_bytes, MAX_FILE_BYTES))
                survey, digest = call(survey_file, name, data), call(digest_given, name, data)
            known = find_source(self.store, *digest, upload.facts.replaces)
        except InverseDeidError as error:
            return refuse(explain_problem(str(error), error.remedies))
        except Exception as error:  # noqa: BLE001 - a broken file; its message may quote it
            LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback
            return refuse(
                _("cannot be read. Open it in its own program, save it again, and add the new file")
            )
        if known is not None:
            return refuse(_(_ADDED_BEFORE))
        return change_upload(
            self.store,
            upload_id,
            UploadState.READY,
            events=[received],
            survey=survey,
        )

    def mask_again(self, source_id: int, *, by: str) -> Upload:
        """Let a file of the store wait for other choices, beside the cases that it has until it is masked.

        Raises:
            NotAllowedError: Nobody works on cases of files that they added, and `by` did not add this one.
            ReviewError: It does not exist, was added by the command, waits already, or cannot be read any
                more.
        """
        found = select(SOURCES, INTAKES.c.added_by).join(INTAKES, INTAKES.c.source_id == SOURCES.c.id)
        with self.store.reading() as transaction:
            source = transaction.execute(found.where(SOURCES.c.id == source_id)).one_or_none()
            if source is None:
                raise ReviewError(_("this file does not exist"))
            if source.added_by == "command":
                # The page does not know all that was given there, such as known identifiers.
                raise ReviewError(_("this file was added by the command, so it cannot be masked again here"))
            if source.added_by != by and read_limits(transaction).adders_stay_out:
                # Whoever chose its masks anew could approve them.
                raise NotAllowedError(_("only the person who added this file can mask it again"))
            name = transaction.names.open(source.name)
            data = open_source(transaction, source.id, source.sealed)
        uploads = list_uploads(self.store)
        # What was chosen before, as long as it is known.
        before = next((one.facts for one in uploads if one.name_key == source.name_key), None)
        known = {} if before is None else {"choices": before.choices, "columns": before.columns}
        upload = begin_upload(
            self.store, name, len(data), by=by, name_key=source.name_key, replaces=source_id, **known
        )
        inspected: Upload | None = None
        try:
            for number, begin in enumerate(range(0, len(data), PIECE_BYTES)):
                add_piece(self.store, upload.id, number, data[begin : begin + PIECE_BYTES])
            inspected = self.inspect(upload.id)
        finally:
            if inspected is None or inspected.state is not UploadState.READY:
                remove_upload(self.store, upload.id)
        if inspected is None or inspected.state is not UploadState.READY:
            problem = inspected.facts.problem if inspected else ""
            raise ReviewError(problem or _("the file cannot be read any more"))
        return inspected

    def check_columns(self, upload: Upload, fates: Sequence[ColumnFate], choices: MaskingChoices) -> None:
        """Refuse columns that cannot be treated like this, before anything is masked.

        Kept columns are judged by the form of their first values. Their words are read when they are masked.

        Raises:
            InverseDeidError: No column is masked, a masked one has no text, ids cannot be ids, or a kept one
                must not leave.
        """
        options = make_read_options(upload.facts.survey, fates)
        chosen = choices.choose(self.store.case_key, self._today())
        masked, cases = chosen.masking.categories, chosen.cases
        kinds = MaskedKinds(dates=Category.DATE in masked, ages=Category.AGE in masked)
        kept = KeptColumns(None, kinds=kinds)
        with borrow_worker() as worker:
            data = read_bytes(self.store, upload.id)
            first = worker.call(read_first, upload.facts.name, data, options, n_bytes=len(data))
        kept.judge(first)
        kept.refuse_masked(first, dates="dates" in cases.replaced, ages="ages" in cases.replaced)

    def submit(
        self,
        choices: MaskingChoices,
        columns: Mapping[int, Sequence[ColumnFate]],
        ids: Iterable[int],
        *,
        by: str,
        confirmed: Mapping[int, Sequence[Concern]] | None = None,
        needs_second: bool,
    ) -> int:
        """Queue files that are ready, with the choices and what happens to the columns of tables.

        The trail says what `by` chose, without the names of columns. Only columns that may name people and
        are copied nevertheless, which `by` has `confirmed`, are named. With `needs_second`, a file with such
        columns is masked only after somebody else has confirmed them.

        Returns:
            How many files were queued.

        Raises:
            ReviewError: No file is ready, or the columns of a table cannot be treated like this.
        """
        for upload in list_uploads(self.store):
            if upload.id in columns:
                make_read_options(upload.facts.survey, columns[upload.id])
        n_queued = 0
        for upload_id in ids:
            given, concerns = tuple(columns.get(upload_id, ())), (confirmed or {}).get(upload_id, ())
            asked = tuple(map(AskedColumn, concerns)) if needs_second else ()
            answered = "kept column chosen" if needs_second else "kept column confirmed"
            said = "; ".join(one for one in (choices.describe(), describe_fates(given)) if one)
            queued = change_upload(
                self.store,
                upload_id,
                UploadState.QUEUED,
                only_from=(UploadState.READY,),
                events=[
                    TrailEvent(user=by, event=f"file queued for masking: {said}"),
                    *(TrailEvent(user=by, event=answered, new=one.recorded) for one in concerns),
                ],
                choices=choices,
                columns=given,
                chosen_by=by,
                unconfirmed=asked,
                problem="",
            )
            n_queued += queued is not None
        if not n_queued:
            raise ReviewError(_("no file is ready to be masked. Add one first"))
        self.wake()
        return n_queued

    def answer(self, upload: Upload, number: int, given: str, *, by: str) -> None:
        """Let a second adjudicator confirm that a column is copied, or refuse it.

        After the last confirmation the file is queued. With a refusal it is ready again, with its choices and
        the column masked, so that somebody looks at them again.

        Args:
            upload: The file as `by` saw it.
            number: The place of the column.
            given: What happens to the column: as it was chosen, or `ColumnFate.MASKED`.
            by: Neither the one who added the file nor the one who chose its columns.

        Raises:
            NotAllowedError: `by` is one of these.
            ReviewError: The file or the column does not wait for an answer any more.
        """
        facts = upload.facts
        if by in (facts.by, facts.chosen_by):
            raise NotAllowedError(
                _("you added this file or chose its columns, so another adjudicator must confirm them")
            )
        asked = next((one.concern for one in facts.unconfirmed if one.concern.number == number), None)
        if asked is None or given not in (asked.fate, ColumnFate.MASKED):
            raise ReviewError(_(_ANSWERED))
        left = tuple(one for one in facts.unconfirmed if one.concern.number != number)
        state, problem, columns = UploadState.CONFIRMING if left else UploadState.QUEUED, "", facts.columns
        event = TrailEvent(user=by, event="kept column confirmed", new=asked.recorded)
        if given == ColumnFate.MASKED:
            event = TrailEvent(user=by, event="kept column refused", new=asked.recorded)
            state, left = UploadState.READY, ()
            columns = (*columns[:number], ColumnFate.MASKED, *columns[number + 1 :])
            problem = _("{by} refused to copy column {name}. It is set to Mask", by=by, name=asked.shown)
        changed = change_upload(
            self.store,
            upload.id,
            state,
            only_from=(UploadState.CONFIRMING,),
            only_as=facts,
            events=[event],
            columns=columns,
            unconfirmed=left,
            problem=problem,
        )
        if changed is None:
            raise ReviewError(_(_ANSWERED))
        self.wake()

    def choose_again(self, upload_id: int, *, by: str) -> None:
        """Let somebody choose again how a file is masked that waits for a second adjudicator."""
        event = TrailEvent(user=by, event="file back to its choices")
        waits = (UploadState.CONFIRMING,)
        change_upload(
            self.store,
            upload_id,
            UploadState.READY,
            only_from=waits,
            events=[event],
            unconfirmed=(),
            problem="",
        )

    def cancel(self, upload_id: int, *, by: str) -> None:
        """Stop masking a file; nothing of it enters the store, and it can be resumed."""
        running = self._running
        event = TrailEvent(user=by, event="file stopped")
        if running is not None and running.upload_id == upload_id:
            running.is_cancelled = True
            here = (UploadState.MASKING,)
            change_upload(self.store, upload_id, UploadState.MASKING, only_from=here, events=[event])
            return
        # Nothing masks it if the end of its masking could not be stored.
        states = (UploadState.QUEUED, UploadState.MASKING)
        change_upload(self.store, upload_id, UploadState.STOPPED, only_from=states, events=[event])

    def resume(self, upload_id: int, *, by: str) -> None:
        """Queue a file again that was stopped."""
        event, states = TrailEvent(user=by, event="file resumed"), (UploadState.STOPPED,)
        change_upload(self.store, upload_id, UploadState.QUEUED, only_from=states, events=[event], problem="")
        self.wake()

    def progress_of(self, upload: Upload) -> tuple[int, float | None]:
        """Return how many documents of a file are masked, and the seconds left (None = unknown)."""
        running = self._running
        if running is None or running.upload_id != upload.id:
            return 0, None
        n_done, n_left = running.n_done, max(0, upload.facts.n_expected - running.n_done)
        return n_done, (time.monotonic() - running.began) / n_done * n_left if n_done else None

    def _work(self) -> None:
        """Mask what is queued until the service is closed."""
        if not self.is_ready:
            self.load()
        while not self._is_closing:
            upload = None
            try:
                queued = (one for one in list_uploads(self.store) if one.state is UploadState.QUEUED)
                upload = next(queued, None)
                if upload is not None:
                    self._mask(upload)
            except Exception as error:  # noqa: BLE001 - the thread goes on, and only kind and place are logged
                LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback
                upload = None
            if upload is None:
                with self._changed:
                    if not self._is_closing:
                        self._changed.wait(_IDLE_SECONDS)

    def load(self) -> None:
        """Load what the first file and the first example need. Pages would wait meanwhile."""
        try:
            usual = MaskingChoices()
            masking = usual.choose(self.store.case_key, self._today()).masking
            with self._maskers.lock:
                self._examples.mask_with(self._maskers.get(masking), usual, self._today())
        except InverseDeidError as error:
            self.fault = explain_problem(str(error), error.remedies)
        except Exception as error:  # noqa: BLE001 - shown on the page
            self.fault = describe_error(error)
        self.is_ready = not self.fault

    def _mask(self, upload: Upload) -> None:
        """Mask one file; any error ends in a state that the page shows."""
        self._running = running = _Running(upload.id, time.monotonic())
        try:
            claimed = change_upload(
                self.store, upload.id, UploadState.MASKING, only_from=(UploadState.QUEUED,)
            )
            if claimed is not None:
                self._mask_claimed(claimed, running)
        finally:
            self._running = None

    def _mask_claimed(self, upload: Upload, running: _Running) -> None:
        # The facts are sealed, unlike the state: what needs a second adjudicator is not masked before.
        work = self._ask_second if upload.facts.unconfirmed else self._mask_cases
        ended = _Ended(UploadState.STOPPED)
        try:
            ended = work(upload, running)
        except InputError as error:
            ended = _Ended(UploadState.FAILED, error.add_prefix(""))
        except InverseDeidError as error:
            ended = _Ended(UploadState.STOPPED, error.add_prefix(""))
        except Exception as error:  # noqa: BLE001 - only kind and place are logged
            LOG.error("%s", describe_error(error))  # noqa: TRY400 - no traceback
            why = StageError(_("an unforeseen error stopped this file. Nothing of it was stored"))
            ended = _Ended(UploadState.STOPPED, why)
        if ended.state is UploadState.FAILED and ended.problem is not None and _is_choice(ended.problem):
            changes = {key: value for key, value in ended.changes.items() if key != "masked"}
            ended = _Ended(UploadState.READY, ended.problem, changes)
        problem = "" if ended.problem is None else explain_problem(str(ended.problem), ended.problem.remedies)
        change_upload(self.store, upload.id, ended.state, problem=problem, **ended.changes)

    def _mask_cases(self, upload: Upload, running: _Running) -> _Ended:
        refused: set[str] = set()
        tally = self._add(upload, running, refused.add)
        changes: dict[str, Any] = {"masked": tally.facts}
        if tally.n_documents:
            return _Ended(UploadState.DONE, changes=changes)
        if running.is_cancelled or self._is_closing:
            return _Ended(UploadState.STOPPED, changes=changes)
        first = tally.failures[0] if tally.failures else None
        problem = InputError(_("contains no text to mask"))
        if first is not None:
            problem = InputError(first.reason, remedies=first.remedies)
        if refused:
            changes |= _note_refused(upload.facts, refused)
        return _Ended(UploadState.FAILED, problem, changes)

    def _ask_second(self, upload: Upload, running: _Running) -> _Ended:
        """Count what is in the columns that a second adjudicator has to confirm, for their page."""
        facts = upload.facts
        chosen = (facts.choices or MaskingChoices()).choose(self.store.case_key, self._today())
        tables = () if facts.survey is None else facts.survey.tables
        columns = [
            (one.concern.column, tables[one.concern.table].places if tables else ())
            for one in facts.unconfirmed
        ]
        asked = []
        self._examples.drop_idle()
        with self._maskers.lock:
            data = read_bytes(self.store, upload.id)
            n_bytes = min(len(data) * (PACKED if facts.name.lower().endswith(".gz") else 1), MAX_FILE_BYTES)
            found = self._worker.call(list_values, facts.name, data, columns, n_bytes=n_bytes)
            masker = self._maskers.get(follow_lists(self.store, chosen.masking))
            kept = KeptColumns(masker, chosen.cases.day_first)
            for one, values in zip(facts.unconfirmed, found, strict=True):
                counted = count_values(
                    one.concern, values, kept, lambda: running.is_cancelled or self._is_closing
                )
                if counted is None:
                    return _Ended(UploadState.STOPPED)
                asked.append(counted)
        named = next((one for one in asked if one.n_names and one.concern.fate is ColumnFate.KEPT), None)
        if named is None:
            return _Ended(UploadState.CONFIRMING, changes={"unconfirmed": tuple(asked)})
        # The check of kept columns would refuse the file, whoever confirms it.
        problem = InputError(
            _(
                "column {name} is to be kept, but {found}",
                name=named.concern.shown,
                found=describe_count(named),
            ),
            remedies=[Remedy("text_column"), Remedy(step=N_("leave it out")), Remedy("keep_unchecked")],
        )
        changes = _note_refused(facts, {named.concern.column})
        return _Ended(UploadState.READY, problem, {**changes, "unconfirmed": ()})

    def _add(self, upload: Upload, running: _Running, refuse: Callable[[str], None]) -> Tally:
        """Mask the cases of a file and put them into the store, all of them or none."""
        facts = upload.facts
        chosen = (facts.choices or MaskingChoices()).choose(self.store.case_key, self._today())
        masking = follow_lists(self.store, chosen.masking)

        def count(n_documents: int, _n_tokens: int) -> None:
            running.n_done += n_documents

        self._examples.drop_idle()
        with self._maskers.lock:
            masker = self._maskers.get(masking)
            # Its survey, in a child with limits, has unpacked it before.
            given = open_given(facts.name, read_bytes(self.store, upload.id))
            digest = hashlib.sha256(given.data).digest()
            is_there = has_name_key(self.store, facts.replaces, upload.name_key)
            replaced = facts.replaces if is_there else 0
            known = find_source(self.store, given.name, digest, replaced)
            if known is not None and not has_name_key(self.store, known[0], upload.name_key):
                raise InputError(_(_ADDED_BEFORE))
            if known is not None:
                # The program was stopped after the file was in the store, and before that was noted.
                found = read_file_facts(self.store, known[:1]).get(known[0], FileFacts())
                tally = Tally(
                    n_documents=known[1],
                    n_other_language=found.n_other_language,
                    other_language=list(found.other_language),
                )
                tally.add_facts(found)
                return tally
            if facts.replaces and not is_there:  # deleted since, so it must not come back
                raise InputError(_("this file does not exist"))
            settings = LoadSettings(
                facts=state_facts(masker, masking, self.store.case_key),
                cases=chosen.cases,
                profile=builtin_profile(DEFAULT_PROFILE).follow(chosen.cases.replaced),
                read_options=make_read_options(facts.survey, facts.columns),
                on_progress=count,
                on_refused_column=refuse,
                worker=self._worker,
                name_key=upload.name_key,
                listed=Listed(masking.deny, masking.allow),
                replaces=replaced,
                on_carried=lambda transaction, carried: note_carried(transaction, upload.id, carried),
            )
            return add_cases(
                self.store,
                [given],
                masker,
                settings,
                by=facts.by,
                stop=lambda: running.is_cancelled or self._is_closing,
            )
