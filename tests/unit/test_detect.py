"""The dialect of a model, told from its chat template by what the template writes."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from cogency_rs import Dialect, ToolCall, system_prompt
from cogency_rs.context.assembly import prompt_parts
from cogency_rs.errors import ConfigError
from support.call_examples import in_block
from support.recordings import FOLDER
from support.tiny_model import tiny_model
from support.tools import FunctionTool, nothing

# Templates in the manner of several models, as short as can be.
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n"
HERMES = (
    CHATML
    + "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>\n"
    + "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\n</tool_call>"
    + "{% endfor %}<|im_end|>\n{% endfor %}{% if tools %}{% endif %}"
)
CODER = (
    CHATML
    + "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<tool_call>\n"
    + "<function={{ c.function.name }}>\n{% for key, value in c.function.arguments | items %}"
    + "<parameter={{ key }}>\n{{ value }}\n</parameter>\n{% endfor %}</function>\n</tool_call>"
    + "{% endfor %}<|im_end|>\n{% endfor %}{% if tools %}{% endif %}"
)
# Arguments as text, and no content next to calls, or it raises.
MISTRAL = (
    "{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }}[/INST]"
    "{% elif m.tool_calls %}{% if m.content is not none %}{{ raise_exception('no content') }}{% endif %}"
    '[TOOL_CALLS] [{% for c in m.tool_calls %}{"name": "{{ c.function.name }}", "arguments": '
    '{{ c.function.arguments + \'\' }}, "id": "{{ c.id }}"}{% endfor %}]</s>'
    "{% elif m.role == 'tool' %}[TOOL_RESULTS] {{ m.content }}[/TOOL_RESULTS]"
    "{% else %} {{ m.content }}</s>{% endif %}{% endfor %}{% if tools %}{% endif %}"
)
PLAIN = CHATML + "{{ m.content }}<|im_end|>\n{% endfor %}"


@pytest.mark.parametrize(
    ("template", "name"),
    [(HERMES, "hermes"), (CODER, "qwen3-coder"), (MISTRAL, "mistral")],
    ids=["hermes", "qwen3-coder", "mistral"],
)
def test_what_the_template_writes_decides(template, name):
    found = Dialect.detect(template)
    assert found is not None
    assert found.dialect == Dialect(name)
    assert f"rendered with one tool and one call, {name} reads the call" in found.evidence
    assert repr(found).startswith(f'Detection("{name}", evidence=[')


NAMES = (
    json.loads((FOLDER / "chat_templates" / "index.json").read_text()) if FOLDER.is_dir() else {}
)


@pytest.mark.skipif(not NAMES, reason="there are no recorded chat templates")
@pytest.mark.parametrize("template", sorted(NAMES) or ["none"])
def test_the_templates_of_models(template):
    found = Dialect.detect(FOLDER / "chat_templates" / f"{template}.jinja")
    name = NAMES[template]
    if name in Dialect.presets():
        assert found is not None
        assert found.dialect.name == name
        return
    # No preset reads its calls; or it has no calls; or it was not known which preset does.
    answers = {None: [None, "hermes"], "nemotron (new, or an existing form)": ["nemotron-deci"]}
    assert (found and found.dialect.name) in answers.get(name, [None])
    assert found is None or found.dialect.name != "hermes" or found.doubts


SAME = {
    "GLM-4.6",
    "LFM2-8B-A1B",
    "MiniMax-M2",
    "MiniMax-M3",
    "Qwen-Qwen3-0.6B",
    "Qwen3-Coder",
    "Reka-Edge",
    "deepseek-ai-DeepSeek-V3.2",
    "deepseek-ai-DeepSeek-V4",
    "ibm-granite-granite-4.0",
    "inclusionai-ling-3.0-flash",
    "meta-llama-Llama-3.1-8B-Instruct",
    "openai-gpt-oss-120b",
    "poolside-Laguna-XS-2.1",
    "tencent-Hy3",
}
"""Templates whose words are those of their dialect."""


@pytest.mark.skipif(not NAMES, reason="there are no recorded chat templates")
@pytest.mark.parametrize("template", sorted(SAME))
def test_the_words_of_a_dialect_are_those_of_its_template(template):
    found = Dialect.detect(FOLDER / "chat_templates" / f"{template}.jinja")
    assert found is not None
    assert found.dialect == Dialect(NAMES[template])
    assert any("the template's words" in each for each in found.evidence)


# Nothing but turns: the content is added to texts, roles must alternate, contents are lists of parts.
ADDS = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'}}"
    "{% endfor %}"
)
ALTERNATE = (
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
)
TURNS = {
    "prints": PLAIN,
    "adds": ADDS,
    "adds, like Gemma": ALTERNATE
    + "{{ '<start_of_turn>' + m['role'] + '\n' + m['content'] + '<end_of_turn>\n' }}{% endfor %}",
    "adds, like Llama 2": ALTERNATE
    + "{{ '[INST] <<SYS>>\n<</SYS>>\n\n' + m['content'] + ' [/INST]' }}{% endfor %}",
    "adds parts": "{% for m in messages %}{{ '[INST] <<SYS>>\n<</SYS>>' + m['content'][0]['text'] }}{% endfor %}",
    "strips, like Command R": "{% for m in messages %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' "
    "+ m['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}{% endfor %}",
}


@pytest.mark.parametrize("name", TURNS)
def test_a_template_without_tools_is_told_hermes_in_our_words_and_says_so(name):
    found = Dialect.detect(TURNS[name])
    assert found is not None
    assert found.dialect.name == "hermes"
    assert "Write calls exactly like this" in system_prompt([LOOK], dialect=found.dialect)
    assert found.evidence == [
        "the template writes neither tools nor calls, so the dialect must be given"
    ]
    assert found.doubts == ["the model may not have been taught calls at all"]


def test_marks_of_turns_do_not_tell_the_dialect_of_a_template_that_speaks_of_tools():
    turns = ALTERNATE + (
        "{% if m.role == 'tool' %}{% endif %}"
        "{{ '<start_of_turn>' + m['role'] + '\n' + m['content'] + '<end_of_turn>\n' }}{% endfor %}"
    )
    assert Dialect.detect(turns) is None  # it is not rendered with a call, which it may write
    calls = turns.replace("{% endfor %}", "{% if no %}<start_function_call>{% endif %}{% endfor %}")
    found = Dialect.detect(calls)
    assert found is not None
    assert found.dialect == Dialect("functiongemma")


LISTS = (
    CHATML
    + "{% if loop.first %}{{ (tools or []) | tojson }}{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
)


def test_a_template_that_lists_tools_is_not_one_that_writes_neither():
    found = Dialect.detect(LISTS)
    assert found is not None
    assert found.dialect.name == "hermes"
    assert found.evidence == ["the template lists tools and writes no calls"]
    assert found.doubts == ["the calls that the model was taught are not in the template"]


@pytest.mark.parametrize("variable", ["tools", "xml_tools"])
def test_a_template_that_lists_tools_and_says_how_to_call_declares_them_in_its_words(variable):
    told = (
        "CALL THESE\n{% for t in VARIABLE %}* {{ t.function | tojson }}\n{% endfor %}in <tool_call>"
    )
    template = (
        CHATML
        + "{{ m.content }}{% if loop.first and VARIABLE %}"
        + told
        + "{% endif %}<|im_end|>\n{% endfor %}"
    ).replace("VARIABLE", variable)
    found = Dialect.detect(template)
    assert found is not None
    assert found.dialect.name == "hermes"
    assert found.evidence == [
        "the template lists tools and writes no calls",
        "what it says of tools has the mark <tool_call> of hermes",
        "prompts declare tools in the template's words, after the system message's text",
    ]
    prompt = system_prompt([LOOK], dialect=found.dialect)
    assert "CALL THESE\n* {" in prompt
    assert prompt.endswith("in <tool_call>")


# The white space of calls

MIMO = CODER.replace("}>\n{{ value }}\n</", "}>{{ value }}</")
GLM45 = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
    "\n<tool_call>{{ c.function.name }}\n{% for key, value in c.function.arguments | items %}"
    "<arg_key>{{ key }}</arg_key>\n<arg_value>{{ value }}</arg_value>\n{% endfor %}</tool_call>"
    "{% endfor %}{% endfor %}{% if tools %}{% endif %}"
)
# A line break after a block's tag is trimmed, the others are the text's.
GLM47 = GLM45.replace("}}\n{% for", "}}{% for").replace(">\n<arg_value>", "><arg_value>")
GLM47 = GLM47.replace("</arg_value>\n", "</arg_value>")


@pytest.mark.parametrize(
    ("template", "name"),
    [(CODER, "qwen3-coder"), (MIMO, "mimo"), (GLM45, "glm45"), (GLM47, "glm47")],
    ids=["qwen3-coder", "mimo", "glm45", "glm47"],
)
def test_line_breaks_within_calls_tell_dialects_with_the_same_marks_apart(template, name):
    found = Dialect.detect(template)
    assert found is not None
    assert found.dialect == Dialect(name)
    assert f"the template writes it as {name} does" in found.evidence


def test_calls_without_line_breaks_of_no_preset_are_written_back_without_them():
    found = Dialect.detect(HERMES.replace("<tool_call>\n", "<tool_call>").replace("\n</", "</"))
    assert found is not None
    told = "the template writes it as hermes does, but without line breaks, and so do prompts"
    assert told in found.evidence
    assert found.dialect != Dialect("hermes")
    call = ToolCall("look", {"at": "x"})
    assert found.dialect.write_calls([call]) == (
        '<tool_call>{"name": "look", "arguments": {"at": "x"}}</tool_call>'
    )


def test_a_template_that_cannot_be_rendered_is_told_by_its_marks():
    broken = "{% for tool in tools %}<|tool_calls_section_begin|>{{ 1 / 0 }}{% endfor %}"
    found = Dialect.detect(broken)
    assert found is not None
    assert found.dialect == Dialect("kimi-k2")
    assert "<|tool_calls_section_begin|>" in found.evidence[0]
    assert found.doubts[0].startswith("it was not rendered (invalid operation in line 1")


def test_calls_that_no_preset_reads_have_no_dialect():
    template = HERMES.replace("<tool_call>", "<<<<CALL ").replace("</tool_call>", " LLAC>>>>")
    assert Dialect.detect(template) is None


# In which words tools are declared

TOOLS = "{% if tools %}{% for t in tools %}* {{ t.function | tojson }}\n{% endfor %}That is all.{% endif %}"


def declaring(
    *, first: str = "", before: str = "", after: str = "", question: str = "", tools: str = TOOLS
) -> str:
    """A template that declares tools at one of these places, each marked with a T."""
    text = (
        f"{first}{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n"
        f"{{% if m.role == 'system' %}}{before}{{% elif loop.index == 2 %}}{question}{{% endif %}}"
        f"{{{{ m.content or '' }}}}{{% if m.role == 'system' %}}{after}{{% endif %}}"
        "{% for c in m.tool_calls or [] %}<tool_call>\n"
        "{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\n</tool_call>"
        "{% endfor %}<|im_end|>\n{% endfor %}"
    )
    return text.replace("T:", f"{{% if tools %}}CALL THESE\n{{% endif %}}{tools}")


LOOK = FunctionTool("look", nothing, "Looks.", {"at": {"type": "string"}})
DECLARED = (
    'CALL THESE\n* {"name": "look", "description": "Looks.", "parameters": {"type": "object", '
    '"properties": {"at": {"type": "string"}}, "required": ["at"]}}\nThat is all.'
)


@pytest.mark.parametrize(
    ("place", "template"),
    [
        ("after_system", declaring(after="T:")),
        ("before_system", declaring(before="T:")),
        (
            "own_system",
            declaring(first="{% if tools %}<|im_start|>system\nT:<|im_end|>\n{% endif %}"),
        ),
        ("user", declaring(question="T:")),
    ],
    ids=["after_system", "before_system", "own_system", "user"],
)
def test_tools_are_declared_as_the_template_does(place, template):
    found = Dialect.detect(template)
    assert found is not None
    assert found.dialect.name == "hermes"
    assert found.evidence[-1].startswith("prompts declare tools in the template's words, ")
    parts = prompt_parts([LOOK], None, None, found.dialect)
    assert (parts.place, parts.tools) == (place, DECLARED)


@pytest.mark.parametrize(
    ("where", "template"),
    [
        ("nowhere", declaring(tools="")),
        (
            "outside of the messages' texts",
            declaring(first="{% if tools %}<|im_start|>tools\nT:<|im_end|>\n{% endif %}"),
        ),
        (
            "in a form that no prompt of ours has",
            declaring(
                after="T:", tools="{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
            ),
        ),
    ],
    ids=["nowhere", "outside", "another form"],
)
def test_where_no_prompt_can_the_dialect_s_words_are_taken(where, template):
    found = Dialect.detect(template)
    assert found is not None
    assert found.dialect == Dialect("hermes")
    assert (
        f"the template declares tools {where}: prompts declare them as for hermes" in found.doubts
    )


def test_a_system_message_that_is_always_there_is_one_of_their_own():
    found = Dialect.detect(declaring(first="<|im_start|>system\nAlways. T:<|im_end|>\n"))
    assert found is not None
    parts = prompt_parts([LOOK], None, None, found.dialect)
    assert (parts.place, parts.tools) == ("own_system", f"Always. {DECLARED}")
    assert "without tools, the template writes that message, too" in found.doubts


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "str"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": ["string", "integer"]}, "Union[str,int]"),
        ({"type": "object"}, "dict"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        # What the template writes of these is not a type, and what the model was taught.
        ({"type": "array", "items": {"type": "string"}}, "list[Union[]]"),
        ({"anyOf": [{"type": "string"}]}, "Union[]"),
    ],
    ids=repr,
)
def test_hermes_templates_describe_tools_as_python_does(schema, kind):
    hermes = Dialect("hermes")
    prompt = hermes.to_dict()["prompt"]
    form = {**prompt["tools"], "layout": "docstring"}
    dialect = hermes.replace(prompt={**prompt, "tools": form, "wording": None})
    takes = {"type": "object", "properties": {"x": schema}}
    prompts = system_prompt([FunctionTool("f", nothing, "D.", takes)], dialect=dialect)
    described = f"f(x: {kind}) - D.\n\n    Args:\n        x({kind}): "
    function = f'{{"type": "function", "function": {{"name": "f", "description": "{described}"'
    assert f'{function}, "parameters": {{"type": "object"' in prompts


def test_what_a_template_says_elsewhere_is_a_doubt():
    more = declaring(first="{% if tools %}Environment: ipython\n{% endif %}", after="T:")
    found = Dialect.detect(more)
    assert found is not None
    assert prompt_parts([LOOK], None, None, found.dialect).tools == DECLARED
    assert "for tools, the template also writes what no message can" in found.doubts


def test_other_marks_make_the_template_s_words_wrong():
    found = Dialect.detect(declaring(after="T:"))
    assert found is not None
    other = in_block(found.dialect, "<use>{call}</use>")
    assert "CALL THESE" not in system_prompt([LOOK], dialect=other)
    assert "CALL THESE" in system_prompt([LOOK], dialect=found.dialect.replace(name="mine"))


# Where the template is


def gguf(template: str, *, keys: int = 1, length: int | None = None) -> bytes:
    """The head of a file of a model, with one fact before the template."""
    name, text = b"tokenizer.chat_template", template.encode()
    tokens = struct.pack("<IQ", 8, 2) + b"".join(struct.pack("<Q", 3) + b"abc" for _ in range(2))
    fact = struct.pack("<Q", 5) + b"tokens"[:5] + struct.pack("<I", 9) + tokens
    size = len(text) if length is None else length
    own = struct.pack("<Q", len(name)) + name + struct.pack("<IQ", 8, size) + text
    return b"GGUF" + struct.pack("<IQQ", 3, 0, keys + 1) + fact + own


def config(template: Any) -> str:
    return json.dumps(
        {"chat_template": template, "bos_token": "<s>", "eos_token": {"content": "</s>"}}
    )


SOURCES = {
    "template.jinja": HERMES.encode(),
    "tokenizer_config.json": config(HERMES).encode(),
    "several.json": config(
        [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": HERMES}]
    ).encode(),
    "model.gguf": gguf(HERMES),
    "made.gguf": tiny_model({"": "Hello."}),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("is_text", [False, True], ids=["a path", "an open text"])
def test_each_kind_of_file(tmp_path, name, is_text):
    path = tmp_path / name
    path.write_bytes(SOURCES[name])
    if is_text and path.suffix == ".json":
        found = Dialect.detect(json.loads(path.read_text()))
    elif is_text and path.suffix == ".jinja":
        found = Dialect.detect(path.read_text())
    else:
        found = Dialect.detect(path)
    assert found is not None
    assert found.dialect.name == "hermes"


@pytest.mark.parametrize(
    "files",
    [
        {"chat_template.jinja": HERMES, "tokenizer_config.json": config(None)},
        {"tokenizer_config.json": config(HERMES)},
        {"chat_template.json": config(HERMES), "tokenizer_config.json": "{}"},
        {"b.gguf": gguf(HERMES).decode("latin-1"), "a.txt": "no template"},
    ],
    ids=["a template and a configuration", "a configuration", "a template as JSON", "a model"],
)
def test_a_folder(tmp_path, files):
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="latin-1", newline="")
    found = Dialect.detect(tmp_path)
    assert found is not None
    assert found.evidence[0] == "rendered with one tool and one call, hermes reads the call"


# What is not a template, or means no good


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, r"cannot be read: No such file"),
        (b"", "has no chat template"),
        (b"{}", "has no chat template"),
        (b"just a text", "has no chat template"),
        (config(None).encode(), "has no chat template"),
        (config([{"name": "x"}]).encode(), "has no chat template"),
        (b"GGUF", "cannot be read: failed to fill whole buffer"),
        (gguf(HERMES)[:-1], "cannot be read: unexpected end of file"),
        (gguf(HERMES)[:60], "cannot be read: "),
        (gguf(HERMES, length=1 << 60), "a longer text than a model's file can have"),
        (gguf(HERMES, length=1 << 19), "cannot be read: unexpected end of file"),
        (gguf(HERMES, keys=1 << 40), "more keys than a model's file can have"),
        (gguf(HERMES, keys=2), "cannot be read: failed to fill whole buffer"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "a version that is not 2 or 3"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "has no chat template"),
    ],
    ids=repr,
)
def test_a_file_without_a_template(tmp_path, content, words):
    path = tmp_path / "source"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        Dialect.detect(path)


def test_a_folder_without_a_template(tmp_path):
    with pytest.raises(ConfigError, match=r"has no chat template; a folder has one in"):
        Dialect.detect(tmp_path)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("model.gguf", r"has no tag; give the path of a file as a pathlib\.Path"),
        ({}, r"this tokenizer_config\.json has no chat_template"),
        ({"chat_template": object()}, r"this is not a tokenizer_config\.json"),
        (5, "source must be the text of a chat template"),
        (None, "source must be the text of a chat template"),
    ],
    ids=["a path as text", "an empty configuration", "no JSON", "a number", "nothing"],
)
def test_what_is_no_source(source, words):
    with pytest.raises((ConfigError, TypeError), match=words):
        Dialect.detect(source)


DEEP = 5000
HOSTILE = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "doubles": "{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "repeats a text": "{{ 'a' * 99999999 }}",
    "repeats a list": "{{ [1] * 3000000 }}",
    "repeats a list of lists": "{% set a = [0] * 99999 %}{% set b = [a] * 99999 %}{{ b }}",
    "repeats it as JSON": "{% set a = [0] * 99999 %}{% set b = [a] * 99999 %}{{ b | tojson }}",
    "joins it": "{% set a = [0] * 99999 %}{% set b = [a] * 99999 %}{{ b ~ b }}",
    "formats a number": "{{ '{:9223372036854775807}'.format(1) }}",
    "formats it widely": "{{ '{:900000000}'.format(1) }}{{ '{:0>900000000}'.format('x') }}",
    "formats many numbers": "{{ ('{:999}' * 9999).format(*range(9999)) }}{{ ('{0:999}' * 99999).format(1) }}",
    "formats a text many times": "{% set t = 'x' * 99999 %}{{ ('{0}' * 99999).format(t) }}",
    "formats as C does": "{{ '%999999999d' | format(1) }}",
    "sums lists": "{{ ([[1] * 1000] * 100000) | sum(start=[]) }}",
    "computes before it runs": "{{ ([1] * 100000000) ~ 'a' }}{{ [1] * 99999999 == [1] * 99999999 }}",
    "doubles a list": "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor %}DO",
    "doubles a map": "{% set n = namespace() %}{% for i in range(60) %}{% set n.l = {1: n.l, 2: n.l} %}{% endfor %}DO",
    "adds to a list": "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}DO",
    "nests a list": "{% set n = namespace(l=[1]) %}{% for i in range(99999) %}{% set n.l = [n.l] %}{% endfor %}DO",
    "nests namespaces": "{% set n = namespace() %}{% for i in range(9999) %}{% set n.l = namespace(l=n) %}{% endfor %}",
    "is in itself": "{% set n = namespace() %}{% set n.l = n %}{% set n.k = [n] %}{{ n }}",
    "joins with a long text": "{{ range(99999) | join('x' * 99999) }}{{ ('x' * 99999).join(range(99999)) }}",
    "replaces nothing": "{% set t = 'x' * 99999 %}{{ t | replace('', t) }}{{ t.replace('', t) }}",
    "indents widely": "{{ ('\n' * 99999) | indent(999999, true, true) }}",
    "writes JSON widely": "{{ range(99999) | list | tojson(indent=9999999, separators=('x' * 99999, 'y')) }}",
    "trims quadratically": "{% set t = 'ab' * 99999 %}{{ t.strip(t) }}{{ t | trim(t) }}",
    "sorts and sorts": "{% for i in range(9999) %}{{ range(9999) | sort | unique | list | length }}{% endfor %}",
    "slices and slices": "{% set n = namespace(l='xyz') %}{% for i in range(999) %}{% set n.l = n.l[0:] %}{% endfor %}",
    "maps and maps": "{% for i in range(9999) %}{{ range(9999) | map('string') | join | length }}{% endfor %}",
    "writes many marks": HERMES.replace(
        "<tool_call>", "{% for i in range(9999) %}<{% endfor %}<tool_call>"
    ),
    "calls with many marks": HERMES.replace(
        "</tool_call>", "{% for i in range(9999) %}<tool_call>{% endfor %}"
    ),
    "raises in the end": "{% for i in range(30000) %}{% endfor %}{{ raise_exception('no') }}",
    "has many operators": ("{{ " + "1+" * 4000 + "x" + "+1" * 4000 + " }}") * 15,
    "calls itself": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "imports": "{% import 'x' as y %}{% include 'z' %}",
    "is long": "x" * 10_000_000 + "{{ 1 }}",
    "has a long tag": "{{ " + "1+" * 9_000_000 + "1 }}",
    "signs": "{{ " + "-" * DEEP + "1 }}",
    "negates": "{{ " + "not " * 3000 + "1 }}",
    "adds": "{{ " + "1+" * DEEP + "1 }}",
    "asks for attributes": "{{ a" + ".a" * DEEP + " }}",
    "brackets": "{{ " + "[" * DEEP + " }}",
    "opens": "{% if 1 %}" * DEEP,
    "goes on": "{% if 1 %}" + "{% elif 1 %}" * 9999 + "{% endif %}",
}


@pytest.mark.parametrize("template", HOSTILE.values(), ids=HOSTILE)
def test_a_template_that_means_no_good_is_left_in_time(template):
    began = monotonic()
    found = Dialect.detect(template + "{% if tools %}{% endif %}")
    assert found is None or found.doubts
    assert monotonic() - began < 60  # each takes about a second at most


USED = [
    "{{ n.l }}",
    "{{ n.l ~ n.l }}",
    "{{ n.l | tojson }}",
    "{{ n.l == n.l }}",
    "{{ n.l in [n.l] }}",
    "{{ n.l | string }}",
    "{% set t %}{{ n.l }}{% endset %}",
]
IN_LITTLE_MEMORY = """
import json, os, resource, sys
from cogency_rs import Dialect
templates = json.loads(sys.stdin.read())
Dialect.detect(templates[0])
used = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
for template in templates:
    print(template[:200], file=sys.stderr)
    found = Dialect.detect(template)
    assert found is None or found.doubts, found
    assert len(os.listdir("/proc/self/task")) == 1, "a thread is left"
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is bounded on Linux")
def test_a_template_that_means_no_good_takes_little_memory_and_leaves_no_thread():
    templates = [
        f"{template.replace('DO', use)}{{% if tools %}}{{% endif %}}"
        for template in HOSTILE.values()
        for use in (USED if "DO" in template else USED[:1])
    ]
    given = json.dumps(templates)
    done = subprocess.run(
        [sys.executable, "-c", IN_LITTLE_MEMORY], input=given, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize(
    ("used", "written"),
    [
        ("{{ [1, 'a', (2, 3)] ~ {'b': none} }}", "[1, 'a', (2, 3)]{'b': None}"),
        ("{{ 'a' ~ (1 + 2) }}{{ 2 * 3 - 1 }}{{ -(4) }}{{ 7 // 2 }}{{ 7 % 4 }}", "a35-433"),
        ("{{ [1] + [2] }}{{ [1, 2] * 2 }}{{ 'ab' * 2 }}", "[1, 2][1, 2, 1, 2]abab"),
        ("{{ [1, 2, 3][1:] }}{{ 'abc'[::-1] }}{{ [1, 2][-1] }}{{ {'a': 5}['a'] }}", "[2, 3]cba25"),
        (
            "{{ 1 == 1.0 }}{{ 'a' != 'b' }}{{ 2 in [1, 2] }}{{ 'z' not in 'abc' }}",
            "TrueTrueTrueTrue",
        ),
        ("{{ 1 < 2 and 2 <= 2 or 3 > 4 }}{{ not (3 >= 4) }}", "TrueTrue"),
        ("{{ x is defined }}{{ 'a' is string }}{{ 3 is odd }}{{ 1 is eq 1 }}", "FalseTrueTrueTrue"),
        (
            "{{ ['b', 'a'] | sort | join('-') }}{{ ' x ' | trim }}{{ 'ab' | replace('a', 'xx') }}",
            "a-bxxxb",
        ),
        ("{{ [{'a': 1}, {'a': 2}] | map(attribute='a') | list }}", "[1, 2]"),
        ("{{ [{'a': 1}, {}] | selectattr('a') | list | length }}", "1"),
        ("{{ {'b': 1, 'a': 2} | dictsort | first }}", "('a', 2)"),
        (
            "{{ 'x,y'.split(',') }}{{ '{}-{:>3}'.format('a', 7) }}{{ ' a'.strip() }}",
            "['x', 'y']a-  7a",
        ),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{{ loop.last }}{% endfor %}", "a1True"),
        ("{% for x in [1, 2, 3] if x != 2 %}{{ x }}{% endfor %}", "13"),
        ("{% set n = namespace(a=1) %}{% set n.a = n.a + 1 %}{{ n.a }}", "2"),
        (
            "{% macro f(x, y=2) %}{{ x }}{{ y ~ '!' }}{% endmacro %}{{ f(1) }}{{ f(x=3, y=[4]) }}",
            "12!3[4]!",
        ),
        ("{% set a, b = 1, [2] %}{{ a }}{{ b }}{{ 'yes' if a else 'no' }}", "1[2]yes"),
        (
            "{% for x in [1, [2]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
            "12",
        ),
        ("{% filter upper %}a{% endfilter %}{% set t %}b{% endset %}{{ t }}", "Ab"),
        (
            "{{ dict(a=1) }}{{ range(3) | list }}{{ none | default('d', true) }}",
            "{'a': 1}[0, 1, 2]d",
        ),
        ("{{ 'a\nb' | indent(2) }}{{ 2.567 | round(1) }}{{ [3, 1] | min }}", "a\n  b2.61"),
    ],
)
def test_what_a_template_may_do_it_does_as_jinja_does(used, written):
    """What it computes decides whether it writes the call."""
    template = HERMES.replace(
        "<tool_call>",
        "{% set written %}"
        + used
        + "{% endset %}{{ '<tool_call>' if written == WRITTEN else written }}",
    )
    quoted = json.dumps(written)
    found = Dialect.detect(template.replace("WRITTEN", quoted))
    assert found is not None
    assert found.evidence[0] == "rendered with one tool and one call, hermes reads the call", used


def test_what_cannot_be_rendered_is_told_by_its_marks_and_says_so():
    found = Dialect.detect("{{ 1 / 0 }}[TOOL_CALLS]{% for x in y %}[AVAILABLE_FUN]{% endfor %}")
    assert found is None or any("rendered" in doubt for doubt in found.doubts)
    assert Dialect.detect("{% import 'x' as y %}{{ y.z }}") is None


@pytest.mark.parametrize(
    "fact",
    [
        struct.pack("<IQ", 8, 1 << 60),
        struct.pack("<IIQ", 9, 8, 1 << 60),
        struct.pack("<IIQ", 9, 0, 1 << 60),
        struct.pack("<IIQ", 9, 9, 1 << 60),
    ],
    ids=["a text", "texts", "bytes", "arrays"],
)
def test_a_head_that_lies_about_its_sizes_is_left_in_time(tmp_path, fact):
    path = tmp_path / "large.gguf"
    key = b"lie"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQQ", 3, 0, 2, len(key)) + key + fact)
        file.truncate(100 << 30)
    with pytest.raises(ConfigError, match=r"longer head|kind that GGUF does not have"):
        Dialect.detect(path)


def test_a_large_file_is_read_by_its_head_alone(tmp_path):
    path = tmp_path / "large.gguf"
    with path.open("wb") as file:
        file.write(gguf(HERMES))
        file.truncate(100 << 30)  # a hole of a hundred gigabytes
    found = Dialect.detect(path)
    assert found is not None
    assert found.dialect.name == "hermes"


def test_the_options_of_json_are_those_of_python():
    """A template may write JSON with the options of `json.dumps`, and the date of the day."""
    shown = (
        "{% set value = {'b': [1, 2.5, true, none], 'a': 'é<&\"'} %}"
        "{{ value | tojson(indent=2, sort_keys=true, ensure_ascii=true) }}"
        "{{ value | tojson(separators=(',', ':')) }}{{ strftime_now('%d') }}"
    )
    found = Dialect.detect(HERMES + shown)
    assert found is not None
    assert not [doubt for doubt in found.doubts if "rendered" in doubt]


def test_tags_that_mark_what_is_trained_on_mean_nothing():
    template = HERMES.replace("{{ m.content", "{%- generation -%}{{ m.content").replace(
        "<|im_end|>", "{% endgeneration %}<|im_end|>"
    )
    found = Dialect.detect(template)
    assert found is not None
    assert found.dialect.name == "hermes"


def test_a_path_may_be_a_path_in_any_form(tmp_path):
    class Where:
        def __fspath__(self) -> str:
            return str(tmp_path / "template.jinja")

    Path(Where()).write_text(HERMES)
    found = Dialect.detect(Where())
    assert found is not None


def test_halves_of_tags_do_not_end_the_thread_that_reads_them(capfd):
    for parts in product(("{", "%", "}", "-", "generation", "#"), repeat=4):
        Dialect.detect(HERMES + "".join(parts))
    assert "panicked" not in capfd.readouterr().err
