"""How much of a conversation goes into the next prompt, and in which form.

A conversation is a row of turns, and a turn begins with a question. It is cut only between turns, and the question
that is being answered always stays.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ._core import Folding, FoldOptions
from .errors import ConfigError
from .tools.options import check_count

__all__ = ["CogencyHistory", "History", "HistoryTransform", "Messages", "Pin", "estimate_tokens"]

Messages = list[dict[str, Any]]
Earlier = Literal["whole", "answers"]
"""What is shown of earlier questions."""
HistoryTransform = Callable[[Messages], Messages | Awaitable[Messages]]
"""Changes a history before it is sent, for example to replace what is old by a summary."""

CHARACTERS_OF_A_TOKEN = 4

_FIRST_LOAD = 64
"""Rows that are loaded at least where not all are asked for."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_OF_A_TOKEN)


class ConversationRows(Protocol):
    """The rows of one conversation."""

    async def newest(self, limit: int) -> Sequence[Any]:
        """Load the newest rows, oldest first."""
        ...

    async def folded(self, options: FoldOptions) -> tuple[int, Messages]:
        """Fold all rows; returns how many there are, and their messages."""
        ...


@dataclass
class Pin:
    """Where the history of a run begins.

    What is shown in its first step stays in every later one, so that each prompt begins as the one before it, and the
    caches of providers are of use.

    Attributes:
        turns: how many turns are shown; `None` until that is known.
    """

    turns: int | None = None


@dataclass(frozen=True)
class History:
    """How much of a conversation `assemble` shows the model, and in which form.

    A turn begins with a question, a row of type `user`. A history is cut only between turns, and the last question and
    all that follows it stay, whatever the bounds; so results are never without their calls.

    Attributes:
        window: at most so many messages, counted before neighbours are merged; `None` for all.
        max_tokens: at most so many tokens in the contents of the messages; `None` for any number. The system prompt
            does not count.
        count_tokens: how many tokens a text has. The default estimates: characters / 4, rounded up. It is called
            once for each text of a prompt, from the newest turn back to the first that does not fit.
        merge_roles: make one message of neighbours that have one role, with a blank line between them: a turn that
            was cancelled leaves two questions in a row, which strict chat templates refuse. Contents that are lists
            of parts become one list. Neighbours of which one has other keys, or a content of another kind, stay apart.
        transform: changes the messages before they are sent; a function or a coroutine function. It gets what the
            bounds left, not yet merged.
        max_result_chars: how many characters of each result's content the model is shown; a line says how many more
            there are. A tool's own `max_result_chars` counts more. `None` for all.
        earlier: what is shown of the questions before the one that is being answered: `"whole"`, or only their
            `"answers"`, without the calls, the results, the reasoning and the words that led there.

    Raises:
        ConfigError: a value that no history could keep.

    With `window` or `max_tokens` the newest rows are loaded, twice as many each time, until enough whole turns are
    there: the cost is linear in what is sent and in its oldest turn, however long the conversation is. With
    `earlier="answers"` and no bound it is linear in the conversation, for every prompt.
    """

    window: int | None = None
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] = estimate_tokens
    merge_roles: bool = True
    transform: HistoryTransform | None = None
    max_result_chars: int | None = 100_000
    earlier: Earlier = "whole"

    def __post_init__(self) -> None:
        for name in ("window", "max_tokens", "max_result_chars"):
            check_count(name, getattr(self, name))
        if not callable(self.count_tokens):
            raise ConfigError(
                f"count_tokens must be a function from text to a number, got {self.count_tokens!r}"
            )
        if not (self.transform is None or callable(self.transform)):
            raise ConfigError(
                f"the history's transform must be a function of the messages, got {self.transform!r}"
            )
        if not isinstance(self.merge_roles, bool):
            raise ConfigError(f"merge_roles must be a bool, got {self.merge_roles!r}")
        if self.earlier not in ("whole", "answers"):
            raise ConfigError(f'earlier must be "whole" or "answers", got {self.earlier!r}')

    async def load(
        self, conversation: ConversationRows, options: FoldOptions, pin: Pin | None = None
    ) -> tuple[int, Messages]:
        """Load what the bounds leave; returns how many rows were loaded, and their messages.

        With a pin, the bounds count the first time, and the same turns are left later.
        """
        if self.window is None and self.max_tokens is None:
            if self.earlier == "whole":
                return await conversation.folded(options)
            rows = await conversation.newest(sys.maxsize)
            folding = Folding(options)
            folding.extend(self._shown(rows))
            return len(rows), folding.messages()
        limit = min(max(_FIRST_LOAD, 2 * (self.window or 0)), sys.maxsize)
        counted: dict[str, int] = {}
        while True:
            rows = await conversation.newest(limit)
            folding = Folding(options)
            folding.extend(self._shown(rows))
            messages, turns = folding.messages(), folding.questions()
            # A storage may give more than it was asked for: then it gives all.
            is_whole = len(rows) != limit
            if is_whole and (not turns or turns[0] > 0):
                turns.insert(0, 0)  # what was said before the first question
            if pin is None or pin.turns is None:
                start, is_enough = self._start(messages, turns, counted)
            else:
                is_enough = len(turns) >= pin.turns
                start = turns[-pin.turns] if is_enough else 0
            if is_whole or is_enough:
                if pin is not None and pin.turns is None:
                    pin.turns = sum(turn >= start for turn in turns) or None
                return len(rows), messages[start:]
            limit = min(2 * limit, sys.maxsize)

    async def rows(self, conversation: ConversationRows, pin: Pin | None = None) -> Sequence[Any]:
        """The rows that the bounds leave, oldest first, for a prompt that is written elsewhere."""
        pin = Pin() if pin is None else pin
        if self.window is None and self.max_tokens is None:
            return self._shown(await conversation.newest(sys.maxsize))
        if pin.turns is None:
            await self.load(conversation, FoldOptions(), pin)
        limit = _FIRST_LOAD
        while True:
            rows = await conversation.newest(limit)
            questions = [place for place, row in enumerate(rows) if row["type"] == "user"]
            if pin.turns is not None and len(questions) >= pin.turns:
                return self._shown(rows[questions[-pin.turns] :])
            if len(rows) != limit:
                return self._shown(rows)
            limit = min(2 * limit, sys.maxsize)

    def _shown(self, rows: Sequence[Any]) -> Sequence[Any]:
        """The rows that are shown at all."""
        return rows if self.earlier == "whole" else _answers_only(rows)

    def _start(
        self, messages: Messages, turns: Sequence[int], counted: dict[str, int]
    ) -> tuple[int, bool]:
        """Where the turns that fit begin, and whether an older one could not fit."""
        tokens, end = 0, len(messages)
        for start in reversed(turns):
            tokens += sum(self._tokens(message, counted) for message in messages[start:end])
            is_current = end == len(messages)
            if not is_current and not self._fits(len(messages) - start, tokens):
                return end, True
            end = start
        # Each turn has at least one message.
        return end, bool(turns) and not self._fits(len(messages) - end + 1, tokens)

    def _fits(self, messages: int, tokens: int) -> bool:
        return (self.window is None or messages <= self.window) and (
            self.max_tokens is None or tokens <= self.max_tokens
        )

    def _tokens(self, message: dict[str, Any], counted: dict[str, int]) -> int:
        if self.max_tokens is None:
            return 0
        content = message["content"]
        text = content if isinstance(content, str) else str(content)
        if text not in counted:
            tokens: object = self.count_tokens(text)
            if not isinstance(tokens, int) or tokens < 0:
                raise ConfigError(f"count_tokens must return a whole number, got {tokens!r}")
            counted[text] = tokens
        return counted[text]

    async def sent(self, messages: Messages) -> Messages:
        """Give messages the form in which they are sent."""
        if self.transform is not None:
            changed: Any = self.transform(messages)
            messages = _checked(await changed if inspect.isawaitable(changed) else changed)
        return merged(messages) if self.merge_roles else messages


def _answers_only(rows: Sequence[Any]) -> list[Any]:
    """Rows without what led to the answers of earlier questions; those of the last question stay."""
    shown: list[Any] = []
    since: list[Any] = []  # the rows after the last question
    for row in rows:
        if row["type"] == "user":
            shown += _answer(since)
            shown.append(row)
            since = []
        else:
            since.append(row)
    return shown + since


def _answer(rows: Sequence[Any]) -> list[Any]:
    """What was said last, if the question was answered: after the last call, and after what could not be read."""
    for place in reversed(range(len(rows))):
        if rows[place]["type"] not in ("respond", "think", "end", "metric", "execute"):
            rows = rows[place + 1 :]
            break
    return [row for row in rows if row["type"] == "respond"]


@dataclass(frozen=True)
class CogencyHistory:
    """What cogency 3.3.0 sends: the last `window` messages, wherever that cuts, as `transform` gives them."""

    window: int | None
    transform: Callable[[Messages], Awaitable[Messages]] | None

    async def load(
        self, conversation: ConversationRows, options: FoldOptions, pin: Pin | None = None
    ) -> tuple[int, Messages]:
        """See `History.load`. It loads what cogency 3.3.0 does: enough, unless a turn has over two rows a message."""
        if self.window is None:
            return await conversation.folded(options)
        rows = await conversation.newest(2 * self.window)
        folding = Folding(options)
        folding.extend(rows)
        return len(rows), folding.messages()[-self.window :]

    async def sent(self, messages: Messages) -> Messages:
        """See `History.sent`."""
        return messages if self.transform is None else await self.transform(messages)


def _checked(returned: Any) -> Messages:
    """What a transform returned, which must be messages.

    Raises:
        ConfigError: it is something else; says what, and where.
    """
    wanted = "the history's transform must return a list of messages, {'role': ..., 'content': ...}"
    if returned is None:
        raise ConfigError(f"{wanted}, and returned None: is there a return at its end?")
    given: object = returned
    if not isinstance(given, list | tuple):
        raise ConfigError(f"{wanted}, and returned {type(returned).__name__}: {returned!r:.200}")
    messages: Messages = list(returned)
    for index, message in enumerate(messages):
        match message:
            case {"role": str(), "content": _}:
                pass
            case _:
                raise ConfigError(f"{wanted}; number {index} is none: {message!r:.200}")
    return messages


def merged(messages: Iterable[dict[str, Any]]) -> Messages:
    """Make one message of neighbours that have one role; the cost is linear in them."""
    sent: Messages = []
    run: Messages = []  # those of one role, where there are several
    role: Any = None
    for message in messages:
        if message["role"] == role:
            if not run:
                run.append(sent.pop())
            run.append(message)
            continue
        if run:
            sent += _joined(run)
            run = []
        role = message["role"]
        sent.append(message)
    return sent + _joined(run)


def _joined(run: Messages) -> Messages:
    """Neighbours that have one role, as one message where none of them has more than a role and a content."""
    contents = [message["content"] for message in run if len(message) == 2]
    if len(contents) < len(run) or not run:
        return run
    try:
        content: Any = "\n\n".join(contents)
    except TypeError:
        if not all(isinstance(content, str | list) for content in contents):
            return run
        content = [part for content in contents for part in _parts(content)]
    return [{"role": run[0]["role"], "content": content}]


def _parts(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
