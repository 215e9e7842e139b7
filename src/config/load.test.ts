import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { validatorOf } from '../text/validator.ts'
import { leaves, loadConfig } from './load.ts'

const file = (value: unknown): { name: string; text: string } => ({ name: 'x.json', text: JSON.stringify(value) })
const originOf = (loaded: ReturnType<typeof loadConfig>, key: string): string | undefined =>
  loaded.settings.find((one) => one.key === key)?.origin

test('later layers win, and every value knows where it came from', () => {
  const loaded = loadConfig({
    user: file({ policies: { maxAutoFix: 2, batchMaxLines: 10 }, mode: 'developer' }),
    project: file({ policies: { batchMaxLines: 20 }, lang: 'EN' }),
    environment: { HANDRAIL_BATCH_MAX_LINES: '30', HANDRAIL_FORBIDDEN_DIRS: 'a, b' },
    flags: { 'batch-max-lines': '40', 'write-requires-diff': 'false' },
  })
  expect(loaded.config.policies).toMatchObject({
    maxAutoFix: 2,
    batchMaxLines: 40,
    forbiddenDirs: ['a', 'b'],
    writeRequiresDiff: false,
  })
  expect(
    ['mode', 'lang', 'policies.forbiddenDirs', 'policies.batchMaxLines', 'limits.maxReadBytes'].map((key) =>
      originOf(loaded, key),
    ),
  ).toEqual(['user', 'project', 'environment', 'flag', 'default'])
})

test('every setting has its own flag and variable', () => {
  expect(new Set(leaves.map((leaf) => leaf.flag)).size).toBe(leaves.length)
  expect(leaves.every((leaf) => leaf.schema.description && leaf.schema.default !== undefined)).toBe(true)
})

test.each([
  ['not JSON', { name: 'x.json', text: '{' }, /x\.json is not valid JSON/],
  ['not an object', file([]), /must hold a JSON object/],
  ['a misspelt setting', file({ policies: { forbidenDirs: [] } }), /unknown setting "policies.forbidenDirs"/],
  ['a wrong type', file({ policies: { writeRequiresDiff: 'no' } }), /writeRequiresDiff must be true or false/],
  ['a wrong version', file({ contractVersion: '2.0.0' }), /contractVersion must be "1.0.0"/],
  ['a group that is no object', file({ policies: 3 }), /"policies" must be an object/],
  ['askFrom above R2', file({ policies: { askFrom: 'R3' } }), /must be one of R1, R2/],
])('%s is refused with the place and the reason', (_, project, message) => {
  expect(() => loadConfig({ project })).toThrow(message)
})

test.each([
  [{ policies: { forbidenDirs: [] } }, 'Did you mean forbiddenDirs?'],
  [{ polices: {} }, 'Did you mean policies?'],
  [{ readonly: true }, 'Did you mean readOnly?'],
  [{ nothingLikeIt: 1 }, 'Known here: '],
])('what nobody knows is answered with what comes nearest: %j', (said, hint) => {
  expect(() => loadConfig({ project: file(said) })).toThrow(
    expect.objectContaining({ hint: expect.stringContaining(hint) as string }) as Error,
  )
})

/** Values that are no value of a setting, in a file and as a text. */
const wrongFor = (schema: (typeof leaves)[number]['schema']): { value: unknown; text?: string }[] => {
  if (schema.const !== undefined || schema.enum) return [{ value: 'none of them', text: 'none of them' }, { value: 1 }]
  switch (schema.type) {
    case 'boolean':
      return [{ value: 'maybe', text: 'maybe' }, { value: 1 }, { value: null }]
    case 'integer':
      return [
        { value: (schema.minimum ?? 0) - 1, text: String((schema.minimum ?? 0) - 1) },
        { value: 'many', text: 'many' },
        { value: 1.5, text: '1.5' },
        { value: 2 ** 53, text: String(2 ** 53) },
      ]
    case 'object':
      return [
        { value: 3, text: '3' },
        { value: { Odd_Name: { command: 'a' } }, text: '{"Odd_Name":{}}' },
        { value: { a: { commands: 'a' } }, text: 'not json' },
      ]
    case 'array':
      return [
        ...(schema.items?.minLength ? [{ value: ['a', ''] }] : []),
        { value: [1] },
        { value: 'a' },
        { value: ['x'.repeat(1_001)], text: 'x'.repeat(1_001) },
      ]
    default:
      return [
        ...(schema.minLength ? [{ value: '' }] : []),
        ...(schema.pattern === undefined ? [] : [{ value: ' /', text: ' /' }]),
        { value: 3 },
        { value: 'x'.repeat(4_097), text: 'x'.repeat(4_097) },
      ]
  }
}

const isPublished = validatorOf(JSON.parse(readFileSync('contracts/v1/config.json', 'utf8')) as object)

test.each(leaves)(
  '$key: a wrong value is refused in every layer, by the name it was given, and an editor says so too',
  (leaf) => {
    const asFile = (value: unknown): Record<string, unknown> =>
      leaf.path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>
    expect(isPublished(asFile(leaf.schema.default))).toBe(true)
    const refused = (sources: Parameters<typeof loadConfig>[0], where: string): void =>
      expect(() => loadConfig(sources), where).toThrow(new RegExp(`^${where.replaceAll('.', '\\.')} (must be|has|is) `))
    for (const { value, text } of wrongFor(leaf.schema)) {
      expect(isPublished(asFile(value)), JSON.stringify(value).slice(0, 80)).toBe(false)
      refused({ user: file(asFile(value)) }, `x.json: ${leaf.key}`)
      if (leaf.schema.tighter !== 'person') refused({ project: file(asFile(value)) }, `x.json: ${leaf.key}`)
      if (text === undefined) continue
      refused({ environment: { [leaf.env]: text } }, leaf.env)
      // A secret is no flag at all, right or wrong.
      if (!leaf.schema.secret) refused({ flags: { [leaf.flag]: text } }, `--${leaf.flag}`)
    }
  },
)

test.each(leaves.filter((leaf) => leaf.schema.secret && leaf.schema.type !== 'object'))(
  '$key: a secret is taken from the person’s file and variable, is no flag, and is shown to nobody',
  ({ key, path, flag, env }) => {
    const secret = 'postgres://me:hunter2@db/runs'
    const inFile = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), secret)
    for (const sources of [{ user: file(inFile) }, { environment: { [env]: secret } }]) {
      const { config, settings } = loadConfig(sources)
      expect(config).toMatchObject(inFile as object)
      expect(settings.find((one) => one.key === key)?.value).toBe('(set)')
      expect(JSON.stringify(settings)).not.toContain('hunter2')
    }
    for (const said of [secret, '', true]) {
      const thrown = expect(() => loadConfig({ flags: { [flag]: said } }), String(said))
      thrown.toThrow(`--${flag} would show a secret to every process of this machine`)
    }
    // A password of digits without its quotes: what is wrong is said, the password is not.
    const unquoted = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 271_828)
    expect(() => loadConfig({ user: file(unquoted) })).toThrow(new RegExp(`^x\\.json: ${key} must be a text, not (?!.*271828)`))
    expect(loadConfig({ project: file(inFile) })).toMatchObject({ config: loadConfig({}).config, refused: [key] })
  },
)

test('which settings are secrets', () => {
  expect(leaves.filter((leaf) => leaf.schema.secret).map(({ key }) => key)).toEqual([
    'mounts',
    'cluster.databaseUrl',
    'cluster.redisUrl',
    'cluster.artifactSecret',
  ])
})

/** Times that end sooner than a timer could, for a reason of their own: a run whose worker is gone waits this long. */
const shorter: Record<string, number> = { 'cluster.leaseMs': 600_000 }

test('no setting is a time that no timer runs and no date has, and who says one is told how long it may be', () => {
  for (const { key, schema } of leaves.filter((leaf) => leaf.key.endsWith('Ms')))
    expect([key, schema.maximum]).toEqual([key, shorter[key] ?? (key.endsWith('TtlMs') ? 3_153_600_000_000 : 2 ** 31 - 1)])
  expect(() => loadConfig({ flags: { 'call-timeout-ms': String(2 ** 31) } })).toThrow(
    '--call-timeout-ms must be a whole number from 100 to 2147483647, not 2147483648',
  )
})

test('a hostile prototype in the file changes nothing', () => {
  expect(() => loadConfig({ project: { name: 'x.json', text: '{"__proto__":{"mode":"developer"}}' } })).toThrow(/unknown setting/)
  expect(loadConfig({}).config.mode).toBe('user')
})

test('a project does not say which programs of the machine are run or which folders are read; the person does', () => {
  const text = (stage: object): string => JSON.stringify({ stage })
  for (const stage of [{ bubblewrap: '/tmp/evil' }, { stageReads: ['/home'] }, { stagePlace: '/tmp/x' }]) {
    const ofProject = loadConfig({ project: { name: 'handrail.config.json', text: text(stage) } })
    expect(ofProject.config.stage).toEqual(loadConfig({}).config.stage)
    expect(ofProject.refused).toEqual([`stage.${Object.keys(stage)[0]}`])
    expect(loadConfig({ user: { name: 'config.json', text: text(stage) } }).config.stage).toMatchObject(stage)
  }
})

test('what signs in at a mounted server is shown to nobody: of a table its names are', () => {
  const mounts = { files: { command: 'a', env: { TOKEN: 'hunter2' } } }
  const loaded = loadConfig({ user: file({ mounts }) })
  expect(loaded.config.mounts).toEqual(mounts)
  expect(loaded.settings.find((one) => one.key === 'mounts')?.value).toEqual(['files'])
  expect(() => loadConfig({ flags: { mounts: '{}' } })).toThrow('would show a secret')
  expect(loadConfig({ environment: { HANDRAIL_MOUNTS: JSON.stringify(mounts) } }).config.mounts).toEqual(mounts)
})
