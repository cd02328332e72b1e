//! Transcripts: a task's whole timeline as one document.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a transcript is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// Markdown, for people.
    #[default]
    Md,
    /// One timeline entry per line, for programs.
    Jsonl,
}

impl ExportFormat {
    /// The word as it travels.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ExportFormat::Md => "md",
            ExportFormat::Jsonl => "jsonl",
        }
    }
}
