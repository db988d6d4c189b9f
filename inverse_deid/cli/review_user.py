"""`inverse-deid review user`: accounts."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from inverse_deid.cli.review_store import opened, store_options
from inverse_deid.review.accounts import add_user, list_users, set_active, set_password
from inverse_deid.review.values import UserRole


@click.group()
def user() -> None:
    """Add and list accounts, change passwords."""


@user.command()
@click.argument("name")
@store_options
@click.option("--role", type=click.Choice([str(r) for r in UserRole]), default="reviewer", show_default=True)
def add(name: str, address: str, key: Path | None, role: str) -> None:
    """Add the account NAME; the password is asked for, or read from standard input."""
    with opened(address, key) as store:
        made = add_user(store, name, _password(), UserRole(role))
    click.echo(f"{made.name} can log in as {made.role}")


@user.command(name="list")
@store_options
def list_(address: str, key: Path | None) -> None:
    """List all accounts."""
    with opened(address, key) as store:
        for one in list_users(store):
            click.echo(f"{one.name:<24} {one.role:<12} {'open' if one.is_active else 'closed'}")


@user.command()
@click.argument("name")
@store_options
def password(name: str, address: str, key: Path | None) -> None:
    """Change the password of NAME and end all sessions of that account."""
    with opened(address, key) as store:
        set_password(store, name, _password())
    click.echo(f"the password of {name} is changed")


@user.command()
@click.argument("name")
@store_options
def close(name: str, address: str, key: Path | None) -> None:
    """Close the account NAME."""
    with opened(address, key) as store:
        set_active(store, name, is_active=False)
    click.echo(f"the account of {name} is closed")


def _password() -> str:
    """Typed twice and not shown, or one line of standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(click.prompt("password", hide_input=True, confirmation_prompt=True, err=True))
    return "" if sys.stdin is None else sys.stdin.readline().rstrip("\r\n")
