//! Which of an agent's tools runs a command, and what arguments it takes. The names are data; no agent is
//! named.

use serde_json::{Map, Value, json};

use super::asked::Tool;
use super::script::{Rights, ShellCall};

/// Names of shell tools, the last part where a name has several.
const NAMES: [&str; 6] = ["exec_command", "shell_command", "shell", "Bash", "bash", "run_shell_command"];
/// Long enough for every test; the agent's own default might not be.
const TIMEOUT_MS: u64 = 600_000;
/// How long a tool may wait before it hands a command over to the background.
const YIELD_MS: u64 = 30_000;

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolCall {
    /// Which tool.
    pub(super) name: String,
    /// With what.
    pub(super) arguments: Value,
}

/// The call that runs a command, if one of these tools can.
pub(super) fn call(tools: &[Tool], wanted: &ShellCall) -> Option<ToolCall> {
    let named = |tool: &&Tool, name: &str| tool.name.rsplit("__").next() == Some(name);
    let tool = NAMES.iter().find_map(|name| tools.iter().find(|tool| named(tool, name)))?;
    let none = Map::new();
    let takes = tool.schema["properties"].as_object().unwrap_or(&none);
    let mut known = Map::new();
    for name in ["command", "cmd"] {
        let as_list = takes.get(name).is_some_and(|property| property["type"] == "array");
        let value = if as_list { json!(["bash", "-lc", wanted.command]) } else { json!(wanted.command) };
        known.insert(name.into(), value);
    }
    known.insert("description".into(), json!("run a command"));
    known.insert("timeout".into(), json!(TIMEOUT_MS));
    known.insert("timeout_ms".into(), json!(TIMEOUT_MS));
    known.insert("yield_time_ms".into(), json!(YIELD_MS));
    if wanted.rights == Rights::Escalated {
        known.insert("sandbox_permissions".into(), json!("require_escalated"));
        known.insert("justification".into(), json!("the script says so"));
    }
    known.retain(|name, _| takes.contains_key(name));
    for name in tool.schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        known.entry(name).or_insert_with(|| anything(&tool.schema["properties"][name]));
    }
    Some(ToolCall { name: tool.name.clone(), arguments: Value::Object(known) })
}

/// A value that a property takes.
fn anything(property: &Value) -> Value {
    if let Some(first) = property["enum"].get(0) {
        return first.clone();
    }
    match property["type"].as_str().map(str::to_lowercase).as_deref() {
        Some("boolean") => json!(false),
        Some("number" | "integer") => json!(1),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_given_as_the_tool_takes_it() {
        let tool = |schema: Value| Tool { name: "dev__shell".into(), schema };
        let wanted = ShellCall { command: "ls".into(), rights: Rights::Usual };
        let text = tool(json!({"properties": {"command": {"type": "string"}, "is_background": {"type": "boolean"}},
                               "required": ["command", "is_background"]}));
        assert_eq!(
            call(&[text], &wanted).map(|call| call.arguments),
            Some(json!({"command": "ls", "is_background": false}))
        );
        let list = tool(json!({"properties": {"command": {"type": "array"}}}));
        let got = call(&[list], &wanted).map(|call| call.arguments);
        assert_eq!(got, Some(json!({"command": ["bash", "-lc", "ls"]})));
    }

    #[test]
    fn without_a_shell_nothing_is_called() {
        let wanted = ShellCall { command: "ls".into(), rights: Rights::Usual };
        assert_eq!(call(&[Tool { name: "read".into(), schema: Value::Null }], &wanted), None);
    }
}
