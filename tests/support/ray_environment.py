"""The variables with which a test starts a Ray of its own."""

from __future__ import annotations

import secrets
from pathlib import Path


def ray_variables(folder: Path) -> dict[str, str]:
    """The variables of a Ray that no other program of this machine uses, and that leaves nothing outside of `folder`.

    Without a token Ray would make one in the home directory, and leave it there.
    """
    token = folder / "ray-token"
    token.write_text(secrets.token_hex(32))
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ADDRESS": "",
    }
