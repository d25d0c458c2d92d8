//! One request, and what becomes of it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};
use thiserror::Error;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::{Instant, timeout, timeout_at};

use super::channel::{Arrived, Channel, End, Head, Watch};
use super::client::{Client, Connections, NotMade};
use super::failure::{Failure, FailureKind};
use super::runtime;
use super::wake::Inbox;
use cogency_rs::wire::{Delta, FaultKind, Reader};

/// A request.
#[derive(Debug)]
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How long it may take.
    pub timeouts: Timeouts,
    /// How to read an answer with a success status. The body of any other comes as it is.
    pub reading: Reading,
    /// When the inbox is notified of deltas.
    pub watch: Watch,
}

/// How long a request may take; for ever if not given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// How long nothing may come.
    pub read: Option<Duration>,
    /// How long the whole answer may take.
    pub total: Option<Duration>,
}

/// How an answer is read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reading {
    /// As the deltas of a model.
    Answer(Box<Reader>),
    /// As it is.
    Body,
}

/// Why a request was not sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotSent {
    /// The address is invalid.
    #[error("the address is invalid ({0})")]
    Url(String),
    /// A header has characters that none may have.
    #[error("the header {0} has characters that a header cannot have")]
    Header(String),
    /// No connection can be made.
    #[error(transparent)]
    Client(#[from] NotMade),
    /// The system has no thread left.
    #[error("the system has no thread for the network ({0})")]
    Thread(#[from] std::io::Error),
}

/// An exchange of another process was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this answer belongs to the process {owner}, which asked for it; after a fork, ask again")]
pub struct Elsewhere {
    owner: u32,
}

/// A request that was sent. Where it is dropped before its end, its connection is closed.
pub struct Exchange {
    process: u32,
    /// Not dropped in a process that it does not belong to, whose system calls would reach the sockets of its parent.
    live: Option<Live>,
}

struct Live {
    channel: Arc<Channel>,
    task: AbortHandle,
}

/// The most bytes of the body of an answer that is not read as deltas.
const MAX_BODY: usize = 4 << 20;

/// How long the end of an answered body is waited for, so that its connection can serve again.
const DRAINING: Duration = Duration::from_secs(1);

/// The most bytes that are read before others have their turn, since to decompress and to decode never waits; and the most that
/// are read after an answer, so that its connection can serve again.
const TURN: usize = 64 << 10;

impl Exchange {
    /// Sends a request; `inbox` is notified of what comes.
    ///
    /// # Errors
    /// It cannot be sent at all.
    pub fn new(client: &Client, request: Request, inbox: Arc<Inbox>) -> Result<Self, NotSent> {
        Self::sent(client, request, Some(inbox))
    }

    /// Sends a request; what comes is awaited with [`poll_take`](Self::poll_take), on any runtime.
    ///
    /// # Errors
    /// It cannot be sent at all.
    pub fn awaited(client: &Client, request: Request) -> Result<Self, NotSent> {
        Self::sent(client, request, None)
    }

    fn sent(client: &Client, request: Request, inbox: Option<Arc<Inbox>>) -> Result<Self, NotSent> {
        let runtime = runtime::handle()?;
        let connections = client.of_this_process()?;
        let Request { method, url, headers, body, timeouts, reading, watch } = request;
        let url = Url::parse(&url).map_err(|error| NotSent::Url(error.to_string()))?;
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|error| NotSent::Url(error.to_string()))?;
        let mut built = reqwest::Request::new(method, url);
        *built.headers_mut() = headers_of(headers)?;
        *built.body_mut() = (!body.is_empty()).then(|| body.into());
        let channel = Arc::new(Channel::new(inbox, watch));
        let task = Task { channel: Arc::clone(&channel), timeouts, turn: 0 };
        let task = runtime.spawn(task.run(connections, built, reading)).abort_handle();
        Ok(Self { process: std::process::id(), live: Some(Live { channel, task }) })
    }

    /// What the inbox calls this exchange.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.live.as_ref().map_or(0, |live| live.channel.number)
    }

    /// What has come; `None` if nothing has: then the inbox is notified when something does.
    ///
    /// # Errors
    /// It belongs to another process.
    pub fn take(&self) -> Result<Option<Arrived>, Elsewhere> {
        match &self.live {
            Some(live) if self.process == std::process::id() => Ok(live.channel.take()),
            _ => Err(Elsewhere { owner: self.process }),
        }
    }

    /// What has come; where nothing has, the task is woken when something does. Only the last task that asked is.
    ///
    /// # Errors
    /// It belongs to another process.
    pub fn poll_take(&self, context: &Context<'_>) -> Poll<Result<Arrived, Elsewhere>> {
        match &self.live {
            Some(live) if self.process == std::process::id() => {
                live.channel.poll_take(context).map(Ok)
            }
            _ => Poll::Ready(Err(Elsewhere { owner: self.process })),
        }
    }

    /// Closes the connection, unless the answer has ended: then it can be used again. In another process nothing happens.
    pub fn close(&self) {
        if let Some(live) = &self.live
            && self.process == std::process::id()
            && !live.channel.is_over()
        {
            live.task.abort();
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.close();
        if self.process != std::process::id() {
            std::mem::forget(self.live.take());
        }
    }
}

fn headers_of(headers: Vec<(String, String)>) -> Result<HeaderMap, NotSent> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let bad = || NotSent::Header(name.escape_debug().to_string());
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad())?;
        value.set_sensitive(true);
        map.append(key, value);
    }
    Ok(map)
}

/// What runs on Tokio for one exchange.
struct Task {
    channel: Arc<Channel>,
    timeouts: Timeouts,
    /// How much was read since others had their turn.
    turn: usize,
}

impl Task {
    async fn run(mut self, to: Arc<Connections>, request: reqwest::Request, reading: Reading) {
        let end = Instant::now().checked_add(self.timeouts.total.unwrap_or(Duration::MAX));
        let first = self.timeouts.read.map(|read| read.saturating_add(to.connect_timeout));
        // Boxed, so that its state, which is most of this task's, is freed once the answer has begun.
        let sent = before(first, end, Box::pin(to.execute(request))).await;
        let mut response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return self.end(End::Failed(Failure::of(&error))),
            Err(slow) => return self.end(End::Failed(slow)),
        };
        let is_well = response.status().is_success();
        self.channel.put_head(head_of(&response));
        // They hold the buffer that they were read into.
        drop(std::mem::take(response.headers_mut()));
        match reading {
            Reading::Answer(reader) if is_well => self.answer(&mut response, reader, end).await,
            Reading::Body if is_well => {
                let (body, failure) = self.body(&mut response, end).await;
                self.end(failure.map_or(End::Body(body), End::Failed));
            }
            // The words of an error may take as long, in all, as it may take until anything comes; and they count, whether all of
            // them came or not.
            _ => {
                let error = self.timeouts.read.and_then(|read| Instant::now().checked_add(read));
                let end = [end, error].into_iter().flatten().min();
                let (body, _) = self.body(&mut response, end).await;
                self.end(End::Body(body));
            }
        }
    }

    /// The next bytes; `None` at their end.
    async fn bytes(
        &mut self,
        response: &mut Response,
        end: Option<Instant>,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, Failure> {
        if self.turn >= TURN {
            self.turn = 0;
            yield_now().await;
        }
        match before(self.timeouts.read, end, response.chunk()).await? {
            Ok(bytes) => {
                if let Some(bytes) = &bytes {
                    self.turn += bytes.len();
                }
                Ok(bytes)
            }
            Err(error) => {
                let failure = Failure::of(&error);
                Err(Failure { kind: FailureKind::Broken, ..failure })
            }
        }
    }

    async fn answer(
        &mut self,
        response: &mut Response,
        mut reader: Box<Reader>,
        end: Option<Instant>,
    ) {
        let mut deltas: Vec<Delta> = Vec::new();
        let failure = loop {
            match self.bytes(response, end).await {
                Ok(Some(bytes)) => reader.feed(bytes.as_ref(), &mut deltas),
                Ok(None) => {
                    reader.finish(&mut deltas);
                    break None;
                }
                Err(failure) => {
                    reader.break_off(&failure.words, &mut deltas);
                    let is_broken = |delta: &Delta| matches!(delta, Delta::Fault(fault) if fault.kind == FaultKind::BrokenOff);
                    break deltas.iter().any(is_broken).then_some(failure);
                }
            }
            if reader.is_done() {
                break None;
            }
            self.channel.put_deltas(&mut deltas);
            self.channel.room().await;
        };
        // What comes after an answer is read, so that its connection can be used again; but a server may keep it open. What has
        // come already is read first: then the next request has the connection.
        let mut rest = pin!(async {
            let mut length = 0;
            while length < TURN
                && let Ok(Some(bytes)) = response.chunk().await
            {
                length += bytes.len();
            }
        });
        let is_read = poll_fn(|context| Poll::Ready(rest.as_mut().poll(context).is_ready())).await;
        self.channel.put_end(&mut deltas, failure.map_or(End::Answered, End::Failed));
        if !is_read {
            let _ = timeout(DRAINING, rest).await;
        }
    }

    /// The body, or what came of it and why that is not all.
    async fn body(
        &mut self,
        response: &mut Response,
        end: Option<Instant>,
    ) -> (Vec<u8>, Option<Failure>) {
        let mut body = Vec::new();
        loop {
            let bytes = match self.bytes(response, end).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return (body, None),
                Err(failure) => return (body, Some(failure)),
            };
            let (left, bytes) = (MAX_BODY - body.len(), bytes.as_ref());
            body.extend_from_slice(&bytes[..bytes.len().min(left)]);
            if bytes.len() > left {
                let words = format!("the answer is longer than {} MiB", MAX_BODY >> 20);
                return (body, Some(Failure { kind: FailureKind::Broken, words }));
            }
        }
    }

    fn end(&self, end: End) {
        self.channel.put_end(&mut Vec::new(), end);
    }
}

/// What comes of a step that waits for the server: for so long, and not beyond the end.
async fn before<T>(
    most: Option<Duration>,
    end: Option<Instant>,
    step: impl Future<Output = T>,
) -> Result<T, Failure> {
    let now = Instant::now();
    if end.is_some_and(|end| end <= now) {
        return Err(Failure::slow(FailureKind::SlowInAll)); // a step that never waits does not see it
    }
    let most = now.checked_add(most.unwrap_or(Duration::MAX));
    let Some(next) = [most, end].into_iter().flatten().min() else { return Ok(step.await) };
    timeout_at(next, step).await.map_err(|_| {
        Failure::slow(if Some(next) == end {
            FailureKind::SlowInAll
        } else {
            FailureKind::SlowToAnswer
        })
    })
}

impl Drop for Task {
    /// A task that ends without an end has failed in itself: nobody may wait for it for ever.
    fn drop(&mut self) {
        if !self.channel.is_over() {
            let words = "the network failed within; please report it".into();
            self.end(End::Failed(Failure { kind: FailureKind::Broken, words }));
        }
    }
}

fn head_of(response: &Response) -> Head {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = response.headers().iter();
    Head {
        status: response.status().as_u16(),
        headers: headers.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
    }
}
