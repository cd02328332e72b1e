//! What every implementation of the [`Store`] port is held to, as cases that panic when they are broken.
//!
//! An implementation brings a [`Site`] and runs [`suite`] over it. The cases know the port alone: no files, no
//! SQL, no clock. Whatever only one implementation can do, such as running out of room, is tested beside it.

mod fixture;
mod lists;
mod log;
mod work;

pub use fixture::Fixture;

use std::sync::Arc;

use async_trait::async_trait;

use crate::port::Store;

/// An empty place for a store.
#[async_trait]
pub trait Site: Send + Sync {
    /// Opens the store that is here. Called again only after the one before was dropped.
    async fn open(&self) -> Arc<dyn Store>;
}

macro_rules! cases {
    ($($module:ident::$case:ident,)*) => {
        /// The names of the cases, in order.
        pub const CASES: &[&str] = &[$(concat!(stringify!($module), "::", stringify!($case)),)*];

        /// Runs one case by its name, on a fresh site.
        ///
        /// # Panics
        /// If the store breaks it, or if there is no such case.
        pub async fn run(case: &str, site: &dyn Site) {
            match case {
                $(concat!(stringify!($module), "::", stringify!($case)) => $module::$case(site).await,)*
                other => panic!("there is no case {other}"),
            }
        }
    };
}

cases! {
    log::a_committed_batch_is_read_back_as_it_was,
    log::an_append_at_the_wrong_version_is_refused,
    log::a_refused_batch_changes_nothing,
    log::two_appends_to_one_stream_follow_each_other,
    log::streams_of_two_kinds_with_one_id_are_two,
    log::sequence_numbers_have_no_gaps_under_64_writers,
    log::one_of_many_rivals_wins_each_version,
    log::a_feed_follows_one_stream_or_all,
    log::pages_go_from_the_newest_back,
    log::the_newest_record_of_an_item_is_found,
    log::what_mentions_a_text_is_found_newest_first,
    log::a_stream_loads_as_a_snapshot_and_a_tail,
    log::a_store_that_is_opened_again_is_the_same,
    lists::tasks_are_listed_by_urgency_then_recency,
    lists::pages_of_tasks_neither_skip_nor_repeat,
    lists::tasks_are_filtered,
    lists::a_task_is_found_by_key_and_by_id,
    lists::inputs_move_and_are_found_by_decision,
    lists::approvals_are_pending_until_settled,
    lists::what_a_person_addressed_lately_is_listed,
    lists::projects_and_deliveries_are_listed,
    lists::a_name_is_found_until_it_is_taken_back,
    work::the_same_message_again_names_the_earlier_one,
    work::one_of_many_equal_messages_gets_in,
    work::effects_wait_in_order_until_settled,
    work::an_effect_replaces_the_one_with_its_key,
    work::a_timer_is_forgotten_or_set_again_by_its_own_batch,
    work::marks_belong_to_one_process_and_never_go_back,
    work::blobs_are_kept_by_their_digest,
    work::blobs_that_nobody_names_go_when_they_are_old,
}

/// Runs all cases, each on a site of its own.
///
/// # Panics
/// If the store breaks one of them; the output names it.
pub async fn suite<S: Site>(fresh: impl Fn() -> S) {
    for case in CASES {
        println!("conformance: {case}");
        run(case, &fresh()).await;
    }
}
