"""Public values: hints resolve, `dataclasses.replace` keeps them, and pydantic and FastAPI take them as fields."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_type_hints, is_typeddict

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel, TypeAdapter, ValidationError

from cogency_rs import (
    Agent,
    Approval,
    CallOptions,
    Dialect,
    Execution,
    RunLimits,
    RunResult,
    Step,
    ToolResult,
    tool,
)
from cogency_rs.calls.record import CallRecord
from cogency_rs.errors import StopRun
from cogency_rs.execution import Reconcile, ToolExecution, UnsettledCall
from cogency_rs.models import Finish, ToolCallDelta, ToolDeclaration
from cogency_rs.testing import ScriptedModel
from cogency_rs.tools import Preview, Retries, ToolOptions
from cogency_rs.types import RunEvent
from support.call_examples import in_block
from support.public_modules import PUBLIC_MODULES
from support.tools import block, call

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in PUBLIC_MODULES
    for name in module.__all__
}
CLASSES = {name: kind for name, kind in PUBLIC.items() if inspect.isclass(kind)}


def annotated() -> Iterator[tuple[str, Any]]:
    """What has hints: public classes and functions, and the public methods of these classes."""
    for name, value in PUBLIC.items():
        if inspect.isfunction(value):
            yield name, value
        if not inspect.isclass(value) or not value.__module__.startswith("cogency_rs."):
            continue
        yield name, value
        for base in value.__mro__:
            if base.__module__.startswith("cogency_rs."):
                for method, found in inspect.getmembers_static(base):
                    function = getattr(found, "__func__", getattr(found, "fget", found))
                    if inspect.isfunction(function) and method.strip("_") in (method, "init"):
                        yield f"{name}.{method}", function


def test_every_hint_of_a_public_name_resolves():
    found = dict(annotated())
    failed: dict[str, Exception] = {}
    for name, value in found.items():
        try:
            get_type_hints(value)
        except Exception as error:
            failed[name] = error
    assert failed == {}
    assert {"cogency_rs.Agent.__init__", "cogency_rs.Step", "cogency_rs.SQLite.append"} <= {*found}


# dataclasses.replace

CALL = call("add", a=1)
EXECUTION = ToolExecution(
    CALL, ToolResult("no", error=True, exception=KeyError("k")), CallRecord("id", "", 0, "add")
)
VALUES = [
    RunLimits(steps=20, on_busy="error"),
    RunLimits(stop_at_tools=["a"]),
    CallOptions(timeout=1),
    ToolOptions(requires_approval=Preview(str), idempotent=Retries(2)),
    Approval(lambda context, call: True, timeout=None),
    Reconcile(lambda call: None, tries=1),  # type: ignore[arg-type,return-value]
    Execution(deps=1),
    CALL,
    EXECUTION,
    ToolDeclaration("add", "Adds.", {}),
    ToolCallDelta(index=0, id="a", name="add", arguments="{}"),
    UnsettledCall("id", "id", "add", {}, "c", "u", 1, None, None),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_that_is_replaced_with_no_change_is_the_same(value):
    assert vars(dataclasses.replace(value)) == vars(value)


def test_a_value_is_whole_when_its_class_is_imported():
    kinds = [kind for kind in CLASSES.values() if dataclasses.is_dataclass(kind)]
    assert [kind for kind in kinds if "__init__" not in vars(kind)] == []
    assert len(kinds) > 20


# Plain data

NO_DATA = {"Runtime", "ToolContext", "Invocation", "MCPTool"}
"""They act."""


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, kind in CLASSES.items()
        if dataclasses.is_dataclass(kind) or is_typeddict(kind) or issubclass(kind, tuple | Enum)
        if kind.__name__ not in NO_DATA
    ],
)
def test_pydantic_takes_it_as_a_field(name):
    TypeAdapter(CLASSES[name])


@tool
async def halve(n: int) -> int:
    """Halve."""
    raise ZeroDivisionError(f"not {n}")


@tool(requires_approval=True)
async def pay(euros: int) -> str:
    """Pay."""
    return "paid"


class City(BaseModel):
    name: str


def ran(*answers: Any, **options: Any) -> RunResult[Any]:
    return Agent(ScriptedModel(answers), tools=[halve, pay], **options).run_sync("?")


RESULTS = {
    "a text": lambda: ran("Oslo."),
    "a model": lambda: ran('{"name": "Oslo"}', output_type=City),
    "a failed call": lambda: ran(block(call("halve", n=3)), "Sorry."),
    "a call that waits": lambda: ran(block(call("pay", euros=3))),
    "a limit": lambda: ran(block(call("halve", n=3)), limits=RunLimits(steps=1)),
    "no hold on JSON": lambda: ran("Oslo.").with_output(object),
}


@pytest.mark.parametrize("run", RESULTS.values(), ids=RESULTS)
def test_a_result_is_written_as_plain_data(run):
    result: RunResult[Any] = run()
    written = result.to_dict()
    assert json.loads(json.dumps(written)) == written
    assert TypeAdapter(RunResult[Any]).dump_python(result, mode="json") == written
    assert [step.to_dict() for step in result.steps] == written["steps"]
    fields = [each.name for each in dataclasses.fields(RunResult) if each.name != "_output"]
    assert {*written} == {*fields, "output", "has_output"}
    for step in written["steps"]:
        assert [*step] == [each.name for each in dataclasses.fields(Step)]


def test_the_data_of_a_result():
    written = RESULTS["a model"]().to_dict()
    assert (written["output"], written["has_output"]) == ({"name": "Oslo"}, True)
    assert written["usage"]["is_estimate"] is True

    written = RESULTS["a failed call"]().to_dict()
    [made] = written["steps"][0]["executions"]
    assert made["result"]["exception"] == ["ZeroDivisionError", "not 3"]
    assert written["steps"][0]["outcome"] == "acted"

    written = RESULTS["a limit"]().to_dict()
    assert (written["output"], written["has_output"]) == (None, False)
    assert (written["stop"]["reason"], written["stop"]["source"]) == ("steps_limit", "limits")

    [waits] = RESULTS["a call that waits"]().to_dict()["waiting"]
    assert (waits["name"], waits["args"]) == ("pay", {"euros": 3})


def test_an_execution_is_read_again():
    made = RESULTS["a failed call"]().steps[0].executions[0]
    assert ToolExecution.from_dict(json.loads(json.dumps(made.to_dict()))) == made


class Page(BaseModel):
    result: RunResult[str]
    stop: StopRun | None
    events: list[RunEvent]


def test_fastapi_answers_with_a_result():
    app = FastAPI()

    @app.get("/run")
    async def run() -> RunResult[str]:
        return await Agent(ScriptedModel(["Oslo."])).run("?", conversation_id="c")

    @app.get("/page")
    async def page() -> Page:
        handle = Agent(ScriptedModel(["Oslo."])).run("?")
        events = [event async for event in handle.events("event")]
        assert handle.result is not None
        return Page(result=handle.result, stop=StopRun("why"), events=events)

    @app.get("/limits")
    async def limits() -> RunLimits:
        return RunLimits(steps=3)

    with TestClient(app) as client:
        assert client.get("/run").json()["output"] == "Oslo."
        told = client.get("/page").json()
        assert (told["result"]["text"], told["stop"]["message"]) == ("Oslo.", "why")
        assert {"type": "respond", "content": "Oslo."}.items() <= told["events"][1].items()
        assert client.get("/limits").json()["steps"] == 3
        assert {"/run", "/page", "/limits"} <= client.get("/openapi.json").json()["paths"].keys()


OWN_DIALECT = in_block(Dialect("hermes"), "<use>{call}</use>", name="mine")


class Asked(BaseModel):
    dialect: Dialect
    finish: Finish | None = None


@pytest.mark.parametrize(
    "dialect", [Dialect("hermes"), OWN_DIALECT], ids=lambda dialect: dialect.name
)
@pytest.mark.parametrize("finish", [None, Finish(None), Finish("refusal", details="no")])
def test_values_of_the_core_are_fields(dialect, finish):
    asked = Asked(dialect=dialect, finish=finish)
    assert (asked.dialect, asked.finish) == (dialect, finish)
    assert Asked.model_validate_json(asked.model_dump_json()) == asked
    assert Asked.model_validate(asked.model_dump()) == asked


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dialect": "hermse"}, 'there is no dialect "hermse"; the nearest is "hermes"'),
        ({"dialect": {"name": "x"}}, "this is not a dialect: missing field"),
        ({"dialect": 7}, "valid string"),
        ({"dialect": "hermes", "finish": {}}, "Field required"),
        ({"dialect": "hermes", "finish": {"reason": 7}}, "valid string"),
    ],
)
def test_what_is_not_a_value_of_the_core_is_refused_as_a_field(given, message):
    with pytest.raises(ValidationError, match=message):
        Asked.model_validate(given)


def test_fastapi_reads_and_writes_values_of_the_core():
    app = FastAPI()

    @app.post("/asked")
    async def asked(body: Asked) -> Asked:
        return body

    with TestClient(app) as client:
        answer = client.post("/asked", json={"dialect": "hermes", "finish": {"reason": "stop"}})
        assert Asked.model_validate(answer.json()) == Asked(
            dialect=Dialect("hermes"), finish=Finish("stop")
        )
        assert client.post("/asked", json={"dialect": "hermse"}).status_code == 422
        assert "/asked" in client.get("/openapi.json").json()["paths"]


def test_limits_that_pydantic_read_override_what_was_given():
    limits = TypeAdapter(RunLimits).validate_python({"steps": 3})
    assert limits.over(RunLimits(steps=1, seconds=5)) == RunLimits(steps=3, seconds=5)


def test_limits_that_pydantic_wrote_and_read_override_what_they_did_before():
    adapter = TypeAdapter(RunLimits)
    read = adapter.validate_json(adapter.dump_json(RunLimits(steps=20)))
    assert read.over(RunLimits(steps=1, seconds=5)) == RunLimits(steps=20, seconds=5)
