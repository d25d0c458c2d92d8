"""Calls that others read and we do not."""

from __future__ import annotations

from ..agreement import Outcome
from .row import Difference, calls, ids

FEWER: tuple[Difference, ...] = (
    calls(
        Outcome.FEWER,
        "call_in_reasoning",
        expected="A call inside of reasoning is run; in most cases the reasoning is never closed.",
        others="They run it too: most look for calls before they look for reasoning.",
        ours="It is reasoning, and the model is told so if the mark is at the start of a line.",
        why="A model that thinks about a call has not made it.",
        cases=ids(
            deepseek_v4_dsml="bc0b669df8 aa83885829",
            gemma4="e21980e460",
            hermes="67a02dd73c bc36a9c704",
            kimi_k2="197f9f58c1 4c4f95efdc",
            plamo3="fc5bb4d87b",
            poolside_laguna="cc57f39a36",
            qwen3_coder="fa9409fad9 c69cb26f26 3c2b7efb2c 6a956157a9 1ad5f1316c 913e544bca",
        ),
    ),
    calls(
        Outcome.FEWER,
        "cut_in_a_value",
        expected="A text that ends inside a call gives that call, with the arguments so far.",
        others="Most give nothing; some close the value where it was cut, as if the model had.",
        ours="No call, and a report that says where the text ended.",
        why="Half of a command may do something else.",
        cases=ids(
            beam_rfl="b4a9fe2068 1dff868ba3 f231f098a8 6ce870e319",
            cohere="419a4b0cf8 baec1d67ce",
            deepseek_v32_dsml="1a8378342d 7c3fa41220",
            gemma4="890bd5894a 33a95c7b79 54e8c1cfa8",
            hunyuan_v4="0a18109292 5da7b5ad58",
            inkling="b34db914c4 686722bf29",
            kimi_k2="2cbb56440c f679bc365a 7740d5a4ee",
            kimi_k3="b9a91eaadf acd598b0dc 2a2a017ed8 30877afb7e 668d7662cc",
            lfm2="5676e6abcf",
            minimax_m3="f538fd0c79",
            mistral_v11="81c2fac5d2",
            nemotron_deci="bab0fd5458",
            qwen3_coder="76f17ef253 ce6edb3e47 3cdbb54191 b3d7691b65",
            reka_edge="e0d6070d26",
        ),
    ),
    calls(
        Outcome.FEWER,
        "cut_before_the_closer",
        expected="A call runs if its values are complete, although the text ends before its closing mark.",
        others="Some read it, some do not.",
        ours="No call, and a report that says where the text ended.",
        why="The next argument may be what was cut off.",
        cases=ids(
            glm45="e4add81684 986134b8c1",
            glm47="a15a44f4fb",
            json_plain="5de86cbc08",
            qwen3_coder="cde515b1dd",
        ),
    ),
    calls(
        Outcome.FEWER,
        "value_without_its_closer",
        expected="A value without its opening or its closing mark ends where the call does, or is left out.",
        others="No two do the same: the value is cut, kept with the marks in it, or the call is lost.",
        ours="No call, and a report that says which mark was expected.",
        why="The end of the value can only be guessed.",
        cases=ids(
            glm45="fbc31494a4 deb21b1377 d14f499120",
            glm47="75da0751ee 79cc6694d0 47e9d703a8 9bbf05c46e",
            minimax_m3="503f6cf60f a7e3eaa80b",
            qwen3_coder="824e0b421d",
        ),
        strict=ids(
            deepseek_v4_dsml="3493477b74",
            glm45="9c5e66e08e",
            glm47="ce7f5fc0e5",
            qwen3_coder="b4af1a4dce",
        ),
    ),
    calls(
        Outcome.FEWER,
        "arguments_that_are_not_json",
        expected="Arguments that are not a JSON object are passed on unchanged.",
        others="Most drop the call, or repair it.",
        ours="No call, and a report that says what is wrong, and where.",
        why="A tool gets an object, and a guess at one is not what the model wrote.",
        cases=ids(
            harmony="a636c27371 1c579966c5 9aed5bc629 30d1459e3f 3e54643da4 ff1c2edbe3",
            json_plain="c5440748d6",
            kimi_k2="c2f623afd3 88868e3d94",
            longcat="8ea8715fd8",
        ),
        strict=ids(
            deepseek_v3="a331d656ba",
            deepseek_v31="05c6d816d0",
            hermes="c307ca55fe 26de1a6331",
            phi4="0ecd2d0d8f",
        ),
    ),
    calls(
        Outcome.FEWER,
        "neighbours_of_a_broken_call",
        expected="A call that cannot be read is skipped; the others of its block run.",
        others="Most do the same, some lose the whole block.",
        ours="No call of the block, and one report.",
        why="The calls of a block are one batch: only the model can say which of them it wants without the others.",
        cases=ids(
            cohere="a78a84b5a3 d9a4c6c74d",
            deepseek_v31="051f1db4aa",
            deepseek_v32_dsml="6b22ff7808",
            deepseek_v4_dsml="d0a33f8ad5",
            kimi_k3="9513c2840f 68d4db6b88 614101301a",
            minimax_m3="7426fbedea",
        ),
    ),
    calls(
        Outcome.FEWER,
        "block_without_its_opener",
        expected="Calls are found after a missing opening mark, by the marks that follow.",
        others="Most read it as text.",
        ours="It is text.",
        why="A text is a call only after a mark that opens a block.",
        cases=ids(
            deepseek_v31="d61ea0eb6b",
            glm47="6bd16e3ee3 9bea226201 6b9746d8d6",
            kimi_k3="032ff783ec",
            minimax_m3="28e530f846 62d292d919",
            nemotron_deci="36f000e9d9",
            plamo3="7b92cf3a3e",
        ),
    ),
    calls(
        Outcome.FEWER,
        "call_without_a_name",
        expected="A call whose name is missing is passed on without one.",
        others="They drop it.",
        ours="No call.",
        why="Nothing could run it.",
        cases=ids(
            deepseek_v31="675b6a340b",
            json_plain="efa877119d",
            mistral="93fc3cb004 9cd4b70c4e fdc0a52311 c1c78e3422",
        ),
    ),
    calls(
        Outcome.FEWER,
        "another_dialect",
        expected="Calls in another dialect's form are found as well.",
        others="Each knows other forms.",
        ours="It is text, or a report if it is in a block.",
        why="A dialect is one way to write calls; if a model knows two, `dialect` takes both.",
        cases=ids(
            deepseek_v4_dsml="b12c9b3c1a",
            k2_horizon="f5ed4e75ef 5f9dd17451",
            kimi_k3="a7a05ed0b5 ca71497721 27dec39956 39fde3719f",
            llama3_json="b7fa9fee36",
            mistral="f4aefb4765 51fd7dc558 53d29462dd",
            poolside_laguna="bb780d6c9b 78fb900e40 6150ec4bb0 1b088fc8ad f4ec3e054a abd33939d6",
        ),
    ),
    calls(
        Outcome.FEWER,
        "text_in_a_block",
        expected="Other text is skipped where only the next mark of the block is allowed.",
        others="Most skip it.",
        ours=(
            "No call, and a report that says where something else was expected. Lenient reading passes over words "
            "between two calls, but not over anything that looks like markup."
        ),
        why="The block is not what the model was taught, so the call may not be either.",
        cases=ids(
            hermes="37b1bdc256",
            minimax_m3="40c4a87836 9ec2095871",
            qwen3_coder="d3513757c4",
        ),
        strict=ids(
            minimax_m3="5a7ff427aa",
        ),
    ),
    calls(
        Outcome.FEWER,
        "form_of_its_own",
        expected=(
            "A call is read although its form is not the dialect's: other brackets, no arguments at all, a tag "
            "that is not closed or has a suffix, a special token between two marks."
        ),
        others="Each forgives something else.",
        ours="No call; a report if it is in a block, else text.",
        why="A form that the model was not taught cannot be told from a quotation.",
        cases=ids(
            gemma4="a03f4b2174 c57802ecac 0d7e88a34c 4ce9612753 473c84924d",
            hunyuan_v4="c76c432836",
            mistral_v11="af51ae1b48",
            muse_glimmer="91f4d5aad3 1455cd6ada 08e6f5d0ba e33a552995",
            qwen3_coder="9c132e395f 5b64b79e09",
        ),
    ),
    calls(
        Outcome.FEWER,
        "call_after_an_unclosed_one",
        expected="A call without its closing mark is dropped, and the next one is read.",
        others="They read both, or neither.",
        ours="Neither runs, and a report says where the closing mark was expected.",
        why="The text after it may belong to the call that was never closed.",
        cases=ids(
            gemma4="5ef8754c30",
        ),
        strict=ids(
            gemma4="8c9165f529 9c07c9f78d 9909884760 e051e039b0 9949d929e6 20c5a0d0bf",
        ),
    ),
    calls(
        Outcome.FEWER,
        "call_to_someone_else",
        expected="Calls in a message to the user, or in one without a recipient, are run.",
        others="They are text or reasoning.",
        ours="They are text or reasoning.",
        why="A message names its recipient.",
        cases=ids(
            muse_glimmer="1f68aacc2c b45959bc1e",
        ),
    ),
    calls(
        Outcome.FEWER,
        "words_between_parameters",
        expected="Text between two parameters is skipped, and so is a parameter that is written wrongly.",
        others="They were not tried.",
        ours="No call, and a report that says where the closing mark was expected.",
        why=(
            "Either the value holds the mark that closes it or the next parameter is wrong. Both readings make sense, "
            "so neither is run."
        ),
        cases=ids(
            beam_rfl="41a3998f49",
        ),
    ),
    calls(
        Outcome.FEWER,
        "value_over_the_next_call",
        expected=(
            "A value without its closing mark ends with its call, or continues to the closing mark of the next "
            "call's value."
        ),
        others="Half of them cut the value, and half lose one of the calls.",
        ours="No call, and a report that says where the closing mark was expected.",
        why=(
            "Either the value holds a call or its own mark is missing. Both readings make sense, so neither is run."
        ),
        cases=ids(
            glm47="d9f9795f0c",
            muse_glimmer="a19ec7c7f1 870c156723 ad873a4283 5c41d5a7ac a95158749d",
        ),
        strict=ids(
            deepseek_v4_dsml="975b2dfa24",
        ),
    ),
)
