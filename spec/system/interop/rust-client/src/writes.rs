//! Writes over a network that breaks repeatedly. A write that the client has to repeat must be applied only once.

use azure_iot_operations_services::state_store::{SetCondition, SetOptions};

use crate::expect::{Outcome, expect, known};
use crate::store::Store;

/// Writes `count` keys, several at a time, and prints the version of each. Every second write requires that its key does
/// not exist, so that a repetition would be rejected. A repetition of any other write would change the version.
pub async fn write(store: &Store, count: usize) -> bool {
    let lanes = tokio::join!(
        write_lane(store, 0, count),
        write_lane(store, 1, count),
        write_lane(store, 2, count),
        write_lane(store, 3, count),
    );
    lanes.0 && lanes.1 && lanes.2 && lanes.3
}

async fn write_lane(store: &Store, lane: usize, count: usize) -> bool {
    let mut passed = true;
    for number in (lane..count).step_by(4) {
        let name = format!("key {number}");
        match write_once(store, &name, number % 2 == 0).await {
            Ok(version) => println!("ok {}/{name} {version}", store.run),
            Err(error) => {
                println!("FAIL {name}: {error}");
                passed = false;
            }
        }
    }
    passed
}

async fn write_once(store: &Store, name: &str, is_new: bool) -> Outcome<String> {
    let mut options = SetOptions::default();
    if is_new {
        options.set_condition = SetCondition::OnlyIfDoesNotExist;
    }
    let set = store.set(&store.key(name), name.as_bytes(), options, None).await?;
    expect("set of a key that this client alone writes, once", set.response, true)?;
    Ok(known(set.version)?.to_string())
}
