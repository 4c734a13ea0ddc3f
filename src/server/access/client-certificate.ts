/** Parts of a subject, such as `['CN=panel', 'O=contoso']`, in alphabetical order. */
export type SubjectName = readonly string[]

/** What a client shows of itself in TLS. */
export interface ClientCertificate {
  /** Whether its chain ends at one of the authorities we believe. */
  readonly trusted: boolean
  /** Of its certificate, then of those who issued it. */
  readonly subjects: readonly SubjectName[]
  /** Names of itself (CN); there should be one. */
  readonly commonNames: readonly string[]
  /** SHA-256, Base16 with colons. */
  readonly fingerprint: string
  /** ms since the Unix epoch */
  readonly validTo: number
}
