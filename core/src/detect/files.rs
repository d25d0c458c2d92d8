//! Where a chat template is: in its own file, in a tokenizer's configuration, or in a model's file.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use super::gguf;

/// A chat template, and the tokens that it may write.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Source {
    /// Its text.
    pub template: String,
    /// The token that begins a text.
    pub bos: String,
    /// The token that ends one.
    pub eos: String,
}

/// Why there is no template.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The file cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has no template in it.
    #[error("{} has no chat template; a folder has one in chat_template.jinja, tokenizer_config.json or a .gguf file", .0.display())]
    NoTemplate(PathBuf),
}

/// The longest file of text that is read.
const LONGEST: u64 = 1 << 26;

/// The files of a folder that may have the template, those first that go before the others.
const IN_A_FOLDER: [&str; 3] =
    ["chat_template.jinja", "chat_template.json", "tokenizer_config.json"];

impl Source {
    /// A template of which only the text is known.
    #[must_use]
    pub fn of(template: impl Into<String>) -> Self {
        Self { template: template.into(), ..Self::default() }
    }

    /// Whether the template has a tag; a text without one is not a template.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        ["{{", "{%"].iter().any(|tag| self.template.contains(tag))
    }

    /// The template of a tokenizer's configuration, `tokenizer_config.json`; `None` if it has no template.
    #[must_use]
    pub fn of_configuration(configuration: &Value) -> Option<Self> {
        let token = |key: &str| match configuration.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Object(fields)) => {
                fields.get("content").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            _ => String::new(),
        };
        let template = match configuration.get("chat_template")? {
            Value::String(template) => template.clone(),
            Value::Array(named) => {
                let named = named.iter().filter_map(|each| {
                    Some((
                        each.get("name")?.as_str()?.to_owned(),
                        each.get("template")?.as_str()?.to_owned(),
                    ))
                });
                chosen(named.collect())?
            }
            _ => return None,
        };
        Some(Self { template, bos: token("bos_token"), eos: token("eos_token") })
    }

    /// The template in a file or a folder.
    ///
    /// # Errors
    /// The file cannot be read, or has no template in it.
    pub fn read(path: &Path) -> Result<Self, SourceError> {
        let unreadable = |error| SourceError::Unreadable { path: path.to_owned(), error };
        let none = || SourceError::NoTemplate(path.to_owned());
        if path.is_dir() {
            return in_folder(path)?.ok_or_else(none);
        }
        let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut magic = Vec::new();
        file.by_ref().take(4).read_to_end(&mut magic).map_err(unreadable)?;
        if magic == b"GGUF" {
            let mut whole = io::Cursor::new(magic).chain(file);
            let templates = gguf::read(&mut whole).map_err(unreadable)?;
            return chosen(templates).map(Self::of).ok_or_else(none);
        }
        let mut bytes = magic;
        file.take(LONGEST).read_to_end(&mut bytes).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match serde_json::from_str(&text) {
            Ok(configuration @ Value::Object(_)) => {
                Self::of_configuration(&configuration).ok_or_else(none)
            }
            _ => Some(Self::of(text)).filter(Self::has_tags).ok_or_else(none),
        }
    }
}

/// The template of a folder; a template in its own file has the tokens of the tokenizer's configuration.
fn in_folder(folder: &Path) -> Result<Option<Source>, SourceError> {
    let mut found: Option<Source> = None;
    for name in IN_A_FOLDER {
        let path = folder.join(name);
        if !path.is_file() {
            continue;
        }
        match Source::read(&path) {
            Ok(source) => match &mut found {
                Some(found) => (found.bos, found.eos) = (source.bos, source.eos),
                None => found = Some(source),
            },
            Err(SourceError::NoTemplate(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if found.is_some() {
        return Ok(found);
    }
    let unreadable = |error| SourceError::Unreadable { path: folder.to_owned(), error };
    let mut models: Vec<_> = folder
        .read_dir()
        .map_err(unreadable)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf")))
        .collect();
    models.sort();
    models.first().map(|path| Source::read(path)).transpose()
}

/// Of several templates the one for tools, else the default one, else the first.
fn chosen(mut named: Vec<(String, String)>) -> Option<String> {
    let place = |wanted: &[&str]| named.iter().position(|(name, _)| wanted.contains(&&**name));
    let place = place(&["tool_use"]).or_else(|| place(&["", "default"])).unwrap_or(0);
    (place < named.len()).then(|| named.swap_remove(place).1)
}
