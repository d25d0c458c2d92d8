//! The chat template in the head of a GGUF file. Only the head is read, and none of it is trusted: no length in it allocates more
//! memory than the text that it measures.

use std::io::{self, BufRead, Read};

/// The longest key, and the longest template.
const LONGEST: u64 = 1 << 20;
const MOST_KEYS: u64 = 100_000;

/// Bytes of the longest head: the texts of a million tokens, and as many merges of two, are less.
const LONGEST_HEAD: u64 = 256 << 20;

const TEMPLATE: &str = "tokenizer.chat_template";

/// The chat templates, each with its name; that of the default one is empty.
///
/// # Errors
/// It is not GGUF, it is cut, or it says something that cannot be.
pub fn read(file: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut head = Head { file, left: LONGEST_HEAD };
    if &head.bytes::<4>()? != b"GGUF" {
        return Err(wrong("it does not begin with GGUF"));
    }
    let version = u32::from_le_bytes(head.bytes()?);
    if !(2..=3).contains(&version) {
        return Err(wrong("it has a version that is not 2 or 3"));
    }
    let (_tensors, keys) = (head.number()?, head.number()?);
    if keys > MOST_KEYS {
        return Err(wrong("it has more keys than a model's file can have"));
    }
    let mut templates = Vec::new();
    for _ in 0..keys {
        let key = head.text(LONGEST)?;
        let kind = u32::from_le_bytes(head.bytes()?);
        match key.strip_prefix(TEMPLATE) {
            Some(name) if kind == STRING => {
                let name = name.trim_start_matches('.').to_owned();
                templates.push((name, head.text(LONGEST)?));
            }
            _ => head.skip(kind, 0)?,
        }
    }
    Ok(templates)
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

struct Head<'f, F> {
    file: &'f mut F,
    /// How much more may be read.
    left: u64,
}

impl<F: BufRead> Head<'_, F> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.spend(N as u64)?;
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn spend(&mut self, length: u64) -> io::Result<()> {
        let left = self.left.checked_sub(length);
        self.left =
            left.ok_or_else(|| wrong("it has a longer head than a model's file can have"))?;
        Ok(())
    }

    fn number(&mut self) -> io::Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    fn text(&mut self, longest: u64) -> io::Result<String> {
        let length = self.number()?;
        if length > longest {
            return Err(wrong("it has a longer text than a model's file can have"));
        }
        self.spend(length)?;
        let mut bytes = Vec::new();
        if self.file.by_ref().take(length).read_to_end(&mut bytes)? as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Passes over a value of this kind.
    fn skip(&mut self, kind: u32, depth: u32) -> io::Result<()> {
        if let Some(size) = size_of(kind) {
            return self.pass(size);
        }
        match kind {
            STRING => {
                let length = self.number()?;
                self.pass(length)
            }
            ARRAY if depth < 4 => {
                let kind = u32::from_le_bytes(self.bytes()?);
                let items = self.number()?;
                match size_of(kind) {
                    Some(size) => self.pass(size.saturating_mul(items)),
                    None => (0..items).try_for_each(|_| self.skip(kind, depth + 1)),
                }
            }
            _ => Err(wrong("it has a value of a kind that GGUF does not have")),
        }
    }

    fn pass(&mut self, mut length: u64) -> io::Result<()> {
        self.spend(length)?;
        while length > 0 {
            let held = self.file.fill_buf()?.len() as u64;
            if held == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let taken = held.min(length);
            self.file.consume(usize::try_from(taken).unwrap_or(usize::MAX));
            length -= taken;
        }
        Ok(())
    }
}

/// Bytes of a value of this kind, if all have as many.
const fn size_of(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
