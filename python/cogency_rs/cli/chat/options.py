"""The options of `chat` and `ask` that describe the agent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ..text import decoded, quoted

__all__ = [
    "AgentOptions",
    "BaseUrl",
    "Db",
    "DialectName",
    "Files",
    "Gguf",
    "Instructions",
    "Mcp",
    "ModelFrom",
    "ModelName",
    "Native",
    "ProviderName",
    "StepLimit",
    "Tools",
    "User",
    "Yes",
]

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        parser=decoded,
        envvar="COGENCY_RS_MODEL",
        help="What the server calls the model.",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        envvar="COGENCY_RS_BASE_URL",
        help="The API's address, such as http://localhost:11434/v1; by default the provider's own.",
    ),
]
Gguf = Annotated[
    Path | None,
    typer.Option("--gguf", metavar="FILE", help="Run the model in this file, in the same process."),
]
ProviderName = Annotated[
    str,
    typer.Option("--provider", metavar="NAME", help="Whose API it speaks: openai or anthropic."),
]
ModelFrom = Annotated[
    str | None,
    typer.Option(
        "--model-from",
        metavar="MODULE:NAME",
        help="Ask a model of your own instead: a function or an object in a module.",
    ),
]
DialectName = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="How the model writes its calls; `cogency-rs dialects` lists them.",
    ),
]
Native = Annotated[bool, typer.Option("--native", help="Use the provider's own tool calls.")]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--tools",
        metavar="MODULE[:NAME]",
        help="Offer the tools of a module, or one tool or list of them; may be given again.",
    ),
]
Mcp = Annotated[
    Path | None,
    typer.Option(
        "--mcp", metavar="FILE", help="Offer the tools of the MCP servers in an mcp.json."
    ),
]
Files = Annotated[
    Path | None,
    typer.Option("--files", metavar="DIR", help="Offer tools for the files in a folder."),
]
Db = Annotated[
    Path | None,
    typer.Option("--db", metavar="FILE", help="Save the conversation in this log."),
]
User = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="NAME",
        parser=decoded,
        help="Who asks: a conversation belongs to the user who began it.",
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Run calls that need approval without asking.")
]
Instructions = Annotated[
    str,
    typer.Option(
        "--instructions", metavar="TEXT", parser=decoded, help="Instructions for the model."
    ),
]
StepLimit = Annotated[
    int,
    typer.Option(
        "--steps", metavar="N", min=1, help="How many requests to the model one question may take."
    ),
]


@dataclass(frozen=True)
class AgentOptions:
    """The agent that somebody wants; see the options of `cogency-rs chat`."""

    model: str | None = None
    base_url: str | None = None
    gguf: Path | None = None
    provider: str = "openai"
    model_from: str | None = None
    dialect: str | None = None
    native: bool = False
    tools: tuple[str, ...] = ()
    mcp: Path | None = None
    files: Path | None = None
    db: Path | None = None
    user: str = ""
    yes: bool = False
    instructions: str = ""
    steps: int = 20

    def resuming(self, conversation_id: str) -> str:
        """The options with which a chat goes on with a conversation of the log; without a log, of the user's own."""
        db = f"--db {quoted(self.db)} " if self.db is not None else ""
        user = f"--user {quoted(self.user)} " if self.user else ""
        return f"{db}{user}--resume {quoted(conversation_id)}"
