//! How an event loop learns that there is something to take.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

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

/// What one event loop has to look at, and the socket that wakes it.
#[derive(Debug)]
pub struct Inbox {
    ready: Mutex<Vec<u64>>,
    wake: socket::Writer,
}

impl Inbox {
    /// An inbox, and the socket that the loop reads from: a byte comes when the inbox was empty. The caller closes that socket.
    ///
    /// # Errors
    /// The system gives no sockets.
    pub fn new() -> io::Result<(Self, Socket)> {
        let (wake, reader) = socket::pair()?;
        wake.set_nonblocking(true)?;
        Ok((Self { ready: Mutex::default(), wake }, reader))
    }

    /// The numbers of the exchanges that have something to take, in the order in which it came.
    #[must_use]
    pub fn take(&self) -> Vec<u64> {
        std::mem::take(&mut *self.ready.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn put(&self, exchange: u64) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.push(exchange);
        let was_empty = ready.len() == 1;
        drop(ready);
        if was_empty {
            // Where nobody reads any more, the loop is gone.
            let _ = (&self.wake).write(&[0]);
        }
    }
}
