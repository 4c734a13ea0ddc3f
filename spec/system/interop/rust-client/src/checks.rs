//! The checks. Each check uses separate keys, whose names are unique to the run.

use std::time::{Duration, Instant, SystemTime};

use azure_iot_operations_mqtt::control_packet::TopicFilter;
use azure_iot_operations_services::leased_lock::lock;
use azure_iot_operations_services::state_store::{
    Operation, ServiceError, SetCondition, SetOptions,
};
use tokio::time::{sleep, timeout};

use crate::expect::{Outcome, expect, expect_newer, expect_refusal, expect_value, known};
use crate::store::{ANSWER_LIMIT, LEASE, Store, Version, hex, living, next, set_to};

const TIME_TO_LIVE: Duration = Duration::from_millis(1500);
const TIMER_SLACK: Duration = Duration::from_millis(50);
const NOTIFICATIONS: &str = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8";

pub async fn set_and_get(store: &Store) -> Outcome {
    let key = store.key("plain");
    let first = store.put(&key, b"first").await?;
    let second = store.put(&key, b"second").await?;
    expect_newer("version of the second set", &second, &first)?;
    let got = store.get(&key).await?;
    expect_value("value", got.response, Some(b"second"))?;
    expect("version of the get", got.version, Some(second))
}

pub async fn binary_key_and_value(store: &Store) -> Outcome {
    let binary: Vec<u8> = (0..=255).chain(*b"\r\n$-1\r\n\0\r\n").collect();
    let key = [store.key("binary"), binary.clone()].concat();
    store.put(&key, &binary).await?;
    expect_value("value", store.get(&key).await?.response, Some(&binary))
}

pub async fn empty_value(store: &Store) -> Outcome {
    let key = store.key("empty");
    store.put(&key, b"").await?;
    expect_value("empty value", store.get(&key).await?.response, Some(b""))?;
    store.del(&key, None).await?;
    expect_value("deleted key", store.get(&key).await?.response, None)
}

pub async fn get_absent(store: &Store) -> Outcome {
    let got = store.get(&store.key("absent")).await?;
    expect_value("value", got.response, None)?;
    expect("version", got.version, None)
}

pub async fn del(store: &Store) -> Outcome {
    let key = store.key("del");
    let set = store.put(&key, b"value").await?;
    let deleted = store.del(&key, None).await?;
    expect("del of a present key", deleted.response, 1)?;
    expect_newer("version of the del", &known(deleted.version)?, &set)?;
    let again = store.del(&key, None).await?;
    expect("del of an absent key", again.response, 0)
}

pub async fn vdel(store: &Store) -> Outcome {
    let key = store.key("vdel");
    store.put(&key, b"value").await?;
    expect("vdel of another value", store.vdel(&key, b"other").await?, -1)?;
    expect("vdel of the value", store.vdel(&key, b"value").await?, 1)?;
    expect("vdel of an absent key", store.vdel(&key, b"value").await?, 0)
}

pub async fn set_nx(store: &Store) -> Outcome {
    let key = store.key("nx");
    let nx =
        || SetOptions { set_condition: SetCondition::OnlyIfDoesNotExist, ..SetOptions::default() };
    let created = store.set(&key, b"first", nx(), None).await?;
    expect("set of an absent key", created.response, true)?;
    let refused = store.set(&key, b"second", nx(), None).await?;
    expect("set of a present key", refused.response, false)?;
    expect("version of the refusal", refused.version, created.version)?;
    expect_value("value", store.get(&key).await?.response, Some(b"first"))
}

pub async fn lock_recipe(store: &Store) -> Outcome {
    let lock = store.key("lock");
    let acquired = store.acquire(&lock, b"owner-1").await?;
    expect("first owner acquires", acquired.response, true)?;
    let refused = store.acquire(&lock, b"owner-2").await?;
    expect("second owner acquires", refused.response, false)?;
    let renewed = store.acquire(&lock, b"owner-1").await?;
    expect("first owner renews", renewed.response, true)?;
    expect_newer("renewed version", &known(renewed.version)?, &known(acquired.version)?)?;
    expect("second owner releases", store.vdel(&lock, b"owner-2").await?, -1)?;
    expect("first owner releases", store.vdel(&lock, b"owner-1").await?, 1)?;
    let acquired = store.acquire(&lock, b"owner-2").await?;
    expect("second owner acquires the released lock", acquired.response, true)
}

pub async fn lock_client(store: &Store) -> Outcome {
    let (client, name) = (&store.client, store.key("lock client"));
    let first = lock::Client::new(client.clone(), name.clone(), b"owner-1".into())?;
    let second = lock::Client::new(client.clone(), name, b"owner-2".into())?;
    let token = first.lock(LEASE, ANSWER_LIMIT, None).await?;
    let unlock_later = async {
        sleep(Duration::from_millis(300)).await;
        first.unlock(ANSWER_LIMIT).await
    };
    let waiting = second.lock(LEASE, ANSWER_LIMIT, None);
    let (next_token, ()) = tokio::try_join!(waiting, unlock_later)?;
    expect_newer("token of the second owner", &next_token, &token)
}

pub async fn expiry(store: &Store) -> Outcome {
    let key = store.key("expiry");
    let mut observation = store.observe(&key).await?;
    let start = Instant::now();
    let set = known(store.set(&key, b"value", living(TIME_TO_LIVE), None).await?.version)?;
    let value = store.get(&key).await?.response;
    expect_value("value before the expiry", value, Some(b"value"))?;
    expect("first notification", next(&mut observation).await?.operation, set_to(b"value"))?;
    let gone = next(&mut observation).await?;
    expect("second notification", gone.operation, Operation::Del)?;
    expect("expiry before its time", start.elapsed() + TIMER_SLACK < TIME_TO_LIVE, false)?;
    expect_newer("version of the expiry", &gone.version, &set)?;
    expect_value("value after the expiry", store.get(&key).await?.response, None)
}

pub async fn expiry_removed(store: &Store) -> Outcome {
    let key = store.key("expiry removed");
    let short = Duration::from_millis(300);
    store.set(&key, b"mortal", living(short), None).await?;
    store.put(&key, b"immortal").await?;
    sleep(2 * short).await;
    expect_value("value", store.get(&key).await?.response, Some(b"immortal"))
}

pub async fn observe(store: &Store) -> Outcome {
    let key = store.key("observed\r\n\0");
    let mut observation = store.observe(&key).await?;
    let set = store.put(&key, b"\0\r\nvalue").await?;
    let deleted = known(store.del(&key, None).await?.version)?;
    expect_newer("version of the del", &deleted, &set)?;
    let first = next(&mut observation).await?;
    expect("first notification", first.operation, set_to(b"\0\r\nvalue"))?;
    expect("version of the first notification", first.version, set)?;
    let second = next(&mut observation).await?;
    expect("second notification", second.operation, Operation::Del)?;
    expect("version of the second notification", second.version, deleted)
}

/// The client drops a notification without an observer, so this check receives from the topics directly.
pub async fn unobserve(store: &Store) -> Outcome {
    let (silent, loud) = (store.key("silent"), store.key("loud"));
    let never_observed = store.unobserve(&store.key("never observed")).await?;
    expect("unobserve of a key never observed", never_observed, false)?;
    let _observations = (store.observe(&silent).await?, store.observe(&loud).await?);
    expect("unobserve", store.unobserve(&silent).await?, true)?;
    let topics = format!("{NOTIFICATIONS}/{}/command/notify/", hex(store.run.as_bytes()));
    let filter = TopicFilter::new(format!("{topics}+"))?;
    let mut arrivals = store.mqtt.create_filtered_pub_receiver(filter);
    store.put(&silent, b"value").await?;
    store.put(&loud, b"value").await?;
    let arrived = timeout(ANSWER_LIMIT, arrivals.recv()).await;
    let topic = arrived.ok().flatten().map(|publish| publish.topic_name.to_string());
    expect("first topic to arrive", topic, Some(topics + &hex(&loud)))
}

pub async fn fencing(store: &Store) -> Outcome {
    let (lock, key) = (store.key("fence"), store.key("fenced"));
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(known(store.acquire(&lock, b"owner").await?.version)?);
    }
    let [oldest, middle, newest] = [&tokens[0], &tokens[1], &tokens[2]];
    let set = |token| store.set(&key, b"value", SetOptions::default(), token);
    let missing = ServiceError::MissingFencingToken;
    let lower = ServiceError::FencingTokenLowerVersion;

    expect("set with a token", set(Some(middle)).await?.response, true)?;
    expect_refusal("set without a token", set(None).await, &missing)?;
    expect_refusal("del without a token", store.del(&key, None).await, &missing)?;
    expect_refusal("set with an older token", set(Some(oldest)).await, &lower)?;
    expect("set with the same token", set(Some(middle)).await?.response, true)?;
    expect("set with a newer token", set(Some(newest)).await?.response, true)?;
    expect_refusal("set with the former token", set(Some(middle)).await, &lower)?;
    expect("del with the token", store.del(&key, Some(newest)).await?.response, 1)?;
    expect("set without a token after the del", set(None).await?.response, true)
}

pub async fn service_errors(store: &Store) -> Outcome {
    let key = store.key("errors");
    let set = |options, token| store.set(&key, b"value", options, token);
    let future =
        Version { timestamp: SystemTime::now() + Duration::from_secs(120), ..Version::new() };
    let malformed = Version { node_id: "one:too:many".into(), ..Version::new() };
    let refused = set(SetOptions::default(), Some(&future)).await;
    expect_refusal("token 120 s ahead", refused, &ServiceError::FencingTokenSkew)?;
    let refused = set(SetOptions::default(), Some(&malformed)).await;
    expect_refusal("malformed token", refused, &ServiceError::TimestampMalformed)?;
    let refused = set(living(Duration::MAX), None).await;
    expect_refusal("PX above 64 bits", refused, &ServiceError::SyntaxError)
}

/// Lists keys that are so long that the list has several pages.
#[cfg(feature = "list_keys")]
pub async fn list_keys(store: &Store) -> Outcome {
    let end = [b"\r\n\0\xff".as_slice(), &[b'k'; 3000]].concat();
    let key = |number: usize| [store.key(&format!("listed/{number:02}")), end.clone()].concat();
    let keys: Vec<_> = (0..50).map(key).collect();
    for key in &keys {
        store.put(key, b"value").await?;
    }
    store.del(&keys[0], None).await?;
    let (pages, mut listed) = list(store, "listed/*").await?;
    listed.sort();
    expect("listed keys", listed.len(), keys.len() - 1)?;
    expect("listed keys are those that were set", listed == keys[1..], true)?;
    expect("more than one page", pages > 1, true)?;
    expect("keys of a pattern that none fits", list(store, "none/*").await?, (1, vec![]))
}

/// Returns the number of pages and the keys of all pages.
#[cfg(feature = "list_keys")]
async fn list(store: &Store, pattern: &str) -> Outcome<(usize, Vec<Vec<u8>>)> {
    let mut pager = store.client.list_keys(store.key(pattern), ANSWER_LIMIT)?;
    let (mut pages, mut keys) = (0, Vec::new());
    while let Some(page) = pager.next().await? {
        pages += 1;
        keys.extend(page);
    }
    Ok((pages, keys))
}
