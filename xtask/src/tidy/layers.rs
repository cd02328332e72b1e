//! Rule: dependencies point downward only, read from the Cargo manifests.
//!
//! `cli → server → engine → {store, acp, keeper, channels} → model`; `api` knows at most the model.
//! The table in [`may_use`] is the architecture: an edge that is not in it is a finding. Refuses to
//! guess for a folder that is not in the table, so that a new crate is placed on purpose.

use super::{Finding, Text};

const PREFIX: &str = "throughline-";

/// Crates that do no IO and read no clock: all that `model` may have.
const PURE: &[&str] = &["regex-lite", "serde", "serde_json", "sha2", "thiserror", "tinystr", "uuid"];

/// What the model's tests may have on top of [`PURE`].
const PURE_IN_TESTS: &[&str] = &["insta", "proptest"];

/// Which sort of dependency table an entry stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Normal,
    Dev,
    Build,
}

struct Edge {
    package: String,
    sort: Sort,
    line: usize,
}

pub(crate) fn check(manifests: &[Text]) -> Vec<Finding> {
    manifests.iter().flat_map(check_manifest).collect()
}

fn check_manifest(text: &Text) -> Vec<Finding> {
    let Some(folder) = text.path.strip_suffix("/Cargo.toml").and_then(|p| p.rsplit('/').next()) else {
        return Vec::new();
    };
    let manifest: toml::Table = match text.content.parse() {
        Ok(manifest) => manifest,
        Err(error) => {
            let what = format!("is not valid TOML: {}", error.message());
            return vec![Finding::error(&text.path, 1, what, "correct the manifest")];
        }
    };
    let mut findings: Vec<Finding> = check_name(text, folder, &manifest).into_iter().collect();
    let Some(below) = may_use(folder) else {
        findings.push(Finding::error(
            &text.path,
            1,
            format!("the crate `{folder}` has no place in the layers"),
            "give it a line in `may_use` in xtask/src/tidy/layers.rs, and one in ARCHITECTURE.md",
        ));
        return findings;
    };
    findings.extend(edges(&manifest, &text.content).iter().filter_map(|edge| {
        let (what, todo) = fault(folder, below, edge)?;
        Some(Finding::error(&text.path, edge.line, what, todo))
    }));
    findings
}

fn check_name(text: &Text, folder: &str, manifest: &toml::Table) -> Option<Finding> {
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let expected = if folder == "xtask" { folder.to_owned() } else { format!("{PREFIX}{folder}") };
    (name != expected).then(|| {
        Finding::error(
            &text.path,
            line_of(&text.content, name),
            format!("the package is called `{name}`"),
            &format!("name it `{expected}`, after its folder"),
        )
    })
}

/// The Throughline crates that a crate may depend on. `None`: the crate is not placed yet.
fn may_use(folder: &str) -> Option<&'static [&'static str]> {
    Some(match folder {
        "model" => &[],
        "api" | "store" | "acp" | "keeper" | "channels" => &["model"],
        "engine" => &["model", "store", "acp", "keeper", "channels"],
        // The built page as bytes: it knows nobody.
        "web" => &[],
        "server" => &["model", "store", "acp", "keeper", "channels", "engine", "api", "web"],
        "cli" => &["model", "store", "acp", "keeper", "channels", "engine", "api", "server"],
        "testkit" => &["model", "store", "acp", "keeper", "channels", "engine", "api"],
        "xtask" => &["model", "store", "acp", "keeper", "channels", "engine", "api", "server", "testkit"],
        // Measures everything from outside; nothing uses it.
        "bench" => &["model", "store", "acp", "keeper", "channels", "engine", "api", "server", "testkit"],
        _ => return None,
    })
}

fn fault(folder: &str, below: &[&str], edge: &Edge) -> Option<(String, &'static str)> {
    let package = edge.package.as_str();
    let what = format!("`{folder}` depends on `{package}`");
    if folder == "model" {
        let pure = PURE.contains(&package) || (edge.sort == Sort::Dev && PURE_IN_TESTS.contains(&package));
        return (!pure).then_some((
            what,
            "model is pure: move the code that needs it to the engine, or add a crate that does \
             no IO to `PURE` in xtask/src/tidy/layers.rs",
        ));
    }
    if package.starts_with("agent-client-protocol") && folder != "acp" {
        return Some((what, "only acp knows the protocol: ask it for a type of ours"));
    }
    let target = package.strip_prefix(PREFIX)?;
    // A crate's tests may turn on a feature of their own crate.
    if (target == "testkit" || target == folder) && edge.sort == Sort::Dev {
        return None;
    }
    if target == "testkit" && !matches!(folder, "xtask" | "bench") {
        return Some((what, "testkit is for tests: move the line to [dev-dependencies]"));
    }
    if target == "cli" {
        return Some((what, "nothing depends on cli: move what is shared to a lower layer"));
    }
    (!below.contains(&target)).then_some((
        what,
        "dependencies point downward only (cli → server → engine → {store, acp, keeper, channels} \
         → model): move the code, or turn the need into a type or trait below",
    ))
}

fn edges(manifest: &toml::Table, content: &str) -> Vec<Edge> {
    let mut found = Vec::new();
    collect(manifest, content, &mut found);
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    for target in targets.into_iter().flat_map(toml::Table::values) {
        if let Some(table) = target.as_table() {
            collect(table, content, &mut found);
        }
    }
    found
}

fn collect(table: &toml::Table, content: &str, found: &mut Vec<Edge>) {
    let sorts = [("dependencies", Sort::Normal), ("dev-dependencies", Sort::Dev), ("build-dependencies", Sort::Build)];
    for (key, sort) in sorts {
        let entries = table.get(key).and_then(toml::Value::as_table);
        for (name, value) in entries.into_iter().flatten() {
            let renamed = value.get("package").and_then(toml::Value::as_str);
            let package = renamed.unwrap_or(name).to_owned();
            found.push(Edge { package, sort, line: line_of(content, name) });
        }
    }
}

/// The first line that starts with the key. The TOML tables keep no positions, and a name that
/// stands in two tables is rare enough for the first to do.
fn line_of(content: &str, needle: &str) -> usize {
    let starts = |line: &str| {
        line.trim_start()
            .trim_start_matches('"')
            .strip_prefix(needle)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
    };
    content
        .lines()
        .position(starts)
        .or_else(|| content.lines().position(|line| line.contains(needle)))
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(folder: &str, rest: &str) -> Text {
        let path = if folder == "xtask" { String::new() } else { "crates/".to_owned() };
        let prefix = if folder == "xtask" { "" } else { PREFIX };
        Text {
            path: format!("{path}{folder}/Cargo.toml"),
            content: format!("[package]\nname = \"{prefix}{folder}\"\n{rest}"),
        }
    }

    fn faults(folder: &str, rest: &str) -> Vec<(usize, String)> {
        check(&[manifest(folder, rest)]).into_iter().map(|f| (f.line, f.what)).collect()
    }

    fn depends(folder: &str, table: &str, package: &str) -> bool {
        faults(folder, &format!("[{table}]\n{package} = {{ workspace = true }}\n")).is_empty()
    }

    #[test]
    fn the_layers_of_the_design_are_allowed() {
        for (from, to) in [
            ("cli", "server"),
            ("cli", "model"),
            ("server", "engine"),
            ("server", "api"),
            ("engine", "store"),
            ("engine", "acp"),
            ("engine", "keeper"),
            ("engine", "channels"),
            ("store", "model"),
            ("api", "model"),
            ("xtask", "testkit"),
            ("bench", "store"),
            ("bench", "api"),
            ("bench", "testkit"),
        ] {
            assert!(depends(from, "dependencies", &format!("throughline-{to}")), "{from} → {to}");
        }
    }

    #[test]
    fn upward_and_sideways_edges_are_found() {
        for (from, to) in [
            ("model", "store"),
            ("store", "engine"),
            ("store", "acp"),
            ("engine", "server"),
            ("engine", "api"),
            ("api", "engine"),
            ("channels", "engine"),
            ("server", "cli"),
            ("xtask", "cli"),
            ("testkit", "cli"),
            ("xtask", "bench"),
            ("cli", "bench"),
            ("store", "bench"),
        ] {
            let package = format!("throughline-{to}");
            assert!(!depends(from, "dependencies", &package), "{from} → {to}");
            assert!(!depends(from, "dev-dependencies", &package), "{from} → {to} in tests");
        }
    }

    #[test]
    fn the_model_takes_pure_crates_only() {
        assert!(depends("model", "dependencies", "serde_json"));
        assert!(depends("model", "dev-dependencies", "proptest"));
        assert!(!depends("model", "dependencies", "proptest"));
        for package in ["tokio", "rusqlite", "axum", "getrandom", "throughline-testkit"] {
            assert!(!depends("model", "dependencies", package), "{package}");
            assert!(!depends("model", "dev-dependencies", package), "{package} in tests");
        }
    }

    #[test]
    fn a_crates_tests_may_turn_on_its_own_features() {
        assert!(depends("store", "dev-dependencies", "throughline-store"));
    }

    #[test]
    fn testkit_is_for_tests() {
        assert!(depends("store", "dev-dependencies", "throughline-testkit"));
        assert!(!depends("cli", "dependencies", "throughline-testkit"));
        assert!(!depends("cli", "build-dependencies", "throughline-testkit"));
    }

    #[test]
    fn only_acp_knows_the_protocol() {
        assert!(depends("acp", "dependencies", "agent-client-protocol-schema"));
        assert!(!depends("engine", "dependencies", "agent-client-protocol-schema"));
        assert!(!depends("testkit", "dependencies", "agent-client-protocol"));
    }

    #[test]
    fn a_renamed_or_targeted_dependency_is_seen_through() {
        let rest =
            "[target.'cfg(unix)'.dependencies]\nbase = { package = \"throughline-engine\", path = \"../engine\" }\n";
        assert_eq!(faults("store", rest), [(4, "`store` depends on `throughline-engine`".to_owned())]);
    }

    #[test]
    fn an_unplaced_crate_and_a_wrong_name_are_found() {
        assert_eq!(faults("attic", ""), [(1, "the crate `attic` has no place in the layers".to_owned())]);
        let text =
            Text { path: "crates/store/Cargo.toml".to_owned(), content: "[package]\nname = \"store\"\n".to_owned() };
        assert_eq!(check(&[text])[0].what, "the package is called `store`");
    }

    #[test]
    fn a_broken_manifest_is_a_finding() {
        assert!(faults("store", "[[[").first().is_some_and(|(_, what)| what.contains("TOML")));
    }
}
