import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
// @ts-expect-error a plain script
import { leanSdk } from '../../scripts/lean-sdk.mjs'
import { isSoak } from '../support/soak.ts'
import { cleanEnv, program, repository } from '../support/world.ts'
import { production } from './production.ts'
import { openProxy } from './proxy.ts'
import { serveFixtures } from './serve-fixtures.ts'

// The official suite of the protocol's authors against the real program over HTTP, in both eras.

const here = join(repository, 'test', 'conformance')
const suite = join(repository, '.cache', 'conformance', 'node_modules', '@modelcontextprotocol', 'conformance')
const lookedFor = spawnSync(process.execPath, [join(here, 'install.mjs'), '--check'], { encoding: 'utf8' })
const missing = lookedFor.status === 0 ? undefined : lookedFor.stderr.trim()
if (missing) console.warn(missing)

type Revision = keyof typeof production
const revisions = Object.keys(production) as Revision[]
const requiredCount: Record<Revision, number> = { '2025-11-25': 30, '2026-07-28': 37 }

interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  errorMessage?: string
  details?: Record<string, unknown>
}

/** The scenarios a revision requires of a server, as the suite itself has them frozen. */
function required(revision: Revision): string[] {
  const [, server = ''] =
    /^server:\n((?: {2}- .+\n)+)/m.exec(readFileSync(join(suite, 'requirements', `${revision}.yaml`), 'utf8')) ?? []
  return [...server.matchAll(/ {2}- (.+)/g)].map((match) => match[1] as string)
}

interface Serving {
  /** Every check the suite made, by scenario. */
  judge(revision: Revision): Promise<Map<string, Check[]>>
  project: string
  close(): Promise<void>
}

/** The suite's own server: ours with its fixtures, which are no part of the program; with as little of the SDK as the program has. */
async function bundle(): Promise<string> {
  // What the suite never asks for is left where it lies; the client's half of the SDK would bring back what the plugin leaves out.
  const external = [
    '@photostructure/sqlite',
    '@vscode/ripgrep',
    'playwright-core',
    '@napi-rs/keyring',
    /^@modelcontextprotocol\/client/,
    '@agentclientprotocol/sdk',
  ]
  const made = await rolldown({
    input: join(here, 'server.ts'),
    platform: 'node',
    external,
    plugins: [leanSdk],
    logLevel: 'warn',
  })
  // As far below the repository as dist/ is: the program reads its version from the package file there.
  const file = join(repository, '.cache', 'conformance-server.mjs')
  await made.write({ file, format: 'esm', codeSplitting: false })
  await made.close()
  return file
}

/** A server that was started. */
interface Started {
  url: string
  token: string
  /** What it said, where it has ended by itself. */
  ended(): string | undefined
  stop(): Promise<void>
}

function run(args: string[], base: string): ChildProcess & { log(): string } {
  const child = spawn(process.execPath, args, { cwd: base, env: cleanEnv(base), stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  return Object.assign(child, { log: () => log })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill()
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await ended
  clearTimeout(late)
}

/** A process of its own, which says in its first line where it is. */
const asProcess =
  (args: (project: string) => string[]) =>
  async (project: string, base: string): Promise<Started> => {
    const child = run(args(project), base)
    const [ready] = (await Promise.race([
      once(createInterface(child.stdout as NodeJS.ReadableStream), 'line'),
      once(child, 'exit').then(() => [undefined]),
    ])) as [string | undefined]
    if (ready === undefined) throw new Error(`the server ended: ${child.log()}`)
    const { url, tokenFile } = JSON.parse(ready) as { url: string; tokenFile: string }
    return {
      url,
      token: readFileSync(tokenFile, 'utf8').trim(),
      ended: () => (child.exitCode === null ? undefined : child.log()),
      async stop() {
        await end(child)
        if (child.exitCode !== 0) throw new Error(`the server did not end well:\n${child.log()}`)
      },
    }
  }

/** In the process of the test: to bundle it takes longer than to judge it. */
async function inHere(project: string, base: string): Promise<Started> {
  const { url, runtime, close } = await serveFixtures(project, cleanEnv(base))
  return { url, token: runtime.token().token, ended: () => undefined, stop: close }
}

async function serve(start: (project: string, base: string) => Promise<Started>): Promise<Serving> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-conformance-')))
  const project = join(base, 'project')
  mkdirSync(project)
  const started = await start(project, base)
  const proxy = await openProxy(new URL(started.url), started.token)
  return {
    project,
    async judge(revision) {
      const out = mkdtempSync(join(base, `${revision}-`))
      const before = ['node-20.mjs', 'patient.mjs'].flatMap((name) => ['--import', pathToFileURL(join(here, name)).href])
      const wanted = ['--url', `${proxy.url}/mcp`, '--requirements', revision, '--output-dir', out]
      const judging = run([...before, join(suite, 'dist', 'index.js'), 'server', ...wanted], base)
      await once(judging, 'close')
      const died = started.ended()
      if (died !== undefined) throw new Error(`the server died on the way:\n${died}`)
      if (!judging.log().includes('=== SUMMARY ===')) throw new Error(`the suite did not finish:\n${judging.log()}`)
      // A scenario that broke down leaves a folder with nothing in it.
      const finished = readdirSync(out).filter((folder) => existsSync(join(out, folder, 'checks.json')))
      return new Map(
        finished.map((folder) => [
          folder.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, '$1'),
          JSON.parse(readFileSync(join(out, folder, 'checks.json'), 'utf8')) as Check[],
        ]),
      )
    },
    async close() {
      await proxy.close()
      await started.stop()
      rmSync(base, { recursive: true, force: true })
    },
  }
}

/** What did not succeed: `scenario:check` and what the suite says of it. A scenario that shows nothing is a complaint too. */
function complaints(scenarios: string[], seen: Map<string, Check[]>): Map<string, string> {
  return new Map(
    scenarios.flatMap((scenario) => {
      const checks = seen.get(scenario) ?? []
      if (checks.length === 0) return [[scenario, 'did not run']]
      return checks
        .filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
        .map(({ id, status, errorMessage = '' }) => [`${scenario}:${id}`, `${status} ${errorMessage}`])
    }) as [string, string][],
  )
}

describe.skipIf(missing)('with the fixtures', () => {
  let serving: Serving
  beforeAll(async () => {
    const bundled = isSoak ? await bundle() : undefined
    serving = await serve(bundled === undefined ? inHere : asProcess((project) => [bundled, project]))
  })
  afterAll(() => serving?.close())

  // In `npm test` the newest revision whole, and the older one by what the program has as it ships: both are answered from the same code.
  test.each(isSoak ? revisions : revisions.slice(-1))('everything %s requires is there', async (revision) => {
    const scenarios = required(revision)
    expect(scenarios).toHaveLength(requiredCount[revision])
    expect(complaints(scenarios, await serving.judge(revision))).toEqual(new Map())
  })
})

describe.skipIf(missing)('as it ships', () => {
  let serving: Serving
  beforeAll(async () => {
    serving = await serve(asProcess((project) => [program, 'serve', '--project', project, '--port', '0', '--json']))
  })
  afterAll(() => serving?.close())

  test.each(isSoak ? revisions : revisions.slice(0, -1))('what of %s needs no fixtures is there', async (revision) => {
    const { scenarios, excused } = production[revision]
    const seen = await serving.judge(revision)
    const left = complaints(scenarios, seen)
    const stale = Object.keys(excused).filter((check) => !left.delete(check))
    expect(left).toEqual(new Map())
    expect(stale).toEqual([])
    const listed = seen.get('tools-list')?.find((check) => check.id === 'tools-list')?.details?.['tools'] as string[]
    expect(listed).toContain('read_file')
    expect(listed.filter((name) => name.startsWith('test_'))).toEqual([])
  })
})
