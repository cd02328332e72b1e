//! Builds the page of `web/` with npm and Vite into `OUT_DIR`, and lists its files for the crate.
//!
//! `THROUGHLINE_WEB=build` builds it, `THROUGHLINE_WEB=placeholder` embeds a page that only says so. Without the
//! variable optimised profiles (`quick`, `release`) build it, and development and test builds take the placeholder, so
//! that nobody waits for npm on each `cargo clippy`.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

type Outcome<T> = Result<T, String>;

const PLACEHOLDER: &str = "<!doctype html><html lang=\"en\"><title>Throughline</title><p>This build has no web page: \
                           build with THROUGHLINE_WEB=build, or with --profile quick.</p></html>\n";
/// What the page is made of, besides its lock file.
const SOURCES: &[&str] =
    &["src", "public", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts"];

fn main() {
    if let Err(error) = run() {
        // Cargo shows what a failed build script prints to stderr.
        eprintln!("error: the web page cannot be built: {error}");
        eprintln!("hint: install node 20 or newer with npm, or build without the page: THROUGHLINE_WEB=placeholder");
        std::process::exit(1);
    }
}

fn run() -> Outcome<()> {
    println!("cargo::rerun-if-env-changed=THROUGHLINE_WEB");
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let dist = out.join("dist");
    let _ = fs::remove_dir_all(&dist);
    let wish = std::env::var("THROUGHLINE_WEB").unwrap_or_default();
    let optimised = variable("PROFILE")? == "release";
    match wish.as_str() {
        "placeholder" => placeholder(&dist)?,
        "build" => build(&dist)?,
        "" if optimised => build(&dist)?,
        "" => placeholder(&dist)?,
        other => return Err(format!("THROUGHLINE_WEB is `{other}`, and not `build` or `placeholder`")),
    }
    fs::write(out.join("assets.rs"), listing(&dist)?).map_err(|error| error.to_string())
}

fn variable(name: &str) -> Outcome<String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}"))
}

fn placeholder(dist: &Path) -> Outcome<()> {
    fs::create_dir_all(dist).map_err(|error| error.to_string())?;
    fs::write(dist.join("index.html"), PLACEHOLDER).map_err(|error| error.to_string())
}

fn build(dist: &Path) -> Outcome<()> {
    let web = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../../web");
    let web = web.canonicalize().map_err(|error| format!("{}: {error}", web.display()))?;
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    install(&web)?;
    npm(&web, &["run", "--silent", "build", "--", "--outDir", &dist.display().to_string()])
}

/// Installs what the lock file says, unless that was done. Whoever has the tools for tests there keeps them.
fn install(web: &Path) -> Outcome<()> {
    let lock = fs::read(web.join("package-lock.json")).map_err(|error| format!("package-lock.json: {error}"))?;
    let stamp = web.join("node_modules/.installed-lock.json");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let mut args = vec!["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
    if !web.join("node_modules/typescript").exists() {
        args.push("--omit=dev");
    }
    npm(web, &args)?;
    fs::write(&stamp, lock).map_err(|error| format!("{}: {error}", stamp.display()))
}

#[expect(clippy::disallowed_methods, reason = "a build script starts what it builds with")]
fn npm(folder: &Path, args: &[&str]) -> Outcome<()> {
    let shown = format!("npm {}", args.join(" "));
    let ran = Command::new("npm").args(args).current_dir(folder).output();
    let ran = ran.map_err(|error| format!("`{shown}`: {error}"))?;
    if ran.status.success() {
        return Ok(());
    }
    let said = [ran.stdout, ran.stderr].concat();
    Err(format!("`{shown}` in {} failed ({}):\n{}", folder.display(), ran.status, String::from_utf8_lossy(&said)))
}

/// The table that the crate includes. A file's `.gz` beside it is its compressed form.
fn listing(dist: &Path) -> Outcome<String> {
    let mut files = vec![];
    collect(dist, &mut files).map_err(|error| format!("{}: {error}", dist.display()))?;
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .filter_map(|file| Some((file.strip_prefix(dist).ok()?.to_str()?.replace('\\', "/"), file.clone())))
        .collect();
    named.sort();
    let mut table = String::from("const ASSETS: &[Asset] = &[\n");
    for (path, file) in named.iter().filter(|(path, _)| !path.ends_with(".gz")) {
        let bytes = fs::read(file).map_err(|error| format!("{path}: {error}"))?;
        let mut hash = DefaultHasher::new();
        hash.write(&bytes);
        let gzip = match named.iter().find(|(other, _)| *other == format!("{path}.gz")) {
            Some((_, squeezed)) => format!("Some(include_bytes!({squeezed:?}))"),
            None => "None".to_owned(),
        };
        let (mime, etag) = (mime(path), format!("\"{:016x}\"", hash.finish()));
        let _ = writeln!(
            table,
            "    Asset {{ path: {path:?}, mime: {mime:?}, bytes: include_bytes!({file:?}), gzip: {gzip}, etag: {etag:?} }},"
        );
    }
    table.push_str("];\n");
    Ok(table)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn mime(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        "webmanifest" => "application/manifest+json",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}
