"""A second meaning for the words of an example: with it, the example gives the differences that apply to its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from cogency_rs.protocol import Limits

from . import differences
from .differences import ALL, ROWS
from .examples import WORDS
from .oracle import Batch, Scenario, Script, Scripted, their_parse
from .pieces import pieces


def names_of(code: str) -> set[str]:
    """The differences that apply to the input of an example."""
    naming = Naming()
    names = {word: getattr(naming, word) for word in dir(naming) if not word.startswith("_")}
    eval(code, {**WORDS, **names, "raised": lambda thunk: thunk()})
    assert naming._names <= set(ALL)
    return naming._names


class Naming:
    """The words of `Side`, each of which asks the predicates about its input."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def _ask(self, *asked: tuple[Any, ...]) -> None:
        self._names |= {difference.name for difference, *given in asked if difference(*given)}

    def events(self, source: Any, stream: str = "event") -> Any:
        self._names |= differences.promised_parse(source)[1]
        self._ask(
            (differences.text_in_pieces, stream),
            (differences.text_before_an_error_of_the_source, source),
        )
        return _Anything()

    def lengths(self, text: str) -> None:
        for piece in pieces(text):
            self._ask((differences.text_beyond_the_limit, piece, Limits()))

    def report(self, text: str) -> None:
        self.events(text)

    def calls(self, text: str) -> None:
        self._ask((differences.stray_closing_tag, text))
        self.events(text if "<execute>" in text else f"<execute>{text}</execute>")

    def parse_tokens(self, source: Any) -> None:
        self._ask((differences.source_that_is_not_text, source))

    def is_closed_after(self, text: str) -> None:
        self._ask((differences.source_with_a_close, (chunk async for chunk in _nothing(text))))

    def result(self, tool: Any, name: str = "t", args: Any = (), schema: Any = None) -> None:
        if isinstance(tool, Scripted):
            self._ask((differences.falsy_tool, tool))
            return
        args = {} if args == () else args
        self._ask((differences.arguments_that_are_not_a_mapping, args))
        schema = schema or {}
        self._ask(
            (differences.argument_of_the_turn_that_is_declared, schema),
            (differences.schema_without_further_arguments, schema),
        )
        is_flat = differences.declared_arguments(schema) is schema
        if is_flat and isinstance(args, dict):
            self._ask((differences.arguments_against_the_schema, schema, args))
        self._names |= differences.promised_batch(Batch(((name, args),), {"t": tool}))[1]

    def batch(self, calls: Any, tools: Any) -> Any:
        self._ask(
            (differences.something_that_is_not_a_tool, SimpleNamespace(tools=tools)),
            (differences.tools_of_one_name, tools),
            (differences.something_that_is_not_a_call, calls),
        )
        return _Anything()

    def array(self, *results: Any) -> None:
        self._ask(*((each, results) for each in differences.ARRAYS))

    def emitted(
        self,
        source: Any,
        tool: Script | None = None,
        failing_save: int | None = None,
        **options: Any,
    ) -> Any:
        if isinstance(source, str):
            source = [dict(event) for event in their_parse(source).events]
        self._turns([source], tool, **options)
        if failing_save is not None:
            kinds = [event["type"] for event in source]
            self._ask((differences.storage_that_fails_at_a_call, kinds, failing_save))
        return _Anything()

    saved = exactly = emitted

    def saved_in_turns(
        self, *turns: Any, tool: Script | None = None, until: str = "", **options: Any
    ) -> None:
        self._turns(turns, tool, **options)
        if until:  # the consumer leaves before cogency's accumulator forgets the calls of the turn
            self._ask((differences.state_between_turns, differences.LeftOver("", 1)))

    def saved_when_cancelled(self, events: Any) -> None:
        self._ask((differences.turn_that_is_cancelled, len(events) - 1))

    def _turns(self, turns: Iterable[Any], tool: Script | None, **options: Any) -> None:
        scripts = {} if tool is None else {"t": tool}
        scenario = Scenario(tuple(map(tuple, turns)), scripts, **options)
        self._names |= differences.promised_turns(scenario)[1]

    def Accumulator(self, *_: Any, execution: Any, stream: str = "event") -> None:  # noqa: N802
        self._ask((differences.execution_that_cannot_carry_a_turn, execution, stream))

    def public_state(self, _: Callable[..., Any]) -> None:
        self._ask((differences.state_of_the_turn, "pending_calls"))

    def messages(self, rows: Any) -> None:
        self._ask(*((each, row) for each in ROWS for row in rows))

    def prompt(self, _: Any, profile: Any = None) -> None:
        self._ask((differences.words_of_a_failed_profile, profile))

    def beginning_of_history(self, rows: Any) -> None:
        self._ask((differences.conversation_that_is_too_long, rows, None))

    def history(self, rows: Any, window: int | None = None) -> None:
        messages = differences.messages_of(rows)
        self._ask(
            (differences.calls_without_results, rows),
            (differences.part_of_a_call, rows),
            (differences.results_without_calls, rows),
            (differences.report_of_a_block, rows),
            (differences.words_that_go_on, rows),
            (differences.neighbours_of_one_role, messages),
            (differences.window_in_a_turn, differences.turns(rows), len(messages), window),
            *((differences.results_beyond_the_bound, row, 100_000) for row in rows),
        )

    end_of_history = history

    def prompt_of_swapped_ids(self) -> None:
        self._ask((differences.swapped_ids, {("ada", "talk")}, "talk", "ada"))

    def listed(self, schema: Any) -> None:
        self._ask((differences.tool_with_a_json_schema, SimpleNamespace(schema=schema)))

    def system_prompt_is_cogencys(self) -> None:
        self._ask((differences.words_of_the_system_prompt, {"role": "system"}))

    def found(self, _: list[str], query: str) -> None:
        self._ask((differences.capital_beyond_z, query))

    def parse_tool_result(self, content: str) -> None:
        self._ask((differences.result_with_a_wrong_field, content))


class _Anything:
    """Stands for an outcome; an example may take a part of it."""

    def __getitem__(self, _: Any) -> _Anything:
        return self


async def _nothing(*_: Any) -> Any:
    return
    yield
