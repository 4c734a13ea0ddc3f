import { onTestFinished } from 'vitest'
import { Link } from '../../harness/link.js'

export { Link } from '../../harness/link.js'

/** Opens a link to the broker at `url`, which closes at the end of the test. */
export async function layLink(url: string, ...options: OptionsOf<typeof Link>): Promise<Link> {
  const link = new Link(url, ...options)
  await link.listen()
  onTestFinished(async () => link.close())
  return link
}

/** The parameters of the constructor after the target. */
type OptionsOf<C extends new (target: string, ...options: never) => unknown> =
  ConstructorParameters<C> extends [unknown, ...infer Options] ? Options : never
