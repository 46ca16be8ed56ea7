"""What does a scenario file say, and did the rehearsal end the way the file expects?

`load(path)` reads and checks one file; `unmet(expect, output)` compares a rehearsal's output with its `expect`. The
package knows the format, version 1. It knows nothing of how a scenario is run.
"""

from sandbox.scenario.expect import unmet
from sandbox.scenario.format import FunctionSpec, Scenario, TableSpec
from sandbox.scenario.load import load
from sandbox.scenario.problems import ScenarioError

__all__ = ["FunctionSpec", "Scenario", "ScenarioError", "TableSpec", "load", "unmet"]
