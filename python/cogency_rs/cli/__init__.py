"""The console script `cogency-rs`.

typer, rich and prompt_toolkit belong to the extra `cli`, not to the package: they are imported when `main` runs,
so that a plain install can import this module and say what is missing.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

from .exits import EXIT_CODES, UNUSABLE, complain, discard_closed_outputs, ends, exit_codes

__all__ = ["main"]

_NEEDED = {"markdown_it", "prompt_toolkit", "rich", "typer"}


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave the program with its exit code.

    Args:
        args: the arguments after the program's name; those of `sys.argv` by default.
    """
    discard_closed_outputs()
    try:
        with exit_codes():
            app = _app()
        app(args, prog_name="cogency-rs")
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in _NEEDED:
            raise
        complain(
            f"the command line needs typer, rich and prompt_toolkit, and {module} is not installed; "
            "run: pip install 'cogency-rs[cli]'"
        )
        sys.exit(UNUSABLE)


def _app() -> Any:
    """Put the commands together."""
    import typer

    from .. import __version__
    from .chat.ask import ask
    from .chat.command import chat
    from .copy import copy
    from .demo.command import demo
    from .dialects import dialects
    from .doctor import doctor
    from .parse import parse
    from .serve import serve
    from .settle import settle
    from .show import show
    from .timeline import timeline

    def show_version(asked: bool) -> None:
        if asked:
            print(f"cogency-rs {__version__}")
            raise typer.Exit

    def root(
        version: Annotated[
            bool,
            typer.Option(
                "--version", help="Show the version.", callback=show_version, is_eager=True
            ),
        ] = False,
    ) -> None:
        """The Rust core of a text-protocol LLM agent."""

    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # help without boxes, even if the output is not a terminal
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog=EXIT_CODES)(root)
    for command in (
        chat,
        ask,
        demo,
        parse,
        dialects,
        show,
        timeline,
        settle,
        copy,
        serve,
        doctor,
    ):
        app.command(epilog=EXIT_CODES)(ends(command))
    return app
