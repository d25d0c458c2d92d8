"""Lets the API reference show a class of the core, which is made by `__new__`, like any other, by its `__init__`."""

from __future__ import annotations

from typing import Any

import griffe


class NewAsInit(griffe.Extension):
    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        made = cls.members.get("__new__")
        if isinstance(made, griffe.Function) and "__init__" not in cls.members:
            cls.members["__init__"] = made
