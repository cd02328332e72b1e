//! The home as the commands see it: found, or a failure with its code.

use throughline_engine::{Home, HomeError};

use crate::failure::{Failure, Outcome};

/// `$THROUGHLINE_HOME`, else the platform's data folder.
pub(crate) fn resolve() -> Outcome<Home> {
    Ok(Home::resolve()?)
}

impl From<HomeError> for Failure {
    fn from(error: HomeError) -> Self {
        Failure::new(error.code(), error.to_string()).hint(error.hint())
    }
}
