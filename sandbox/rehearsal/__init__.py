"""What happens when a scenario is played to its end?

`rehearse(scenario)` returns the outcome in the public format. The package joins the embedded account, the load model,
the stand-ins and an engine around the bot's real handlers; it knows nothing of causes or actions.
"""

from sandbox.rehearsal.rehearse import Rehearsal, Watch, check, rehearse
from sandbox.rehearsal.scene import EngineName

__all__ = ["EngineName", "Rehearsal", "Watch", "check", "rehearse"]
