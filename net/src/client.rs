//! The connections to a service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONNECTION, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Proxy, Response, StatusCode, Url};
use thiserror::Error;
use tokio::task::spawn_blocking;

use super::certificates::{self, Trust};
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
    client: reqwest::Client,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    trust: Trust,
    has_proxy: bool,
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
            let (builder, trust) = builder(&self.settings)?;
            let client = builder.build().map_err(|error| NotMade::Other(words(error)))?;
            let connect_timeout = self.settings.connect_timeout;
            let has_proxy = match &self.settings.proxy {
                Some(address) => !address.is_empty(),
                None => PROXIES.iter().any(|name| std::env::var_os(name).is_some()),
            };
            Ok(Arc::new(Connections { client, connect_timeout, trust, has_proxy }))
        };
        self.connections.get_or_make(made).map(Arc::clone)
    }
}

impl Connections {
    /// Sends a request, once. A kept connection that was found closed before anything of the request was written to it is
    /// replaced by a new one; where anything was written, the server may have read it and have begun, so the request fails.
    ///
    /// Without TLS no connection is kept. The servers of that kind are near, so that a new one costs little, and some are small:
    /// llama.cpp's closes those that it keeps whenever others wait, and a request that met that moment would fail.
    ///
    /// The thread that reads the answers of all requests reads no certificates: their files may be many, far away, or a pipe.
    pub async fn execute(&self, mut request: reqwest::Request) -> reqwest::Result<Response> {
        if request.url().scheme() == "http" {
            request.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if (request.url().scheme() == "https" || self.has_proxy) && !self.trust.is_read() {
            let trust = self.trust.clone();
            let _ = spawn_blocking(move || trust.read()).await;
        }
        self.client.execute(request).await
    }
}

/// How long a connection is kept without a request.
const LONGEST_IDLE: Duration = Duration::from_secs(4);

/// The variables that name a proxy, which may be reached over TLS itself.
const PROXIES: [&str; 6] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

fn builder(settings: &Settings) -> Result<(reqwest::ClientBuilder, Trust), NotMade> {
    let (tls, trust) = certificates::configuration(settings.certificates.as_deref())
        .map_err(|error| NotMade::Certificates(error.to_string()))?;
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        // One connection of HTTP/2 would be one queue for all streams.
        .http1_only()
        .redirect(Policy::custom(redirected))
        .referer(false)
        .connect_timeout(settings.connect_timeout)
        // Servers close what they keep after 5 seconds or more. A request that meets that moment would fail, since it is sent once.
        .pool_idle_timeout(LONGEST_IDLE)
        .user_agent(&settings.user_agent);
    let builder = match &settings.proxy {
        None => builder,
        Some(address) if address.is_empty() => builder.no_proxy(),
        Some(address) => {
            let proxy = Proxy::all(address).map_err(|error| NotMade::Proxy(words(error)))?;
            builder.proxy(proxy)
        }
    };
    Ok((builder, trust))
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
