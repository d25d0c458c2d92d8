"""The options of Ray that a tool asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ConfigError
from ...tools.options import options_of

__all__ = ["Actor", "is_stateful", "ray_options", "state_of"]

RETRIES = 3
"""How often Ray repeats a call whose worker was lost, if the tool says `idempotent=True`. This is Ray's default."""

OURS = frozenset({"max_restarts", "max_task_retries", "num_returns", "retry_exceptions"})
"""Options of Ray that would run a call twice, or would change what it returns."""


class Actor(dict[str, Any]):
    """`@tool(remote=Actor(num_cpus=1))`: the tool has state, so all its calls run in one Ray actor.

    The actor is created for the first call and holds the state from then on: the object that the tool is a method of,
    or the tool itself. All methods of one object share one actor, with the options of the tool that was called first.
    The actor carries out one call at a time, or as many as `max_concurrency` says. If it is lost, its state is lost
    too: no new actor is started, and further calls fail.

    Args:
        needs: options of Ray's actors, such as `num_cpus`, `num_gpus`, `resources` and `runtime_env`.
    """

    def __init__(self, **needs: Any) -> None:
        super().__init__(needs)


def is_stateful(tool: Any) -> bool:
    """Whether a tool runs in an actor."""
    return isinstance(options_of(tool).remote, Actor)


def state_of(tool: Any) -> Any:
    """The object that holds a tool's state: the object that the tool is a method of, or the tool itself."""
    return getattr(getattr(tool, "__wrapped__", None), "__self__", tool)


def ray_options(tool: Any) -> dict[str, Any]:
    """The options of a tool's task or actor, as Ray takes them.

    Raises:
        ConfigError: an option would run a call twice although the tool does not allow it, or a tool may not set it.
    """
    options = options_of(tool)
    needs = dict(options.remote) if isinstance(options.remote, Mapping) else {}
    if refused := sorted(map(str, OURS & needs.keys())):
        raise ConfigError(f"remote= of tool {tool.name!r} cannot have {', '.join(refused)}")
    if isinstance(options.remote, Actor):
        if "max_retries" in needs:
            raise ConfigError(
                f"remote= of tool {tool.name!r} cannot have max_retries: an actor's state is lost with it"
            )
        return {"max_concurrency": 1, **needs, "max_restarts": 0, "max_task_retries": 0}
    is_idempotent = options.idempotent is not False
    if not is_idempotent and needs.get("max_retries"):
        raise ConfigError(
            f"max_retries of tool {tool.name!r} needs idempotent=True: a call whose worker was lost may still have "
            "had its effect, so only a tool that can be run twice is run again"
        )
    return {
        "name": tool.name,
        "max_retries": RETRIES if is_idempotent else 0,
        **needs,
        "retry_exceptions": False,
    }
