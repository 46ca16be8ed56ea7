"""The options that several commands share."""

from typing import Annotated

import typer

ProfileOption = Annotated[str | None, typer.Option(help="AWS profile; else boto3's default credentials.")]
RegionOption = Annotated[
    str | None, typer.Option(help="AWS Region; else AWS_REGION, AWS_DEFAULT_REGION, or the profile's.")
]
RegionsOption = Annotated[
    list[str] | None,
    typer.Option(help="AWS Region, repeatable; else AWS_REGION, AWS_DEFAULT_REGION, or the profile's."),
]
AccountsOption = Annotated[
    list[str] | None, typer.Option(help="Account to look at, repeatable, through --role; else that of the credentials.")
]
RoleOption = Annotated[
    str | None, typer.Option(help="Role to assume in each account, such as the stack's Observer role (name or ARN).")
]
AtOption = Annotated[str | None, typer.Option(help="Look at the past as it was seen then: a time (UTC), or 6h, 2d.")]
ShareOption = Annotated[
    int | None,
    typer.Option(help="MaxPoolShare: percent of the pool one function may keep; else the variable, else 25."),
]
StackOption = Annotated[
    str | None,
    typer.Option(envvar="UNTHROTTLE_STACK", help="The deployment's CloudFormation stack; --region is where it is."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
