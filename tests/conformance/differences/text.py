"""Text and reasoning that others separate in another way."""

from __future__ import annotations

from .row import Difference, ids, text

TEXT: tuple[Difference, ...] = (
    text(
        "reasoning_that_the_prompt_opened",
        expected=(
            "The text before a lone closing mark is reasoning: the prompt of the test has opened it, which the "
            "case does not say."
        ),
        others="They do not read reasoning, or are told.",
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
            "A closing mark without open reasoning is text, or reasoning that opens twice ends at the first "
            "closing mark."
        ),
        others="They do not read reasoning.",
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
        others="They separate the two, or do not read reasoning.",
        ours="It is reasoning.",
        why="Reasoning is not for the user.",
        cases=ids(
            deepseek_v4_dsml="7051ea7608 44ab8e2075 f2910ef90d c3434777a4",
            gemma4="d58d8d9864 9144567238",
            harmony="0d18b15650 d41daee5a8 22782eec1c 5c59142d53",
            muse="78fafadb7c",
            muse_glimmer="32577beed8",
            nemotron_deci="7067870ed1 b58b6bd6f1",
            poolside_laguna="7cf08d2519 3c94a7dd9b b6102bc691",
            xlam="b405f72a60",
        ),
    ),
    text(
        "marks_of_results",
        expected="The marks around results that the model wrote itself are left out; the text between them is text.",
        others="They leave the marks in the text.",
        ours="Both are text.",
        why="Results come from the system; text that the model wrote in their place is shown unchanged.",
        cases=ids(
            deepseek_v3="54bc871193",
        ),
    ),
    text(
        "text_that_is_lost",
        expected="Text before or after the calls is lost, since the test looks at calls only.",
        others="They keep it.",
        ours="It is text.",
        why="The user sees the model's text.",
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
        why="It is for the program to show which words have a source.",
        cases=ids(
            cohere="bc8a0a28a5",
        ),
    ),
    text(
        "mark_out_of_place",
        expected="A mark where it means nothing is left out, in some cases with the text after it.",
        others="Some leave it out, some show it.",
        ours="It is text, unless the dialect says that the mark is never text.",
        why="A model that writes about a mark must not lose its words.",
        cases=ids(
            beam_rfl="1b035d05c8 38f7421f50 9acdcad830 dc34b20731 bc2c1d096d",
            gemma4="9fc6286f0e 45896c2244",
            harmony="659881c4d6",
            kimi_k2="46085fe0a0",
            muse_glimmer="9a52694469 b9773e15df c1b7e5ce4a",
        ),
    ),
    text(
        "mark_in_quotes",
        expected="A mark in quotes ends the message, and with it all text.",
        others="They were not tried.",
        ours="It is text between two equal quotes that touch it; it ends the message elsewhere.",
        why="A model that means such a token stops there, so only a quote on both sides says that it does not.",
        cases=ids(
            beam_rfl="f6b05b6a6a",
        ),
    ),
    text(
        "beginning_of_a_mark",
        expected="A text that ends with a possible beginning of a mark loses it.",
        others="They keep it.",
        ours="It is text.",
        why="The rest of the mark never came.",
        cases=ids(
            harmony="9cbac80d86",
            kimi_k2="2040d8698d",
            kimi_k3="984cf56327",
        ),
    ),
    text(
        "message_that_cannot_be_read",
        expected=(
            "The text of a message with an unknown channel, to an unknown recipient, or with a call without a name, is "
            "left out."
        ),
        others="Some show it.",
        ours="It is text.",
        why="The user sees the model's text.",
        cases=ids(
            beam_rfl="55873af9dc",
            harmony="2ae36ce707 794b263bf1 e24c21c4ae",
            muse="b009dc87ae",
        ),
    ),
    text(
        "block_without_calls",
        expected="A block without calls is left out with its marks, or shown with them.",
        others="Each does one of the two.",
        ours="The marks that open it and its contents are text.",
        why="A mark without a call is one that the model writes about.",
        cases=ids(
            lfm2="b7b98e00ef",
            olmo3="874e937bc6 7dfc92c457",
        ),
    ),
    text(
        "beginning_of_a_call",
        expected="An answer that is cut in a possible call is text.",
        others="They show it.",
        ours="It is reported, and not shown.",
        why="Half of a call is not for the user.",
        cases=ids(
            llama3_json="565822077d",
        ),
    ),
    text(
        "beginning_that_the_prompt_wrote",
        expected="The words with which the prompt begins the reasoning are part of it.",
        others="They were not tried.",
        ours="Reasoning is only the model's own text.",
        why="Only the program knows its prompt.",
        cases=ids(
            apriel="701909d200 efbf96e608",
        ),
    ),
    text(
        "single_character",
        expected="A single character is not text: the test feeds a longer text, each piece of which became a case.",
        others="They show it.",
        ours="It is text.",
        why="A piece alone is a text of its own.",
        cases=ids(
            granite4="7f1f65df88 e407e899cf",
            k2_horizon="4c0c76cbd6 ffb59131a0 13d0aeed97 ebc0da676e 2b7c22cffd eb5b22a63f",
        ),
    ),
    text(
        "name_before_its_call",
        expected="The text of a message before the mark of its call, a tool's name, is left out.",
        others="They leave it out.",
        ours="It is text.",
        why="It arrives before the mark, and text is handed out as it comes.",
        cases=ids(
            inkling="7d9b2d5441 cb002f6098",
        ),
    ),
    text(
        "json_that_is_not_a_call",
        expected="JSON that begins like a call and is not one, or a bracket after a list, is left out.",
        others="They show it.",
        ours="It is text.",
        why="The user sees the model's text.",
        cases=ids(
            json_plain="85434ec411 bb51e28b3c 245631e246",
        ),
    ),
    text(
        "words_in_a_section",
        expected="Words between the mark of a section and its first call are left out.",
        others="They leave them out.",
        ours="They are text; the marks are left out.",
        why="A mark without a call after it opens nothing.",
        cases=ids(
            kimi_k2="b1d9a07061",
        ),
    ),
    text(
        "call_in_the_text",
        expected="A part of the call is shown as text, in a test of a stream.",
        others="They do not show it.",
        ours="The call is not text.",
        why="How a text is cut into chunks does not matter.",
        cases=ids(
            xlam="fd7ce7db8e",
        ),
    ),
)
