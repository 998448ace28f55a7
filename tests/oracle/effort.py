"""How many random streams of each kind are tested; ``CLEARHOLD_ORACLE_STREAMS`` sets another number."""

import os
from typing import Final

STREAMS: Final = int(os.environ.get("CLEARHOLD_ORACLE_STREAMS", "10"))
