"""Out of a store, and corrections into it: `review export`, `import`, `verify`, `sample` and `summary`."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from inverse_deid.cli.masking.summary import list_note
from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.cli.parts.messages import describe_error, end_sentence
from inverse_deid.cli.parts.secret_files import check_list_place
from inverse_deid.cli.reviewing.store import (
    key_option,
    open_given,
    read_certificates,
    read_key,
    read_public_key,
    store_options,
    write_public_key,
)
from inverse_deid.core.errors import ConfigurationError, NotAllowedError, ReviewError
from inverse_deid.core.files import printable
from inverse_deid.core.values import Document
from inverse_deid.core.wording import N_, _
from inverse_deid.files.facts import FileFacts, list_facts
from inverse_deid.review.files.exporting import (
    AnnotationFormat,
    adopt_annotations,
    export_annotated,
    export_released,
    list_numbers,
    read_annotations,
)
from inverse_deid.review.flow.causality import CausalitySummary, summarise_forms
from inverse_deid.review.flow.oversight import TIMES_USUAL, list_activity, read_limits, set_limits
from inverse_deid.review.flow.quality import (
    CONFIDENCE,
    ReviewSummary,
    bound_leaks,
    draw_sample,
    record_reading,
    summarise_reviewers,
)
from inverse_deid.review.flow.reading import close_case, open_case
from inverse_deid.review.flow.work_list import count_cases
from inverse_deid.review.people.accounts import find_user
from inverse_deid.review.store.anchors import check_stamps
from inverse_deid.review.store.entries import TrailEvent
from inverse_deid.review.store.opening import ReviewStore
from inverse_deid.review.store.trail import (
    EarlierHeads,
    TrailCheck,
    export_trail,
    list_public_keys,
    read_anchors,
    verify_export,
    verify_store,
)
from inverse_deid.review.store.values import LayerRevision, User, UserRole

_PATH = click.Path(path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


def _name_system_user() -> str:
    # As the operating system says, where it can. The environment does not count.
    try:
        import pwd
    except ImportError:
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"number {os.getuid()}"


def _record_command(store: ReviewStore, command: str, account: str | None = None) -> None:
    # The entry is made before the command does anything.
    acting = f" for {account}" if account else ""
    event = f"command {command}{acting}, run by system user {_name_system_user()}"
    with store.writing() as transaction:
        transaction.record(TrailEvent(user="command", event=event))


def _find_acting(store: ReviewStore, name: str, role: UserRole) -> User:
    user = find_user(store, name)
    if not (user.is_active and user.role.includes(role)):
        state = user.role.value if user.is_active else "closed"
        raise NotAllowedError(
            _(
                "this needs an open account with the role {role}, and {name} is {state}",
                role=role.value,
                name=name,
                state=state,
            )
        )
    return user


@click.command()
@store_options
@click.option("-o", "--out", required=True, type=_PATH, help=_("Folder, or file for jsonl and trail."))
@click.option(
    "--as",
    "form",
    type=click.Choice(["released", *(form.value for form in AnnotationFormat), "trail"]),
    default="released",
    show_default=True,
    help=_(
        "released: masked text in its original format. jsonl, i2b2, brat: ORIGINAL text with marks, for "
        "training. trail: the log, with offsets in the originals. All except released is confidential."
    ),
)
@click.option(
    "--rename",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="LIST.csv",
    help=_(
        "Number released files and ids (document-0001.txt, case-0001), and write this list of old and "
        "new names. If it exists, it is continued. Confidential."
    ),
)
@click.option("--force", is_flag=True, help=_("Overwrite existing files."))
def export(address: str, key: Path | None, out: Path, form: str, rename: Path | None, force: bool) -> int:
    """Write released cases, training documents or the trail.

    Exit status: 0 all done, 1 some released cases could not be written and are listed.
    """
    if rename is not None:
        if form != "released":
            raise ConfigurationError(_("--rename is for released files. Leave it out, or leave out --as"))
        check_list_place(rename, {"--out": out})
    with open_given(address, key) as store:
        _record_command(store, f"export {form}")
        if form == "trail":
            click.echo(
                _("{trail:,} entries in {out}", trail=export_trail(store, out, force=force), out=out),
                err=True,
            )
            click.echo(
                _("note: CONFIDENTIAL: the trail shows where each changed word begins and ends"), err=True
            )
            return 0
        if form == "released":
            exported = export_released(store, out, force=force, rename=rename)
        else:
            exported = export_annotated(store, out, AnnotationFormat(form), force=force)
    for problem in exported.problems:
        click.echo(f"inverse-deid: {end_sentence(problem)}", err=True)
    click.echo(
        _(
            "{n_cases:,} cases written, {n_left_out:,} not released yet",
            n_cases=exported.n_cases,
            n_left_out=exported.n_left_out,
        ),
        err=True,
    )
    for fact in list_facts(FileFacts(columns=exported.columns)):
        click.echo(fact.text, err=True)
    if rename is not None:
        click.echo(_("note: {note}", note=list_note(rename)), err=True)
    if form != "released":
        click.echo(
            _("note: CONFIDENTIAL: these files contain the original texts. Keep them as safe."), err=True
        )
    return 1 if exported.problems else 0


@click.command(name="import")
@click.argument("annotations", type=_PATH)
@store_options
@click.option("--user", "name", required=True, help=_("Account whose layer gets the corrections."))
def import_(annotations: Path, address: str, key: Path | None, name: str) -> int:
    """Import ANNOTATIONS (jsonl, i2b2 XML or brat, corrected elsewhere) into the cases of the same id.

    They become one action in the layer of the user, who then approves as usual.

    Exit status: 0 all done, 1 some documents could not be imported and are listed.
    """
    n_taken, n_refused = 0, 0
    docs = read_annotations(annotations)
    with open_given(address, key) as store:
        user = _find_acting(store, name, UserRole.REVIEWER)
        _record_command(store, "import", user.name)
        numbers = list_numbers(store)
        for doc in docs:
            try:
                _import_document(store, user, doc, numbers)
                n_taken += 1
            except ReviewError as error:
                n_refused += 1
                click.echo(
                    _(
                        "inverse-deid: document {path}: {error}",
                        path=printable(Path(doc.id)),
                        error=describe_error(error),
                    ),
                    err=True,
                )
    click.echo(
        _("{n_taken:,} documents imported, {n_refused:,} not", n_taken=n_taken, n_refused=n_refused), err=True
    )
    return 1 if n_refused else 0


def _import_document(
    store: ReviewStore, user: User, doc: Document, numbers: Mapping[str, Sequence[int]]
) -> None:
    ids = numbers.get(doc.id) or numbers.get(doc.id.removesuffix(".xml")) or []
    if len(ids) != 1:
        raise ReviewError(_("{n_ids} cases have this id, not 1", n_ids=len(ids)))
    view = open_case(store, user, ids[0], "import")
    try:
        adopt_annotations(store, LayerRevision(user.id, ids[0], view.revision), doc)
    finally:
        close_case(store, user, ids[0])


@click.command()
@click.option("--store", "address", metavar="FILE|URL", help=_("The store of the review."))
@key_option
@click.option("--trail", type=_FILE, help=_("Check an exported trail instead of that of the store."))
@click.option("--against", type=_FILE, help=_("An earlier export of the trail, or a file of anchors."))
@click.option(
    "--tsa-certificate", type=_FILE, help=_("Certificate (PEM) to check the time stamps of --against with.")
)
@click.option(
    "--public-key",
    type=_FILE,
    help=_("Check signatures of --trail and --against with this key (PEM). --trail then needs no secret."),
)
def verify(
    address: str | None,
    key: Path | None,
    trail: Path | None,
    against: Path | None,
    tsa_certificate: Path | None,
    public_key: Path | None,
) -> int:
    """Check that nobody changed the trail, or rows of the store, outside the program.

    No entry of the trail may be edited, removed, moved or cut off, and every row of
    the store must follow from the trail. Every encrypted value is opened.

    Exit status: 0 intact, 1 tampered with, and the places are listed.
    """
    if tsa_certificate is not None and against is None:
        raise ConfigurationError(_("--tsa-certificate needs --against"))
    if public_key is not None and trail is None and against is None:
        raise ConfigurationError(
            _("--public-key checks an exported trail or anchors. Add --trail or --against, or leave it out")
        )
    if public_key is not None and trail is not None and (address is not None or key is not None):
        raise ConfigurationError(_("--public-key needs no store and no key. Leave out --store and --key"))
    certificates = read_certificates(tsa_certificate) if tsa_certificate is not None else []
    check = _check_trail(address, key, trail, against, public_key)
    if against is not None:
        check = check_stamps(check, against, certificates)
    for problem in check.problems:
        click.echo(f"inverse-deid: {end_sentence(problem)}", err=True)
    for note in check.notes:
        click.echo(_("note: {note}", note=note), err=True)
    click.echo(
        _("{n_entries:,} entries, intact", n_entries=check.n_entries)
        if check.is_intact
        else _("{n_entries:,} entries, TAMPERED WITH", n_entries=check.n_entries)
    )
    return 0 if check.is_intact else 1


def _check_trail(
    address: str | None, key: Path | None, trail: Path | None, against: Path | None, public_key: Path | None
) -> TrailCheck:
    signers = [] if public_key is None else [read_public_key(public_key)]

    def read_earlier(keys: list[Ed25519PublicKey]) -> EarlierHeads:
        return EarlierHeads({}, ()) if against is None else read_anchors(against, keys)

    if trail is not None and public_key is not None:
        earlier = read_earlier(signers)
        check = verify_export(trail, None, public_key=signers[0], anchors=earlier.anchors)
    elif address is None:
        raise ConfigurationError(_("use --store, or --trail with --public-key"))
    elif trail is not None:
        given = read_key(address, key)
        earlier = read_earlier([given.public_key])
        check = verify_export(trail, given, anchors=earlier.anchors)
    else:
        with open_given(address, key) as store:
            earlier = read_earlier([*signers, *list_public_keys(store)])
            check = verify_store(store, earlier.anchors)
    return replace(check, problems=(*check.problems, *earlier.problems))


@click.command(name="public-key")
@store_options
def public_key(address: str, key: Path | None) -> None:
    """Print the public key (PEM) that checks exported trails without any secret."""
    with open_given(address, key) as store:
        click.echo(write_public_key(store.signer.public_key()), nl=False)


_SAMPLE_HEADINGS = {N_("The sample"): ("result", "confidence", "clean", "leak", "name")}
_SAMPLE_EXAMPLES = {
    N_("Draw 60 cases"): "inverse-deid review sample 60 --store review.db",
    N_("Say that one has no leak"): "inverse-deid review sample --clean 7 --user ann --store review.db",
    N_("How many cases leak"): "inverse-deid review sample --result --store review.db",
}


@click.command(
    cls=GroupedCommand, headings=_SAMPLE_HEADINGS, heading=N_("The store"), examples=_SAMPLE_EXAMPLES
)
@click.argument("n_cases", type=click.IntRange(1), required=False, metavar="[N]")
@store_options
@click.option("--result", is_flag=True, help=_("Report the bound from the latest sample."))
@click.option("--confidence", type=float, default=CONFIDENCE, show_default=True, help=_("With --result."))
@click.option("--clean", type=int, metavar="CASE", help=_("This case was read and contains no identifier."))
@click.option("--leak", type=int, metavar="CASE", help=_("This case was read and leaks. It is withdrawn."))
@click.option("--user", "name", help=_("Who read it, with --clean and --leak."))
def sample(
    n_cases: int | None,
    address: str,
    key: Path | None,
    result: bool,
    confidence: float,
    **read: int | str | None,
) -> None:
    """Draw N released cases to be read in full, or report how many leak at most."""
    case_id = read["clean"] if read["clean"] is not None else read["leak"]
    if (n_cases is not None) + result + (case_id is not None) != 1:
        raise ConfigurationError(_("use one of N, --result, --clean CASE --user, or --leak CASE --user"))
    with open_given(address, key) as store:
        if n_cases is not None:
            _record_command(store, "sample")
            drawn = draw_sample(store, n_cases)
            click.echo(_("cases to read: {case_ids}", case_ids=" ".join(map(str, drawn.case_ids))))
        elif case_id is not None:
            if read["name"] is None:
                raise ConfigurationError(_("use --user to say who read the case"))
            reader = _find_acting(store, str(read["name"]), UserRole.ADJUDICATOR)
            _record_command(store, "sample", reader.name)
            record_reading(store, reader, int(case_id), leaks=read["leak"] is not None)
        else:
            found = bound_leaks(store, confidence=confidence)
            click.echo(
                _(
                    "{n_leaking} of {n_read} cases leak. With {confidence:g} % confidence, at most "
                    "{bound_percent:.2f} % of the released cases leak.",
                    n_leaking=found.n_leaking,
                    n_read=found.n_read,
                    confidence=100 * confidence,
                    bound_percent=found.bound_percent,
                )
            )


@click.command()
@store_options
def status(address: str, key: Path | None) -> None:
    """Print who holds and reads how many cases, what is unusual, and the limits."""
    with open_given(address, key) as store:
        found = list_activity(store)
        with store.reading() as transaction:
            limits = read_limits(transaction)
    for one in found:
        usual = "-" if one.usual_cases is None else f"{one.usual_cases:.1f}"
        click.echo(
            _(
                "{user:<24} holds {n_held:>6,}, read {n_read:>6,} originals in the last hour, usually "
                "{usual}  UNUSUAL",
                user=one.user,
                n_held=one.n_held,
                n_read=one.n_read,
                usual=usual,
            )
            if one.is_unusual
            else _(
                "{user:<24} holds {n_held:>6,}, read {n_read:>6,} originals in the last hour, usually "
                "{usual}",
                user=one.user,
                n_held=one.n_held,
                n_read=one.n_read,
                usual=usual,
            )
        )
    click.echo(_("cases that one person can hold       {max_locks:,}", max_locks=limits.max_locks))
    click.echo(
        _(
            "usual originals in an hour           {cases_per_hour:,}, or {times_usual} times the own mean",
            cases_per_hour=limits.cases_per_hour,
            times_usual=TIMES_USUAL,
        )
    )
    click.echo(
        _("people take only assigned cases      yes")
        if limits.only_assigned
        else _("people take only assigned cases      no")
    )
    click.echo(
        _("people stay out of files they added  yes")
        if limits.adders_stay_out
        else _("people stay out of files they added  no")
    )
    click.echo(
        _("words can be listed as never masked  no")
        if limits.no_allow_lists
        else _("words can be listed as never masked  yes")
    )


@click.command(
    cls=GroupedCommand,
    headings={
        N_("The store"): ("address", "store_file", "key", "anchors", "signing_key", "key_command"),
        N_("Limits of people"): (
            "max_locks",
            "cases_per_hour",
            "only_assigned",
            "adders_stay_out",
            "no_allow_lists",
        ),
    },
    examples={
        N_("Nobody keeps words by a list"): "inverse-deid review limits --store review.db --no-allow-lists"
    },
)
@store_options
@click.option("--max-locks", type=click.IntRange(1, 10_000), help=_("Cases that one person can hold."))
@click.option("--cases-per-hour", type=click.IntRange(1, 1_000_000), help=_("More originals are unusual."))
@click.option("--only-assigned/--anybody", default=None, help=_("People take only cases assigned to them."))
@click.option("--adders-stay-out/--adders-review", default=None, help=_("Nobody works on files they added."))
@click.option("--no-allow-lists/--allow-lists", default=None, help=_("Nobody lists words to keep."))
def limits(address: str, key: Path | None, **given: Any) -> None:  # noqa: ANN401
    """Change the limits of people, also while they work. `review status` prints them."""
    changes = {name: value for name, value in given.items() if value is not None}
    with open_given(address, key) as store:
        with store.reading() as transaction:
            old = read_limits(transaction)
        _record_command(store, "limits")
        set_limits(store, replace(old, **changes), by="command")


@click.command()
@store_options
def summary(address: str, key: Path | None) -> None:
    """Print progress, agreement of reviewers, time per case, and the causality forms."""
    with open_given(address, key) as store:
        lines = [
            *(f"{state:<12} {n:>8,}" for state, n in count_cases(store).items()),
            *_list_reviewers(summarise_reviewers(store)),
            *_list_forms(summarise_forms(store)),
        ]
    click.echo("\n".join(lines))


def _list_reviewers(found: ReviewSummary) -> Iterator[str]:
    kappa = None if found.tokens is None else found.tokens.kappa
    yield _("agreement    {n_double:,} cases with two reviews", n_double=found.n_double)
    if kappa is not None:
        span = (
            ""
            if kappa.low is None or kappa.high is None
            else _(" ({low:.3f} to {high:.3f})", low=kappa.low, high=kappa.high)
        )
        yield (
            _(
                "  Cohen's kappa of words {number}{span}, F1 of masks {number_2}",
                number=_format_number(kappa.value),
                span=span,
                number_2=_format_number(found.f1),
            )
        )
    for one in found.times:
        minutes = None if one.median_seconds is None else one.median_seconds / 60
        yield _(
            "  {user:<24} {n_approved:>6,} cases, median {number} minutes",
            user=one.user,
            n_approved=one.n_approved,
            number=_format_number(minutes),
        )


def _list_forms(found: CausalitySummary) -> Iterator[str]:
    yield _("causality    {n_forms:,} forms", n_forms=found.n_forms)
    for name, share, interval in found.shares:
        value = "-"
        if share.value is not None and interval is not None:
            value = _(
                "{share:.1%} ({low:.1%} to {high:.1%})",
                share=share.value,
                low=interval.low,
                high=interval.high,
            )
        yield f"  {name:<46} {value}"
    for one in found.topics:
        told = f"yes {one.n_yes:,}, partly {one.n_partly:,}, no {one.n_no:,}"
        yield _(
            "  {topic:<14} {told}, missing and needed {n_needed:,}",
            topic=one.topic,
            told=told,
            n_needed=one.n_needed,
        )


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
