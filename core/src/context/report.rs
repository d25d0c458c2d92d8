//! Rows of type `error`: what a model wrote that could not be used, and what is said about it to the model that reads the log.
//!
//! A row says what was wrong in plain words, with the structure of it in further keys. What to do instead is written here, when the
//! row is shown, in the form of the reader: it need not be that of the model that wrote what could not be used. A row of an earlier
//! version has a whole message as its `content`, and is shown as it is.

use crate::json::{Container, Scanner, Token, unescaped};
use crate::protocol::Text;
use crate::protocol::advice::{GO_ON, LESS};
use crate::protocol::report::{Advice, BlockEnd, BlockFault, Words};
use crate::protocol::stored::{ShownCall, shown_call};
use crate::protocol::write::Renderer;

use super::options::Form;

/// What a model wrote that could not be used, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownReport {
    /// The model's own text, as it wrote it; may be empty.
    pub raw: Text,
    /// What was wrong with it, in plain words.
    pub content: Text,
    /// Whether the answer was cut outside every block, so that the text that follows goes on with it.
    pub is_of_cut_answer: bool,
    /// What to do instead, where the words for that depend on the reader's form.
    pub advice: Option<Advice>,
    /// The block that it is about, and its line and column there.
    pub block: Option<(BlockFault, (usize, usize))>,
    /// The call to write, with [`Advice::Call`].
    pub call: Option<ShownCall>,
}

impl ShownReport {
    /// A report that says the same to every reader.
    #[must_use]
    pub fn new(raw: impl Into<Text>, content: impl Into<Text>) -> Self {
        Self { raw: raw.into(), content: content.into(), ..Self::default() }
    }

    /// The message about it to a model that reads this form.
    ///
    /// # Complexity
    /// O(report), and an example of a call
    #[must_use]
    pub fn told(&self, form: Form, renderer: &Renderer) -> Text {
        let mut told = self.content.clone();
        let Some(advice) = self.advice else {
            // Nothing in it depends on the form but the names of marks.
            if let Some((words, fault, place)) = self.in_own_dialect(form, renderer) {
                return words.sentence(fault, place).into();
            }
            return told;
        };
        let advised = match form {
            Form::Text => match self.in_own_dialect(form, renderer) {
                Some((words, fault, place)) => {
                    told = words.sentence(fault, place).into();
                    self.in_text(advice, renderer, Some(words))
                }
                None => self.in_text(advice, renderer, None),
            },
            Form::Native => in_calls(advice),
            Form::React => self.in_decisions(advice),
        };
        if !advised.is_empty() {
            told.push(b" ");
            told.push(advised.as_bytes());
        }
        told
    }

    /// The words for a block of the dialect that the reader writes, and what is wrong with it.
    fn in_own_dialect(
        &self,
        form: Form,
        renderer: &Renderer,
    ) -> Option<(Words, &BlockFault, (usize, usize))> {
        let (fault, place) = self.block.as_ref()?;
        let is_own = form == Form::Text && fault.dialect == renderer.dialect().name;
        is_own.then(|| (Words::new(renderer.dialect()), fault, *place))
    }

    /// What to do, for a model that writes calls as text.
    fn in_text(&self, advice: Advice, renderer: &Renderer, words: Option<Words>) -> String {
        let words = || words.unwrap_or_else(|| Words::new(renderer.dialect()));
        match advice {
            Advice::Again => words().again.into(),
            Advice::AgainWithLess => format!("{} {LESS}", words().again),
            Advice::GoOn => GO_ON.into(),
            Advice::AfterThoughts => match renderer.dialect().reasoning.first() {
                Some(marks) => {
                    format!("End your thoughts with {}, then write the call.", marks.close)
                }
                None => "End your thoughts, then write the call.".into(),
            },
            Advice::Call => match self.call.as_ref().filter(|call| renderer.can_write(call)) {
                Some(call) => {
                    let mut calls = [call.clone()];
                    renderer.give_ids(&mut calls, 0);
                    let written = renderer.calls(&calls, true).stripped();
                    format!("Write the call like this:\n{written}")
                }
                None => words().again.into(),
            },
        }
    }

    /// What to do, for a model that writes each decision as a JSON object.
    fn in_decisions(&self, advice: Advice) -> String {
        const AGAIN: &str =
            "Write one JSON object, with thought, type, tool, args and answer as you were told.";
        match advice {
            Advice::Again => AGAIN.into(),
            Advice::AgainWithLess => format!("{AGAIN} Write less at once."),
            Advice::GoOn => "Write one more object, of the type \"final_answer\", whose answer goes on exactly where the last \
                             one stopped: it is joined to it as it is. Repeat nothing."
                .into(),
            Advice::AfterThoughts => format!("End your thoughts first. {AGAIN}"),
            Advice::Call => match &self.call {
                Some(ShownCall { name, args, .. }) => format!(
                    "Write the call like this:\n{{\"thought\": \"I have to look that up.\", \"type\": \"call_tool\", \
                     \"tool\": {name}, \"args\": {args}}}"
                ),
                None => AGAIN.into(),
            },
        }
    }
}

/// What to do, for a model whose provider has a form of calls.
fn in_calls(advice: Advice) -> String {
    const AGAIN: &str = "Make the call again, with arguments that are one JSON object.";
    match advice {
        Advice::Again => AGAIN.into(),
        Advice::AgainWithLess => format!("{AGAIN} {LESS}"),
        Advice::GoOn => GO_ON.into(),
        Advice::AfterThoughts => "End your thoughts, then make the call.".into(),
        Advice::Call => String::new(),
    }
}

/// The kinds of error that are the model's own, which it is shown. Any other is the program's.
const KINDS: [&[u8]; 3] = [b"malformed", b"truncated", b"unfinished"];

/// The values of the keys that are read.
#[derive(Default)]
struct Fields {
    kind: Option<Text>,
    raw: Option<Text>,
    content: Option<Text>,
    advice: Option<Text>,
    dialect: Option<Text>,
    problem: Option<Text>,
    ended: Option<Text>,
    call: Option<Text>,
    line: Option<usize>,
    column: Option<usize>,
}

impl Fields {
    fn set(&mut self, key: &[u8], value: &Token, text: &[u8]) {
        // Of equal keys the last one counts, whatever its value is.
        let string = || match value {
            Token::String(range) => Some(unescaped(&text[range.clone()])),
            _ => None,
        };
        let number = || match value {
            Token::Number(range) => std::str::from_utf8(&text[range.clone()]).ok()?.parse().ok(),
            _ => None,
        };
        match key {
            b"kind" => self.kind = string(),
            b"raw" => self.raw = string(),
            b"content" => self.content = string(),
            b"advice" => self.advice = string(),
            b"dialect" => self.dialect = string(),
            b"problem" => self.problem = string(),
            b"ended" => self.ended = string(),
            b"call" => self.call = string(),
            b"line" => self.line = number(),
            b"column" => self.column = number(),
            _ => {}
        }
    }

    fn block(&self) -> Option<(BlockFault, (usize, usize))> {
        let (dialect, problem) = (self.dialect.as_ref()?, self.problem.as_ref()?);
        let ended = match &self.ended {
            Some(name) => Some(BlockEnd::of_name(name.to_str()?)?),
            None => None,
        };
        let dialect = dialect.to_str()?.to_owned().into();
        let problem = problem.to_str()?.to_owned();
        Some((BlockFault { dialect, problem, ended }, self.line.zip(self.column)?))
    }
}

/// Reads a report as the log stores it, `{"kind": …, "content": …, "raw": …}`; keys that it does not know are ignored.
///
/// Text that is not a report gives `None`: another program may have written the row.
#[must_use]
pub fn stored_report(text: impl AsRef<[u8]>) -> Option<ShownReport> {
    let text = text.as_ref();
    let mut scanner = Scanner::default();
    let Ok(Some(Token::Open(Container::Object))) = scanner.next(text) else { return None };
    let (mut fields, mut key) = (Fields::default(), Text::default());
    scanner.rest(text, |scanner, token| {
        match (scanner.depth(), token) {
            (1, Token::Key(range)) => key = unescaped(&text[range]),
            (1, value) => fields.set(key.as_bytes(), &value, text),
            _ => {}
        }
        Some(())
    })?;
    let block = fields.block();
    let (kind, raw, content) = (fields.kind?, fields.raw?, fields.content?);
    let is_known = KINDS.contains(&kind.as_bytes());
    let is_of_cut_answer = kind.as_bytes() == b"truncated" && raw.is_empty();
    let advice = fields.advice.as_ref().and_then(|name| Advice::of_name(name.to_str()?));
    let call = fields.call.and_then(|call| shown_call(call.as_bytes()).ok().flatten());
    is_known.then_some(ShownReport { raw, content, is_of_cut_answer, advice, block, call })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::presets::{names, preset};
    use crate::protocol::{Ending, Event, Grammar, Options, Parser};

    #[test]
    fn a_report_is_read_whatever_else_stands_in_it() {
        let report = |raw: &str, content: &str| {
            let is_of_cut_answer = raw.is_empty();
            Some(ShownReport { is_of_cut_answer, ..ShownReport::new(raw, content) })
        };
        for (stored, expected) in [
            (r#"{"kind": "malformed", "content": "no", "raw": "<x>"}"#, report("<x>", "no")),
            (r#" {"raw": "", "kind": "truncated", "content": "", "line": 1} "#, report("", "")),
            (
                r#"{"kind": "unfinished", "more": {"raw": [{}]}, "c\u006fntent": "a", "raw": "b\n\u00e9"}"#,
                report("b\né", "a"),
            ),
            (r#"{"kind": "malformed", "raw": 1, "content": "a", "raw": "b"}"#, report("b", "a")),
        ] {
            assert_eq!(stored_report(stored.as_bytes()), expected, "{stored}");
        }
    }

    fn told(report: &ShownReport, form: Form, dialect: &str) -> String {
        let renderer = Renderer::new(preset(dialect).expect("a row of the table"));
        report.told(form, &renderer).to_string()
    }

    /// The row of the only report on this text.
    fn row_of(dialect: &str, text: &str, ending: &Ending) -> ShownReport {
        let grammar = Grammar::preset(dialect).expect("a row of the table");
        let mut parser = Parser::new(grammar, Options::default());
        let mut events = Vec::new();
        parser.feed(text, &mut events);
        parser.finish(ending, &mut events);
        let report = events.into_iter().find_map(|event| match event {
            Event::Error(report) => Some(report),
            _ => None,
        });
        let report = report.expect("the text is broken");
        let row = report.row(&report.raw);
        stored_report(row.as_bytes()).expect("it is a report")
    }

    #[test]
    fn a_report_is_told_in_the_form_of_its_reader() {
        let broken = Ending::Broken("http://inner:8000 went away".into());
        let stopped = Ending::Stopped;
        for (text, ending) in [
            ("<tool_call>\n{\"name\": }\n</tool_call>", &stopped),
            ("<tool_call>\n{\"name\": \"a\", \"arg", &stopped),
            ("<tool_call>\n{\"name\": \"a\", \"arg", &Ending::Unknown),
            ("<tool_call>\n{\"name\": \"a\", \"arg", &broken),
        ] {
            let report = row_of("hermes", text, ending);
            assert!(!report.content.to_string().contains("tool_call>"), "{}", report.content);
            let to_hermes = told(&report, Form::Text, "hermes");
            assert!(to_hermes.contains("<tool_call> block (hermes)"), "{to_hermes}");
            assert!(
                to_hermes.contains("exactly like this:\n<tool_call>\n{\"name\""),
                "{to_hermes}"
            );
            let to_qwen = told(&report, Form::Text, "qwen3-coder");
            assert!(to_qwen.contains("<function=tool_name>"), "{to_qwen}");
            assert!(!to_qwen.contains("hermes") && !to_qwen.contains("{\"name\""), "{to_qwen}");
            let to_provider = told(&report, Form::Native, "cogency");
            assert!(to_provider.contains(" Make the call again,"), "{to_provider}");
            let to_decider = told(&report, Form::React, "cogency");
            assert!(to_decider.contains(" Write one JSON object,"), "{to_decider}");
            for told in [to_hermes, to_qwen, to_provider, to_decider] {
                assert!(!told.contains("http"), "{told}");
            }
        }
    }

    #[test]
    fn marks_of_another_dialect_are_in_no_message() {
        let readers = ["hermes", "cogency", "qwen3-coder", "pythonic", "harmony", "react-json"];
        for writer in names().map(str::to_owned) {
            let dialect = preset(&writer).expect("a row of the table");
            let open = dialect.calls.open.first().cloned().unwrap_or_default();
            for body in ["{\"name\": }", "nonsense", "[", ""] {
                let grammar = Grammar::preset(&writer).expect("a row of the table");
                let mut parser = Parser::new(grammar, Options::default());
                let mut events = Vec::new();
                parser.feed_bytes(format!("{open}{body}").as_bytes(), &mut events);
                parser.finish(&Ending::Stopped, &mut events);
                for event in events {
                    let Event::Error(report) = event else { continue };
                    let row = report.row(&report.raw);
                    let shown = stored_report(row.as_bytes()).expect("it is a report");
                    assert_eq!(shown.content, report.finding.content, "{row}");
                    let content = shown.content.to_string();
                    assert!(open.is_empty() || !content.contains(&*open), "{writer}: {content}");
                    // Who writes the same dialect reads what the event says.
                    assert_eq!(told(&shown, Form::Text, &writer), report.content.to_string());
                    for reader in readers.into_iter().filter(|reader| *reader != writer) {
                        let told = told(&shown, Form::Text, reader);
                        assert!(told.starts_with(&content), "{writer}, {reader}: {told}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_answer_that_was_cut_goes_on_in_the_form_of_its_reader() {
        let report = row_of("hermes", "It is f", &Ending::Length);
        assert!(report.is_of_cut_answer);
        for (form, expected) in [
            (Form::Text, "Go on exactly"),
            (Form::Native, "Go on exactly"),
            (Form::React, "Write one more object"),
        ] {
            let told = told(&report, form, "hermes");
            let begins =
                format!("Your answer reached the length that is allowed and was cut. {expected}");
            assert!(told.starts_with(&begins), "{told}");
        }
        let broken = row_of("hermes", "It is f", &Ending::Broken("http://inner".into()));
        assert!(!told(&broken, Form::Text, "hermes").contains("http"));
    }

    #[test]
    fn a_call_that_must_be_made_is_written_in_the_form_of_the_reader() {
        let stored = r#"{"kind": "malformed", "content": "No call.", "raw": "", "advice": "call",
            "call": "{\"name\": \"add\", \"args\": {\"a\": 0}}"}"#;
        let report = stored_report(stored.as_bytes()).expect("it is a report");
        for (form, dialect, expected) in [
            (
                Form::Text,
                "hermes",
                " Write the call like this:\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 0}}\n</tool_call>",
            ),
            (Form::Text, "pythonic", " Write the call like this:\n[add(a=0)]"),
            (Form::Native, "cogency", ""),
            (
                Form::React,
                "cogency",
                " Write the call like this:\n{\"thought\": \"I have to look that up.\", \"type\": \"call_tool\", \
                 \"tool\": \"add\", \"args\": {\"a\": 0}}",
            ),
        ] {
            assert_eq!(told(&report, form, dialect), format!("No call.{expected}"));
        }
    }

    #[test]
    fn what_is_not_a_report_is_none() {
        for stored in [
            "",
            "no JSON",
            "[]",
            "{}",
            r#"{"kind": "malformed", "content": "no"}"#,
            r#"{"kind": "malformed", "raw": "no"}"#,
            r#"{"content": "no", "raw": ""}"#,
            r#"{"kind": "network", "content": "no", "raw": ""}"#,
            r#"{"kind": "malformed", "content": null, "raw": ""}"#,
            r#"{"kind": "malformed", "content": "no", "raw": "", "raw": []}"#,
            r#"{"kind": "malformed", "content": "no", "raw": ""} x"#,
            r#"{"kind": "malformed", "content": "no", "raw": """#,
            r#"[{"kind": "malformed", "content": "no", "raw": ""}]"#,
        ] {
            assert_eq!(stored_report(stored.as_bytes()), None, "{stored}");
        }
    }
}
