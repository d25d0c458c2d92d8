//! A model's output as it arrives.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use cogency_rs::protocol::Ending;

/// The next of a model's output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelOutput {
    /// More text.
    Text(String),
    /// More reasoning, which came apart from the text.
    Thought(String),
    /// The output has ended in this way; nothing after it is read.
    Ended(Ending),
}

/// The chunks of a text that is already complete; see [`chunks`].
#[derive(Debug)]
pub struct Chunks<I> {
    left: I,
}

/// A text that is already complete, as a model's output. How it ended is not known.
pub fn chunks<C: Into<String>, I: IntoIterator<Item = C>>(chunks: I) -> Chunks<I::IntoIter>
where
    I::IntoIter: Unpin,
{
    Chunks { left: chunks.into_iter() }
}

impl<C: Into<String>, I: Iterator<Item = C> + Unpin> Stream for Chunks<I> {
    type Item = Result<ModelOutput, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.left.next().map(|chunk| Ok(ModelOutput::Text(chunk.into()))))
    }
}
