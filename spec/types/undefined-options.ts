// Every optional option accepts `undefined`, because environment variables may be undefined. This file is compiled but
// never run.

import type {
  AbortOptions,
  BackoffOptions,
  connect,
  DeleteOptions,
  PipelineOptions,
  SetOptions,
} from '../../src/client/index.js'
import type { LockOptions, lease } from '../../src/client/lease/index.js'
import type { MatchingOptions } from '../../src/client/matching/index.js'
import type { OptimisticOptions } from '../../src/client/optimistic/index.js'
import type { retained } from '../../src/client/retained/index.js'
import type { ShadowOptions } from '../../src/client/shadow/index.js'
import type { bridge } from '../../src/pubsub/bridge/index.js'
import type { connectPubSub, GroupSendOptions, SendingOptions } from '../../src/pubsub/client/index.js'
import type { SendOptions, servePubSub, TokenOptions } from '../../src/pubsub/hub/index.js'
import type { serveConsole } from '../../src/server/console/index.js'
import type {
  Authenticate,
  attach,
  LoadOptions,
  Method,
  RestartOptions,
  serve,
  Tokens,
} from '../../src/server/index.js'
import type { JetStreamOptions, jetStreamLog } from '../../src/server/log/jetstream/index.js'

/** The names of optional options that do not accept `undefined`. */
type Strict<O> = {
  [K in keyof O]-?: object extends Pick<O, K> ? ({ [P in K]: undefined } extends Pick<O, K> ? never : K) : never
}[keyof O]

type Last<F extends (...args: never) => unknown> =
  Required<Parameters<F>> extends [...unknown[], infer O] ? NonNullable<O> : never

declare function lenient<O>(...strict: [Strict<O>] extends [never] ? [] : [Strict<O>]): void

export function options(): void {
  // @ts-expect-error `name` is optional, but does not accept `undefined`
  lenient<{ name?: string }>()
  lenient<Last<typeof connect>>()
  lenient<BackoffOptions>()
  lenient<SetOptions & DeleteOptions & AbortOptions>()
  lenient<PipelineOptions>()
  lenient<Last<typeof lease>>()
  lenient<LockOptions>()
  lenient<MatchingOptions>()
  lenient<OptimisticOptions<number>>()
  lenient<Last<typeof retained>>()
  lenient<ShadowOptions<object>>()
  lenient<Last<typeof bridge>>()
  lenient<Last<typeof connectPubSub>>()
  lenient<GroupSendOptions & SendingOptions>()
  lenient<SendOptions>()
  lenient<TokenOptions>()
  lenient<Last<typeof servePubSub>>()
  lenient<Last<typeof serveConsole>>()
  lenient<Last<typeof serve>>()
  lenient<Last<typeof attach>>()
  lenient<LoadOptions>()
  lenient<RestartOptions>()
  lenient<Authenticate>()
  lenient<Method>()
  lenient<ConstructorParameters<typeof Tokens>[0]>()
  lenient<Last<typeof jetStreamLog>>()
  lenient<NonNullable<JetStreamOptions['tls']>>()
}
