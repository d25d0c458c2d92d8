//! The least that reading on another thread takes: a thread reads an answer over TLS, and writes one byte for each piece.
//!
//! It reads no HTTP and no JSON. What is left is two threads that are woken for each delta.

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::FromRawFd;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Begins to read an answer of so many deltas, with so many microseconds between two, from the server on this port. A byte
/// comes from `wake` for each piece; the thread closes it at the end.
///
/// # Safety
/// `certificate` is the path of a file, and ends with a zero; `wake` is a descriptor that nobody else closes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn begin(
    port: u16,
    certificate: *const c_char,
    deltas: u32,
    every: u32,
    wake: c_int,
) {
    // SAFETY: the caller says so.
    let (path, wake) = unsafe { (CStr::from_ptr(certificate), File::from_raw_fd(wake)) };
    let path = path.to_string_lossy().into_owned();
    std::thread::spawn(move || {
        if let Err(error) = read(port, &path, deltas, every, wake) {
            eprintln!("{error}");
        }
    });
}

fn read(port: u16, certificate: &str, deltas: u32, every: u32, mut wake: File) -> io::Result<()> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(certificate).map_err(io::Error::other)?)
        .map_err(io::Error::other)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, TcpStream::connect((Ipv4Addr::LOCALHOST, port))?);
    write!(
        stream,
        "POST / HTTP/1.1\r\ncontent-length: 0\r\nx-deltas: {deltas}\r\nx-every: {every}\r\n\r\n"
    )?;
    let mut piece = [0; 4096];
    loop {
        let read = stream.read(&mut piece)?;
        wake.write_all(&[0])?;
        if read == 0 || piece[..read].ends_with(b"0\r\n\r\n") {
            return Ok(()); // the chunk that ends an answer
        }
    }
}
