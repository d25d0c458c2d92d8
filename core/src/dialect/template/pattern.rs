//! The patterns of a template, taken apart into what a dialect has words for: marks, free space, and the name.
//!
//! A pattern is never run over an answer. It is read as a few *alternatives* of pieces, one for each way in which it can match, and
//! anything else is refused. Patterns are Python's; where Python and the parser used here would read one
//! differently, it is refused too.

use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};
use serde_json::Value;

use super::error::{Read, TemplateError, not_a};
use super::group::Group;

/// In how many ways a pattern may match, at most.
const MOST_ROWS: usize = 32;

/// The longest pattern, in bytes: those of real templates have a few hundred.
const LONGEST: usize = 16 * 1024;

/// What opens or closes a field.
#[derive(Debug)]
pub(super) struct Boundary {
    /// Where it is in the template.
    pub path: String,
    pub form: PatternForm,
}

#[derive(Debug)]
pub(super) enum PatternForm {
    /// It matches in each of these ways.
    Alternatives(Vec<Alternative>),
    /// It matches nothing, where one of these texts follows at any distance.
    Ahead(Vec<String>),
}

/// A way in which a pattern can match.
pub(super) type Alternative = Vec<PatternPiece>;

#[derive(Clone, Debug)]
pub(super) enum PatternPiece {
    /// This text.
    Text(String),
    /// Whitespace, which may also be left out.
    Space(Space),
    /// A group with a name.
    Group(Group),
    /// Any text, as little as possible.
    Any,
    /// The beginning of the answer.
    Start,
    /// The end of the answer.
    End,
}

/// How much whitespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// One line break.
    Line,
    /// Any.
    Any,
}

impl Boundary {
    /// One text or several.
    pub fn literal(path: String, value: &Value) -> Read<Self> {
        let texts: Vec<&Value> = match value {
            Value::String(_) => vec![value],
            Value::Array(texts) if !texts.is_empty() => texts.iter().collect(),
            other => return Err(not_a(&path, "a string or a list of them", other)),
        };
        let alternative = |text: &Value| match text {
            Value::String(text) if text.is_empty() => {
                Err(TemplateError::new(&path, "holds an empty text", "leave that out"))
            }
            Value::String(text) => Ok(vec![PatternPiece::Text(text.clone())]),
            other => Err(not_a(&path, "a string or a list of them", other)),
        };
        let alternatives = texts.into_iter().map(alternative).collect::<Read<_>>()?;
        Ok(Self { path, form: PatternForm::Alternatives(alternatives) })
    }

    /// A pattern.
    pub fn pattern(path: String, source: &str) -> Read<Self> {
        let form = match ahead(&path, source) {
            Some(closers) => PatternForm::Ahead(closers),
            None => PatternForm::Alternatives(alternatives(&path, source)?),
        };
        Ok(Self { path, form })
    }

    /// Refuses it.
    pub fn refuse<T>(&self, reason: impl Into<String>, advice: &'static str) -> Read<T> {
        Err(TemplateError::new(&self.path, reason.into(), advice))
    }
}

/// The ways in which the pattern can match.
pub(super) fn alternatives(path: &str, source: &str) -> Read<Vec<Alternative>> {
    let alternatives = PatternReader { path, source }.alternatives(&parse(path, source)?)?;
    Ok(alternatives.into_iter().map(joined).collect())
}

/// The texts that the pattern waits for, where it is `(?=[\s\S]*?TEXT)`.
fn ahead(path: &str, source: &str) -> Option<Vec<String>> {
    let inner = source.strip_prefix("(?=")?.strip_suffix(')')?;
    // Two of them in a row are not one: then what is between these brackets is not a pattern.
    let alternatives = alternatives(path, inner).ok()?;
    let text = |alternative: &Alternative| match &alternative[..] {
        [PatternPiece::Any, PatternPiece::Text(text)] => Some(text.clone()),
        _ => None,
    };
    alternatives.iter().map(text).collect()
}

/// Reads a pattern as Python does, or refuses it.
fn parse(path: &str, source: &str) -> Read<Hir> {
    let refuse = |reason: String, advice: &'static str| TemplateError::new(path, reason, advice);
    if source.len() > LONGEST {
        return Err(refuse(
            format!("is longer than {LONGEST} bytes"),
            "write the marks as literals, in `open` and `close`",
        ));
    }
    let ast = ast::parse::Parser::new().parse(source).map_err(|error| {
        let (reason, advice) = unreadable(error.kind());
        refuse(reason, advice)
    })?;
    if let Err((span, what)) = ast::visit(&ast, UnlikePython { of_repetition: None }) {
        let text = &source[span.start.offset..span.end.offset];
        return Err(refuse(format!("holds `{text}`, {what}"), ELSE));
    }
    meaning(source, &ast).map_err(|error| refuse(format!("cannot be read: {}", error.kind()), ELSE))
}

/// Why this cannot be read, and what to do about it.
fn unreadable(kind: &ast::ErrorKind) -> (String, &'static str) {
    use ast::ErrorKind as Kind;
    match kind {
        Kind::UnsupportedLookAround => ("looks around".into(), AHEAD),
        Kind::UnsupportedBackreference => {
            ("refers back to a group".into(), "write what the group matches once more")
        }
        Kind::RepetitionCountDecimalEmpty
        | Kind::RepetitionCountUnclosed
        | Kind::RepetitionCountInvalid
        | Kind::RepetitionMissing => (
            "holds a brace that is not a count, or a fuzzy match".into(),
            "write a brace that is text as `\\{`; fuzzy matches cannot be read",
        ),
        Kind::ClassUnclosed => {
            ("has a class without an end".into(), "write a bracket in a class as `\\[`")
        }
        Kind::FlagUnrecognized => (
            "holds a kind of group that cannot be read, such as an atomic or a recursive one"
                .into(),
            ELSE,
        ),
        kind => (format!("cannot be read: {kind}"), ELSE),
    }
}

const ELSE: &str = "write it in another way, or with literal marks";

const AHEAD: &str = "only `(?=[\\s\\S]*?CLOSE)` as the whole `open_pattern` of reasoning can be \
    read: match the marks themselves";

/// Finds what Python reads in another way.
struct UnlikePython {
    /// The repetition that is being visited, if nothing is between it and what comes next.
    of_repetition: Option<ast::Span>,
}

impl ast::Visitor for UnlikePython {
    type Output = ();
    type Err = (ast::Span, &'static str);

    fn finish(self) -> Result<(), Self::Err> {
        Ok(())
    }

    fn visit_pre(&mut self, node: &Ast) -> Result<(), Self::Err> {
        let outer = self.of_repetition.take();
        match node {
            Ast::Repetition(repetition) => match outer {
                Some(span) => Err((span, "which is possessive")),
                None => {
                    self.of_repetition = Some(repetition.span);
                    Ok(())
                }
            },
            Ast::Flags(flags) => Err((flags.span, "which sets flags")),
            Ast::Group(group) => match &group.kind {
                ast::GroupKind::NonCapturing(flags) if !flags.items.is_empty() => {
                    Err((group.span, "which sets flags"))
                }
                _ => Ok(()),
            },
            Ast::Assertion(assertion) => match assertion.kind {
                ast::AssertionKind::StartLine
                | ast::AssertionKind::EndLine
                | ast::AssertionKind::StartText => Ok(()),
                _ => Err((assertion.span, "which is not a text of its own")),
            },
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Bracketed(inner) => Err((inner.span, "which Python reads as text")),
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(
        &mut self,
        operation: &ast::ClassSetBinaryOp,
    ) -> Result<(), Self::Err> {
        Err((operation.span, "which Python reads as text"))
    }
}

/// Finds how a part of a pattern is written.
struct Find<'p> {
    source: &'p str,
    part: &'p Hir,
}

impl ast::Visitor for Find<'_> {
    type Output = ();
    type Err = ast::Span;

    fn finish(self) -> Result<(), ast::Span> {
        Ok(())
    }

    fn visit_pre(&mut self, node: &Ast) -> Result<(), ast::Span> {
        match meaning(self.source, node) {
            Ok(hir) if hir == *self.part => Err(*node.span()),
            _ => Ok(()),
        }
    }
}

fn meaning(source: &str, ast: &Ast) -> Result<Hir, regex_syntax::hir::Error> {
    regex_syntax::hir::translate::TranslatorBuilder::new()
        .dot_matches_new_line(true)
        .build()
        .translate(source, ast)
}

/// Takes a pattern apart.
struct PatternReader<'p> {
    path: &'p str,
    source: &'p str,
}

impl PatternReader<'_> {
    fn alternatives(&self, hir: &Hir) -> Read<Vec<Alternative>> {
        match hir.kind() {
            HirKind::Empty => Ok(vec![vec![]]),
            HirKind::Literal(literal) => Ok(vec![vec![match std::str::from_utf8(&literal.0) {
                Ok("\n") => PatternPiece::Space(Space::Line),
                Ok(text) => PatternPiece::Text(text.into()),
                Err(_) => return self.refuse(hir, "is not text"),
            }]]),
            HirKind::Class(class) => self.class(hir, class),
            HirKind::Look(Look::Start) => Ok(vec![vec![PatternPiece::Start]]),
            HirKind::Look(Look::End) => Ok(vec![vec![PatternPiece::End]]),
            HirKind::Look(_) => self.refuse(hir, "is not a text of its own"),
            HirKind::Repetition(repetition) => self.repetition(hir, repetition),
            HirKind::Capture(capture) => match &capture.name {
                Some(name) => {
                    Ok(vec![vec![PatternPiece::Group(Group::new(self.path, name, &capture.sub)?)]])
                }
                None => self.alternatives(&capture.sub),
            },
            HirKind::Concat(parts) => {
                let mut alternatives: Vec<Alternative> = vec![vec![]];
                for part in parts {
                    let next = self.alternatives(part)?;
                    self.check_count(alternatives.len() * next.len())?;
                    alternatives = (alternatives.iter())
                        .flat_map(|alternative| {
                            next.iter().map(|more| [&alternative[..], &more[..]].concat())
                        })
                        .collect();
                }
                Ok(alternatives)
            }
            HirKind::Alternation(parts) => {
                let mut alternatives = Vec::new();
                for part in parts {
                    alternatives.extend(self.alternatives(part)?);
                    self.check_count(alternatives.len())?;
                }
                Ok(alternatives)
            }
        }
    }

    fn class(&self, hir: &Hir, class: &Class) -> Read<Vec<Alternative>> {
        if is_space(class) {
            return Ok(vec![vec![PatternPiece::Space(Space::Any)]]);
        }
        let Class::Unicode(class) = class else { return self.refuse(hir, "is not text") };
        let chars: usize = class.iter().map(regex_syntax::hir::ClassUnicodeRange::len).sum();
        if chars > MOST_ROWS {
            return self.refuse(hir, FREE);
        }
        let texts = class.iter().flat_map(|range| range.start()..=range.end());
        Ok(texts.map(|char| vec![PatternPiece::Text(char.into())]).collect())
    }

    fn repetition(&self, hir: &Hir, repetition: &Repetition) -> Read<Vec<Alternative>> {
        let (least, most) = (repetition.min, repetition.max);
        let inner = match repetition.sub.kind() {
            HirKind::Class(class) if is_everything(class) && !repetition.greedy && least == 0 => {
                return match most {
                    None => Ok(vec![vec![PatternPiece::Any]]),
                    Some(_) => self.refuse(hir, FREE),
                };
            }
            HirKind::Class(class) if !is_space(class) && most != Some(1) => {
                return self.refuse(hir, FREE);
            }
            _ => self.alternatives(&repetition.sub)?,
        };
        match (&inner[..], least, most) {
            ([alternative], 0, Some(1)) if matches!(alternative[..], [PatternPiece::Space(_)]) => {
                Ok(inner)
            }
            ([alternative], ..) if matches!(alternative[..], [PatternPiece::Space(_)]) => {
                Ok(vec![vec![PatternPiece::Space(Space::Any)]])
            }
            (_, 0, Some(1)) => Ok([inner, vec![vec![]]].concat()),
            (_, 1, Some(1)) => Ok(inner),
            _ => self.refuse(hir, "repeats a text"),
        }
    }

    fn check_count(&self, alternatives: usize) -> Read<()> {
        if alternatives <= MOST_ROWS {
            return Ok(());
        }
        Err(TemplateError::new(
            self.path,
            format!("matches in more than {MOST_ROWS} ways"),
            "write the marks as a list of literals, in `open` or `close`",
        ))
    }

    /// How a part of the pattern is written.
    fn written(&self, part: &Hir) -> &str {
        let Ok(ast) = ast::parse::Parser::new().parse(self.source) else { return self.source };
        match ast::visit(&ast, Find { source: self.source, part }) {
            Err(span) => &self.source[span.start.offset..span.end.offset],
            Ok(()) => self.source,
        }
    }

    fn refuse<T>(&self, hir: &Hir, why: &str) -> Read<T> {
        Err(TemplateError::new(
            self.path,
            format!("holds `{}`, which {why}", self.written(hir)),
            "a mark is a fixed text, with free space (`\\s*`) before or after it",
        ))
    }
}

const FREE: &str = "may be one of many texts";

/// Whether all that the class matches is whitespace.
fn is_space(class: &Class) -> bool {
    let Class::Unicode(class) = class else { return false };
    let is_space = |char: char| char.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&char);
    class.iter().all(|range| range.len() <= 16 && (range.start()..=range.end()).all(is_space))
}

fn is_everything(class: &Class) -> bool {
    let Class::Unicode(class) = class else { return false };
    matches!(class.ranges(), [range] if (range.start(), range.end()) == ('\0', char::MAX))
}

/// The alternative with neighbouring texts and spaces as one. Whitespace of a text belongs to the free space around it.
fn joined(alternative: Alternative) -> Alternative {
    let mut joined: Alternative = Vec::with_capacity(alternative.len());
    for piece in alternative {
        match (joined.last_mut(), piece) {
            (Some(PatternPiece::Text(text)), PatternPiece::Text(more)) => text.push_str(&more),
            (Some(PatternPiece::Space(space)), PatternPiece::Space(_)) => *space = Space::Any,
            (Some(PatternPiece::Space(_)), PatternPiece::Text(text))
                if text.starts_with(char::is_whitespace) =>
            {
                if let Some(PatternPiece::Space(space)) = joined.last_mut() {
                    *space = Space::Any;
                }
                joined.push(PatternPiece::Text(text.trim_start().into()));
            }
            (_, PatternPiece::Space(space)) => {
                let mut space = space;
                if let Some(PatternPiece::Text(text)) = joined.last_mut()
                    && text.ends_with(char::is_whitespace)
                {
                    text.truncate(text.trim_end().len());
                    space = Space::Any;
                }
                joined.push(PatternPiece::Space(space));
            }
            (_, piece) => joined.push(piece),
        }
    }
    joined.retain(|piece| !matches!(piece, PatternPiece::Text(text) if text.is_empty()));
    joined
}
