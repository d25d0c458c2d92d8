//! What a grammar is built of.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::error::GrammarError;
use super::expr::{Expr, Rules};
use super::options::CallChoice;
use super::shape::{ShapeId, Shapes};
use super::text::{Avoiding, TextRules};
use crate::dialect::{Args, Dialect, JsonLayout, Xml};
use crate::json::Scanner;
use crate::protocol::Grammar;
use crate::protocol::canonical::{Writer, json_string};
use crate::protocol::stored::ShownCall;
use crate::protocol::write::Renderer;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spelling {
    /// As JSON.
    Json,
    /// As JSON in raw text, so that no mark may be in its strings.
    InnerJson,
    /// As Python's literals.
    Python,
    /// As JSON whose keys are bare and whose strings are between marks.
    Braces,
    /// As elements.
    Elements,
}

/// A tool that may be called.
#[derive(Debug)]
pub struct Tool {
    pub name: String,
    pub args: ShapeId,
}

/// A grammar while it is built.
#[derive(Debug)]
pub struct Builder {
    pub dialect: Arc<Dialect>,
    pub renderer: Renderer,
    pub rules: Rules,
    pub shapes: Shapes,
    pub tools: Vec<Tool>,
    /// The marks that mean something outside blocks.
    pub outside: Vec<String>,
    /// The marks that free text must not contain.
    pub marks: Avoiding,
    /// The rules of free text, once they are made.
    pub text: Option<TextRules>,
    /// The marks that the raw text of a value must not contain.
    pub inner_marks: Avoiding,
    /// The first characters of these.
    pub inner_first: Vec<char>,
    /// The rules that values of one shape share.
    pub values: HashMap<(ShapeId, Spelling), Expr>,
    /// The rules that all values share.
    pub common: HashMap<(&'static str, Spelling), Expr>,
}

impl Builder {
    /// A grammar for the dialect that `grammar` writes, without tools.
    pub fn new(grammar: &Grammar) -> Self {
        let dialect = Arc::clone(&grammar.dialects[0]);
        let outside: Vec<String> = grammar
            .outside
            .texts()
            .map(|text| String::from_utf8_lossy(text).into_owned())
            .collect();
        let inner = marks_in_values(&dialect, &outside);
        let mut inner_first: Vec<char> =
            inner.iter().filter_map(|mark| mark.chars().next()).collect();
        inner_first.sort_unstable();
        inner_first.dedup();
        Self {
            renderer: Renderer::new(Arc::clone(&dialect)),
            marks: Avoiding::new(marks_in_text(&dialect, &outside).iter().map(|mark| &**mark)),
            inner_marks: Avoiding::new(inner.iter().map(|mark| &**mark)),
            dialect,
            outside,
            inner_first,
            rules: Rules::default(),
            shapes: Shapes::default(),
            tools: Vec::new(),
            text: None,
            values: HashMap::new(),
            common: HashMap::new(),
        }
    }

    /// Adds the tools that may be called.
    ///
    /// # Errors
    /// The required call is of no tool that was given, or the grammar cannot hold a schema.
    pub fn add_tools(
        &mut self,
        tools: &[(String, Value)],
        calls: &CallChoice,
    ) -> Result<(), GrammarError> {
        let is_wanted = |name: &str| match calls {
            CallChoice::None => false,
            CallChoice::Auto | CallChoice::Required => true,
            CallChoice::Tool(wanted) => wanted == name,
        };
        for (name, schema) in tools.iter().filter(|(name, _)| is_wanted(name)) {
            let args = self.shapes.arguments(name, schema)?;
            self.tools.push(Tool { name: name.clone(), args });
        }
        match calls {
            CallChoice::Required if self.tools.is_empty() => Err(GrammarError::NoTools),
            CallChoice::Tool(name) if self.tools.is_empty() => {
                let known: Vec<&str> = tools.iter().map(|(name, _)| &**name).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                Err(GrammarError::UnknownTool { name: name.clone(), known })
            }
            _ => Ok(()),
        }
    }

    /// The rule of this name, made when it is first asked for.
    pub fn common(
        &mut self,
        name: &'static str,
        spelling: Spelling,
        make: impl FnOnce(&mut Self) -> Expr,
    ) -> Expr {
        if let Some(known) = self.common.get(&(name, spelling)) {
            return known.clone();
        }
        let number = self.rules.reserve(name);
        self.common.insert((name, spelling), Expr::Rule(number));
        let body = make(self);
        self.rules.set(number, body);
        Expr::Rule(number)
    }

    /// JSON as the dialect writes it, marks in its strings made harmless.
    pub fn json(&self, value: &Value) -> String {
        self.renderer.json(&canonical(value), JsonLayout::Compact)
    }

    /// A name or a key, written without escapes.
    pub fn bare(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.renderer.marks().inert(name.as_bytes())).into_owned()
    }

    /// Whether the dialect can hold a call of this tool with this argument.
    pub fn can_write(&self, tool: &str, argument: Option<(&str, &Value)>) -> bool {
        let args = argument.map_or_else(
            || "{}".into(),
            |(key, value)| format!("{{{}: {}}}", json_string(key.as_bytes()), canonical(value)),
        );
        let name = json_string(tool.as_bytes());
        self.renderer.can_write(&ShownCall { name, args, id: None, server: None })
    }

    pub fn unwritable(&self, what: impl Into<String>, path: impl Into<String>) -> GrammarError {
        GrammarError::Unwritable {
            dialect: self.dialect.name.to_string(),
            what: what.into(),
            path: path.into(),
        }
    }

    pub fn uncovered(&self, reason: &'static str) -> GrammarError {
        GrammarError::Uncovered { dialect: self.dialect.name.to_string(), reason }
    }
}

/// The marks that free text must not contain: those that mean something there, and those that end reasoning.
pub fn marks_in_text(dialect: &Dialect, outside: &[String]) -> Vec<String> {
    let closes = dialect.reasoning.iter().map(|pair| pair.close.to_string());
    outside.iter().cloned().chain(closes).filter(|mark| !mark.is_empty()).collect()
}

/// The marks that a raw value must not contain: those of the dialect, and the beginnings of what may follow a value.
fn marks_in_values(dialect: &Dialect, outside: &[String]) -> Vec<String> {
    let word = |mark: &str| {
        let end = mark.find([' ', '=', '>', '{']).filter(|end| *end > 0);
        mark[..end.unwrap_or(mark.len())].to_owned()
    };
    let mut marks: Vec<String> = Vec::new();
    let is_bracket = |mark: &String| ["{", "["].contains(&&**mark);
    for body in &dialect.calls.bodies {
        marks.extend(body.xml().into_iter().flat_map(marks_in_elements));
        let Some(head) = body.head() else { continue };
        // Where a call is a message, its name is in the message's head.
        marks.extend(dialect.heads.is_none().then(|| word(&head.open)));
        marks.push(head.close.to_string());
        marks.extend(head.until.iter().map(ToString::to_string));
        if let Args::Parameters(form) = &head.args {
            marks.extend([word(&form.open), word(&form.close)]);
            let pairs = form.around.iter().chain(&form.whole);
            marks.extend(pairs.map(|pair| pair.close.to_string()));
        }
    }
    marks.extend(dialect.calls.close.iter().map(ToString::to_string));
    marks.extend(marks_in_text(dialect, outside).into_iter().filter(|mark| !is_bracket(mark)));
    marks.retain(|mark| !mark.is_empty());
    marks
}

fn marks_in_elements(xml: &Xml) -> Vec<String> {
    let open = format!("{}<", xml.prefix);
    if xml.entities { vec![open, "&".into(), ">".into()] } else { vec![open] }
}

/// A value as canonical JSON.
pub fn canonical(value: &Value) -> String {
    let text = value.to_string();
    let (mut scanner, mut writer) = (Scanner::default(), Writer::new(text.len()));
    while let Ok(Some(token)) = scanner.next(text.as_bytes()) {
        writer.token(text.as_bytes(), &token);
    }
    if let Ok(Some(token)) = scanner.end(text.as_bytes()) {
        writer.token(text.as_bytes(), &token);
    }
    writer.finish()
}

/// Whether every reader takes this for a name or a key.
pub fn is_plain(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() < 256
        && name.starts_with(is_word)
        && name.ends_with(is_word)
        && name.chars().all(|c| is_word(c) || "-.".contains(c))
}

/// Whether Python takes this for a name.
pub fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}
