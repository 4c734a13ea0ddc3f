import type { Client } from '../../core/mqtt5/peer.js'
import type { Command } from '../../core/protocol/commands.js'
import type { CommandError } from '../../core/protocol/parse-command.js'
import type { Answer, Change, Restoration } from '../engine/engine.js'
import type { LogFailure } from '../log/log.js'
import type { Job } from './batch.js'
import type { InvokeRequest, InvokeResponse, StateStoreService } from './service.js'

/** Who answers requests. */
export interface RequestHost<M = InvokeRequest> {
  readonly service: StateStoreService<Client>
  now(): number
  respond(connection: Client, message: M, response: InvokeResponse): void
}

/** A request of a connection. */
export class RequestJob<M extends InvokeRequest> implements Job {
  readonly #host: RequestHost<M>
  readonly #connection: Client
  readonly #message: M
  readonly #command: Command | undefined

  constructor(host: RequestHost<M>, connection: Client, message: M, command: Command | undefined) {
    this.#host = host
    this.#connection = connection
    this.#message = message
    this.#command = command
  }

  read(): void {
    const { service } = this.#host
    const refusal = service.refuse(this.#message)
    const now = this.#host.now()
    this.#respond(refusal ?? service.ask(this.#message, this.#command, this.#connection, now))
  }

  answered(answer: Answer): void {
    this.#respond(this.#host.service.respond(answer))
  }

  loaded(): void {}

  failed(failure: LogFailure): void {
    // No answer says that its outcome is unknown.
    if (failure.problem !== 'unknown') this.#respond(this.#host.service.failed(failure))
  }

  #respond(response: InvokeResponse): void {
    this.#host.respond(this.#connection, this.#message, response)
  }
}

/** Records of a dump that are loaded. */
export class LoadJob implements Job {
  readonly #tell: (changes: readonly Change[]) => void
  readonly #resolve: (restoration: Restoration) => void
  readonly #reject: (reason: CommandError | LogFailure) => void

  constructor(
    tell: (changes: readonly Change[]) => void,
    resolve: (restoration: Restoration) => void,
    reject: (reason: CommandError | LogFailure) => void,
  ) {
    this.#tell = tell
    this.#resolve = resolve
    this.#reject = reject
  }

  read(): void {}

  answered(): void {}

  loaded(outcome: Restoration | CommandError): void {
    if (!('changes' in outcome)) {
      this.#reject(outcome)
      return
    }
    this.#tell(outcome.changes)
    this.#resolve(outcome)
  }

  failed(failure: LogFailure): void {
    this.#reject(failure)
  }
}
