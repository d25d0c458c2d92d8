//! Names and keys that every reader takes for just that.

/// The most bytes of a name or key without quotes that every reader takes.
pub const LONGEST: usize = 255;

/// Whether every reader takes this for a name or a key, whatever is around it. Most names are like this.
pub fn is_plain(name: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_part = |byte: &u8| is_word(byte) || b"-.".contains(byte);
    let ends = [name.first(), name.last()];
    name.len() <= LONGEST
        && ends.iter().all(|byte| byte.is_some_and(is_word))
        && name.iter().all(is_part)
}
