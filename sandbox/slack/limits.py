"""Would Slack take these blocks?

The limits are those of Slack's Block Kit reference (blocks, composition objects, table, data_visualization). Knows
nothing of messages, channels or HTTP. Where Slack's behaviour is not known it refuses, so that nothing is relied on
by accident.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Surface = Literal["message", "home"]

MAX_BLOCKS = {"message": 50, "home": 100}
MAX_TEXT_OF_ALL_BLOCKS = 13_200  # bolt-js issue 2509: msg_blocks_too_long near this many characters
CHART_TYPES = ("line", "bar", "area")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Slack's `error` and its messages, each with the JSON pointer of what is wrong."""

    error: str
    messages: tuple[str, ...]


@dataclass(slots=True)
class _Findings:
    messages: list[str] = field(default_factory=list)

    def add(self, what: str, pointer: str) -> None:
        self.messages.append(f"{what} [json-pointer:{pointer}]")

    def text(self, value: object, pointer: str, longest: int, *, shortest: int = 1) -> None:
        """Check a plain string."""
        if not isinstance(value, str):
            self.add("must be a string", pointer)
        elif len(value) < shortest:
            self.add(f"must be more than {shortest - 1} characters", pointer)
        elif len(value) > longest:
            self.add(f"must be less than {longest + 1} characters", pointer)

    def composed(self, value: object, pointer: str, longest: int, *, plain: bool = False) -> None:
        """Check a text object: `{type: plain_text | mrkdwn, text}`."""
        if not isinstance(value, Mapping):
            self.add("must be a text object", pointer)
            return
        if value.get("type") not in (("plain_text",) if plain else ("plain_text", "mrkdwn")):
            self.add("unsupported type of text object", f"{pointer}/type")
        if unknown := set(value) - {"type", "text", "emoji", "verbatim"}:
            self.add(f"additional property: {min(unknown)}", pointer)
        self.text(value.get("text"), f"{pointer}/text", longest)

    def items(self, value: object, pointer: str, most: int) -> Sequence[object]:
        if not isinstance(value, list):
            self.add("must be a list", pointer)
            return ()
        if not value:
            self.add("must have at least 1 item", pointer)
        if len(value) > most:
            self.add(f"no more than {most} items allowed", pointer)
        return value


def refusal_of(blocks: object, surface: Surface = "message") -> Refusal | None:
    """Judge the blocks of one message or Home view as Slack would; None when it would take them."""
    found = _Findings()
    if not isinstance(blocks, list):
        return Refusal(error="invalid_blocks_format", messages=("must be a list of blocks [json-pointer:/blocks]",))
    if len(blocks) > MAX_BLOCKS[surface]:
        found.add(f"no more than {MAX_BLOCKS[surface]} items allowed", "/blocks")
    for index, block in enumerate(blocks):
        pointer = f"/blocks/{index}"
        if not isinstance(block, Mapping):
            found.add("must be a block", pointer)
            continue
        kind = block.get("type")
        check = CHECKS.get(kind) if isinstance(kind, str) else None
        if check is None or (surface == "home" and kind in ("table", "data_visualization", "markdown")):
            found.add(f"unsupported type: {kind}", f"{pointer}/type")
            continue
        if "block_id" in block:
            found.text(block["block_id"], f"{pointer}/block_id", 255)
        if unknown := set(block) - KEYS[str(kind)] - {"type", "block_id"}:
            found.add(f"additional property: {min(unknown)}", pointer)
        check(block, pointer, found)
    _check_together([b for b in blocks if isinstance(b, Mapping)], found)
    if found.messages:
        return Refusal(error="invalid_blocks", messages=tuple(found.messages))
    if sum(block.get("type") == "table" for block in blocks) > 1:
        return Refusal(error="invalid_attachments", messages=("only_one_table_allowed [json-pointer:/blocks]",))
    if _length(blocks) > MAX_TEXT_OF_ALL_BLOCKS:
        return Refusal(error="msg_blocks_too_long", messages=())
    return None


def _check_together(blocks: Sequence[Mapping[str, object]], found: _Findings) -> None:
    ids = Counter(block["block_id"] for block in blocks if isinstance(block.get("block_id"), str))
    for block_id, count in ids.items():
        if count > 1:
            found.add(f"block_id {block_id} is not unique", "/blocks")
    if sum(block.get("type") == "data_visualization" for block in blocks) > 2:
        found.add("no more than 2 data_visualization blocks allowed", "/blocks")
    if sum(len(str(block.get("text", ""))) for block in blocks if block.get("type") == "markdown") > 12_000:
        found.add("markdown blocks must be less than 12001 characters together", "/blocks")


def _length(node: object) -> int:
    """Count the characters people would read, tables and charts aside: these have limits of their own."""
    if isinstance(node, Mapping):
        if node.get("type") in ("table", "data_visualization"):
            return 0
        return sum(len(v) if k == "text" and isinstance(v, str) else _length(v) for k, v in node.items())
    return sum(map(_length, node)) if isinstance(node, list) else 0


def _section(block: Mapping[str, object], at: str, found: _Findings) -> None:
    if "text" not in block and "fields" not in block:
        found.add("must have text or fields", at)
    if "text" in block:
        found.composed(block["text"], f"{at}/text", 3000)
    if "fields" in block:
        for i, item in enumerate(found.items(block["fields"], f"{at}/fields", 10)):
            found.composed(item, f"{at}/fields/{i}", 2000)
    if "accessory" in block:
        _element(block["accessory"], f"{at}/accessory", found)


def _header(block: Mapping[str, object], at: str, found: _Findings) -> None:
    found.composed(block.get("text"), f"{at}/text", 150, plain=True)


def _divider(block: Mapping[str, object], at: str, found: _Findings) -> None:
    """Nothing can be wrong with a line."""


def _context(block: Mapping[str, object], at: str, found: _Findings) -> None:
    for i, item in enumerate(found.items(block.get("elements"), f"{at}/elements", 10)):
        if isinstance(item, Mapping) and item.get("type") == "image":
            _element(item, f"{at}/elements/{i}", found)
        else:
            found.composed(item, f"{at}/elements/{i}", 3000)


def _image(block: Mapping[str, object], at: str, found: _Findings) -> None:
    found.text(block.get("image_url"), f"{at}/image_url", 3000)
    found.text(block.get("alt_text"), f"{at}/alt_text", 2000)
    if "title" in block:
        found.composed(block["title"], f"{at}/title", 2000, plain=True)


def _actions(block: Mapping[str, object], at: str, found: _Findings) -> None:
    elements = found.items(block.get("elements"), f"{at}/elements", 25)
    for i, element in enumerate(elements):
        _element(element, f"{at}/elements/{i}", found)
    ids = Counter(e["action_id"] for e in elements if isinstance(e, Mapping) and isinstance(e.get("action_id"), str))
    for action_id, count in ids.items():
        if count > 1:
            found.add(f"action_id {action_id} is not unique", f"{at}/elements")


def _element(element: object, at: str, found: _Findings) -> None:
    if not isinstance(element, Mapping):
        found.add("must be an element", at)
        return
    if element.get("type") == "image":
        _image(element, at, found)
        return
    if element.get("type") != "button":
        found.add(f"unsupported type: {element.get('type')}", f"{at}/type")
        return
    if unknown := set(element) - {
        "type",
        "text",
        "action_id",
        "value",
        "style",
        "confirm",
        "url",
        "accessibility_label",
    }:
        found.add(f"additional property: {min(unknown)}", at)
    found.composed(element.get("text"), f"{at}/text", 75, plain=True)
    for key, longest in (("action_id", 255), ("value", 2000), ("url", 3000), ("accessibility_label", 75)):
        if key in element:
            found.text(element[key], f"{at}/{key}", longest)
    if "style" in element and element["style"] not in ("primary", "danger"):
        found.add("must be primary or danger", f"{at}/style")
    if "confirm" in element:
        _confirm(element["confirm"], f"{at}/confirm", found)


def _confirm(confirm: object, at: str, found: _Findings) -> None:
    if not isinstance(confirm, Mapping):
        found.add("must be a confirmation dialog", at)
        return
    found.composed(confirm.get("title"), f"{at}/title", 100, plain=True)
    found.composed(confirm.get("text"), f"{at}/text", 300)
    found.composed(confirm.get("confirm"), f"{at}/confirm", 30, plain=True)
    found.composed(confirm.get("deny"), f"{at}/deny", 30, plain=True)


def _markdown(block: Mapping[str, object], at: str, found: _Findings) -> None:
    found.text(block.get("text"), f"{at}/text", 12_000)


def _rich_text(block: Mapping[str, object], at: str, found: _Findings) -> None:
    for i, element in enumerate(found.items(block.get("elements"), f"{at}/elements", 1000)):
        kind = element.get("type") if isinstance(element, Mapping) else None
        if kind not in ("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"):
            found.add(f"unsupported type: {kind}", f"{at}/elements/{i}/type")


def _table(block: Mapping[str, object], at: str, found: _Findings) -> None:
    characters = 0
    for r, row in enumerate(found.items(block.get("rows"), f"{at}/rows", 100)):
        for c, cell in enumerate(found.items(row, f"{at}/rows/{r}", 20)):
            where = f"{at}/rows/{r}/{c}"
            if not isinstance(cell, Mapping):
                found.add("must be a cell", where)
            elif cell.get("type") == "raw_text":
                found.text(cell.get("text"), f"{where}/text", 10_000)
                characters += len(str(cell.get("text", "")))
            elif cell.get("type") == "rich_text":
                _rich_text(cell, where, found)
                characters += _length(cell)
            else:
                found.add(f"unsupported type: {cell.get('type')}", f"{where}/type")
    if characters > 10_000:
        found.add("cells must be less than 10001 characters together", f"{at}/rows")
    if "column_settings" in block:
        found.items(block["column_settings"], f"{at}/column_settings", 20)


def _chart(block: Mapping[str, object], at: str, found: _Findings) -> None:
    found.text(block.get("title"), f"{at}/title", 50)
    chart = block.get("chart")
    if not isinstance(chart, Mapping) or chart.get("type") not in CHART_TYPES:
        found.add(f"must be a chart of type {', '.join(CHART_TYPES)}", f"{at}/chart")
        return
    axes = chart.get("axis_config")
    if not isinstance(axes, Mapping):
        found.add("must be an object", f"{at}/chart/axis_config")
        return
    categories = found.items(axes.get("categories"), f"{at}/chart/axis_config/categories", 20)
    for i, category in enumerate(categories):
        found.text(category, f"{at}/chart/axis_config/categories/{i}", 20)
    for key in ("x_label", "y_label"):
        if key in axes:
            found.text(axes[key], f"{at}/chart/axis_config/{key}", 50)
    series = found.items(chart.get("series"), f"{at}/chart/series", 6)
    for i, line in enumerate(series):
        _series(line, categories, f"{at}/chart/series/{i}", found)
    names = Counter(str(line.get("name")) for line in series if isinstance(line, Mapping))
    if any(count > 1 for count in names.values()):
        found.add("names of series must be unique", f"{at}/chart/series")


def _series(line: object, categories: Sequence[object], at: str, found: _Findings) -> None:
    if not isinstance(line, Mapping):
        found.add("must be a series", at)
        return
    found.text(line.get("name"), f"{at}/name", 20)
    points = found.items(line.get("data"), f"{at}/data", 20)
    for i, point in enumerate(points):
        value = point.get("value") if isinstance(point, Mapping) else None
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            found.add("must be a number", f"{at}/data/{i}/value")
    if [p.get("label") if isinstance(p, Mapping) else None for p in points] != list(categories):
        found.add("labels must equal the categories", f"{at}/data")


Check = Callable[[Mapping[str, object], str, _Findings], None]
CHECKS: dict[str, Check] = {
    "section": _section,
    "header": _header,
    "divider": _divider,
    "context": _context,
    "image": _image,
    "actions": _actions,
    "markdown": _markdown,
    "rich_text": _rich_text,
    "table": _table,
    "data_visualization": _chart,
}
KEYS: dict[str, set[str]] = {
    "section": {"text", "fields", "accessory", "expand"},
    "header": {"text"},
    "divider": set(),
    "context": {"elements"},
    "image": {"image_url", "alt_text", "title"},
    "actions": {"elements"},
    "markdown": {"text"},
    "rich_text": {"elements"},
    "table": {"rows", "column_settings"},
    "data_visualization": {"title", "chart"},
}


def decoded(value: object) -> object:
    """Slack takes blocks as JSON inside a form field too. ValueError for a string that is no JSON."""
    return json.loads(value) if isinstance(value, str) else value
