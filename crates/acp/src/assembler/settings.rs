//! What an agent says can be set in a session, brought into one form: modes, models and config options.
//!
//! Agents differ in how they offer models: as a config option, as the `models` that the schema has dropped, or
//! both. The config option wins, because it can be set by a method that the schema still has.

use agent_client_protocol_schema::v1 as acp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use throughline_model::runtime_session::Choice;

use crate::happening::{ConfigOption, SessionSettings};

/// The settings in the answer to a request that opened a session.
pub(super) fn from_answer(answer: &Value) -> SessionSettings {
    let mut settings = SessionSettings::default();
    if let Some(models) = field::<Models>(answer, "models") {
        settings.model = Some(models.current_model_id);
        settings.models = models.available_models.into_iter().map(Choice::from).collect();
    }
    if let Some(modes) = field::<acp::SessionModeState>(answer, "modes") {
        settings.mode = Some(modes.current_mode_id.to_string());
        let choice = |mode: acp::SessionMode| Choice { id: mode.id.to_string(), name: mode.name };
        settings.modes = modes.available_modes.into_iter().map(choice).collect();
    }
    take_options(&mut settings, options_of(answer));
    settings
}

/// The settings that config options alone tell of.
pub(super) fn from_options(options: Vec<acp::SessionConfigOption>) -> SessionSettings {
    let mut settings = SessionSettings::default();
    take_options(&mut settings, options);
    settings
}

/// The config options in an answer; none of one that does not fit the schema.
pub(super) fn options_of(answer: &Value) -> Vec<acp::SessionConfigOption> {
    field(answer, "configOptions").unwrap_or_default()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Models {
    current_model_id: String,
    #[serde(default)]
    available_models: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    model_id: String,
    name: String,
}

impl From<Model> for Choice {
    fn from(model: Model) -> Self {
        Choice { id: model.model_id, name: model.name }
    }
}

fn field<T: DeserializeOwned>(answer: &Value, name: &str) -> Option<T> {
    T::deserialize(answer.get(name)?).ok()
}

fn take_options(settings: &mut SessionSettings, options: Vec<acp::SessionConfigOption>) {
    let options: Vec<ConfigOption> = options.into_iter().map(option).collect();
    let about = |subject: &str| {
        let by_category = options.iter().find(|option| option.category.as_deref() == Some(subject));
        by_category.or_else(|| options.iter().find(|option| option.category.is_none() && option.id == subject))
    };
    if let Some(model) = about("model") {
        settings.model = Some(model.current.clone());
        settings.models.clone_from(&model.choices);
        settings.model_option = Some(model.id.clone());
    }
    if let Some(mode) = about("mode").filter(|_| settings.modes.is_empty()) {
        settings.mode = Some(mode.current.clone());
        settings.modes.clone_from(&mode.choices);
        settings.mode_option = Some(mode.id.clone());
    }
    settings.options = options;
}

fn option(option: acp::SessionConfigOption) -> ConfigOption {
    let category = option.category.and_then(|category| match serde_json::to_value(category) {
        Ok(Value::String(word)) => Some(word),
        _ => None,
    });
    let (current, choices) = match option.kind {
        acp::SessionConfigKind::Select(select) => (select.current_value.to_string(), choices(select.options)),
        acp::SessionConfigKind::Boolean(switch) => (switch.current_value.to_string(), Vec::new()),
        _ => (String::new(), Vec::new()),
    };
    ConfigOption { id: option.id.to_string(), name: option.name, category, current, choices }
}

fn choices(options: acp::SessionConfigSelectOptions) -> Vec<Choice> {
    let choice = |option: acp::SessionConfigSelectOption| Choice { id: option.value.to_string(), name: option.name };
    match options {
        acp::SessionConfigSelectOptions::Ungrouped(options) => options.into_iter().map(choice).collect(),
        acp::SessionConfigSelectOptions::Grouped(groups) => {
            groups.into_iter().flat_map(|group| group.options).map(choice).collect()
        }
        _ => Vec::new(),
    }
}
