"""`cogency-rs serve`: tools of a module as an MCP server."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import ConfigError
from ..servers.stdio_wire import take_stdio
from .exits import UnusableError
from .modules import named_tools

__all__ = ["serve"]


def serve(
    tools: Annotated[
        str,
        typer.Argument(
            metavar="MODULE[:TOOLS]",
            help="The tools: a module, and the name of one tool or of a list of tools in it; without a name, all "
            "that the module made with @tool.",
        ),
    ],
    http: Annotated[
        str | None,
        typer.Option(
            "--http", metavar="HOST:PORT", help="Serve over HTTP, at /mcp; by default over stdio."
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="What the server calls itself.")
    ] = "cogency-rs",
) -> None:
    """Offer tools to programs that speak MCP.

    The module is found as by python -m, including in the current folder. Over stdio it serves the program that started
    it, until that program closes the input; what the module and its tools print goes to standard error.
    """
    address = None if http is None else _address(http)
    wire = take_stdio() if address is None else None  # before the module can print
    try:
        from ..servers import serve as served
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module == __name__.partition(".")[0]:
            raise
        raise UnusableError(
            f"serve needs the package mcp, and {module} is not installed; "
            "run: pip install 'cogency-rs[mcp]'"
        ) from error
    listed = named_tools(tools)
    try:
        server = served.server_of_tools(listed, name)
    except ConfigError as error:
        raise UnusableError(f"{tools}: {error}") from error
    if wire is not None:
        import anyio

        anyio.run(served.serve_stdio, server, wire)
    elif address is not None:
        try:
            served.serve_http(server, *address)
        except OSError as error:
            raise UnusableError(
                f"{http} cannot be served at: {error.strerror}; choose another host or port"
            ) from error


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) < 65536):
        raise UnusableError(f"--http takes HOST:PORT, such as 127.0.0.1:8000, not {text}")
    return host.strip("[]") or "127.0.0.1", int(port)
