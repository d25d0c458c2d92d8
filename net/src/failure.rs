//! Failures: no answer, or only a part of one.

use std::error::Error;

use thiserror::Error;

/// A request got no answer, or only a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{words}")]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// What the system, the proxy or the library said, without the address.
    pub words: String,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// No connection: the name is unknown, or nothing listens there.
    Unreachable,
    /// The server's certificate is not trusted, or the machine trusts none at all.
    Certificate,
    /// The proxy refused.
    Proxy,
    /// There was no connection in time.
    SlowToConnect,
    /// Nothing came for too long.
    SlowToAnswer,
    /// The whole answer took too long.
    SlowInAll,
    /// The connection broke off.
    Broken,
}

impl Failure {
    pub(super) fn slow(kind: FailureKind) -> Self {
        let words = match kind {
            FailureKind::SlowToConnect => "no connection in time",
            FailureKind::SlowInAll => "the whole answer took too long",
            _ => "nothing came for too long",
        };
        Self { kind, words: words.into() }
    }

    /// What went wrong before an answer began, or in it.
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            let is_connect = error.is_connect();
            return Self::slow(if is_connect {
                FailureKind::SlowToConnect
            } else {
                FailureKind::SlowToAnswer
            });
        }
        let chain = chain(error);
        let has = |text: &str| chain.iter().any(|words| words.contains(text));
        let kind = if has("certificate") {
            FailureKind::Certificate
        } else if has("tunnel") || has("proxy") || has("SOCKS") {
            FailureKind::Proxy
        } else if error.is_connect() {
            FailureKind::Unreachable
        } else {
            FailureKind::Broken
        };
        Self { kind, words: chain.last().cloned().unwrap_or_default() }
    }
}

/// What an error says, and each that it came from. The first may have the address in it.
fn chain(error: &reqwest::Error) -> Vec<String> {
    let mut words = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        words.push(error.to_string());
        next = error.source();
    }
    words
}
