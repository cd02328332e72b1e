//! The daemon's side: launch a keeper, attach to it, read what a dead one left, sweep up.
//!
//! A keeper that cannot be reached is [`AttachError::Gone`] only when its lock is free, that is when
//! the process does not exist. Then [`post_mortem`] has what the agent said before its death. If
//! that shows no exit, the keeper itself was killed and [`sweep_dir`] must end what is left of the
//! agent before anything is resumed.

mod attach;
mod dir;
mod launch;
mod link;
mod sweep;

pub use attach::{AttachError, CallError, Delivery, Happening, ReadError, Reader, WriteError, Writer, attach};
pub use dir::{
    DirError, Kept, PostMortem, RemoveError, is_confined, is_live, list, post_mortem, remove, remove_ended, tree_size,
};
pub use launch::{LaunchError, launch};
pub use sweep::{SweepError, SweptOrphans, sweep, sweep_dir};
