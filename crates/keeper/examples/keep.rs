//! The program that the tests launch: `keep --dir DIR` as `tl` has it, and `crash DIR`, a daemon
//! that launches a keeper and then dies without a word.

use std::path::PathBuf;

use throughline_keeper::{Bounds, LaunchSpec, client};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let (mode, dir) = (args.next(), args.next_back().map(PathBuf::from));
    let dir = dir.ok_or("usage: keep --dir DIR | crash DIR")?;
    if mode.is_some_and(|mode| mode == "crash") {
        let spec = LaunchSpec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "while read x; do echo heard $x; done".into()],
            cwd: "/".into(),
            env: vec![],
            bounds: Bounds::default(),
            confine: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(client::launch(&std::env::current_exe()?, &dir, &spec))?;
        std::process::abort();
    }
    Ok(throughline_keeper::run(&dir)?)
}
