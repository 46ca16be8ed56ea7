"""Is this file a usable scenario?

Reads the YAML file and the event files beside it, checks everything, and answers with a `Scenario` or with one
`ScenarioError` that lists all problems. The only module of the package that touches the disk.
"""

import json
import re
from collections.abc import Hashable
from pathlib import Path

import yaml
from pydantic import ValidationError

from sandbox.scenario.checks import impossibilities
from sandbox.scenario.format import ExtraEvent, Member, Scenario
from sandbox.scenario.problems import ScenarioError, in_words, shown

MAX_BYTES = 5_000_000


class _Loader(yaml.SafeLoader):
    """YAML with the booleans of YAML 1.2 (`off` is a word, as in `unthrottle:mode: off`) and no key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:  # noqa: FBT001, FBT002  the signature is PyYAML's
        seen: set[object] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a single word", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} is there twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def load(path: Path | str) -> Scenario:
    """Read and check the scenario at *path*. Raises ScenarioError with every problem found."""
    file = Path(path)
    data = _mapping(file)
    version = data.get("version")
    if "version" in data and (type(version) is not int or version != 1):
        raise ScenarioError(file, [f"version: found {shown(version)}; this program reads scenario format version 1"])
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        problems = [in_words(Scenario, detail) for detail in error.errors(include_url=False)]
        raise ScenarioError(file, problems) from error
    events, problems = _events(file, scenario.events, "events")
    members: list[Member] = []
    for i, member in enumerate(scenario.members):
        theirs, more = _events(file, member.events, f"members[{i}].events")
        members.append(member.model_copy(update={"events": theirs}))
        problems += more
    problems = impossibilities(scenario) + problems
    if problems:
        raise ScenarioError(file, problems)
    loaded = scenario.model_copy(update={"events": events, "members": members})
    loaded._file = file
    return loaded


def _mapping(file: Path) -> dict[object, object]:
    try:
        raw = file.read_bytes()
    except FileNotFoundError as error:
        raise ScenarioError(file, ["there is no such file"]) from error
    except IsADirectoryError as error:
        raise ScenarioError(file, ["this is a directory, not a file"]) from error
    except OSError as error:
        raise ScenarioError(file, [f"it cannot be read: {error.strerror or error}"]) from error
    if len(raw) > MAX_BYTES:
        raise ScenarioError(file, [f"it has {len(raw)} bytes; at most {MAX_BYTES} are read"])
    try:
        data = yaml.load(raw.decode("utf-8-sig"), Loader=_Loader)  # noqa: S506  _Loader is a SafeLoader
    except UnicodeDecodeError as error:
        raise ScenarioError(file, [f"it is not UTF-8 text (byte {error.start})"]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: "
        raise ScenarioError(file, [f"{place}it is not valid YAML: {error.problem or error.context}"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ScenarioError(file, [f"it is not valid YAML: {error}"]) from error
    if not isinstance(data, dict):
        found = "an empty file" if data is None else shown(data)
        raise ScenarioError(file, [f"found {found}; a scenario is a mapping that starts with version: 1"])
    return data


def _events(file: Path, given: list[ExtraEvent], key: str) -> tuple[list[ExtraEvent], list[str]]:
    """Read the event files; a file name is relative to the scenario."""
    events: list[ExtraEvent] = []
    problems: list[str] = []
    for i, event in enumerate(given):
        if event.file is None or event.event is not None:
            events.append(event)
            continue
        where = f"{key}[{i}].file"
        beside = file.parent / event.file
        try:
            content = json.loads(beside.read_text(encoding="utf-8"))
        except FileNotFoundError:
            problems.append(f"{where}: there is no file {event.file!r} beside the scenario ({beside})")
        except OSError as error:
            problems.append(f"{where}: {beside} cannot be read: {error.strerror or error}")
        except ValueError as error:
            problems.append(f"{where}: {beside} is not valid JSON: {error}")
        else:
            if isinstance(content, dict):
                events.append(event.model_copy(update={"event": content}))
            else:
                problems.append(f"{where}: {beside} holds {shown(content)}; an event is a JSON object")
    return events, problems
