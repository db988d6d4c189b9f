"""`inverse-deid review serve`: the pages for the browser."""

from __future__ import annotations

from pathlib import Path

import click

from inverse_deid.cli.review_store import opened, store_options

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@store_options
@click.option("--address", "listen", default="127.0.0.1", show_default=True, help="IP address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8017, show_default=True)
@click.option("--certificate", type=_FILE, help="TLS certificate chain (PEM).")
@click.option("--private-key", type=_FILE, help="Key of the certificate (PEM).")
@click.option(
    "--behind-proxy", "proxy", metavar="IP", help="A proxy at this address ends TLS and names the clients."
)
def serve(
    address: str,
    key: Path | None,
    listen: str,
    port: int,
    certificate: Path | None,
    **more: str | Path | None,
) -> None:
    """Serve the pages of the review until stopped (Ctrl+C).

    Without options only this machine reaches them. Another address needs TLS,
    by a certificate or by a proxy in front.
    """
    from inverse_deid.review.pages.serving import ServeSettings
    from inverse_deid.review.pages.serving import serve as run

    private_key, proxy = more["private_key"], more["proxy"]
    settings = ServeSettings(
        address=listen,
        port=port,
        certificate=certificate,
        private_key=None if private_key is None else Path(private_key),
        proxy=None if proxy is None else str(proxy),
    )
    with opened(address, key) as store:
        click.echo(f"open {settings.url} in a browser; stop with Ctrl+C")
        run(store, settings)
