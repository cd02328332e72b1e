//! A person at a terminal: `tl` on a pseudo-terminal, what it shows and what is typed.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::PATIENCE;

/// A command whose stdin, stdout and stderr are one terminal.
pub struct Terminal {
    child: Child,
    keyboard: File,
    pieces: Receiver<Vec<u8>>,
    pub seen: String,
}

impl Terminal {
    pub fn of(mut command: Command) -> Self {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&control).expect("granted");
        unlockpt(&control).expect("unlocked");
        let name = ptsname(&control, Vec::new()).expect("it has a name");
        let open = || File::options().read(true).write(true).open(name.to_str().expect("text")).expect("the other end");
        let child = command
            .env("TERM", "xterm")
            .stdin(Stdio::from(OwnedFd::from(open())))
            .stdout(Stdio::from(OwnedFd::from(open())))
            .stderr(Stdio::from(OwnedFd::from(open())))
            .spawn()
            .expect("tl starts");
        // The child has its copies; this one would keep the terminal open.
        drop(command);
        let keyboard = File::from(control);
        let mut screen = keyboard.try_clone().expect("a second handle");
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The terminal ends with an error when its other end is closed.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keyboard, pieces, seen: String::new() }
    }

    /// Waits until it shows this.
    pub fn wait_for(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.seen.contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("`{text}` does not come: {}", self.seen),
            }
        }
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) {
        writeln!(self.keyboard, "{line}").expect("it reads");
    }

    /// Presses Ctrl-C, as the terminal's line discipline would deliver it.
    pub fn interrupt(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a process id"), rustix::process::Signal::INT).expect("it runs");
    }

    /// Waits for its end, and gives its exit code and all that it showed.
    pub fn finish(mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.pieces.recv_timeout(PATIENCE) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        let status = self.child.try_wait().expect("it can be asked");
        let status = status.unwrap_or_else(|| {
            let _ = self.child.kill();
            self.child.wait().expect("it ends")
        });
        (status.code(), std::mem::take(&mut self.seen))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
