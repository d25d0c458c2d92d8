"""Calls that we read with other names or values."""

from __future__ import annotations

from ..agreement import Outcome
from .row import Difference, calls, ids

OTHER: tuple[Difference, ...] = (
    calls(
        Outcome.OTHER,
        "value_up_to_the_next_one",
        expected="A value without its closing mark ends where the next parameter begins.",
        others="Half of them read on to the next closing mark.",
        ours=(
            "It ends there too if the tool's schema names that parameter and the value does not close that parameter. "
            "Without a schema only lenient reading ends it there; read strictly, the value continues to a closing "
            "mark followed by a parameter or the end of the call."
        ),
        why="Text about markup must not change a call, and in such text each opening mark has its closing one.",
        strict=ids(
            deepseek_v32_dsml="091766bc5d",
            deepseek_v4_dsml="e6bf217be6",
            glm45="6c0f6a71e2",
            qwen3_coder="e7699e351c",
        ),
    ),
    calls(
        Outcome.OTHER,
        "newline_in_a_string",
        expected="An unescaped line break in a JSON string is joined to a space.",
        others="They drop the call.",
        ours="It is a line break.",
        why="Models write file contents with raw line breaks, and their meaning is clear.",
        cases=ids(
            deepseek_v3="2b199bac86",
            deepseek_v31="b537fd855a",
        ),
    ),
    calls(
        Outcome.OTHER,
        "null_in_place_of_arguments",
        expected="`null` in the place of arguments is passed on unchanged.",
        others="Where the key is missing, vLLM reads a call without arguments (#40531).",
        ours="The call has no arguments.",
        why="A tool gets an object, and the model gave nothing else that may be meant as one.",
        cases=ids(json_plain="034bc07203"),
    ),
    calls(
        Outcome.OTHER,
        "typed_without_a_schema",
        expected="A raw value is read as JSON, or as Python, although no schema says so.",
        others="They differ: most read it as text.",
        ours="It is text.",
        why="Without a schema, `42` may be a number or a name.",
        cases=ids(
            glm45="3abc674617",
            glm47="591e83fbb3",
            qwen3_coder="ad08b449e0 83a39c818e",
        ),
    ),
    calls(
        Outcome.OTHER,
        "text_that_resembles_another_type",
        expected="Where a value may be text or of another type, it is whatever it resembles.",
        others="They differ in what a value may resemble: `None`, `9007199254740993.0`.",
        ours="It is a number, a boolean or null only if JSON would write it exactly so; else it is text.",
        why="A post code such as `02134` and a version such as `1.10` are texts that no number can represent.",
        cases=ids(
            qwen3_coder="08c022cd19",
            step5="5f4072a96d",
        ),
    ),
    calls(
        Outcome.OTHER,
        "spaces_of_a_value",
        expected="Whitespace at the ends of a raw string is cut off, or a quoted string in it is unquoted.",
        others="Half of them keep it.",
        ours="It is part of the value, except for the one line break that the dialect puts on each side.",
        why="File contents begin with spaces and end with line breaks.",
        cases=ids(
            glm45="7b595efeed cd50c5b174",
            qwen3_coder="bf1d337a58 a3f4ccbaa6",
        ),
    ),
    calls(
        Outcome.OTHER,
        "entities_in_a_raw_value",
        expected="Entities in a raw value are decoded.",
        others="Half of them leave the text as it is.",
        ours="The value is the text as it is.",
        why="The dialect has no escapes: a page that a model writes must keep its `&lt;`.",
        cases=ids(
            minimax_m2="ea168b542c",
        ),
    ),
    calls(
        Outcome.OTHER,
        "guessed_value",
        expected="A value that does not fit its schema is made to fit: `yes` is false, a Python literal is an object.",
        others="Each guesses differently.",
        ours="It is text, which the check of the arguments then refuses by name.",
        why="The model learns more from a refusal than from a wrong value.",
        cases=ids(
            gemma4="aabd83d175",
            hunyuan_v4="dc9d4df6d2",
            minimax_m2="12bf27655a",
            qwen3_coder="3bd4e9a926",
        ),
    ),
    calls(
        Outcome.OTHER,
        "bare_words_in_braces",
        expected=(
            "A number, true, false or null in braces without quotes is text if no schema says its "
            "type."
        ),
        others="They differ: half of them read the value.",
        ours="It is the value.",
        why="In this dialect strings have marks of their own: a value without them is not a string.",
        cases=ids(
            gemma4="8f3f28b50e c511300903 f73d475ba4",
        ),
    ),
    calls(
        Outcome.OTHER,
        "escapes_in_a_python_string",
        expected="Escapes in a Python string stay as they are written if the list has no brackets.",
        others="They read the escapes.",
        ours="They are read.",
        why="It is the same literal with brackets and without.",
        cases=ids(
            lfm2="e66c9e652f e37836c581",
        ),
    ),
    calls(
        Outcome.OTHER,
        "repaired_name",
        expected="A name is repaired: marks in it are taken out, a doubled name is halved, an alias becomes the tool.",
        others="They pass it on unchanged.",
        ours="The name is the text as it is.",
        why="The result lists the known tools, and the model can correct itself.",
        cases=ids(
            muse_glimmer="d2cdaf3cfd 281d1ca3e8 4a60102d8d e634ef2efc",
            poolside_laguna="92cf1e9d36",
        ),
    ),
    calls(
        Outcome.OTHER,
        "mark_in_a_value",
        expected="A value ends at the first closing mark.",
        others="They cut it too.",
        ours="It continues to a closing mark followed by a parameter or the end of the call.",
        why="A value may hold the mark, and half of a value is another value.",
        cases=ids(
            muse_glimmer="204fcd293a",
        ),
    ),
    calls(
        Outcome.OTHER,
        "integer_of_many_digits",
        expected="An integer of more than 64 bits is text.",
        others="Half of them keep the number.",
        ours="It is the number.",
        why="JSON has no largest integer.",
        cases=ids(
            pythonic="289836c09b",
        ),
    ),
    calls(
        Outcome.OTHER,
        "typed_elements",
        expected="An element is text if no schema says what it is.",
        others="Half of them give it a type.",
        ours="`true`, `null` and numbers are values; a schema that says string makes them text.",
        why="MiniMax M3 writes strings and numbers alike.",
        cases=ids(
            minimax_m3="88ff3f3d62",
        ),
    ),
    calls(
        Outcome.OTHER,
        "whole_number_with_a_point",
        expected="`5.0` is 5 in some dialects and 5.0 in others, where the schema says number.",
        others="They disagree.",
        ours="It is 5 in every dialect whose values are raw text.",
        why="There is one rule of types, and the two numbers are equal.",
        cases=ids(
            minimax_m3="cb4338577b",
        ),
    ),
    calls(
        Outcome.OTHER,
        "deep_value",
        expected="A value that is nested too deep is left out of the arguments.",
        others="They read it.",
        ours="It is read, up to `Limits.max_depth`.",
        why="A call without one of its arguments is another call.",
        cases=ids(
            minimax_m3="1720106e78",
        ),
    ),
    calls(
        Outcome.OTHER,
        "typed_against_its_flag",
        expected="A value that is marked as a string is what its schema says; `null` that is not marked is text.",
        others="Three of four keep to the mark.",
        ours="The mark counts.",
        why="The model has said of which type its value is; argument checking says of which it must be.",
        cases=ids(
            deepseek_v32_dsml="5317c4416b 111bd21d06 ec0639bb78",
        ),
    ),
    calls(
        Outcome.OTHER,
        "comma_too_many",
        expected="Arguments with an extra comma are passed on as text.",
        others="Most drop the call, or repair it.",
        ours="Lenient reading leaves the comma out.",
        why="Small models write so, and the meaning is clear.",
        lenient=ids(
            deepseek_v3="a331d656ba",
            deepseek_v31="05c6d816d0",
            hermes="c307ca55fe 26de1a6331",
            phi4="0ecd2d0d8f",
        ),
    ),
    calls(
        Outcome.OTHER,
        "value_up_to_the_end",
        expected="A value without its closing mark is left out of its call.",
        others="Some keep it, with the marks after it or without.",
        ours="Lenient reading ends it at the marks that end its call.",
        why="A call without one of its arguments is another call.",
        lenient=ids(
            deepseek_v4_dsml="3493477b74",
            qwen3_coder="b4af1a4dce",
        ),
    ),
    calls(
        Outcome.OTHER,
        "call_in_a_broken_one",
        expected="A call that begins in the arguments of another is run, and the calls before it are dropped.",
        others="They read other calls, or none.",
        ours=(
            "Lenient reading runs the call that is complete; the broken one is reported, with the one that began "
            "in it."
        ),
        why="A call that was opened in a broken one may be one of its values.",
        lenient=ids(
            gemma4="9909884760",
        ),
    ),
)
