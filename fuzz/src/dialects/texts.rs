//! Texts made from bytes, of a dialect's parts: marks whole and in part, calls whole and damaged, reasoning.

use std::sync::Arc;

use crate::json::Layout;
use cogency_rs::dialect::{Args, Body, Dialect, Head, HeadForm};
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;

use super::cursor::find;
use super::values::{array, object, string, units};
use crate::json::{Value, dumps};
use crate::text::characters;

/// Text that has no meaning by itself, and parts of text that has.
const PLAIN: [&str; 64] = [
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ":",
    "=",
    ";",
    "\"",
    "'",
    "\\",
    "\\\"",
    "\\\\",
    "\\n",
    "\\u00e9",
    "\\ud83d",
    "\\x",
    "<",
    "</",
    ">",
    "/>",
    "|",
    "&amp;",
    "&#65;",
    "&",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "```",
    "```json\n",
    "1",
    "-",
    "0.5e3",
    "NaN",
    "tru",
    "true",
    "null",
    "None",
    "\"name\"",
    "\"arguments\"",
    "{\"name\": \"a\", ",
    "[{\"name\": \"a\", \"arguments\": {\"x\": \"",
    "\"}}]",
    "tool(x=1)",
    "[tool(",
    "to=",
    "\r\n",
    " ",
    " ",
    "\n",
    "\n",
    "\t",
    "\u{a0}",
    "\u{85}",
    "é",
    "😀",
    "text",
    "\0",
    "a=",
    "name=\"a\"",
    "x:1",
];

const NAMES: [&str; 8] = ["tool", "a.b", "other", "get_it", "naïve", "a-b", "x y", "functions.f"];

const KEYS: [&str; 8] = ["text", "n", "x", "flag", "list", "object", "item", "a b"];

/// A text in the making, from bytes that choose its pieces.
pub struct Writer<'b> {
    bytes: std::slice::Iter<'b, u8>,
    dialects: &'b [Arc<Dialect>],
    /// The marks of all dialects.
    marks: Vec<String>,
    /// Words that are in no other place of the text.
    words: usize,
    /// Calls as their dialect writes them, and whether they read back as they are.
    pub written: Vec<(Vec<ShownCall>, bool)>,
}

impl<'b> Writer<'b> {
    #[must_use]
    pub fn new(bytes: &'b [u8], dialects: &'b [Arc<Dialect>]) -> Self {
        let marks = dialects.iter().flat_map(|dialect| marks(dialect)).collect();
        Self { bytes: bytes.iter(), dialects, marks, words: 0, written: Vec::new() }
    }

    /// How many words are in the text, `w0w`, `w1w` and so on.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// A text of pieces, up to the last of the bytes.
    pub fn text(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        while let Some(kind) = self.bytes.next() {
            text.extend(self.piece(*kind));
        }
        text
    }

    fn byte(&mut self) -> usize {
        self.bytes.next().copied().unwrap_or(0).into()
    }

    fn choose<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.byte() % from.len()]
    }

    fn dialect(&mut self) -> Arc<Dialect> {
        let choice = if self.dialects.len() > 1 { self.byte() } else { 0 };
        Arc::clone(&self.dialects[choice % self.dialects.len()])
    }

    fn piece(&mut self, kind: u8) -> Vec<u8> {
        match kind % 16 {
            0..=2 => self.word().into_bytes(),
            3 | 4 => self.mark().into_bytes(),
            5 => {
                let mark = self.mark();
                let characters: Vec<&[u8]> = characters(mark.as_bytes()).collect();
                characters[..self.byte() % characters.len()].concat()
            }
            6 | 7 => self.choose(&PLAIN).as_bytes().to_vec(),
            8 => b"\n".to_vec(),
            9 | 10 => self.calls(),
            11..=13 => self.damaged(),
            14 => {
                let dialect = self.dialect();
                let kind = self.bytes.next().copied().unwrap_or(0);
                let inner =
                    if kind % 16 >= 14 { self.word().into_bytes() } else { self.piece(kind) };
                let Some(pair) = dialect.reasoning.first() else { return inner };
                let close = if kind >= 224 { "" } else { &pair.close };
                [pair.open.as_bytes(), &inner, close.as_bytes()].concat()
            }
            _ => [self.word(), " ".into(), self.word()].concat().into_bytes(),
        }
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("w{}w", self.words - 1)
    }

    fn mark(&mut self) -> String {
        let choice = self.byte();
        self.marks[choice % self.marks.len()].clone()
    }

    /// Calls as one of the dialects writes them.
    pub fn calls(&mut self) -> Vec<u8> {
        let dialect = self.dialect();
        let count = 1 + self.byte() % 3;
        let mut calls: Vec<ShownCall> = (0..count).map(|_| self.call()).collect();
        let renderer = Renderer::new(dialect);
        renderer.give_ids(&mut calls, 0);
        let is_held = calls.iter().all(|call| renderer.can_write(call));
        let text = renderer.calls(&calls, true).as_bytes().to_vec();
        self.written.push((calls, is_held));
        text
    }

    fn call(&mut self) -> ShownCall {
        let name = self.choose(&NAMES);
        let args =
            (0..self.byte() % 4).map(|_| (units(self.choose(&KEYS).as_bytes()), self.value(0)));
        let args = object(args.collect::<Vec<_>>());
        let [name, args] =
            [string(name.as_bytes()), args].map(|value| dumps(&value, Layout::Compact));
        ShownCall { name, args, id: None, server: None }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.byte() % if depth < 3 { 12 } else { 9 } {
            0..=2 => string(self.word().as_bytes()),
            3 => Value::Number(
                self.choose(&["5", "-0.5", "1e400", "12345678901234567890", "1.0"]).to_owned(),
            ),
            4 => Value::Word(["true", "false", "null"][self.byte() % 3]),
            5..=8 => {
                let parts = (0..self.byte() % 4).map(|_| match self.byte() % 4 {
                    0 => self.mark(),
                    1 => self.word(),
                    _ => self.choose(&PLAIN).to_owned(),
                });
                let text: String = parts.collect();
                string(text.as_bytes())
            }
            9 | 10 => {
                let entries = (0..self.byte() % 3)
                    .map(|_| (units(self.choose(&KEYS).as_bytes()), self.value(depth + 1)));
                object(entries.collect::<Vec<_>>())
            }
            _ => array((0..self.byte() % 3).map(|_| self.value(depth + 1)).collect::<Vec<_>>()),
        }
    }

    /// Calls with characters or marks left out, doubled, put in or moved.
    pub fn damaged(&mut self) -> Vec<u8> {
        let calls = self.calls();
        self.written.pop();
        let mut pieces: Vec<Vec<u8>> = characters(&calls).map(<[u8]>::to_vec).collect();
        for _ in 0..=self.byte() % 3 {
            if pieces.is_empty() {
                break;
            }
            let kind = self.byte();
            // Two bytes choose the place, so that every place of a long text can be chosen.
            let at = (self.byte() * 256 + self.byte()) % pieces.len();
            match kind % 8 {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, pieces[at].clone()),
                2 => {
                    let next = (at + 1) % pieces.len();
                    pieces.swap(at, next);
                }
                3 => pieces.insert(at, self.choose(&PLAIN).into()),
                4 => pieces.insert(at, self.mark().into_bytes()),
                5 => pieces.truncate(at),
                _ => {
                    // A whole mark is left out or doubled.
                    let text = pieces.concat();
                    let mark = self.mark();
                    let Some(found) = find(&text, &mark) else { continue };
                    let (before, behind) = (&text[..found], &text[found + mark.len()..]);
                    let twice = [mark.as_bytes(), mark.as_bytes()].concat();
                    let instead: &[u8] = if kind % 8 == 6 { b"" } else { &twice };
                    let text = [before, instead, behind].concat();
                    pieces = characters(&text).map(<[u8]>::to_vec).collect();
                }
            }
        }
        pieces.concat()
    }
}

/// Every mark of a dialect.
#[must_use]
pub fn marks(dialect: &Dialect) -> Vec<String> {
    let pairs = dialect.reasoning.iter().chain(&dialect.answer);
    let mut marks: Vec<&str> = pairs.flat_map(|pair| [&*pair.open, &*pair.close]).collect();
    let results = dialect.results.iter().flat_map(|results| [&*results.open, &*results.close]);
    marks.extend(results);
    let lists = [&dialect.calls.open, &dialect.calls.close, &dialect.end, &dialect.turn_end, &dialect.ignored];
    marks.extend(lists.into_iter().flatten().map(|mark| &**mark));
    if let Some(heads) = &dialect.heads {
        let texts =
            heads.open.iter().chain(&heads.close).chain(&heads.reasoning).chain(&heads.answer);
        marks.extend(
            texts.chain([&heads.channel, &heads.recipient, &heads.end]).map(|mark| &**mark),
        );
    }
    let mut marks: Vec<String> = marks.into_iter().map(str::to_owned).collect();
    for body in &dialect.calls.bodies {
        match body {
            Body::Head(head) => marks.extend(marks_of_head(head)),
            Body::Xml(xml) => {
                let parts =
                    xml.parts.iter().flat_map(|parts| [&parts.server, &parts.name, &parts.args]);
                marks.extend(parts.flat_map(|part| [format!("<{part}>"), format!("</{part}>")]));
            }
            Body::Json(_) | Body::Python(_) => {}
            other => unreachable!("the reference does not know {other:?}"),
        }
    }
    marks.retain(|mark| !mark.is_empty());
    marks.sort();
    marks.dedup();
    if marks.is_empty() {
        marks.push("{".to_owned());
    }
    marks
}

fn marks_of_head(head: &Head) -> Vec<String> {
    let mut marks: Vec<&str> = [&head.open, &head.close]
        .into_iter()
        .chain(&head.ends)
        .chain(&head.until)
        .map(|mark| &**mark)
        .collect();
    if let HeadForm::Id(mark) | HeadForm::Behind(mark) = &head.form {
        marks.push(mark);
    }
    let mut made = Vec::new();
    match &head.args {
        Args::Braces(mark) => marks.push(mark),
        Args::Parameters(form) => {
            marks.extend([&*form.open, &*form.key_end, &*form.value_open]);
            let around = form.around.iter().chain(&form.whole);
            marks.extend(around.flat_map(|pair| [&*pair.open, &*pair.close]));
            made.push(form.close.replace("{key}", "x"));
        }
        Args::Xml(xml) => {
            made.extend(["<x>", "</x>", "<", "<item>"].map(|tag| format!("{}{tag}", xml.prefix)))
        }
        Args::Json | Args::Text(_) => {}
        other => unreachable!("the reference does not know {other:?}"),
    }
    made.extend(marks.into_iter().map(str::to_owned));
    made
}
