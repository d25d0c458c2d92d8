"""Calls that we read and others do not."""

from __future__ import annotations

from ..agreement import Outcome
from .row import Difference, calls, ids

MORE: tuple[Difference, ...] = (
    calls(
        Outcome.MORE,
        "tool_that_is_not_offered",
        expected="A call of a tool that was not offered is dropped.",
        others="Most pass it on.",
        ours="It is a call, whose result lists the known tools.",
        why="The model can only correct what it is told.",
        cases=ids(
            inkling="2d8b36448c df32500e99",
            json_plain="dd4d585002 cb037d4424 61bd5d79e9 6ae78d194c",
            lfm2="f2c9c986a0",
            llama3_json="080ae2a424",
            minimax_m2="8169fbb773 0da6b8d22b",
            mistral="bff6f3df94",
            muse_glimmer="b63d548075",
            pythonic="a1d0a5bff1",
            qwen3_coder="d647a3c45a",
        ),
    ),
    calls(
        Outcome.MORE,
        "calls_lost_in_a_stream",
        expected="Calls that arrive together are lost, in a test of single chunks.",
        others="They read all of them.",
        ours="All of them are read.",
        why="How a text is cut into chunks does not matter.",
        cases=ids(
            deepseek_v3="8011ede5e0",
            hermes="2a62b84f74 3904da4395",
            mistral="84ecf454d3",
        ),
    ),
    calls(
        Outcome.MORE,
        "two_texts_in_one",
        expected=(
            "The arguments of several calls are one text: the test reads one text after the other with one "
            "parser."
        ),
        others="They read the calls one by one.",
        ours="Each call has its own arguments.",
        why="The expectation comes from the way in which the test collects calls.",
        cases=ids(
            glm45="26c56ccf65",
            granite_thinking="42c1747320 657c261dff",
            kimi_k2="a83cb85556",
            minimax_m2="3f6baedfc2",
            muse_glimmer="eed1cddd83",
            qwen3_coder="272e4420eb 5da3e9c614 f1f4efbc5b",
            step3p5="af52c37555",
        ),
    ),
    calls(
        Outcome.MORE,
        "section_without_its_closer",
        expected="Complete calls are dropped if the mark that closes their section is missing.",
        others="They are read by half of the parsers.",
        ours="They run, unless the text is known to be cut.",
        why="Servers leave out the mark at which they stop.",
        cases=ids(
            deepseek_v31="97c876786e",
            deepseek_v4_dsml="3bfad012f6",
            k2_horizon="539f75e80c",
        ),
    ),
    calls(
        Outcome.MORE,
        "call_without_its_closer",
        expected="A call without its closing mark takes the arguments of the next one.",
        others="They disagree.",
        ours="Leniently it ends where the next one begins on a line of its own.",
        why="Each of its arguments is closed, so that nothing of it can be missing.",
        lenient=ids(
            deepseek_v4_dsml="975b2dfa24",
        ),
    ),
    calls(
        Outcome.MORE,
        "id_without_a_number",
        expected="A call whose id is not `functions.NAME:NUMBER` is dropped.",
        others="They drop it.",
        ours="It is a call.",
        why="Its name is clear, and a call that is dropped silently is never answered.",
        cases=ids(
            kimi_k2="6989457a64 dfa1dc4c8b 0ff8426235 64b71306bc",
        ),
    ),
    calls(
        Outcome.MORE,
        "message_without_its_end",
        expected="A call whose message is not ended by its mark is dropped, as is one that the next message cuts off.",
        others="They drop it.",
        ours="It runs if its arguments are complete, unless the text is known to be cut.",
        why="Servers leave out the mark at which they stop.",
        cases=ids(
            beam_rfl="59f9110246 c5162d4fa5 e36cab9bb0",
            gemma4="5e9a81e30d",
            harmony="0b64369b3b c663e336ea 14f10440e1",
            inkling="d1ad829708",
        ),
    ),
    calls(
        Outcome.MORE,
        "recipient_that_is_not_a_function",
        expected="A message to a recipient that is not a function is dropped.",
        others="They drop it.",
        ours="It is a call, whose result lists the known tools.",
        why="The model can only correct what it is told.",
        cases=ids(
            harmony="bd39981271",
        ),
    ),
    calls(
        Outcome.MORE,
        "call_without_a_head",
        expected="A call outside of any message is text.",
        others="They disagree.",
        ours="It is a call.",
        why="The marks of a call say what it is; a head may have been part of the prompt.",
        cases=ids(
            muse_glimmer="de204bebbb",
        ),
    ),
    calls(
        Outcome.MORE,
        "text_around_a_call",
        expected="JSON that begins the answer is text if whitespace comes before it, or text after it.",
        others="Most read the call.",
        ours="It is a call; the text after it is text.",
        why="The meaning of the object is clear.",
        cases=ids(
            llama3_json="c6f99d7b2b 70ef82026a",
        ),
    ),
    calls(
        Outcome.MORE,
        "marks_in_a_string",
        expected="A string that was opened in a broken call swallows the calls after it.",
        others="Each finds other calls.",
        ours="After a broken block, the next opening mark counts, wherever it is.",
        why="The end of a broken string is unknown, and a call that is closed is a call.",
        strict=ids(
            gemma4="edf6447036",
        ),
    ),
    calls(
        Outcome.MORE,
        "form_of_the_request",
        expected="No call: the dialect has two forms, and the request of the test has chosen the other one.",
        others="They read the call.",
        ours="It is a call.",
        why="The form is the dialect's own.",
        cases=ids(
            k2_horizon="557b95c56d",
        ),
    ),
    calls(
        Outcome.MORE,
        "forgiven_when_lenient",
        expected="JSON with an extra comma, or a call without its closing mark, is not a call.",
        others="They disagree.",
        ours="Lenient reading accepts it.",
        why="Small models write so, and the meaning is clear.",
        lenient=ids(
            gemma4="4232e4472c",
            json_plain="3d87f89acc 8be1cfa7a7",
        ),
    ),
    calls(
        Outcome.MORE,
        "unclosed_call_that_is_complete",
        expected="A call without its closing mark is dropped, or takes the next one for its arguments.",
        others="They read both, or neither.",
        ours=(
            "It runs if its arguments are complete and the next call begins after them: in a block, and read "
            "leniently everywhere."
        ),
        why="Only its mark is missing.",
        cases=ids(
            kimi_k2="fd2e591b70",
        ),
        lenient=ids(
            gemma4="8c9165f529 9c07c9f78d e051e039b0 9949d929e6 20c5a0d0bf",
        ),
    ),
)
