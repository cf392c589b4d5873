//! `/metrics` and `/healthz` for monitoring, over just enough HTTP/1.1.
//!
//! Relies on: `metrics`.  Promises: one request per connection, bounded in size and time, GET and
//! HEAD only.  Does not: keep connections open, read bodies, or authenticate.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longest request: monitoring sends a few hundred bytes.
const REQUEST_BYTES_MAX: usize = 8 * 1024;

/// Longest time for a request and its answer together.
const TIME_MAX: Duration = Duration::from_secs(10);

/// Answers one request; `metrics` makes the page.
pub(crate) async fn answer(mut stream: TcpStream, metrics: impl FnOnce() -> String) {
    // A peer that is gone or too slow needs no answer.
    let _ = tokio::time::timeout(TIME_MAX, async {
        let request = read(&mut stream).await?;
        let response = respond(&request, metrics);
        stream.write_all(response.as_bytes()).await?;
        stream.shutdown().await
    })
    .await;
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::with_capacity(1024);
    while request.len() < REQUEST_BYTES_MAX && !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut request).await? == 0 {
            break;
        }
    }
    Ok(request)
}

fn respond(request: &[u8], metrics: impl FnOnce() -> String) -> String {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let (status, kind, body) = match request_line(request) {
        None => ("400 Bad Request", PLAIN, "not a request\n".to_string()),
        Some(("GET" | "HEAD", "/metrics")) => (
            "200 OK",
            "text/plain; version=0.0.4; charset=utf-8",
            metrics(),
        ),
        Some(("GET" | "HEAD", "/healthz")) => ("200 OK", PLAIN, "ok\n".to_string()),
        Some(("GET" | "HEAD", _)) => ("404 Not Found", PLAIN, "not found\n".to_string()),
        Some(_) => (
            "405 Method Not Allowed",
            PLAIN,
            "only GET and HEAD\n".to_string(),
        ),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n"
    );
    if request.starts_with(b"HEAD ") {
        head
    } else {
        head + &body
    }
}

/// Method and path of a whole request.
fn request_line(request: &[u8]) -> Option<(&str, &str)> {
    let end = request.windows(4).position(|end| end == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&request[..end]).ok()?;
    let mut words = head.split("\r\n").next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let path = target.split('?').next()?;
    (words.next().is_none() && matches!(version, "HTTP/1.0" | "HTTP/1.1")).then_some((method, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_or_refused_by_status() {
        let cases = [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200", "PAGE"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200", "PAGE"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200", ""),
            ("GET /healthz HTTP/1.1\r\n\r\n", "200", "ok\n"),
            ("GET /other HTTP/1.1\r\n\r\n", "404", "not found\n"),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                "405",
                "only GET and HEAD\n",
            ),
            ("GET /metrics HTTP/1.1\r\n", "400", "not a request\n"),
            ("GET /metrics HTTP/2\r\n\r\n", "400", "not a request\n"),
            ("GET /a b HTTP/1.1\r\n\r\n", "400", "not a request\n"),
            ("\0\0\0\x08\x04\x16\x2f", "400", "not a request\n"),
        ];
        for (request, status, body) in cases {
            let response = respond(request.as_bytes(), || "PAGE".into());
            let (head, got) = response.split_once("\r\n\r\n").unwrap();
            assert!(
                head.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request:?}: {head}"
            );
            assert_eq!(got, body, "{request:?}");
        }
    }
}
