//! Removing what nothing needs.

use super::*;

#[tokio::test]
async fn pruning_keeps_what_is_named_and_frees_the_rest() {
    let bench = Bench::plain();
    let noise = |seed: u64| -> Vec<u8> {
        let step = |state: u64| state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed);
        std::iter::successors(Some(seed), |state| Some(step(*state)))
            .map(|state| (state >> 33) as u8)
            .take(300_000)
            .collect()
    };
    bench.write("a.bin", noise(1));
    let kept = bench.take().await;
    bench.write("a.bin", noise(2));
    let dropped = bench.take().await;
    bench.write("a.bin", noise(3));
    let present = bench.take().await;
    let before = bench.checkpoints.size().await.expect("a size");
    let unknown = "2".repeat(40);
    let freed = bench.checkpoints.prune(&[kept.clone(), unknown]).await.expect("pruned");
    assert!((250_000..400_000).contains(&freed.bytes), "{freed:?}");
    assert_eq!(bench.checkpoints.size().await.expect("a size"), before - freed.bytes);
    let refused = bench.checkpoints.diff(&bench.root(), &kept, &dropped).await.expect_err("gone");
    assert_eq!(refused.code(), "checkpoint_gone");
    // The present state stays, because the index builds on it.
    assert_eq!(bench.take().await, present);
    bench.restore(&kept).await;
    assert_eq!(bench.read("a.bin"), noise(1));
    assert_eq!(bench.take().await, kept);
    let freed = bench.checkpoints.prune(&[kept]).await.expect("pruned");
    assert!((250_000..400_000).contains(&freed.bytes), "{freed:?}");
}

#[tokio::test]
async fn the_last_state_of_a_root_that_went_goes_too() {
    let bench = Bench::plain();
    let fork = bench.folder.path().join("fork");
    fs::create_dir(&fork).expect("a fork");
    fs::write(fork.join("only-there.txt"), "x\n").expect("written");
    let gone = tree(bench.checkpoints.take(&fork).await);
    fs::remove_dir_all(&fork).expect("removed");
    let present = bench.take().await;
    bench.checkpoints.prune(&[]).await.expect("pruned");
    let refused = bench.checkpoints.stat(&bench.root(), &present, &gone).await.expect_err("gone");
    assert_eq!(refused.code(), "checkpoint_gone");
    assert_eq!(fs::read_dir(bench.store().join("roots")).expect("roots").count(), 1);
}

#[tokio::test]
async fn pruning_nothing_is_nothing() {
    let bench = Bench::plain();
    assert_eq!(bench.checkpoints.prune(&[]).await.expect("pruned").bytes, 0);
    assert_eq!(bench.checkpoints.size().await.expect("a size"), 0);
    assert!(!bench.store().exists());
}

#[tokio::test]
async fn a_subfolder_survives_pruning() {
    let bench = Bench::repository();
    bench.write("packages/app/main.js", "main\n");
    let app = bench.at("packages/app");
    let taken = tree(bench.checkpoints.take(&app).await);
    bench.checkpoints.prune(&[]).await.expect("pruned");
    assert_eq!(tree(bench.checkpoints.take(&app).await), taken);
    fs::remove_file(app.join("main.js")).expect("removed");
    bench.checkpoints.restore(&app, &taken).await.expect("restored");
    assert_eq!(bench.read("packages/app/main.js"), b"main\n");
}
