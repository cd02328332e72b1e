//! `tl agents`: which agents are here, and how to get the others.

use super::Context;
use crate::failure::Outcome;
use crate::output::Style;
use crate::safe_text::safe_line;
use crate::table::{Cell, table};

/// List the agents: which are installed, how to install the others
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) async fn run(context: Context, Args {}: Args) -> Outcome {
    let list = context.ask(async |client| Ok(client.agents().await?)).await?;
    let output = context.output;
    output.document(&list, || {
        let rows: Vec<Vec<Cell>> = list
            .agents
            .iter()
            .map(|agent| {
                let (state, style, where_from) = match &agent.found {
                    Some(path) => ("found", Style::Good, path.clone()),
                    None => ("not found", Style::Faint, agent.install.clone()),
                };
                vec![
                    Cell::styled(safe_line(&agent.name), Style::Strong),
                    Cell::styled(state, style),
                    Cell::styled(safe_line(&where_from), Style::Faint),
                ]
            })
            .collect();
        table(output, &rows)
    })
}
