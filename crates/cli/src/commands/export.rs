//! `tl export`: a task's transcript on stdout.

use clap::ValueEnum;
use throughline_api::export::ExportFormat;

use super::Context;
use crate::failure::Outcome;
use crate::output::write_stdout;

/// Print a task's transcript
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which task
    #[arg(value_name = "KEY")]
    key: String,
    /// What to write it in; with `--json` it is jsonl
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// Markdown, for people
    #[default]
    Md,
    /// One timeline entry per line, as the API has it
    Jsonl,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let format = match args.format {
        Format::Md if !context.output.is_json() => ExportFormat::Md,
        Format::Md | Format::Jsonl => ExportFormat::Jsonl,
    };
    let mut transcript = context.ask(async |client| Ok(client.export(&args.key, format).await?)).await?;
    while let Some(bytes) = transcript.next().await? {
        write_stdout(&bytes)?;
    }
    Ok(())
}
