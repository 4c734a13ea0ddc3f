import { CONTENT_TYPE, PROPERTY } from '../../core/protocol/properties.js'
import { INVOKE_TOPIC, responseTopic } from '../../core/protocol/topics.js'
import type { RpcTopics } from '../requests/invoker.js'

/** Where requests of a client go, and where their answers come. */
export const topicsOf = (clientId: string): RpcTopics => ({
  request: INVOKE_TOPIC,
  response: responseTopic(clientId),
  contentType: CONTENT_TYPE,
  status: PROPERTY.status,
  statusMessage: PROPERTY.statusMessage,
})
