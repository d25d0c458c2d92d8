//! The bytes of a provider's stream: however they are cut, the deltas are the same, they end once, and they are those of the
//! reference.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::wire::{Api, Delta, Extras, Options, Reader, joined};
use cogency_rs_fuzz::wire;
use libfuzzer_sys::fuzz_target;

#[derive(Debug)]
struct Input {
    api: Api,
    sizes: [u8; 3],
    bytes: Vec<u8>,
}

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let [api, sizes @ ..] = <[u8; 4]>::arbitrary(input)?;
        let api = if api % 2 == 0 { Api::Completions } else { Api::Messages };
        Ok(Self { api, sizes, bytes: input.bytes(input.len())?.to_vec() })
    }
}

fn read<'a>(api: Api, options: &Options, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    let (mut reader, mut deltas) = (Reader::new(api, options.clone()), Vec::new());
    for chunk in chunks {
        reader.feed(chunk, &mut deltas);
    }
    reader.finish(&mut deltas);
    joined(deltas)
}

/// Chunks of these sizes, again and again; size 0 is one byte.
fn chunks<'a>(bytes: &'a [u8], sizes: [u8; 3]) -> Vec<&'a [u8]> {
    let (mut rest, mut chunks) = (bytes, Vec::new());
    for size in sizes.into_iter().cycle() {
        if rest.is_empty() {
            return chunks;
        }
        let (chunk, after) = rest.split_at(rest.len().min(usize::from(size.max(1))));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

fuzz_target!(|input: Input| {
    let Input { api, sizes, bytes } = input;
    for (extras, max_bytes) in [(Extras::Kept, 200), (Extras::Dropped, usize::MAX)] {
        let options = Options { extras, max_bytes, ..Options::default() };
        let whole = read(api, &options, [&bytes[..]]);
        assert_eq!(read(api, &options, bytes.chunks(1)), whole);
        assert_eq!(read(api, &options, chunks(&bytes, sizes)), whole);
        let is_end = |delta: &&Delta| matches!(delta, Delta::Finish(_) | Delta::Fault(_));
        assert_eq!(whole.iter().filter(is_end).count(), 1);
    }
    if let Some(expected) = wire::read(api, &bytes) {
        let options = Options { max_bytes: usize::MAX, ..Options::default() };
        assert_eq!(wire::comparable(read(api, &options, [&bytes[..]])), expected);
    }
});
