//! The spool on its own: offsets, cuts, damage, trimming.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;

use bytes::BytesMut;

use super::{Admitted, Cursor, Spool, SpoolError, SpoolFrames, segments};
use crate::spec::Bounds;

fn bounds() -> Bounds {
    Bounds { max_frame_bytes: 1_000, max_spool_bytes: 1, ..Bounds::default() }
}

fn lines(dir: &std::path::Path, from: u64) -> Vec<String> {
    let text = |frame: super::Frame| String::from_utf8(frame.bytes.to_vec()).unwrap();
    SpoolFrames::open(dir, from).unwrap().map(|frame| text(frame.unwrap())).collect()
}

#[test]
fn lines_come_back_from_any_frame_whatever_the_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(dir.path(), &bounds()).unwrap();
    for chunk in ["one\ntw", "o\n", "three\nfo", "ur"] {
        spool.append(chunk.as_bytes()).unwrap();
    }
    assert_eq!(lines(dir.path(), 0), ["one", "two", "three"]);
    assert_eq!(lines(dir.path(), 4), ["two", "three"]);
    assert_eq!(lines(dir.path(), 8), ["three"]);
    assert_eq!(spool.frames_end(), 14);
    spool.finish_line().unwrap();
    assert_eq!(lines(dir.path(), 14), ["four"]);
    assert_eq!(lines(dir.path(), 19), [""; 0]);
    assert_eq!(lines(dir.path(), 999), [""; 0]);
}

#[test]
fn a_torn_tail_is_cut_and_damage_before_it_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(dir.path(), &bounds()).unwrap();
    spool.append(b"one\n").unwrap();
    let file = super::segment_path(spool.dir(), 0);
    for torn in [&b"\x05\0\0\0abcd12"[..], b"\0\0\0\0\0\0\0\0", b"\x02\0\0\0xxxxhi"] {
        let len = std::fs::metadata(&file).unwrap().len();
        let mut tail = OpenOptions::new().append(true).open(&file).unwrap();
        tail.write_all(torn).unwrap();
        assert_eq!(lines(dir.path(), 0), ["one"]);
        tail.set_len(len).unwrap();
    }
    // The same damage with a later segment behind it.
    std::fs::write(super::segment_path(spool.dir(), 4), b"").unwrap();
    let flip = OpenOptions::new().write(true).open(&file).unwrap();
    flip.write_all_at(b"X", 9).unwrap();
    let first = SpoolFrames::open(dir.path(), 0).unwrap().next();
    assert!(matches!(first, Some(Err(SpoolError::Corrupt { offset: 0 }))));
}

#[test]
fn acknowledged_segments_go_and_the_bound_holds_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(dir.path(), &bounds()).unwrap();
    let line = [b"x".repeat(999), vec![b'\n']].concat();
    let mut written = 0;
    while !spool.is_full() {
        spool.append(&line).unwrap();
        written += 1;
    }
    assert!(segments(spool.dir()).unwrap().len() > 1 || written < 20);
    let end = spool.end();
    spool.ack(end).unwrap();
    assert!(!spool.is_full());
    for _ in 0..100 {
        spool.append(&line).unwrap();
        spool.ack(spool.end()).unwrap();
    }
    assert_eq!(segments(spool.dir()).unwrap().len(), 1);
    assert!(spool.first() > 0);
    let trimmed = SpoolFrames::open(dir.path(), 0);
    assert!(matches!(trimmed.err(), Some(SpoolError::Trimmed { first }) if first == spool.first()));
}

#[test]
fn a_reader_follows_across_segments() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(dir.path(), &bounds()).unwrap();
    let mut cursor = Cursor::open(spool.dir(), 0).unwrap();
    let mut out = BytesMut::new();
    let line = [b"x".repeat(799), vec![b'\n']].concat();
    for _ in 0..100 {
        assert!(!cursor.read(&mut out).unwrap());
        spool.append(&line).unwrap();
        assert!(cursor.read(&mut out).unwrap());
    }
    assert_eq!(out.len(), 80_000);
    assert_eq!(cursor.position(), spool.end());
    assert!(segments(spool.dir()).unwrap().len() > 2);
}

#[test]
fn a_line_over_the_bound_is_seen_before_it_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut spool = Spool::create(dir.path(), &bounds()).unwrap();
    let exact = [b"x".repeat(1_000), vec![b'\n']].concat();
    assert_eq!(spool.admit(&exact), Admitted::All);
    let long = [b"ok\n".to_vec(), b"x".repeat(1_001)].concat();
    assert_eq!(spool.admit(&long), Admitted::UntilTooLong(3));
    spool.append(&b"x".repeat(600)).unwrap();
    assert_eq!(spool.admit(&b"x".repeat(401)), Admitted::UntilTooLong(0));
}
