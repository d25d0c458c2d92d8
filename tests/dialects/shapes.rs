//! Texts that readers of a dialect may find hard, as long as one wants them.

use cogency_rs::dialect::{Args, Body, Dialect, Head};

use super::write::{Written, blocks, blocks_of, marks};

/// A text of any length: a beginning, a part that is repeated, and an end.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What is hard about the text; shown in the message of a failure.
    pub name: &'static str,
    before: String,
    each: String,
    after: String,
}

impl Shape {
    fn new(name: &'static str, before: &str, each: &str, after: &str) -> Self {
        let [before, each, after] = [before, each, after].map(str::to_owned);
        Self { name, before, each, after }
    }

    /// The text with about so many characters. `{n}` is the number of its part, and `{n/2}` half of it.
    pub fn text(&self, size: usize) -> String {
        let numbered = |n: usize| {
            self.each.replace("{n}", &format!("{n:06}")).replace("{n/2}", &format!("{:06}", n / 2))
        };
        let times = (size / numbered(0).chars().count().max(1)).max(1);
        let each = if numbered(0) == self.each {
            self.each.repeat(times)
        } else {
            (0..times).map(numbered).collect()
        };
        format!("{}{each}{}", self.before, self.after)
    }
}

const VALUE: &str = "V1V";
const KEY: &str = "K1K";

/// The parts of a block: all of it, its text before the name, before a key, before a value, and after the value.
struct Parts {
    block: String,
    before_name: String,
    before_key: String,
    before_value: String,
    after_value: String,
}

fn parts(dialect: &Dialect, body: &Body) -> Parts {
    let call = Written::new("tool", &[(KEY, VALUE), ("other", "x")]);
    let block = blocks_of(dialect, body, &[call]).concat();
    let part = |end: &str| {
        let at = block.find(end).unwrap_or(block.len());
        block[..at].to_owned()
    };
    let after = block.find(VALUE).map_or("", |at| &block[at + VALUE.len()..]);
    Parts {
        before_name: part("tool("),
        before_key: part(KEY),
        before_value: part(VALUE),
        after_value: after.to_owned(),
        block,
    }
}

/// The text around a value of this key that is not text itself.
fn around(parts: &Parts, key: &str) -> [String; 2] {
    let kinds = [("string=\"true\"", "string=\"false\""), ("type=\"string\"", "type=\"array\"")];
    let before = parts.before_value.replace(KEY, key);
    let before = kinds.iter().fold(before, |text, (from, to)| text.replace(from, to));
    let after = parts.after_value.replace(KEY, key);
    let quotes = ['"', '\''];
    [before.trim_end_matches(quotes), after.trim_start_matches(quotes)].map(str::to_owned)
}

/// The texts that readers of this dialect may find hard.
#[expect(clippy::too_many_lines, reason = "a table")]
pub fn shapes(dialect: &Dialect) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |name, before: &str, each: &str, after: &str| {
        shapes.push(Shape::new(name, before, each, after));
    };
    for mark in marks(dialect) {
        let half: String = mark.chars().take(mark.chars().count() - 1).collect();
        add("a mark", "", &mark, "");
        add("a mark on each line", "", &format!("\n{mark}"), "");
        add("half a mark", "", &half, "");
        add("space after a mark", &mark, " ", "");
        add("space after each mark", "", &format!("{mark}    "), "x");
    }
    let good = blocks(dialect, &[Written::new("tool", &[("text", "x")])]).concat();
    add("blocks", "", &good, "");
    add("text and blocks", "", &format!("some text {good}"), "");
    for body in &dialect.calls.bodies {
        let parts = parts(dialect, body);
        let [in_list, in_object] = ["list", "object"].map(|key| around(&parts, key));
        let Parts { block, before_name, before_key, before_value, after_value } = parts;
        let block_end = dialect.calls.close.first().map_or("", |close| close);
        add("space before a name", &before_name, " ", "");
        add("space before a key", &before_key, " ", "");
        add("space in a value", &before_value, " ", &after_value);
        add("space in a value with no end", &before_value, " ", "");
        add("a long key", &before_key, "k", "");
        add("a long value", &before_value, "v", &after_value);
        add("a value with no end", &before_value, "v", "");
        for part in [
            "\"",
            "'",
            "\\",
            "&",
            "<",
            "<a x=\"",
            "</",
            "]]>",
            "<![CDATA[",
            "<!--",
            "[",
            "{",
            "]",
            "}",
            ",",
            "{\"",
            "1",
            "\n",
        ] {
            add("in a value", &before_value, part, &after_value);
            add("in a value with no end", &before_value, part, "");
            add("in place of a value", before_value.trim_end_matches(['"', '\'']), part, "");
            add("before a key", before_key.trim_end_matches(['"', '<']), part, "");
            add("text", "", part, "");
        }
        for mark in marks(dialect) {
            add("a mark in a value", &before_value, &mark, &after_value);
            add("marks in a value with no end", &before_value, &mark, "");
            add("marks and space in a value", &before_value, &format!("{mark}  "), &after_value);
            add("a mark and space in a value", &format!("{before_value}{mark}"), " ", &after_value);
        }
        // An element of XML is converted where it ends.
        let is_xml = |head: &Head| matches!(head.args, Args::Xml(_));
        if !matches!(body, Body::Xml(_)) && !matches!(body, Body::Head(head) if is_xml(head)) {
            let [before, after] = &in_list;
            add("a list", &format!("{before}[1"), ", 1", &format!("]{after}"));
            add("a list of lists", &format!("{before}[[]"), ",[2.50]", &format!("]{after}"));
            let [before, after] = &in_object;
            let [open, close] = [format!("{before}{{\"k\": 1"), format!("}}{after}")];
            add("an object", &open, ", \"k{n}\": \"v\"", &close);
        }
        let ends = format!("{before_value}{block_end}");
        add("blocks cut in a value", "", &before_value, "");
        add("blocks cut in a value, with an end", "", &ends, "");
        add("blocks cut in a key", "", &format!("{before_key}{block_end}"), "");
        add("blocks cut in a key, on lines", "", &format!("{before_key}\n"), "");
        for part in ["\"", "'?", "\\", "<![CDATA[", "<a x='", "<a x=\"", "\"\\\"", "{", "'''"] {
            let ends = format!("{before_value}{part}{block_end}");
            add("blocks cut in part of a value", "", &ends, "");
        }
        if let Body::Head(head) = body
            && let Args::Parameters(form) = &head.args
        {
            let each = |key: &str| {
                let close = form.close.replace("{key}", key);
                let flag = form
                    .flag
                    .as_ref()
                    .map_or(String::new(), |flag| format!(" {}=\"{}\"", flag.name, flag.text));
                format!("{}{key}{}{flag}{}x{close}", form.open, form.key_end, form.value_open)
            };
            let start = before_key.strip_suffix(&*form.open).unwrap_or(&before_key);
            add("one parameter again and again", start, &each("k"), &head.close);
            add("parameters", start, &each("k{n}"), &head.close);
            add("parameters opened", start, &format!("{}k{}", form.open, form.key_end), "");
            add("attributes", &format!("{before_key}k{}", form.key_end), " a=\"b\"", "");
        }
        if let Some(start) = before_key.strip_suffix('"') {
            add("one key again and again", start, "\"k\": 1, ", "");
            add("keys", start, "\"k{n}\": {}, ", "");
            let rest = block.find(KEY).map_or("", |at| &block[at - 1..]);
            add("one key again and again, with an end", start, "\"k\": 1, ", rest);
            add("keys, with an end", start, "\"{n}\":1,", rest);
            add("each key twice, with an end", start, "\"{n/2}\":1,", rest);
        }
    }
    for text in [
        "{\"name\": ",
        "[{\"name\": ",
        "{\"name\": \"x\", \"arguments\": {",
        "[a(",
        "a(",
        "to=",
        "{\"tool\": ",
        "{\"type\": \"call_tool\", \"args\": {\"",
        "<results>[\"",
        "<results>",
        "```json\n",
        ";",
        "{}; ",
    ] {
        add("text", "", text, "");
        add("text on lines", "", &format!("\n{text}"), "");
    }
    add("space", "", " ", "");
    add("space and a brace", "{", " ", "");
    add("space and a bracket", "[", " ", "");
    shapes
}
