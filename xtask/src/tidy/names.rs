//! Rule: names that say nothing, or that mean three things, are not given.
//!
//! Looks at what the file declares (types, traits, modules, its own path), not at what it uses:
//! another crate's `Session` cannot be renamed here.

use proc_macro2::Ident;
use syn::visit::{self, Visit};

use super::Finding;
use super::source::Source;

/// Parts of type names, matched as whole CamelCase words.
const BANNED_IN_TYPES: &[&str] = &["Manager", "Helper", "Helpers", "Utils", "Util", "Misc"];

const BANNED_MODULES: &[&str] = &["manager", "helper", "helpers", "util", "utils", "misc", "common"];

pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut declared = Declared { path: &source.path, findings: Vec::new() };
    declared.findings.extend(check_path(&source.path));
    declared.visit_file(&source.tree);
    declared.findings
}

fn check_path(path: &str) -> Option<Finding> {
    let bare = path.strip_suffix(".rs").unwrap_or(path);
    // `tests/common/mod.rs` is Cargo's own idiom for code that integration tests share.
    let banned = bare
        .split('/')
        .find(|part| BANNED_MODULES.contains(part) && !(*part == "common" && path.contains("/tests/")))?;
    Some(Finding::error(path, 1, format!("the path has a part called `{banned}`"), "name the file after what it owns"))
}

struct Declared<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Declared<'_> {
    fn declare_type(&mut self, ident: &Ident) {
        let name = ident.to_string();
        if name == "Session" {
            self.push(ident, "write `RuntimeSession`, or say which other thing it is (docs/glossary.md)");
        } else if camel_words(&name).iter().any(|word| BANNED_IN_TYPES.contains(&word.as_str())) {
            self.push(ident, "name it after what it does or holds");
        }
    }

    fn push(&mut self, ident: &Ident, todo: &str) {
        let line = ident.span().start().line;
        let what = format!("declares `{ident}`, a name that says too little");
        self.findings.push(Finding::error(self.path, line, what, todo));
    }
}

impl<'ast> Visit<'ast> for Declared<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declare_type(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declare_type(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.declare_type(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.declare_type(&item.ident);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A module in a file of its own is reported by its path.
        if item.content.is_some() && BANNED_MODULES.contains(&item.ident.to_string().as_str()) {
            self.push(&item.ident, "name the module after what it owns");
        }
        visit::visit_item_mod(self, item);
    }
}

fn camel_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        match words.last_mut() {
            Some(word) if !letter.is_uppercase() => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;

    fn lines(content: &str) -> Vec<usize> {
        check(&source("crates/a/src/b.rs", content)).iter().map(|f| f.line).collect()
    }

    #[test]
    fn empty_words_in_type_names_are_found() {
        assert_eq!(lines("struct TaskManager;\nenum Helper {}\ntype StoreUtils = u8;"), [1, 2, 3]);
    }

    #[test]
    fn only_whole_words_count() {
        assert_eq!(lines("struct Managerial;\nstruct Utility;\nfn helper_of() {}"), [0usize; 0]);
    }

    #[test]
    fn a_bare_session_is_found_and_a_runtime_session_is_not() {
        assert_eq!(lines("struct RuntimeSession;\nstruct Session;\nstruct SessionId;"), [2]);
    }

    #[test]
    fn using_a_foreign_name_is_no_finding() {
        assert_eq!(lines("use other::Session;\nfn a(_: Session) {}"), [0usize; 0]);
    }

    #[test]
    fn modules_and_paths_are_checked() {
        assert_eq!(lines("mod utils { }\nmod misc;"), [1]);
        assert_eq!(check(&source("crates/a/src/utils/b.rs", "")).len(), 1);
        assert_eq!(check(&source("crates/a/src/misc.rs", "")).len(), 1);
        assert_eq!(check(&source("crates/a/tests/common/mod.rs", "")).len(), 0);
    }
}
