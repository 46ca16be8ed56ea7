"""How properties are tested everywhere: without a time limit for one example, since machines differ.

Where CI runs, the drawn examples are the same each time: a red run is then about the change, not about luck.
"""

import os

from hypothesis import settings

settings.register_profile("unthrottle", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("unthrottle")
