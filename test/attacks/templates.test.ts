import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ProjectTemplate } from '../../src/contracts/project-templates.ts'
import type { RunView } from '../../src/contracts/run.ts'
import { lookThrough } from '../../src/text/template-schema.ts'
import { runInside } from '../support/inside.ts'
import { ended, handIn, putTemplates, standIns } from '../support/runs.ts'
import { openWorld, type World } from '../support/world.ts'

/** Templates that a project brings: they count once the person trusted their very bytes, and whatever stands in them, nobody waits for it. */
const at = 'handrail/templates'
const open = { type: 'object' }
const greet = (more: object = {}): Record<string, unknown> => ({
  id: 'greet',
  version: '1.0.0',
  title: 'Greet',
  description: 'Reads the greeting.',
  inputs: open,
  results: open,
  steps: [{ id: 'read', tool: 'read_file', input: { path: 'a.txt' } }],
  result: { greeting: { $: 'steps.read.output.content' } },
  ...more,
})
const textOf = (more: object = {}): string => JSON.stringify(greet(more))
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')
const openWith = (files: Record<string, string>): Promise<World> =>
  openWorld({ files: { 'a.txt': 'good morning\n', 'package.json': '{}\n', ...files } })
const listed = async (world: World): Promise<{ ids: string[]; ignored: number }> => {
  const { templates, ignored } = await world.call<{
    templates: { templateId: string; from: string }[]
    ignored?: { ignored: number }
  }>('list_task_templates', {})
  const brought = templates.filter(({ from }) => from !== 'handrail')
  return { ids: brought.map(({ templateId }) => templateId), ignored: ignored?.ignored ?? 0 }
}
const trustIt = (world: World, text: string) => runInside(world.project, ['trust', '--digest', digestOf(text)])
const sync = { mode: 'sync' }

test('what a project brings counts for nothing until the person trusted its very bytes, and every surface says so', async () => {
  const text = textOf({ trust: ['local', 'remote'], limits: { timeoutMs: 5_000 } })
  await using world = await openWith({ [`${at}/greet.json`]: text })
  expect(await listed(world)).toEqual({ ids: [], ignored: 1 })
  const refused = await world.fault('run_task_template', { templateId: 'greet' })
  expect(refused).toMatchObject({ reason: 'template-not-found' })
  expect(world.runtime.gate.notice, 'what clients, the page and `serve` tell').toMatch(
    /ignored until you trust it: `handrail trust`/,
  )
  expect(await world.call('get_runtime_info', {})).toMatchObject({ projectTemplates: { ignored: 1 } })
  expect((await runInside(world.project, ['doctor'])).out).toMatch(/note\S* \S*templates.*1 of 1 in handrail\/templates/)
  expect((await runInside(world.project, ['templates', 'check'])).out).toMatch(/ok handrail\/templates\/greet.json ignored until/)
  expect((await runInside(world.project, ['templates', 'list'])).out).toMatch(/ignored 1 in handrail\/templates/)

  // Nobody is at a terminal: nothing is trusted, all is told.
  const asked = await runInside(world.project, ['trust'])
  expect(asked).toMatchObject({ code: 2, err: expect.stringContaining(`trust --digest ${digestOf(text)}`) as string })
  for (const word of [
    'calls read_file (Read a file)',
    '5000 ms at most',
    'by callers from another machine',
    '"path":"a.txt"',
    digestOf(text),
  ])
    expect(asked.out).toContain(word)
  expect(await trustIt(world, textOf())).toMatchObject({ code: 1 })
  expect(await listed(world)).toEqual({ ids: [], ignored: 1 })

  expect(await trustIt(world, text)).toMatchObject({ code: 0 })
  expect(await listed(world), 'a server that runs takes it up').toEqual({ ids: ['greet'], ignored: 0 })
  expect(await handIn(world, 'greet', {}, sync)).toMatchObject({
    status: 'succeeded',
    result: { greeting: 'good morning\n' },
  })
  expect(world.runtime.gate.notice).toBeUndefined()
  expect((await runInside(world.project, ['doctor'])).out).toContain('you trusted greet of this project')
  const shown = await runInside(world.project, ['templates', 'show', 'greet'])
  for (const word of ['(project)', digestOf(text), 'calls read_file', '--project']) expect(shown.out).toContain(word)

  // One byte more.
  world.write(`${at}/greet.json`, `${text} `)
  expect(await listed(world)).toEqual({ ids: [], ignored: 1 })
  world.write(`${at}/greet.json`, text)
  expect(await runInside(world.project, ['trust', '--revoke'])).toMatchObject({ code: 0 })
  expect(await listed(world)).toEqual({ ids: [], ignored: 1 })
  const events = [...world.runtime.audit.lines()].filter(({ event }) => event.startsWith('trust.') || event === 'run.queued')
  expect(events).toMatchObject([
    { event: 'trust.granted', by: 'person@cli', details: { template: `${at}/greet.json`, digest: digestOf(text) } },
    { event: 'run.queued', details: { template: 'greet', digest: digestOf(text) } },
    { event: 'trust.revoked' },
  ])
})

test('trust in one is no trust in another, nor in the settings, and what they trusted before is kept', async () => {
  const [one, two] = [textOf(), textOf({ id: 'other' })]
  const settings = JSON.stringify({ policies: { maxAutoFix: 2 } })
  await using world = await openWith({ [`${at}/1.json`]: one, [`${at}/2.json`]: two, 'handrail.config.json': settings })
  await trustIt(world, two)
  expect(await listed(world)).toEqual({ ids: ['other'], ignored: 1 })
  await trustIt(world, settings)
  await world.reopen()
  expect(world.runtime.config.policies.maxAutoFix).toBe(2)
  await trustIt(world, one)
  await world.reopen()
  expect([await listed(world), world.runtime.config.policies.maxAutoFix]).toEqual([{ ids: ['greet', 'other'], ignored: 0 }, 2])
  // A record that somebody made up, or cut, trusts nothing and stops nothing.
  for (const made of [
    '{',
    '{"templates":[null]}',
    JSON.stringify({ project: world.project, digest: '', loosenings: [], templates: [null, 3, {}] }),
  ]) {
    writeFileSync(world.state('trust.json'), made)
    expect([made, await listed(world)]).toEqual([made, { ids: [], ignored: 2 }])
  }
})

test('it never takes the place of one that comes with Handrail, of one of the person, or of one before it', async () => {
  const mine = standIns.read_all
  const files = {
    [`${at}/a.json`]: textOf({ id: 'batch_replace' }),
    [`${at}/b.json`]: textOf({ id: mine.id }),
    [`${at}/c.json`]: textOf(),
    [`${at}/d.json`]: textOf({ title: 'Another' }),
  }
  await using world = await openWith(files)
  putTemplates(world.base, { mine })
  const all = await world.runtime.projectTemplates()
  expect(all.map(({ wrong }) => wrong.join())).toEqual([
    expect.stringContaining('comes with Handrail'),
    expect.stringContaining('is there already'),
    '',
    expect.stringContaining('is there already'),
  ])
  for (const text of [files[`${at}/a.json`], files[`${at}/b.json`]])
    expect(await trustIt(world, text as string)).toMatchObject({ code: 2 })
  // By whatever way it came to be trusted.
  for (const { digest = '' } of all) world.runtime.trust.grant(digest, 'test')
  expect((await listed(world)).ids).toEqual(['read_all', 'greet'])
  expect(await handIn(world, 'read_all', { items: ['a.txt'] }, sync)).toMatchObject({ result: { summary: { total: 1 } } })
  // What the person adds later is theirs from then on.
  putTemplates(world.base, { mine, greet: greet({ result: { mine: true } }) })
  expect(await handIn(world, 'greet', {}, sync)).toMatchObject({ result: { mine: true } })
})

test('a run goes on with the template it was accepted with, whatever becomes of the file: of the project and of the person', async () => {
  const replaces = { ...standIns.replace_once, id: 'from_project' }
  await using world = await openWith({ [`${at}/r.json`]: JSON.stringify(replaces) })
  putTemplates(world.base, { r: { ...replaces, id: 'from_person' } })
  await trustIt(world, JSON.stringify(replaces))
  for (const [templateId, find, replace] of [
    ['from_project', '{}', '[]'],
    ['from_person', '[]', '{}'],
  ] as const) {
    const { runId } = await handIn(world, templateId, { path: 'package.json', find, replace }, { mode: 'async' })
    const runsApi = await world.runtime.runs()
    const over = new AbortController()
    const approval = await new Promise<string>((resolve) => {
      const look = ({ waiting }: RunView): void => {
        if (waiting) resolve(waiting.approvalId)
      }
      runsApi.wait(runId, { signal: over.signal, onProgress: look }).catch(() => undefined)
    })
    over.abort()
    const folder = templateId === 'from_project' ? world.path(at) : join(world.base, 'config', 'handrail', 'templates')
    // Another of the same id, and then none.
    writeFileSync(join(folder, 'r.json'), textOf({ id: templateId }))
    await listed(world)
    rmSync(join(folder, 'r.json'))
    expect((await listed(world)).ids).not.toContain(templateId)
    await world.reopen()
    world.runtime.approvals.decide(approval, { approve: true, by: 'the person' })
    expect(await ended(world, runId)).toMatchObject({ status: 'succeeded', result: { count: 1, after: `${replace}\n` } })
  }
})

test('an agent that writes, moves or changes one asks, under every spelling of the folder', async () => {
  await using world = await openWith({ 'greet.json': textOf() })
  for (const path of [`${at}/new.json`, 'Handrail/Templates/new.json', `sub/${at}/new.json`]) {
    await world.call('write_to_file', { path, content: textOf(), dryRun: true })
    const fault = await world.fault('write_to_file', { path, content: textOf(), dryRun: false }, { approvalWaitMs: 0 })
    const asked = world.runtime.approvals.get(String(fault.details?.['approvalId']))
    expect(asked?.card.notes?.join() ?? '', path).toContain('template of runs')
  }
})

const step = { id: 'read', tool: 'read_file', input: { path: 'a.txt' } }
const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, n) => [`d${n}`, { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }]),
)

test('hostile files are refused with a reason, and nobody waits for one', async () => {
  await using world = await openWith({})
  const texts: [name: string, text: string | Uint8Array, says: RegExp][] = [
    ['deep', `{"id":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, /nested deeper/],
    [
      'deep-input',
      textOf({ result: 0 }).replace('"result":0', `"result":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
      /nested deeper/,
    ],
    ['huge', textOf({ description: 'x'.repeat(300_000) }), /more than 262144 bytes/],
    ['million-steps', textOf({ steps: [] }).replace('[]', `[${Array.from({ length: 60_000 }, () => 0).join()}]`), /steps/],
    ['many-steps', textOf({ steps: Array.from({ length: 51 }, (_, n) => ({ ...step, id: `s${n}` })) }), /50 items/],
    ['itself', textOf({ steps: [{ ...step, each: 'steps.read.items' }] }), /its own answer/],
    ['runs', textOf({ steps: [{ ...step, tool: 'run_task_template' }] }), /cannot call/],
    ['proto', textOf().replace('{', '{"__proto__":{"id":"x"},'), /additional properties: __proto__/],
    ['proto-step', textOf({ steps: [{ ...step, id: '__proto__' }] }), /steps\/0\/id/],
    ['ref', textOf({ inputs: { type: 'object', allOf: [{ $ref: '#' }] } }), /\$ref is not used in templates/],
    ['explodes', textOf({ inputs: { type: 'object', $defs: doubling, $ref: '#/$defs/d0' } }), /\$ref|\$defs/],
    ['wide', textOf({ results: { type: 'object', allOf: Array.from({ length: 5_000 }, () => true) } }), /more than 100 schemas/],
    ['keyword', textOf({ inputs: { type: 'object', minimum: '1);process.exit(7' } }), /minimum is not what stands there/],
    ['pattern', textOf({ inputs: { type: 'object', properties: { a: { pattern: '(' } } } }), /no JSON Schema that can be used/],
    ['not-utf8', new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]), /not UTF-8/],
    ['null', 'null', /must be object/],
    ['none', '', /it is no JSON/],
  ]
  mkdirSync(world.path(at), { recursive: true })
  for (const [name, text] of texts) writeFileSync(world.path(`${at}/${name}.json`), text)
  writeFileSync(join(world.base, 'secret.json'), textOf({ id: 'secret' }))
  symlinkSync(join(world.base, 'secret.json'), world.path(`${at}/x-link.json`))
  linkSync(join(world.base, 'secret.json'), world.path(`${at}/x-second.json`))
  symlinkSync('/dev/zero', world.path(`${at}/x-zero.json`))
  execFileSync('mkfifo', [world.path(`${at}/x-pipe.json`)])
  mkdirSync(world.path(`${at}/x-folder.json`))
  const found = new Map((await world.runtime.projectTemplates()).map((one) => [one.file, one]))
  const why = (name: string): string => (found.get(`${at}/${name}.json`) as ProjectTemplate).wrong.join('\n')
  for (const [name, , says] of texts) expect(why(name), name).toMatch(says)
  for (const name of ['x-link', 'x-second', 'x-zero', 'x-pipe', 'x-folder'])
    expect(why(name), name).toMatch(/symbolic link|hard link|not a regular file|Is a folder/)
  const checked = await runInside(world.project, ['templates', 'check'])
  expect(checked).toMatchObject({ code: 1 })
  expect(await listed(world)).toEqual({ ids: [], ignored: found.size })
  // As the person's own they are refused all the same.
  putTemplates(world.base, {})
  for (const [name, text] of texts) writeFileSync(join(world.base, 'config/handrail/templates', `${name}.json`), text)
  expect((await listed(world)).ids).toEqual([])
})

test('a folder that is a link, a file, a pipe or without an end counts for nothing', async () => {
  const text = textOf()
  await using world = await openWith({ [`${at}/greet.json`]: text })
  await trustIt(world, text)
  expect((await listed(world)).ids).toEqual(['greet'])
  const [folder, away] = [world.path(at), join(world.base, 'away')]
  renameSync(folder, away)
  symlinkSync(away, folder)
  expect(await listed(world)).toEqual({ ids: [], ignored: 1 })
  rmSync(folder)
  for (const make of [() => writeFileSync(folder, ''), () => execFileSync('mkfifo', [folder])]) {
    make()
    expect((await listed(world)).ids).toEqual([])
    rmSync(folder)
  }
  rmSync(world.path('handrail'), { recursive: true })
  mkdirSync(join(world.base, 'elsewhere/templates'), { recursive: true })
  writeFileSync(join(world.base, 'elsewhere/templates/greet.json'), text)
  symlinkSync(join(world.base, 'elsewhere'), world.path('handrail'))
  expect((await listed(world)).ids).toEqual([])
  rmSync(world.path('handrail'))
  renameSync(away, join(world.base, 'templates'))
  mkdirSync(world.path('handrail'))
  renameSync(join(world.base, 'templates'), folder)
  expect((await listed(world)).ids).toEqual(['greet'])
  for (let n = 0; n < 2_001; n++) writeFileSync(join(folder, `${n}`), '')
  expect(await listed(world)).toEqual({ ids: [], ignored: 1 })
  const [one] = await world.runtime.projectTemplates()
  expect(one?.wrong.join()).toContain('more than 2000 entries')
})

test('a schema whose pattern never ends is ended, and others are answered meanwhile', async () => {
  const hostile = {
    type: 'object',
    properties: { text: { type: 'string', pattern: '^(a+)+$' }, list: { type: 'array', uniqueItems: true } },
  }
  expect(lookThrough(hostile)).toMatchObject({ isPlain: false, wrong: [] })
  await using world = await openWith({})
  putTemplates(world.base, {
    inputs: greet({ id: 'inputs', inputs: hostile }),
    results: greet({ id: 'results', results: hostile, result: { text: { $: 'inputs.text' } } }),
  })
  const text = `${'a'.repeat(60)}b`
  let answered = 0
  const asked = Promise.all([
    world.fault('run_task_template', { templateId: 'inputs', inputs: { text } }),
    handIn(world, 'results', { text }, sync),
  ]).finally(() => (answered = -1))
  while (answered >= 0) {
    await world.call('read_file', { path: 'a.txt' })
    if (answered >= 0) answered++
    if (answered > 20) break
  }
  const [pattern, result] = await asked
  expect(pattern).toMatchObject({ reason: 'over-limit' })
  expect(result).toMatchObject({ status: 'failed', error: { details: { reason: 'over-limit' } } })
  // What ends is compared as ever.
  expect(await world.fault('run_task_template', { templateId: 'inputs', inputs: { text: 'b' } })).toMatchObject({
    reason: 'bad-input',
    details: { fields: [{ field: 'inputs.text', problem: 'must match pattern "^(a+)+$"' }] },
  })
  expect(await handIn(world, 'inputs', { text: 'aa', list: [1, 2] }, sync)).toMatchObject({ status: 'succeeded' })
})
