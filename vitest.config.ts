import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { patienceMs } from './test/support/patience.ts'
import { findPostgres } from './test/support/postgres.ts'
import { seed } from './test/support/seed.ts'
import { isSoak } from './test/support/soak.ts'

const outputFile = process.env['HANDRAIL_TEST_REPORT'] ?? '.cache/some-tests.json'
const reporters = ['default', ['json', { outputFile }]] as [string, ['json', { outputFile: string }]]

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

/** What runs promise, whichever store they are in. Left out: what looks into the embedded store itself (`cluster/store` has its like). */
const onBothStores = [
  'test/flows/runs.test.ts',
  'test/flows/runs-contract.test.ts',
  // Attacks, and what is between processes or comes by other ways in: `cluster/workers` and `cluster/store` have the like.
  ...(isSoak
    ? ['attacks/runs', 'flows/mcp-tasks', 'flows/runs-cli', 'flows/runs-processes'].map((name) => `test/${name}.test.ts`)
    : []),
]
const hasPostgres = findPostgres() !== undefined
if (!hasPostgres)
  process.stderr.write(
    'handrail: there is no PostgreSQL here, so runs on several machines are not tested. Debian: apt-get install postgresql\n',
  )

/** These take longest, most of all by waiting: begun first, none of them is left over at the end while other processes have nothing to do. */
const longest = [
  'gateway-paths',
  'preview',
  'commands-walls',
  'browser-floods',
  'http-floods',
  'stage-walls',
  'conformance',
  'hostile-game',
  'dev-server',
  'browser-frozen',
  'browser-pages',
  'crash-writes',
  'beach-date',
  'browser-forms',
  'workers',
  'parity',
  'browser-runs',
  'elicitation',
  'commands',
  'dev-server-secrets',
  'browser-contract',
  'races',
  'browser',
  'crowd',
  'elicitation-agents',
  'page-origin',
  'runs-contract',
  'paths',
  'stage-secrets',
  'regex',
  'card-bits',
  'flooding',
  'stage',
  'state',
  'browser-killed',
  'preview-engines',
  'runs-killed',
  'elicitation-replay',
  'nothing-blocks',
  'client-answers',
  'roots',
  'elicitation-cards',
  'http-sessions',
  'stage-late-secrets',
  'files-that-run',
]

/** A sweep at its full length goes on for minutes, on a machine with other things to do for a quarter of an hour. */
const longestTestMs = (isSoak ? 8 : 2) * patienceMs

/** Twice what a small machine has cores: tests wait for browsers, limits and programs a good part of their time. With more of them it takes as long. */
const maxWorkers = 4

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return at < 0 ? longest.length : at
    }
    const sorted = await super.sort(files)
    // A process that has run files of one project is ended before one of the other, and a new one loads everything once more: one after the other, then.
    const isCluster = ({ project }: TestSpecification): number => Number(project.name === 'cluster')
    // Those that test one part alone take no time: at the end.
    const isShort = ({ moduleId }: TestSpecification): number => Number(!moduleId.startsWith(`${process.cwd()}/test/`))
    return sorted.toSorted((a, b) => isCluster(b) - isCluster(a) || isShort(a) - isShort(b) || rank(a) - rank(b))
  }
}

/** What was made of a source is kept between two runs, and for the other project in the same run: one test starts in half the time. */
const experimental = { fsModuleCache: true, fsModuleCachePath: '.cache/modules' }

export default defineConfig({
  test: {
    reporters,
    experimental,
    env,
    setupFiles: ['fast-check', 'same-environment', 'fresh-connections', 'processor-time'].map(
      (name) => `test/support/${name}.ts`,
    ),
    // Longer than anything waits for one event: on a busy machine a test is late, not wrong.
    testTimeout: longestTestMs,
    hookTimeout: longestTestMs,
    expect: { poll: { timeout: patienceMs } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        // Real servers, real processes, real kills, and beside them what tests one part alone. A few processes take one file after the other;
        // a file leaves nothing behind in them. All in one project: each would read and translate every source once more.
        test: {
          name: 'whole',
          include: [
            'src/**/*.test.ts',
            ...['pins', 'contract', 'flows', 'attacks', 'conformance'].map((folder) => `test/${folder}/**/*.test.ts`),
          ],
          exclude,
          pool: 'forks',
          isolate: false,
          maxWorkers,
        },
      },
      {
        extends: true,
        // Several machines on one PostgreSQL; and once more everything about runs, on that store in the place of the embedded one.
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts', ...(hasPostgres ? onBothStores : [])],
          exclude: [...exclude, ...(hasPostgres ? [] : ['test/cluster/**'])],
          env: { ...env, HANDRAIL_TEST_CLUSTER: '1' },
          globalSetup: ['test/support/cluster-server.ts'],
          pool: 'forks',
          isolate: false,
          maxWorkers,
        },
      },
    ],
  },
})
