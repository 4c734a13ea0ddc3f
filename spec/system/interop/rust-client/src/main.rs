//! Drives a state store with the official Rust client and prints one line per check.
//!
//! Usage: `interop-rust [--host HOST] [--port PORT] [--ca FILE [--cert FILE --key FILE | --sat FILE]] [--writes COUNT]`,
//! with TLS if a CA is given. With `--writes`, the program runs no checks and writes COUNT keys over connections that may
//! be cut. The exit code is 1 if something failed.

mod checks;
mod expect;
mod store;
mod writes;

use std::process::{self, ExitCode};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, panic, thread};

use tokio::time::timeout;

use expect::{Outcome, describe};
use store::{ANSWER_LIMIT, Address, AlwaysReconnect, NeverReconnect, Store, open_session};

const CHECK_LIMIT: Duration = Duration::from_secs(8);
const RUN_LIMIT: Duration = Duration::from_secs(55);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<ExitCode> {
    panic::set_hook(Box::new(|panic| fail_the_run(&panic.to_string())));
    thread::spawn(|| {
        thread::sleep(RUN_LIMIT);
        fail_the_run("no end within its limit");
    });
    let address = address(env::args().skip(1))?;
    let run = unique_name()?;
    let lost = Arc::new(OnceLock::new());
    let writes = address.writes;
    let session = match writes {
        None => open_session(address, &run, Box::new(NeverReconnect(lost.clone())))?,
        Some(_) => open_session(address, &run, Box::new(AlwaysReconnect))?,
    };
    let store = Store::new(&session, run)?;
    let exit = session.create_exit_handle();
    let mut connection = tokio::spawn(session.run());

    let passed = tokio::select! {
        passed = work(&store, writes) => passed,
        end = &mut connection => {
            lost.get_or_init(|| format!("{end:?}"));
            false
        }
    };
    if exit.try_exit().is_err() {
        let came = lost.get().map_or("its end", String::as_str);
        println!("FAIL connection: expected one that lasts, came: {came}");
        return Ok(ExitCode::FAILURE);
    }
    let _ = timeout(ANSWER_LIMIT, connection).await;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn work(store: &Store, writes: Option<usize>) -> bool {
    match writes {
        None => run_checks(store).await,
        Some(count) => writes::write(store, count).await,
    }
}

async fn run_checks(store: &Store) -> bool {
    let passed = [
        check("set and get", checks::set_and_get(store)).await,
        check("binary key and value", checks::binary_key_and_value(store)).await,
        check("empty value differs from no key", checks::empty_value(store)).await,
        check("get of an absent key", checks::get_absent(store)).await,
        check("del", checks::del(store)).await,
        check("vdel", checks::vdel(store)).await,
        check("set NX", checks::set_nx(store)).await,
        check("set NEX: the lock recipe", checks::lock_recipe(store)).await,
        check("lock client: the second owner waits", checks::lock_client(store)).await,
        check("set PX: the key expires", checks::expiry(store)).await,
        check("set without PX removes the expiry", checks::expiry_removed(store)).await,
        check("observe", checks::observe(store)).await,
        check("unobserve", checks::unobserve(store)).await,
        check("fencing tokens", checks::fencing(store)).await,
        check("service errors", checks::service_errors(store)).await,
    ];
    #[cfg(feature = "list_keys")]
    let passed =
        passed
            .into_iter()
            .chain([check("list keys, page by page", checks::list_keys(store)).await]);
    passed.into_iter().all(|passed| passed)
}

async fn check(name: &str, run: impl Future<Output = Outcome>) -> bool {
    let late = || format!("expected an end within {CHECK_LIMIT:?}, came none").into();
    let outcome = timeout(CHECK_LIMIT, run).await.unwrap_or_else(|_| Err(late()));
    match &outcome {
        Ok(()) => println!("ok {name}"),
        Err(error) => match error.downcast_ref() {
            Some(error) => println!("FAIL {name}: expected an answer, came {}", describe(error)),
            None => println!("FAIL {name}: {error}"),
        },
    }
    outcome.is_ok()
}

/// Ends the process for failures that no check can catch: a panic of the client, or a run that does not end.
fn fail_the_run(came: &str) {
    println!("FAIL run: expected it to end by itself, came: {}", came.replace('\n', " "));
    process::exit(1);
}

fn address(mut arguments: impl Iterator<Item = String>) -> Outcome<Address> {
    let mut address = Address::default();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("every argument takes a value")?;
        match name.as_str() {
            "--host" => address.host = value,
            "--port" => address.port = value.parse()?,
            "--ca" => address.ca = Some(value),
            "--cert" => address.cert = Some(value),
            "--key" => address.key = Some(value),
            "--writes" => address.writes = Some(value.parse()?),
            "--sat" => address.sat = Some(value),
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    Ok(address)
}

fn unique_name() -> Outcome<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    Ok(format!("interop-rust-{}-{now}", process::id()))
}
