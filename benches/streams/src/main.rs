//! A server on 127.0.0.1 that streams chat completions by the clock.
//!
//! ```text
//! streams [CERTIFICATE.pem]
//! ```
//!
//! It prints its address. With a path it speaks HTTPS, and writes the certificate that it is to be trusted by there. A request says
//! what it wants in its headers: `x-deltas`, how many, and `x-every`, how many microseconds lie between two of them. Each delta is
//! written at its time, however late the ones before it were, and its text is the time at which it was written: nanoseconds
//! since 1970, and a space.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

const END: &str = concat!(
    "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\n",
    "data: [DONE]\n\n"
);

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> io::Result<()> {
    let acceptor = std::env::args().nth(1).map(|path| acceptor(&path)).transpose()?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    println!("{scheme}://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(connection(stream, acceptor.clone()));
    }
}

fn acceptor(path: &str) -> io::Result<TlsAcceptor> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).map_err(io::Error::other)?;
    std::fs::write(path, made.cert.pem())?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .map_err(io::Error::other)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves one connection until the client closes it.
async fn connection(stream: TcpStream, acceptor: Option<TlsAcceptor>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match acceptor {
        Some(acceptor) => requests(acceptor.accept(stream).await?).await,
        None => requests(stream).await,
    }
}

async fn requests<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = request(&mut stream).await? {
        answer(&mut stream, asked).await?;
    }
    Ok(())
}

/// What a request wants.
#[derive(Default)]
struct Asked {
    deltas: u32,
    every: Duration,
}

/// The next request; `None` where there is none.
async fn request<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> io::Result<Option<Asked>> {
    let (mut asked, mut length, mut line) = (Asked::default(), 0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        let number = || value.trim().parse::<u32>().unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = number(),
            "x-deltas" => asked.deltas = number(),
            "x-every" => asked.every = Duration::from_micros(number().into()),
            _ => {}
        }
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await?;
    Ok(Some(asked))
}

async fn answer<S: AsyncWrite + Unpin>(stream: &mut S, asked: Asked) -> io::Result<()> {
    stream.write_all(HEAD.as_bytes()).await?;
    stream.flush().await?;
    let begin = Instant::now();
    for number in 0..asked.deltas {
        sleep_until(begin + asked.every * number).await;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let event = format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{now} \"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        );
        chunk(stream, &event).await?;
    }
    chunk(stream, END).await?;
    stream.write_all(b"0\r\n\r\n").await?;
    stream.flush().await
}

async fn chunk<S: AsyncWrite + Unpin>(stream: &mut S, text: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?;
    stream.flush().await
}
