//! Cards: everything is sent as one, because only a card can be changed later. What could mean something in a card's
//! Markdown is written as an entity, so what is sent is what was meant.

use serde_json::{Value, json};

use crate::channel::Button;
use crate::rich::{Look, Rich, Span};

/// The card's JSON.
pub(super) fn card(text: &Rich, buttons: &[Vec<Button>]) -> Value {
    let mut elements = vec![json!({"tag": "markdown", "content": markdown(text)})];
    for row in buttons {
        let columns: Vec<_> =
            row.iter().map(|known| json!({"tag": "column", "width": "auto", "elements": [button(known)]})).collect();
        elements.push(json!({"tag": "column_set", "flex_mode": "flow", "columns": columns}));
    }
    json!({"schema": "2.0", "config": {"update_multi": true}, "body": {"elements": elements}})
}

fn button(button: &Button) -> Value {
    json!({"tag": "button", "text": {"tag": "plain_text", "content": button.label},
        "behaviors": [{"type": "callback", "value": {"token": button.token}}]})
}

fn markdown(rich: &Rich) -> String {
    rich.spans.iter().map(span).collect()
}

fn span(span: &Span) -> String {
    match &span.look {
        Look::Plain => escape(&span.text),
        Look::Bold => format!("**{}**", escape(&span.text)),
        Look::Code if span.text.contains('`') => escape(&span.text),
        Look::Code => format!("`{}`", span.text),
        Look::Block { language } => {
            let language: String = language.chars().take_while(char::is_ascii_alphanumeric).collect();
            let fence = "`".repeat(longest_run(&span.text).max(2) + 1);
            format!("\n{fence}{language}\n{}\n{fence}\n", span.text)
        }
        Look::Link { url } => {
            let plain = |char: &char| !char.is_whitespace() && !matches!(char, '(' | ')' | '<' | '>');
            format!("[{}]({})", escape(&span.text), url.chars().filter(plain).collect::<String>())
        }
    }
}

fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or_default()
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for char in text.chars() {
        match char {
            '&' | '<' | '>' | '*' | '_' | '~' | '`' | '[' | ']' | '(' | ')' | '#' | '!' | '$' | '+' | '-' | '\\'
            | '|' | ':' | '{' | '}' => escaped.push_str(&format!("&#{};", u32::from(char))),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_an_agent_says_becomes_markup() {
        let rich = Rich::plain("<at id=all></at> **x** [a](b)");
        let shown = markdown(&rich);
        assert!(!shown.contains(['<', '>', '*', '[', '(']), "{shown}");
    }

    #[test]
    fn a_listing_cannot_end_itself() {
        let rich = Rich::default().and(Look::Block { language: "md".into() }, "```\nx\n```");
        assert_eq!(markdown(&rich), "\n````md\n```\nx\n```\n````\n");
    }

    #[test]
    fn buttons_carry_their_tokens() {
        let buttons = vec![vec![Button { label: "Yes".into(), token: "t".into() }]];
        let card = card(&Rich::plain("run?"), &buttons);
        assert_eq!(card.pointer("/body/elements/1/columns/0/elements/0/behaviors/0/value/token"), Some(&json!("t")));
        assert_eq!(card.pointer("/config/update_multi"), Some(&json!(true)));
    }
}
