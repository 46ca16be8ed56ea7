"""The `unthrottle` command: which subcommands there are, and with which exit code each way of ending ends.

0 fine, nothing to do; 1 wrong usage or input; 2 something failed; 3 it would act or needs a person. The sandbox is
imported by the commands that need it only.
"""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.exits import Exit
from unthrottle.errors import BadInput, UnthrottleError

commands = typer.Typer(
    name="unthrottle",
    help="Finds out why DynamoDB or Lambda is throttling, does the one right thing, and tells people.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class ModeOption(StrEnum):
    """How far the bot may go in a rehearsal."""

    DRY_RUN = "dry-run"
    APPROVE = "approve"
    AUTO = "auto"


class EngineOption(StrEnum):
    """What runs the workflow in a rehearsal."""

    SIMULATED = "simulated"
    DURABLE = "durable"


@commands.callback()
def unthrottle() -> None:
    """Take a subcommand, even while there is only one."""


@commands.command()
def rehearse(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files (YAML).", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    mode: Annotated[ModeOption | None, typer.Option(help="Put this over each scenario's own Mode.")] = None,
    engine: Annotated[EngineOption, typer.Option(help="durable: by the real durable SDK.")] = EngineOption.SIMULATED,
) -> None:
    """Play scenario files in the sandbox, with the real bot, and say what happened."""
    from cli.rehearsals import play  # noqa: PLC0415  imports the sandbox

    chosen = mode.value if mode else None
    raise typer.Exit(play(files, as_json=as_json, mode=chosen, engine=engine.value))


@commands.command()
def demo(
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser when it is told.")] = False,
) -> None:
    """Tell how the post-mortem's incident, a dagy table and a dagy backfill are healed, in the sandbox."""
    from cli.demo import demo as told  # noqa: PLC0415  imports the sandbox

    raise typer.Exit(told(show=show))


def app(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    try:
        result = commands(args=None if arguments is None else list(arguments), standalone_mode=False)
    except typer.TyperException as error:
        # Typer would exit with 2, which means here that something failed.
        words = error.format_message()
        if words:
            print(f"{words}\nRun `unthrottle --help` for what there is.", file=sys.stderr)
        return Exit.WRONG_INPUT
    except typer.Abort:
        print("Stopped.", file=sys.stderr)
        return Exit.FAILED
    except BadInput as error:
        print(error, file=sys.stderr)
        return Exit.WRONG_INPUT
    except UnthrottleError as error:
        print(error, file=sys.stderr)
        return Exit.FAILED
    return result if isinstance(result, int) else Exit.FINE


if __name__ == "__main__":
    app()
