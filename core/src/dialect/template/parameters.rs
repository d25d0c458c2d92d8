//! `xml-inline`: arguments, each in its own tag.

use super::super::{Parameters, Trim, Untyped};
use super::error::{Read, TemplateError};
use super::fields::{ContentArgs, FieldContent, missing};
use super::group::Group;
use super::pattern::{Alternative, PatternPiece, Space, alternatives};
use super::texts::trimmed;

/// The tags that these arguments of `xml-inline` describe.
pub(super) fn parameters(args: &ContentArgs<'_>) -> Read<Parameters> {
    if args.flag("merge_duplicates", false)? {
        return Err(TemplateError::new(
            args.at("merge_duplicates"),
            "makes a list of arguments with one name",
            "the last one counts: leave it out",
        ));
    }
    let (untyped, strips) = values(args)?;
    let tag = tag(args)?;
    let trim = if strips { Trim::Space } else { tag.trim };
    Ok(Parameters {
        entities: false,
        around: None,
        whole: None,
        open: tag.open.into(),
        key_end: tag.key_end.into(),
        value_open: tag.value_open.into(),
        close: tag.close.into(),
        flag: None,
        trim,
        untyped,
    })
}

/// What a value is, and whether the space at its ends is left out.
fn values(args: &ContentArgs<'_>) -> Read<(Untyped, bool)> {
    let Some((content, inner)) = args.value_parser()? else { return Ok((Untyped::Text, false)) };
    let untyped = match content {
        FieldContent::Text => Untyped::Text,
        FieldContent::Json => Untyped::Json,
        FieldContent::XmlInline | FieldContent::Other(_) => {
            return Err(TemplateError::new(
                args.at("value_parser.name"),
                "reads values in a way that cannot be read",
                "values are text or json; the schema of the tool says what they are",
            ));
        }
    };
    for key in ["unquoted_keys", "string_delims"] {
        if content == FieldContent::Json && inner.get(key).is_some_and(|value| *value != false) {
            return Err(TemplateError::new(
                inner.at(key),
                "allows values that are not JSON",
                "leave it out",
            ));
        }
    }
    Ok((untyped, inner.flag("strip", true)?))
}

/// The marks of a tag.
struct Tag {
    open: String,
    key_end: String,
    value_open: String,
    close: String,
    trim: Trim,
}

/// The pattern of a tag, as pieces.
pub(super) fn tag_alternatives(args: &ContentArgs<'_>) -> Read<(String, Vec<Alternative>)> {
    let path = args.at("tag_pattern");
    match args.get("tag_pattern") {
        Some(serde_json::Value::String(source)) => Ok((path.clone(), alternatives(&path, source)?)),
        Some(other) => Err(super::error::not_a(&path, "a string", other)),
        None => Err(missing(&path, "say what a tag looks like")),
    }
}

fn tag(args: &ContentArgs<'_>) -> Read<Tag> {
    let (path, alternatives) = tag_alternatives(args)?;
    let refuse =
        |reason: &'static str, advice: &'static str| Err(TemplateError::new(&path, reason, advice));
    let [alternative] = &alternatives[..] else {
        return refuse("matches in several ways", "keep the one that the model writes");
    };
    let [PatternPiece::Text(open), PatternPiece::Group(key), rest @ ..] = trimmed(alternative)
    else {
        return refuse("does not begin with a mark and a key", SHAPE);
    };
    let at =
        rest.iter().position(|piece| matches!(piece, PatternPiece::Group(_))).unwrap_or(rest.len());
    let (between, [PatternPiece::Group(value), behind @ ..]) = rest.split_at(at) else {
        return refuse("has no value", SHAPE);
    };
    if (&*key.name, &*value.name) != ("key", "value") {
        return refuse("does not have the groups `key` and `value`", SHAPE);
    }
    let (key_end, value_open, before) = match between {
        [PatternPiece::Text(end), rest @ ..] => match rest {
            [] => inner_line(end),
            [PatternPiece::Space(space)] => (end.clone(), String::new(), Some(*space)),
            [PatternPiece::Space(_), PatternPiece::Text(open)] => {
                let (open, _, line) = inner_line(open);
                (end.clone(), open, line)
            }
            [PatternPiece::Space(_), PatternPiece::Text(open), PatternPiece::Space(space)] => {
                (end.clone(), open.clone(), Some(*space))
            }
            _ => return refuse("has more than two marks between key and value", SHAPE),
        },
        _ => return refuse("has no mark after the key", SHAPE),
    };
    let (close, after) = match behind {
        [PatternPiece::Text(close)] => match close.strip_prefix('\n') {
            Some(close) => (close.to_owned(), Some(Space::Line)),
            None => (close.clone(), None),
        },
        [PatternPiece::Space(space), PatternPiece::Text(close)] => (close.clone(), Some(*space)),
        _ => return refuse("has no mark, or more than one, after the value", SHAPE),
    };
    let trim = match (before, after) {
        (None, None) => Trim::Nothing,
        (Some(Space::Line), Some(Space::Line)) => Trim::Newline,
        (Some(Space::Any), Some(Space::Any)) => Trim::Space,
        _ => {
            return refuse(
                "has different space before and after the value",
                "write `\\s*`, `\\n?` or nothing on both sides",
            );
        }
    };
    for (what, text) in
        [("before the key", open), ("after the key", &key_end), ("after the value", &close)]
    {
        if text.trim().is_empty() {
            return Err(TemplateError::new(path, format!("has no mark {what}"), SHAPE));
        }
    }
    check(&path, key, &key_end, "get_weather")?;
    check(&path, value, &close, "a b")?;
    Ok(Tag { open: open.clone(), key_end, value_open, close, trim })
}

const SHAPE: &str =
    "write it as `OPEN(?P<key>\\w+)END\\s*(?P<value>.*?)\\s*CLOSE`, with fixed texts as marks";

/// A mark whose last line break is not part of it, but of the value's space.
fn inner_line(mark: &str) -> (String, String, Option<Space>) {
    match mark.strip_suffix('\n') {
        Some(mark) => (mark.to_owned(), String::new(), Some(Space::Line)),
        None => (mark.to_owned(), String::new(), None),
    }
}

/// A group may hold what it is for, and ends before the mark after it.
fn check(path: &str, group: &Group, mark: &str, example: &str) -> Read<()> {
    if group.holds(example) && group.ends_before(mark) {
        return Ok(());
    }
    Err(TemplateError::new(
        path,
        format!("has a group `{}` that is not all up to {mark:?}", group.name),
        "match keys as `\\w+` or all but the mark's first character, and values as `.*?`",
    ))
}
