//! The event stream over WebSocket: the same client as for Server-Sent Events, one event per message.
//!
//! Invariants: what the page sends is read within a small bound and means nothing but "still here" or "gone"; sending
//! is never given up half way, so that no event is lost between the ring and the socket.

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::OwnedSemaphorePermit;

use crate::app::Shared;
use crate::encode::Encoder;
use crate::problem::Refusal;
use crate::sse::{Client, Wish};

/// A page has nothing to say here.
const HEARD_BYTES: usize = 1024;

/// Answers the handshake, and streams from then on.
pub(crate) fn serve(
    upgrade: WebSocketUpgrade,
    app: Shared,
    wish: Result<Wish, Refusal>,
    place: OwnedSemaphorePermit,
) -> Response {
    upgrade.max_message_size(HEARD_BYTES).max_frame_size(HEARD_BYTES).on_upgrade(async move |socket| {
        let _place = place;
        let (sink, stream) = socket.split();
        tokio::select! {
            () = until_gone(stream) => {}
            () = send(sink, app, wish) => {}
        }
    })
}

async fn until_gone(mut stream: SplitStream<WebSocket>) {
    while let Some(Ok(_)) = stream.next().await {}
}

async fn send(mut sink: SplitSink<WebSocket, Message>, app: Shared, wish: Result<Wish, Refusal>) {
    let farewell = match wish {
        Ok(wish) => {
            let mut client = Client::new(app, wish);
            while let Some(event) = client.next().await {
                if sink.send(text(event)).await.is_err() {
                    return;
                }
            }
            close_code::AWAY
        }
        Err(refusal) => {
            // Whoever is gone already needs no reason.
            let _ = sink.send(text(Encoder::problem(&refusal))).await;
            close_code::POLICY
        }
    };
    let _ = sink.send(Message::Close(Some(CloseFrame { code: farewell, reason: Utf8Bytes::default() }))).await;
}

/// The buffer that all clients share, as a message; it was made of text.
fn text(event: Bytes) -> Message {
    match Utf8Bytes::try_from(event) {
        Ok(text) => Message::Text(text),
        Err(_) => Message::Text(Utf8Bytes::from_static(": unreadable\n\n")),
    }
}
