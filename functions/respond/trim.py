"""Keep of botocore's data what the workflow can use: `python3 trim.py BUILT_FOLDER models.txt`, run by the Makefile.

botocore brings a model of every AWS service, 420 of them with all their documentation: 29 MB to unpack and to list at a cold
start, and half a megabyte to parse for a client of Lambda. What is kept says the same about a call, byte for byte of the
request; only texts for readers, examples and other services are gone. A service that is not in models.txt has no client.
"""

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any


def trim(data: Path, services: set[str]) -> None:
    """Trim botocore's data folder in place. Raises SystemExit where a wanted service is not in it; nothing is changed then."""
    absent = sorted(service for service in services if not (data / service).is_dir())
    if absent:
        raise SystemExit(f"botocore's data has no model of {', '.join(absent)}. Nothing was trimmed. Mend models.txt.")
    for folder in (one for one in data.iterdir() if one.is_dir() and one.name not in services):
        shutil.rmtree(folder)
    names = set(services)
    for file in sorted(data.glob("*/*/service-2.json*")):
        model = without_texts(_read(file))
        names.add(model["metadata"]["endpointPrefix"])  # what endpoints.json calls it: cloudwatch is monitoring there
        _rewrite(file, model)
    for file in data.glob("*/*/examples-1.json*"):
        file.unlink()
    for file in list(data.glob("endpoints.json*")):
        endpoints = _read(file)
        for partition in endpoints["partitions"]:
            partition["services"] = {name: one for name, one in partition["services"].items() if name in names}
        _rewrite(file, endpoints)


def without_texts(node: Any) -> Any:
    """Drop the documentation. A shape's member may be *called* documentation: that one is no text, and stays."""
    if isinstance(node, dict):
        return {
            key: without_texts(value)
            for key, value in node.items()
            if not (key == "documentation" and isinstance(value, str))
        }
    return [without_texts(value) for value in node] if isinstance(node, list) else node


def _read(file: Path) -> Any:
    raw = file.read_bytes()
    return json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)


def _rewrite(file: Path, document: Any) -> None:
    """Write plain JSON, which botocore looks for first: what is zipped for Lambda need not be zipped twice."""
    file.unlink()
    target = file.with_suffix("") if file.suffix == ".gz" else file
    target.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    trim(Path(sys.argv[1]) / "botocore" / "data", set(Path(sys.argv[2]).read_text(encoding="utf-8").split()))
