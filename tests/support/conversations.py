"""Short functions for rows of a log, and for the messages that these become."""

from __future__ import annotations

import json
from typing import Any

from cogency_rs import History
from support.tools import stored

Event = dict[str, Any]
Message = tuple[str, Any]
"""Role and content of a message."""

UNMERGED = History(merge_roles=False)
"""Each row is a message of its own, even after another of its role."""


def event(type: str, content: Any = None) -> Event:
    return {"type": type, "content": content, "timestamp": 1.0}


def user(content: Any = "hi") -> Event:
    return event("user", content)


def think(content: Any = "hm") -> Event:
    return event("think", content)


def respond(content: Any = "so") -> Event:
    return event("respond", content)


def called(name: str = "t", **arguments: Any) -> Event:
    return event("call", stored(name, **arguments))


def result(content: Any = "[1]") -> Event:
    return event("result", content)


def by_user(content: Any = "hi") -> Message:
    return ("user", content)


def by_assistant(*parts: str) -> Message:
    return ("assistant", "\n".join(parts))


def results(content: str = "[1]") -> Message:
    return ("user", f"<results>\n{content}\n</results>")


def execute(*calls: Any) -> str:
    array = [{"name": name, "args": arguments} for name, arguments in calls]
    return f"<execute>\n{json.dumps(array, indent=2)}\n</execute>"
