"""Short functions for rows of a log, and for the messages that these become."""

from __future__ import annotations

import json
from typing import Any

from support.tools import stored

Event = dict[str, Any]
Said = tuple[str, Any]
"""Role and content of a message."""


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


def by_user(content: Any = "hi") -> Said:
    return ("user", content)


def by_assistant(*parts: str) -> Said:
    return ("assistant", "\n".join(parts))


def results(content: str = "[1]") -> Said:
    return ("user", f"<results>\n{content}\n</results>")


def execute(*calls: Any) -> str:
    array = [{"name": name, "args": arguments} for name, arguments in calls]
    return f"<execute>\n{json.dumps(array, indent=2)}\n</execute>"
