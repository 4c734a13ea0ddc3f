import type { Command } from 'commander'
import type { QuotaOptions } from '../server/index.js'
import { positiveInteger } from './flags.js'

/** Flags of `serve` about how much there may be; `maximumBufferedBytes` is what `--max-memory` leaves. */
export type QuotaFlags = Omit<QuotaOptions, 'maximumBufferedBytes'>

const GROUP = 'How much (per principal: per user, or per address of who shows nothing; this machine counts for none):'

const FLAGS = [
  ['--max-memory', 'most that keys and everything that waits may take together, bytes'],
  ['--max-keys', 'most keys the store holds (1000000)'],
  ['--max-keys-per-principal', 'most that one wrote last (half of it)'],
  ['--max-bytes', 'most the store keeps: keys, values, watched keys'],
  ['--max-bytes-per-principal', 'most for keys that one wrote last (half of it)'],
  ['--max-waiting-bytes-per-principal', 'most for its clients that are away (an eighth of what waits)'],
  ['--max-connections', 'most connections (50000)'],
  ['--max-connections-per-address', 'most from one other machine (1000)'],
  ['--max-connections-per-principal', 'most of one (10000)'],
  ['--max-subscriptions', 'most subscriptions (1000000)'],
  ['--max-subscriptions-per-principal', 'most of one (100000)'],
  ['--max-watches', 'most watches of keys (2000000)'],
  ['--max-watches-per-principal', 'most of one (500000)'],
  ['--max-retained', 'most retained messages (100000)'],
  ['--max-retained-per-principal', 'most of one (half of it)'],
  ['--max-retained-bytes', 'most bytes of them (256 MiB, and half of what waits)'],
  ['--max-retained-bytes-per-principal', 'most of one (half of it)'],
  ['--max-packet-rate', 'packets a second; who sends more is read more slowly (any number)'],
  ['--max-packet-rate-per-address', 'from one other machine (100000)'],
  ['--max-packet-rate-per-principal', 'of one (50000)'],
  ['--max-byte-rate', 'bytes a second, likewise (any number)'],
  ['--max-byte-rate-per-address', 'from one other machine (256 MiB)'],
  ['--max-byte-rate-per-principal', 'of one (128 MiB)'],
  ['--max-scan-rate-per-principal', 'bytes of keys that scans of one compare in a second (64 MiB)'],
  ['--max-user-properties', 'most user properties of a packet (1000)'],
] as const

/** Adds them. */
export function addQuotaFlags(command: Command): void {
  for (const [flag, description] of FLAGS) {
    const option = command.createOption(`${flag} <n>`, description)
    command.addOption(option.argParser(positiveInteger).helpGroup(GROUP))
  }
}

/** What flags say of quotas. */
export function quotasOf(flags: QuotaFlags): QuotaFlags {
  const names = FLAGS.map(([flag]) => flag.slice(2).replace(/-(.)/g, (_, letter: string) => letter.toUpperCase()))
  return Object.fromEntries(
    Object.entries(flags).filter(([name, value]) => names.includes(name) && value !== undefined),
  )
}
