"""The commands of studies, and the options that all of them have."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inverse_deid.cli.parts.grouped_command import GroupedCommand
from inverse_deid.training.backend import prepare_backend
from inverse_deid_research.commands.progress import progress

if TYPE_CHECKING:
    from inverse_deid_research.studies.study import StudyOptions

_FILE = click.Path(dir_okay=False, path_type=Path)
_ANY = click.Path(path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_default = functools.partial(click.option, show_default=True)
"""An option that shows its default."""


class _Seeds(click.ParamType):  # type: ignore[type-arg]
    name = "numbers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            seeds = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            self.fail("give whole numbers separated by commas, as in 1,2", param, ctx)
        if len(set(seeds)) != len(seeds):
            self.fail("give each seed only once", param, ctx)
        return seeds


SEEDS = _Seeds()


def study_command(
    *, seeds: str | tuple[()] | None, only: str = "", has_jobs: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a study, and pass them as `options: StudyOptions`.

    Args:
        seeds: Seeds by default; () = those of its settings, None = it makes seeds from its own options.
        only: Help text of `--only`; "" = the command does not have it.
        has_jobs: Whether runs can be done at the same time.
    """
    out_help = "Folder for runs and report. Finished runs in it are not repeated."
    added = [click.option("--out", required=True, type=_FOLDER, help=out_help)]
    if seeds is not None:
        seeds_help = "Seeds of each run." if seeds else "Seeds to run now.  [default: all of CONFIG]"
        added.append(
            click.option("--seeds", type=SEEDS, default=seeds, help=seeds_help, show_default=bool(seeds))
        )
    if only:
        added.append(click.option("--only", multiple=True, help=f"{only} May be repeated."))
    if has_jobs:
        jobs_help = "Number of trainings at the same time, with one thread each."
        added.append(_default("--jobs", type=click.IntRange(1), default=1, help=jobs_help))
    threads_help = "Threads of TensorFlow. 0 means one per core."
    added += [
        _default("--threads", type=click.IntRange(0), default=0, help=threads_help),
        click.option("--force", is_flag=True, help="Start over in the folder of an earlier study."),
        click.option("-q", "--quiet", is_flag=True, help="Do not print progress."),
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(out: Path, threads: int, force: bool, quiet: bool, **given: Any) -> None:  # noqa: ANN401
            from inverse_deid_research.studies.study import StudyOptions

            prepare_backend(n_threads=threads or None)  # 0 = its own choice
            options = StudyOptions(
                folder=out,
                seeds=given.pop("seeds", ()),
                only=given.pop("only", ()),
                n_processes=given.pop("jobs", 1),
                command=command_line(click.get_current_context()),
                force=force,
                say=progress(quiet=quiet),
            )
            command(options=options, **given)
            options.say(f"report written to {out / 'report.md'}")

        decorated: Callable[..., None] = run
        for option in reversed(added):
            decorated = option(decorated)
        return decorated

    return decorate


def command_line(ctx: click.Context) -> str:
    """Return a parsed command with the options that differ from their defaults, ready to be given again."""
    words = ["inverse-deid", *ctx.command_path.split()[1:]]
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if isinstance(param, click.Argument):
            words.append(str(value))
        elif value is None or param.name in ("force", "quiet") or value == param.get_default(ctx):
            continue
        elif isinstance(value, tuple) and not getattr(param, "multiple", False):
            words += [param.opts[-1], ",".join(map(str, value))]
        else:
            for one in value if isinstance(value, tuple) else (value,):
                words += [param.opts[-1]] if value is True else [param.opts[-1], str(one)]
    return shlex.join(words)


@click.command()
@click.argument("config", type=_FILE)
@click.option(
    "--compare", multiple=True, type=_ANY, help="Annotated documents for the comparison. May be repeated."
)
@_default(
    "--variants",
    type=_FILE,
    default=Path("research/configs/experiments/ablations.toml"),
    help="TOML file of the variants.",
)
@_default("--epochs", type=click.IntRange(1), default=12, help="Passes over the data.")
@study_command(seeds="1,2", only="Train only this variant and the base now.", has_jobs=True)
def ablations(
    config: Path, compare: tuple[Path, ...], variants: Path, epochs: int, options: StudyOptions
) -> None:
    """Change one thing at a time and show its effect.

    CONFIG is the base (see configs/default.toml). All variants share the same training
    examples. They are made once per epoch and contain fresh surrogates.
    WARNING: the folder OUT/epochs contains pieces of training text.
    """
    from inverse_deid.training.config import read_run_config
    from inverse_deid_research.ablations.study import run_ablations

    run_ablations(read_run_config(config), variants, compare, epochs, options)


@click.command("network-alone")
@click.argument("config", type=_FILE)
@click.option("--test", required=True, type=_ANY, help="Annotated documents that are never trained on.")
@study_command(seeds="1,2")
def network_alone(config: Path, test: Path, options: StudyOptions) -> None:
    """Train a network and measure it without the rules.

    CONFIG is a training configuration (see research/configs/meddocan.toml). Its data.compare is ignored.
    """
    from inverse_deid_research.network_alone import run_network_alone

    is_quiet = click.get_current_context().params["quiet"]
    run_network_alone(config, test, options, show=not is_quiet and sys.stderr.isatty())


@click.command(
    cls=GroupedCommand,
    headings={
        "Documents": ("first", "first_test", "second", "second_test", "mapping", "out"),
        "Trainings": ("runs", "epochs", "fine_tuning_epochs", "seed", "config_folder"),
    },
    examples={
        "The shortest form": (
            "inverse-deid research thesis --first A.jsonl --first-test A-test.jsonl --second B.jsonl "
            "--second-test B-test.jsonl --out STUDY"
        )
    },
)
@click.option("--first", required=True, type=_ANY, help="Annotated documents for training.")
@click.option("--first-test", required=True, type=_ANY, help="Annotated documents for testing.")
@click.option("--second", required=True, type=_ANY, help="Annotated documents for fine-tuning.")
@click.option(
    "--second-test", required=True, type=_ANY, help="Annotated documents for testing after fine-tuning."
)
@click.option("--mapping", type=_FILE, help="TOML file that maps the types of the second corpus to ours.")
@_default("--runs", type=click.IntRange(1), default=5, help="Runs of each variant.")
@_default("--epochs", type=click.IntRange(1), default=4, help="Epochs of each run.")
@_default("--fine-tuning-epochs", type=click.IntRange(1), default=4, help="Epochs on the second corpus.")
@_default("--seed", type=int, default=1, help="Seed of the first run of each variant. Later runs count up.")
@_default(
    "--config-folder",
    type=_FOLDER,
    default=Path("research/configs"),
    help="Folder of thesis-a.toml to thesis-d.toml. Only their network and training settings are used.",
)
@study_command(seeds=None)
def thesis(options: StudyOptions, **given: Any) -> None:  # noqa: ANN401 - the options are listed above
    """Repeat the experiments of the thesis on two corpora.

    Trains the variants a to d on the first corpus, evaluates them after each epoch,
    and fine-tunes every network on the second corpus. The report compares the network
    alone with the published combiner and ours at equal recall. It shows the thesis's
    tables beside the published figures.
    """
    import dataclasses

    from inverse_deid_research.thesis.study import ThesisSettings, run_thesis

    seed, n_runs = given.pop("seed"), given.pop("runs")
    settings = ThesisSettings(
        n_epochs=given.pop("epochs"), n_fine_tuning_epochs=given.pop("fine_tuning_epochs"), **given
    )
    run_thesis(settings, dataclasses.replace(options, seeds=tuple(range(seed, seed + n_runs))))


@click.command("study")
@click.argument("config", type=_FILE)
@study_command(seeds=(), only="Do only runs of this kind now.")
def sharing_study(config: Path, options: StudyOptions) -> None:
    """Share training data as private representations, and attack them.

    CONFIG names the corpora (see research/configs/experiments/sharing.toml). Trains networks on words,
    on pseudonymised words and on representations. The report shows table 2 and figures 4
    and 5 of the paper beside the published figures.
    """
    from inverse_deid_research.representations.config import read_study_config
    from inverse_deid_research.representations.study import run_sharing

    run_sharing(read_study_config(config), config, options)
