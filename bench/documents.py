"""How does a scenario made here become a Scenario? By the loader that reads people's files, so that no check is left out."""

import json
import tempfile
from pathlib import Path
from typing import Any

from sandbox.scenario import Scenario, load

Document = dict[str, Any]


def scenario(document: Document) -> Scenario:
    """Load a document. Raises the loader's error where it is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.yaml"
        file.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
        return load(file)
