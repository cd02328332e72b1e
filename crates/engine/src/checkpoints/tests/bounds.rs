//! What a checkpoint may cost, and that nothing is left of one that would cost more.

use std::io::Read;

use tokio::time::Instant;

use super::*;

fn strict(bench: &Bench, bounds: Bounds) -> Checkpoints {
    Checkpoints::new(bench.store()).bounded(bounds)
}

#[tokio::test]
async fn a_large_file_leaves_the_checkpoint_out() {
    let bench = Bench::plain();
    bench.write("fine.txt", "fine\n");
    bench.write("model/weights.bin", vec![7; 20_000]);
    let checkpoints = strict(&bench, Bounds { file_bytes: 10_240, ..patient() });
    assert_eq!(left_out(checkpoints.take(&bench.root()).await), "model/weights.bin is larger than 10 KB");
    bench.write(".gitignore", "model/\n");
    tree(checkpoints.take(&bench.root()).await);
}

#[tokio::test]
async fn only_new_content_counts() {
    let bench = Bench::plain();
    let checkpoints = strict(&bench, Bounds { new_bytes: 30_000, ..patient() });
    for number in 0..4 {
        bench.write(format!("{number}.bin"), vec![number; 20_000]);
        tree(checkpoints.take(&bench.root()).await);
    }
    bench.write("5.bin", vec![5; 20_000]);
    bench.write("6.bin", vec![6; 20_000]);
    assert_eq!(left_out(checkpoints.take(&bench.root()).await), "more than 29 KB are new");
}

/// A git whose `update-index` takes the lock, starts a child of its own and hangs; all of them hold the pipe `held`,
/// into which it says one byte when its child runs.
fn hanging_git(bench: &Bench, held: &Path) -> PathBuf {
    let script = bench.folder.path().join("git");
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in *' update-index '*)\n  exec 9>'{}'\n  : > \"$GIT_INDEX_FILE.lock\"\n  \
         sleep 1000 &\n  printf x >&9\n  wait;;\nesac\nexec git \"$@\"\n",
        held.display()
    );
    fs::write(&script, text).expect("a script");
    set_mode(&script, 0o755);
    script
}

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a fifo");
}

/// Ends when the last process that holds the pipe has ended.
fn all_ended(held: PathBuf) -> tokio::task::JoinHandle<()> {
    tokio::task::spawn_blocking(move || {
        let mut pipe = fs::File::open(held).expect("opened");
        assert_eq!(pipe.read_to_end(&mut Vec::new()).expect("read"), 1);
    })
}

#[tokio::test]
async fn a_time_out_leaves_no_process_and_no_lock() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    let empty = bench.empty_tree().await;
    let held = bench.folder.path().join("held");
    fifo(&held);
    let ended = all_ended(held.clone());
    let bounds = Bounds { time: Duration::from_secs(2), ..Bounds::default() };
    let checkpoints = strict(&bench, bounds).with_git(hanging_git(&bench, &held));
    let started = Instant::now();
    let why = left_out(checkpoints.take(&bench.root()).await);
    assert_eq!(why, "it would take longer than 2.0 s");
    assert!(started.elapsed() < Duration::from_secs(10));
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("every process ended").expect("read");
    let locks = everything(&bench.store()).into_keys().filter(|path| path.extension() == Some(OsStr::new("lock")));
    assert_eq!(locks.count(), 0);
    let after = bench.take().await;
    assert_eq!(changes(&bench.stat(&empty, &after).await), [("a.txt", &Change::Added)]);
}

#[tokio::test]
async fn a_take_that_is_given_up_leaves_no_process() {
    let bench = Bench::plain();
    bench.write("a.txt", "a\n");
    let held = bench.folder.path().join("held");
    fifo(&held);
    let checkpoints = strict(&bench, patient()).with_git(hanging_git(&bench, &held));
    let root = bench.root();
    let opened = tokio::task::spawn_blocking(move || {
        let mut pipe = fs::File::open(held).expect("opened");
        pipe.read_exact(&mut [0]).expect("the byte that says that it hangs");
        pipe
    });
    let mut pipe = tokio::select! {
        taken = checkpoints.take(&root) => panic!("it hangs, but: {taken:?}"),
        pipe = opened => pipe.expect("opened"),
    };
    let ended = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut Vec::new()).expect("read"));
    let ended = tokio::time::timeout(Duration::from_secs(10), ended).await.expect("every process ended");
    assert_eq!(ended.expect("read"), 0);
    bench.take().await;
}

/// Ten thousand files: the figures are printed, the second take must be far below the bound.
#[tokio::test]
async fn a_second_take_of_many_files_is_quick() {
    let bench = Bench::plain();
    for folder in 0..200 {
        for file in 0..50 {
            let line = format!("fn f{folder}_{file}() {{ let number = {file}; }}\n");
            bench.write(format!("d{}/s{folder}/f{file}.rs", folder / 20), line.repeat(40));
        }
    }
    let started = Instant::now();
    let first = bench.take().await;
    let first_took = started.elapsed();
    let started = Instant::now();
    assert_eq!(bench.take().await, first);
    let second_took = started.elapsed();
    bench.write("d3/s70/f7.rs", "changed\n");
    let started = Instant::now();
    let third = bench.take().await;
    let third_took = started.elapsed();
    let started = Instant::now();
    assert_eq!(bench.diff(&first, &third).await.len(), 1);
    let diff_took = started.elapsed();
    let size = bench.checkpoints.size().await.expect("a size");
    println!(
        "10k files: {first_took:?}, unchanged {second_took:?}, one changed {third_took:?}, diff {diff_took:?}, {size} bytes"
    );
    assert!(second_took < Duration::from_secs(2), "{second_took:?}");
    assert_eq!(bench.names(&third).await.len(), 10_000);
}

#[tokio::test]
async fn a_first_take_that_was_left_out_for_its_time_goes_on_next_time() {
    let bench = Bench::plain();
    for number in 0..4_500 {
        bench.write(format!("{}/{number}.txt", number % 30), format!("{number}\n"));
    }
    // A git that gives up at the third batch.
    let script = bench.folder.path().join("git");
    let count = bench.folder.path().join("count");
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in *' --stdin '*|*' --stdin') case \" $* \" in *' update-index '*)\n  echo >> '{0}'\n  \
         [ $(wc -l < '{0}') -ge 3 ] && {{ kill -STOP $$; }};;\nesac;; esac\nexec git \"$@\"\n",
        count.display()
    );
    fs::write(&script, text).expect("a script");
    set_mode(&script, 0o755);
    let bounds = Bounds { time: Duration::from_secs(5), ..Bounds::default() };
    let stopped = strict(&bench, bounds).with_git(&script).take(&bench.root()).await;
    assert!(left_out(stopped).contains("longer than"));
    let packs = fs::read_dir(bench.store().join("objects/pack")).expect("packs").count();
    assert_eq!(packs, 4, "two batches, each a pack and its index");
    assert_eq!(bench.names(&bench.take().await).await.len(), 4_500);
    assert_eq!(fs::read_dir(bench.store().join("objects/pack")).expect("packs").count(), 6);
}
