"""Where cogency-rs differs from cogency 3.3.0 on purpose: one named predicate each.

A predicate looks at the input only. Where it holds, `promised` gives the input that makes cogency do what we
promise, so that cogency stays the oracle. For example, a call whose argument holds `</execute>` must give what
cogency gives for the same call with that argument escaped. Where no such input exists, the test that uses the
predicate says what we give instead.

Each module is a part of the core. `docs/differences.md` is made from them (`python -m parity.document`, in `tests/`),
and `test_differences` checks the document and every example against both packages.
"""

from .accumulator_events import (
    STEPS,
    LeftOver,
    event_without_text,
    open_calls,
    promised_events,
    state_between_turns,
)
from .accumulator_results import ARRAYS, promised_array, success_with_its_outcome
from .accumulator_turns import (
    calls_without_execute,
    promised_turns,
    state_of_the_turn,
    storage_that_fails_at_a_call,
    turn_that_is_cancelled,
)
from .codec import result_with_a_wrong_field
from .context import (
    ROWS,
    calls_without_results,
    conversation_that_is_too_long,
    messages_of,
    neighbours_of_one_role,
    part_of_a_call,
    promised_log,
    report_of_a_block,
    results_beyond_the_bound,
    results_without_calls,
    swapped_ids,
    tool_with_a_json_schema,
    turns,
    window_in_a_turn,
    words_of_a_failed_profile,
    words_of_the_system_prompt,
    words_that_go_on,
)
from .executor_results import SCRIPTS, error_with_its_class, promised_batch, tool_that_exits
from .executor_tools import (
    argument_of_the_turn_that_is_declared,
    arguments_against_the_schema,
    arguments_that_are_not_a_mapping,
    declared_arguments,
    execution_that_cannot_carry_a_turn,
    falsy_tool,
    promised_arguments,
    schema_without_further_arguments,
    something_that_is_not_a_call,
    something_that_is_not_a_tool,
    tools_of_one_name,
)
from .parser_blocks import nesting_beyond_the_limit, text_beyond_the_limit
from .parser_text import (
    BROKEN_OFF,
    TEXT,
    broken_off,
    half_of_a_character,
    integer_beyond_python,
    promised_parse,
    promised_text,
    source_that_is_not_text,
    source_with_a_close,
    stray_closing_tag,
    text_before_an_error_of_the_source,
    text_in_pieces,
)
from .registry import ALL, ROOMS, Difference
from .storage import capital_beyond_z

__all__ = [
    "ALL",
    "ARRAYS",
    "BROKEN_OFF",
    "ROOMS",
    "ROWS",
    "SCRIPTS",
    "STEPS",
    "TEXT",
    "Difference",
    "LeftOver",
    "argument_of_the_turn_that_is_declared",
    "arguments_against_the_schema",
    "arguments_that_are_not_a_mapping",
    "broken_off",
    "calls_without_execute",
    "calls_without_results",
    "capital_beyond_z",
    "conversation_that_is_too_long",
    "declared_arguments",
    "error_with_its_class",
    "event_without_text",
    "execution_that_cannot_carry_a_turn",
    "falsy_tool",
    "half_of_a_character",
    "integer_beyond_python",
    "messages_of",
    "neighbours_of_one_role",
    "nesting_beyond_the_limit",
    "open_calls",
    "part_of_a_call",
    "promised_arguments",
    "promised_array",
    "promised_batch",
    "promised_events",
    "promised_log",
    "promised_parse",
    "promised_text",
    "promised_turns",
    "report_of_a_block",
    "result_with_a_wrong_field",
    "results_beyond_the_bound",
    "results_without_calls",
    "schema_without_further_arguments",
    "something_that_is_not_a_call",
    "something_that_is_not_a_tool",
    "source_that_is_not_text",
    "source_with_a_close",
    "state_between_turns",
    "state_of_the_turn",
    "storage_that_fails_at_a_call",
    "stray_closing_tag",
    "success_with_its_outcome",
    "swapped_ids",
    "text_before_an_error_of_the_source",
    "text_beyond_the_limit",
    "text_in_pieces",
    "tool_that_exits",
    "tool_with_a_json_schema",
    "tools_of_one_name",
    "turn_that_is_cancelled",
    "turns",
    "window_in_a_turn",
    "words_of_a_failed_profile",
    "words_of_the_system_prompt",
    "words_that_go_on",
]
