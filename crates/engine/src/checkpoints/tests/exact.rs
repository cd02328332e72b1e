//! Byte for byte, and nothing of the person's repository touched.

use super::*;

const CONVERTERS: &str = "* text=auto eol=crlf\n*.lfs filter=lfs diff=lfs merge=lfs -text\n*.id ident\n\
                          *.u16 working-tree-encoding=UTF-16\n*.lock -diff\n";

fn fill(bench: &Bench) {
    bench.write(".gitattributes", CONVERTERS);
    bench.write("unix.txt", "one\ntwo\n");
    bench.write("dos.txt", "one\r\ntwo\r\n");
    bench.write("mixed.txt", "one\r\ntwo\nthree\r");
    bench.write("big.lfs", "not a pointer\n");
    bench.write("x.id", "$Id$ $Id: 0123 $\n");
    bench.write("x.u16", [0xff_u8, 0xfe, b'a', 0, b'\r', 0, b'\n', 0]);
    bench.write("nul.bin", [0_u8, 13, 10, 255]);
    bench.write("empty", "");
    bench.write("p.lock", "locked\n");
    bench.link("/etc/hostname", "out");
    bench.link("nowhere\nat all", "dangling");
}

fn contents(bench: &Bench) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let all =
        everything(&bench.root()).into_iter().filter(|(path, _)| !path.components().any(|c| c.as_os_str() == ".git"));
    all.map(|(path, (content, mode, ..))| (path, (content, mode))).collect()
}

#[tokio::test]
async fn every_byte_comes_back_whatever_the_attributes_say() {
    for bench in [Bench::plain(), Bench::repository()] {
        fill(&bench);
        set_mode(&bench.at("dos.txt"), 0o755);
        if bench.at(".git").exists() {
            // Filters that would break everything if they ran.
            for (key, value) in
                [("filter.lfs.clean", "false"), ("filter.lfs.smudge", "false"), ("core.autocrlf", "true")]
            {
                git(&bench.root(), &["config", key, value]);
            }
            git(&bench.root(), &["config", "filter.lfs.required", "true"]);
        }
        let kept = contents(&bench);
        let before = bench.take().await;
        for name in ["unix.txt", "dos.txt", "mixed.txt", "big.lfs", "x.id", "x.u16", "nul.bin", "empty"] {
            bench.write(name, "overwritten\r\n");
        }
        set_mode(&bench.at("dos.txt"), 0o644);
        bench.remove("out");
        bench.remove("dangling");
        let after = bench.take().await;
        assert_ne!(before, after);
        let restored = bench.restore(&before).await;
        assert_eq!((restored.kept.len(), restored.undo == after), (0, true));
        assert_eq!(contents(&bench), kept);
        assert_eq!(bench.take().await, before);

        let fork = bench.folder.path().join("fork");
        assert_eq!(bench.checkpoints.check_out(&before, &fork).await.expect("checked out"), []);
        for (path, (content, mode)) in kept.iter().filter(|(path, _)| path.is_file() && !path.is_symlink()) {
            let copy = fork.join(path.strip_prefix(bench.root()).expect("below"));
            assert_eq!(&fs::read(&copy).expect("copied"), content, "{}", copy.display());
            assert_eq!(fs::metadata(&copy).expect("there").mode() & 0o111 != 0, mode & 0o111 != 0);
        }
        assert_eq!(fs::read_link(fork.join("out")).expect("a link"), Path::new("/etc/hostname"));
        assert_eq!(tree(bench.checkpoints.take(&fork).await), before);
    }
}

#[tokio::test]
async fn the_persons_repository_is_not_touched() {
    let bench = Bench::repository();
    fill(&bench);
    bench.write("staged.txt", "staged\n");
    git(&bench.root(), &["add", "staged.txt"]);
    bench.write("committed.txt", "stashed\n");
    git(&bench.root(), &["stash", "-q"]);
    bench.write("committed.txt", "changed\n");
    // A hook, a monitor and an alias that would leave a trace.
    let trace = bench.folder.path().join("trace");
    let script = format!("#!/bin/sh\ntouch {}\n", trace.display());
    for hook in ["post-index-change", "reference-transaction", "post-checkout"] {
        bench.write(format!(".git/hooks/{hook}"), &script);
        set_mode(&bench.at(format!(".git/hooks/{hook}")), 0o755);
    }
    git(&bench.root(), &["config", "core.fsmonitor", &format!("touch {}", trace.display())]);
    let before = everything(&bench.at(".git"));
    let whole = everything(&bench.root());

    let first = bench.take().await;
    assert_eq!(everything(&bench.root()), whole, "a take writes nothing below the root");
    bench.write("committed.txt", "changed again\n");
    let second = bench.take().await;
    bench.diff(&first, &second).await;
    bench.restore(&first).await;
    bench.checkpoints.prune(&[first]).await.expect("pruned");
    assert_eq!(everything(&bench.at(".git")), before);
    assert!(!trace.exists());
}

#[tokio::test]
async fn a_patch_is_made_where_the_attributes_say_binary() {
    let bench = Bench::plain();
    bench.write(".gitattributes", "*.lock -diff\n*.txt binary\n");
    let before = bench.take().await;
    bench.write("p.lock", "locked\n");
    bench.write("p.txt", "text\n");
    let files = bench.diff(&before, &bench.take().await).await;
    assert!(files.iter().all(|file| !file.binary && file.patch.is_some()));
}

#[tokio::test]
async fn private_files_stay_private() {
    let bench = Bench::plain();
    bench.write("key.pem", "secret one\n");
    set_mode(&bench.at("key.pem"), 0o600);
    let before = bench.take().await;
    bench.write("key.pem", "secret two\n");
    bench.restore(&before).await;
    assert_eq!(fs::metadata(bench.at("key.pem")).expect("there").mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(bench.store()).expect("there").mode() & 0o777, 0o700);
}
