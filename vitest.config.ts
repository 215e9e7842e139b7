import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { seed } from './test/support/seed.ts'

const reporters = ['default', ['json', { outputFile: '.cache/tests.json' }]] as [string, ['json', { outputFile: string }]]

/** Test files whose first line is `// @stage`: nearly every test of them needs a stage to run on. */
const staged = ['src', 'test']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
  .filter((file) => file.endsWith('.test.ts') && readFileSync(file, 'utf8').startsWith('// @stage\n'))
const confines =
  spawnSync('unshare', ['-Urm', 'bwrap', '--unshare-all', '--unshare-user', '--ro-bind', '/', '/', 'true'], { stdio: 'ignore' })
    .status === 0
if (!confines)
  process.stderr.write(
    `handrail: programs cannot be confined here (bubblewrap and user namespaces are needed), so these are not tested: ${staged.join(', ')}\n`,
  )
const exclude = confines ? [] : staged
// This file is read more than once in a run: the first time decides.
if (process.env['HANDRAIL_SEED'] === undefined)
  process.stderr.write(`handrail: what is random is drawn from HANDRAIL_SEED=${seed}\n`)
process.env['HANDRAIL_SEED'] = String(seed)
const env = { HANDRAIL_TEST_CONFINES: confines ? '1' : '', HANDRAIL_SEED: String(seed) }

/** These take longest, most of all by waiting: begun first, none of them is left over at the end while other processes have nothing to do. */
const longest = [
  'http-floods',
  'commands-walls',
  'dev-server',
  'crash',
  'stage',
  'preview',
  'trees',
  'page-origin',
  'races',
  'regex',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return at < 0 ? longest.length : at
    }
    const sorted = await super.sort(files)
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder
    return sorted.toSorted((a, b) => group(a) - group(b) || rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    reporters,
    env,
    setupFiles: ['test/support/fast-check.ts', 'test/support/same-environment.ts'],
    // Longer than anything waits for one event: on a busy machine a test is late, not wrong.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
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
        // Real servers, real processes, real kills. Three processes, since tests wait a third of their time, take one file after the other;
        // a file leaves nothing behind in them.
        test: {
          name: 'whole',
          include: ['test/flows/**/*.test.ts', 'test/attacks/**/*.test.ts', 'test/conformance/**/*.test.ts'],
          exclude,
          pool: 'forks',
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
