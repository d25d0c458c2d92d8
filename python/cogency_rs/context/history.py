"""`History`: how much of a conversation goes into the next prompt, and in which form.

A conversation is a sequence of turns, and a turn begins with a question. A conversation is cut only between turns, and
the question that is being answered always stays.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from .._core import Folding, FoldOptions, estimated_tokens
from ..errors import ConfigError, StorageError
from ..guards.arguments import check_choice, check_count, check_flag, check_function, refused
from .rows import extend, give_ids

if TYPE_CHECKING:
    from ..calls.record import CallRecord


Messages = list[dict[str, Any]]
Earlier = Literal["whole", "answers"]
"""What is shown of earlier questions."""
HistoryTransform = Callable[[Messages], Messages | Awaitable[Messages]]
"""Changes a history before it is sent, for example to replace old turns with a summary."""

MOST_ROWS = 10_000
"""How many rows of a conversation are shown without a bound. `install()` refuses more, as cogency 3.3.0 does."""

_FIRST_LOAD = 64
"""How many rows are loaded first, at least, if a history has a bound."""


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text has: a quarter of its characters, rounded up."""
    return tokens_in(len(text))


def tokens_in(characters: int) -> int:
    """The same, of a text with so many characters."""
    return -(-characters // 4)


class CountedMessages(list[dict[str, Any]]):
    """Messages of which a stretch was counted before, by `estimate_tokens`. The caller must not change this list.

    Attributes:
        counted: where the stretch begins and ends.
        tokens: how many tokens it has.
    """

    __slots__ = ("counted", "tokens")

    def __init__(
        self, messages: Iterable[dict[str, Any]], counted: tuple[int, int], tokens: int
    ) -> None:
        super().__init__(messages)
        self.counted = counted
        self.tokens = tokens


def after_system(prompt: str, messages: Messages) -> Messages:
    """A system prompt, then messages, in a new list."""
    whole: Messages = [{"role": "system", "content": prompt}, *messages]
    if isinstance(messages, CountedMessages):
        start, stop = messages.counted
        return CountedMessages(whole, (start + 1, stop + 1), messages.tokens)
    return whole


def tokens_of(messages: Sequence[Mapping[str, Any]], count: Callable[[str], int]) -> int:
    """How many tokens messages have, their calls included, as `count` says.

    A prompt is counted at every step, however long it is: the estimate of text is the core's, and only of new messages.
    """
    tokens = 0
    if count is estimate_tokens:
        if isinstance(messages, CountedMessages):
            (start, stop), tokens = messages.counted, messages.tokens
            messages = messages[:start] + messages[stop:]
        estimated, messages = estimated_tokens(messages)
        tokens += estimated
    return tokens + sum(_tokens_of(message, count) for message in messages)


PART_TOKENS = 1000
"""How many tokens a part is taken for that is not text, such as an image of middle size."""


def _tokens_of(message: Mapping[str, Any], count: Callable[[str], int]) -> int:
    text, parts = text_and_parts(message.get("content"))
    calls = message.get("tool_calls")
    return count(f"{text}{json.dumps(calls)}" if calls else text) + parts * PART_TOKENS


def text_and_parts(content: Any) -> tuple[str, int]:
    """The text of a message's content, and how many parts it has that are not text.

    Args:
        content: text, a list of parts, or what a transform made.
    """
    if isinstance(content, str):
        return content, 0
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    if not parts or not all(isinstance(part, dict) for part in parts):
        return json.dumps(content, default=str), 0
    texts: list[str] = []
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case _:
                pass
    return "\n".join(texts), len(parts) - len(texts)


@dataclass(frozen=True)
class TooLong:
    """A conversation has more rows than may be folded.

    Attributes:
        newest: as many of the newest rows as would be folded, oldest first; `None` if they were not loaded.
    """

    newest: Sequence[Any] | None


@dataclass(frozen=True)
class Shown:
    """What is shown of a conversation.

    Attributes:
        rows: how many of its rows were folded.
        messages: the messages. The list is new; the dicts are those of the next prompts too, and must not be changed.
        turns: how many turns they are; `None` if they are the whole conversation.
    """

    rows: int
    messages: Messages
    turns: int | None = None


class ConversationRows(Protocol):
    """The rows of one conversation."""

    @property
    def conversation_id(self) -> str:
        """Its id."""
        ...

    async def newest(self, limit: int) -> Sequence[Any]:
        """Load the newest rows, at most `limit`, oldest first."""
        ...

    async def folded(
        self,
        options: FoldOptions,
        *,
        merge_roles: bool = False,
        most: int | None = None,
        turns: int | None = None,
    ) -> Shown | TooLong:
        """Fold all rows; if there are more than `most`, only their end.

        Args:
            options: how rows become messages.
            merge_roles: whether neighbouring messages of one role become one.
            most: of how many of the newest rows the whole turns are shown, and at least the last turn.
            turns: how many of the newest turns are shown instead.

        Returns:
            What is shown; or `TooLong` if that is not known without loading more.
        """
        ...

    async def records(self) -> Sequence[CallRecord] | None:
        """Load the records of its calls, oldest first; `None` if the storage does not keep them."""
        ...


@dataclass
class Pin:
    """Where the history of a run begins.

    The turns that its first prompt shows stay in every later one. So each prompt begins with the one before it, which
    the caches of providers need.

    Attributes:
        turns: how many turns are shown, `WHOLE` for all; `None` before the first prompt.
    """

    turns: int | None = None


WHOLE = sys.maxsize
"""More turns than any conversation has."""


@dataclass(frozen=True)
class History:
    """How much of a conversation `assemble` shows the model, and in which form.

    A turn begins with a question, a row of type `user`. A history is cut only between turns. Whatever the bounds, the
    last question and all that follows it stay. So results are never without their calls.

    Attributes:
        window: how many messages are shown at most, counted before neighbours are merged; `None` for all.
        max_tokens: how many tokens the contents of the messages have at most; `None` for any number. The system prompt
            does not count.
        count_tokens: a function that counts the tokens of a text. The default estimates: characters / 4, rounded up. It
            is called once for each text of a prompt, from the newest turn back to the first that does not fit.
        merge_roles: whether neighbouring messages of one role become one message, with a blank line between their
            contents: a cancelled turn leaves two questions in a row, which strict chat templates refuse. Contents that
            are lists of parts become one list. Messages with keys besides role and content, or with other kinds of
            content, are not merged.
        transform: changes the messages before they are sent; a function or a coroutine function. It gets the messages
            within the bounds, not yet merged.
        max_result_chars: how many characters of each result's content the model is shown; a line says how many more
            there are. `None` for all.
        tool_result_chars: the same for single tools, by the name in the prompt; overrides `max_result_chars`.
        earlier: what is shown of earlier questions: `"whole"` for their whole turns, or `"answers"` for only their
            answers, without the calls, the results, the reasoning and the text that led there.

    Raises:
        ConfigError: a value is wrong.

    Without `window` and `max_tokens`, a conversation of more than 10,000 rows is shown from its end: the whole turns
    among its newest 10,000 rows, and always the last turn. A run that began with a whole conversation continues with
    it.

    With `window` or `max_tokens`, or for such a long conversation, the newest rows are loaded, twice as many each time,
    until there are enough whole turns. So the cost is linear in what is sent and in its oldest turn, however long the
    conversation is. With `earlier="answers"` and no bound, every prompt costs time linear in the conversation.
    """

    window: int | None = None
    max_tokens: int | None = None
    count_tokens: Callable[[str], int] = estimate_tokens
    merge_roles: bool = True
    transform: HistoryTransform | None = None
    max_result_chars: int | None = 100_000
    tool_result_chars: Mapping[str, int] = field(default_factory=dict[str, int])
    earlier: Earlier = "whole"

    def __post_init__(self) -> None:
        for name in ("window", "max_tokens", "max_result_chars"):
            check_count(name, getattr(self, name))
        for name, most in self.tool_result_chars.items():
            check_count(f"tool_result_chars of {name!r}", most, or_none=False)
        if not callable(self.count_tokens):
            raise refused("count_tokens", self.count_tokens, "a function from text to a number")
        check_function("transform", self.transform, "a function of the messages, or None")
        check_flag("merge_roles", self.merge_roles)
        check_choice("earlier", self.earlier, "whole", "answers")

    async def load(
        self,
        conversation: ConversationRows,
        options: FoldOptions,
        pin: Pin | None = None,
        complete: Callable[[Messages], None] | None = None,
    ) -> tuple[int, Messages]:
        """Load the messages to send; returns how many rows were loaded, and the messages.

        With a pin, the bounds count only the first time; later the same turns are loaded. `complete` completes the
        messages after the last question, before they are transformed; it must leave all others as they are.
        """
        if not self._is_plain:
            count, messages = await self.unsent(conversation, options, pin)
            if complete is not None:
                complete(messages)
            return count, await self.sent(messages) if count else messages
        found = await self._folded(conversation, options, pin, merge_roles=self.merge_roles)
        if isinstance(found, TooLong):
            count, messages = await self._end(conversation, options, pin, found.newest)
            messages = merged(messages) if self.merge_roles else messages
        else:
            count, messages = found
        if complete is not None:
            complete(messages)
        return count, messages

    @property
    def _is_unbounded(self) -> bool:
        return self.window is None and self.max_tokens is None

    @property
    def _is_plain(self) -> bool:
        return self._is_unbounded and self.transform is None and self.earlier == "whole"

    async def _folded(
        self,
        conversation: ConversationRows,
        options: FoldOptions,
        pin: Pin | None,
        *,
        merge_roles: bool,
    ) -> tuple[int, Messages] | TooLong:
        """The messages of the conversation or its end, or `TooLong` if its end must be loaded."""
        turns = None if pin is None else pin.turns
        most, turns = (None, None) if turns == WHOLE else (MOST_ROWS, turns)
        found = await conversation.folded(options, merge_roles=merge_roles, most=most, turns=turns)
        if isinstance(found, TooLong):
            return found
        if pin is not None:
            pin.turns = WHOLE if found.turns is None else found.turns
        return found.rows, found.messages

    async def unsent(
        self, conversation: ConversationRows, options: FoldOptions, pin: Pin | None
    ) -> tuple[int, Messages]:
        """Load the messages within the bounds, which are neither transformed nor merged; else see `load`."""
        if not self._is_unbounded:
            pin = Pin() if pin is None else pin
            if pin.turns is None and options.form != "text":
                # In every form, the same turns are within the bounds.
                await self._end(conversation, FoldOptions(), pin)
            return await self._end(conversation, options, pin)
        if self.earlier == "whole":
            found = await self._folded(conversation, options, pin, merge_roles=False)
            if not isinstance(found, TooLong):
                return found
            return await self._end(conversation, options, pin, found.newest)
        rows = await conversation.newest(sys.maxsize)
        return len(rows), (await self._fold(conversation, options, rows)).messages()

    async def _fold(
        self, conversation: ConversationRows, options: FoldOptions, rows: Sequence[Any]
    ) -> Folding:
        """Fold the rows that `earlier` leaves."""
        folding = Folding(options)
        await extend(folding, self._shown(rows))
        await give_ids(folding, options, lambda: conversation.records())
        return folding

    async def _end(
        self,
        conversation: ConversationRows,
        options: FoldOptions,
        pin: Pin | None,
        rows: Sequence[Any] | None = None,
    ) -> tuple[int, Messages]:
        """The messages of the newest turns, as many as the bounds allow; `rows` are its newest `MOST_ROWS`, if loaded.

        Without a bound, those among the newest `MOST_ROWS` rows.
        """
        least = MOST_ROWS if self._is_unbounded else max(_FIRST_LOAD, 2 * (self.window or 0))
        limit = min(least, sys.maxsize)
        counted: dict[str, int] = {}
        while True:
            if rows is None:
                rows = await conversation.newest(limit)
            folding = await self._fold(conversation, options, rows)
            messages, turns = folding.messages(), folding.questions()
            # A storage that gives more rows than it was asked for gives all of them.
            is_whole = len(rows) != limit
            if is_whole and (not turns or turns[0] > 0):
                turns.insert(0, 0)  # messages before the first question
            if pin is None or pin.turns is None:
                if self._is_unbounded and len(rows) > MOST_ROWS:  # the newest have no question
                    turns = turns[-1:]
                start, is_enough = self._start(messages, turns, counted)
            else:
                is_enough = len(turns) >= pin.turns
                start = turns[-pin.turns] if is_enough else 0
            if is_whole or is_enough:
                if pin is not None and pin.turns is None:
                    pin.turns = sum(turn >= start for turn in turns) or None
                return len(rows), messages[start:]
            limit, rows = min(2 * limit, sys.maxsize), None

    async def rows(self, conversation: ConversationRows, pin: Pin | None = None) -> Sequence[Any]:
        """Load the rows within the bounds, oldest first, for a prompt that is written elsewhere."""
        pin = Pin() if pin is None else pin
        if self._is_unbounded and (pin.turns == WHOLE or self.earlier == "answers"):
            return self._shown(await conversation.newest(sys.maxsize))
        if pin.turns is None and self._is_unbounded:
            rows = await conversation.newest(MOST_ROWS + 1)
            if len(rows) <= MOST_ROWS:
                pin.turns = WHOLE
                return rows
            pin.turns = sum(row["type"] == "user" for row in rows[-MOST_ROWS:]) or 1
        elif pin.turns is None:
            await self._end(conversation, FoldOptions(), pin)
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
        """The rows without those that `earlier` hides."""
        return rows if self.earlier == "whole" else _answers_only(rows)

    def _start(
        self, messages: Messages, turns: Sequence[int], counted: dict[str, int]
    ) -> tuple[int, bool]:
        """At which message the turns that fit begin, and whether it is certain that no older turn fits."""
        if self._is_unbounded:  # the rows are as many as are shown
            return (turns[0], True) if turns else (0, False)
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
        text, parts = text_and_parts(message["content"])
        if text not in counted:
            tokens: object = self.count_tokens(text)
            if not isinstance(tokens, int) or tokens < 0:
                raise ConfigError(f"count_tokens must return a whole number, got {tokens!r}")
            counted[text] = tokens
        return counted[text] + parts * PART_TOKENS

    async def sent(self, messages: Messages) -> Messages:
        """Transform and merge messages, as they will be sent."""
        if self.transform is not None:
            changed: Any = self.transform(messages)
            messages = _checked(await changed if inspect.isawaitable(changed) else changed)
        return merged(messages) if self.merge_roles else messages


def _answers_only(rows: Sequence[Any]) -> list[Any]:
    """The questions and answers of earlier turns, and all rows of the last turn."""
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
    """The rows that answer a question: the text after its last call and its last error, if there is any.

    What was found out about an earlier call hides the answer before it only if the model answered once more.
    """
    while rows and rows[-1]["type"] == "settled":
        rows = rows[:-1]
    for place in reversed(range(len(rows))):
        if rows[place]["type"] not in ("respond", "think", "end", "metric", "execute"):
            rows = rows[place + 1 :]
            break
    return [row for row in rows if row["type"] == "respond"]


@dataclass(frozen=True)
class CogencyHistory:
    """The history that cogency 3.3.0 sends: the last `window` messages, wherever that cuts, then transformed."""

    window: int | None
    transform: Callable[[Messages], Awaitable[Messages]] | None

    async def load(
        self, conversation: ConversationRows, options: FoldOptions, pin: Pin | None = None
    ) -> tuple[int, Messages]:
        """See `History.load`. Loads two rows for each message, as cogency 3.3.0 does; that may give fewer messages.

        Raises:
            StorageError: without a window, there are more than `MOST_ROWS` rows.
        """
        if self.window is None:
            found = await conversation.folded(options)
            if isinstance(found, TooLong) or found.rows > MOST_ROWS:
                raise StorageError(
                    f"Conversation {conversation.conversation_id} exceeds {MOST_ROWS} events. "
                    "Enable history_window to limit what is loaded."
                )
            count, messages = found.rows, found.messages
        else:
            rows = await conversation.newest(2 * self.window)
            folding = Folding(options)
            folding.extend(rows)
            count, messages = len(rows), folding.messages()[-self.window :]
        if count and self.transform is not None:
            messages = await self.transform(messages)
        return count, messages


def _checked(returned: Any) -> Messages:
    """Check that a transform returned messages.

    Raises:
        ConfigError: it returned something else; the message says what, and where.
    """
    wanted = "the history's transform must return a list of messages, {'role': ..., 'content': ...}"
    if returned is None:
        raise ConfigError(f"{wanted}, but returned None: is its `return` missing?")
    given: object = returned
    if not isinstance(given, list | tuple):
        raise ConfigError(f"{wanted}, but returned {type(returned).__name__}: {returned!r:.200}")
    messages: Messages = list(returned)
    for index, message in enumerate(messages):
        match message:
            case {"role": str(), "content": _}:
                pass
            case _:
                raise ConfigError(f"{wanted}; number {index} is not a message: {message!r:.200}")
    return messages


def copied(messages: Iterable[Mapping[str, Any]]) -> Messages:
    """Copy messages, with all that the folds of other prompts have too."""
    return [dict(message) if len(message) == 2 else _copied(message) for message in messages]


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[Any, Any]", value)
        return {key: _copied(field) for key, field in fields.items()}
    if isinstance(value, list):
        return [*map(_copied, cast("list[Any]", value))]
    return value


def merged(messages: Iterable[dict[str, Any]]) -> Messages:
    """Merge neighbouring messages of one role; the cost is linear in the messages."""
    sent: Messages = []
    run: Messages = []  # neighbours of one role, if there are several
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
    """Merge messages of one role into one, unless one of them has other keys or a content that cannot be merged."""
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
