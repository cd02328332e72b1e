//! What a daemon may ask of a keeper, one request at a time.
//!
//! *Invariant:* nothing but `attach` is answered before a connection is attached, and at most one
//! connection is.

use std::time::{Duration, Instant};

use crate::conn::{Asked, ConnId, Incoming, ParkedRead, Standing};
use crate::exit::ExitReason;
use crate::frames::FrameState;
use crate::payload::Payload;
use crate::protocol::{Call, OLDEST_PROTOCOL, PROTOCOL, Refusal, Reply, Request, valid_frame_id};
use crate::serve::Keeper;

impl Keeper {
    pub(crate) fn handle(&mut self, id: ConnId, message: Incoming, now: Instant) {
        let seq = message.seq;
        let outcome = match message.asked {
            Asked::Unknown => Err(Refusal::UnknownCall),
            Asked::Unheld(error) => Err(Refusal::NotRecorded { message: error.to_string() }),
            Asked::Call(Request { call, .. }, payload) => self.call(id, seq, call, payload, now),
        };
        // By now the connection may have been displaced or dropped.
        let Some(conn) = self.door.conns.iter_mut().find(|conn| conn.id == id) else {
            return;
        };
        match outcome {
            Ok(Some(reply)) => conn.reply(seq, reply),
            Ok(None) => {}
            Err(refusal) => {
                conn.refuse(seq, refusal);
                if !conn.is_attached() {
                    conn.leave(now);
                }
            }
        }
    }

    /// `None`: the answer comes later.
    fn call(
        &mut self,
        id: ConnId,
        seq: u64,
        call: Call,
        payload: Payload,
        now: Instant,
    ) -> Result<Option<Reply>, Refusal> {
        if let Call::Attach { protocol, oldest, fence } = call {
            let agreed = agree(protocol, oldest)?;
            return self.attach(id, fence, agreed, now).map(Some);
        }
        let conn = self.door.conns.iter_mut().find(|conn| conn.id == id);
        let Some(conn) = conn.filter(|conn| conn.is_attached()) else {
            return Err(Refusal::NotAttached);
        };
        match call {
            Call::Attach { .. } => {}
            Call::Read { from } => {
                conn.parked = Some(ParkedRead { seq, from });
                return Ok(None);
            }
            Call::Write { id: frame } => return self.write(id, seq, &frame, payload),
            Call::Ack { offset } => {
                let trimmed = self.output.spool.ack(offset);
                trimmed.map_err(|error| Refusal::SpoolUnreadable { message: error.to_string() })?;
            }
            Call::Activity { activity } => self.lease.activity = activity,
            Call::Stop { grace_ms } => {
                self.begin_end(ExitReason::Stopped, Duration::from_millis(grace_ms), now);
            }
        }
        Ok(Some(Reply::Done))
    }

    fn attach(&mut self, id: ConnId, fence: u64, protocol: u32, now: Instant) -> Result<Reply, Refusal> {
        if fence < self.door.fence {
            return Err(Refusal::StaleFence { offered: fence, highest: self.door.fence });
        }
        self.door.fence = fence;
        for conn in &mut self.door.conns {
            if conn.id == id {
                conn.standing = Standing::Attached;
            } else if conn.is_attached() {
                conn.reply(0, Reply::Displaced { fence });
                conn.leave(now);
            }
        }
        self.lease.detached_at = None;
        Ok(Reply::Attached { protocol, agent_pid: self.agent.pid, max_frame_bytes: self.bounds.max_frame_bytes })
    }

    fn write(&mut self, conn: ConnId, seq: u64, frame: &str, line: Payload) -> Result<Option<Reply>, Refusal> {
        if !valid_frame_id(frame) {
            return Err(Refusal::MalformedFrame);
        }
        let state = self.frames.state(frame);
        match state.map_err(|error| Refusal::NotRecorded { message: error.to_string() })? {
            FrameState::Written => return Ok(Some(Reply::Duplicate)),
            FrameState::Failed => return Err(Refusal::AgentGone),
            // Recorded is on its way: the answer comes with that of the first one who sent it.
            FrameState::Absent | FrameState::Recorded => {}
        }
        let limit = self.bounds.max_frame_bytes;
        self.agent.enqueue(conn, seq, frame, line, limit)?;
        self.pump_stdin();
        Ok(None)
    }
}

fn agree(daemon: u32, daemon_oldest: u32) -> Result<u32, Refusal> {
    let agreed = daemon.min(PROTOCOL);
    if agreed < OLDEST_PROTOCOL || agreed < daemon_oldest {
        return Err(Refusal::UnsupportedProtocol {
            keeper: PROTOCOL,
            keeper_oldest: OLDEST_PROTOCOL,
            daemon,
            daemon_oldest,
        });
    }
    Ok(agreed)
}

#[cfg(test)]
mod tests {
    use super::agree;
    use crate::protocol::{PROTOCOL, Refusal};

    #[test]
    fn versions_meet_or_are_both_named() {
        assert_eq!(agree(PROTOCOL, PROTOCOL).unwrap(), PROTOCOL);
        assert_eq!(agree(PROTOCOL + 3, PROTOCOL).unwrap(), PROTOCOL);
        let refusal = agree(PROTOCOL + 3, PROTOCOL + 2).unwrap_err();
        assert!(matches!(refusal, Refusal::UnsupportedProtocol { .. }));
        assert!(refusal.to_string().contains(&format!("{}", PROTOCOL + 3)));
        assert!(agree(0, 0).is_err());
    }
}
