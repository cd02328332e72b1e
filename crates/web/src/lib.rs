//! The built web page as bytes. What it does is in `web/`; how it is built, in `build.rs`.
//!
//! Invariant: the files that the page names are the files that are here: one build makes both.

#![warn(missing_docs)]

/// One file of the page.
#[derive(Debug)]
pub struct Asset {
    /// Its path below the root, such as `assets/index-4f2a.js`.
    pub path: &'static str,
    /// Its media type.
    pub mime: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
    /// The same, compressed, where that is shorter.
    pub gzip: Option<&'static [u8]>,
    /// Changes with the content; quoted, as HTTP wants it.
    pub etag: &'static str,
}

impl Asset {
    /// Whether the name changes with the content, so that it can be kept for ever.
    #[must_use]
    pub fn immutable(&self) -> bool {
        self.path.starts_with("assets/")
    }
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// All files, by path.
#[must_use]
pub fn assets() -> &'static [Asset] {
    ASSETS
}

/// The file at this path.
#[must_use]
pub fn asset(path: &str) -> Option<&'static Asset> {
    let place = ASSETS.binary_search_by(|asset| asset.path.cmp(path)).ok()?;
    ASSETS.get(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_and_every_file_is_found_by_its_path() {
        assert!(asset("index.html").is_some_and(|page| page.mime.starts_with("text/html")));
        assert!(asset("nowhere").is_none());
        for known in assets() {
            assert!(asset(known.path).is_some_and(|found| std::ptr::eq(found, known)), "{}", known.path);
        }
    }
}
