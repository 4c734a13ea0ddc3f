import type { HubDriver } from './hub-driver.js'
import type { HubSession } from './hub-session.js'
import type { WebSocketLink } from './websocket-link.js'

/** Gives a session its network connection. */
export function bind(hub: HubDriver, session: HubSession, link: WebSocketLink): void {
  link.listen({
    receive: frame => hub.receive(session, link, frame),
    receiveAhead: frame => hub.receiveAhead(session, link, frame),
    alive: () => hub.alive(session, link),
    drained: () => hub.engine.drained(session, link),
    violated: () => hub.engine.violated(session, link),
    gone: code => hub.dropped(session, link, code),
  })
}
