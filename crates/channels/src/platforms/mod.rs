//! The platforms, one folder each. To add one is to add its folder, and to name it in the two lists below.

pub mod feishu;
pub mod telegram;

use crate::setup::Manifest;

/// All that can be set up.
pub const ALL: &[&Manifest] = &[&feishu::MANIFEST, &telegram::MANIFEST];

/// Their names, for people.
#[must_use]
pub fn names() -> String {
    let names: Vec<_> = ALL.iter().map(|known| format!("`{}`", known.platform)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_folder_is_named_as_its_platform_and_listed() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/platforms");
        let entries = std::fs::read_dir(here).expect("the folder").map(|entry| entry.expect("an entry"));
        let folders = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name());
        let folders: BTreeSet<_> = folders.map(|name| name.into_string().expect("a name")).collect();
        let listed: Vec<_> = ALL.iter().map(|known| known.platform.to_string()).collect();
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), folders);
    }

    #[test]
    fn a_name_means_one_platform() {
        let names: Vec<_> =
            ALL.iter().flat_map(|known| known.aliases.iter().copied().chain([known.platform.name()])).collect();
        let meant = names.iter().map(|name| ALL.iter().filter(|known| known.is_called(name)).count());
        assert!(meant.into_iter().all(|count| count == 1), "{names:?}");
    }
}
