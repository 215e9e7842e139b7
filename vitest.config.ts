import { spawnSync } from 'node:child_process'
import { defineConfig } from 'vitest/config'

const reporters = ['default', ['json', { outputFile: '.cache/tests.json' }]] as [string, ['json', { outputFile: string }]]

/** Files of which nearly every test needs a stage to run on. */
const staged = [
  'test/contract/programs.test.ts',
  'test/contract/skills.test.ts',
  'test/flows/stage.test.ts',
  'test/flows/ready.test.ts',
  'test/flows/dev-server.test.ts',
  'test/flows/network.test.ts',
  'test/attacks/commands.test.ts',
  'test/attacks/skills.test.ts',
]
const confines =
  spawnSync('unshare', ['-Urm', 'bwrap', '--unshare-all', '--unshare-user', '--ro-bind', '/', '/', 'true'], { stdio: 'ignore' })
    .status === 0
if (!confines)
  process.stderr.write(
    `handrail: programs cannot be confined here (bubblewrap and user namespaces are needed), so these are not tested: ${staged.join(', ')}\n`,
  )
const exclude = confines ? [] : staged
const env = { HANDRAIL_TEST_CONFINES: confines ? '1' : '' }

export default defineConfig({
  test: {
    reporters,
    env,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/pins/**/*.test.ts', 'test/contract/**/*.test.ts'],
          exclude,
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        // Real servers, real processes, real kills: one process per file. A machine that stood still for a moment gets a second chance.
        test: {
          name: 'whole',
          include: ['test/flows/**/*.test.ts', 'test/attacks/**/*.test.ts', 'test/conformance/**/*.test.ts'],
          exclude,
          pool: 'forks',
          maxWorkers: 2,
          retry: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
