//! Response templates: how transformers says what a model's answers look like, read as dialects.
//!
//! A template names the fields of an answer and the marks around them, as texts or as patterns. What a dialect has words
//! for is translated; all else is refused with the field, the reason and what to do about it, so that no call is ever read
//! in another way than its template says. These differences are meant:
//!
//! - A closing mark is text inside a JSON string, and in a raw value unless something follows that may. For
//!   transformers the first one ends the call.
//! - Space next to the marks of calls is free, even where a template asks for some.
//! - All texts and calls of an answer are kept; of a field that does not repeat, transformers keeps the last. Text that
//!   no field takes is shown to the user; transformers drops it. Where `content` has an opening mark, calls in it are
//!   calls.
//! - What closes `content` where no mark opens it ends the turn, and what comes after it is dropped.
//! - A call that cannot be read is reported, and the others of the answer are kept; transformers keeps nothing of it.
//! - What answers demand (`optional`) or start out with (`defaults`) does not concern the reader.
//!
//! A dialect reads what a server sends, which begins after the prompt. So `start_anchor` is left out, except for the
//! mark that begins a message with a head. Transformers needs a `prefix` because the prompt may have opened the
//! reasoning already: [`begins_in_reasoning`](Dialect::begins_in_reasoning) says where a template counts on that. A
//! caller whose prompt has closed it again tells the parser so.

mod block;
mod calls;
mod error;
mod fields;
mod group;
mod heads;
mod object;
mod parameters;
mod pattern;
mod python;
#[cfg(test)]
mod tests;
mod texts;
mod transform;
mod written;

use serde_json::Value;

pub use error::TemplateError;

use super::{BatchEnd, Calls, Dialect, LoneMark, Prompt, Unmarked};
use block::CallBlock;
use error::Read;
use fields::{ANSWER, CALLS, TemplateField};
use pattern::{Boundary, PatternForm, PatternPiece};
use texts::Texts;

/// What the fields of an answer that hold reasoning are called.
const REASONING: [&str; 3] = ["thinking", "reasoning", "reasoning_content"];

/// The dialect that a response template describes.
///
/// How tools and results look in a prompt, and where a server should stop, is not in a template: set
/// [`prompt`](Dialect::prompt) and [`stop`](Dialect::stop) for that.
///
/// # Errors
/// It is not a response template, or it says what no dialect can.
///
/// ```
/// use cogency_rs::dialect::template::from_response_template;
/// use serde_json::json;
///
/// let dialect = from_response_template(&json!({
///     "start_anchor": "<|im_start|>assistant\n",
///     "fields": {
///         "thinking": {"open": "<think>", "close": "</think>"},
///         "tool_calls": {
///             "open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
///             "transform": {"type": "function", "function": "{content}"},
///         },
///         "content": {"close": "<|im_end|>"},
///     },
/// }))?;
/// assert_eq!((&*dialect.calls.open[0], &*dialect.turn_end[0]), ("<tool_call>", "<|im_end|>"));
/// # Ok::<_, cogency_rs::dialect::template::TemplateError>(())
/// ```
pub fn from_response_template(template: &Value) -> Result<Dialect, TemplateError> {
    let fields = fields::fields(template)?;
    let known = |name: &str| REASONING.contains(&name) || [ANSWER, CALLS].contains(&name);
    if let Some(field) = fields.iter().find(|field| !known(field.name)) {
        return Err(TemplateError::new(
            &field.path,
            "is not part of an answer that can be read",
            format!("known are {}, {ANSWER} and {CALLS}: leave it out", REASONING.join(", ")),
        ));
    }
    check_marks(&fields)?;
    let dialect = translated(template, &fields)?;
    match dialect.check() {
        Ok(()) => Ok(dialect),
        Err(wrong) => {
            let advice = "give each mark of the model a text";
            Err(TemplateError::new(
                "template",
                format!("describes what cannot be read: {wrong}"),
                advice,
            ))
        }
    }
}

fn translated(template: &Value, fields: &[TemplateField<'_>]) -> Read<Dialect> {
    let mut dialect = empty();
    let calls = fields.iter().find(|field| field.name == CALLS);
    if let Some(calls) = calls.filter(|calls| heads::is_addressed(calls)) {
        let messages = heads::messages(template, fields, calls)?;
        dialect.heads = Some(messages.heads);
        dialect.calls = by_example(&messages.calls)?;
        dialect.prompt.turn = messages.turn;
        return Ok(dialect);
    }
    let texts = texts(fields)?;
    dialect.reasoning = texts.reasoning.pairs;
    dialect.begins_in_reasoning = texts.reasoning.begins;
    dialect.answer = texts.answer;
    dialect.turn_end = texts.turn_end;
    if let Some(calls) = calls.map(calls::calls).transpose()? {
        dialect.unmarked = calls.unmarked;
        dialect.calls = by_example(&calls)?;
        for end in calls.turn_end {
            if !dialect.turn_end.contains(&end) {
                dialect.turn_end.push(end);
            }
        }
    }
    Ok(dialect)
}

/// Calls as a dialect has them.
fn by_example(block: &CallBlock) -> Read<Calls> {
    written::calls(block).ok_or_else(|| {
        let what = "writes calls with white space where no dialect can have it";
        TemplateError::new(format!("fields.{CALLS}"), what, "keep white space out of the marks")
    })
}

/// No mark may open two fields, or open one and end the turn.
fn check_marks(fields: &[TemplateField<'_>]) -> Read<()> {
    let mut known: Vec<(&str, &str)> = Vec::new();
    for field in fields {
        let boundary =
            field.open.as_ref().or(field.close.as_ref().filter(|_| field.name == ANSWER));
        let Some(Boundary { path, form: PatternForm::Alternatives(alternatives) }) = boundary
        else {
            continue;
        };
        let mut own: Vec<&str> = Vec::new();
        for piece in
            alternatives.iter().filter_map(|alternative| texts::trimmed(alternative).first())
        {
            let PatternPiece::Text(mark) = piece else { continue };
            if let Some((_, other)) = known.iter().find(|(known, _)| known == mark) {
                return Err(TemplateError::new(
                    path,
                    format!("has the mark {mark:?}, which also opens `fields.{other}`"),
                    "a mark can have one meaning alone",
                ));
            }
            own.push(mark);
        }
        known.extend(own.into_iter().map(|mark| (mark, field.name)));
    }
    Ok(())
}

/// The fields of text.
fn texts(fields: &[TemplateField<'_>]) -> Read<Texts> {
    let mut texts = Texts::default();
    for field in fields {
        if REASONING.contains(&field.name) {
            let reasoning = texts::reasoning(field)?;
            texts.reasoning.pairs.extend(reasoning.pairs);
            texts.reasoning.begins |= reasoning.begins;
        } else if field.name == ANSWER {
            (texts.answer, texts.turn_end) = texts::answer(field)?;
        }
    }
    Ok(texts)
}

/// A dialect without any mark.
fn empty() -> Dialect {
    Dialect {
        name: "response-template".into(),
        models: "".into(),
        reasoning: Vec::new(),
        begins_in_reasoning: false,
        answer: Vec::new(),
        results: Vec::new(),
        heads: None,
        at_line_start: false,
        calls: Calls::default(),
        unmarked: Unmarked::Never,
        batch: BatchEnd::Answer,
        lone_mark: LoneMark::Text,
        end: Vec::new(),
        turn_end: Vec::new(),
        ignored: Vec::new(),
        tokens: Vec::new(),
        stop: Vec::new(),
        prompt: Prompt::default(),
    }
}
