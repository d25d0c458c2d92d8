"""The folder of recorded model output: the one named in `COGENCY_RS_RECORDINGS`, or `../shared/data`."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
NAMED = os.environ.get("COGENCY_RS_RECORDINGS")
FOLDER = Path(NAMED) if NAMED else CHECKOUT.parent / "shared" / "data"
