import { posix } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Config } from '../contracts/config.ts'
import type { Tool } from '../contracts/tool.ts'
import { openPolicy } from '../kernel/policy.ts'
import { leaves, loadConfig, type LoadedConfig } from './load.ts'
import type { Inside } from './tighten.ts'
import { sweep } from '../../test/support/soak.ts'

type Leaf = (typeof leaves)[number]

test('every setting says which way it is tighter, and in words what a looser value does', () => {
  const told = (leaf: Leaf): string => [leaf.schema.tighter].flat(2).join(' ')
  // A new setting has to be thought about: it is added here with its direction.
  expect(Object.fromEntries(leaves.map((leaf) => [leaf.key, told(leaf)]))).toMatchInlineSnapshot(`
    {
      "agent.agentSessions": "person",
      "agent.baseUrl": "person",
      "agent.budgetCents": "person",
      "agent.budgetTokens": "person",
      "agent.contextTokens": "person",
      "agent.inputCents": "person",
      "agent.maxSteps": "person",
      "agent.model": "person",
      "agent.modelTimeoutMs": "person",
      "agent.outputCents": "person",
      "agent.provider": "person",
      "agent.replyTokens": "person",
      "browser.screenshotDir": "neutral",
      "cluster.artifactKeyId": "person",
      "cluster.artifactRegion": "person",
      "cluster.artifactSecret": "person",
      "cluster.artifactUrl": "person",
      "cluster.databaseUrl": "person",
      "cluster.leaseMs": "person",
      "cluster.redisUrl": "person",
      "cluster.runSpace": "person",
      "cluster.workerTemplates": "person",
      "contractVersion": "neutral",
      "disabledTools": "more",
      "enableShell": "off",
      "gateway.gatewayRoots": "fewer",
      "lang": "neutral",
      "limits.answerWithinMs": "trust",
      "limits.approvalTtlMs": "lower",
      "limits.approvalWaitMs": "lower",
      "limits.artifactTtlMs": "trust",
      "limits.auditFileBytes": "person",
      "limits.auditKeptDays": "person",
      "limits.browserTimeoutMs": "lower",
      "limits.callTimeoutMs": "lower",
      "limits.commandTimeoutMs": "lower",
      "limits.idempotencyTtlMs": "trust",
      "limits.maxConcurrent": "lower",
      "limits.maxConcurrentRuns": "lower",
      "limits.maxPrograms": "lower",
      "limits.maxQueued": "lower",
      "limits.maxReadBytes": "lower",
      "limits.regexTimeoutMs": "lower",
      "limits.requestsPerSecond": "lower",
      "limits.runApprovalTtlMs": "lower",
      "limits.runTtlMs": "trust",
      "limits.searchTimeoutMs": "lower",
      "limits.snapshotRetention": "trust",
      "limits.stageDiskBytes": "lower",
      "limits.stageEntries": "lower",
      "limits.stageMemoryBytes": "lower",
      "limits.stageProcesses": "lower",
      "mode": "user cline developer",
      "mounts": "each",
      "policies.acpClients": "person",
      "policies.allowedCommands": "fewer",
      "policies.askFrom": "R1 R2",
      "policies.askInEditor": "off",
      "policies.askOverHttp": "person",
      "policies.batchMaxLines": "lower",
      "policies.browserAllowedHosts": "fewer",
      "policies.browserForbiddenHosts": "more",
      "policies.crossMounts": "off",
      "policies.forbiddenDirs": "more",
      "policies.maxAutoFix": "lower",
      "policies.sandboxRoot": "inside",
      "policies.sensitiveFiles": "more",
      "policies.trustLevel": "remote local",
      "policies.unaskedBytes": "lower",
      "policies.unaskedFiles": "lower",
      "policies.unaskedRemovals": "lower",
      "policies.writeRequiresDiff": "on",
      "preview.engine": "person",
      "preview.terre": "never auto always",
      "preview.terrePort": "person",
      "readOnly": "on",
      "roots": "fewer",
      "stage.bubblewrap": "person",
      "stage.stagePlace": "person",
      "stage.stageReads": "person",
      "stage.stageVisible": "fewer",
      "stage.unconfined": "refuse ask",
      "tools": "fewer",
      "webgalArguments": "neutral",
      "webgalCommands": "neutral",
      "webgalVersion": "neutral",
      "wrap": "off",
    }
  `)
  const silent = leaves.filter(({ schema }) => !['neutral', 'person'].includes(String(schema.tighter)) && !schema.loosens)
  expect(silent.map(({ key }) => key)).toEqual([])
  const fitting: Record<string, string[]> = {
    array: ['more', 'fewer'],
    integer: ['lower', 'trust'],
    boolean: ['on', 'off'],
    object: ['each'],
  }
  for (const { key, schema } of leaves) {
    const { tighter, type = '' } = schema
    if (tighter === 'neutral' || tighter === 'person') continue
    if (schema.enum) expect([key, [tighter].flat(2).toSorted()]).toEqual([key, schema.enum.toSorted()])
    else expect([key, fitting[type] ?? ['inside']]).toEqual([key, expect.arrayContaining([tighter])])
  }
})

const names = [
  '.git',
  'node_modules',
  '.env',
  'files',
  'session',
  'read_file',
  'localhost',
  'dev',
  'package.json',
  '.handrail',
  '*',
]

function valueOf({ schema }: Leaf): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer') {
    const { minimum = 0, default: usual } = schema as { minimum?: number; default: number }
    return fc.oneof(
      fc.integer({ min: minimum, max: minimum + 5 }),
      fc.integer({ min: minimum, max: usual * 2 }),
      fc.constant(usual),
    )
  }
  if (schema.items?.pattern !== undefined)
    return fc.subarray(
      ['docs=/srv/docs', 'docs=/srv/other', 'notes=/n', 'docs', 'notes'].filter((one) =>
        new RegExp(schema.items?.pattern ?? '').test(one),
      ),
    )
  if (schema.type === 'object') {
    const entry = fc.constantFrom({ command: 'a' }, { command: 'b', network: true }, { url: 'https://c' })
    return fc.dictionary(fc.constantFrom('one', 'two', 'three'), entry, { maxKeys: 2 })
  }
  if (schema.type === 'array') return fc.array(fc.constantFrom(...names), { maxLength: 4 })
  const texts = [
    '',
    '.',
    'a',
    'a/b',
    'a/../..',
    '..',
    '/',
    '/etc',
    'ab',
    '${projectRoot}',
    '${projectRoot}/a',
    '${projectRoot}x',
    'a\\b',
  ]
  const fits = (text: string): boolean => text.length >= (schema.minLength ?? 0) && new RegExp(schema.pattern ?? '').test(text)
  return fc.constantFrom(...texts.filter(fits))
}

/** A settings file that says some of the settings. */
const someSettings: fc.Arbitrary<Record<string, unknown>> = fc
  .record(Object.fromEntries(leaves.map((leaf) => [leaf.key, valueOf(leaf)])), { requiredKeys: [] })
  .map((flat) => {
    const nested: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(flat)) {
      const [group = '', name] = key.split('.')
      if (name === undefined) nested[group] = value
      else Object.assign((nested[group] ??= {}) as object, { [name]: value })
    }
    return nested
  })

const asFile = (value: unknown): { name: string; text: string } => ({ name: 'x.json', text: JSON.stringify(value) })
/** What counts, not what is shown: of a secret that is only whether there is one. */
const valuesOf = ({ config }: LoadedConfig): Map<string, unknown> =>
  new Map(leaves.map(({ key, path }) => [key, valueAt(config, path)]))
const valueAt = (from: unknown, path: string[]): unknown =>
  path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], from)

const someTools = [
  { name: 'read_file', toolset: 'files' },
  { name: 'write_to_file', toolset: 'files' },
  { name: 'get_runtime_info', toolset: 'session' },
  { name: 'shell', toolset: 'shell', needs: 'enableShell' },
  { name: 'execute_command', toolset: 'shell', developer: true },
] as unknown as Tool[]
const offered = (config: Config): string[] => someTools.filter(openPolicy(config).offers).map(({ name }) => name)

/** What is allowed by one value and not by another, judged by what the setting means and not by how it is merged. */
function isLooser({ schema: { tighter } }: Leaf, now: unknown, before: unknown): boolean {
  const lacks = (list: unknown, others: unknown): boolean => (others as string[]).some((one) => !(list as string[]).includes(one))
  if (tighter === 'neutral') return false
  if (tighter === 'more') return lacks(now, before)
  if (tighter === 'fewer') return lacks(before, now)
  if (tighter === 'lower') return (now as number) > (before as number)
  if (tighter === 'on') return before === true && now === false
  if (tighter === 'off') return before === false && now === true
  if (tighter === 'inside') return !folderOf(now).startsWith(folderOf(before))
  if (Array.isArray(tighter)) {
    const rank = (value: unknown): number => tighter.findIndex((group: readonly unknown[]) => group.includes(value))
    return rank(now) > rank(before)
  }
  return now !== before && JSON.stringify(now) !== JSON.stringify(before)
}

/** What counts of a project's value once it is trusted: of a table what the person has no entry for, marked as the project's. */
function wantedBy({ tighter }: Leaf['schema'], said: unknown, before: unknown): unknown {
  if (tighter !== 'each' || said === undefined) return said
  const own = Object.entries(said as object).map(([name, value]) => [name, { ...(value as object), ofProject: true }])
  return { ...Object.fromEntries(own), ...(before as object) }
}

const folderOf = (value: unknown): string => `${posix.resolve('/p', String(value).replace('${projectRoot}', '/p'))}/`
const inside: Inside = (folder, other) => folderOf(folder).startsWith(folderOf(other))

test('whatever a project’s file says, nothing is looser than without it, for any settings of the person', () => {
  fc.assert(
    fc.property(someSettings, someSettings, (user, project) => {
      const without = loadConfig({ user: asFile(user) })
      const withIt = loadConfig({ user: asFile(user), project: asFile(project), inside })
      const before = valuesOf(without)
      const now = valuesOf(withIt)
      const looser = leaves.filter((leaf) => leaf.key !== 'tools' && isLooser(leaf, now.get(leaf.key), before.get(leaf.key)))
      expect(looser.map(({ key }) => key)).toEqual([])
      expect(offered(without.config)).toEqual(expect.arrayContaining(offered(withIt.config)))
      // What is said to be ignored is all there is: the rest of the file counts, and trusting it makes all but what is yours alone count.
      const trusted = valuesOf(loadConfig({ user: asFile(user), project: asFile(project), trusted: withIt.loosenings, inside }))
      const said = new Set(withIt.ignored.map(({ key }) => key))
      const yours = new Set(withIt.refused)
      for (const { key, path, schema } of leaves) {
        const wanted = wantedBy(schema, valueAt(project, path), before.get(key))
        if (wanted === undefined || yours.has(key)) expect([key, trusted.get(key)]).toEqual([key, before.get(key)])
        else {
          expect([key, trusted.get(key)]).toEqual([key, wanted])
          if (!said.has(key)) expect([key, now.get(key)]).toEqual([key, wanted])
        }
      }
    }),
    { numRuns: sweep(300, 100) },
  )
})

test('trust is of what was shown: other settings of the person below the same file, and it is ignored again', () => {
  const project = asFile({ policies: { forbiddenDirs: ['x'], maxAutoFix: 9 } })
  const { loosenings: trusted } = loadConfig({ project })
  expect(trusted.map(({ says }) => says)).toEqual([
    'lets tools and programs into ".git", "node_modules", ".env"',
    'lets an agent write 9 times to a file that fails its check before you are asked',
  ])
  expect(loadConfig({ project, trusted }).config.policies).toMatchObject({ forbiddenDirs: ['x'], maxAutoFix: 9 })
  const stricter = loadConfig({ user: asFile({ policies: { forbiddenDirs: ['.git', 'private'] } }), project, trusted })
  expect(stricter.config.policies).toMatchObject({ forbiddenDirs: ['.git', 'private', 'x'], maxAutoFix: 9 })
  expect(stricter.ignored.map(({ key }) => key)).toEqual(['policies.forbiddenDirs'])
})

test('the person’s variables and flags stand above a project’s file, tight or loose', () => {
  const project = asFile({ readOnly: true, policies: { maxAutoFix: 0 } })
  const { config } = loadConfig({ project, environment: { HANDRAIL_READ_ONLY: '0' }, flags: { 'max-auto-fix': '3' } })
  expect([config.readOnly, config.policies.maxAutoFix]).toEqual([false, 3])
})

test.each([
  ['a name said twice', '{"readOnly": true, "policies": {}, "readOnly": false}', /says "readOnly" twice/],
  ['a name said twice in two spellings', '{"readOnly": true, "read\\u004fnly": false}', /says "readOnly" twice/],
  ['twice in a group', '{"policies": {"maxAutoFix": 1, "maxAutoFix" : 9}}', /says "maxAutoFix" twice/],
  ['a deep value', `{"readOnly": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`, /nested more than/],
  ['a long list', JSON.stringify({ disabledTools: Array.from({ length: 1_001 }, String) }), /1001 entries/],
  ['a prototype', '{"policies": {"__proto__": {"maxAutoFix": 9}}}', /unknown setting "policies.__proto__"/],
])('%s is refused', (_, text, message) => {
  expect(() => loadConfig({ project: { name: 'x.json', text } })).toThrow(message)
})

test('the same names in different groups, and names inside texts, are not said twice', () => {
  const text = '{"webgalCommands": ["readOnly", "\\"readOnly\\":", "{", "]"], "readOnly": true}'
  expect(loadConfig({ project: { name: 'x.json', text } }).config.readOnly).toBe(true)
})
