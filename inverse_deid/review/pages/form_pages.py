"""Pages without a script: summary; finished cases, causality forms, the sample; word lists."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response

from inverse_deid.core.errors import NotAllowedError, ReviewError
from inverse_deid.core.wording import _, ngettext
from inverse_deid.review.flow.approval import can_undo_approval, release, undo_approval, withdraw
from inverse_deid.review.flow.causality import (
    CausalityForm,
    Preserved,
    Topic,
    TopicAnswer,
    read_form,
    read_masked,
    read_original,
    save_form,
    summarise_forms,
)
from inverse_deid.review.flow.doubts import PAGE_SECONDS, READ_SECONDS, Grouped, group_doubts
from inverse_deid.review.flow.oversight import read_limits
from inverse_deid.review.flow.quality import (
    CONFIDENCE,
    bound_leaks,
    draw_sample,
    list_unread,
    read_sample,
    record_reading,
    summarise_reviewers,
)
from inverse_deid.review.flow.reading import list_copied, view_masked
from inverse_deid.review.flow.word_lists import (
    MAX_WORDS_CHARS,
    Asked,
    Done,
    Places,
    Sort,
    Unfinished,
    add_entry,
    count_places,
    go_on,
    list_entries,
    list_unfinished,
    remove_entry,
    use_for_new_files,
)
from inverse_deid.review.flow.work_list import count_cases, read_line
from inverse_deid.review.pages.case_page import describe_copied
from inverse_deid.review.pages.list_pages import count_shown
from inverse_deid.review.pages.visits import Visit, read_number
from inverse_deid.review.store.values import CaseState, UserRole


def show_summary(visit: Visit) -> Response:
    """Return progress, agreement and time; times by name are for adjudicators and admins.

    Agreement decrypts every case with two reviews, so it is computed only on request.
    """
    is_asked = visit.request.query_params.get("agreement") == "1"
    return visit.render(
        "summary.html",
        progress=count_shown(visit),
        state_names={one: visit.audience.name_state(one) for one in visit.audience.state_names},
        reviewers=summarise_reviewers(visit.store) if is_asked else None,
        forms=summarise_forms(visit.store),
        shows_names=visit.user.role is not UserRole.REVIEWER,
    )


USUAL_CASES = 60
"""If none of them leaks, at most 4.88 % of the released cases do."""

DOUBTS_ON_PAGE = 50

_ANSWERS = {"none": False, "leak": True}


def show_finished(visit: Visit) -> Response:
    masked = read_masked(visit.store, visit.user, visit.case_id, "finished case")
    line = read_line(visit.store, visit.case_id)
    return visit.render(
        "finished.html",
        case_id=visit.case_id,
        name=line.name,
        masked=masked,
        form=read_form(visit.store, visit.user, visit.case_id),
        is_adjudicator=visit.user.role.includes(UserRole.ADJUDICATOR),
        state=line.state,
        state_name=visit.audience.name_state(line.state),
        can_release=line.state is CaseState.AGREED,
        is_released=line.state is CaseState.RELEASED,
        copied=_describe_copied(visit),
        can_undo=can_undo_approval(visit.store, visit.user, visit.case_id),
    )


def show_print(visit: Visit) -> Response:
    """Return the masked text of the user's own layer, for paper."""
    view, masked = view_masked(visit.store, visit.user, visit.case_id)
    return visit.render(
        "print.html",
        case_id=view.case_id,
        name=view.name,
        state=view.state.value,
        revision=view.revision,
        is_approved=view.is_approved,
        masked=masked.text,
        copied=None if view.copied is None else describe_copied(view.copied),
    )


def _describe_copied(visit: Visit) -> list[dict[str, object]] | None:
    # Of a case whose masked text the user is shown.
    copied = list_copied(visit.store, visit.user, visit.case_id)
    return None if copied is None else describe_copied(copied)


def release_case(visit: Visit) -> Response:
    release(visit.store, visit.user, visit.case_id)
    name = read_line(visit.store, visit.case_id).name
    return visit.redirect(f"/cases/{visit.case_id}/finished", _("{name}: released.", name=name))


def withdraw_case(visit: Visit) -> Response:
    withdraw(visit.store, visit.user, visit.case_id)
    name = read_line(visit.store, visit.case_id).name
    return visit.redirect("/", _("{name}: back in review.", name=name))


def undo_own_approval(visit: Visit) -> Response:
    """Reopen a case for the user who approved it, and show it to them."""
    undo_approval(visit.store, visit.user, visit.case_id)
    name = read_line(visit.store, visit.case_id).name
    notice = _("Your approval of case {name} is undone. Your decisions are kept.", name=name)
    return visit.redirect(f"/cases/{visit.case_id}", notice)


def ask_preserved(visit: Visit) -> Response:
    """Return step 1 of the causality form, with the masked text alone."""
    old = read_form(visit.store, visit.user, visit.case_id)
    said = {} if old is None else {topic: answer.preserved for topic, answer in old.answers.items()}
    return _render_form(visit, said, with_original=False)


def ask_needed(visit: Visit) -> Response:
    """Return step 2, with the original: was the missing information needed?"""
    return _render_form(visit, _read_preserved(visit), with_original=True)


def store_form(visit: Visit) -> Response:
    answers = {}
    for topic, preserved in _read_preserved(visit).items():
        needed = visit.text(f"needed {topic.value}")
        if preserved.is_incomplete and needed not in ("yes", "no"):
            raise ReviewError(_("say whether the missing part of {topic} was needed", topic=_(topic.value)))
        answers[topic] = TopicAnswer(preserved, needed == "yes" if preserved.is_incomplete else None)
    form = CausalityForm(visit.case_id, answers, visit.text("remark"))
    save_form(visit.store, visit.user, form)
    name = read_line(visit.store, visit.case_id).name
    return visit.redirect(f"/cases/{visit.case_id}/finished", _("Form on case {name} saved.", name=name))


def _read_preserved(visit: Visit) -> dict[Topic, Preserved]:
    given = {topic: visit.text(f"preserved {topic.value}") for topic in Topic}
    missing = [_(topic.value) for topic, said in given.items() if said not in set(Preserved)]
    if missing:
        raise ReviewError(_("no answer on {missing}. Answer every topic", missing=", ".join(missing)))
    return {topic: Preserved(said) for topic, said in given.items()}


def _render_form(visit: Visit, said: dict[Topic, Preserved], *, with_original: bool) -> Response:
    masked = read_masked(visit.store, visit.user, visit.case_id, "causality form")
    original = read_original(visit.store, visit.user, visit.case_id) if with_original else ""
    old = read_form(visit.store, visit.user, visit.case_id)
    return visit.render(
        "form.html",
        case_id=visit.case_id,
        name=read_line(visit.store, visit.case_id).name,
        topics=list(Topic),
        choices=list(Preserved),
        said=said,
        missing=[topic for topic, preserved in said.items() if preserved.is_incomplete],
        needed={} if old is None else {topic: answer.is_needed for topic, answer in old.answers.items()},
        remark="" if old is None else old.remark,
        masked=masked,
        original=original,
        with_original=with_original,
    )


def show_sample(visit: Visit) -> Response:
    """Return the progress of the latest sample and, once all is read, its result."""
    n_released = count_cases(visit.store)[CaseState.RELEASED]
    found, result = None, None
    with suppress(ReviewError):
        found = read_sample(visit.store)
    if found is not None and not found.unread:
        result = bound_leaks(visit.store)
    return visit.render(
        "sample.html",
        sample=found,
        result=result,
        to_read=() if found is None else list_unread(visit.store, visit.user),
        confidence=CONFIDENCE,
        n_released=n_released,
        n_usual=min(USUAL_CASES, n_released),
    )


def draw(visit: Visit) -> Response:
    """Draw a sample; readings of the previous one no longer count."""
    n_cases = read_number(visit.text("n_cases"))
    if n_cases is None:
        raise ReviewError(_("give the number of cases to draw"))
    drawn = draw_sample(visit.store, n_cases, by=visit.user.name)
    return visit.redirect("/sample", _("Sample {id} drawn.", id=drawn.id))


def read_case(visit: Visit) -> Response:
    """Return one released case of the sample, as it is exported, to be read in full."""
    to_read = list_unread(visit.store, visit.user)
    if visit.case_id not in to_read:
        raise NotAllowedError(
            _("case {case_id} is not among the cases of the sample left for you", case_id=visit.case_id)
        )
    masked = read_masked(visit.store, visit.user, visit.case_id, "sample")
    name = read_line(visit.store, visit.case_id).name
    return visit.render(
        "sample_case.html",
        case_id=visit.case_id,
        name=name,
        masked=masked,
        n_left=len(to_read),
        copied=_describe_copied(visit),
    )


def answer(visit: Visit) -> Response:
    """Record whether the case leaks, and redirect to the next one."""
    said = visit.text("said")
    if said not in _ANSWERS:
        raise ReviewError(_("say whether the case leaks"))
    record_reading(visit.store, visit.user, visit.case_id, leaks=_ANSWERS[said])
    to_read = list_unread(visit.store, visit.user)
    name = read_line(visit.store, visit.case_id).name
    notice = (
        _("{name}: leaks, and is back in review.", name=name)
        if _ANSWERS[said]
        else _("No leak in case {name}.", name=name)
    )
    return visit.redirect(f"/sample/{to_read[0]}" if to_read else "/sample", notice)


def show_lists(visit: Visit) -> Response:
    """Return the word lists, with what can be done with each entry."""
    entries = list_entries(visit.store, visit.user)
    return visit.render(
        "word_lists.html",
        lists=[
            (
                sort,
                [(one, datetime.fromtimestamp(one.at, UTC)) for one in entries if one.sort is sort],
            )
            for sort in Sort
        ],
        names={
            one.asked.case_id: read_line(visit.store, one.asked.case_id).name
            for one in entries
            if one.asked.case_id is not None
        },
        max_chars=MAX_WORDS_CHARS,
    )


def ask_entry(visit: Visit) -> Response:
    """Say where words would change, and ask on which list they belong; nothing is changed."""
    return _ask_entry(visit, _read_asked(visit))


def _read_asked(visit: Visit) -> Asked:
    # Addresses end up in logs, so that words are only in the body of a post.
    return Asked.read(visit.text("words"), read_number(visit.text("case")))


def _ask_entry(
    visit: Visit,
    asked: Asked,
    *,
    found: Mapping[Sort, Places] | None = None,
    message: str = "",
    asks_again: bool = False,
    chosen: Sort | None = None,
) -> Response:
    found = found or count_places(visit.store, visit.user, asked)
    return visit.render(
        "word_list_question.html",
        asked=asked,
        origin=visit.text("origin"),
        at=visit.text("at"),
        back=_find_origin(visit, asked),
        chosen=chosen,
        always=found[Sort.ALWAYS],
        never=found[Sort.NEVER],
        for_new_files=visit.text("for_new_files") == "yes",
        message=message,
        asks_again=asks_again,
        status=400 if message else 200,
    )


def store_entry(visit: Visit) -> Response:
    """Add an entry, if its places are those that the user was told; ask again where the tool was sure."""
    asked = _read_asked(visit)
    if visit.text("sort") not in set(Sort):
        raise ReviewError(_("the form has an unknown answer. Load the page again"))
    sort, is_used = Sort(visit.text("sort")), visit.text("for_new_files") == "yes"
    found = count_places(visit.store, visit.user, asked)
    places, message = found[sort], ""
    if sort.keeps and visit.text("told") != places.told:
        message = _("The places have changed. Look at them again.")
    elif sort.keeps and is_used and not asked.can_be_kept_in_new_files:
        message = _("New files keep only single words without digits. Do not use it for new files.")
    if message:
        return _ask_entry(visit, asked, found=found, message=message)
    if sort.keeps and places.n_sure and visit.text("sure") != "yes":
        return _ask_entry(visit, asked, found=found, asks_again=True)
    done = add_entry(visit.store, visit.user, asked, sort, places, for_new_files=is_used)
    return _finish_entry(visit, asked, sort, done)


def _finish_entry(visit: Visit, asked: Asked, sort: Sort, done: Done) -> Response:
    if done.is_paused:
        return _go_to_work(visit, done.entry_id)
    return visit.redirect(_find_origin(visit, asked, done.entry_id), _describe_added(asked, sort, done))


def _describe_added(asked: Asked, sort: Sort, done: Done) -> str:
    said = _("“{words}” is now {sort}.", words=asked.text, sort=_(sort.value))
    return f"{said} {_describe_done(done)}"


def _go_to_work(visit: Visit, entry_id: int) -> Response:
    # The page asks for the rest, until nothing is left.
    where = {"entry": entry_id, "origin": visit.text("origin"), "at": read_number(visit.text("at")) or 0}
    return visit.redirect("/lists/work?" + urlencode(where))


def show_work(visit: Visit) -> Response:
    """Return the page that goes on with the change of an entry; nothing is changed before it asks."""
    query = visit.request.query_params
    entry_id = read_number(query.get("entry", ""))
    entry = next((one for one in list_entries(visit.store, visit.user) if one.id == entry_id), None)
    if entry is None or not entry.is_own or entry.unfinished is Unfinished.NOTHING:
        return visit.redirect("/lists")
    origin, at = query.get("origin", ""), read_number(query.get("at", "")) or 0
    return visit.render("word_work.html", entry=entry, origin=origin, at=at)


def work_on(visit: Visit) -> Response:
    """Change some more cases: say how many are left, or go back to where the user came from.

    The script of the page asks until none is left. Without it, the form does.
    """
    entry_id = read_number(_read_either(visit, "entry"))
    entry = next((one for one in list_entries(visit.store, visit.user) if one.id == entry_id), None)
    if entry is None or not entry.is_own:
        raise ReviewError(_("this entry is not on your word lists any more"))
    done = go_on(visit.store, visit.user, entry.id)
    if done.is_paused:
        n_done, n_all = done.n_all - done.n_left, done.n_all
        said = _("{n_done:,} of {n_all:,} cases are done.", n_done=n_done, n_all=n_all)
        progress = {"next": "", "said": said, "n_done": n_done, "n_all": n_all}
        return JSONResponse(progress) if visit.payload else _go_to_work(visit, entry.id)
    if entry.unfinished is Unfinished.REMOVING:
        address, said = _describe_removal(visit, entry.id, done)
    else:
        address = _find_origin(visit, entry.asked, entry.id)
        said = _describe_added(entry.asked, entry.sort, done)
    if not visit.payload:
        return visit.redirect(address, said)
    response = JSONResponse({"next": address})
    visit.notify(response, said)
    return response


def _read_either(visit: Visit, name: str) -> str:
    # From a form, or from the request of a script.
    return visit.text(name) or str(visit.payload.get(name, ""))


def _find_origin(visit: Visit, asked: Asked, entry_id: int = 0) -> str:
    # Where the user came from.
    origin = _read_either(visit, "origin")
    if origin == "doubts":
        at = read_number(_read_either(visit, "at")) or 0
        return f"/lists/doubts?at={at}" + (f"&undo={entry_id}" if entry_id else "")
    if asked.case_id is None or origin not in ("case", "table"):
        return "/lists"
    if origin == "case":
        return f"/cases/{asked.case_id}"
    return f"/table/{read_line(visit.store, asked.case_id).source_id}"


def show_doubts(visit: Visit) -> Response:
    """Return a page of the words in doubt in all cases of the reader, or how many cases were read so far."""
    at, undo = (read_number(visit.request.query_params.get(name, "")) or 0 for name in ("at", "undo"))
    first = at // DOUBTS_ON_PAGE * DOUBTS_ON_PAGE
    found = group_doubts(visit.store, visit.user, first=first, n_words=DOUBTS_ON_PAGE, seconds=PAGE_SECONDS)
    if found.n_words and at >= found.n_words:  # the last ones were decided
        return visit.redirect(f"/lists/doubts?at={found.n_words - 1}" + f"&undo={undo}" * bool(undo))
    with visit.store.reading() as transaction:
        may_keep = not read_limits(transaction).no_allow_lists
    return visit.render(
        "word_doubts.html",
        keeps_notice=bool(found.n_unread),  # the page loads itself again
        found=found,
        unfinished=list_unfinished(visit.store, visit.user),
        first=first,
        at=at,
        undo=undo,
        others={"prev": first - DOUBTS_ON_PAGE, "next": first + DOUBTS_ON_PAGE},
        read_so_far=_describe_read(found),
        sorts=[sort for sort in (Sort.ALWAYS, Sort.NEVER, Sort.LEFT) if may_keep or not sort.keeps],
    )


def _describe_read(found: Grouped) -> str:
    n_read, n_cases = found.n_read, found.n_read + found.n_unread
    return _("{n_read:,} of {n_cases:,} cases are read.", n_read=n_read, n_cases=n_cases)


def read_doubts(visit: Visit) -> Response:
    """Read some more cases, and say how many are left; the page asks until none is."""
    found = group_doubts(visit.store, visit.user, n_words=0, seconds=READ_SECONDS)
    return JSONResponse({"n_unread": found.n_unread, "said": _describe_read(found)})


def decide_doubt(visit: Visit) -> Response:
    """Decide a word of the page in all cases; ask first if more would change than the page counts.

    It always asks before words are shown.
    """
    asked, given = _read_asked(visit), visit.text("sort")
    n_kept, n_masked = (read_number(visit.text(name)) for name in ("n_kept", "n_masked"))
    if given not in set(Sort) or n_kept is None or n_masked is None:
        raise ReviewError(_("the form has an unknown answer. Load the page again"))
    sort, found = Sort(given), count_places(visit.store, visit.user, asked)
    counted = {
        Sort.ALWAYS: Places((), n_kept, 0, n_masked),
        Sort.NEVER: Places((), n_masked, 0, n_kept),
        Sort.LEFT: Places((), 0, 0, n_kept + n_masked),
    }
    is_same = found[sort].told == counted[sort].told
    if sort is Sort.LEFT and not is_same:
        return visit.redirect(_find_origin(visit, asked), _("The places have changed. Look at them again."))
    if sort.keeps or not is_same:
        return _ask_entry(visit, asked, found=found, chosen=sort)
    done = add_entry(visit.store, visit.user, asked, sort, found[sort])
    return _finish_entry(visit, asked, sort, done)


def _describe_done(done: Done) -> str:
    n_cases, n_held, n_approved = done.n_cases, done.n_held, done.n_approved
    said = [ngettext("{n:,} case changed.", "{n:,} cases changed.", n_cases, n=n_cases)]
    if n_approved:
        approved = ngettext(
            "{n:,} approved case stays as it is.",
            "{n:,} approved cases stay as they are.",
            n_approved,
            n=n_approved,
        )
        said.append(approved)
    if done.n_left:
        left = ngettext("{n:,} case is left.", "{n:,} cases are left.", done.n_left, n=done.n_left)
        said.append(left)
    if n_held:
        held = ngettext(
            "{n:,} case could not be changed: another reader holds it, it is finished, or it has the words "
            "too often.",
            "{n:,} cases could not be changed: another reader holds them, they are finished, or they have "
            "the words too often.",
            n_held,
            n=n_held,
        )
        said.append(held)
    return " ".join(said)


def _describe_removal(visit: Visit, entry_id: int, done: Done) -> tuple[str, str]:
    # Where to go, and what to say there.
    again = _("{done} Remove it again to go on.", done=_describe_done(done))
    gone = _("Removed. {done}", done=_describe_done(done))
    back = "/lists"
    if _read_either(visit, "origin") == "doubts":
        at = read_number(_read_either(visit, "at")) or 0
        back = f"/lists/doubts?at={at}" + (f"&undo={entry_id}" if done.n_left else "")
    return back, again if done.n_left else gone


def change_entry(visit: Visit) -> Response:
    """Remove an entry, or say whether new files follow it."""
    entry_id, what = read_number(visit.text("entry")), visit.text("what")
    if entry_id is None or what not in ("remove", "use", "end"):
        raise ReviewError(_("the form has an unknown answer. Load the page again"))
    if what == "remove":
        done = remove_entry(visit.store, visit.user, entry_id)
        if done.is_paused:
            return _go_to_work(visit, entry_id)
        return visit.redirect(*_describe_removal(visit, entry_id, done))
    use_for_new_files(visit.store, visit.user, entry_id, is_used=what == "use")
    said = (
        _("New files follow this entry.")
        if what == "use"
        else _("New files do not follow this entry any more.")
    )
    return visit.redirect("/lists", said)
