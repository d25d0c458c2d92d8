"""Tool calls: arguments, and the values that may be given as tools and calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

from .registry import TOOLS, Example, difference


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done')), args=None)",
        theirs=("TypeError", "'NoneType' object is not iterable"),
        ours=(
            "Invalid arguments for tool 't': they must be an object, got NoneType",
            None,
            True,
        ),
    ),
    theirs="Arguments of a `ToolCall` that are not a `dict` end the batch with the exception that `dict(args)` raises.",
    ours="They are that call's failure.",
    why="One bad call must not affect others.",
)
def arguments_that_are_not_a_mapping(args: Any) -> bool:
    return not isinstance(args, dict)


@difference(
    TOOLS,
    Example(
        "result(returns(ToolResult('done')), schema={'x': {'type': 'integer', 'required': True}})",
        theirs=("done", None, False),
        ours=(
            "Invalid arguments for tool 't': argument 'x' is required, but was not given",
            None,
            True,
        ),
    ),
    Example(
        "result(returns(ToolResult('done')), args={'x': '1'}, schema={'x': {'type': 'integer'}})",
        theirs=("done", None, False),
        ours=(
            """Invalid arguments for tool 't': argument 'x' must be an integer, got a string: "1\"""",
            None,
            True,
        ),
    ),
    theirs="A tool starts with whatever arguments the model gave; its schema is for the prompt only.",
    ours='An argument that is missing although its schema says `"required": True`, and one that breaks `type`, `min`, '
    "`max`, `min_length` or `max_length`, is that call's failure, and the tool does not start.",
    why="The protocol promises it: missing and wrong arguments are errors, and the message says which.",
)
def arguments_against_the_schema(
    schema: Mapping[str, Mapping[str, Any]], args: Mapping[str, Any]
) -> bool:
    """For a flat schema."""
    return any(
        _breaks(info, args[name]) if name in args else info.get("required") is True
        for name, info in schema.items()
    )


def _breaks(info: Mapping[str, Any], value: Any) -> bool:
    if value is None and info.get("default", 0) is None:
        return False
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "integer": number and (isinstance(value, int) or value.is_integer()),
        "number": number,
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    if not fits.get(info.get("type", ""), True):
        return True
    if number and (value < info.get("min", value) or value > info.get("max", value)):
        return True
    length = len(value) if isinstance(value, str | list) else None
    return length is not None and not (
        info.get("min_length", 0) <= length <= info.get("max_length", length)
    )


@difference(
    TOOLS,
    Example(
        "result(falsy(returns(ToolResult('done'))))",
        theirs=("Tool 't' not registered", None, True),
        ours=("done", None, False),
    ),
    theirs="A tool that is falsy (it has `__len__` or `__bool__`) counts as not registered.",
    ours="It is a tool like any other.",
    why="A tool that is given counts, whatever its truth value.",
)
def falsy_tool(tool: Any) -> bool:
    return not tool


@difference(
    TOOLS,
    Example(
        "raised(lambda: Accumulator('u', 'c', execution=Execution(log, [5], 30, '', 'sandbox')))",
        theirs="nothing",
        ours=(
            "ConfigError",
            "5 cannot be a tool: it needs a name that is a str, and an execute method",
        ),
    ),
    Example(
        "raised(lambda: Accumulator('u', 'c', execution=Execution(None, [], 30, '', 'sandbox')))",
        theirs="nothing",
        ours=(
            "ConfigError",
            "storage has no save_message method: None. Use SQLite(), or any object with async def "
            "save_message(conversation_id, user_id, type, content, timestamp)",
        ),
    ),
    Example(
        "raised(lambda: Accumulator('u', 'c', execution=Execution(log, [], 30, '', 'sandbox'), stream='tokens'))",
        theirs="nothing",
        ours=("ConfigError", 'stream must be "event" or "token", got \'tokens\''),
    ),
    theirs="A tool without a name or without `execute`, a class in place of an instance, a storage without "
    "`save_message` and an unknown mode are found, if at all, in the middle of a turn.",
    ours="`Accumulator` refuses them with `ConfigError`.",
    why="The error points at the call that is wrong.",
)
def execution_that_cannot_carry_a_turn(execution: Any, stream: str) -> bool:
    return (
        stream not in {"event", "token"}
        or not hasattr(execution.storage, "save_message")
        or not all(map(_is_a_tool, execution.tools))
    )


def _is_a_tool(tool: Any) -> bool:
    execute = getattr(tool, "execute", None)
    if isinstance(tool, type) and isinstance(tool.__dict__.get("execute"), FunctionType):
        return False  # its `execute` would be called without an instance
    return isinstance(getattr(tool, "name", None), str) and callable(execute)


@difference(
    TOOLS,
    Example(
        "batch([ToolCall('t', {})], [tool('t', returns('done')), 5])[0]",
        theirs="done",
        ours="ConfigError",
    ),
    Example(
        "batch([ToolCall('t', {})], [len])",
        theirs=("AttributeError", "'builtin_function_or_method' object has no attribute 'name'"),
        ours=(
            "ConfigError",
            "<built-in function len> cannot be a tool: make a tool of the function with @cogency_rs.tool",
        ),
    ),
    theirs="`execute_tools` looks for a called tool only until it finds it, and reads `execute` when it "
    "calls the tool. Without calls it does not use its execution at all.",
    ours="It checks all tools before anything runs, and refuses with `ConfigError` an item that has no "
    "name or no `execute`, or is a class in place of an instance. Under `install()` it does as cogency does.",
    why="The error points at the program's mistake, and does not wait for the model to call that tool.",
)
def something_that_is_not_a_tool(execution: Any) -> bool:
    """`execution` is the argument of `execute_tools`, not under `install()`."""
    return execution is None or not all(map(_is_a_tool, execution.tools))


@difference(
    TOOLS,
    Example(
        "batch([ToolCall('t', {})], [tool('t', returns('first')), tool('t', returns('second'))])",
        theirs=["first"],
        ours=(
            "ConfigError",
            "two tools are named 't', so a call of that name could mean either: rename one",
        ),
    ),
    theirs="If two tools have one name, the first is called.",
    ours="`execute_tools` and `Accumulator` refuse them with `ConfigError`, unless they are the same tool. Under "
    "`install()` the first is called.",
    why="A call of that name could mean either, and the second would never run.",
)
def tools_of_one_name(tools: Sequence[Any]) -> bool:
    """Not under `install()`."""
    named = [tool for tool in tools if isinstance(getattr(tool, "name", None), str)]
    return len({tool.name for tool in named}) < len({id(tool) for tool in named})


@difference(
    TOOLS,
    Example(
        "batch([{'name': 't', 'args': {}}], [])",
        theirs=("AttributeError", "'dict' object has no attribute 'name'"),
        ours=(
            "ArgumentError",
            "calls must be a list of ToolCalls, got {'name': 't', 'args': {}}",
        ),
    ),
    Example(
        "batch(ToolCall('t', {}), [])",
        theirs=("TypeError", "'ToolCall' object is not iterable"),
        ours=(
            "ArgumentError",
            "calls must be a list of ToolCalls, got ToolCall(name='t', args={}); for one call there is execute_tool",
        ),
    ),
    Example(
        "batch(None, [])",
        theirs=[],
        ours=("ArgumentError", "calls must be a list of ToolCalls, got None"),
    ),
    theirs="An item in the calls of `execute_tools` that is not a call ends the batch with `AttributeError`, "
    "while calls before it may run. `None` in place of the calls is an empty batch.",
    ours="It raises an `ArgumentError`, a `TypeError` that says what was given, before anything runs. Under "
    "`install()` it is as in cogency.",
    why="The error points at the call that is wrong.",
)
def something_that_is_not_a_call(calls: Any) -> bool:
    """`calls` is the argument of `execute_tools`, not under `install()`."""
    if not isinstance(calls, Iterable):
        return True
    return not all(hasattr(call, "name") and hasattr(call, "args") for call in calls)


@difference(
    TOOLS,
    Example(
        "result(shows('user_id'), args={'user_id': 'ada'}, schema={'user_id': {'type': 'string'}})",
        theirs=("shown", "user", False),
        ours=("shown", "ada", False),
    ),
    theirs="The values that the turn gives to a tool (`user_id`, `storage`, `access`, …) replace arguments "
    "of the same name, whatever the tool's schema says.",
    ours="An argument that the schema declares is the model's: the turn does not give it.",
    why="The tool has said what it means by that name.",
)
def argument_of_the_turn_that_is_declared(schema: Mapping[str, Any]) -> bool:
    """For a flat schema and a JSON Schema."""
    return any(name in declared_arguments(schema) for name in TURN_ARGUMENTS)


@difference(
    TOOLS,
    Example(
        "result(shows('access'), schema={'type': 'object', 'properties': {}, 'additionalProperties': False})",
        theirs=("shown", "system", False),
        ours=("shown", None, False),
    ),
    theirs="Every tool is given the turn's values (`user_id`, `storage`, `access`, …).",
    ours="A tool whose `schema` is a JSON Schema with `additionalProperties: false` is called with the "
    "model's arguments alone.",
    why="Such a tool takes only the arguments that its schema lists, and often fails if there are others.",
)
def schema_without_further_arguments(schema: Mapping[str, Any]) -> bool:
    return _is_json_schema(schema) and schema.get("additionalProperties") is False


TURN_ARGUMENTS = ("storage", "sandbox_dir", "access", "conversation_id", "user_id", "timeout")
"""What a turn gives to tools; it gives `timeout` only to the tool named `shell`."""


def declared_arguments(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    declared: Mapping[str, Any] = schema["properties"] if _is_json_schema(schema) else schema
    return declared


def _is_json_schema(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping)


def promised_arguments(
    schema: Mapping[str, Any], args: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call, if the turn gives `given` to a tool that declares nothing."""
    if schema_without_further_arguments(schema):
        return dict(args)
    declared = declared_arguments(schema)
    return {**args, **{name: value for name, value in given.items() if name not in declared}}
