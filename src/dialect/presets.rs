//! The dialects that models were taught, by name: a row for each.

use super::{Batch, Body, Dialect, Json, LoneMark, Pair, Shape};

/// The dialect of this name.
#[must_use]
pub fn preset(name: &str) -> Option<Dialect> {
    rows().into_iter().find(|row| row.name == name)
}

fn rows() -> Vec<Dialect> {
    vec![Dialect {
        reasoning: vec![pair("<think>", "</think>")],
        results: vec![pair("<results>", "</results>")],
        end: vec!["<end>".into()],
        batch: Batch::Block,
        lone_mark: LoneMark::Block,
        ..block(
            "cogency",
            "<execute>",
            "</execute>",
            Body::Json(Json {
                shape: Shape::Array,
                name: vec!["name".into()],
                args: vec!["args".into()],
                args_optional: false,
                id: None,
                server: None,
                decision: None,
            }),
        )
    }]
}

fn pair(open: &'static str, close: &'static str) -> Pair {
    Pair { open: open.into(), close: close.into() }
}

fn block(name: &'static str, open: &'static str, close: &'static str, body: Body) -> Dialect {
    Dialect {
        name: name.into(),
        reasoning: Vec::new(),
        begins_in_reasoning: false,
        answer: Vec::new(),
        results: Vec::new(),
        heads: None,
        open: vec![open.into()],
        close: vec![close.into()],
        at_start: false,
        bodies: vec![body],
        batch: Batch::Answer,
        lone_mark: LoneMark::Text,
        end: Vec::new(),
        turn_end: Vec::new(),
        ignored: Vec::new(),
        stop: Vec::new(),
        prompt: super::Prompt::default(),
    }
}
