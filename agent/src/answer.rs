//! A model's answer over HTTP, as the output that a turn reads (feature `net`).

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use thiserror::Error;

use super::output::ModelOutput;
use cogency_net::{Arrived, Client, Elsewhere, End, Exchange, Failure, NotSent, Reading, Request};
use cogency_rs::protocol::Ending;
use cogency_rs::wire::{Delta, Fault, Finish, Secret, hidden};

/// A model's answer while it arrives.
///
/// It may be polled on any runtime. Dropping it closes its connection, unless the answer has ended.
pub struct Answer {
    exchange: Exchange,
    secrets: Vec<Secret>,
    status: u16,
    deltas: VecDeque<Delta>,
    end: Option<End>,
    /// The words with which the model refuses to answer.
    refusal: String,
    is_over: bool,
}

/// Why an answer is not complete.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The service answered with a status other than success, and with this body or its beginning.
    #[error("the service refused the request with the status {status}: {body}")]
    Refused {
        /// The status.
        status: u16,
        /// The body, without the secrets of the request's reader.
        body: String,
    },
    /// The answer cannot be read, or has an error of the service.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// There was no answer, or it broke off.
    #[error("incomplete answer: {0}")]
    Failed(#[from] Failure),
    /// The model called a tool in the form of the service's own API, which is not the text that a turn reads.
    #[error(
        "the model called a tool in the API's own form; a turn reads calls from text, so send no `tools` with the request"
    )]
    NativeCall,
    /// The answer belongs to another process.
    #[error(transparent)]
    Elsewhere(#[from] Elsewhere),
}

/// Sends a request whose answer is read as a model's; the request's `reading` names the API. The answer's text is the output for
/// [`take_turn`](super::take_turn).
///
/// # Errors
/// It cannot be sent at all. What goes wrong after that is an item of the stream.
pub fn ask(client: &Client, request: Request) -> Result<Answer, NotSent> {
    let secrets = match &request.reading {
        Reading::Answer(reader) => reader.secrets().to_vec(),
        _ => Vec::new(),
    };
    Ok(Answer {
        exchange: Exchange::awaited(client, request)?,
        secrets,
        status: 0,
        deltas: VecDeque::new(),
        end: None,
        refusal: String::new(),
        is_over: false,
    })
}

impl Answer {
    /// What a delta says to a turn; `None` if nothing.
    fn output_of(&mut self, delta: Delta) -> Option<Result<ModelOutput, AnswerError>> {
        Some(match delta {
            Delta::Text(text) => Ok(ModelOutput::Text(text)),
            Delta::Reasoning(text) => Ok(ModelOutput::Thought(text)),
            Delta::Refusal(words) => {
                self.refusal.push_str(&words);
                return None;
            }
            Delta::Finish(finish) => Ok(ModelOutput::Ended(self.ending_of(finish))),
            Delta::Fault(fault) => Err(fault.into()),
            Delta::Call(_) => Err(AnswerError::NativeCall),
            _ => return None,
        })
    }

    fn ending_of(&mut self, finish: Finish) -> Ending {
        let ending = finish.reason.as_deref().map_or(Ending::Stopped, Ending::of_reason);
        match (ending, finish.details) {
            _ if !self.refusal.is_empty() => Ending::Refused(std::mem::take(&mut self.refusal)),
            (Ending::Refused(_), Some(details)) => Ending::Refused(details),
            (ending, _) => ending,
        }
    }

    /// Why the answer failed; `None` if it ended with its last delta.
    fn error_of(&self, end: End) -> Option<AnswerError> {
        match end {
            End::Answered => None,
            End::Failed(failure) => Some(failure.into()),
            End::Body(body) => {
                let body = hidden(&String::from_utf8_lossy(&body), &self.secrets);
                Some(AnswerError::Refused { status: self.status, body })
            }
            // An end that only a later version of the network has: the answer did not succeed.
            _ => Some(AnswerError::Refused { status: self.status, body: String::new() }),
        }
    }
}

impl Stream for Answer {
    type Item = Result<ModelOutput, AnswerError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while !this.is_over {
            while let Some(delta) = this.deltas.pop_front() {
                if let Some(output) = this.output_of(delta) {
                    this.is_over =
                        !matches!(output, Ok(ModelOutput::Text(_) | ModelOutput::Thought(_)));
                    return Poll::Ready(Some(output));
                }
            }
            if let Some(end) = this.end.take() {
                this.is_over = true;
                return Poll::Ready(this.error_of(end).map(Err));
            }
            match ready!(this.exchange.poll_take(context)) {
                Ok(Arrived { head, deltas, end }) => {
                    this.status = head.map_or(this.status, |head| head.status);
                    this.deltas.extend(deltas);
                    this.end = end;
                }
                Err(elsewhere) => {
                    this.is_over = true;
                    return Poll::Ready(Some(Err(elsewhere.into())));
                }
            }
        }
        Poll::Ready(None)
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}
