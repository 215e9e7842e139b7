import { defineConfig } from 'vitest/config'

const reporters = ['default', ['json', { outputFile: '.cache/tests.json' }]] as [string, ['json', { outputFile: string }]]

export default defineConfig({
  test: {
    reporters,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/pins/**/*.test.ts', 'test/contract/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Real servers, real processes, real kills: one process per file. A machine that stood still for a moment gets a second chance.
        test: { name: 'whole', include: ['test/flows/**/*.test.ts', 'test/attacks/**/*.test.ts', 'test/conformance/**/*.test.ts'], pool: 'forks', maxWorkers: 2, retry: 1, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
