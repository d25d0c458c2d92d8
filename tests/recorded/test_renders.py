"""Our prompts equal those of the models' own chat templates, between the marks of roles.

The server writes the marks of roles, so only what is inside each turn is compared: the assistant's text with its
calls, the results, and the declaration of the tools, with all words around them and at their place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cogency_rs import Dialect
from cogency_rs.context import to_messages
from cogency_rs.context.assembly import prompt_parts
from cogency_rs.reader import ChatReader, ChatWriter
from support.deltas import joined
from support.recordings import FOLDER
from support.tools import FunctionTool, nothing

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = FOLDER / "chat_template_renders.json"
RENDERS: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else []

needs_renders = pytest.mark.skipif(not RENDERS, reason=f"there is no {FILE}")

DIALECTS = {
    "deepseek_v32": "deepseek-v32-dsml",
    "granite3": "granite",
    "llama4_pythonic": "pythonic",
    "mistral_pre11": "mistral",
}
"""Our names for dialects that have another name in the recording."""

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "first"},
        "s": {"type": "string", "description": "text"},
    },
    "required": ["a"],
}

TOOLS = [FunctionTool("add", nothing, "Add.", SCHEMA)]

ARGUMENTS = ({"a": 1, "s": "x y"}, {"a": 2, "s": '<b>"q"\n'})


@dataclass(frozen=True)
class Difference:
    """Where our prompt differs from the template's, and why."""

    template: str
    part: str
    reason: str
    mend: Callable[[str], str] | None = None
    """Changes the template's text into ours; `None` if the two differ too much for that."""


ROLE = "the template gives each result a turn and a role of its own; ours are in the user's turn, each in a frame"
SPACES = "the template leaves the spaces of its own layout between the marks"
ANOTHER = "the template writes it in another form, or in other words"


def without_spaces(text: str) -> str:
    return re.sub(r" {4,}", "", text)


def framed(text: str, before: str, between: str, after: str) -> str:
    """The results, each in our frame in place of the template's role."""
    inside = text.removeprefix(before).partition(after)[0].split(between)
    return "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in inside)


def llama(role: str, end: str) -> Callable[[str], str]:
    head = f"<|{role}|>ipython<|{role.replace('start', 'end')}|>\n\n"
    answer = f"{end}<|{role}|>assistant"
    return partial(framed, before=end + head, between=end + head, after=answer)


def granite(text: str) -> str:
    end, head = "<|end_of_text|>\n", "<|start_of_role|>tool_response<|end_of_role|>"
    return framed(text, end + head, end + head, f"{end}<|start_of_role|>assistant")


def kimi(role: str) -> Callable[[str], str]:
    return lambda text: text.replace(f"<|im_end|><|im_system|>{role}<|im_middle|>", "\n")


def kimi_k2(text: str) -> str:
    text = text.replace("abcdefgh1\\n", "functions.add:0\n")
    return kimi("tool")(text.replace("abcdefgh2\\n", "functions.add:1\n"))


DIFFERENCES = (
    Difference("tool_chat_template_deepseekv3.jinja", "calls", SPACES, without_spaces),
    Difference("tool_chat_template_deepseekv3.jinja", "results", SPACES, without_spaces),
    Difference(
        "deepseek-ai-DeepSeek-V3.1.jinja",
        "calls",
        "the template opens and closes reasoning where there was none",
        lambda text: text.removeprefix("<think></think>"),
    ),
    Difference(
        "deepseek-ai-DeepSeek-V3.1.jinja",
        "tools",
        "the template does not declare the tools: the model card does",
    ),
    Difference(
        "openai-gpt-oss-120b.jinja",
        "calls",
        "the server opens the head of the first message",
        lambda text: text.removeprefix("<|start|>assistant"),
    ),
    Difference(
        "tool_chat_template_llama4_pythonic.jinja",
        "calls",
        "the template quotes numbers, and does not escape quotes",
        lambda text: re.sub(r'a="(\d)"', r"a=\1", text).replace('<b>"q"\n', r"<b>\"q\"\n"),
    ),
    Difference(
        "mistralai-Mistral-Nemo-Instruct-2407.jinja",
        "results",
        "the template does not quote a text, so it is not JSON",
        lambda text: re.sub(r"RES\d", r'"\g<0>"', text),
    ),
    Difference("moonshotai-Kimi-K2.jinja", "results", f"{ROLE}; it writes \\n as it is", kimi_k2),
    Difference("Kimi-K2-Thinking.jinja", "results", ROLE, kimi("add")),
    Difference(
        "meta-llama-Llama-3.1-8B-Instruct.jinja",
        "results",
        ROLE,
        llama("start_header_id", "<|eot_id|>"),
    ),
    Difference(
        "tool_chat_template_llama4_pythonic.jinja",
        "results",
        ROLE,
        llama("header_start", "<|eot|>"),
    ),
    Difference("tool_chat_template_granite.jinja", "results", ROLE, granite),
    Difference(
        "Cohere2MoE.jinja",
        "results",
        ANOTHER,
        lambda text: re.sub(r'\{"content": ("RES\d")\}', r"\1", text),
    ),
    Difference("NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja", "tools", ANOTHER),
    Difference("Qwen3.5-4B.jinja", "tools", ANOTHER),
    Difference("Cohere2MoE.jinja", "tools", ANOTHER),
)


def dialect_of(render: dict[str, Any]) -> str:
    own = {"GLM-4.7-Flash.jinja": "glm47", "ibm-granite-granite-4.0.jinja": "granite4"}
    if render["template"] in own:
        return own[render["template"]]
    name: str = render["dialect"]
    return DIALECTS.get(name, name.replace("_", "-"))


def events_of(render: dict[str, Any]) -> list[dict[str, str]]:
    """The rendered conversation, from the assistant's turn on."""
    rendered = render["rendered"]
    pieces = [("think", "RSN"), ("respond", "TXT")]
    events = [(kind, text) for kind, text in pieces if text in render["assistant"]]
    results: list[dict[str, str]] = []
    for number, args in enumerate(ARGUMENTS, 1):
        if f"RES{number}" in rendered:
            id = {"id": f"abcdefgh{number}"} if f"abcdefgh{number}" in rendered else {}
            events.append(("call", json.dumps({"name": "add", "args": args} | id)))
            results.append({"tool": "add", "status": "success", "content": f"RES{number}"})
    events.append(("result", json.dumps(results)))
    return [{"type": kind, "content": content} for kind, content in events]


def declared(dialect: str | Dialect) -> str:
    """The declaration of the tools, with the text before or after which it is."""
    parts = prompt_parts(TOOLS, None, None, dialect)
    if "# Calls" in parts.calls:  # our words
        return parts.tools.removeprefix("\n\n# Tools\n\n")
    match parts.place:
        case "after_system":
            return f"SYS{parts.tools}"
        case "user":
            return f"{parts.tools}USER"
        case _:  # each template has its marks, or more of its words, before SYS
            return parts.tools


def parts_of(render: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """For each part, our text, and the template's text that must be equal to it or contain it."""
    dialect = dialect_of(render)
    calls, results = (
        message["content"] for message in to_messages(events_of(render), dialect=dialect)
    )
    turn = render["assistant"].strip()
    after = render["rendered"].partition(turn)[2]
    return {
        "calls": (calls, turn),
        "results": (results, after),
        "tools": (declared(dialect), render["rendered"]),
    }


def is_equal(part: str, ours: str, theirs: str) -> bool:
    return ours == theirs if part == "calls" else ours in theirs


@needs_renders
@pytest.mark.parametrize("part", ["calls", "results", "tools"])
@pytest.mark.parametrize("render", RENDERS, ids=lambda render: render["template"])
def test_text_between_the_marks_of_roles_equals_the_template_s(render, part):
    ours, theirs = parts_of(render)[part]
    [*differences] = (
        row for row in DIFFERENCES if (row.template, row.part) == (render["template"], part)
    )
    match differences:
        case []:
            assert is_equal(part, ours, theirs), (ours, theirs)
        case [difference]:
            assert not is_equal(part, ours, theirs), (
                f"remove this entry, the two renders are equal: {difference.reason}"
            )
            if difference.mend is not None:
                assert is_equal(part, ours, difference.mend(theirs)), (ours, theirs)
        case _:
            pytest.fail("the table has several rows for one part")


NOT_RECORDED = {
    "Kimi-K2-Thinking.jinja",
    "mistralai-Ministral-3-14B-Reasoning-2512.jinja",
    "tool_chat_template_granite.jinja",
}
"""Templates that do as those do, and are known by what they wrote alone."""

OUTSIDE = {
    "Mistral-Small-3.2-24B-Instruct-2506.jinja",
    "deepseek-ai-DeepSeek-V3.1.jinja",
    "mistralai-Mistral-Nemo-Instruct-2407.jinja",
    "moonshotai-Kimi-K2.jinja",
}
"""Recorded templates that declare tools in no message, or nowhere; `docs/prompts.md` says where."""


def of_qwen(render: dict[str, Any]) -> str:
    """A template that writes what Qwen3.5's wrote, which is not recorded itself."""
    words = render["rendered"].partition("<|im_start|>system\n")[2].partition("SYS")[0]
    before, after = re.split(r'\{"type": "function".*\}\n', words)
    return (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if loop.first and tools %}"
        f"{before}{{% for tool in tools %}}{{{{ tool | tojson }}}}{{{{ '\\n' }}}}{{% endfor %}}{after}"
        "{% endif %}{{ m.content or '' }}{% for call in m.tool_calls or [] %}"
        "<tool_call>\n<function={{ call.function.name }}>\n"
        "{% for name, value in call.function.arguments | items %}<parameter={{ name }}>{{ '\\n' }}"
        "{{ value }}{{ '\\n' }}</parameter>{{ '\\n' }}{% endfor %}</function>\n</tool_call>"
        "{% endfor %}<|im_end|>\n{% endfor %}"
    )


def template_of(render: dict[str, Any]) -> Path | str | None:
    """The template of a render, if it is recorded, or one that writes the same."""
    name = render["template"]
    if name == "Qwen3.5-4B.jinja":
        return of_qwen(render)
    # What Hermes 3 was taught of tools is what Hermes 2 Pro was.
    hermes = "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja"
    path = FOLDER / "chat_templates" / (hermes if "Hermes-2-Pro" in name else name)
    return path if path.exists() else None


@needs_renders
@pytest.mark.parametrize("render", RENDERS, ids=lambda render: render["template"])
def test_a_template_that_is_known_gives_its_own_words_byte_for_byte(render):
    template = template_of(render)
    if template is None or render["template"] in OUTSIDE:
        pytest.skip("the template is not recorded, or declares tools in no message")
    found = Dialect.detect(template)
    assert found is not None
    assert "prompts declare tools in the template's words" in found.evidence[-1]
    assert declared(found.dialect) in render["rendered"], declared(found.dialect)


TOOL = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}


@needs_renders
@pytest.mark.parametrize("render", RENDERS, ids=lambda render: render["template"])
def test_a_turn_of_the_template_is_read_as_a_message_of_the_chat_api_and_written_again(render):
    dialect, turn = dialect_of(render), render["assistant"].strip()
    mends = {row.template: row.mend for row in DIFFERENCES if row.part == "calls"}
    if not render["prototype_reads_it"]:  # nothing reads its calls, since it does not escape quotes
        turn = mends.pop(render["template"])(turn)

    def reader() -> ChatReader:
        numbers = count()
        return ChatReader(
            dialect, [TOOL], ids=lambda: f"call_{next(numbers)}", begins_in_think=False
        )

    message = reader().read(turn, "stop")
    for cut in range(len(turn) + 1):
        cut_reader = reader()
        deltas = [*cut_reader.feed(turn[:cut]), *cut_reader.feed(turn[cut:])]
        assert joined([*deltas, *cut_reader.finish("stop")[0]]) == message, cut
    calls = [
        {"name": "add", "args": json.loads(call["function"]["arguments"])}
        for call in message["tool_calls"]
    ]
    rows = [row for row in events_of(render) if row["type"] != "result"]
    texts = {row["type"]: row["content"] for row in rows}
    assert [(call["name"], call["args"]) for call in calls] == [
        (made["name"], made["args"])
        for made in (json.loads(row["content"]) for row in rows if row["type"] == "call")
    ]
    assert (message["content"] or "").strip() == texts.get("respond", "")
    assert message.get("reasoning_content", "").strip() == texts.get("think", "")

    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": f"RES{number}"}
        for number, call in enumerate(message["tool_calls"], 1)
    ]
    writer = ChatWriter(dialect, [TOOL])
    _, answer, shown = writer.write([message, *results])
    written = answer["content"]
    if "CALL_ID" not in turn:  # the template writes no ids, and these were made here
        written = re.sub(r"\[CALL_ID\]call_\d", "", written)
    assert (written == turn) is (render["template"] not in mends)
    again = writer.read([answer, shown])
    assert [row["content"] for row in again[1:]] == [row["content"] for row in results]
    assert [call["function"] for call in again[0]["tool_calls"]] == [
        call["function"] for call in message["tool_calls"]
    ]


@needs_renders
def test_every_template_of_the_table_is_in_the_recording():
    assert {row.template for row in DIFFERENCES} <= {render["template"] for render in RENDERS}


PAGE = Path(__file__).resolve().parents[2] / "docs" / "prompts.md"


@needs_renders
def test_the_page_says_of_each_template_whether_its_words_are_ours_too():
    rows = [
        re.split(r" *\| *", line)[1:5]
        for line in PAGE.read_text("utf-8").partition("| template |")[2].splitlines()[2:26]
    ]
    differ = {row.template for row in DIFFERENCES if row.part == "tools"}
    found = {(render["template"], dialect_of(render)): render for render in RENDERS}
    assert {(f"{name}.jinja", dialect.strip("`")) for name, dialect, *_ in rows} == set(found)
    for name, dialect, _, ours in rows:
        parts = prompt_parts(TOOLS, None, None, dialect.strip("`"))
        is_worded = "# Calls" not in parts.calls and f"{name}.jinja" not in differ
        assert ours.startswith("byte for byte") == is_worded, name
        is_outside = not ours.startswith(("byte for byte", "detected: byte for byte"))
        assert is_outside == (f"{name}.jinja" in OUTSIDE | NOT_RECORDED), name
