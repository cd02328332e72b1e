//! `tl project`: which folders are projects.

use std::path::PathBuf;

use clap::Subcommand;

use super::Context;
use crate::failure::Outcome;
use crate::output::Style;
use crate::place;
use crate::safe_text::safe_line;
use crate::table::{Cell, table};

/// Add and list projects
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a folder a project
    Add {
        /// The folder
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// What to call it: the first part of its tasks' keys; the folder's name if left out
        #[arg(long, value_name = "N")]
        name: Option<String>,
        /// The agent that its new tasks get
        #[arg(long, value_name = "A")]
        agent: Option<String>,
    },
    /// List the projects
    List,
}

pub(super) async fn run(context: Context, args: Args) -> Outcome {
    let output = context.output;
    match args.verb {
        Verb::Add { path, name, agent } => {
            let project =
                context.tell(async |client| place::add(client, &path, name.clone(), agent.clone()).await).await?;
            output.document(&project, || {
                format!(
                    "project {} in {}, with {}\n",
                    safe_line(&project.name),
                    safe_line(&project.root),
                    safe_line(&project.agent)
                )
            })
        }
        Verb::List => {
            let list = context.ask(async |client| Ok(client.projects().await?)).await?;
            output.document(&list, || {
                if list.projects.is_empty() {
                    return "there are no projects yet: tl project add PATH\n".to_owned();
                }
                let rows: Vec<Vec<Cell>> = list
                    .projects
                    .iter()
                    .map(|project| {
                        vec![
                            Cell::styled(safe_line(&project.name), Style::Strong),
                            Cell::new(safe_line(&project.agent)),
                            Cell::styled(safe_line(&project.root), Style::Faint),
                        ]
                    })
                    .collect();
                table(output, &rows)
            })
        }
    }
}
