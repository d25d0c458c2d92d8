//! Arguments that stand each between marks of its own, their values as raw text.
//!
//! Nothing is escaped in such a value. What looks like its closing mark is one only if something follows that may: the
//! next parameter, the end of the call, or nothing at all.

use super::super::canonical::{Layout, Writer, json_string};
use super::super::marks::{find, starts_with};
use super::super::problem::{Problem, ProblemKind};
use super::super::text::{is_blank, leading_space, trim};
use super::super::tools::typed;
use super::Calls;
use super::found::{problem, unexpected};
use super::head::attribute;
use super::json::ObjectReader;
use crate::dialect::{Parameters, Str, Trim, Untyped};

/// The longest key with its attributes, in bytes.
const LONGEST: usize = 4096;

/// Reads the parameters of one call.
#[derive(Clone, Debug)]
pub struct ParametersReader {
    place: Place,
    /// Whether a parameter has begun.
    has_begun: bool,
    /// All of them, where they are one JSON object.
    object: Option<String>,
    writer: Writer,
}

#[derive(Clone, Debug)]
enum Place {
    /// In front of what stands around all of them.
    Around(usize),
    /// In front of a parameter, or of what ends them.
    Between(usize),
    /// In a key that begins at the first byte, searched up to the second.
    Key(usize, usize),
    /// Behind a key that ends at `end`, in front of its value; what stands between begins at the second byte.
    Attributes(Str, usize),
    Value(Value),
    /// In a JSON object that stands for all of them, between marks of its own or with none.
    Object(ObjectReader, bool),
    /// Behind such an object, in front of the mark that closes it.
    BehindObject(usize),
    /// Behind all of them, at this byte.
    Done(usize),
}

/// A value that is being read.
#[derive(Clone, Debug)]
struct Value {
    key: Str,
    /// What an attribute says of its type.
    is_text: Option<bool>,
    close: String,
    start: usize,
    /// Up to where it has been searched for what closes it.
    at: usize,
    /// Where a mark stands that closes it if the right thing follows.
    end: Option<End>,
}

/// A mark that may close a value.
#[derive(Clone, Copy, Debug)]
struct End {
    at: usize,
    /// The first byte behind it, and behind the space there, as far as it is known.
    behind: usize,
    /// Likewise behind what ends the call there.
    beyond: usize,
}

/// The forms that a reader needs: of the parameters, and what ends the call, any of these.
type Forms<'f> = (&'f Parameters, &'f [Str]);

impl ParametersReader {
    /// A reader of the parameters that begin at byte `start`.
    #[must_use]
    pub fn new(form: &Parameters, start: usize) -> Self {
        let place = match form.around {
            Some(_) => Place::Around(start),
            None => Place::Between(start),
        };
        let mut writer = Writer::new(Layout::Compact, 0);
        writer.open(super::super::json::Container::Object);
        Self { place, has_begun: false, object: None, writer }
    }

    /// Reads on; gives the byte behind the last of them, in front of what closes the call.
    ///
    /// # Errors
    /// Something stands there that is no parameter.
    pub fn read(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
    ) -> Result<Option<usize>, Problem> {
        let (form, ends) = forms;
        loop {
            self.place = match &mut self.place {
                Place::Around(at) => {
                    *at += leading_space(&text[*at..]);
                    let (at, rest) = (*at, &text[*at..]);
                    let open = form.around.as_ref().map_or("", |around| &around.open);
                    match (starts_with(rest, open), any_starts(rest, ends)) {
                        (Some(true), _) => Place::Between(at + open.len()),
                        (_, Some(true)) => {
                            self.place = Place::Done(at);
                            return Ok(Some(at));
                        }
                        (None, _) | (_, None) => return Ok(None),
                        (Some(false), Some(false)) => return Err(unexpected(&[open], text, at)),
                    }
                }
                Place::Between(at) => {
                    *at += leading_space(&text[*at..]);
                    let (at, rest) = (*at, &text[*at..]);
                    let around = form.around.as_ref().map(|around| &*around.close);
                    let is_around = around.map_or(Some(false), |close| starts_with(rest, close));
                    let end = match (is_around, any_starts(rest, ends)) {
                        (Some(true), _) => Some(at + around.map_or(0, str::len)),
                        (_, Some(true)) => Some(at),
                        (None, _) | (_, None) => return Ok(None),
                        (Some(false), Some(false)) => None,
                    };
                    if let Some(end) = end {
                        self.place = Place::Done(end);
                        return Ok(Some(end));
                    }
                    let whole = form.whole.as_ref().map(|whole| &*whole.open);
                    match whole.map_or(Some(false), |open| starts_with(rest, open)) {
                        _ if self.has_begun => {}
                        None => return Ok(None),
                        Some(is_marked) if is_marked || rest.starts_with(b"{") => {
                            self.has_begun = true;
                            let start = at + if is_marked { whole.map_or(0, str::len) } else { 0 };
                            let reader = ObjectReader::new(start, calls.scope.reading);
                            self.place = Place::Object(reader, is_marked);
                            continue;
                        }
                        Some(_) => {}
                    }
                    match starts_with(rest, &form.open) {
                        None => return Ok(None),
                        Some(true) if self.object.is_some() => {
                            return Err(unexpected(&[around.unwrap_or(&ends[0])], text, at));
                        }
                        Some(true) => {
                            if !self.has_begun {
                                self.has_begun = true;
                                calls.begin_args(at);
                            }
                            let start = at + form.open.len();
                            Place::Key(start, start)
                        }
                        Some(false) => {
                            let expected = [&*form.open, around.unwrap_or(&ends[0])];
                            return Err(unexpected(&expected, text, at));
                        }
                    }
                }
                Place::Key(start, at) => {
                    let start = *start;
                    let within = &text[..text.len().min(start + LONGEST)];
                    match find(within, *at, &form.key_end) {
                        Ok(end) => {
                            let key = String::from_utf8_lossy(trim(&text[start..end])).into_owned();
                            Place::Attributes(key.into(), end + form.key_end.len())
                        }
                        Err(_) if within.len() < text.len() => {
                            return Err(unended(&form.key_end, start));
                        }
                        Err(searched) => {
                            *at = searched;
                            return Ok(None);
                        }
                    }
                }
                Place::Attributes(key, start) => match attributes(form, text, *start)? {
                    None => return Ok(None),
                    Some((behind, is_text)) => {
                        let close = form.close.replace("{key}", key);
                        let key = std::mem::take(key);
                        let (start, at, end) = (behind, behind, None);
                        Place::Value(Value { key, is_text, close, start, at, end })
                    }
                },
                Place::Object(reader, is_marked) => {
                    let Some(end) = reader.read(text, calls)? else { return Ok(None) };
                    self.object = Some(reader.clone().take());
                    if *is_marked { Place::BehindObject(end) } else { Place::Between(end) }
                }
                Place::BehindObject(at) => {
                    *at += leading_space(&text[*at..]);
                    let close = form.whole.as_ref().map_or("", |whole| &whole.close);
                    match starts_with(&text[*at..], close) {
                        None => return Ok(None),
                        Some(true) => Place::Between(*at + close.len()),
                        Some(false) => return Err(unexpected(&[close], text, *at)),
                    }
                }
                Place::Value(value) => match value.end(forms, text, &calls.followers) {
                    None => {
                        calls.read_args(text, value.at);
                        return Ok(None);
                    }
                    Some(end) => {
                        value.write(form, tool, &text[..end], calls, &mut self.writer);
                        Place::Between(end + value.close.len())
                    }
                },
                Place::Done(end) => return Ok(Some(*end)),
            };
            if let Place::Between(at) = self.place {
                calls.read_args(text, at);
            }
        }
    }

    /// The text ends here: the parameters, if none of them can be missing; a call that is bare has no mark that closes it.
    ///
    /// # Errors
    /// One may be.
    pub fn cut_off(
        &mut self,
        forms: Forms<'_>,
        tool: &str,
        text: &[u8],
        calls: &mut Calls,
        is_bare: bool,
    ) -> Result<String, Problem> {
        let missing = |what: &str| Problem {
            kind: ProblemKind::Missing(format!("{what:?}").into()),
            at: text.len(),
        };
        match &mut self.place {
            Place::Value(value) => match value.end {
                Some(End { at: end, .. }) if calls.has_stopped || is_bare => {
                    value.write(forms.0, tool, &text[..end], calls, &mut self.writer);
                }
                _ => return Err(missing(&value.close)),
            },
            Place::Between(_) if calls.has_stopped || is_bare => {}
            Place::Done(_) => {}
            Place::Object(reader, _) => return Err(reader.missing(text)),
            Place::BehindObject(_) if calls.has_stopped || is_bare => {}
            Place::BehindObject(_) => return Err(missing(&forms.1[0])),
            Place::Around(_) | Place::Between(_) => return Err(missing(&forms.1[0])),
            Place::Key(..) => return Err(missing(&forms.0.key_end)),
            Place::Attributes(..) => return Err(missing(&forms.0.value_open)),
        }
        Ok(self.clone().take())
    }

    /// The arguments, a canonical JSON object.
    #[must_use]
    pub fn take(mut self) -> String {
        if let Some(object) = self.object {
            return object;
        }
        self.writer.close();
        self.writer.finish()
    }
}

/// Where the value begins behind its key, and whether an attribute in between says that it is text.
fn attributes(
    form: &Parameters,
    text: &[u8],
    start: usize,
) -> Result<Option<(usize, Option<bool>)>, Problem> {
    if form.value_open.is_empty() {
        return Ok(Some((start, None)));
    }
    let within = &text[..text.len().min(start + LONGEST)];
    let Ok(end) = find(within, start, &form.value_open) else {
        return if within.len() < text.len() {
            Err(unended(&form.value_open, start))
        } else {
            Ok(None)
        };
    };
    let between = &text[start..end];
    let is_text = match &form.flag {
        Some(flag) => {
            attribute(between, &flag.name).map(|value| value.as_bytes() == flag.text.as_bytes())
        }
        None if is_blank(between) => None,
        None => return Err(unexpected(&[&form.value_open], text, start)),
    };
    Ok(Some((end + form.value_open.len(), is_text)))
}

impl Value {
    /// Where the value ends, once that is known.
    fn end(&mut self, (form, ends): Forms<'_>, text: &[u8], followers: &[Str]) -> Option<usize> {
        let around = form.around.as_ref().map_or(&ends[0], |around| &around.close);
        loop {
            let Some(end) = &mut self.end else {
                match find(text, self.at, &self.close) {
                    Ok(at) => {
                        self.at = at;
                        self.end = Some(End { at, behind: at + self.close.len(), beyond: 0 });
                        continue;
                    }
                    Err(searched) => {
                        self.at = searched;
                        return None;
                    }
                }
            };
            end.behind += leading_space(&text[end.behind..]);
            let rest = &text[end.behind..];
            let is_end = match (starts_with(rest, &form.open), starts_with(rest, around)) {
                (Some(true), _) => Some(true),
                (_, Some(true)) if form.around.is_some() => Some(true),
                (None, _) | (_, None) => None,
                (Some(false), _) => end.closes_call(text, ends, followers),
            };
            match is_end {
                Some(true) => return Some(end.at),
                None => return None,
                Some(false) => {
                    self.at = end.at + 1;
                    self.end = None;
                }
            }
        }
    }

    /// Writes the key and the value, which ends where `text` does.
    fn write(
        &self,
        form: &Parameters,
        tool: &str,
        text: &[u8],
        calls: &Calls,
        writer: &mut Writer,
    ) {
        let raw = trimmed(&text[self.start..], form.trim);
        let tools = calls.scope.tools.as_deref();
        let schema = tools.and_then(|tools| tools.schema(tool)?.property(&self.key));
        let schema = schema.filter(|schema| !schema.types().is_empty());
        // What the tool wants says more than what the model believes it wrote.
        let value = match (self.is_text, schema) {
            (Some(true), None) => json_string(raw),
            (Some(false), None) => typed(raw, None, Untyped::Json),
            (None, None) => typed(raw, None, form.untyped),
            (_, schema) => typed(raw, schema, form.untyped),
        };
        writer.raw_key(&json_string(self.key.as_bytes()));
        writer.raw_scalar(&value);
    }
}

impl End {
    /// Whether behind it stands what ends a call, and then what may follow one; `None` while that is not known.
    fn closes_call(&mut self, text: &[u8], ends: &[Str], followers: &[Str]) -> Option<bool> {
        let rest = &text[self.behind..];
        let here = |mark: &&Str| starts_with(rest, mark) == Some(true);
        let Some(end) = ends.iter().find(here) else { return any_starts(rest, ends) };
        if followers.is_empty() {
            return Some(true);
        }
        self.beyond = self.beyond.max(self.behind + end.len());
        self.beyond += leading_space(&text[self.beyond..]);
        any_starts(&text[self.beyond..], followers)
    }
}

/// Whether `text` begins with any of `marks`; `None` while it may yet.
#[must_use]
pub fn any_starts(text: &[u8], marks: &[Str]) -> Option<bool> {
    let known = marks.iter().map(|mark| starts_with(text, mark));
    known.fold(Some(false), |any, each| match (any, each) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        (Some(false), Some(false)) => Some(false),
    })
}

fn trimmed(raw: &[u8], trim_of: Trim) -> &[u8] {
    match trim_of {
        Trim::Nothing => raw,
        Trim::Space => trim(raw),
        Trim::Newline => {
            let raw = raw.strip_prefix(b"\r\n").or_else(|| raw.strip_prefix(b"\n")).unwrap_or(raw);
            raw.strip_suffix(b"\r\n").or_else(|| raw.strip_suffix(b"\n")).unwrap_or(raw)
        }
    }
}

fn unended(mark: &str, at: usize) -> Problem {
    problem(format!("{mark:?} behind the key"), "a key without an end".into(), at)
}
