//! Calls and arguments as XML elements.

use crate::json::Layout;
use cogency_rs::dialect::Xml;
use cogency_rs::protocol::Call;

use super::cursor::{Cursor, No, Read, trimmed};
use super::values::{array, call_with, object, scalar, string, units};
use crate::json::{Units, Value, dumps};
use crate::text::is_blank;

/// The inside of an element.
struct Content {
    /// The text, entities replaced; empty if there are elements.
    text: Vec<u8>,
    has_cdata: bool,
    elements: Vec<(Vec<u8>, Content)>,
}

/// The elements of a call, each at most once, the arguments among them.
///
/// # Errors
/// These are not the elements of a call.
pub fn call(form: &Xml, cursor: &mut Cursor<'_>) -> Read<Call> {
    let parts = form.parts.as_ref().ok_or(No::Certainty)?;
    let mut found: Vec<(Vec<u8>, Content)> = Vec::new();
    loop {
        cursor.skip_space();
        let mut next = cursor.clone();
        let Some(name) = opening(form, &mut next)? else { break };
        let is_part =
            [&parts.server, &parts.name, &parts.args].iter().any(|part| part.as_bytes() == name);
        if !is_part || found.iter().any(|(known, _)| known == name) {
            return Err(if found.is_empty() { No::Call } else { No::Certainty });
        }
        let inside = content(form, name, &mut next)?;
        *cursor = next;
        found.push((name.to_vec(), inside));
    }
    let part =
        |name: &str| found.iter().find(|(known, _)| known == name.as_bytes()).map(|(_, part)| part);
    let args = part(&parts.args).ok_or(No::Certainty)?;
    if args.has_cdata || !is_blank(&args.text) {
        return Err(No::Call);
    }
    let name = part(&parts.name).ok_or(No::Call)?;
    if !name.elements.is_empty() {
        return Err(No::Certainty);
    }
    let call = call_with(&name.text, &of_elements(form, args)?)?;
    Ok(match part(&parts.server) {
        Some(server) if server.elements.is_empty() => {
            call.with_server(dumps(&string(trimmed(&server.text)), Layout::Compact))
        }
        Some(_) => return Err(No::Certainty),
        None => call,
    })
}

/// The elements that begin here, up to a closing tag of an element outside.
///
/// # Errors
/// These are not elements.
pub fn arguments(form: &Xml, cursor: &mut Cursor<'_>) -> Read<Value> {
    let mut elements = Vec::new();
    loop {
        cursor.skip_space();
        if cursor.is_at(&format!("{}</", form.prefix))? {
            break;
        }
        let Some(name) = opening(form, cursor)? else { return Err(No::Certainty) };
        elements.push((name.to_vec(), content(form, name, cursor)?));
    }
    of_elements(form, &Content { text: Vec::new(), has_cdata: false, elements })
}

/// The name of the opening tag here; `None` for anything else.
fn opening<'t>(form: &Xml, cursor: &mut Cursor<'t>) -> Read<Option<&'t [u8]>> {
    if !cursor.take(&format!("{}<", form.prefix))? {
        return Ok(None);
    }
    if cursor.peek()? == b'/' {
        return Ok(None);
    }
    let name = cursor.until(">")?;
    let is_name = name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte));
    if is_name { Ok(Some(name)) } else { Err(No::Certainty) }
}

/// The inside of the element of this name, up to its closing tag.
fn content(form: &Xml, name: &[u8], cursor: &mut Cursor<'_>) -> Read<Content> {
    let mut content = Content { text: Vec::new(), has_cdata: false, elements: Vec::new() };
    let close = format!("{}</{}>", form.prefix, String::from_utf8_lossy(name));
    loop {
        if cursor.take(&close)? {
            break;
        }
        if form.entities && cursor.take("<![CDATA[")? {
            content.has_cdata = true;
            content.text.extend_from_slice(cursor.until("]]>")?);
            continue;
        }
        if cursor.is_at(&format!("{}<", form.prefix))? {
            let Some(name) = opening(form, cursor)? else { return Err(No::Certainty) };
            let inside = self::content(form, name, cursor)?;
            content.elements.push((name.to_vec(), inside));
            continue;
        }
        if form.entities && cursor.peek()? == b'&' {
            content.text.push(entity(cursor)?);
            continue;
        }
        content.text.push(cursor.peek()?);
        cursor.at += 1;
    }
    // Text next to elements, and such a section, may mean anything.
    if !content.elements.is_empty() && (content.has_cdata || !is_blank(&content.text)) {
        return Err(No::Certainty);
    }
    Ok(content)
}

/// The character that the entity here stands for; a bare `&` is one.
fn entity(cursor: &mut Cursor<'_>) -> Read<u8> {
    for (entity, character) in
        [("&amp;", b'&'), ("&lt;", b'<'), ("&gt;", b'>'), ("&quot;", b'"'), ("&apos;", b'\'')]
    {
        if cursor.take(entity)? {
            return Ok(character);
        }
    }
    cursor.at += 1;
    // An entity with a number may be any character.
    if cursor.peek()? == b'#' { Err(No::Certainty) } else { Ok(b'&') }
}

fn of_elements(form: &Xml, content: &Content) -> Read<Value> {
    let mut entries: Vec<(Units, Vec<Value>)> = Vec::new();
    for (name, inside) in &content.elements {
        let (name, value) = (units(name), value(form, inside)?);
        match entries.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => entries.push((name, vec![value])),
        }
    }
    let one = |(name, mut values): (Units, Vec<Value>)| match values.len() {
        1 => (name, values.remove(0)),
        _ => (name, array(values)),
    };
    Ok(object(entries.into_iter().map(one).collect()))
}

fn value(form: &Xml, content: &Content) -> Read<Value> {
    if !content.elements.is_empty() {
        let is_item = |name: &[u8]| name == b"item" && !form.prefix.is_empty();
        if content.elements.iter().all(|(name, _)| is_item(name)) {
            let values = content.elements.iter().map(|(_, inside)| value(form, inside));
            return Ok(array(values.collect::<Read<_>>()?));
        }
        // An array in which not every element is an item.
        if is_item(&content.elements[0].0) {
            return Err(No::Certainty);
        }
        return of_elements(form, content);
    }
    let is_plain = content.has_cdata;
    let typed = scalar(trimmed(&content.text)).filter(|_| !is_plain);
    Ok(typed.unwrap_or_else(|| string(&content.text)))
}
