// A route of the server that reads the store.
import { connect, number } from 'rx-statestore'

export const dynamic = 'force-dynamic'

export async function GET() {
  const store = connect('SERVER_URL')
  try {
    return Response.json((await store.key('setPoint', number).get()).value)
  } finally {
    await store.close()
  }
}
