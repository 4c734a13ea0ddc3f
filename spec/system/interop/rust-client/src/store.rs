//! The official client, with the arguments that every check would repeat.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use azure_iot_operations_mqtt::aio::connection_settings::MqttConnectionSettingsBuilder;
use azure_iot_operations_mqtt::error::ConnectError;
use azure_iot_operations_mqtt::session::reconnect_policy::{ConnectionLossReason, ReconnectPolicy};
use azure_iot_operations_mqtt::session::{Session, SessionManagedClient, SessionOptionsBuilder};
use azure_iot_operations_protocol::application::ApplicationContextBuilder;
pub use azure_iot_operations_protocol::common::hybrid_logical_clock::HybridLogicalClock as Version;
use azure_iot_operations_services::state_store::{
    Client, ClientOptionsBuilder, Error, KeyNotification, KeyObservation, Operation, Response,
    SetCondition, SetOptions,
};
use tokio::time::timeout;

use crate::expect::{Outcome, expect, known};

pub const ANSWER_LIMIT: Duration = Duration::from_secs(3);
pub const LEASE: Duration = Duration::from_secs(30);
const RECONNECT_DELAY: Duration = Duration::from_millis(10);

pub struct Store {
    pub client: Arc<Client>,
    pub mqtt: SessionManagedClient,
    pub run: String,
}

impl Store {
    pub fn new(session: &Session, run: String) -> Outcome<Self> {
        let client = Client::new(
            ApplicationContextBuilder::default().build()?,
            session.create_managed_client(),
            session.create_session_monitor(),
            ClientOptionsBuilder::default().build()?,
        )?;
        Ok(Self { client: Arc::new(client), mqtt: session.create_managed_client(), run })
    }

    pub fn key(&self, name: &str) -> Vec<u8> {
        format!("{}/{name}", self.run).into_bytes()
    }

    pub async fn set(
        &self,
        key: &[u8],
        value: &[u8],
        options: SetOptions,
        token: Option<&Version>,
    ) -> Result<Response<bool>, Error> {
        let (key, value, token) = (key.to_vec(), value.to_vec(), token.cloned());
        self.client.set(key, value, ANSWER_LIMIT, token, options).await
    }

    /// Sends a SET without conditions and returns the version.
    pub async fn put(&self, key: &[u8], value: &[u8]) -> Outcome<Version> {
        let set = self.set(key, value, SetOptions::default(), None).await?;
        expect("set", set.response, true)?;
        known(set.version)
    }

    /// Sends the SET of the lock recipe.
    pub async fn acquire(&self, lock: &[u8], owner: &[u8]) -> Result<Response<bool>, Error> {
        let options =
            SetOptions { set_condition: SetCondition::OnlyIfEqualOrDoesNotExist, ..living(LEASE) };
        self.set(lock, owner, options, None).await
    }

    pub async fn get(&self, key: &[u8]) -> Result<Response<Option<Vec<u8>>>, Error> {
        self.client.get(key.to_vec(), ANSWER_LIMIT).await
    }

    pub async fn del(&self, key: &[u8], token: Option<&Version>) -> Result<Response<i64>, Error> {
        let token = token.cloned();
        self.client.del(key.to_vec(), token, ANSWER_LIMIT).await
    }

    pub async fn vdel(&self, key: &[u8], value: &[u8]) -> Result<i64, Error> {
        let (key, value) = (key.to_vec(), value.to_vec());
        let answer = self.client.vdel(key, value, None, ANSWER_LIMIT).await?;
        Ok(answer.response)
    }

    pub async fn observe(&self, key: &[u8]) -> Result<KeyObservation, Error> {
        let answer = self.client.observe(key.to_vec(), ANSWER_LIMIT).await?;
        Ok(answer.response)
    }

    pub async fn unobserve(&self, key: &[u8]) -> Result<bool, Error> {
        let answer = self.client.unobserve(key.to_vec(), ANSWER_LIMIT).await?;
        Ok(answer.response)
    }
}

pub fn living(time: Duration) -> SetOptions {
    SetOptions { expires: Some(time), ..SetOptions::default() }
}

pub fn set_to(value: &[u8]) -> Operation {
    Operation::Set(value.to_vec())
}

pub async fn next(observation: &mut KeyObservation) -> Outcome<KeyNotification> {
    let arrived = timeout(ANSWER_LIMIT, observation.recv_notification()).await;
    let arrived = arrived.map_err(|_| "expected a notification, came none")?;
    let (notification, _) = arrived.ok_or("expected a notification, came the end of them")?;
    Ok(notification)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// The address of the store and the credentials of the client. The credentials are files, all in PEM format except the
/// token.
pub struct Address {
    pub host: String,
    pub port: u16,
    pub ca: Option<String>,
    pub cert: Option<String>,
    pub key: Option<String>,
    pub sat: Option<String>,
    /// The number of keys to write over a network that breaks, instead of running the checks.
    pub writes: Option<usize>,
}

impl Default for Address {
    fn default() -> Self {
        let host = "127.0.0.1".to_string();
        Self { host, port: 1883, ca: None, cert: None, key: None, sat: None, writes: None }
    }
}

/// Opens a session that reconnects as long as the policy permits.
pub fn open_session(
    address: Address,
    client_id: &str,
    policy: Box<dyn ReconnectPolicy>,
) -> Outcome<Session> {
    let settings = MqttConnectionSettingsBuilder::default()
        .hostname(address.host)
        .tcp_port(address.port)
        .client_id(client_id)
        .use_tls(address.ca.is_some())
        .ca_file(address.ca)
        .cert_file(address.cert)
        .key_file(address.key)
        .sat_file(address.sat)
        .connection_timeout(ANSWER_LIMIT)
        .build()?;
    let options = SessionOptionsBuilder::default()
        .connection_settings(settings)
        .reconnect_policy(policy)
        .build()?;
    Ok(Session::new(options)?)
}

/// A policy that never reconnects and stores the reason for the end in its cell.
pub struct NeverReconnect(pub Arc<OnceLock<String>>);

impl ReconnectPolicy for NeverReconnect {
    fn connect_failure_reconnect_delay(&self, _: u32, error: &ConnectError) -> Option<Duration> {
        self.0.get_or_init(|| error.to_string());
        None
    }

    fn connection_loss_reconnect_delay(&self, reason: &ConnectionLossReason) -> Option<Duration> {
        self.0.get_or_init(|| match reason {
            ConnectionLossReason::DisconnectByServer(packet) => format!("{packet:?}"),
            ConnectionLossReason::PingTimeout => "no answer to a ping".into(),
            ConnectionLossReason::IoError(error) => error.to_string(),
            ConnectionLossReason::ProtocolError(error) => error.to_string(),
        });
        None
    }
}

/// A policy for a network that breaks, which reconnects immediately.
pub struct AlwaysReconnect;

impl ReconnectPolicy for AlwaysReconnect {
    fn connect_failure_reconnect_delay(&self, _: u32, _: &ConnectError) -> Option<Duration> {
        Some(RECONNECT_DELAY)
    }

    fn connection_loss_reconnect_delay(&self, _: &ConnectionLossReason) -> Option<Duration> {
        Some(RECONNECT_DELAY)
    }
}
