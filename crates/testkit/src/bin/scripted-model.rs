//! The scripted model as a program, for tests that are not written in Rust. It says `listening on URL` and ends with its
//! standard input, so that it never outlives the test that started it.

use std::io::{self, Read as _, Write as _};

use throughline_testkit::ScriptedModel;

fn main() -> io::Result<()> {
    let model = ScriptedModel::start();
    writeln!(io::stdout(), "listening on {}", model.url())?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
