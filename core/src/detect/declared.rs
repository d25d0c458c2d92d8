//! How a template declares tools: in which words, and in which message.
//!
//! Nothing is taken for granted about a template: its words are found at a place if a conversation with them there, rendered without
//! tools, is what the template writes with tools.

use std::sync::Arc;

use minijinja::Error;
use serde_json::{Value, json};

use super::conversation::{QUESTION, TOOL, tool, user};
use super::detected::Detected;
use crate::context::prompt::{PromptParts, Tool, declared_as};
use crate::dialect::{
    Dialect, Frame, JsonLayout, ToolObject, ToolsForm, ToolsLayout, ToolsPlace, Wording,
};
use crate::protocol::write::Renderer;

const SYSTEM: &str = "Be-as-brief-as-you-can.";
/// Where the tools may be.
const HERE: &str = "here-are-the-tools";

/// How a template declares tools.
pub enum Declared {
    /// In a message.
    At {
        /// Which one.
        place: ToolsPlace,
        /// All of the text about them.
        text: String,
        /// What a prompt with this text in this place lacks, or has twice, next to what the template writes.
        doubt: Option<&'static str>,
    },
    /// In a place that no message has.
    Outside,
    /// Not at all.
    Nowhere,
}

/// How the template declares tools that `write` renders with messages and tools.
pub fn declared(write: impl Fn(&Value, &[Value]) -> Result<String, Error>) -> Declared {
    let system = |text: &str| json!({ "role": "system", "content": text });
    let asked = |text: &str| json!({ "role": "user", "content": text });
    let plain = json!([system(SYSTEM), user()]);
    let Ok(whole) = write(&plain, &tools()) else {
        // It may have no system message, or no tools.
        let bare = write(&json!([user()]), &tools()).unwrap_or_default();
        return if bare.contains(TOOL) { Declared::Outside } else { Declared::Nowhere };
    };
    if !whole.contains(TOOL) {
        return Declared::Nowhere;
    }
    let ways = [
        (ToolsPlace::OwnSystem, json!([system(HERE), system(SYSTEM), user()])),
        (ToolsPlace::AfterSystem, json!([system(&format!("{SYSTEM}{HERE}")), user()])),
        (ToolsPlace::BeforeSystem, json!([system(&format!("{HERE}{SYSTEM}")), user()])),
        (ToolsPlace::User, json!([system(SYSTEM), asked(&format!("{HERE}{QUESTION}"))])),
    ];
    let end = write(&plain, &[]).ok().and_then(|text| end_of_message(&text));
    let ways = ways.map(|(place, messages)| (place, write(&messages, &[]).unwrap_or_default()));
    for is_all in [true, false] {
        for (place, without) in &ways {
            let Some(text) = inserted(&whole, without, is_all) else { continue };
            let is_more =
                end.as_deref().into_iter().chain([SYSTEM]).any(|mark| text.contains(mark));
            if text.contains(TOOL) && !is_more {
                let doubt =
                    (!is_all).then_some("for tools, the template also writes what no message can");
                return Declared::At { place: *place, text: text.into(), doubt };
            }
        }
    }
    let end = end.as_deref().unwrap_or_default();
    match always(&whole, &ways[0].1).filter(|text| text.contains(TOOL) && !text.contains(end)) {
        Some(text) => Declared::At {
            place: ToolsPlace::OwnSystem,
            text: text.into(),
            doubt: Some("without tools, the template writes that message, too"),
        },
        None => Declared::Outside,
    }
}

/// The first system message in `whole`, if the template writes one before all others with tools and, as in `without`, without any.
fn always<'t>(whole: &'t str, without: &str) -> Option<&'t str> {
    let (first, rest) = without.split_once(HERE)?;
    let (joint, _) = rest.split_once(SYSTEM)?; // the end of a system message, and the head of the next one
    let first = first.strip_suffix(joint)?;
    let (own, _) = whole.split_once(SYSTEM)?;
    let own = own.strip_suffix(joint)?;
    let mut heads = joint.char_indices().map(|(place, _)| &joint[place..]);
    let head = heads.find(|head| own.contains(head) && first.contains(head))?;
    own.split_once(head).map(|(_, text)| text)
}

/// What is in `whole` in the place of the mark in `without`, if all else is the same: all, or what follows the text of the system
/// message, but for space.
fn inserted<'t>(whole: &'t str, without: &str, is_all: bool) -> Option<&'t str> {
    let (mut before, mut after) = without.split_once(HERE)?;
    let mut whole = whole;
    if !is_all {
        before = &before[before.find(SYSTEM)?..];
        after = after.trim_start();
        whole = &whole[whole.find(SYSTEM)?..];
    }
    whole.strip_prefix(before)?.strip_suffix(after)
}

/// The mark at the end of a message, which no text in a message has.
fn end_of_message(plain: &str) -> Option<String> {
    let (_, rest) = plain.split_once(SYSTEM)?;
    let (between, _) = rest.split_once(QUESTION)?;
    let between = between.trim_start();
    let end = between.find(['>', ']'])?;
    Some(between[..=end].to_owned())
}

/// Three tools, so that what is between two of them is seen twice.
fn tools() -> [Value; 3] {
    let function = |name: &str, description: &str, properties: Value, required: Value| {
        let parameters =
            json!({ "type": "object", "properties": properties, "required": required });
        let function =
            json!({ "name": name, "description": description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    let alarm = json!({
        "at": { "type": "string", "description": "When.", "enum": ["noon", "night"] },
        "loud": { "type": "boolean", "description": "Whether it is loud." },
    });
    let note = json!({ "text": { "type": "string", "description": "What to note." } });
    [
        tool(),
        function("set_alarm", "Set an alarm.", alarm, json!(["at"])),
        function("take_note", "Take a note.", note, json!(["text"])),
    ]
}

/// What was detected, with the words of the template.
pub fn worded(mut detected: Detected, declared: &Declared) -> Detected {
    let name = detected.dialect.name.clone();
    let doubt = match declared {
        Declared::At { place, text, doubt } => {
            detected.doubts.extend(doubt.map(Into::into));
            match with_words(&detected.dialect, *place, text) {
                Some(dialect) => {
                    detected.dialect = dialect;
                    detected.evidence.push(format!(
                        "prompts declare tools in the template's words, {}",
                        match place {
                            ToolsPlace::AfterSystem => "after the system message's text",
                            ToolsPlace::BeforeSystem => "before the system message's text",
                            ToolsPlace::OwnSystem => "in a system message of their own",
                            ToolsPlace::User => "before the text of the user's first message",
                        }
                    ));
                    return detected;
                }
                None => "in a form that no prompt of ours has",
            }
        }
        Declared::Outside => "outside of the messages' texts",
        Declared::Nowhere => "nowhere",
    };
    detected
        .doubts
        .push(format!("the template declares tools {doubt}: prompts declare them as for {name}"));
    detected
}

/// The dialect, with the words of this text; `None` if it declares the tools in another form than all of ours.
fn with_words(dialect: &Arc<Dialect>, place: ToolsPlace, text: &str) -> Option<Arc<Dialect>> {
    let declared = tools();
    let tools: Vec<_> = declared
        .iter()
        .map(|tool| {
            let name = tool["function"]["name"].as_str().unwrap_or_default();
            Tool { name, line: "", declared: tool }
        })
        .collect();
    let renderer = Renderer::new(Arc::clone(dialect));
    let known = PromptParts::new(&renderer, &tools, None, None);
    if dialect.prompt.wording.is_some() && known.place == place && known.tools == text {
        return Some(Arc::clone(dialect));
    }
    let layouts = [dialect.prompt.tools.layout.clone()].into_iter().chain(layouts());
    layouts.filter(|layout| *layout != ToolsLayout::Signature).find_map(|layout| {
        // A character that is in no template, to take the tools apart.
        const BETWEEN: &str = "\u{0}";
        let form = |between: &str| ToolsForm {
            layout: layout.clone(),
            around: Frame::default(),
            each: Frame::default(),
            between: between.to_owned().into(),
        };
        let listed = declared_as(&renderer, &form(BETWEEN), &tools);
        let (before, between, behind) = around(text, &listed.split(BETWEEN).collect::<Vec<_>>())?;
        let mut found = Dialect::clone(dialect);
        found.prompt.tools = form(between);
        found.prompt.wording = Some(Wording {
            place,
            before: before.to_owned().into(),
            behind: behind.to_owned().into(),
        });
        Some(Arc::new(found))
    })
}

/// What is before, between and after items in a text, if it is the same between any two of them.
fn around<'t>(text: &'t str, items: &[&str]) -> Option<(&'t str, &'t str, &'t str)> {
    let (first, others) = items.split_first()?;
    let (before, mut rest) = text.split_once(first)?;
    let mut between = None;
    for item in others {
        let (found, after) = rest.split_once(item)?;
        if *between.get_or_insert(found) != found {
            return None;
        }
        rest = after;
    }
    Some((before, between.unwrap_or_default(), rest))
}

/// The forms in which templates declare tools.
fn layouts() -> impl Iterator<Item = ToolsLayout> {
    let objects = [ToolObject::Tool, ToolObject::Function, ToolObject::Responses];
    let json = [
        JsonLayout::Compact,
        JsonLayout::Indented(4),
        JsonLayout::Indented(2),
        JsonLayout::Items(4),
    ];
    let of_json = objects.into_iter().flat_map(move |object| {
        json.into_iter().flat_map(move |layout| {
            [ToolsLayout::Json(object, layout), ToolsLayout::Array(object, layout)]
        })
    });
    let others = [
        ToolsLayout::Elements("function".into(), "name".into()),
        ToolsLayout::Heading,
        ToolsLayout::TypeScript,
        ToolsLayout::Docstring,
        ToolsLayout::Braces("<|\"|>".into()),
    ];
    of_json.chain(others)
}
