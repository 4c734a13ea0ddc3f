import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.js'

/** A certificate with its key, in PEM format. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

/** An authority that issues certificates with `openssl`. */
export class Authority implements Pair {
  readonly folder = temporaryFolder()
  readonly cert: string
  readonly key: string
  #count = 0

  /** @param subject - for example `/CN=Contoso Root CA Cert/OU=Engineering/C=US` */
  constructor(subject: string, issuer?: Authority) {
    const pair = issuer ? issuer.issue(subject, { authority: true }) : this.#selfSigned(subject)
    this.cert = pair.cert
    this.key = pair.key
    this.#write('ca.pem', this.cert)
    this.#write('ca.key', this.key)
  }

  /** The path of the authority's own certificate. */
  get file(): string {
    return join(this.folder, 'ca.pem')
  }

  /** Issues a certificate for a subject and for `localhost` and 127.0.0.1. */
  issue(subject: string, { days = 2, authority = false } = {}): Pair {
    const name = `issued-${++this.#count}`
    const extensions = authority
      ? 'basicConstraints=critical,CA:TRUE'
      : 'basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost,IP:127.0.0.1'
    this.#write(`${name}.ext`, extensions)
    this.#run('req', '-new', ...NEW_KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject)
    const ca = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial']
    this.#run(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...ca,
      '-days',
      String(days),
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.pem`,
    )
    return { cert: this.#read(`${name}.pem`), key: this.#read(`${name}.key`) }
  }

  /** Writes a certificate and its key to files, and returns the paths. */
  files({ cert, key }: Pair): { readonly cert: string; readonly key: string } {
    const name = `files-${++this.#count}`
    return { cert: this.#write(`${name}.pem`, cert), key: this.#write(`${name}.key`, key) }
  }

  #selfSigned(subject: string): Pair {
    this.#run('req', '-x509', ...NEW_KEY, '-keyout', 'self.key', '-out', 'self.pem', '-days', '2', '-subj', subject)
    return { cert: this.#read('self.pem'), key: this.#read('self.key') }
  }

  #run(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe' })
  }

  #read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8')
  }

  #write(name: string, content: string): string {
    writeFileSync(join(this.folder, name), content)
    return join(this.folder, name)
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
