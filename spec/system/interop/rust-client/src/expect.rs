//! Comparisons of expected and actual results.

use std::error::Error;
use std::fmt::Debug;

use azure_iot_operations_services::state_store::{Error as StoreError, ErrorKind, ServiceError};

use crate::store::Version;

pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

pub fn expect<T: Debug + PartialEq>(what: &str, came: T, expected: T) -> Outcome {
    if came == expected {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, came {came:?}").into())
}

pub fn expect_value(what: &str, came: Option<Vec<u8>>, expected: Option<&[u8]>) -> Outcome {
    let readable = |value: &[u8]| value.escape_ascii().to_string();
    expect(what, came.as_deref().map(readable), expected.map(readable))
}

pub fn expect_newer(what: &str, came: &Version, older: &Version) -> Outcome {
    let order = |version: &Version| (version.timestamp, version.counter, version.node_id.clone());
    if order(came) > order(older) {
        return Ok(());
    }
    Err(format!("{what}: expected one above {older}, came {came}").into())
}

pub fn expect_refusal<T: Debug>(
    what: &str,
    came: Result<T, StoreError>,
    expected: &ServiceError,
) -> Outcome {
    let came = came.map_or_else(|error| describe(&error), |response| format!("{response:?}"));
    expect(what, came, format!("{expected:?}"))
}

pub fn known(version: Option<Version>) -> Outcome<Version> {
    version.ok_or_else(|| "expected a version (__ts), came none".into())
}

/// Returns the name of a service error, or the message and the cause of a protocol error.
pub fn describe(error: &StoreError) -> String {
    match error.kind() {
        ErrorKind::ServiceError(error) => format!("{error:?}"),
        ErrorKind::AIOProtocolError(error) => format!("{error} ({:?})", error.nested_error),
        other => format!("{other:?}"),
    }
}
