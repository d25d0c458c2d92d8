"""`cogency-rs chat`: the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..exits import UnusableError
from ..text import decoded
from .options import (
    AgentOptions,
    BaseUrl,
    Db,
    DialectName,
    Files,
    Gguf,
    Instructions,
    Mcp,
    ModelFrom,
    ModelName,
    Native,
    ProviderName,
    StepLimit,
    Tools,
    User,
    Yes,
)

__all__ = ["chat"]


def chat(
    conversation: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            parser=decoded,
            help="With --resume: which conversation; the last one without.",
        ),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    gguf: Gguf = None,
    provider: ProviderName = "openai",
    model_from: ModelFrom = None,
    dialect: DialectName = None,
    native: Native = False,
    tools: Tools = None,
    mcp: Mcp = None,
    files: Files = None,
    db: Db = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a conversation of the log.")
    ] = False,
    user: User = "",
    yes: Yes = False,
    instructions: Instructions = "",
    steps: StepLimit = 20,
    thoughts: Annotated[
        bool, typer.Option("--thoughts", help="Show thoughts in full, and not a line for them.")
    ] = False,
) -> None:
    """Talk with a model that may use tools.

    Ctrl-C stops an answer; /help lists the commands that may be typed. If standard input is not a terminal, it is read
    line by line.
    """
    if conversation is not None and not resume:
        raise UnusableError(
            f"{conversation} is not an option; to go on with a conversation: --resume ID"
        )
    if resume and db is None:
        raise UnusableError("--resume goes on with a conversation of a log; name it with --db FILE")
    if resume and db is not None and not db.exists():
        raise UnusableError(f"{db} does not exist; without --resume a new log is begun")
    options = AgentOptions(
        model=model,
        base_url=base_url,
        gguf=gguf,
        provider=provider,
        model_from=model_from,
        dialect=dialect,
        native=native,
        tools=tuple(tools or ()),
        mcp=mcp,
        files=files,
        db=db,
        user=user,
        yes=yes,
        instructions=instructions,
        steps=steps,
    )
    from .run import run_chat

    run_chat(options, Path(db) if resume and db else None, conversation, unfolds=thoughts)
