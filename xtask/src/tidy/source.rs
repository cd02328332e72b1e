//! One parsed Rust file: syntax tree, flat tokens, comments and test regions, for the rules to read.
//!
//! Works on tokens, not on text, so that a banned word inside a string literal is no finding.
//! Comments are what lies between tokens, plus the doc comments, which the parser turns into
//! attributes. Refuses files that do not parse.

use std::ops::{Range, RangeInclusive};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::Text;

/// A file that parsed.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) tree: syn::File,
    /// All tokens in order, groups flattened into their two delimiters.
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) line_count: usize,
    test_regions: Vec<RangeInclusive<usize>>,
}

/// A leaf token, or one delimiter of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
    bytes: Range<usize>,
}

/// One line of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) text: String,
    pub(crate) line: usize,
}

impl Source {
    pub(crate) fn parse(text: &Text) -> syn::Result<Self> {
        let stream: TokenStream = text.content.parse().map_err(syn::Error::from)?;
        let mut tokens = Vec::new();
        flatten(stream.clone(), &mut tokens);
        let tokens = without_docs(&text.content, tokens);
        let tree: syn::File = syn::parse2(stream)?;
        let mut regions = TestRegions::default();
        regions.visit_file(&tree);
        Ok(Self {
            path: text.path.clone(),
            comments: comments(&text.content, &tokens),
            tokens,
            tree,
            line_count: text.content.lines().count(),
            test_regions: regions.0,
        })
    }

    /// Whether the whole file is a test: by Cargo's folders, or a `tests` module of its own.
    pub(crate) fn is_test_file(&self) -> bool {
        let mut parts = self.path.split('/').rev();
        let file = parts.next().unwrap_or_default();
        file == "tests.rs" || parts.any(|folder| folder == "tests" || folder == "benches")
    }

    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.test_regions.iter().any(|region| region.contains(&line))
    }

    /// Lines of the file outside its `#[cfg(test)]` items.
    pub(crate) fn product_lines(&self) -> usize {
        let tested: usize = self.test_regions.iter().map(|region| region.end() - region.start() + 1).sum();
        self.line_count - tested.min(self.line_count)
    }

    /// Whether a `// tidy: <reason>` comment stands on this line, or on its own just above.
    pub(crate) fn is_excused(&self, line: usize) -> bool {
        self.comments
            .iter()
            .filter(|comment| comment.line == line || (comment.line + 1 == line && !self.has_code(comment.line)))
            .filter_map(|comment| comment.text.strip_prefix("// tidy:"))
            .any(|reason| !reason.trim().is_empty())
    }

    fn has_code(&self, line: usize) -> bool {
        self.tokens.iter().any(|token| token.line == line)
    }
}

fn flatten(stream: TokenStream, out: &mut Vec<Token>) {
    for tree in stream {
        if let TokenTree::Group(group) = tree {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            out.push(token(open.to_owned(), group.span_open()));
            flatten(group.stream(), out);
            out.push(token(close.to_owned(), group.span_close()));
        } else {
            let span = tree.span();
            out.push(token(tree.to_string(), span));
        }
    }
}

fn token(text: String, span: proc_macro2::Span) -> Token {
    Token { text, line: span.start().line, bytes: span.byte_range() }
}

/// Doc comments arrive as `#[doc = "…"]`, and the first of these tokens spans the whole comment:
/// all that lies within it goes.
fn without_docs(content: &str, tokens: Vec<Token>) -> Vec<Token> {
    let mut doc_end = 0;
    let mut kept = Vec::with_capacity(tokens.len());
    for token in tokens {
        let text = content.get(token.bytes.clone()).unwrap_or_default();
        if token.text == "#" && text.len() > 1 {
            doc_end = token.bytes.end;
        }
        if token.bytes.start >= doc_end {
            kept.push(token);
        }
    }
    kept
}

fn comments(content: &str, tokens: &[Token]) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut end = 0;
    for token in tokens {
        gap(content, end..token.bytes.start, &mut found);
        end = end.max(token.bytes.end);
    }
    gap(content, end..content.len(), &mut found);
    found
}

/// What lies between two tokens is white space and comments, doc comments included.
fn gap(content: &str, range: Range<usize>, out: &mut Vec<Comment>) {
    let Some(text) = content.get(range.clone()) else {
        return;
    };
    let first = content[..range.start].matches('\n').count() + 1;
    for (index, line) in text.split('\n').enumerate() {
        let line = line.trim();
        if !line.is_empty() {
            out.push(Comment { text: line.to_owned(), line: first + index });
        }
    }
}

#[derive(Default)]
struct TestRegions(Vec<RangeInclusive<usize>>);

impl Visit<'_> for TestRegions {
    fn visit_item(&mut self, item: &syn::Item) {
        let attrs = attributes(item);
        if attrs.iter().any(is_cfg_test) {
            let span = item.span();
            self.0.push(span.start().line..=span.end().line);
        } else {
            syn::visit::visit_item(self, item);
        }
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]` and `#[test]` alike.
fn is_cfg_test(attr: &syn::Attribute) -> bool {
    if attr.path().segments.last().is_some_and(|segment| segment.ident == "test") {
        return true;
    }
    let syn::Meta::List(list) = &attr.meta else {
        return false;
    };
    let mut tokens = Vec::new();
    flatten(list.tokens.clone(), &mut tokens);
    let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
    attr.path().is_ident("cfg") && words.contains(&"test") && !words.contains(&"not")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn source(path: &str, content: &str) -> Source {
        let text = Text { path: path.to_owned(), content: content.to_owned() };
        Source::parse(&text).expect("the test's source parses")
    }

    #[test]
    fn comments_are_found_with_their_lines_and_strings_are_not_comments() {
        let source = source(
            "a.rs",
            "//! Head.\nfn a() {\n    let s = \"// no\"; // yes\n    /* two\n    lines */\n}\n/// Doc.\nfn b() {}\n// end",
        );
        let found: Vec<(usize, &str)> = source.comments.iter().map(|c| (c.line, c.text.as_str())).collect();
        assert_eq!(
            found,
            [(1, "//! Head."), (3, "// yes"), (4, "/* two"), (5, "lines */"), (7, "/// Doc."), (9, "// end"),]
        );
    }

    #[test]
    fn comments_keep_their_lines_after_text_that_is_not_ascii() {
        let source = source("a.rs", "//! Zürich 中文\nconst A: &str = \"中文\";\n// late\n");
        assert_eq!(source.comments.last().map(|c| c.line), Some(3));
    }

    #[test]
    fn test_regions_are_the_cfg_test_items() {
        let source =
            source("a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n#[cfg(not(test))]\nfn c() {}\n");
        let lines: Vec<usize> = (1..=7).filter(|line| source.is_test_line(*line)).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert_eq!(source.product_lines(), 3);
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        for path in ["crates/a/tests/b.rs", "crates/a/src/b/tests.rs", "crates/a/benches/c.rs"] {
            assert!(source(path, "").is_test_file(), "{path}");
        }
        assert!(!source("crates/testkit/src/lib.rs", "").is_test_file());
    }

    #[test]
    fn an_excuse_needs_a_reason_and_must_be_near() {
        let source = source("a.rs", "// tidy: the clock is real here\nfn a() {}\n// tidy:\nfn b() {}\n");
        assert!(source.is_excused(2));
        assert!(!source.is_excused(4));
    }
}
