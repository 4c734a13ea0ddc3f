import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    globalSetup: 'spec/support/services.ts',
    include: ['spec/**/*.spec.ts'],
    sequence: { shuffle: true },
    // By default one core is left idle, which is half of a small machine.
    maxWorkers: '100%',
    testTimeout: 20_000,
    hookTimeout: 20_000,
    coverage: {
      enabled: process.env['CI'] !== undefined,
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text', 'json-summary'],
      thresholds: { lines: 90 },
    },
  },
})
