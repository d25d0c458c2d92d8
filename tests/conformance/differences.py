"""Where we read something else than the source of a case expects: the reasons, and the cases of each.

A case that differs and is not here fails the tests, and so does one that is here and does not differ, or differs in
another way than its reason says. `docs/dialects.md` shows the table (`python -m conformance.document`, in `tests/`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .agreement import Outcome


class Part(Enum):
    """What of a case differs."""

    CALLS = "Calls"
    TEXT = "Text"


@dataclass(frozen=True)
class Difference:
    """One reason, and the cases that differ for it.

    Attributes:
        part: what differs.
        outcome: how our calls stand to the expected ones; the same where only text differs.
        expected: what the sources of the cases expect.
        others: what the other parsers do that were tried on the cases.
        ours: what we do.
        why: the reason.
        cases: the ids.
    """

    name: str
    part: Part
    outcome: Outcome
    expected: str
    others: str
    ours: str
    why: str
    cases: tuple[str, ...]


def ids(**of: str) -> tuple[str, ...]:
    """The ids of cases, from the part behind the name of each dialect."""
    return tuple(f"{dialect}-{part}" for dialect, parts in of.items() for part in parts.split())


def calls(outcome: Outcome, name: str, *, cases: tuple[str, ...], **said: str) -> Difference:
    return Difference(name, Part.CALLS, outcome, cases=cases, **said)


def text(name: str, *, cases: tuple[str, ...], **said: str) -> Difference:
    return Difference(name, Part.TEXT, Outcome.SAME, cases=cases, **said)


ALL: tuple[Difference, ...] = (
    calls(
        Outcome.FEWER,
        "call_in_reasoning",
        expected="A call that stands in reasoning is run; in most cases the reasoning is never closed.",
        others="They run it too: most look for calls before they look for reasoning.",
        ours="It is reasoning, and the model is told so where the mark stands at the start of a line.",
        why="A model that thinks about a call has not made it.",
        cases=ids(
            deepseek_v4_dsml="bc0b669df8 aa83885829",
            gemma4="e21980e460",
            hermes="67a02dd73c bc36a9c704",
            kimi_k2="197f9f58c1 4c4f95efdc",
            qwen3_coder="fa9409fad9 c69cb26f26 3c2b7efb2c 6a956157a9 1ad5f1316c 913e544bca",
        ),
    ),
    calls(
        Outcome.FEWER,
        "cut_in_a_value",
        expected="A text that ends inside a call gives that call, with what there is of its arguments.",
        others="Most give nothing; some close the value where it was cut, as if the model had.",
        ours="No call, and a report that says where the text ended.",
        why="Half of a command is another command.",
        cases=ids(
            beam_rfl="1dff868ba3 6ce870e319",
            cohere="419a4b0cf8 baec1d67ce",
            deepseek_v32_dsml="1a8378342d 7c3fa41220",
            gemma4="890bd5894a 33a95c7b79 54e8c1cfa8",
            inkling="b34db914c4 686722bf29",
            kimi_k2="2cbb56440c f679bc365a 7740d5a4ee",
            kimi_k3="b9a91eaadf acd598b0dc 2a2a017ed8 30877afb7e 668d7662cc",
            lfm2="5676e6abcf",
            minimax_m3="f538fd0c79",
            mistral_v11="81c2fac5d2",
            qwen3_coder="76f17ef253 ce6edb3e47 3cdbb54191 b3d7691b65",
        ),
    ),
    calls(
        Outcome.FEWER,
        "cut_before_the_closer",
        expected="A call whose values are complete runs, although the text ends before its closing mark.",
        others="Some read it, some do not.",
        ours="No call, and a report that says where the text ended.",
        why="The next argument may be what was cut off.",
        cases=ids(
            glm45="e4add81684 986134b8c1",
            glm47="a15a44f4fb",
            qwen3_coder="cde515b1dd",
        ),
    ),
    calls(
        Outcome.FEWER,
        "value_without_its_closer",
        expected="A value without its opening or its closing mark ends where the call does, or is left out.",
        others="No two do the same: the value is cut, kept with the marks in it, or the call is lost.",
        ours="No call, and a report that says which mark was expected.",
        why="Where the value ends is anybody's guess.",
        cases=ids(
            deepseek_v4_dsml="3493477b74",
            glm45="9c5e66e08e fbc31494a4 deb21b1377 d14f499120",
            glm47="ce7f5fc0e5 75da0751ee 79cc6694d0 47e9d703a8 9bbf05c46e",
            minimax_m3="503f6cf60f a7e3eaa80b",
            qwen3_coder="b4af1a4dce 824e0b421d",
        ),
    ),
    calls(
        Outcome.OTHER,
        "value_up_to_the_next_one",
        expected="A value without its closing mark ends where the next parameter begins.",
        others="Half of them read on to the next closing mark.",
        ours="The value goes on to a closing mark behind which a parameter or the end of the call stands.",
        why=(
            "A value may hold what looks like a parameter; text that a model writes about markup must not change "
            "its calls."
        ),
        cases=ids(
            deepseek_v32_dsml="091766bc5d",
            deepseek_v4_dsml="975b2dfa24 e6bf217be6",
            glm45="6c0f6a71e2",
            qwen3_coder="c3c8600cb3 e7699e351c",
        ),
    ),
    calls(
        Outcome.FEWER,
        "arguments_that_are_no_json",
        expected="Arguments that are no JSON are handed on as text.",
        others="Most drop the call, or repair it.",
        ours="No call, and a report that says what is wrong, and where.",
        why="A tool gets an object, and a guess at one is not what the model wrote.",
        cases=ids(
            deepseek_v3="a331d656ba",
            deepseek_v31="05c6d816d0",
            harmony="a636c27371 1c579966c5 9aed5bc629 30d1459e3f 3e54643da4 ff1c2edbe3",
            hermes="c307ca55fe 26de1a6331",
            kimi_k2="fd2e591b70 c2f623afd3 88868e3d94",
            phi4="0ecd2d0d8f",
        ),
    ),
    calls(
        Outcome.FEWER,
        "neighbours_of_a_broken_call",
        expected="A call that cannot be read is skipped; the others of its block run.",
        others="Most do the same, some lose the whole block.",
        ours="No call of the block, and one report.",
        why="The calls of a block are one batch: which of them the model wants without the others, only it can say.",
        cases=ids(
            cohere="a78a84b5a3 d9a4c6c74d",
            deepseek_v31="051f1db4aa",
            deepseek_v32_dsml="6b22ff7808",
            deepseek_v4_dsml="d0a33f8ad5",
            kimi_k2="62daab7aa5",
            kimi_k3="9513c2840f 68d4db6b88 614101301a",
            minimax_m3="7426fbedea",
        ),
    ),
    calls(
        Outcome.FEWER,
        "block_without_its_opener",
        expected="Calls are found behind a missing opening mark, by the marks that follow.",
        others="Most take it for text.",
        ours="It is text.",
        why="Only a mark that opens a block makes calls of what follows.",
        cases=ids(
            deepseek_v31="d61ea0eb6b",
            glm47="6bd16e3ee3 9bea226201 6b9746d8d6",
            kimi_k3="032ff783ec",
            minimax_m3="28e530f846 62d292d919",
        ),
    ),
    calls(
        Outcome.FEWER,
        "call_without_a_name",
        expected="A call whose name is missing is handed on without one.",
        others="They drop it.",
        ours="No call.",
        why="Nothing could run it.",
        cases=ids(
            deepseek_v31="675b6a340b",
            mistral="93fc3cb004 9cd4b70c4e fdc0a52311 c1c78e3422",
        ),
    ),
    calls(
        Outcome.FEWER,
        "another_dialect",
        expected="Calls in another dialect's form are found as well.",
        others="Each knows other forms.",
        ours="It is text, or a report where it stands in a block.",
        why="A dialect is one way to write calls; where a model knows two, `dialect` takes both.",
        cases=ids(
            deepseek_v32_dsml="c86ca9716f",
            deepseek_v4_dsml="c3434777a4 b12c9b3c1a",
            kimi_k3="81a0bc8b1e a7a05ed0b5 46dc3ebc11 ca71497721 27dec39956 39fde3719f",
            lfm2="171dfe5cc8",
            llama3_json="b7fa9fee36",
            mistral="f4aefb4765 51fd7dc558 53d29462dd",
        ),
    ),
    calls(
        Outcome.FEWER,
        "text_in_a_block",
        expected="What stands where only the next mark of the block may stand is skipped.",
        others="Most skip it.",
        ours="No call, and a report that says where something else was expected.",
        why="The block is not what the model was taught, so the call may not be either.",
        cases=ids(
            hermes="37b1bdc256",
            minimax_m3="40c4a87836 9ec2095871",
            qwen3_coder="d3513757c4",
        ),
    ),
    calls(
        Outcome.MORE,
        "tool_that_is_not_offered",
        expected="A call of a tool that was not offered is dropped.",
        others="Most hand it on.",
        ours="It is a call, whose result says which tools there are.",
        why="The model can only correct what it is told.",
        cases=ids(
            inkling="2d8b36448c df32500e99",
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
        expected="Calls that arrive together are lost, in a test of what a chunk gives.",
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
        why="The expectation is that of the test's way to collect calls.",
        cases=ids(
            glm45="26c56ccf65",
            kimi_k2="a83cb85556",
            minimax_m2="3f6baedfc2",
            muse_glimmer="eed1cddd83",
            qwen3_coder="272e4420eb 5da3e9c614 f1f4efbc5b",
        ),
    ),
    calls(
        Outcome.MORE,
        "section_without_its_closer",
        expected="Calls that are complete are dropped where the mark that closes their section is missing.",
        others="They are read by half of the parsers.",
        ours="They run, unless the text is known to be cut.",
        why="Servers leave out the mark at which they stop.",
        cases=ids(
            deepseek_v31="97c876786e",
            deepseek_v4_dsml="3bfad012f6",
        ),
    ),
    calls(
        Outcome.MORE,
        "id_without_a_number",
        expected="A call whose id is not `functions.NAME:NUMBER` is dropped.",
        others="They drop it.",
        ours="It is a call.",
        why="What it is called is clear, and a call that is dropped without a word is never answered.",
        cases=ids(
            kimi_k2="6989457a64 dfa1dc4c8b 0ff8426235 64b71306bc",
        ),
    ),
    calls(
        Outcome.OTHER,
        "newline_in_a_string",
        expected="A line break that stands unescaped in a JSON string is joined to a space.",
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
        "arguments_in_arguments",
        expected="A parameter called `arguments` that holds an object is taken for the arguments themselves.",
        others="They take it for a parameter.",
        ours="It is a parameter.",
        why="A tool may have a parameter of that name.",
        cases=ids(
            deepseek_v32_dsml="a778f35d6f",
            deepseek_v4_dsml="9eebac522e f96d1bfbd8 bb9bcd3df2",
        ),
    ),
    calls(
        Outcome.OTHER,
        "typed_without_a_schema",
        expected="A raw value is read as JSON, or as Python, although no schema says so.",
        others="They differ: most take it for text.",
        ours="It is text.",
        why="Without a schema nobody knows whether `42` is a number or a name.",
        cases=ids(
            glm45="3abc674617",
            glm47="591e83fbb3",
            qwen3_coder="ad08b449e0 83a39c818e",
        ),
    ),
    calls(
        Outcome.OTHER,
        "spaces_of_a_value",
        expected="Whitespace at the ends of a raw string is cut off, or a quoted string in it is unquoted.",
        others="Half of them keep it.",
        ours="It is part of the value, but for the one line break that the dialect puts on each side.",
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
        ours="The value is what stands there.",
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
            minimax_m2="12bf27655a",
            qwen3_coder="3bd4e9a926",
        ),
    ),
    calls(
        Outcome.OTHER,
        "string_by_its_flag",
        expected="A value that is marked as a string is converted to the type of its schema.",
        others="They keep the string.",
        ours="It is the string.",
        why="The model has said what it is.",
        cases=ids(
            deepseek_v32_dsml="5317c4416b ec0639bb78",
        ),
    ),
    text(
        "reasoning_that_the_prompt_opened",
        expected=(
            "What stands before a lone closing mark is reasoning: the prompt of the test has opened it, which the "
            "case does not say."
        ),
        others="They know no reasoning, or are told.",
        ours="It is text; `begins_in_think` says what the prompt has done.",
        why="Only the program knows its prompt.",
        cases=ids(
            beam_rfl="0d5cc2c6af",
            cohere="d6d7375d25",
            gemma4="b8f9b8b040 ff6e2bd00f",
            mistral_v11="9987ad144f",
            qwen3_coder="1e9ef2a27c 488d66be82",
        ),
    ),
    text(
        "lone_closing_mark",
        expected=(
            "A mark that closes reasoning where none is open is text, or reasoning that opens twice is closed by "
            "the first."
        ),
        others="They know no reasoning.",
        ours="The mark is left out; reasoning opens and closes in pairs.",
        why="A mark of the template is not for the user.",
        cases=ids(
            deepseek_v3="23e3a8610c ef20e3d244 6e314ca413 9a641b4c58 1c644bbac0 7c41d02165",
            deepseek_v31="944a736dd0 71d385b068 2cc8b40934",
            minimax_m3="2dbf49e754",
            olmo3="b32750d408 347292fe53",
            qwen3_coder="5837749290 e615c2b1a3 9fed2e32ee",
        ),
    ),
    text(
        "reasoning_in_the_text",
        expected="Reasoning stays in the text, with or without its marks, or is lost.",
        others="They part the two, or know no reasoning.",
        ours="It is reasoning.",
        why="Reasoning is not for the user.",
        cases=ids(
            deepseek_v4_dsml="7051ea7608 44ab8e2075 f2910ef90d",
            gemma4="9144567238",
            harmony="0d18b15650 d41daee5a8 22782eec1c 5c59142d53",
            muse_glimmer="32577beed8",
        ),
    ),
    text(
        "marks_of_results",
        expected="The marks round results that the model wrote itself are left out, what stands between them is text.",
        others="They leave the marks in the text.",
        ours="Both are text.",
        why="Results are the system's; what the model wrote in their place is shown as it is.",
        cases=ids(
            deepseek_v3="54bc871193",
            deepseek_v31="0a3245687a 1d29c5f0f0 666d299add 46512d4c08 a16adb3240 283fb07c5a a2b5ba94c1",
        ),
    ),
    text(
        "text_that_is_lost",
        expected="Text before or behind the calls is lost, since the test looks at calls only.",
        others="They keep it.",
        ours="It is text.",
        why="The user sees what the model said.",
        cases=ids(
            deepseek_v31="73e7fd2629",
            deepseek_v4_dsml="6bc2b0092b",
            glm47="bbe25de87f",
            phi4="5f155735a4",
            qwen3_coder="c5ae5e50c9",
        ),
    ),
    text(
        "citations",
        expected="Marks of citations are taken out of the text.",
        others="They leave them.",
        ours="They stay.",
        why="Which words a source stands behind is for the program to show.",
        cases=ids(
            cohere="bc8a0a28a5",
        ),
    ),
    calls(
        Outcome.FEWER,
        "form_of_its_own",
        expected=(
            "A call is read although its form is not the dialect's: other brackets, no arguments at all, a tag "
            "that is not closed, a special token between two marks."
        ),
        others="Each forgives something else.",
        ours="No call; a report where it stands in a block, else text.",
        why="What a model was not taught cannot be told from what it quotes.",
        cases=ids(
            gemma4="a03f4b2174 c57802ecac 4ce9612753 473c84924d",
            kimi_k3="33f7dbb697",
            mistral_v11="af51ae1b48",
            muse_glimmer="91f4d5aad3 1455cd6ada 08e6f5d0ba e33a552995",
            qwen3_coder="9c132e395f 5b64b79e09",
        ),
    ),
    calls(
        Outcome.FEWER,
        "call_behind_an_unclosed_one",
        expected="A call without its closing mark is dropped, and the next one is read.",
        others="They read both, or neither.",
        ours="Neither runs, and a report says where the closing mark was expected.",
        why="What follows may belong to the call that was never closed.",
        cases=ids(
            gemma4="8c9165f529 9c07c9f78d 5ef8754c30 9909884760 e051e039b0 9949d929e6 20c5a0d0bf",
        ),
    ),
    calls(
        Outcome.FEWER,
        "closing_marks_in_a_value",
        expected="A raw value that holds the closing marks of its own call goes on to the last of them.",
        others="They cut it at the first.",
        ours=(
            "It ends at the first one that has a legal follower; what comes then breaks the block, which is "
            "reported."
        ),
        why=(
            "Raw text has no escapes, so the reading that makes sense first is taken, and nothing is run where it "
            "fails."
        ),
        cases=ids(
            kimi_k3="3af526c05c",
        ),
    ),
    calls(
        Outcome.FEWER,
        "call_to_someone_else",
        expected=(
            "Calls are run that stand in a message to the user, in one to nobody, or behind a head in the middle "
            "of reasoning."
        ),
        others="They are text or reasoning.",
        ours="They are text or reasoning.",
        why="A message says to whom it is.",
        cases=ids(
            muse_glimmer="98b7d62567 1f68aacc2c b45959bc1e",
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
        "recipient_that_is_no_function",
        expected="A message to a recipient that is no function is dropped.",
        others="They drop it.",
        ours="It is a call, whose result says which tools there are.",
        why="The model can only correct what it is told.",
        cases=ids(
            harmony="bd39981271",
        ),
    ),
    calls(
        Outcome.MORE,
        "call_without_a_head",
        expected="A call outside of any message is text.",
        others="Half of them read it.",
        ours="It is a call.",
        why="The marks of a call say what it is; a head may have been part of the prompt.",
        cases=ids(
            muse_glimmer="de204bebbb",
        ),
    ),
    calls(
        Outcome.MORE,
        "text_around_a_call",
        expected="JSON that begins the answer is text where whitespace stands before it, or text behind it.",
        others="Most read the call.",
        ours="It is a call; the text behind it is text.",
        why="What the object says is clear.",
        cases=ids(
            llama3_json="c6f99d7b2b 70ef82026a",
        ),
    ),
    calls(
        Outcome.MORE,
        "marks_in_a_string",
        expected="A string that was opened in a call that breaks swallows the calls behind it.",
        others="Each finds other calls.",
        ours="Behind a broken block the next opening mark is looked for, wherever it stands.",
        why="Where a broken string ends nobody knows, and a call that is closed is one.",
        cases=ids(
            gemma4="edf6447036",
        ),
    ),
    calls(
        Outcome.OTHER,
        "words_between_parameters",
        expected="Text between two parameters is skipped.",
        others="They were not tried.",
        ours="The value before it goes on to a closing mark that a parameter or the end of the call follows.",
        why="Text that a model writes about markup must not change its calls.",
        cases=ids(
            beam_rfl="41a3998f49 f231f098a8",
        ),
    ),
    calls(
        Outcome.OTHER,
        "bare_words_in_braces",
        expected=(
            "A number, true, false or null that stands in braces without quotes is text where no schema says its "
            "type."
        ),
        others="They differ: half of them read the value.",
        ours="It is the value.",
        why="In this dialect strings have marks of their own: what has none is no string.",
        cases=ids(
            gemma4="8f3f28b50e c511300903 f73d475ba4",
        ),
    ),
    calls(
        Outcome.OTHER,
        "escapes_in_a_python_string",
        expected="Escapes in a Python string stay as they are written where the list has no brackets.",
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
        expected="A name is repaired: marks in it are taken out, a name that is written twice becomes one.",
        others="They hand it on as it stands.",
        ours="The name is what stands there.",
        why="The result says which tools there are, and the model can correct itself.",
        cases=ids(
            muse_glimmer="d2cdaf3cfd 281d1ca3e8 4a60102d8d 91345ee2a8 90ef5047f3 e634ef2efc",
        ),
    ),
    calls(
        Outcome.OTHER,
        "mark_in_a_value",
        expected="A value ends at the first closing mark.",
        others="They cut it too.",
        ours="It goes on to a closing mark behind which a parameter or the end of the call stands.",
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
        expected="An element is text where no schema says what it is.",
        others="Half of them type it; Forge's dialect has no other parser.",
        ours="`true`, `null` and numbers are values; a schema that says string makes them text.",
        why="Forge's own rules say so, and MiniMax M3 writes strings and numbers alike.",
        cases=ids(
            forge_xml="566bcb8e85 24dffaab2f 9ac519b750",
            minimax_m3="88ff3f3d62",
        ),
    ),
    calls(
        Outcome.OTHER,
        "text_beside_elements",
        expected="Text that stands beside elements becomes a member `$text`.",
        others="Most do the same.",
        ours="A value that does not begin with an element is text, with the marks in it.",
        why="A name that no schema has helps no tool.",
        cases=ids(
            minimax_m3="f3c8ae56d1 d0ecc1c997",
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
    text(
        "mark_out_of_place",
        expected="A mark that stands where it means nothing is left out, with what follows it in some cases.",
        others="Some leave it out, some show it.",
        ours="It is text, unless the dialect says that the mark is never text.",
        why="A model that writes about a mark must not lose its words.",
        cases=ids(
            beam_rfl="1b035d05c8 38f7421f50 9acdcad830 dc34b20731 bc2c1d096d",
            deepseek_v32_dsml="88c24cffe3",
            gemma4="f920476fce 406be43cd4 9fc6286f0e 45896c2244",
            harmony="659881c4d6",
            kimi_k2="46085fe0a0",
            lfm2="aadf80401b",
            muse_glimmer="9a52694469 b9773e15df c1b7e5ce4a",
        ),
    ),
    text(
        "mark_in_quotes",
        expected="A mark in a JSON string, or in quotes, of an answer is text, or ends all text.",
        others="They were not tried.",
        ours="It ends the message, wherever it stands.",
        why=(
            "An answer is text, whose quotes mean nothing; the marks are tokens that a model does not write "
            "otherwise."
        ),
        cases=ids(
            beam_rfl="81a1f0503b d3e4fe16e9 f6b05b6a6a",
        ),
    ),
    text(
        "beginning_of_a_mark",
        expected="A text that ends with what may be the beginning of a mark loses it.",
        others="They keep it.",
        ours="It is text.",
        why="Nothing came that would make a mark of it.",
        cases=ids(
            harmony="9cbac80d86",
            kimi_k2="2040d8698d",
            kimi_k3="984cf56327",
        ),
    ),
    text(
        "message_that_cannot_be_read",
        expected="The text of a message with an unknown channel, or with a call that names nobody, is left out.",
        others="Some show it.",
        ours="It is text.",
        why="The user sees what the model said.",
        cases=ids(
            beam_rfl="55873af9dc",
            harmony="2ae36ce707 794b263bf1 e24c21c4ae",
        ),
    ),
    text(
        "block_without_calls",
        expected="A block without calls is left out with its marks, or shown with them.",
        others="Each does one of the two.",
        ours="The marks that open it and what it holds are text.",
        why="A mark that nothing follows is one the model writes about.",
        cases=ids(
            lfm2="b7b98e00ef",
            olmo3="874e937bc6 7dfc92c457",
        ),
    ),
    text(
        "beginning_of_a_call",
        expected="An answer that is cut in what may be a call is text.",
        others="They show it.",
        ours="It is reported, and not shown.",
        why="Half of a call is not for the user.",
        cases=ids(
            llama3_json="565822077d",
        ),
    ),
    calls(
        Outcome.FEWER,
        "value_over_the_next_call",
        expected="A value without its closing mark ends with its call, and the next call is read.",
        others="Half of them cut the value, half of them lose one of the calls.",
        ours="The value goes on to the closing mark of the next call's value.",
        why="A value may hold what looks like the end of its call; where it is not closed, no reading is right.",
        cases=ids(
            glm47="d9f9795f0c",
        ),
    ),
)
