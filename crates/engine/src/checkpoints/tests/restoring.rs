//! Restoring, undoing, checking out; and what is refused.

use super::super::{CheckpointError, GitError};
use super::*;

#[tokio::test]
async fn a_restore_can_be_planned_and_undone() {
    let bench = Bench::plain();
    bench.write("a.txt", "one\n");
    bench.write("deep/er/b.txt", "b\n");
    let before = bench.take().await;
    bench.write("a.txt", "two\n");
    fs::remove_dir_all(bench.at("deep")).expect("removed");
    bench.write("made/by/agent.txt", "made\n");

    let plan = bench.checkpoints.plan_restore(&bench.root(), &before).await.expect("a plan");
    let expected =
        [("a.txt", &Change::Modified), ("deep/er/b.txt", &Change::Added), ("made/by/agent.txt", &Change::Deleted)];
    assert_eq!(changes(&plan.changes), expected);
    assert_eq!(bench.read("a.txt"), b"two\n");

    let restored = bench.restore(&before).await;
    assert_eq!((restored.undo.as_str(), restored.written, restored.deleted), (plan.present.as_str(), 2, 1));
    assert!(!bench.at("made").exists(), "folders that a restore empties go");
    assert_eq!(bench.take().await, before);

    bench.restore(&restored.undo).await;
    assert_eq!(bench.read("made/by/agent.txt"), b"made\n");
    assert_eq!(bench.take().await, restored.undo);
}

#[tokio::test]
async fn a_restore_that_cannot_be_undone_changes_nothing() {
    let bench = Bench::plain();
    bench.write("a.txt", "one\n");
    let before = bench.take().await;
    bench.write("a.txt", "two\n");
    bench.write("huge.bin", "x".repeat(2_000));
    let strict = Checkpoints::new(bench.store()).bounded(Bounds { file_bytes: 1_000, ..patient() });
    let refused = strict.restore(&bench.root(), &before).await.expect_err("refused");
    assert_eq!((refused.code(), bench.read("a.txt").as_slice()), ("checkpoint_not_taken", b"two\n".as_slice()));
    assert!(refused.to_string().contains("huge.bin is larger than 1000 bytes"), "{refused}");
}

#[tokio::test]
async fn a_restore_that_stops_half_way_says_how_to_go_back() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    bench.write("z.txt", "first\n");
    let before = bench.take().await;
    bench.write("a.txt", "b\n");
    bench.write("z.txt", "second\n");
    let present = bench.take().await;
    fs::remove_file(bench.store().join("objects/9c/59e24b8393179a5d712de4f990178df5734d99")).expect("the blob `first`");
    let broken = bench.checkpoints.restore(&bench.root(), &before).await.expect_err("half way");
    let CheckpointError::HalfRestored { undo, path, .. } = &broken else { panic!("{broken:?}") };
    assert_eq!((undo, path.as_str(), broken.code()), (&present, "z.txt", "restore_incomplete"));
    assert_eq!(bench.read("a.txt"), b"a\n");
    bench.restore(undo).await;
    assert_eq!(bench.take().await, present);
}

#[tokio::test]
async fn a_folder_with_ignored_files_is_not_replaced_by_a_file() {
    let bench = Bench::plain();
    bench.write(".gitignore", "*.log\n");
    bench.write("thing", "a file\n");
    let before = bench.take().await;
    bench.remove("thing");
    bench.write("thing/a.log", "ignored\n");
    bench.write("thing/b.txt", "b\n");
    let plan = bench.checkpoints.plan_restore(&bench.root(), &before).await.expect("a plan");
    assert_eq!(plan.kept[0].path, "thing");
    let restored = bench.restore(&before).await;
    assert_eq!((restored.deleted, restored.kept), (1, plan.kept));
    assert_eq!(bench.read("thing/a.log"), b"ignored\n");
}

#[tokio::test]
async fn a_check_out_wants_an_empty_folder() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    let taken = bench.take().await;
    let refused = bench.checkpoints.check_out(&taken, &bench.root()).await.expect_err("refused");
    assert_eq!(refused.code(), "folder_not_empty");
}

#[tokio::test]
async fn what_is_not_a_checkpoint_is_refused() {
    let bench = Bench::plain();
    let taken = bench.take().await;
    for wrong in ["--output=/tmp/x", "HEAD", "", "4b825dc"] {
        let refused = bench.checkpoints.diff(&bench.root(), &taken, wrong).await.expect_err("refused");
        assert_eq!(refused.code(), "checkpoint_id_invalid");
    }
    let unknown = "1".repeat(40);
    let root = bench.root();
    let fork = bench.folder.path().join("fork");
    let refusals = [
        bench.checkpoints.diff(&root, &taken, &unknown).await.expect_err("refused"),
        bench.checkpoints.restore(&root, &unknown).await.expect_err("refused"),
        bench.checkpoints.check_out(&unknown, &fork).await.expect_err("refused"),
    ];
    for refused in refusals {
        assert!(matches!(&refused, CheckpointError::Gone { oid } if *oid == unknown), "{refused:?}");
    }
    assert!(!fork.exists());
}

#[tokio::test]
async fn without_git_there_is_a_reason_and_a_hint() {
    let bench = Bench::plain();
    let checkpoints = Checkpoints::new(bench.store()).with_git("/nowhere/git");
    let why = left_out(checkpoints.take(&bench.root()).await);
    assert!(why.starts_with("git is not installed") && why.contains("apt install git"), "{why}");
    let refused = checkpoints.diff(&bench.root(), &"1".repeat(40), &"2".repeat(40)).await.expect_err("refused");
    assert!(matches!(refused, CheckpointError::Git(GitError::Missing)));
    assert_eq!((refused.code(), refused.hint().is_some()), ("git_missing", true));
}
