//! The long connection: events go out one after the other and stay until they are acknowledged within three seconds.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message as Packet, WebSocket};
use prost::Message as _;
use serde_json::Value;
use tokio::time::Instant;

use super::frame::{CONTROL, DATA, Frame};
use super::state::{Platform, Standing};
use crate::watched::Watched;

/// What is to be done next on a connection.
enum Next {
    Send { name: String, frames: Vec<Vec<u8>> },
    Raw(Vec<Vec<u8>>),
    Cut,
}

pub(super) async fn serve(mut socket: WebSocket, platform: Arc<Watched<Platform>>) {
    let link = platform.change(|known| {
        known.links.opened += 1;
        let link = known.links.opened;
        known.links.standing.insert(link);
        link
    });
    let ack = || Duration::from_secs(platform.look().links.ack_secs);
    let mut due: Option<(String, Instant)> = None;
    loop {
        let deadline = due.as_ref().map_or_else(|| Instant::now() + ack(), |(_, at)| *at);
        tokio::select! {
            next = platform.until(|known| next(known, link)) => match next {
                Next::Cut => break,
                Next::Raw(frames) => {
                    platform.change(|known| known.links.raw.clear());
                    send(&mut socket, frames).await;
                }
                Next::Send { name, frames } => {
                    platform.change(|known| known.brought(&name, link));
                    send(&mut socket, frames).await;
                    due = Some((name, Instant::now() + ack()));
                }
            },
            packet = socket.recv() => {
                let Some(Ok(packet)) = packet else { break };
                if let Packet::Binary(bytes) = packet {
                    hear(&mut socket, &platform, &bytes).await;
                }
            }
            () = tokio::time::sleep_until(deadline) => {
                if let Some((name, _)) = due.take() {
                    platform.change(|known| known.give_up(&name, link));
                }
            }
        }
    }
    platform.change(|known| {
        known.links.standing.remove(&link);
        for event in &mut known.events {
            if event.standing == Standing::Sent(link) {
                event.standing = Standing::Waiting;
            }
        }
    });
}

/// One event at a time is on the way, so that a connection keeps their order.
fn next(known: &Platform, link: u64) -> Option<Next> {
    if link <= known.links.cut {
        return Some(Next::Cut);
    }
    if !known.links.raw.is_empty() {
        return Some(Next::Raw(known.links.raw.clone()));
    }
    let busy = known.events.iter().any(|event| event.standing == Standing::Sent(link));
    if known.links.held || busy {
        return None;
    }
    let mut waiting = known.events.iter().filter(|event| event.standing == Standing::Waiting);
    let event = if known.links.reversed { waiting.next_back() } else { waiting.next() }?;
    let frames = Frame::event(&event.name, event.payload.as_bytes(), known.links.piece);
    Some(Next::Send { name: event.name.clone(), frames: frames.iter().map(Frame::encode_to_vec).collect() })
}

async fn send(socket: &mut WebSocket, frames: Vec<Vec<u8>>) {
    for frame in frames {
        // Who has gone is seen by the next read.
        let _ = socket.send(Packet::Binary(frame.into())).await;
    }
}

async fn hear(socket: &mut WebSocket, platform: &Watched<Platform>, bytes: &[u8]) {
    let Ok(frame) = Frame::decode(bytes) else { return };
    match (frame.method, frame.header("type")) {
        (CONTROL, Some("ping")) => {
            let pong = platform.change(|known| {
                known.links.pings += 1;
                (!known.links.silent).then(|| Frame::pong(&known.client_config().to_string()))
            });
            if let Some(pong) = pong {
                send(socket, vec![pong.encode_to_vec()]).await;
            }
        }
        (DATA, Some("event")) => {
            let answer: Value =
                serde_json::from_slice(frame.payload.as_deref().unwrap_or_default()).unwrap_or_default();
            let code = answer["code"].as_u64().unwrap_or_default();
            let name = frame.header("message_id").unwrap_or_default();
            platform.change(|known| known.answered(name, code));
        }
        _ => {}
    }
}

impl Platform {
    fn brought(&mut self, name: &str, link: u64) {
        if let Some(event) = self.events.iter_mut().find(|event| event.name == name) {
            event.standing = Standing::Sent(link);
            event.tries += 1;
        }
    }

    fn answered(&mut self, name: &str, code: u64) {
        if let Some(event) = self.events.iter_mut().find(|event| event.name == name) {
            event.answers.push(code);
            event.standing = if code == 200 { Standing::Acknowledged } else { Standing::Waiting };
        }
    }

    /// Nobody answered in time: it is brought again.
    fn give_up(&mut self, name: &str, link: u64) {
        let late = |event: &&mut super::state::Event| event.name == name && event.standing == Standing::Sent(link);
        if let Some(event) = self.events.iter_mut().find(late) {
            event.standing = Standing::Waiting;
        }
    }
}
