//! Texts made of a dialect's parts, whole and damaged.

#![expect(clippy::trivially_copy_pass_by_ref, reason = "proptest takes an `Index` by reference")]

use std::sync::Arc;

use cogency_rs::dialect::Dialect;
use cogency_rs::protocol::{Ending, Grammar, Limits};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::read::Setting;
use super::write::{Written, answer, blocks_of, marks, message_to};

/// A stretch of text. An index chooses among the marks, bodies or pairs that the grammar has.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Text without a meaning of its own, or a fragment of a call.
    Plain(&'static str),
    /// A word that occurs once in the text.
    Word,
    Mark(Index),
    CutMark(Index, Index),
    Block(Block),
    /// A block in which characters are removed, replaced or inserted.
    Damaged(Block, Vec<(Index, u8, &'static str)>),
    /// A block that is cut off.
    CutBlock(Block, Index),
    /// Reasoning around a piece, closed or not.
    Reasoning(Index, Box<Piece>, bool),
    /// Text as the dialect frames it: in a message, in an answer, or between two marks.
    Answer(Index, Box<Piece>),
}

/// Calls of a block, and the body that they are written in.
#[derive(Clone, Debug)]
pub struct Block {
    pub body: Index,
    pub calls: Vec<(&'static str, Vec<(&'static str, Value)>)>,
}

/// The value of an argument.
#[derive(Clone, Debug)]
pub enum Value {
    Plain(&'static str),
    Word,
    Mark(Index),
    /// A whole block, with a word in it.
    Block(Index),
}

const PLAIN: [&str; 56] = [
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ":",
    "=",
    "\"",
    "'",
    "\\",
    "\\\"",
    "\\\\",
    "\\u00e9",
    "\\ud83d",
    "\\x",
    "<",
    "</",
    ">",
    "/>",
    "|",
    "&amp;",
    "&",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "```",
    "```json\n",
    "`",
    "1",
    "-",
    "0.5e3",
    "NaN",
    "tru",
    "null",
    "\"name\"",
    "\"arguments\"",
    "{\"name\": \"a\", ",
    "[{\"name\": \"a\", \"arguments\": {\"x\": \"",
    "\"}}]",
    "tool(x=1)",
    "[tool(",
    "to=",
    ";",
    " ",
    " ",
    "\n",
    "\n",
    "\t",
    "\u{a0}",
    "é",
    "😀",
    "text",
    "\u{0}",
];

const SPACE: [&str; 4] = [" ", "\n", "  ", "\u{3000}\n"];

const VALUES: [&str; 18] = [
    "",
    "5",
    "-0.5",
    "true",
    "null",
    "[1]",
    "{\"a\": 1}",
    " x ",
    "\nx\n",
    "a < b && c",
    "\"",
    "'",
    "\\",
    "</",
    "]]>",
    "é😀",
    "<x>1</x>",
    "</text></text>",
];

const KEYS: [&str; 8] = ["text", "n", "x", "flag", "list", "object", "any", "other"];

const NAMES: [&str; 5] = ["tool", "tool", "a.b", "other", "naïve"];

const DAMAGE: [&str; 12] = ["", "", "", "}", "]", "\"", "<", ">", "x", "\n", "{", "</"];

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => select(&VALUES[..]).prop_map(Value::Plain),
        3 => Just(Value::Word),
        2 => any::<Index>().prop_map(Value::Mark),
        1 => any::<Index>().prop_map(Value::Block),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let args = proptest::collection::vec((select(&KEYS[..]), value()), 0..4);
    let calls = proptest::collection::vec((select(&NAMES[..]), args), 1..3);
    (any::<Index>(), calls).prop_map(|(body, calls)| Block { body, calls })
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = prop_oneof![
        5 => select(&PLAIN[..]).prop_map(Piece::Plain),
        2 => select(&SPACE[..]).prop_map(Piece::Plain),
        3 => Just(Piece::Word),
        4 => any::<Index>().prop_map(Piece::Mark),
        2 => any::<(Index, Index)>().prop_map(|(mark, end)| Piece::CutMark(mark, end)),
        4 => block().prop_map(Piece::Block),
        5 => damaged(),
    ];
    let inner = leaf.clone().prop_map(Box::new);
    prop_oneof![
        8 => leaf,
        1 => (any::<Index>(), inner.clone(), any::<bool>())
            .prop_map(|(pair, inner, closed)| Piece::Reasoning(pair, inner, closed)),
        1 => (any::<Index>(), inner).prop_map(|(form, inner)| Piece::Answer(form, inner)),
    ]
}

/// A block that is damaged, or cut off.
pub fn damaged() -> impl Strategy<Value = Piece> {
    let edits = proptest::collection::vec((any::<Index>(), 0..3_u8, select(&DAMAGE[..])), 1..3);
    prop_oneof![
        3 => (block(), edits).prop_map(|(block, edits)| Piece::Damaged(block, edits)),
        1 => (block(), any::<Index>()).prop_map(|(block, end)| Piece::CutBlock(block, end)),
    ]
}

fn pieces(piece: impl Strategy<Value = Piece> + Clone) -> impl Strategy<Value = Vec<Piece>> {
    prop_oneof![
        proptest::collection::vec(piece.clone(), 0..4),
        proptest::collection::vec(piece, 0..14),
    ]
}

/// A text in a grammar.
pub fn text(grammar: &Arc<Grammar>) -> impl Strategy<Value = String> + use<> {
    let grammar = Arc::clone(grammar);
    pieces(piece().boxed()).prop_map(move |pieces| TextWriter::new(&grammar).text(&pieces))
}

/// A text in which each word has one place: no key occurs twice, and blocks are whole or cut off.
pub fn whole_text(grammar: &Arc<Grammar>) -> impl Strategy<Value = String> + use<> {
    let grammar = Arc::clone(grammar);
    pieces(piece().prop_map(Piece::undamaged).boxed()).prop_map(move |pieces| {
        let writer = TextWriter { has_distinct_keys: true, ..TextWriter::new(&grammar) };
        writer.text(&pieces)
    })
}

impl Piece {
    fn undamaged(self) -> Self {
        match self {
            Self::Damaged(block, _) => Self::Block(block),
            Self::Reasoning(pair, inner, closed) => {
                Self::Reasoning(pair, Box::new(inner.undamaged()), closed)
            }
            Self::Answer(form, inner) => Self::Answer(form, Box::new(inner.undamaged())),
            piece => piece,
        }
    }
}

/// Writes pieces in the dialects of a grammar.
pub struct TextWriter<'g> {
    grammar: &'g Grammar,
    marks: Vec<String>,
    words: usize,
    /// Whether each key occurs only once in the text.
    has_distinct_keys: bool,
}

impl<'g> TextWriter<'g> {
    pub fn new(grammar: &'g Grammar) -> Self {
        let marks = grammar.dialects.iter().flat_map(|dialect| marks(dialect)).collect();
        Self { grammar, marks, words: 0, has_distinct_keys: false }
    }

    fn text(mut self, pieces: &[Piece]) -> String {
        pieces.iter().map(|piece| self.piece(piece)).collect()
    }

    /// A word that the text does not have yet.
    fn word(&mut self) -> String {
        self.words += 1;
        format!("w{}w", self.words)
    }

    fn dialect(&self, index: &Index) -> &'g Dialect {
        &self.grammar.dialects[index.index(self.grammar.dialects.len())]
    }

    fn block(&mut self, block: &Block) -> String {
        let dialect = self.dialect(&block.body);
        let body = block.body.get(&dialect.calls.bodies);
        let calls = block.calls.iter().map(|(name, args)| {
            let args = args.iter().map(|(key, value)| (self.key(key), self.value(value)));
            Written { name: name.to_string(), args: args.collect() }
        });
        let calls: Vec<_> = calls.collect();
        blocks_of(dialect, body, &calls).concat()
    }

    fn key(&mut self, key: &str) -> String {
        if !self.has_distinct_keys {
            return key.to_owned();
        }
        self.words += 1;
        format!("{key}{}", self.words)
    }

    fn value(&mut self, value: &Value) -> String {
        match value {
            Value::Plain(text) => text.to_string(),
            Value::Word => self.word(),
            Value::Mark(mark) => format!("{}{}", self.word(), self.mark(mark)),
            Value::Block(dialect) => {
                let call =
                    Written { name: "tool".into(), args: vec![(self.key("text"), self.word())] };
                let dialect = self.dialect(dialect);
                blocks_of(dialect, &dialect.calls.bodies[0], &[call]).concat()
            }
        }
    }

    fn mark(&self, index: &Index) -> &str {
        if self.marks.is_empty() { "{" } else { &self.marks[index.index(self.marks.len())] }
    }

    pub fn piece(&mut self, piece: &Piece) -> String {
        match piece {
            Piece::Plain(text) => text.to_string(),
            Piece::Word => self.word(),
            Piece::Mark(mark) => self.mark(mark).to_owned(),
            Piece::CutMark(mark, end) => prefix(self.mark(mark), end).to_owned(),
            Piece::Block(block) => self.block(block),
            Piece::Damaged(block, edits) => {
                let mut characters: Vec<char> = self.block(block).chars().collect();
                for (at, width, instead) in edits {
                    let at = at.index(characters.len().max(1));
                    let end = characters.len().min(at + usize::from(*width));
                    characters.splice(at.min(end)..end, instead.chars());
                }
                characters.into_iter().collect()
            }
            Piece::CutBlock(block, end) => {
                let block = self.block(block);
                prefix(&block, end).to_owned()
            }
            Piece::Reasoning(pair, inner, closed) => {
                let inner = self.piece(inner);
                self.reasoning(pair, &inner, *closed)
            }
            Piece::Answer(form, inner) => {
                let inner = self.piece(inner);
                self.answer(form, &inner)
            }
        }
    }

    fn reasoning(&self, pair: &Index, inner: &str, closed: bool) -> String {
        let dialect = self.dialect(pair);
        if let Some(heads) = &dialect.heads {
            return message_to(heads, Some(&heads.reasoning[0]), inner);
        }
        if dialect.reasoning.is_empty() {
            return inner.to_owned();
        }
        let pair = pair.get(&dialect.reasoning);
        let line = if dialect.at_line_start { "\n" } else { "" };
        format!("{line}{}{inner}{}", pair.open, if closed { &*pair.close } else { "" })
    }

    fn answer(&self, form: &Index, inner: &str) -> String {
        let dialect = self.dialect(form);
        if let Some(heads) = &dialect.heads {
            return message_to(heads, None, inner);
        }
        let decision = dialect.calls.bodies.iter().find_map(|body| match body {
            cogency_rs::dialect::Body::Json(json) => json.decision.as_ref(),
            _ => None,
        });
        if let Some(decision) = decision {
            return answer(decision, "", inner);
        }
        if dialect.answer.is_empty() {
            return inner.to_owned();
        }
        let pair = form.get(&dialect.answer);
        format!("{}{inner}{}", pair.open, pair.close)
    }
}

/// The beginning of a text, shorter by one character or more.
fn prefix<'t>(text: &'t str, end: &Index) -> &'t str {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if places.is_empty() { text } else { &text[..*end.get(&places)] }
}

pub fn endings() -> [Ending; 4] {
    [Ending::Unknown, Ending::Stopped, Ending::Length, Ending::Broken("reset".to_owned())]
}

pub fn ending() -> impl Strategy<Value = Ending> {
    select(endings().to_vec())
}

/// How a text is read; with small limits in one case of five.
pub fn setting() -> impl Strategy<Value = Setting> {
    let small = (1..80_usize, 1..5_usize, 1..3_usize).prop_map(
        |(max_block_bytes, max_depth, max_calls)| Limits { max_block_bytes, max_depth, max_calls },
    );
    let limits = prop_oneof![4 => Just(Limits::default()), 1 => small];
    (any::<bool>(), any::<bool>(), any::<bool>(), limits, ending()).prop_map(
        |(lenient, typed, begins_in_think, limits, ending)| Setting {
            lenient,
            typed,
            begins_in_think,
            limits,
            ending,
            ..Setting::default()
        },
    )
}
