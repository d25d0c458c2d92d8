"""Events of a run: one look at `type` tells which one it is."""

from typing import Any, assert_never, assert_type

from cogency_rs import Agent, Step
from cogency_rs.types import (
    BreakerOpened,
    CallEvent,
    MetricEvent,
    ResultCounts,
    RunEvent,
    StepCost,
    ToolBlockedEvent,
    ToolChangedEvent,
)


async def watch(agent: Agent[Any, str]) -> str:
    run = agent.run("?")
    async for event in run:
        assert_type(event, RunEvent)
        shown(event)
    assert_type(run.result.output, str)
    async for event in agent.run("?").events("event"):
        assert_type(event, RunEvent)
    async for step in agent.run("?").steps():
        assert_type(step, Step)
    async with agent.resume("c") as resumed:
        async for event in resumed:
            shown(event)
    return (await agent.run("?")).output


def shown(event: RunEvent) -> str:
    match event["type"]:
        case "user" | "think" | "respond" | "cancelled":
            return event["content"]
        case "tool_call_start":
            return event["name"]
        case "tool_call_delta":
            return f"{event['index']} {event['path'][0]}: {event['content']}"
        case "call":
            assert_type(event, CallEvent)
            return event["content"]
        case "result":
            assert_type(event["payload"], ResultCounts | BreakerOpened)
            return event["content"]
        case "metric":
            assert_type(event, MetricEvent)
            assert_type(event["total"], StepCost)
            return f"{event['step']['output']} tokens in {event['step']['duration']:.1f} s"
        case "error":
            assert_type(event["code"], str | None)
            return event["content"]
        case "tool_blocked":
            assert_type(event, ToolBlockedEvent)
            return f"{event['hook']} blocked {event['name']}: {event['content']}"
        case "tool_changed":
            assert_type(event, ToolChangedEvent)
            return f"{event['hook']} changed what {event['name']} returned"
        case "execute" | "end" | "interrupt":
            return f"{event['type']} at {event['timestamp']}"
        case _:
            assert_never(event["type"])
