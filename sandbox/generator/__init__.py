"""Random incidents whose true cause is known: accounts drawn from the load model, looked at by the real readers.

`draw` makes a case from a seed; `look` plays it and has it diagnosed and judged. Neither knows what a right answer scores.
"""

from sandbox.generator.case import Case
from sandbox.generator.draw import draw
from sandbox.generator.look import Looked, look

__all__ = ["Case", "Looked", "draw", "look"]
