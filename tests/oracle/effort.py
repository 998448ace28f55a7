"""How many random streams of each kind the tests here try, unless ``CLEARHOLD_ORACLE_STREAMS`` says how many."""

import os
from typing import Final

STREAMS: Final = int(os.environ.get("CLEARHOLD_ORACLE_STREAMS", "10"))
