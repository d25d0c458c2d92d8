"""The modules from which users import: the package and its rooms."""

from __future__ import annotations

import cogency_rs
from cogency_rs import (
    agent,
    compat,
    context,
    errors,
    execution,
    executors,
    hooks,
    models,
    protocol,
    reader,
    runs,
    servers,
    storage,
    telemetry,
    testing,
    tools,
    turn,
    types,
)

__all__ = ["PUBLIC_MODULES"]

PUBLIC_MODULES = (
    cogency_rs,
    agent,
    compat,
    context,
    errors,
    execution,
    executors,
    hooks,
    models,
    protocol,
    reader,
    runs,
    servers,
    storage,
    telemetry,
    testing,
    tools,
    turn,
    types,
)
