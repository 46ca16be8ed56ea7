"""Write incidents as JSON lines: one record a line, for whoever keeps or counts them elsewhere. Pure.

A record answers who suffered, what was done, why, on what evidence, before, after, verified how, given back when, and by whom
it was approved. Keys are those of the record; times are ISO 8601 in UTC; null is "not" or "not known", never zero.
"""

import json
from collections.abc import Iterable, Iterator

from unthrottle.codec import from_json, to_json
from unthrottle.incident import Incident


def json_lines(incidents: Iterable[Incident]) -> Iterator[str]:
    """Yield one line for each incident, without its line end, in the order given. What `read_line` makes of it is equal."""
    for incident in incidents:
        yield json.dumps(to_json(incident), ensure_ascii=False, separators=(",", ":"))


def read_line(line: str) -> Incident:
    """Read one line back. Raises BadInput for a record that cannot be read, ValueError for what is no JSON."""
    return from_json(Incident, json.loads(line))
