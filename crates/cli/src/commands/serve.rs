//! placeholder
use crate::failure::Outcome;
use crate::output::Output;
/// Run the daemon in the foreground
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}
pub(super) fn run(_args: &Args, _output: Output) -> Outcome {
    crate::logging::start(None);
    Ok(())
}
