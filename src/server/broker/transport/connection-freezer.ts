import { type Server, Socket } from 'node:net'
import { TLSSocket, Server as TlsServer } from 'node:tls'
import { completeHandshake } from '../../../node/net/client-handshakes.js'

/** The number of new connections that a frozen server queues, equal to the default listen backlog of Node. */
export const MAX_QUEUED_CONNECTIONS = 511

export const connectionEvent = (server: Server): string =>
  server instanceof TlsServer ? 'secureConnection' : 'connection'

const CONNECTION_EVENTS: ReadonlySet<string> = new Set(['connection', 'secureConnection'])

type Method = (...args: never[]) => unknown

/**
 * Freezes all connections of some servers as if the process were stopped. Existing connections stay open without
 * reading or writing, and new connections are queued. Each connection buffers its received data and at most one further
 * chunk.
 */
export class ConnectionFreezer {
  readonly #servers: readonly Server[]
  readonly #sockets = new Set<Socket>()
  #thawTasks: (() => void)[] | undefined
  #allowsDestroy = false

  constructor(servers: readonly Server[]) {
    this.#servers = servers
    for (const server of servers) server.on(connectionEvent(server), (socket: Socket) => this.#track(socket))
  }

  freeze(): void {
    this.#thawTasks ??= [
      ...Array.from(this.#sockets, socket => this.#freezeSocket(socket)),
      ...this.#servers.map(server => this.#freezeServer(server)),
    ]
  }

  thaw(): void {
    const tasks = this.#thawTasks ?? []
    this.#thawTasks = undefined
    for (const task of tasks) task()
  }

  /** Runs a task that may destroy frozen connections. */
  runWithDestroy(task: () => void): void {
    this.#allowsDestroy = true
    try {
      task()
    } finally {
      this.#allowsDestroy = false
    }
  }

  destroy(): void {
    this.runWithDestroy(() => {
      for (const socket of this.#sockets) socket.destroy()
    })
    this.thaw()
    for (const socket of this.#sockets) socket.destroy()
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
  }

  /** Replaces the methods with which a socket reads and ends. The deferred calls run in order after the thaw. */
  #freezeSocket(socket: Socket): () => void {
    const deferred: (() => void)[] = []
    // The methods are kept unbound, because they are restored later.
    const { push, destroy, end }: Pick<Socket, 'push' | 'destroy' | 'end'> = socket
    const defer = (method: Method, args: unknown[]): void => {
      deferred.push(() => Reflect.apply(method, socket, args))
    }
    Object.assign(socket, {
      // Returning `false` stops reading from the operating system.
      push(...args: unknown[]): boolean {
        defer(push, args)
        return false
      },
      destroy: (...args: unknown[]): Socket => {
        if (this.#allowsDestroy) Reflect.apply(destroy, socket, args)
        else defer(destroy, args)
        return socket
      },
      // The call is deferred, because ending would flush the corked data.
      end(...args: unknown[]): Socket {
        defer(end, args)
        return socket
      },
    })
    socket.cork()
    return () => {
      Object.assign(socket, { push, destroy, end })
      socket.uncork()
      for (const task of deferred) if (!socket.destroyed) task()
    }
  }

  #freezeServer(server: Server): () => void {
    const { emit }: Pick<Server, 'emit'> = server
    const queued = new Map<Socket, string>()
    Object.assign(server, {
      emit(event: string, ...args: unknown[]): unknown {
        const [socket] = args
        if (!CONNECTION_EVENTS.has(event) || !(socket instanceof Socket))
          return Reflect.apply(emit, server, [event, ...args])
        if (socket instanceof TLSSocket) completeHandshake(socket)
        if (queued.size >= MAX_QUEUED_CONNECTIONS) socket.destroy()
        else queueConnection(socket, event, queued)
        return true
      },
    })
    return () => {
      Object.assign(server, { emit })
      for (const [socket, event] of queued) {
        socket.off('error', ignore)
        server.emit(event, socket)
      }
    }
  }
}

function queueConnection(socket: Socket, event: string, queued: Map<Socket, string>): void {
  queued.set(socket, event)
  socket.on('error', ignore)
  socket.once('close', () => queued.delete(socket))
}

const ignore = (): void => undefined
