/** The configuration of Mosquitto that docs/any-broker.md describes. Sessions are lost when the broker ends. */
export const MOSQUITTO_CONFIGURATION = [
  'allow_anonymous true',
  'set_tcp_nodelay true',
  'persistence false',
  'max_queued_messages 0',
  // Applies the rule of MQTT 5 to clients of MQTT 3.1.1: the copy with the highest QoS is delivered (3.1.1, 3.3.5-1).
  'allow_duplicate_messages true',
  'max_inflight_messages 0',
  'log_dest stderr',
  'log_type information',
  'connection_messages false',
]
