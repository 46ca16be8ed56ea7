"""The `unthrottle` command: which subcommands there are, and with which exit code each way of ending ends.

0 fine, nothing to do; 1 wrong usage or input; 2 something failed; 3 it would act or needs a person; 130 stopped by Ctrl-C.
The sandbox is imported by the commands that need it only.
"""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.exits import Exit
from cli.options import (
    AccountsOption,
    AtOption,
    JsonOption,
    ProfileOption,
    QuietOption,
    RegionOption,
    RegionsOption,
    RoleOption,
    ShareOption,
    StackOption,
)
from unthrottle.errors import BadInput, NotAllowed, TryAgain, UnthrottleError

commands = typer.Typer(
    name="unthrottle",
    help="Finds out why DynamoDB or Lambda is throttling, does the one right thing, and tells people.",
    epilog="Exit codes: 0 fine, 1 wrong usage or input, 2 something failed, 3 it would act or a person is needed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


_INTERRUPTED = 130
"""What a shell expects of a program that Ctrl-C ended: 128 + SIGINT."""
_CHANGES = frozenset({"approve", "reject", "revert", "keep", "snooze", "pause", "resume"})
_ALLOW = "Use credentials that may do this (docs/audit.md lists what is needed), another --profile, or a role there with --role."
_LOG_IN = "Log in (for example with `aws sso login`) and name a --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."


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


@commands.command()
def audit(
    *,
    as_json: JsonOption = False,
    html: Annotated[Path | None, typer.Option(help="Write it as one HTML page, too.")] = None,
    slack: Annotated[
        bool, typer.Option("--slack", help="Post the summary to UNTHROTTLE_SLACK_CHANNEL instead.")
    ] = False,
    start: Annotated[
        str | None, typer.Option("--from", help="Back-test: what it would have done since then (a time, or 14d).")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Back-test until then; now if left out.")] = None,
    account: AccountsOption = None,
    region: RegionsOption = None,
    role: RoleOption = None,
    profile: ProfileOption = None,
    against: Annotated[
        Path | None, typer.Option(help="An earlier --json document: say what is new and what is gone.")
    ] = None,
    owner_tag: Annotated[
        list[str] | None, typer.Option(help="Tag that names the owner; repeatable, the first one set counts.")
    ] = None,
    max_pool_share: ShareOption = None,
    quiet: QuietOption = False,
) -> None:
    """Say where accounts are exposed now, or with --from what would have been done then. Reads only."""
    from cli.audits import Output, Where, back_test  # noqa: PLC0415  boto3 is loaded by the commands that need it
    from cli.audits import audit as look  # noqa: PLC0415
    from unthrottle.audit.document import OWNER_TAGS  # noqa: PLC0415

    where = Where(profile=profile, regions=tuple(region or ()), accounts=tuple(account or ()), role=role)
    output = Output(
        as_json=as_json, html=html, slack=slack, quiet=quiet, against=against, owner_tags=tuple(owner_tag or OWNER_TAGS)
    )
    if start is None:
        if end is not None:
            raise BadInput("--to needs --from: a back-test has a beginning. Nothing was sent.")
        raise typer.Exit(look(where, output, max_pool_share=max_pool_share))
    raise typer.Exit(back_test(where, output, start, end, max_pool_share=max_pool_share))


@commands.command()
def diagnose(
    resource: Annotated[str, typer.Argument(help="Table, table/NAME/index/NAME, function, ARN, or `pool`.")],
    *,
    at: AtOption = None,
    as_json: JsonOption = False,
    account: Annotated[str | None, typer.Option(help="Account to look at, with --role.")] = None,
    region: RegionOption = None,
    role: RoleOption = None,
    profile: ProfileOption = None,
    max_pool_share: ShareOption = None,
) -> None:
    """Say why one table or function is throttled, now or then, and what would be done. Reads only."""
    from cli.audits import Where  # noqa: PLC0415
    from cli.audits import diagnose as look  # noqa: PLC0415
    from cli.session import named  # noqa: PLC0415

    where = Where(
        profile=profile, regions=(region,) if region else (), accounts=(account,) if account else (), role=role
    )
    raise typer.Exit(look(where, named(resource), at, as_json=as_json, max_pool_share=max_pool_share))


@commands.command()
def incidents(
    incident_id: Annotated[str | None, typer.Argument(metavar="ID", help="One incident, with its story.")] = None,
    *,
    export: Annotated[bool, typer.Option("--export", help="Print the whole record as JSON.")] = False,
    as_json: JsonOption = False,
    stack: StackOption = None,
    region: RegionOption = None,
    profile: ProfileOption = None,
) -> None:
    """List the incidents of a deployment, or tell one."""
    from cli.incidents import listed, told  # noqa: PLC0415

    if incident_id is None:
        raise typer.Exit(listed(stack, region, profile, as_json=as_json or export))
    raise typer.Exit(told(stack, region, profile, incident_id, as_json=as_json or export))


def _decision(verb: str, words: str) -> None:
    def decide(
        incident_id: Annotated[
            str,
            typer.Argument(metavar="ID", help="Such as INC-7Q2M, or INC-7Q2M:7 for what was shown under that number."),
        ],
        stack: StackOption = None,
        region: RegionOption = None,
        profile: ProfileOption = None,
    ) -> None:
        from cli.incidents import decided  # noqa: PLC0415

        raise typer.Exit(decided(stack, region, profile, incident_id, verb))

    decide.__doc__ = words
    commands.command(name=verb)(decide)


_decision("approve", "Say yes to the change an incident asks about.")
_decision("reject", "Say no to the change an incident asks about.")
_decision("revert", "Give a change back now, before its lease ends.")
_decision("keep", "Let a change stay for good.")


@commands.command()
def snooze(
    incident_id: Annotated[str, typer.Argument(metavar="ID")],
    duration: Annotated[str | None, typer.Argument(help="Such as 30m or 2h, at most 8h; without it an hour.")] = None,
    stack: StackOption = None,
    region: RegionOption = None,
    profile: ProfileOption = None,
) -> None:
    """Put an approval, or what a person was paged for, off. Nothing is changed; it reminds once, later."""
    from cli.incidents import snoozed  # noqa: PLC0415

    raise typer.Exit(snoozed(stack, region, profile, incident_id, duration))


@commands.command()
def pause(
    duration: Annotated[str | None, typer.Argument(help="Such as 90m, 2h, 1d; without it until `resume`.")] = None,
    stack: StackOption = None,
    region: RegionOption = None,
    profile: ProfileOption = None,
) -> None:
    """Stop all new changes at once. Diagnosing, reporting and giving back go on."""
    from cli.incidents import paused  # noqa: PLC0415

    raise typer.Exit(paused(stack, region, profile, duration))


@commands.command()
def resume(stack: StackOption = None, region: RegionOption = None, profile: ProfileOption = None) -> None:
    """End a pause."""
    from cli.incidents import resumed  # noqa: PLC0415

    raise typer.Exit(resumed(stack, region, profile))


@commands.command()
def doctor(
    as_json: JsonOption = False,
    stack: StackOption = None,
    region: RegionOption = None,
    profile: ProfileOption = None,
) -> None:
    """Say whether a deployment could act now, and what to do if not: settings, roles, alarms, Slack, dagy. Reads only."""
    from cli.doctor import doctor as examine  # noqa: PLC0415

    raise typer.Exit(examine(stack, region, profile, as_json=as_json))


@commands.command(name="uninstall-check")
def uninstall_check(
    give_back: Annotated[
        bool,
        typer.Option(
            "--give-back",
            help="Stop new changes, have every change that is or may be in force given back, and reject what waits.",
        ),
    ] = False,
    as_json: JsonOption = False,
    stack: StackOption = None,
    region: RegionOption = None,
    profile: ProfileOption = None,
) -> None:
    """Say what must end before the stack is deleted: each open incident. Reads only, unless --give-back is said."""
    from cli.uninstall import uninstall_check as check  # noqa: PLC0415

    raise typer.Exit(check(stack, region, profile, asks_back=give_back, as_json=as_json))


def _asked(error: typer.TyperException) -> str:
    """Name the command that was asked for, as far as it was understood."""
    context = getattr(error, "ctx", None)
    name = context.info_name if context is not None and context.parent is not None else None
    return f"unthrottle {name}" if name else "unthrottle"


def _stopped(arguments: Sequence[str]) -> int:
    """Say what a person who stopped a command must know: what was sent to AWS or to the workflow is not taken back."""
    command = next((word for word in arguments if not word.startswith("-")), "")
    may_have_sent = command in _CHANGES or "--give-back" in arguments
    sent = " What was sent stands: `unthrottle incidents` shows it." if may_have_sent else ""
    print(f"Stopped.{sent}", file=sys.stderr)
    return _INTERRUPTED


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
            print(f"{words}\nRun `{_asked(error)} --help` for what there is.", file=sys.stderr)
        return Exit.WRONG_INPUT
    except (typer.Abort, KeyboardInterrupt):
        return _stopped(sys.argv[1:] if arguments is None else arguments)
    except BadInput as error:
        print(error, file=sys.stderr)
        return Exit.WRONG_INPUT
    except NotAllowed as error:
        advice = {"Expired": "", "NoCredentials": f" {_LOG_IN}"}.get(error.code, f" {_ALLOW}")
        print(f"{error}{advice}", file=sys.stderr)
        return Exit.FAILED
    except TryAgain as error:
        said = str(error).removesuffix("; it is tried again.").rstrip(".")
        print(f"{said}. Repeat the command later.", file=sys.stderr)
        return Exit.FAILED
    except UnthrottleError as error:
        print(error, file=sys.stderr)
        return Exit.FAILED
    if result == _INTERRUPTED:  # how Typer ends a command that Ctrl-C stopped
        return _stopped(sys.argv[1:] if arguments is None else arguments)
    return result if isinstance(result, int) else Exit.FINE


if __name__ == "__main__":
    app()
