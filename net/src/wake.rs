//! How an event loop learns that there is something to take.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

#[cfg(unix)]
mod socket {
    use std::io;
    use std::os::fd::IntoRawFd;
    use std::os::unix::net::UnixStream as Stream;

    /// The number of a socket, as Python has it.
    pub type Socket = std::os::fd::RawFd;

    pub type Writer = Stream;

    pub fn pair() -> io::Result<(Writer, Socket)> {
        let (writer, reader) = Stream::pair()?;
        Ok((writer, reader.into_raw_fd()))
    }
}

#[cfg(windows)]
mod socket {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::windows::io::IntoRawSocket;

    /// The number of a socket, as Python has it.
    pub type Socket = std::os::windows::io::RawSocket;

    pub type Writer = TcpStream;

    /// Windows has no pairs of sockets: two ends of a connection to this machine are one.
    pub fn pair() -> io::Result<(Writer, Socket)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let writer = TcpStream::connect(listener.local_addr()?)?;
        loop {
            let (reader, from) = listener.accept()?;
            // Another program may have connected first.
            if from == writer.local_addr()? {
                writer.set_nodelay(true)?;
                return Ok((writer, reader.into_raw_socket()));
            }
        }
    }
}

pub use socket::Socket;

/// What has come for one event loop, and the socket that wakes it.
#[derive(Debug)]
pub struct Inbox {
    state: Mutex<State>,
    wake: socket::Writer,
}

#[derive(Debug, Default)]
struct State {
    /// The numbers of the exchanges that have something to take.
    ready: Vec<u64>,
    /// When the loop was woken last.
    woken: Option<Instant>,
}

/// How long a loop is left alone after it was woken. A turn of a loop costs more than a piece of an answer: of what comes meanwhile,
/// all is taken in one turn.
const REST: Duration = Duration::from_millis(2);

impl Inbox {
    /// An inbox, and the socket that the loop reads from: a byte comes when the inbox was empty. The caller closes that socket.
    ///
    /// # Errors
    /// The system has no sockets left.
    pub fn new() -> io::Result<(Self, Socket)> {
        let (wake, reader) = socket::pair()?;
        wake.set_nonblocking(true)?;
        Ok((Self { state: Mutex::default(), wake }, reader))
    }

    /// The numbers of the exchanges that have something to take, in the order in which it came.
    #[must_use]
    pub fn take(&self) -> Vec<u64> {
        std::mem::take(&mut self.lock().ready)
    }

    /// Tells the loop that this exchange has something to take.
    pub(super) fn put(self: &Arc<Self>, exchange: u64) {
        let mut state = self.lock();
        state.ready.push(exchange);
        if state.ready.len() > 1 {
            return; // it is notified, or will be
        }
        let due = state.woken.map(|woken| woken + REST).filter(|&due| due > Instant::now());
        match (due, Handle::try_current()) {
            (Some(due), Ok(runtime)) => {
                drop(state);
                let inbox = Arc::clone(self);
                runtime.spawn(async move {
                    sleep_until(due).await;
                    inbox.tell(inbox.lock());
                });
            }
            _ => self.tell(state),
        }
    }

    fn tell(&self, mut state: MutexGuard<'_, State>) {
        state.woken = Some(Instant::now());
        drop(state);
        // If nobody reads any longer, the loop is gone.
        let _ = (&self.wake).write(&[0]);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
