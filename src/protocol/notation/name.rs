//! Names and keys that no reader takes for anything else.

/// Whether a name or a key can be nothing else, whatever stands around it. Most are.
pub fn is_plain(name: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_part = |byte: &u8| is_word(byte) || b"-.".contains(byte);
    let ends = [name.first(), name.last()];
    name.len() < 256
        && ends.iter().all(|byte| byte.is_some_and(is_word))
        && name.iter().all(is_part)
}
