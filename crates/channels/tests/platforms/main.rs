//! Our channels against the platforms' stubs, faults included, and both against software that others wrote.

mod feishu;
mod feishu_faults;
mod inbox;
mod others;
mod parsers;
mod telegram;
mod telegram_faults;
