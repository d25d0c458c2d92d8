//! The connections to a service.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Proxy, Response, StatusCode, Url};
use thiserror::Error;
use tower::util::MapRequestLayer;

use super::certificates;
use super::per_process::PerProcess;

/// How connections are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// The address of a proxy; by default the environment's, and no proxy if it is empty.
    pub proxy: Option<String>,
    /// A PEM file of the certificates to trust; by default those that this machine trusts.
    pub certificates: Option<PathBuf>,
    /// What the program calls itself.
    pub user_agent: String,
}

/// Why no connection can be made with these settings.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum NotMade {
    /// The file of certificates cannot be used.
    #[error("{0}")]
    Certificates(String),
    /// The address of the proxy is invalid.
    #[error("{0}")]
    Proxy(String),
    /// The library refuses.
    #[error("{0}")]
    Other(String),
}

/// The connections to a service, which one request leaves for the next; each process has its own.
pub struct Client {
    settings: Settings,
    connections: PerProcess<Arc<Connections>>,
}

/// The connections of one process.
pub(super) struct Connections {
    kept: reqwest::Client,
    /// Makes a connection for each request.
    new: reqwest::Client,
    /// How long connecting may take.
    pub connect_timeout: Duration,
}

/// How many times the same server may point elsewhere.
const REDIRECTS: usize = 5;

impl Client {
    /// A client with these settings.
    ///
    /// # Errors
    /// No connection can be made with them.
    pub fn new(settings: Settings) -> Result<Self, NotMade> {
        let client = Self { settings, connections: PerProcess::new() };
        client.of_this_process()?;
        Ok(client)
    }

    pub(super) fn of_this_process(&self) -> Result<Arc<Connections>, NotMade> {
        let made = || {
            let kept = builder(&self.settings)?.build();
            let new = builder(&self.settings)?.pool_max_idle_per_host(0).build();
            let unmade = |error| NotMade::Other(words(error));
            let (kept, new) = (kept.map_err(unmade)?, new.map_err(unmade)?);
            let connect_timeout = self.settings.connect_timeout;
            Ok(Arc::new(Connections { kept, new, connect_timeout }))
        };
        self.connections.get_or_make(made).map(Arc::clone)
    }
}

impl Connections {
    /// Sends a request. A server may close a connection that an earlier request has left at the moment in which this one is sent:
    /// then it is sent once more, over a new one. A request that was sent over a new one is not: the server may have begun with it.
    pub async fn execute(&self, request: reqwest::Request) -> reqwest::Result<Response> {
        let again = request.try_clone();
        let sending = async { (self.kept.execute(request).await, CONNECTS.with(Cell::get)) };
        match (CONNECTS.scope(Cell::new(false), sending).await, again) {
            ((Err(error), false), Some(again)) if is_closed(&error) => {
                self.new.execute(again).await
            }
            ((sent, _), _) => sent,
        }
    }
}

tokio::task_local! {
    /// Whether a connection was begun for the request that this task sends.
    static CONNECTS: Cell<bool>;
}

/// Notes that a connection is begun, on its way to what begins it.
fn connects<T>(to: T) -> T {
    let _ = CONNECTS.try_with(|connects| connects.set(true));
    to
}

/// Whether a connection was closed before a byte of an answer.
fn is_closed(error: &reqwest::Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return true;
        }
        next = error.source();
    }
    false
}

fn builder(settings: &Settings) -> Result<reqwest::ClientBuilder, NotMade> {
    let tls = certificates::configuration(settings.certificates.as_deref())
        .map_err(|error| NotMade::Certificates(error.to_string()))?;
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // One connection of HTTP/2 would be one queue for all streams.
        .http1_only()
        .redirect(Policy::custom(redirected))
        .referer(false)
        .connect_timeout(settings.connect_timeout)
        .connector_layer(MapRequestLayer::new(connects))
        .user_agent(&settings.user_agent);
    Ok(match &settings.proxy {
        None => builder,
        Some(address) if address.is_empty() => builder.no_proxy(),
        Some(address) => {
            let proxy = Proxy::all(address).map_err(|error| NotMade::Proxy(words(error)))?;
            builder.proxy(proxy)
        }
    })
}

fn words(error: reqwest::Error) -> String {
    error.without_url().to_string()
}

/// A request has a key in it, so it goes to no other server; and it stays what it is.
fn redirected(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps = [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT];
    let place = |url: &Url| {
        (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
    };
    let is_same = attempt.previous().last().is_some_and(|from| place(from) == place(attempt.url()));
    if is_same && keeps.contains(&attempt.status()) && attempt.previous().len() <= REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
