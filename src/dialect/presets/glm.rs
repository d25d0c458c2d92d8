//! GLM's tags, which other models took over.

use super::super::{Args, Body, Dialect, Head, HeadForm, JsonShape, Parameters, Str, Unmarked};
use super::forms::{THINK, dialect, head_form, json, marks, pairs, parameters_form};

/// `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>value</arg_value></tool_call>`, with something in front of the tags'
/// names.
fn pairs_of_tags(ends: &[Str], before: &str) -> Body {
    let open = |name: &str| format!("<{before}{name}>");
    let close = |name: &str| format!("</{before}{name}>");
    let parameters = Parameters {
        open: open("arg_key").into(),
        key_end: close("arg_key").into(),
        value_open: open("arg_value").into(),
        close: close("arg_value").into(),
        ..parameters_form("", "", "", "")
    };
    Body::Head(Head {
        open: open("tool_call").into(),
        ends: ends.to_vec(),
        close: close("tool_call").into(),
        ..head_form("", &[], HeadForm::Name, Args::Parameters(parameters), "")
    })
}

pub(super) fn glm(name: &'static str, first: &'static str) -> Dialect {
    let mut ends = marks(&["<arg_key>", "</tool_call>", "\n"]);
    ends.sort_by_key(|end| end != first);
    Dialect {
        reasoning: pairs(&[THINK]),
        ignored: marks(&["</think>"]),
        turn_end: marks(&["<|observation|>", "<|user|>", "<|endoftext|>"]),
        ..dialect(name, pairs_of_tags(&ends, ""))
    }
}

/// Laguna, which also writes JSON between the marks of a call, or as its whole answer.
pub(super) fn laguna() -> Dialect {
    let mut laguna = glm("poolside-laguna", "<arg_key>").prompted_as("glm47");
    if let Some(Body::Head(head)) = laguna.bodies.first_mut() {
        head.bare = true;
    }
    Dialect {
        open: marks(&["<tool_call>"]),
        close: marks(&["</tool_call>"]),
        unmarked: Unmarked::AtStart,
        ..laguna.or(json(JsonShape::Object, &["name"], &["arguments"]))
    }
}

/// The same in a section, perhaps with a mark of its own behind the name.
pub(super) fn glm_section(
    name: &'static str,
    section: [&'static str; 2],
    end: &'static str,
    before: &str,
) -> Dialect {
    let other = [format!("<{before}arg_key>"), format!("</{before}tool_call>")].map(Str::from);
    let ends: Vec<Str> = if end.is_empty() { other.to_vec() } else { marks(&[end]) };
    Dialect {
        reasoning: pairs(&[THINK]),
        open: marks(&[section[0]]),
        close: marks(&[section[1]]),
        ignored: marks(&["</think>"]),
        ..dialect(name, pairs_of_tags(&ends, before)).prompted_as("glm47")
    }
}
