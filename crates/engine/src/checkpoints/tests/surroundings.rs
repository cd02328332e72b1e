//! What stands around a workspace and in it: ignore files, repositories, links, missing folders.

use super::*;

#[tokio::test]
async fn ignored_files_are_not_recorded_and_not_deleted() {
    let bench = Bench::repository();
    bench.write(".gitignore", "target/\n*.log\n");
    bench.write(".git/info/exclude", "private.txt\n");
    bench.write("deep/.gitignore", "!kept.log\n");
    for name in ["target/out", "a.log", "private.txt", "deep/kept.log", "deep/b.log", "src.rs"] {
        bench.write(name, "x\n");
    }
    let before = bench.take().await;
    let expected = [".gitignore", "committed.txt", "deep/.gitignore", "deep/kept.log", "src.rs"];
    assert_eq!(bench.names(&before).await, expected);
    bench.write("new.rs", "new\n");
    bench.write("deep/c.log", "ignored\n");
    let restored = bench.restore(&before).await;
    assert_eq!((restored.deleted, restored.written, restored.kept.len()), (1, 0, 0));
    for name in ["target/out", "a.log", "private.txt", "deep/b.log", "deep/c.log"] {
        assert!(bench.at(name).exists(), "{name}");
    }
}

#[tokio::test]
async fn what_the_repository_records_is_recorded_even_if_it_is_ignored() {
    let bench = Bench::repository();
    bench.write(".gitignore", "dist/\n");
    bench.write("dist/kept.js", "kept\n");
    bench.write("dist/other.js", "other\n");
    git(&bench.root(), &["add", "-f", "dist/kept.js"]);
    let before_git = everything(&bench.at(".git"));
    let before = bench.take().await;
    assert_eq!(bench.names(&before).await, [".gitignore", "committed.txt", "dist/kept.js"]);
    bench.write("dist/kept.js", "changed\n");
    let after = bench.take().await;
    assert_eq!(changes(&bench.stat(&before, &after).await), [("dist/kept.js", &Change::Modified)]);
    bench.restore(&before).await;
    assert_eq!(bench.read("dist/kept.js"), b"kept\n");
    assert_eq!(everything(&bench.at(".git")), before_git);
    // Once the repository lets go of it, it is an ignored file like any other.
    git(&bench.root(), &["rm", "-q", "--cached", "dist/kept.js"]);
    assert_eq!(bench.names(&bench.take().await).await, [".gitignore", "committed.txt"]);
}

#[tokio::test]
async fn what_becomes_ignored_leaves_the_checkpoints_and_is_never_overwritten() {
    let bench = Bench::plain();
    bench.write("settings.json", "old\n");
    let before = bench.take().await;
    bench.write(".gitignore", "settings.json\n");
    bench.write("settings.json", "only here\n");
    let after = bench.take().await;
    assert_eq!(bench.names(&after).await, [".gitignore"]);
    let plan = bench.checkpoints.plan_restore(&bench.root(), &before).await.expect("a plan");
    assert_eq!(changes(&plan.changes), [(".gitignore", &Change::Deleted)]);
    assert_eq!(plan.kept[0].path, "settings.json");
    let restored = bench.restore(&before).await;
    assert_eq!(restored.kept, plan.kept);
    assert_eq!(bench.read("settings.json"), b"only here\n");
}

#[tokio::test]
async fn a_subfolder_of_a_repository_is_a_workspace() {
    let bench = Bench::repository();
    bench.write(".gitignore", "node_modules/\n/packages/app/dist/\n");
    bench.write("outside.txt", "outside\n");
    bench.write("packages/app/main.js", "main\n");
    bench.write("packages/app/node_modules/x.js", "x\n");
    bench.write("packages/app/dist/out.js", "out\n");
    let app = bench.at("packages/app");
    let before = tree(bench.checkpoints.take(&app).await);
    assert_eq!(bench.names(&before).await, ["main.js"]);
    fs::write(app.join("main.js"), "changed\n").expect("written");
    fs::write(app.join("-new"), "new\n").expect("written");
    let after = tree(bench.checkpoints.take(&app).await);
    assert_eq!(bench.names(&after).await, ["-new", "main.js"]);
    bench.write("outside.txt", "changed\n");
    bench.checkpoints.restore(&app, &before).await.expect("restored");
    assert_eq!(bench.read("packages/app/main.js"), b"main\n");
    assert_eq!(bench.read("outside.txt"), b"changed\n");
    assert!(!app.join("-new").exists());
    // With nothing left in it.
    fs::remove_file(app.join("main.js")).expect("removed");
    assert_eq!(tree(bench.checkpoints.take(&app).await), bench.empty_tree().await);
}

#[tokio::test]
async fn a_root_that_its_repository_ignores_stands_alone() {
    let bench = Bench::repository();
    bench.write(".gitignore", "*\n");
    bench.write("project/main.rs", "main\n");
    bench.write("project/.gitignore", "out\n");
    bench.write("project/out", "out\n");
    let taken = tree(bench.checkpoints.take(&bench.at("project")).await);
    assert_eq!(bench.names(&taken).await, [".gitignore", "main.rs"]);
}

#[tokio::test]
async fn a_linked_worktree_is_a_workspace() {
    let bench = Bench::repository();
    bench.write(".git/info/exclude", "secret\n");
    let linked = bench.folder.path().join("linked");
    git(&bench.root(), &["worktree", "add", "-q", linked.to_str().expect("utf-8")]);
    fs::write(linked.join("secret"), "s\n").expect("written");
    let before = everything(&bench.at(".git"));
    let taken = tree(bench.checkpoints.take(&linked).await);
    assert_eq!(bench.names(&taken).await, ["committed.txt"]);
    assert_eq!(everything(&bench.at(".git")), before);
    // Two roots of one store compare.
    assert_eq!(taken, bench.take().await);
}

#[tokio::test]
async fn links_are_recorded_and_never_followed() {
    let bench = Bench::plain();
    let outside = bench.folder.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("precious.txt"), "precious\n").expect("written");
    bench.write("dir/precious.txt", "inside\n");
    let before = bench.take().await;
    fs::remove_dir_all(bench.at("dir")).expect("removed");
    bench.link(&outside, "dir");
    let after = bench.take().await;
    assert_eq!(bench.names(&after).await, ["dir"]);
    bench.restore(&before).await;
    assert_eq!(bench.read("dir/precious.txt"), b"inside\n");
    assert_eq!(fs::read(outside.join("precious.txt")).expect("there"), b"precious\n");

    // An ignored link stays, and nothing is written through it.
    fs::remove_dir_all(bench.at("dir")).expect("removed");
    bench.write(".gitignore", "dir\n");
    bench.link(&outside, "dir");
    let restored = bench.restore(&before).await;
    assert_eq!(restored.kept[0].path, "dir/precious.txt");
    assert_eq!(fs::read(outside.join("precious.txt")).expect("there"), b"precious\n");
}

#[tokio::test]
async fn empty_folders_and_special_files_do_not_matter() {
    let bench = Bench::plain();
    fs::create_dir_all(bench.at("empty/inner")).expect("folders");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.at("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a fifo");
    let before = bench.take().await;
    assert_eq!(before, bench.empty_tree().await);
    bench.write("empty/inner/a.txt", "a\n");
    bench.restore(&before).await;
    assert!(!bench.at("empty/inner/a.txt").exists());
}

#[tokio::test]
async fn the_store_inside_the_root_is_not_recorded() {
    let bench = Bench::plain();
    let home = bench.at("home [of] *");
    let checkpoints = Checkpoints::new(home.join("checkpoints/w")).bounded(patient()).sparing(home.join("db"));
    bench.write("home [of] */db/events.sqlite", "db\n");
    bench.write("home [of] */config.toml", "config\n");
    let first = tree(checkpoints.take(&bench.root()).await);
    assert_eq!(first, tree(checkpoints.take(&bench.root()).await));
    let empty = tree(checkpoints.take(&bench.at("home [of] */db")).await);
    let names = checkpoints.stat(&bench.root(), &empty, &first).await.expect("a diff");
    assert_eq!(changes(&names).iter().filter(|(path, _)| *path == "home [of] */config.toml").count(), 1);
    assert!(!names.iter().any(|file| file.path.contains("checkpoints")));
}

#[tokio::test]
async fn a_missing_root_is_left_out_with_the_reason() {
    let bench = Bench::plain();
    let nowhere = bench.at("nowhere");
    let why = left_out(bench.checkpoints.take(&nowhere).await);
    assert_eq!(why, format!("{} is not there", nowhere.display()));
    bench.write("file", "f\n");
    assert!(left_out(bench.checkpoints.take(&bench.at("file")).await).contains("not a directory"));
}

#[tokio::test]
async fn a_read_only_root_is_recorded() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    set_mode(&bench.at("a.txt"), 0o444);
    set_mode(&bench.root(), 0o555);
    let taken = bench.take().await;
    set_mode(&bench.root(), 0o755);
    assert_eq!(bench.names(&taken).await, ["a.txt"]);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_is_a_reason() {
    let bench = Bench::plain();
    bench.write("file", "not a folder\n");
    let checkpoints = Checkpoints::new(bench.at("file/store"));
    assert!(left_out(checkpoints.take(&bench.root()).await).contains("file/store"));
}

#[tokio::test]
async fn unreadable_files_are_passed_over_and_named() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    bench.write("sealed.txt", "sealed\n");
    set_mode(&bench.at("sealed.txt"), 0);
    let readable = fs::read(bench.at("sealed.txt")).is_ok();
    let Taken::Tree { oid, passed_over } = bench.checkpoints.take(&bench.root()).await else { panic!("left out") };
    if readable {
        // The superuser reads everything.
        assert_eq!(passed_over, []);
        return;
    }
    assert_eq!(passed_over[0].path, "sealed.txt");
    assert_eq!(bench.names(&oid).await, ["a.txt"]);
    // A file that was recorded before: its content would be a guess.
    set_mode(&bench.at("a.txt"), 0);
    assert_eq!(left_out(bench.checkpoints.take(&bench.root()).await), "a.txt cannot be read any more");
    // Recorded once and unreadable now: a restore would overwrite what nobody kept, so it is refused.
    let refused = bench.checkpoints.restore(&bench.root(), &oid).await.expect_err("refused");
    assert_eq!(refused.code(), "checkpoint_not_taken");
}
