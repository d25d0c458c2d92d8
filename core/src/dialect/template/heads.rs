//! Messages with a head: a channel and, for a call, its recipient.

use serde_json::Value;

use super::super::{
    Args, Body, CallsForm, Frame, Head, HeadForm, Joints, MessageHeads, Str, TurnForm,
};
use super::block::CallBlock;
use super::calls::opener;
use super::error::{Read, TemplateError};
use super::fields::{ANSWER, CALLS, FieldContent, TemplateField, missing};
use super::group::Group;
use super::pattern::{Alternative, Boundary, PatternForm, PatternPiece};
use super::texts::{marks, trimmed};
use super::transform::{PartPlaces, parts};

/// What a head says before its recipient.
const TO: &str = "to=";

/// A head that begins with it.
const TO_ALONE: &str = " to=";

/// Recipients that are not tools.
const PEOPLE: [&str; 2] = ["assistant", "user"];

/// What comes before the name of a recipient in an alternative, and the group of that name.
fn recipient(alternative: &Alternative) -> Option<(&str, &Group)> {
    alternative.windows(2).find_map(|pair| match pair {
        [PatternPiece::Text(text), PatternPiece::Group(group)] => {
            let at = text.rfind(TO)?;
            let prefix = &text[at + TO.len()..];
            let is_word = |char: char| char.is_alphanumeric() || "._-".contains(char);
            prefix.chars().all(is_word).then_some((prefix, group))
        }
        _ => None,
    })
}

/// Whether what opens a call names a recipient.
pub(super) fn is_addressed(field: &TemplateField<'_>) -> bool {
    let Some(Boundary { form: PatternForm::Alternatives(alternatives), .. }) = &field.open else {
        return false;
    };
    alternatives.iter().any(|alternative| recipient(alternative).is_some())
}

/// Messages with heads.
pub(super) struct Messages {
    pub heads: MessageHeads,
    /// The call that is in one.
    pub calls: CallBlock,
    /// How the model's own messages are written.
    pub turn: TurnForm,
}

/// The messages of a template whose calls name a recipient.
pub(super) fn messages(
    template: &Value,
    fields: &[TemplateField<'_>],
    calls: &TemplateField<'_>,
) -> Read<Messages> {
    let open = opener(calls)?;
    let alternative = match &open.form {
        PatternForm::Alternatives(alternatives) => match &alternatives[..] {
            [alternative] => {
                recipient(alternative).map(|(prefix, group)| (alternative, prefix, group))
            }
            _ => None,
        },
        PatternForm::Ahead(_) => None,
    };
    let Some((alternative, prefix, name)) =
        alternative.filter(|(.., name)| name.holds("get_weather"))
    else {
        return open
            .refuse("is not one head with a name", "write one pattern for all heads of calls");
    };
    check_call(calls, name)?;
    let end = message_mark(open, alternative)?;
    let between = anchor(template)?;
    let begin = between.find('>').map_or(&*between, |end| &between[..=end]);
    let mut turn = TurnForm {
        joints: Some(Joints {
            thought: between.clone(),
            calls: between.clone(),
            other: between.clone(),
        }),
        ..TurnForm::default()
    };
    let mut heads = MessageHeads {
        open: vec![begin.to_owned().into()],
        channel: Str::default(),
        recipient: TO.into(),
        end: end.clone().into(),
        close: Vec::new(),
        reasoning: Vec::new(),
        answer: PEOPLE.map(Str::from).to_vec(),
        prefix: prefix.to_owned().into(),
        names_call: true,
    };
    for field in fields {
        let close = field.close.as_ref().map_or(Ok(Vec::new()), marks)?;
        for mark in &close {
            if !heads.close.iter().any(|known| known == mark) {
                heads.close.push(mark.clone().into());
            }
        }
        if field.name == CALLS {
            continue;
        }
        if close.is_empty() && field.name != ANSWER {
            let path = format!("{}.close", field.path);
            return Err(missing(&path, "without it, all that follows would be reasoning"));
        }
        let open = channels(field, &end, &mut heads)?;
        let frame = if field.name == ANSWER { &mut turn.text } else { &mut turn.thought };
        *frame = framed(open, &close);
    }
    if heads.channel.is_empty() {
        let advice = "give reasoning or content its own channel";
        return open.refuse("is in a template without channels", advice);
    }
    heads.open.push(heads.channel.clone());
    let begin = head_of(alternative);
    if !heads.open.iter().any(|mark| begin.starts_with(&**mark)) && !begin.starts_with(TO_ALONE) {
        return open.refuse(
            format!("begins a head with another mark than {:?}", heads.channel),
            "keep the one that the model writes",
        );
    }
    let body = Body::Head(Head {
        open: if prefix.is_empty() { TO.into() } else { prefix.to_owned().into() },
        ends: vec![end.into()],
        form: HeadForm::Name,
        args: Args::Json,
        close: Str::default(),
        until: Vec::new(),
        bare: false,
    });
    let close = calls.close.as_ref().map_or(Ok(Vec::new()), marks)?;
    let message = framed(head_of(alternative), &close);
    let form = CallsForm { between, message, ..CallsForm::default() };
    let calls = CallBlock { form, ..CallBlock::new(Vec::new(), Vec::new(), body) };
    Ok(Messages { heads, calls, turn })
}

fn framed(before: String, close: &[String]) -> Frame {
    Frame { before: before.into(), behind: close.first().cloned().unwrap_or_default().into() }
}

/// How the head of a call is written.
fn head_of(alternative: &Alternative) -> String {
    let mut head = String::new();
    for piece in trimmed(alternative) {
        match piece {
            PatternPiece::Text(text) if head.is_empty() && text.trim_start().starts_with(TO) => {
                head.push(' ');
                head.push_str(text.trim_start());
            }
            PatternPiece::Text(text) => head.push_str(text),
            PatternPiece::Group(_) => head.push_str("{name}"),
            PatternPiece::Space(_) => head.push(' '),
            PatternPiece::Any | PatternPiece::Start | PatternPiece::End => {}
        }
    }
    head
}

/// A call in a message has its name in the head, and nothing but arguments in the text.
fn check_call(calls: &TemplateField<'_>, name: &Group) -> Read<()> {
    let is_named = parts(calls, &[&name.name])? == PartPlaces::Group(name.name.clone());
    if !is_named || calls.content != FieldContent::Json {
        return Err(TemplateError::new(
            format!("{}.transform", calls.path),
            "does not take the name from the head and the arguments from JSON",
            "both are there in messages with a recipient",
        ));
    }
    if !calls.args.is_plain() {
        let path = calls.args.path.clone();
        return Err(TemplateError::new(path, "allows what is not JSON", "leave it out"));
    }
    Ok(())
}

/// What begins a message of the model, with a mark first: what the prompt ends with.
fn anchor(template: &Value) -> Read<Str> {
    let anchor = match (template.get("start_anchor"), template.get("start_anchor_pattern")) {
        (Some(anchor), _) => Boundary::literal("start_anchor".into(), anchor)?,
        (None, Some(Value::String(source))) => {
            Boundary::pattern("start_anchor_pattern".into(), source)?
        }
        _ => Boundary { path: "start_anchor".into(), form: PatternForm::Ahead(Vec::new()) },
    };
    let text = match &anchor.form {
        PatternForm::Alternatives(alternatives) => {
            match alternatives.first().map(|alternative| trimmed(alternative)) {
                Some([PatternPiece::Text(text), ..]) => text.clone(),
                _ => String::new(),
            }
        }
        PatternForm::Ahead(_) => String::new(),
    };
    if text.starts_with('<') && text.contains('>') {
        return Ok(text.clone().into());
    }
    anchor.refuse(
        "does not begin with a mark",
        "where messages have heads, it must say what begins one, such as `<|start|>`",
    )
}

/// The mark at the end of a head, after which the message comes.
fn message_mark(open: &Boundary, alternative: &Alternative) -> Read<String> {
    match trimmed(alternative).last() {
        Some(PatternPiece::Text(text)) if text.ends_with('>') && text.contains('<') => {
            Ok(text[text.rfind('<').unwrap_or(0)..].to_owned())
        }
        _ => open.refuse(
            "does not end with a mark",
            "end it with the mark before the message, such as `<|message|>`",
        ),
    }
}

/// The channels of a field with text, which go into `heads`; gives the head of the first.
fn channels(field: &TemplateField<'_>, end: &str, heads: &mut MessageHeads) -> Read<String> {
    let Some(open) = &field.open else {
        return Err(TemplateError::new(
            format!("{}.open", field.path),
            "is missing",
            "where calls name a recipient, every field has its own head",
        ));
    };
    if field.content != FieldContent::Text || field.transform.is_some() {
        let path = format!("{}.content", field.path);
        return Err(TemplateError::new(path, "is not text as it is", "leave it out"));
    }
    let marks = marks(open)?;
    for mark in &marks {
        let head = mark.strip_suffix(end).and_then(|head| Some(head.split_at(head.find('>')? + 1)));
        let Some((begin, channel)) = head.filter(|(begin, channel)| {
            let is_word = |char: char| char.is_alphanumeric() || "_-".contains(char);
            begin.starts_with('<') && !channel.is_empty() && channel.chars().all(is_word)
        }) else {
            return open.refuse(
                format!("is {mark:?}, which is not the head of a channel"),
                "it is a mark, the channel's name, and the mark that ends the head of a call",
            );
        };
        if !heads.channel.is_empty() && heads.channel != begin {
            return open.refuse(
                format!("begins a head with {begin:?}, and another field with {:?}", heads.channel),
                "keep the one that the model writes",
            );
        }
        heads.channel = begin.to_owned().into();
        if field.name != ANSWER {
            heads.reasoning.push(channel.to_owned().into());
        }
    }
    Ok(marks.into_iter().next().unwrap_or_default())
}
