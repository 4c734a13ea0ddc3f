import { onTestFinished } from 'vitest'
import { Link } from '../../harness/link.js'

export { Link } from '../../harness/link.js'

/** Opens a link to the broker at `url`, which closes at the end of the test. */
export async function layLink(url: string): Promise<Link> {
  const link = new Link(url)
  await link.listen()
  onTestFinished(async () => link.close())
  return link
}
