"""The demo's tools: those for the files of a folder, and one more."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

from ...errors import ToolError
from ...tools.files import file_tools
from ...tools.folder import Folder
from ...tools.function_tool import tool

__all__ = ["demo_tools"]


def demo_tools(directory: Path) -> list[Any]:
    """Make the tools for a folder."""
    folder = Folder(directory)

    @tool(read_only=True)
    def check_config(path: Annotated[str, "the folder"]) -> str:
        """Check that the TOML files of a folder are valid."""
        names = [each.name for each in folder.entries(path) if each.name.endswith(".toml")]
        wrong: list[str] = []
        for name in names:
            with folder.opened(f"{path}/{name}") as file:
                try:
                    tomllib.loads(file.read().decode())
                except ValueError as error:
                    wrong.append(f"{name}: {error}")
        if wrong:
            raise ToolError("not valid TOML: " + "; ".join(wrong))
        return f"{len(names)} TOML files in {path}, all valid"

    return [*file_tools(directory), check_config]
