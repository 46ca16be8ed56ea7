"""A Slack that runs on this machine: takes messages over HTTP, enforces Slack's limits, and can be made to fail."""

from sandbox.slack.server import Failure, SlackCall, SlackMode, SlackStandIn

__all__ = ["Failure", "SlackCall", "SlackMode", "SlackStandIn"]
