//! The dialects that models were taught, by name: a file of `data/` for each, read when it is first asked for.
//!
//! A file has the fields that [`Dialect::from_json`] reads, and what only presets have: see `File`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::{Dialect, DialectError, Str};

macro_rules! presets {
    ($($name:literal)*) => {
        &[$(Preset {
            name: $name,
            file: include_str!(concat!("data/", $name, ".json")),
            dialect: {
                static DIALECT: OnceLock<Arc<Dialect>> = OnceLock::new();
                &DIALECT
            },
        }),*]
    };
}

/// The files, in the order in which they are listed.
static PRESETS: &[Preset] = presets! {
    "cogency" "forge-json" "forge-xml" "hermes" "reka-edge" "ernie45" "granite4" "longcat" "internlm2"
    "granite-20b-fc" "gigachat3" "json-plain" "xlam" "llama3-json" "react-json" "react" "jamba" "hunyuan" "apriel"
    "nemotron-deci" "granite" "phi4" "firefunction-v2" "mistral" "cohere" "mistral-v11" "deepseek-v3" "deepseek-v31"
    "kimi-k2" "gemma4" "functiongemma" "plamo3" "functionary-v31" "qwen3-coder" "step3p5" "step5" "granite-thinking"
    "seed-oss" "mimo" "glm45" "glm47" "poolside-laguna" "ling3" "spark25" "hunyuan-v3" "hunyuan-v4" "k2-horizon"
    "dots" "step3" "minimax-m2" "minimax-m3" "anthropic" "deepseek-v32-dsml" "deepseek-v4-dsml" "deepseek-v41-dsml"
    "kimi-k3" "harmony" "beam-rfl" "muse-glimmer" "muse" "inkling" "lfm2" "pythonic" "llama4-pythonic" "olmo3"
};

struct Preset {
    name: &'static str,
    file: &'static str,
    dialect: &'static OnceLock<Arc<Dialect>>,
}

/// The dialect of this name. Its file is read once.
///
/// # Panics
/// Never: a test reads every file.
#[must_use]
pub fn preset(name: &str) -> Option<Arc<Dialect>> {
    let preset = named(name)?;
    let read = || match File::read(preset).and_then(File::dialect) {
        Ok(dialect) => Arc::new(dialect),
        Err(fault) => panic!("data/{name}.json: {fault}"),
    };
    Some(Arc::clone(preset.dialect.get_or_init(read)))
}

/// The names of all of them, in the order of the table.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

fn named(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// What is in a file. `{"lines": […]}` in it is the text of these lines.
#[derive(Deserialize)]
struct File {
    /// What a reader of the file does not see in its fields.
    #[serde(default, rename = "about")]
    _about: IgnoredAny,
    /// The preset that has the fields which the file does not give. Of `heads` and `prompt`, a file can give some members. The
    /// words of its models' template are not among them.
    like: Option<String>,
    /// The families of tokens that the tokenizers of its models have; `all` where it suits any model.
    tokens_of: Option<Vec<String>>,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl File {
    /// What is in the file of a preset and, where that gives nothing, in the file of the one that it is like.
    fn read(preset: &Preset) -> Result<Self, DialectError> {
        let mut own: Self = serde_json::from_str(preset.file)
            .map_err(|error| DialectError::new("", error.to_string()))?;
        if let Some(like) = own.like.take() {
            let like = named(&like)
                .ok_or_else(|| DialectError::new("like", format!("there is no {like:?}")))?;
            let mut like = Self::read(like)?;
            if let Some(Value::Object(prompt)) = like.fields.get_mut("prompt") {
                prompt.remove("wording");
            }
            own.fields = over(like.fields, own.fields);
            own.tokens_of = own.tokens_of.or(like.tokens_of);
        }
        Ok(own)
    }

    fn dialect(mut self) -> Result<Dialect, DialectError> {
        self.fields.values_mut().for_each(join_lines);
        let mut dialect = Dialect::from_json(self.fields.into())?;
        for name in self.tokens_of.unwrap_or_default() {
            match FAMILIES.get(&name) {
                Some(family) => dialect.tokens.extend_from_slice(family),
                None if name == ALL => dialect.tokens.extend(FAMILIES.values().flatten().cloned()),
                None => {
                    let reason = format!("tokens.json has no {name:?}");
                    return Err(DialectError::new("tokens_of", reason));
                }
            }
        }
        dialect.tokens.sort_unstable();
        dialect.tokens.dedup();
        Ok(dialect)
    }
}

/// `fields`, in which those of `own` take the place of others.
fn over(mut fields: Map<String, Value>, own: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in own {
        match (fields.get_mut(&name), value) {
            (Some(Value::Object(members)), Value::Object(own)) => members.extend(own),
            (_, value) => drop(fields.insert(name, value)),
        }
    }
    fields
}

/// Writes texts that are given as `{"lines": […]}` as texts.
fn join_lines(value: &mut Value) {
    let Value::Object(members) = value else { return };
    match members.get("lines").and_then(Value::as_array) {
        Some(lines) => {
            let lines: Vec<_> = lines.iter().filter_map(Value::as_str).collect();
            *value = lines.join("\n").into();
        }
        None => members.values_mut().for_each(join_lines),
    }
}

/// The tokens of families of models, as their chat templates and tokenizers have them. One that others begin with is enough for
/// all of them.
static FAMILIES: LazyLock<BTreeMap<String, Vec<Str>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("tokens.json")).expect("a test reads it"));

/// What `tokens_of` says for every family.
const ALL: &str = "all";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn each_file_is_a_preset_of_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect/data");
        let files = fs::read_dir(folder).expect("the folder is there");
        let files: BTreeSet<_> = files
            .map(|file| file.expect("a file").file_name().into_string().expect("its name"))
            .collect();
        let listed: Vec<_> = names().map(|name| format!("{name}.json")).collect();
        assert_eq!(files, listed.iter().cloned().collect(), "presets! must name each file");
        assert_eq!(files.len(), listed.len(), "presets! must name each file once");
    }

    #[test]
    fn each_file_is_a_dialect_that_can_be_read_and_written() {
        for name in names() {
            let row = preset(name).expect("a preset");
            assert_eq!(row.name, name);
            assert_eq!(row.check(), Ok(()), "{name}");
            let written = serde_json::to_value(&*row).expect("JSON");
            assert_eq!(Dialect::from_json(written).as_ref(), Ok(&*row), "{name}");
        }
    }

    #[test]
    fn a_dialect_for_any_model_has_the_tokens_of_every_model() {
        let rows: Vec<_> = names().filter_map(preset).collect();
        let (for_any, taught): (Vec<_>, Vec<_>) =
            rows.iter().partition(|row| row.models.is_empty());
        let for_any_names: Vec<_> = for_any.iter().map(|row| &*row.name).collect();
        let expected = ["cogency", "forge-json", "forge-xml", "json-plain", "react-json", "react"];
        assert_eq!(for_any_names, expected);
        for row in taught {
            assert!(!row.tokens.is_empty(), "{}", row.name);
            for token in &row.tokens {
                let is_known = for_any.iter().all(|any| any.tokens.contains(token));
                assert!(is_known, "{}: tokens.json must have a family with {token:?}", row.name);
            }
        }
    }

    #[test]
    fn no_server_stops_at_a_mark_that_closes_a_block() {
        for name in names() {
            let row = preset(name).expect("a preset");
            let closing: Vec<_> =
                row.stop.iter().filter(|stop| row.calls.close.contains(stop)).collect();
            assert!(closing.is_empty(), "{name}: an argument can hold {closing:?}");
        }
    }

    /// What a model's form is can be seen at a glance, but for the words about its tools and the comments.
    #[test]
    fn a_file_has_at_most_25_lines() {
        for Preset { name, file, .. } in PRESETS {
            let mut indent = None;
            let lines = file.lines().filter(|line| {
                let is_left_out = |key: &str| line.trim_start().starts_with(&format!("\"{key}\":"));
                let width = line.len() - line.trim_start().len();
                if let Some(outer) = indent {
                    indent =
                        indent.filter(|_| width > outer || !line.trim_start().starts_with('}'));
                    return false;
                }
                let is_left_out = ["about", "wording", "tools"].into_iter().any(is_left_out);
                indent = (is_left_out && line.ends_with('{')).then_some(width);
                !is_left_out
            });
            assert!(lines.count() <= 25, "{name}");
        }
    }
}
