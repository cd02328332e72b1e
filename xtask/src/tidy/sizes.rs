//! Rule: functions, files, traits and structs stay small.
//!
//! Measures, and leaves to [`super::ratchet`] what to make of it. A function is counted from its
//! signature to its closing brace, without docs and attributes; a file without its `#[cfg(test)]`
//! items. Test files are held to the hard limit only.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::source::Source;

const FILE_SOFT: usize = 500;

/// What is measured. The names are those of `xtask/tidy.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measure {
    FunctionLines,
    FileLines,
    TraitMethods,
    StructFields,
}

impl Measure {
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::FunctionLines => 70,
            Self::FileLines => 800,
            Self::TraitMethods | Self::StructFields => 12,
        }
    }

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::FunctionLines => "function-lines",
            Self::FileLines => "file-lines",
            Self::TraitMethods => "trait-methods",
            Self::StructFields => "struct-fields",
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::FunctionLines | Self::FileLines => "lines",
            Self::TraitMethods => "methods",
            Self::StructFields => "fields",
        }
    }
}

/// Something larger than its limit (or, for files, than the soft one).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Oversize {
    pub(crate) measure: Measure,
    pub(crate) path: String,
    /// `Type::method`, `function`, `Trait`, `Struct`; empty for the file itself.
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) size: usize,
}

impl Oversize {
    /// Over the soft limit only: worth a word, not a failure.
    pub(crate) fn is_soft(&self) -> bool {
        self.size <= self.measure.limit()
    }
}

pub(crate) fn check(source: &Source) -> Vec<Oversize> {
    let mut ruler = Ruler { path: &source.path, owner: String::new(), found: Vec::new() };
    ruler.visit_file(&source.tree);
    let (size, limit) = if source.is_test_file() {
        (source.line_count, Measure::FileLines.limit())
    } else {
        (source.product_lines(), FILE_SOFT)
    };
    if size > limit {
        ruler.add(Measure::FileLines, "", 1, size);
    }
    ruler.found
}

struct Ruler<'a> {
    path: &'a str,
    /// The type or trait around the function being visited.
    owner: String,
    found: Vec<Oversize>,
}

impl Ruler<'_> {
    fn measure(&mut self, measure: Measure, name: &str, line: usize, size: usize) {
        if size > measure.limit() {
            self.add(measure, name, line, size);
        }
    }

    fn add(&mut self, measure: Measure, name: &str, line: usize, size: usize) {
        let (path, name) = (self.path.to_owned(), name.to_owned());
        self.found.push(Oversize { measure, path, name, line, size });
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let last = block.brace_token.span.close().end().line;
        let name = if self.owner.is_empty() {
            signature.ident.to_string()
        } else {
            format!("{}::{}", self.owner, signature.ident)
        };
        self.measure(Measure::FunctionLines, &name, first, last - first + 1);
    }

    fn within(&mut self, owner: String, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

impl<'ast> Visit<'ast> for Ruler<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.within(type_name(&item.self_ty), |ruler| visit::visit_item_impl(ruler, item));
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let name = item.ident.to_string();
        let methods = item.items.iter().filter(|item| matches!(item, syn::TraitItem::Fn(_))).count();
        self.measure(Measure::TraitMethods, &name, item.ident.span().start().line, methods);
        self.within(name, |ruler| visit::visit_item_trait(ruler, item));
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let line = item.ident.span().start().line;
        self.measure(Measure::StructFields, &item.ident.to_string(), line, item.fields.len());
        visit::visit_item_struct(self, item);
    }
}

fn type_name(ty: &syn::Type) -> String {
    match ty {
        syn::Type::Path(path) => {
            path.path.segments.last().map_or_else(String::new, |segment| segment.ident.to_string())
        }
        syn::Type::Reference(reference) => type_name(&reference.elem),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::source;
    use super::*;

    fn measured(path: &str, content: &str) -> Vec<(Measure, String, usize)> {
        check(&source(path, content)).into_iter().map(|o| (o.measure, o.name, o.size)).collect()
    }

    fn lines(count: usize) -> String {
        "    a();\n".repeat(count)
    }

    #[test]
    fn a_function_may_have_seventy_lines() {
        let at = format!("fn a() {{\n{}}}", lines(68));
        assert_eq!(measured("a.rs", &at), []);
        let over = format!("/// Docs.\n#[inline]\nfn a() {{\n{}}}", lines(69));
        assert_eq!(measured("a.rs", &over), [(Measure::FunctionLines, "a".to_owned(), 71)]);
    }

    #[test]
    fn methods_are_named_after_their_type() {
        let body = lines(70);
        let text = format!("impl<T> Tree<T> {{\nfn grow() {{\n{body}}}\n}}\ntrait Leaf {{\nfn fall() {{\n{body}}}\n}}");
        let names: Vec<String> = measured("a.rs", &text).into_iter().map(|m| m.1).collect();
        assert_eq!(names, ["Tree::grow", "Leaf::fall"]);
    }

    #[test]
    fn traits_and_structs_have_twelve_parts() {
        let methods = |n: usize| (0..n).map(|i| format!("fn m{i}();")).collect::<String>();
        let fields = |n: usize| (0..n).map(|i| format!("f{i}: u8,")).collect::<String>();
        let text = |n| format!("trait T {{ type A; {} }}\nstruct S {{ {} }}", methods(n), fields(n));
        assert_eq!(measured("a.rs", &text(12)), []);
        assert_eq!(
            measured("a.rs", &text(13)),
            [(Measure::TraitMethods, "T".to_owned(), 13), (Measure::StructFields, "S".to_owned(), 13)]
        );
    }

    #[test]
    fn a_file_counts_without_its_tests() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "// t\n".repeat(900));
        let text = |n: usize| format!("{}{tests}", "// c\n".repeat(n));
        assert_eq!(measured("a.rs", &text(500)), []);
        assert_eq!(measured("a.rs", &text(501)), [(Measure::FileLines, String::new(), 501)]);
        assert!(check(&source("a.rs", &text(800)))[0].is_soft());
        assert!(!check(&source("a.rs", &text(801)))[0].is_soft());
    }

    #[test]
    fn a_test_file_is_held_to_the_hard_limit_only() {
        assert_eq!(measured("crates/a/tests/b.rs", &"// c\n".repeat(800)), []);
        assert_eq!(measured("crates/a/tests/b.rs", &"// c\n".repeat(801)).len(), 1);
    }
}
