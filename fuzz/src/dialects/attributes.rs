//! The attributes of a tag.

use super::cursor::{Cursor, No, Read};

/// The value of an attribute in a row of `key="value"`, each after a space; without entities.
///
/// # Errors
/// The row holds something else.
pub fn attribute(tag: &[u8], key: &str) -> Read<Option<Vec<u8>>> {
    let mut cursor = Cursor { text: tag, at: 0 };
    let mut found = None;
    loop {
        cursor.skip_space();
        if cursor.rest().is_empty() {
            return Ok(found);
        }
        let name = cursor.until("=\"")?;
        let value = cursor.until("\"")?;
        let is_plain = !name.is_empty() && name.iter().all(u8::is_ascii_alphanumeric);
        if !is_plain || value.contains(&b'&') || (name == key.as_bytes() && found.is_some()) {
            return Err(No::Certainty);
        }
        if name == key.as_bytes() {
            found = Some(value.to_vec());
        }
    }
}
