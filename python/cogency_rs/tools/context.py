"""What a tool is told of the call it carries out, beside the model's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ..types import ToolCall

__all__ = ["Deps", "ToolContext"]

Deps = TypeVar("Deps")


@dataclass(frozen=True)
class ToolContext(Generic[Deps]):
    """One call, and what it belongs to. A function that is a tool gets it in a parameter annotated so.

    Attributes:
        call: the call as it is carried out.
        execution_id: the id of this call; the same in every attempt.
        conversation_id: which conversation.
        user_id: whose turn it is; may be empty.
        deps: what the program gave to `Execution`.
        storage: the log.
        sandbox_dir: where files of the sandbox are.
        access: how far tools that work on files and run programs may reach.
        state: what hooks have noted so far; read-only.
    """

    call: ToolCall
    execution_id: str
    conversation_id: str = ""
    user_id: str = ""
    deps: Deps = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    storage: Any = None
    sandbox_dir: str = ""
    access: str = ""
    state: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
