"""The AWS that the built functions talk to under load: their table, their secret, and a Lambda that takes every start.

Real HTTP in, moto behind it, in real time. Makes no promise about anything the two front functions do not call.
"""

import json
import threading
from contextlib import ExitStack
from typing import Any, Self
from urllib.parse import unquote

import boto3
from moto import mock_aws

from sandbox.cheap_rollback import cheap_rollback
from sandbox.loopback import HttpAnswer, HttpRequest, LoopbackServer
from sandbox.rehearsal.parameters import TEMPLATE, deployed
from sandbox.rehearsal.stack import Stack
from scripts.aws_bridge import AwsBridge
from scripts.load_events import ACCOUNT, BOT_TOKEN, PEOPLE, REGION, SIGNING_SECRET


class Cloud:
    """Use as a context manager around everything that is called. `started`: the workflows, by name."""

    def __init__(self) -> None:
        self.started: set[str] = set()
        self._held = ExitStack()
        self._lock = threading.Lock()
        self._table = ""

    def __enter__(self) -> Self:
        self._held.enter_context(mock_aws())
        self._held.enter_context(cheap_rollback())
        secret = boto3.client("secretsmanager", region_name=REGION).create_secret(
            Name="slack",
            SecretString=json.dumps(
                {
                    "bot_token": BOT_TOKEN,
                    "signing_secret": SIGNING_SECRET,
                    "previous_signing_secret": "",
                    "team_id": PEOPLE.team,
                    "app_id": PEOPLE.app,
                }
            ),
        )
        supplied = {"SlackChannel": PEOPLE.channel, "SlackSecretArn": secret["ARN"]}
        self._stack = Stack(TEMPLATE, deployed({}, supplied, 1000), account=ACCOUNT, region=REGION)
        database = boto3.client("dynamodb", region_name=REGION)
        for parameters in self._stack.tables.values():
            self._table = database.create_table(**parameters)["TableDescription"]["TableName"]
        self._aws = self._held.enter_context(AwsBridge(lambda _: None, lambda _, __, call: call()))
        self._lambda = self._held.enter_context(LoopbackServer(self._start))
        self._slack = self._held.enter_context(LoopbackServer(lambda _: HttpAnswer(status=200, body=b'{"ok": true}')))
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def response_url(self) -> str:
        """Where an answer that comes later is sent."""
        return f"{self._slack.origin}/later"

    def environment(self, function: str) -> dict[str, str]:
        """The function's own, as the template sets it, and where AWS is."""
        return {
            **self._stack.functions[function].environment,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "ASIALOAD",
            "AWS_SECRET_ACCESS_KEY": "load",
            "AWS_SESSION_TOKEN": "load",
            "AWS_ENDPOINT_URL": self._aws.url,
            "AWS_ENDPOINT_URL_LAMBDA": self._lambda.origin,
            "UNTHROTTLE_SLACK_API_URL": f"{self._slack.origin}/api/",
            "no_proxy": "127.0.0.1",
        }

    def open_incidents(self) -> int:
        """Count the incidents in the table."""
        pages = boto3.client("dynamodb", region_name=REGION).get_paginator("scan").paginate(TableName=self._table)
        return len({name for page in pages for item in page["Items"] if (name := _incident(item)) is not None})

    def _start(self, request: HttpRequest) -> HttpAnswer:
        """Take an asynchronous start (Lambda API reference, Invoke: 202 and no body)."""
        name = request.headers.get("x-amz-durable-execution-name") or unquote(request.path)
        with self._lock:
            self.started.add(name)
        return HttpAnswer(status=202)


def _incident(item: dict[str, Any]) -> str | None:
    name = str(item.get("pk", {}).get("S", ""))
    return name if name.startswith("INC-") or "#INC-" in name else None
