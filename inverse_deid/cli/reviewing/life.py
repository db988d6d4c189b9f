"""The life of a store: `review delete`, `purge`, `backup`, `restore`, `migrate` and `rotate-key`."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.cli.parts.messages import end_sentence
from inverse_deid.cli.parts.secret_files import read_secret, run_key_command
from inverse_deid.cli.reviewing.store import anchor_given, open_given, read_key, store_options
from inverse_deid.core.errors import ConfigurationError
from inverse_deid.core.files import check_private, printable
from inverse_deid.core.wording import N_, _
from inverse_deid.review.store import deletion
from inverse_deid.review.store.backup import restore_backup, write_backup
from inverse_deid.review.store.keys import ReviewKey
from inverse_deid.review.store.migrations import migrate_store
from inverse_deid.review.store.opening import open_store
from inverse_deid.review.store.rotation import rotate_key as change_key
from inverse_deid.review.store.trail import count_entries, verify_store

BY = "command"
_NOT_ERASED = N_(
    "WARNING: others were reading the store. Old encrypted bytes stay in it until the next deletion"
)


@click.command()
@store_options
@click.option("--case", "case_id", type=click.IntRange(1), help=_("Number of the case."))
@click.option("--file", "source_id", type=click.IntRange(1), help=_("Number of the file."))
def delete(address: str, key: Path | None, case_id: int | None, source_id: int | None) -> None:
    """Delete one case or one file, with all work on it.

    A case is also deleted in the file that it came in. Only JSON Lines and CSV files
    can be written without one of their cases. Backups and exports keep what they have.
    """
    with open_given(address, key) as store:
        if case_id is not None and source_id is None:
            done = deletion.delete_case(store, case_id, by=BY)
        elif source_id is not None and case_id is None:
            done = deletion.delete_source(store, source_id, by=BY)
        else:
            raise ConfigurationError(_("use one of --case N or --file N"))
    click.echo(
        _("{n_cases:,} cases and {n_files:,} files deleted", n_cases=done.n_cases, n_files=done.n_files)
    )
    if not done.is_erased:
        click.echo(_NOT_ERASED, err=True)


@click.command()
@store_options
@click.option(
    "--older-than", "days", type=click.IntRange(1), required=True, metavar="DAYS", help=_("Age in days.")
)
@click.option(
    "--all", "all_cases", is_flag=True, help=_("Count from when the file was added, and include all states.")
)
@click.option("--dry-run", is_flag=True, help=_("Report and delete nothing."))
def purge(address: str, key: Path | None, days: int, all_cases: bool, dry_run: bool) -> int:
    """Delete the cases that were released more than DAYS days ago, and report them by file.

    A file goes whole when all its cases are old enough. Of other files, only JSON
    Lines and CSV files can be written without some of their cases.

    Exit status: 0 all done, 1 some cases are old enough but stay, and are listed.
    """
    with open_given(address, key) as store:
        found = deletion.purge(store, days, all_cases=all_cases, dry_run=dry_run, by=BY)
    for one in found:
        what = "the whole file" if one.is_whole_file else "cases " + " ".join(map(str, one.case_ids))
        click.echo(
            _(
                "file {source_id} {name}: {problem}",
                source_id=one.source_id,
                name=printable(one.name),
                problem=one.problem or what,
            )
        )
    n_kept = sum(len(one.case_ids) for one in found if one.problem)
    n_deleted = sum(len(one.case_ids) for one in found) - n_kept
    click.echo(
        _("{n_deleted:,} cases would be deleted, {n_kept:,} stay", n_deleted=n_deleted, n_kept=n_kept)
        if dry_run
        else _("{n_deleted:,} cases were deleted, {n_kept:,} stay", n_deleted=n_deleted, n_kept=n_kept)
    )
    if not all(one.is_erased for one in found):
        click.echo(_NOT_ERASED, err=True)
    return 1 if n_kept else 0


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_options
@click.option("--force", is_flag=True, help=_("Overwrite an existing file."))
def backup(file: Path, address: str, key: Path | None, force: bool) -> None:
    """Write an encrypted copy of a store into FILE, also while it is in use.

    The copy opens with the key of the store alone, and never contains this key. Keep
    both apart. Restore it into SQLite or PostgreSQL with inverse-deid review restore.
    """
    secret = read_key(address, key)
    with open_store(address, secret) as store, anchor_given(store):
        n_cases = write_backup(store, secret, file, by=BY, force=force)
    click.echo(_("{n_cases:,} cases backed up: {file}", n_cases=n_cases, file=printable(file)), err=True)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@store_options
def restore(file: Path, address: str, key: Path | None) -> int:
    """Make a new store of the backup FILE. Nobody stays logged in.

    The key is that of the store when the backup was made. A backup that was cut or
    changed restores nothing.

    Exit status: 0 restored, 1 restored, but the trail in the backup is not intact.
    """
    if key is None and read_secret(None) is None:
        raise ConfigurationError(_("give the key of the backup with --key or --key-command"))
    secret = read_key(address, key)
    restored = restore_backup(file, address, secret, by=BY)
    with open_store(address, secret) as store, anchor_given(store):
        check = verify_store(store)
    for problem in check.problems:
        click.echo(f"inverse-deid: {end_sentence(problem)}", err=True)
    state = "intact" if check.is_intact else _("NOT intact")
    click.echo(
        _(
            "{n_cases:,} cases restored, {n_entries:,} entries of the trail, {state}",
            n_cases=restored.n_cases,
            n_entries=check.n_entries,
            state=state,
        )
    )
    return 0 if check.is_intact else 1


@click.command()
@store_options
def migrate(address: str, key: Path | None) -> None:
    """Give a store of an older program the tables of this one. Make a copy first."""
    secret = read_key(address, key)
    if not migrate_store(address, secret, by=BY):
        raise ConfigurationError(_("the store is not of an older version, so there is nothing to migrate"))
    with open_store(address, secret) as store, anchor_given(store):
        n_entries = count_entries(store)
    click.echo(_("Migrated. The trail has {n_entries:,} entries.", n_entries=n_entries))


@click.command()
@store_options
@click.option(
    "--new-key", type=click.Path(dir_okay=False, path_type=Path), help=_("File with the new key (mode 600).")
)
@click.option("--new-key-command", metavar="COMMAND", help=_("Program that prints the new key."))
def rotate_key(address: str, key: Path | None, new_key: Path | None, new_key_command: str | None) -> int:
    """Give a store another key and encrypt everything again. Stop the servers first.

    Afterwards the old key opens nothing in the store. If this is interrupted, give the
    same command again. Backups keep the key that they were made with. Pseudonyms and
    moved dates stay as they are.

    Exit status: 0 all done, 1 some values were damaged before and could not be encrypted again.
    """
    if (new_key is None) == (new_key_command is None):
        raise ConfigurationError(_("use one of --new-key FILE or --new-key-command COMMAND"))
    if new_key is not None:
        check_private(new_key)
        secret = read_secret(new_key, "--new-key", "") or b""
    else:
        secret = run_key_command(str(new_key_command))
    done = change_key(address, read_key(address, key), ReviewKey(secret), by=BY)
    with open_store(address, ReviewKey(secret)) as store, anchor_given(store, is_new=True):
        pass  # the trail has grown, and every entry has a new seal
    click.echo(_("{n_values:,} values encrypted again. Use the new key from now on.", n_values=done.n_values))
    if done.n_damaged:
        click.echo(
            _("WARNING: {n_damaged:,} values were damaged before and stay so", n_damaged=done.n_damaged),
            err=True,
        )
    if not done.is_erased:
        click.echo(
            _("WARNING: others were reading the store. Give the same command again to erase the old bytes"),
            err=True,
        )
    return 1 if done.n_damaged else 0
