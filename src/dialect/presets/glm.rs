//! GLM's tags, which other models took over.

use super::super::{
    Args, Body, Dialect, Head, HeadForm, JsonShape, Pair, Parameters, Str, Unmarked,
};
use super::forms::{THINK, dialect, head_form, hermes, json, marks, pairs, parameters_form};

/// The prefix and the suffix that a model adds to the name of every tag.
#[derive(Clone, Copy)]
struct Affixes(&'static str, &'static str);

impl Affixes {
    fn open(self, name: &str) -> Str {
        format!("<{}{name}{}>", self.0, self.1).into()
    }

    fn close(self, name: &str) -> Str {
        format!("</{}{name}{}>", self.0, self.1).into()
    }

    fn pair(self, name: &str) -> Pair {
        Pair { open: self.open(name), close: self.close(name) }
    }
}

/// `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>value</arg_value></tool_call>`
fn pairs_of_tags(ends: &[Str], tags: Affixes) -> Body {
    let parameters = Parameters {
        open: tags.open("arg_key"),
        key_end: tags.close("arg_key"),
        value_open: tags.open("arg_value"),
        close: tags.close("arg_value"),
        ..parameters_form("", "", "", "")
    };
    Body::Head(Head {
        open: tags.open("tool_call"),
        ends: ends.to_vec(),
        close: tags.close("tool_call"),
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
        ..dialect(name, pairs_of_tags(&ends, Affixes("", "")))
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

/// `LongCat`, whose later models write pairs of tags where the earlier ones write JSON.
pub(super) fn longcat() -> Dialect {
    let tags = Affixes("longcat_", "");
    let ends = [tags.open("arg_key"), tags.close("tool_call"), "\n".into()];
    let mut later = pairs_of_tags(&ends, tags);
    if let Body::Head(head) = &mut later {
        head.bare = true;
    }
    Dialect {
        reasoning: [vec![tags.pair("think")], pairs(&[THINK])].concat(),
        open: vec![tags.open("tool_call")],
        close: vec![tags.close("tool_call")],
        ignored: vec![tags.close("think"), "</think>".into()],
        turn_end: marks(&["</longcat_s>"]),
        ..hermes("longcat").prompted_as("hermes").or(later)
    }
}

/// Hunyuan 3 and 4: the same in a section. The names of all tags end as those of the released models do, or with nothing, as in
/// earlier ones.
pub(super) fn hunyuan(name: &'static str, end: &'static str) -> Dialect {
    let row = |tags: Affixes| {
        let end = (!end.is_empty()).then(|| vec![tags.open(end)]);
        Dialect {
            turn_end: marks(&["<｜hy_eos:opensource｜>"]),
            ..section(name, tags, &["think"], end)
        }
    };
    row(Affixes("", ":opensource")).and(row(Affixes("", "")))
}

/// K2 Horizon, which thinks between other tags the less it is to think.
pub(super) fn k2_horizon() -> Dialect {
    let reasoning = ["think", "think_fast", "think_faster"];
    Dialect {
        turn_end: marks(&["<|ifm|im_end|>"]),
        ..section("k2-horizon", Affixes("ifm|", ""), &reasoning, None)
    }
}

/// A dialect whose calls stand in a section. One of `ends` follows the name of each call, or else the next tag.
fn section(
    name: &'static str,
    tags: Affixes,
    reasoning: &[&str],
    ends: Option<Vec<Str>>,
) -> Dialect {
    let ends = ends.unwrap_or_else(|| vec![tags.open("arg_key"), tags.close("tool_call")]);
    Dialect {
        reasoning: reasoning.iter().map(|name| tags.pair(name)).collect(),
        open: vec![tags.open("tool_calls")],
        close: vec![tags.close("tool_calls")],
        ignored: reasoning.iter().map(|name| tags.close(name)).collect(),
        ..dialect(name, pairs_of_tags(&ends, tags)).prompted_as("glm47")
    }
}
