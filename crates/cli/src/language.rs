//! The language of this terminal, as the environment names it. What the person chose beats it; the daemon knows.

use throughline_model::present::Locale;

use crate::commands::Context;
use crate::failure::Outcome;

/// The tag that the environment asks for, such as `zh-CN`; none if it has no wish.
pub(crate) fn of_environment() -> Option<String> {
    let value = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.is_empty()).then_some(value)
    })?;
    tag(&value)
}

/// `zh_CN.UTF-8` as a language tag.
fn tag(value: &str) -> Option<String> {
    let tag = value.split(['.', '@']).next().unwrap_or_default().replace('_', "-");
    Locale::well_formed(&tag).then_some(tag)
}

impl Context {
    /// What to speak to whoever sits here.
    pub(crate) async fn locale(&self) -> Outcome<Locale> {
        let me = self.ask(async |client| Ok(client.me().await?)).await?;
        Ok(Locale::of(&me.speaks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_may_have_a_wish() {
        assert_eq!(tag("zh_CN.UTF-8").as_deref(), Some("zh-CN"));
        assert_eq!(tag("en_US@euro").as_deref(), Some("en-US"));
        assert_eq!(tag("de").as_deref(), Some("de"));
        for none in ["C", "C.UTF-8", "POSIX", "", "\u{1b}"] {
            assert_eq!(tag(none), None, "{none}");
        }
    }
}
