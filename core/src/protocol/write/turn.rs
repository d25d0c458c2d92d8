//! Turns of the model: their thoughts, words and calls.

use crate::dialect::{Body, DecisionKeys, Dialect, Frame, Json, JsonLayout, Pair};

use super::super::notation::calls::push_answer;
use super::super::notation::json::Style;
use super::super::notation::sink::Sink;
use super::super::stored::ShownCall;
use super::check::push_calls;
use crate::text::{is_blank, trim};

/// A part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnPart<'a> {
    /// Reasoning.
    Thought(&'a [u8]),
    /// Words for the user.
    Words(&'a [u8]),
    /// Calls of one batch.
    Calls(&'a [ShownCall]),
    /// What the model wrote, as it wrote it.
    Raw(&'a [u8]),
}

impl TurnPart<'_> {
    /// About how many bytes it takes when it is written.
    #[doc(hidden)]
    #[must_use]
    pub fn size(&self) -> usize {
        let size = |call: &ShownCall| call.name.len() + call.args.len() + CALL;
        match self {
            Self::Thought(text) | Self::Words(text) | Self::Raw(text) => text.len() + MARKS,
            Self::Calls(calls) => MARKS + calls.iter().map(size).sum::<usize>(),
        }
    }
}

/// Bytes of room for the marks around a part, and for the text of a call other than its name and its arguments.
const MARKS: usize = 32;
const CALL: usize = 128;

/// Adds a turn. Returns whether anything of it is shown.
pub fn push_turn(sink: &mut Sink<'_>, dialect: &Dialect, parts: &[TurnPart<'_>]) -> bool {
    if let Some(Body::Json(Json { decision: Some(decision), .. })) = dialect.calls.bodies.first() {
        return push_decisions(sink, dialect, decision, parts);
    }
    let form = &dialect.prompt.turn;
    let calls_end = calls_end(parts);
    let mut last: Option<TurnPart<'_>> = None;
    let mut is_begun = false;
    for (index, &part) in parts.iter().enumerate() {
        if is_left_out(dialect, part) {
            continue;
        }
        if let Some(last) = last {
            push_joint(sink, dialect, last, part);
        }
        match part {
            TurnPart::Thought(text) => push_thought(sink, dialect, text),
            TurnPart::Words(text) => {
                let frame = match &form.preamble {
                    Some(frame) if index < calls_end => frame,
                    _ => &form.text,
                };
                push_framed(sink, frame, kept(dialect, text));
            }
            TurnPart::Calls(calls) => push_calls(sink, dialect, calls, !is_begun, None),
            TurnPart::Raw(text) => sink.push_written(text),
        }
        is_begun |= !matches!(part, TurnPart::Thought(_));
        last = Some(part);
    }
    last.is_some()
}

/// The number of parts up to the last calls, with these.
fn calls_end(parts: &[TurnPart<'_>]) -> usize {
    let last = parts.iter().rposition(|part| matches!(part, TurnPart::Calls(_)));
    last.map_or(0, |last| last + 1)
}

/// Adds a turn in which each call and the answer are objects that hold the model's thoughts too. Words before a call are written
/// as a thought, since only the last object can be the answer.
fn push_decisions(
    sink: &mut Sink<'_>,
    dialect: &Dialect,
    decision: &DecisionKeys,
    parts: &[TurnPart<'_>],
) -> bool {
    let mut thoughts: Vec<&[u8]> = Vec::new();
    let mut is_begun = false;
    let calls_end = calls_end(parts);
    for (index, &part) in parts.iter().enumerate() {
        let text = match part {
            TurnPart::Thought(text) => Some(text),
            TurnPart::Words(text) if is_blank(text) || index < calls_end => Some(text),
            _ => None,
        };
        if let Some(text) = text {
            thoughts.extend(Some(trim(text)).filter(|text| !text.is_empty()));
            continue;
        }
        sink.push(if is_begun { "\n" } else { "" });
        let thought = std::mem::take(&mut thoughts).join(&b'\n');
        match part {
            TurnPart::Words(text) => {
                let strings = sink.strings();
                let style = Style { layout: JsonLayout::Compact, strings };
                push_answer(&mut sink.out, style, decision, &thought, trim(text));
            }
            TurnPart::Calls(calls) => push_calls(sink, dialect, calls, !is_begun, Some(&thought)),
            TurnPart::Raw(text) => sink.push_written(text),
            TurnPart::Thought(_) => {}
        }
        is_begun = true;
    }
    is_begun
}

/// Whether a part is not shown: blank text, and thoughts that the dialect has no marks for.
fn is_left_out(dialect: &Dialect, part: TurnPart<'_>) -> bool {
    if dialect.prompt.turn.joints.is_none() && !dialect.reasoning.is_empty() {
        return false;
    }
    match part {
        TurnPart::Thought(text) => {
            let is_marked =
                !dialect.reasoning.is_empty() || has_frame(&dialect.prompt.turn.thought);
            !is_marked || is_blank(text)
        }
        TurnPart::Words(text) => is_blank(text),
        TurnPart::Calls(_) | TurnPart::Raw(_) => false,
    }
}

fn has_frame(frame: &Frame) -> bool {
    !(frame.before.is_empty() && frame.behind.is_empty())
}

/// Text as it is shown: without the space around it, if the dialect has its own.
fn kept<'t>(dialect: &Dialect, text: &'t [u8]) -> &'t [u8] {
    match dialect.prompt.turn.joints {
        None => text,
        Some(_) => trim(text),
    }
}

fn push_joint(sink: &mut Sink<'_>, dialect: &Dialect, last: TurnPart<'_>, next: TurnPart<'_>) {
    let Some(joints) = &dialect.prompt.turn.joints else { return sink.push("\n") };
    sink.push(&**match (last, next) {
        (TurnPart::Thought(_), _) => &joints.thought,
        (_, TurnPart::Calls(_) | TurnPart::Raw(_)) => &joints.calls,
        _ => &joints.other,
    });
}

fn push_framed(sink: &mut Sink<'_>, frame: &Frame, text: &[u8]) {
    sink.push(&*frame.before);
    sink.push_outside(text);
    sink.push(&*frame.behind);
}

fn push_thought(sink: &mut Sink<'_>, dialect: &Dialect, text: &[u8]) {
    let frame = &dialect.prompt.turn.thought;
    let text = kept(dialect, text);
    let Some(Pair { open, close }) = dialect.reasoning.first() else {
        return push_framed(sink, frame, text);
    };
    sink.push(&**open);
    push_framed(sink, frame, text);
    sink.push(&**close);
}

#[cfg(test)]
mod tests {
    use super::super::Renderer;
    use super::*;
    use crate::dialect::presets::preset;

    fn turn(row: &str, parts: &[TurnPart<'_>]) -> Option<String> {
        let turn = Renderer::new(preset(row).expect("a row")).turn(parts);
        turn.map(|turn| turn.to_string())
    }

    fn call() -> [ShownCall; 1] {
        let [name, args] = ["\"a\"", "{\"x\": 1}"].map(str::to_owned);
        [ShownCall { name, args, id: None, server: None }]
    }

    #[test]
    fn parts_stand_as_each_row_has_them() {
        let calls = call();
        let parts =
            [TurnPart::Thought(b" hm\n"), TurnPart::Words(b"ok\n\n"), TurnPart::Calls(&calls)];
        for (row, expected) in [
            (
                "hermes",
                "<think>\nhm\n</think>\n\nok\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": 1}}\n</tool_call>",
            ),
            ("llama3-json", "ok\n<|python_tag|>{\"name\": \"a\", \"parameters\": {\"x\": 1}}"),
            ("pythonic", "ok[a(x=1)]"),
            ("react", "Thought: hm\nok\nAction: a\nAction Input: {\"x\": 1}"),
            (
                "react-json",
                "{\"thought\": \"hm\\nok\", \"type\": \"call_tool\", \"tool\": \"a\", \"args\": {\"x\": 1}}",
            ),
            (
                "harmony",
                "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>ok<|end|>\
                 <|start|>assistant to=functions.a<|channel|>commentary json<|message|>{\"x\": 1}<|call|>",
            ),
            (
                "cogency",
                "<think> hm\n</think>\nok\n\n\n<execute>\n[\n  {\n    \"name\": \"a\",\n    \"args\": {\n      \
                 \"x\": 1\n    }\n  }\n]\n</execute>",
            ),
        ] {
            assert_eq!(turn(row, &parts).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_answer_stands_as_each_row_has_it() {
        let parts = [TurnPart::Thought(b"hm"), TurnPart::Words(b"done")];
        for (row, expected) in [
            ("glm47", "<think>hm</think>done"),
            ("phi4", "done"),
            ("react", "Thought: hm\nFinal Answer: done"),
            (
                "react-json",
                "{\"thought\": \"hm\", \"type\": \"final_answer\", \"answer\": \"done\"}",
            ),
            (
                "cohere",
                "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>done<|END_RESPONSE|>",
            ),
        ] {
            assert_eq!(turn(row, &parts).as_deref(), Some(expected));
        }
    }

    #[test]
    fn thoughts_without_marks_are_left_out() {
        let parts = [TurnPart::Thought(b"hm")];
        assert_eq!(turn("phi4", &parts), None);
        assert_eq!(turn("react-json", &parts), None);
        assert_eq!(turn("glm47", &[TurnPart::Words(b" \n")]), None);
        assert_eq!(turn("cogency", &[TurnPart::Words(b"")]).as_deref(), Some(""));
    }

    #[test]
    fn a_thought_cannot_end_before_it_does() {
        let parts = [TurnPart::Thought(b"a</think>b")];
        let expected = "<think>a<\u{2060}/think>b</think>";
        assert_eq!(turn("glm47", &parts).as_deref(), Some(expected));
    }
}
