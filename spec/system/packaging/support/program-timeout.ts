/**
 * The timeout in ms of a test that runs a compiler, npm or several programs. Alone, they take a few seconds, and many
 * times as long on a busy machine.
 */
export const PROGRAM_TIMEOUT_MS = 120_000
