//! How a platform calls us: one small HTTP request on loopback, on a connection of its own.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Posts JSON to `http://127.0.0.1:…`; to any other address through a tunnel to loopback, if there is one.
pub(crate) async fn post(
    url: &str,
    tunnel: Option<&str>,
    headers: &[(&str, &str)],
    body: &str,
) -> io::Result<Answered> {
    let rest = match tunnel {
        Some(_) => url.strip_prefix("https://"),
        None => url.strip_prefix("http://"),
    };
    let rest = rest.ok_or_else(|| io::Error::other("only plain HTTP is spoken here, and HTTPS through a tunnel"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.push_str(body);
    let mut stream = TcpStream::connect(tunnel.unwrap_or(host)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no answer"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no status"))?;
    Ok(Answered { status, body: body.to_owned() })
}
