//! `tl open`: the web page, logged in.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

use super::Context;
use crate::failure::Outcome;

/// What opens a link on this machine, in the order in which they are tried.
const OPENERS: &[&str] = &["wslview", "xdg-open", "open"];

/// Open the web page, logged in
///
/// The link works once, within ten minutes. Where there is no browser it is only printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let link = context.tell(async |client| Ok(client.login_link().await?)).await?;
    let screen = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(|name| std::env::var_os(name).is_some())
        || cfg!(target_os = "macos");
    let wanted = screen && !args.print && !context.output.is_json() && std::io::stdout().is_terminal();
    let opened = wanted && OPENERS.iter().any(|opener| open_with(opener, &link.url));
    context.output.document(&link, || {
        let how = if opened { "opened" } else { "open" };
        format!("{how} {}\nit lets one browser in, once, within ten minutes\n", link.url)
    })
}

#[expect(clippy::disallowed_methods, reason = "the person's own browser is not ours to keep")]
fn open_with(opener: &str, url: &str) -> bool {
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
