import type { StreamInfo } from '@nats-io/jetstream'
import { ArgumentError } from '../../../core/util/errors.js'

/** Throws {@link ArgumentError} unless a stream keeps all it has taken, on so many servers. */
export function checkKept({ config }: StreamInfo, replicas: number): void {
  const { name, storage, num_replicas, retention, max_age, max_msgs, max_bytes, max_msgs_per_subject } = config
  const forgets = max_age > 0 || max_msgs > 0 || max_bytes > 0 || max_msgs_per_subject > 0 || retention !== 'limits'
  if (storage !== 'file' || forgets)
    throw new ArgumentError(
      `the stream ${name} does not keep all it has taken: it has to have file storage and no limits of age, messages or bytes`,
    )
  if (num_replicas !== replicas)
    throw new ArgumentError(
      `the stream ${name} has ${num_replicas} replicas, not ${replicas}: say so, or change the stream with the tools of NATS`,
    )
}

/**
 * Throws {@link ArgumentError} unless a stream can be the log of a store: it keeps all, takes what nodes send and nothing
 * else, and may be trimmed.
 *
 * @param largest - message that NATS takes, bytes
 */
export function checkStream(info: StreamInfo, subject: string, largest: number, replicas: number): void {
  checkKept(info, replicas)
  const { name, subjects = [], max_msg_size, deny_purge, sealed, no_ack, mirror, sources } = info.config
  const own = subjects.length === 1 && subjects[0] === subject && mirror === undefined && sources === undefined
  if (!own)
    throw new ArgumentError(
      `the stream ${name} is not the log of a store: it has to take what is sent to ${subject}, and that alone`,
    )
  if (max_msg_size > 0 && max_msg_size < largest)
    throw new ArgumentError(
      `the stream ${name} takes messages of ${max_msg_size} bytes at most, and nodes may send ${largest}: it has to have no limit of its own`,
    )
  if (deny_purge || sealed || no_ack)
    throw new ArgumentError(
      `the stream ${name} cannot be used: it is sealed, acknowledges nothing, or may not be trimmed behind snapshots`,
    )
}
