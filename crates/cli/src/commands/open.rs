//! `tl open`: the web page, logged in.

use std::io::IsTerminal as _;
use std::process::{Command, Stdio};

use throughline_api::login::Place;

use super::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Style;
use crate::qr;

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
    /// Show a picture of a link that a phone opens, at the `public_url` of the settings
    #[arg(long, conflicts_with = "print")]
    phone: bool,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    if args.phone {
        return phone(context).await;
    }
    let link = context.tell(async |client| Ok(client.login_link(Place::Here).await?)).await?;
    let screen = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(|name| std::env::var_os(name).is_some())
        || cfg!(target_os = "macos");
    let wanted = screen && !args.print && !context.output.is_json() && std::io::stdout().is_terminal();
    let opened = wanted && OPENERS.iter().any(|opener| open_with(opener, &link.url));
    context.output.document(&link, || {
        let how = if opened { "opened" } else { "open" };
        format!("{how} {}\nit lets one browser in, once, within ten minutes\n", link.url)
    })
}

/// A link for another device, to be read off the screen.
async fn phone(context: Context) -> Outcome {
    let link = context.tell(async |client| Ok(client.login_link(Place::Elsewhere).await?)).await?;
    let picture = qr::picture(&link.url).map_err(|error| {
        Failure::new("link_too_long", format!("the link does not fit a picture: {error}"))
            .hint("use a shorter public_url")
    })?;
    let output = context.output;
    output.document(&link, || {
        let picture: Vec<String> = picture.lines().map(|line| output.paint(Style::Lamp, line)).collect();
        let picture = picture.join("\n");
        format!("{picture}\n\nopen {}\nit lets one browser in, once, within ten minutes\n", link.url)
    })
}

#[expect(clippy::disallowed_methods, reason = "the person's own browser is not ours to keep")]
fn open_with(opener: &str, url: &str) -> bool {
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
