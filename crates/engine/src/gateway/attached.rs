//! Files that come along with a message: fetched from the platform, or given up on.
//!
//! **Invariant:** a file that cannot be had holds up what comes after it for a few tries, and no longer: its person is told,
//! and can send it again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use throughline_channels::{RemoteFile, SendError};
use throughline_model::content::ContentBlock;

use super::Gateway;
use crate::error::EngineError;

/// How often a file is asked for.
const TRIES: u32 = 4;
/// How many updates are remembered whose file did not come; more are not in the midst of it at once.
const MOST: usize = 1_000;

/// How often the files of updates were asked for in vain. In memory: whoever starts anew may try anew.
#[derive(Default)]
pub(super) struct Fetches(Mutex<HashMap<String, u32>>);

impl Fetches {
    /// It came to nothing once more. Answers whether to give up.
    fn failed(&self, update: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        let tries = known.entry(update.to_owned()).or_default();
        *tries += 1;
        let over = *tries >= TRIES;
        if over {
            known.remove(update);
        }
        over
    }
}

impl Gateway {
    /// A file as part of a message; why not, if the platform does not give it.
    pub(super) async fn fetched(
        &self,
        update: &str,
        file: &RemoteFile,
    ) -> Result<Result<ContentBlock, String>, EngineError> {
        let most = self.account.channel.abilities().max_file_bytes;
        if file.bytes.is_some_and(|bytes| bytes > most) {
            return Ok(Err(format!("> {} MB", most >> 20)));
        }
        let bytes = match self.account.channel.fetch(file, most).await {
            Ok(bytes) => bytes,
            Err(SendError::Dead(why)) => return Ok(Err(why)),
            Err(error) if self.fetches.failed(update) => return Ok(Err(error.to_string())),
            Err(error) => return Err(EngineError::NotFetched { why: error.to_string() }),
        };
        let blob = self.engine.store().put_blob(bytes).await?;
        Ok(Ok(match file.mime.starts_with("image/") {
            true => ContentBlock::Image { blob, mime: file.mime.clone(), name: Some(file.name.clone()) },
            false => ContentBlock::File { blob, mime: file.mime.clone(), name: file.name.clone() },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_asked_for_a_few_times_and_each_by_itself() {
        let fetches = Fetches::default();
        let tries: Vec<bool> = (0..5).map(|_| fetches.failed("a")).collect();
        assert_eq!(tries, [false, false, false, true, false], "and anew, should it come again");
        assert!(!fetches.failed("b"));
        assert!((0..MOST * 2).all(|number| !fetches.failed(&number.to_string())));
        assert!(fetches.0.lock().unwrap().len() <= MOST);
    }
}
