import { mkdtempSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { inPath } from '../installed.ts'
import { runProcess } from '../process.ts'
import { processName } from '../running.ts'
import { captureBothEnds } from '../output.ts'
import { overlaid } from './confine.ts'
import { tryingKeyring } from './keyring.ts'
import { filter, prepareSandbox, type SystemTools } from './launch.ts'
import { etcFiles, makePlace, removeStage } from './places.ts'
import { makeLayers } from './stage-pool.ts'

/** What was found by trying: a real program on a real stage over this very project. */
export type Probe =
  | { confined: true; means: SystemTools; place: string; etc: string; says: string }
  | { confined: false; says: string }

export type Confined = Probe & { confined: true }

export interface Probing {
  project: string
  homes: readonly string[]
  /** Where bubblewrap is; empty: looked for. */
  bubblewrap: string
  path: string
}

export async function probe(asked: Probing): Promise<Probe> {
  if (process.platform !== 'linux') return { confined: false, says: `Programs can be confined on Linux only.` }
  const find = (name: string): string | undefined => inPath(name, asked)[0]
  const bubblewrap = asked.bubblewrap || find('bwrap')
  const unshare = find('unshare')
  const shell = find('sh')
  if (!bubblewrap) return { confined: false, says: `bubblewrap is not installed (apt install bubblewrap).` }
  if (!unshare || !shell) return { confined: false, says: `unshare is not installed (apt install util-linux).` }
  const perl = find('perl')
  const [about, numbered, keyring] = await Promise.all([
    askOnce(bubblewrap, ['--help']),
    askOnce(bubblewrap, ['--version']),
    perl === undefined ? '' : askOnce(perl, tryingKeyring(process.arch)),
  ])
  const version = /\d[\d.]*/.exec(numbered)?.[0] ?? 'of unknown version'
  const fresh = keyring === 'fresh'
  const flags = new Set(about.match(/--[a-z][a-z-]+/g) ?? [])
  const tools: SystemTools = { bubblewrap, unshare, shell, flags, ...(fresh && { perl }) }
  const faults: string[] = []
  for (const home of asked.homes) {
    try {
      const place = makePlace(home, asked.project)
      const etc = await etcFiles(place)
      const fault = await tryStage(tools, asked.project, place, etc)
      if (fault === undefined)
        return {
          confined: true,
          means: tools,
          place,
          etc,
          says: `bubblewrap ${version} and an overlay of the project; no network, no capabilities, own processes${ofTheKernel(fresh)}`,
        }
      faults.push(fault)
    } catch (cause) {
      faults.push((cause as Error).message)
    }
  }
  return { confined: false, says: explain([...new Set(faults)]) }
}

/** What holds of the kernel beyond namespaces. */
function ofTheKernel(freshKeyring: boolean): string {
  if (!filter()) return `${freshKeyring ? ', own session keyring' : ''}; calls to the kernel are not filtered on ${process.arch}`
  const keys = freshKeyring ? ', own session keyring' : '; no session keyring of its own (perl gives one), keys are out of reach'
  return `, calls to the kernel filtered${keys}`
}

/** Runs a command that must see the project, must not see our state, and must get a file onto the stage; it takes that away again. */
async function tryStage(tools: SystemTools, project: string, place: string, etc: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(place, `probe-${processName(process.pid)}-`))
  try {
    const layers = makeLayers(folder, place, project)
    const output = captureBothEnds(2_000)
    const limits = { processes: 64, memoryBytes: 1_073_741_824, diskBytes: 1_048_576, entries: 1_000 }
    const end = await prepareSandbox(tools, { folder, layers, limits }).run({
      program: {
        argv: ['/bin/sh', '-c', 'test ! -e .handrail/token && : > .handrail-probe && rm .handrail-probe && echo staged'],
        timeoutMs: 10_000,
      },
      view: () => ({
        project,
        shows: overlaid(project, layers.merged, '', false),
        hidden: [{ at: `${project}/.handrail`, folder: true }],
        reads: [],
        mark: folder,
        etc,
        cwd: project,
        env: { PATH: '/usr/bin:/bin' },
        network: false,
        tmpBytes: 1_048_576,
      }),
      written: [layers.upper],
      onOutput: (chunk) => output.add(chunk),
      onErrors: (chunk) => output.add(chunk),
    })
    const { text } = output.end()
    return end.code === 0 && text.trim() === 'staged' ? undefined : text.trim() || `it ended with ${end.code}`
  } finally {
    removeStage(folder)
  }
}

/** The texts by which the usual refusals are known, in words that say what to do. */
function explain(faults: readonly string[]): string {
  const text = faults.join(' / ')
  if (/max_\*?user_namespaces|No space left|ENOSPC.*namespace|max_.*_namespaces/i.test(text))
    return 'This system allows no user namespaces (sysctl user.max_user_namespaces is 0 or used up).'
  if (/uid.?map|No permissions to create|Operation not permitted|RTM_NEWADDR|pivot_root|Failed to make \/ slave/i.test(text))
    return `This system does not let programs be confined (user namespaces are restricted; on Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0; in a container: a privileged one). It said: ${text.slice(0, 300)}.`
  return `Confining a program was tried and failed: ${text.slice(0, 300)}.`
}

const answers = new Map<string, Promise<string>>()
const mostAnswers = 16

/** Settings change, and are tried again each time; a program answers the same until it is another one. What came to nothing is asked again. */
async function askOnce(file: string, args: string[]): Promise<string> {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  const question = [file, stat?.dev, stat?.ino, stat?.ctimeNs, ...args].join('\0')
  const known = answers.get(question)
  if (known) return known
  const asked = ask(file, args)
  if (answers.size >= mostAnswers) answers.clear()
  answers.set(question, asked)
  const answer = await asked
  if (answer === '') answers.delete(question)
  return answer
}

async function ask(file: string, args: string[]): Promise<string> {
  const output = captureBothEnds(20_000)
  try {
    await runProcess({ file, args, cwd: '/', env: {}, timeoutMs: 5_000, onOutput: (chunk) => output.add(chunk) })
  } catch {
    return ''
  }
  return output.end().text
}
