//! Taking checkpoints and telling them apart.

use super::*;

#[tokio::test]
async fn an_unchanged_workspace_has_the_same_tree() {
    let bench = Bench::plain();
    bench.write("a/b.txt", "one\n");
    let first = bench.take().await;
    assert_eq!(first, bench.take().await);
    // Touched, not changed.
    bench.write("a/b.txt", "one\n");
    assert_eq!(first, bench.take().await);
}

#[tokio::test]
async fn a_diff_says_what_happened_to_each_file() {
    let bench = Bench::plain();
    bench.write("changed.txt", "one\ntwo\n");
    bench.write("gone.txt", "gone\n");
    bench.write("old name.txt", "a file that is long enough\nto be recognised\nunder another name\n");
    bench.write("turned", "a file\n");
    bench.write("tool.sh", "#!/bin/sh\n");
    let before = bench.take().await;
    bench.write("changed.txt", "one\nTWO\nthree\n");
    bench.remove("gone.txt");
    fs::rename(bench.at("old name.txt"), bench.at("new name.txt")).expect("renamed");
    bench.remove("turned");
    bench.link("changed.txt", "turned");
    bench.write("fresh.bin", [0_u8, 1, 2]);
    set_mode(&bench.at("tool.sh"), 0o755);
    let after = bench.take().await;

    let files = bench.diff(&before, &after).await;
    assert_eq!(
        changes(&files),
        [
            ("changed.txt", &Change::Modified),
            ("fresh.bin", &Change::Added),
            ("gone.txt", &Change::Deleted),
            ("new name.txt", &Change::Renamed { from: "old name.txt".into() }),
            ("tool.sh", &Change::Modified),
            ("turned", &Change::TypeChanged),
        ]
    );
    assert_eq!((files[0].added, files[0].removed, files[0].binary), (2, 1, false));
    let patch = files[0].patch.as_deref().expect("a patch");
    assert!(patch.starts_with("diff --git a/changed.txt b/changed.txt\n"), "{patch}");
    assert!(patch.ends_with("@@ -1,2 +1,3 @@\n one\n-two\n+TWO\n+three\n"), "{patch}");
    assert_eq!((files[1].binary, files[1].patch.as_deref()), (true, None));
    assert!(files[3].patch.as_deref().expect("a patch").contains("rename to new name.txt"));
    assert!(files[4].patch.as_deref().expect("a patch").contains("new mode 100755"));
    let turned = files[5].patch.as_deref().expect("a patch");
    assert!(turned.contains("deleted file mode 100644") && turned.contains("new file mode 120000"), "{turned}");

    let stat = bench.stat(&before, &after).await;
    assert!(stat.iter().all(|file| file.patch.is_none()));
    assert_eq!(changes(&stat), changes(&files));
}

#[tokio::test]
async fn a_content_that_looks_like_a_diff_stays_in_its_patch() {
    let bench = Bench::plain();
    let before = bench.take().await;
    bench.write("a.patch", "diff --git a/x b/x\n--- a/x\n+++ b/x\n");
    bench.write("b.txt", "b\n");
    let files = bench.diff(&before, &bench.take().await).await;
    assert!(files[0].patch.as_deref().expect("a patch").ends_with("+diff --git a/x b/x\n+--- a/x\n++++ b/x\n"));
    assert!(files[1].patch.as_deref().expect("a patch").ends_with("+b\n"));
}

#[tokio::test]
async fn a_patch_past_its_bound_is_left_out_and_counted() {
    let bench = Bench::plain();
    let before = bench.take().await;
    bench.write("long.txt", "a line of text\n".repeat(30_000));
    bench.write("z.txt", "z\n");
    let files = bench.diff(&before, &bench.take().await).await;
    assert_eq!((files[0].added, files[0].patch.as_deref()), (30_000, None));
    assert!(files[1].patch.is_some());
}

#[tokio::test]
async fn unusual_names_are_names() {
    let bench = Bench::plain();
    let names: [&[u8]; 8] =
        [b"new\nline", b"\xff\xfe", b"--leading", b" space ", b"tab\t\"quote\"", b"back\\slash", b"git~1", b"*?[glob]"];
    for name in names {
        bench.write(raw_name(name), name);
    }
    let before = bench.empty_tree().await;
    let after = bench.take().await;
    let found: Vec<String> = bench.diff(&before, &after).await.into_iter().map(|file| file.path).collect();
    assert_eq!(found.len(), names.len(), "{found:?}");
    for shown in ["new\nline", "\\xff\\xfe", "--leading", "back\\slash"] {
        assert!(found.iter().any(|path| path == shown), "{shown:?} in {found:?}");
    }
    for name in names {
        bench.remove(raw_name(name));
    }
    bench.restore(&after).await;
    for name in names {
        assert_eq!(bench.read(raw_name(name)), name);
    }
    assert_eq!(bench.take().await, after);
}

#[tokio::test]
async fn takes_of_one_root_wait_for_each_other() {
    let bench = Bench::plain();
    for number in 0..50 {
        bench.write(format!("{number}.txt"), format!("{number}\n"));
    }
    let root = bench.root();
    let takes = (0..8).map(|_| bench.checkpoints.take(&root));
    let mut taken = Vec::new();
    let mut running: Vec<_> = takes.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        running.retain_mut(|take| match take.as_mut().poll(context) {
            std::task::Poll::Ready(one) => {
                taken.push(tree(one));
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    taken.dedup();
    assert_eq!(taken.len(), 1);
}

#[tokio::test]
async fn folders_files_and_links_take_each_others_place() {
    let bench = Bench::plain();
    bench.write("a/inner.txt", "inner\n");
    bench.write("b", "b\n");
    bench.write("c/inner.txt", "c\n");
    let before = bench.take().await;
    fs::remove_dir_all(bench.at("a")).expect("removed");
    bench.write("a", "now a file\n");
    bench.remove("b");
    bench.write("b/inner.txt", "now a folder\n");
    fs::remove_dir_all(bench.at("c")).expect("removed");
    bench.link("b", "c");
    let after = bench.take().await;
    assert_eq!(bench.names(&after).await, ["a", "b/inner.txt", "c"]);
    let restored = bench.restore(&before).await;
    assert_eq!(restored.kept, []);
    assert_eq!(bench.take().await, before);
    bench.restore(&restored.undo).await;
    assert_eq!(bench.take().await, after);
}

#[tokio::test]
async fn a_damaged_index_and_a_stale_lock_are_got_over() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    let first = bench.take().await;
    let root = fs::read_dir(bench.store().join("roots")).expect("roots").next().expect("one").expect("it").path();
    fs::write(root.join("index"), "not an index").expect("damaged");
    fs::write(root.join("index.lock"), "").expect("locked");
    assert_eq!(bench.take().await, first);
    assert!(!root.join("index.lock").exists());
}

#[tokio::test]
async fn objects_that_a_power_cut_emptied_are_written_again() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    let first = bench.take().await;
    let blob = bench.store().join("objects/78/981922613b2afb6025042ff6bd878ac1994e85");
    set_mode(&blob, 0o644);
    fs::write(&blob, "").expect("emptied");
    let next_process = Checkpoints::new(bench.store()).bounded(patient());
    assert_eq!(tree(next_process.take(&bench.root()).await), first);
    bench.remove("a.txt");
    next_process.restore(&bench.root(), &first).await.expect("restored");
    assert_eq!(bench.read("a.txt"), b"a\n");
}
