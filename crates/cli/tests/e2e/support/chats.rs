//! Chats on the stubs: the settings by which the daemon reaches them, and a person who is known there.

use throughline_testkit::feishu::{APP_ID, APP_SECRET, OpenPlatform};
use throughline_testkit::telegram::BotApi;

use super::World;

pub fn telegram(bot: &BotApi) -> String {
    format!("[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n", bot.token(), bot.url())
}

pub fn feishu(app: &OpenPlatform) -> String {
    let url = app.url();
    format!("[channels.feishu]\napp_id = \"{APP_ID}\"\napp_secret = \"{APP_SECRET}\"\ndomain = \"{url}\"\n")
}

/// A world that this bot talks to.
pub fn with_bot(bot: &BotApi) -> World {
    World::with_settings(&telegram(bot))
}

/// The person of the world is this user of Telegram from now on.
pub fn pair(world: &World, bot: &BotApi, user: i64) {
    let pairing = world.json(&["pair", "telegram"]);
    bot.says(user, pairing["say"].as_str().expect("what to say"));
    bot.wait_for_sent(|sent| sent.chat == user && sent.shown.text.contains("Paired"));
}
