import { ArgumentError } from '../../core/util/errors.js'
import { formatUrl } from '../../core/util/format-url.js'

interface UrlParts {
  /** The URL without user name and password. */
  readonly address: string
  readonly username?: string
  readonly password?: string
}

/**
 * Splits the user name and password off a valid URL, and decodes them. An empty one counts as absent, because a parsed
 * URL does not distinguish them. Throws {@link ArgumentError} if they are not UTF-8.
 */
export function splitCredentials(url: string): UrlParts {
  const parsed = new URL(url)
  const { username, password } = parsed
  if (!username && !password) return { address: url }
  parsed.username = parsed.password = ''
  return {
    address: parsed.href,
    ...(username && { username: decode(username, url) }),
    ...(password && { password: decode(password, url) }),
  }
}

// A percent sign without two hex digits stands for itself (URL Standard, section 1.3, "percent-decode").
function decode(encoded: string, url: string): string {
  try {
    return encoded.replace(/(%[\da-f]{2})+/gi, decodeURIComponent)
  } catch {
    throw new ArgumentError(
      `Expected a user name and password in UTF-8 for ${formatUrl(url)}: pass \`username\` and \`password\``,
    )
  }
}
