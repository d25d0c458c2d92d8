"""`cogency-rs chat`: the options."""

from __future__ import annotations

from typing import Annotated

import typer

from ..exits import UnusableError
from ..text import decoded
from .kept import Kept
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
            help="With --resume: the conversation; by default the last one.",
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
    no_save: Annotated[
        bool, typer.Option("--no-save", help="Do not save the conversation.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a conversation of the log.")
    ] = False,
    goes_on: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the last conversation.")
    ] = False,
    user: User = "",
    yes: Yes = False,
    instructions: Instructions = "",
    steps: StepLimit = 20,
    thoughts: Annotated[
        bool, typer.Option("--thoughts", help="Show thoughts in full, instead of one line.")
    ] = False,
) -> None:
    """Chat with a model that can use tools.

    Conversations are kept in your data folder, which the first chat names, unless --db or --no-save is given. Ctrl-C
    stops an answer; /help lists the commands. If standard input is not a terminal, it is read line by line.
    """
    if conversation is not None and not resume:
        raise UnusableError(
            f"{conversation} is not an option; to go on with a conversation: --resume ID"
        )
    goes_on = goes_on or resume
    if no_save and (goes_on or db is not None):
        raise UnusableError("--no-save keeps nothing; leave out --db, --resume and --continue")
    kept = Kept() if no_save else Kept.by_default(db)
    if goes_on and (kept.log is None or not kept.log.exists()):
        raise UnusableError(
            f"{kept.log or 'the log'} does not exist; without --resume or --continue a new one is begun"
        )
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
        db=kept.log,
        user=user,
        yes=yes,
        instructions=instructions,
        steps=steps,
    )
    from .run import run_chat

    run_chat(options, kept, kept.log if goes_on else None, conversation, unfolds=thoughts)
