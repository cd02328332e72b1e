//! An agent that does nothing but emit: the least that the protocol asks for, so that its own time does not count.
//!
//! A prompt with a line `emit …` ([`Emission`]) is carried out; any other prompt is answered at once.

use std::io::{self, BufRead as _, Write as _};

use anyhow::Result;
use serde_json::{Value, json};

use crate::emission::Emission;

const NATIVE: &str = "bench";

/// Serves until its standard input ends.
pub(crate) fn run() -> Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        let Some(id) = message.get("id").filter(|id| !id.is_null()) else { continue };
        let result = match message["method"].as_str() {
            Some("initialize") => Ok(json!({
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": true},
                "agentInfo": {"name": NATIVE, "version": env!("CARGO_PKG_VERSION")},
            })),
            Some("session/new" | "session/load") => Ok(json!({"sessionId": NATIVE})),
            Some("session/prompt") => {
                let turn = id.as_str().unwrap_or(NATIVE);
                if let Some(emission) = order(&message["params"]["prompt"]) {
                    emission.write(NATIVE, turn, &mut out)?;
                }
                Ok(json!({"stopReason": "end_turn"}))
            }
            method => Err(json!({"code": -32601, "message": format!("{method:?} is not offered")})),
        };
        let answer = match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn order(prompt: &Value) -> Option<Emission> {
    let texts = prompt.as_array()?.iter().filter_map(|block| block["text"].as_str());
    texts.flat_map(str::lines).find_map(|line| line.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_found_among_other_lines() {
        let prompt = json!([{"type": "image"}, {"type": "text", "text": "please:\nemit tools 2 10 5"}]);
        assert_eq!(order(&prompt).map(|order| order.to_string()), Some("emit tools 2 10 5".to_owned()));
        assert_eq!(order(&json!([{"type": "text", "text": "hello"}])), None);
    }
}
