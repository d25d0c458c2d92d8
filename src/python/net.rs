//! `HttpClient`, `Inbox` and `Exchange`: requests to providers, whose answers come as the deltas of Python.

use std::sync::Arc;
use std::time::Duration;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::wire::{deltas_of, reader_of};
use cogency_net::{
    Arrived, Client, End, FailureKind, NotSent, Reading, Request, Settings, Socket, Timeouts, Watch,
};

/// The connections to a service.
#[pyclass(module = "cogency_rs._core", frozen)]
pub struct HttpClient {
    client: Client,
}

#[pymethods]
impl HttpClient {
    #[new]
    #[pyo3(signature = (*, user_agent, connect_timeout, proxy=None, certificates=None))]
    fn new(
        user_agent: String,
        connect_timeout: f64,
        proxy: Option<String>,
        certificates: Option<std::path::PathBuf>,
    ) -> PyResult<Self> {
        let connect_timeout = duration(connect_timeout)?;
        let settings = Settings { connect_timeout, proxy, certificates, user_agent };
        let client = Client::new(settings)
            .map_err(|error| PyValueError::new_err((kind_of_unmade(&error), error.to_string())))?;
        Ok(Self { client })
    }

    /// Sends a request. `answer` says how the deltas of an answer are read: its API, the secrets, the most bytes of a line.
    #[pyo3(signature = (inbox, method, url, headers, body, *, read_timeout=None, total_timeout=None, api=None, secrets=Vec::new(), extras=false, until=None))]
    #[pyo3(
        text_signature = "($self, inbox, method, url, headers, body, *, read_timeout=None, total_timeout=None, api=None, secrets=(), extras=False, until=None)"
    )]
    #[allow(clippy::too_many_arguments, reason = "each has its name in Python")]
    fn send(
        &self,
        inbox: &Inbox,
        method: String,
        url: String,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
        read_timeout: Option<f64>,
        total_timeout: Option<f64>,
        api: Option<&str>,
        secrets: Vec<(String, String)>,
        extras: bool,
        until: Option<Vec<String>>,
    ) -> PyResult<Exchange> {
        let timeouts = Timeouts {
            read: read_timeout.map(duration).transpose()?,
            total: total_timeout.map(duration).transpose()?,
        };
        let reading = match api {
            Some(api) => Reading::Answer(Box::new(reader_of(api, secrets, None, extras)?)),
            None => Reading::Body,
        };
        let watch = until.map_or(Watch::Each, Watch::From);
        let request = Request { method, url, headers, body, timeouts, reading, watch };
        let inbox = Arc::clone(&inbox.inbox);
        let exchange = cogency_net::Exchange::new(&self.client, request, inbox).map_err(
            |error| match error {
                NotSent::Thread(error) => PyOSError::new_err(error.to_string()),
                error => PyValueError::new_err(error.to_string()),
            },
        )?;
        Ok(Exchange { exchange })
    }
}

/// Which argument is wrong.
fn kind_of_unmade(error: &cogency_net::NotMade) -> &'static str {
    match error {
        cogency_net::NotMade::Certificates(_) => "verify",
        cogency_net::NotMade::Proxy(_) => "proxy",
        cogency_net::NotMade::Other(_) => "settings",
        _ => unreachable!("the network has no other"),
    }
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{seconds} is not a number of seconds")))
}

/// What one event loop has to look at.
#[pyclass(module = "cogency_rs._core", frozen)]
pub struct Inbox {
    inbox: Arc<cogency_net::Inbox>,
    /// The number of the socket that a byte comes from when there is something to take.
    #[pyo3(get)]
    socket: Socket,
}

#[pymethods]
impl Inbox {
    #[new]
    fn new() -> PyResult<Self> {
        let (inbox, socket) = cogency_net::Inbox::new()?;
        Ok(Self { inbox: Arc::new(inbox), socket })
    }

    fn take(&self) -> Vec<u64> {
        self.inbox.take()
    }
}

/// A request that was sent.
#[pyclass(module = "cogency_rs._core", frozen)]
pub struct Exchange {
    exchange: cogency_net::Exchange,
}

#[pymethods]
impl Exchange {
    #[getter]
    fn number(&self) -> u64 {
        self.exchange.number()
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let arrived = self
            .exchange
            .take()
            .map_err(|elsewhere| PyRuntimeError::new_err(elsewhere.to_string()))?;
        arrived.map(|arrived| tuple_of(py, arrived)).transpose()
    }

    fn close(&self) {
        self.exchange.close();
    }
}

/// The head or `None`, the deltas, and the end or `None`.
fn tuple_of(py: Python<'_>, arrived: Arrived) -> PyResult<Bound<'_, PyTuple>> {
    let head = arrived.head.map(|head| (head.status, head.headers));
    let deltas = deltas_of(py, arrived.deltas)?;
    let end = match arrived.end {
        None => None,
        Some(End::Answered) => Some(("answered",).into_bound_py_any(py)?),
        Some(End::Body(body)) => Some(("body", PyBytes::new(py, &body)).into_bound_py_any(py)?),
        Some(End::Failed(failure)) => {
            let kind = kind_of(failure.kind);
            Some(("failed", kind, failure.words).into_bound_py_any(py)?)
        }
        Some(_) => unreachable!("the network has no other"),
    };
    (head, deltas, end).into_pyobject(py)
}

fn kind_of(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Unreachable => "unreachable",
        FailureKind::Certificate => "certificate",
        FailureKind::Proxy => "proxy",
        FailureKind::SlowToConnect => "slow_to_connect",
        FailureKind::SlowToAnswer => "slow_to_answer",
        FailureKind::SlowInAll => "slow_in_all",
        FailureKind::Broken => "broken",
        _ => unreachable!("the network has no other"),
    }
}
