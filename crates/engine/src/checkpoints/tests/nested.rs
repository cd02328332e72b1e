//! Nested repositories: recorded, not entered, not changed.

use super::*;

fn nested(bench: &Bench, name: &str) {
    fs::create_dir_all(bench.at(name)).expect("a folder");
    git(&bench.at(name), &["init", "-q"]);
    bench.write(format!("{name}/inner.txt"), "inner\n");
    git(&bench.at(name), &["add", "."]);
    git(&bench.at(name), &["commit", "-qm", "inner"]);
}

#[tokio::test]
async fn nested_repositories_are_recorded_by_their_commit() {
    let bench = Bench::plain();
    nested(&bench, "vendor/lib");
    fs::create_dir(bench.at("young")).expect("a folder");
    git(&bench.at("young"), &["init", "-q"]);
    bench.write("young/a.txt", "a\n");
    bench.write("own.txt", "own\n");
    let untouched = everything(&bench.root());
    let before = bench.take().await;
    assert_eq!(bench.names(&before).await, ["own.txt", "vendor/lib", "young"]);
    assert_eq!(before, bench.take().await);
    assert_eq!(everything(&bench.root()), untouched);

    // Uncommitted work in it is its own affair; a commit is recorded.
    bench.write("vendor/lib/inner.txt", "edited\n");
    assert_eq!(bench.take().await, before);
    git(&bench.at("vendor/lib"), &["commit", "-qam", "second"]);
    git(&bench.at("young"), &["add", "."]);
    git(&bench.at("young"), &["commit", "-qm", "first"]);
    let after = bench.take().await;
    let expected = [("vendor/lib", &Change::Modified), ("young", &Change::Modified)];
    assert_eq!(changes(&bench.stat(&before, &after).await), expected);

    let restored = bench.restore(&before).await;
    assert_eq!(restored.kept.iter().map(|kept| kept.path.as_str()).collect::<Vec<_>>(), ["vendor/lib", "young"]);
    assert_eq!(bench.read("vendor/lib/inner.txt"), b"edited\n");
}

#[tokio::test]
async fn a_submodule_is_recorded_and_its_files_are_not() {
    let bench = Bench::repository();
    let other = Bench::repository();
    git(&bench.root(), &["submodule", "--quiet", "add", other.root().to_str().expect("utf-8"), "sub"]);
    let before = everything(&bench.root());
    let taken = bench.take().await;
    assert_eq!(bench.names(&taken).await, [".gitmodules", "committed.txt", "sub"]);
    assert_eq!(everything(&bench.root()), before);
}

#[tokio::test]
async fn a_folder_that_becomes_a_repository_is_left_alone_from_then_on() {
    let bench = Bench::plain();
    bench.write("lib/a.txt", "old\n");
    bench.write("own.txt", "own\n");
    let before = bench.take().await;
    nested(&bench, "lib");
    bench.write("lib/a.txt", "new\n");
    let after = bench.take().await;
    assert_eq!(bench.names(&after).await, ["lib", "own.txt"]);
    let restored = bench.restore(&before).await;
    assert_eq!((restored.written, restored.deleted), (0, 0));
    assert_eq!(bench.read("lib/a.txt"), b"new\n");

    // And one that ceases to be is a folder again, whose files a restore does not delete.
    fs::remove_dir_all(bench.at("lib/.git")).expect("removed");
    let plain = bench.take().await;
    assert_eq!(bench.names(&plain).await, ["lib/a.txt", "lib/inner.txt", "own.txt"]);
    let restored = bench.restore(&after).await;
    assert_eq!((restored.deleted, restored.kept.len()), (0, 3));
    assert!(bench.at("lib/inner.txt").exists());
}

#[tokio::test]
async fn a_file_that_becomes_a_repository_is_recorded_at_once() {
    let bench = Bench::plain();
    bench.write("thing", "a file\n");
    let before = bench.take().await;
    bench.remove("thing");
    nested(&bench, "thing");
    let after = bench.take().await;
    assert_eq!(changes(&bench.stat(&before, &after).await), [("thing", &Change::TypeChanged)]);
    bench.restore(&before).await;
    assert!(bench.at("thing/inner.txt").exists());
}

#[tokio::test]
async fn a_nested_repository_is_an_empty_folder_in_a_fork() {
    let bench = Bench::plain();
    nested(&bench, "lib");
    bench.write("own.txt", "own\n");
    let taken = bench.take().await;
    let fork = bench.folder.path().join("fork");
    bench.checkpoints.check_out(&taken, &fork).await.expect("checked out");
    assert_eq!(fs::read_dir(fork.join("lib")).expect("a folder").count(), 0);
}
