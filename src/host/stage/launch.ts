import { dirname, relative } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../../contracts/faults/fault.ts'
import type { CapturedOutput, Program, ProgramResult } from '../../contracts/stage.ts'
import { runProcess, type ProcessEnd, type ProcessOptions } from '../process.ts'
import { canAct, endIfStill, gone, markName, processName } from '../running.ts'
import { asBytes, confine, needsInstructions, started, startText, type View } from './confine.ts'
import { openCgroup } from './cgroup.ts'
import { execFresh } from './keyring.ts'
import { parentDeathWatchdog } from './parent-death-watchdog.ts'
import { filterFor } from './seccomp.ts'
import { watchLimits, type Limits } from './limit-watch.ts'

/** The programs of the system that staging rests on. */
export interface SystemTools {
  bubblewrap: string
  unshare: string
  shell: string
  /** What this bubblewrap can do, from its own help. */
  flags: ReadonlySet<string>
  /** A perl that can give a program a session keyring of its own. */
  perl?: string | undefined
}

/** One stage on the disk: what a program changes lands in `upper`. */
export interface Layers {
  lower: string
  upper: string
  work: string
  merged: string
  /** A plain name for `lower` where its own cannot be written as a mount option. */
  plainLower: string
}

/** A folder that is mounted at a place of the stage's own first, and looked at there: what it is by then, it stays. */
export interface Pinned {
  from: string
  /** Its device and number, as `stat` writes them. */
  is: string
  at: string
}

/** Variables of the programs that set the stage up; the program on it gets its own. */
const outerEnv = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

/**
 * Run inside a user and mount namespace of its own, which dies with its last process: no mount is ever seen, or left, outside.
 * Limits are set here, before bubblewrap makes the namespace whose processes they count.
 */
const setting = [
  'if [ -n "$1" ]; then mount -n --bind "$1" "$2" || exit 120; fi',
  // Its layers by short names: for each of some thirty mounts the system spells all options of all mounts anew.
  'cd "$5" || exit 121',
  // An older kernel does not know how to leave the disk alone when a stage ends.
  'mount -n -i -t overlay handrail-stage -o "$3" "$4" 2>/dev/null || mount -n -i -t overlay handrail-stage -o "${3#volatile,}" "$4" || exit 121',
  'cd /',
  'shift 5',
]
/** With what is mounted below: the system lets nobody look under that. */
const pinning = [
  'pins=$1; shift',
  'while [ "$pins" -gt 0 ]; do',
  '  mount -n --rbind "$1" "$3" || exit 120',
  '  [ "$(stat -c "%d %i" "$3")" = "$2" ] || { echo "$1 became another folder, or a link, while this was started; start it again" >&2; exit 123; }',
  '  shift 3; pins=$((pins - 1))',
  'done',
]
/** The system's limit counts what is only reserved, too: V8 reserves half a gigabyte for code before it runs a line. What is used is watched. */
const reservedBytes = 1_073_741_824

/** What watches files is counted for the person, whose editor needs some as well: an eighth of it is enough for one program. */
const leaveWatches = (what: string): string =>
  `{ read -r most </proc/sys/fs/inotify/max_user_${what} || most=128; echo $((most / 8)) >/proc/sys/user/max_inotify_${what}; } 2>/dev/null`

/** The last of these lines becomes what the shell was given. */
export const limiting = ({ perl }: Pick<SystemTools, 'perl'>): string[] => [
  '[ -z "$HANDRAIL_GROUP" ] || { echo 0 >"$HANDRAIL_GROUP"; } 2>/dev/null',
  // Where the machine runs out of memory it is the program that goes, not whoever else is large.
  '{ echo 900 >/proc/self/oom_score_adj; } 2>/dev/null',
  ...['instances', 'watches'].map(leaveWatches),
  'ulimit -c 0; ulimit -n 65536 2>/dev/null; ulimit -f "$1"; ulimit -d "$2"; ulimit -u "$3" 2>/dev/null || ulimit -p "$3" 2>/dev/null',
  'shift 3',
  parentDeathWatchdog,
  execFresh(perl, process.arch),
]

/** Without layers nothing is mounted. */
function stageArguments(
  tools: SystemTools,
  layers: Layers | undefined,
  readOnly: boolean,
  script: readonly string[],
  pinned: readonly Pinned[] = [],
): string[] {
  const enter = (steps: readonly string[]): string[] => [
    '--user',
    '--map-root-user',
    '--mount',
    // What is unmounted outside is unmounted inside too: a server that runs for days keeps no disk from being taken out.
    '--propagation',
    'slave',
    '--',
    tools.shell,
    '-c',
    [...(pinned.length > 0 ? pinning : []), ...steps, ...script].join('\n'),
    'stage',
    ...(pinned.length > 0 ? [String(pinned.length)] : []),
    ...pinned.flatMap(({ from, is, at }) => [from, is, at]),
  ]
  if (!layers) return enter([])
  const special = /[,:\\"\s]/.test(layers.lower)
  const lower = special ? layers.plainLower : layers.lower
  const folder = dirname(layers.upper)
  const [upper, work] = [layers.upper, layers.work].map((layer) => relative(folder, layer))
  const options = readOnly
    ? `ro,userxattr,lowerdir=${upper}:${lower}`
    : `volatile,userxattr,index=off,lowerdir=${lower},upperdir=${upper},workdir=${work}`
  return [...enter(setting), special ? layers.lower : '', layers.plainLower, options, layers.merged, folder]
}

export interface LaunchEnd extends ProcessEnd {
  /** Whether the program itself was started; otherwise its stage could not be set up, or what it would see was not what it may. */
  ran: boolean
  outdated: boolean
}

/** Where a program is to run. */
export interface StageSetup {
  /** The stage's own folder: all that belongs to it carries its name. */
  folder: string
  layers: Layers | undefined
  limits: Limits
  pinned?: readonly Pinned[]
  /** Whoever is talked to while it runs. */
  onInput?: ProcessOptions['onInput']
}

export interface Launch {
  program: Pick<Program, 'argv' | 'timeoutMs'>
  /** Found out while the stage is set up, which takes as long. */
  view: () => View
  /** Asked while bubblewrap sets up that view; without a yes it gets no program to start. */
  stillHolds?: () => Promise<boolean>
  /** All it writes to the disk lands below these folders. */
  written: readonly string[]
  /** How often it is looked what it takes; a program that runs for days is not to cost much by it. */
  lookEveryMs?: number
  signal?: AbortSignal | undefined
  /** Called once it is started, with a way to end it for a reason. */
  onStarted?: (end: (why: string) => void) => void
  /** Called once it runs, with the first process of its namespace. */
  onFirst?: (pid: number) => void
  onOutput: (chunk: Buffer) => void
  onErrors: (chunk: Buffer) => void
}

/** A stage that is set up, down to a bubblewrap that waits to be told what to run, and where. */
export interface PreparedSandbox {
  /** No longer, where somebody ended it. */
  waits(): boolean
  /** What a program will see, where that is known before there is one: it is set up, and a program that sees anything else is not run there. */
  tell(view: View): void
  /** Runs a program, once. When it returns, nothing of it runs any more. */
  run(asked: Launch): Promise<LaunchEnd>
  /** It was not needed. */
  drop(): Promise<void>
}

const argumentsPipe = 4
const programPipe = 5
const filterPipe = 6

/** Which calls to the kernel no program gets; nothing where the machine is of a kind we do not know. */
export function filter(): Buffer | undefined {
  return (made ??= { filter: filterFor(process.arch) }).filter
}

/** When the first stage is set up: starting a server need not wait for it. */
let made: { filter: Buffer | undefined } | undefined

/** Sets a stage up. */
export function prepareSandbox(tools: SystemTools, { folder, layers, limits, pinned, onInput }: StageSetup): PreparedSandbox {
  const calls = filter()
  const block = 512
  let facts = ''
  let first: number | undefined
  let firstName: string | undefined
  let asked: Launch | undefined
  let over = false
  let outdated = false
  let told: Buffer | undefined
  let stop: (why: string) => void = () => undefined
  let watch: { stop(): void } | undefined
  let pid = 0
  const stopping = new AbortController()
  const how = deferredBytes()
  const what = deferredBytes()
  const group = openCgroup(limits)
  // It goes with bubblewrap by itself, unless a program talked it out of that.
  const endFirst = (): void => {
    if (first !== undefined) endIfStill(first, firstName)
  }
  const running = runProcess({
    file: tools.unshare,
    args: [
      ...stageArguments(tools, layers, false, limiting(tools), pinned),
      ...[Math.ceil(limits.diskBytes / block), Math.ceil((limits.memoryBytes + reservedBytes) / 1_024), limits.processes].map(
        String,
      ),
      tools.bubblewrap,
      ...needsInstructions,
      '--json-status-fd',
      '3',
      '--args',
      String(argumentsPipe),
      '--',
      ...started,
    ],
    cwd: '/',
    env: { ...outerEnv, [markName]: folder, ...(group && { HANDRAIL_GROUP: group.joining }) },
    timeoutMs: () => asked?.program.timeoutMs ?? 0,
    signal: stopping.signal,
    // Not as arguments, which every user of the machine can list: there may be keys among the variables.
    instructions: [how.bytes, what.bytes, ...(calls ? [Promise.resolve(calls)] : [])],
    ...(onInput && { onInput }),
    onOutput: (chunk) => asked?.onOutput(chunk),
    onErrors: (chunk) => asked?.onErrors(chunk),
    onStarted(started, end) {
      pid = started
      stop = end
    },
    onFacts(chunk, tell) {
      facts += chunk.toString('utf8')
      const child = /"child-pid"\s*:\s*(\d+)\b[^]/.exec(facts)?.[1]
      if (child !== undefined && first === undefined) {
        first = Number(child)
        firstName = processName(first)
        tell(`${first}\n`)
        asked?.onFirst?.(first)
      }
      // The watchdog has this pipe too, and takes a moment to go.
      return hasExited(facts) ? 'last' : undefined
    },
    onKill: endFirst,
  }).finally(() => {
    over = true
    watch?.stop()
  })
  const ended = (async (): Promise<LaunchEnd> => {
    const end = await running
    // The first process of its namespace ends last: once it is gone, so is everything the program left running.
    if (first !== undefined && canAct(first)) {
      endFirst()
      await gone(first)
    }
    group?.drop()
    return {
      ...end,
      outdated,
      ran: !outdated && (hasExited(facts) || (end.code === null && (end.killedBy === null || first !== undefined))),
    }
  })()
  // Told to whoever runs it; nobody may.
  ended.catch(() => group?.drop())
  const words = (view: View): Buffer => asBytes(confine(view, tools.flags, programPipe, calls && filterPipe))
  const onAbort = (): void => stopping.abort()
  const drop = async (): Promise<void> => {
    stopping.abort()
    await ended.catch(() => undefined)
  }
  return {
    // Its end may not have been heard of yet.
    waits: () => !over && canAct(pid),
    tell(view) {
      told = words(view)
      how.say(told)
    },
    async run(launch) {
      asked = launch
      if (first !== undefined) launch.onFirst?.(first)
      const { signal, program, view } = launch
      if (signal?.aborted) stopping.abort()
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        const sees = words(view())
        if (told) outdated = !told.equals(sees)
        else how.say(sees)
        // It is on its way before we look.
        if (!outdated) await turn()
        outdated ||= (await launch.stillHolds?.()) === false
        if (outdated) stopping.abort()
        else what.say(Buffer.from(startText(program.argv)))
        const { written, lookEveryMs: everyMs = 50 } = launch
        watch = watchLimits({ pid, first: () => first, written, unshare: tools.unshare, everyMs }, limits, stop)
        launch.onStarted?.(stop)
        return await ended
      } catch (fault) {
        await drop()
        throw fault
      } finally {
        watch?.stop()
        signal?.removeEventListener('abort', onAbort)
      }
    },
    drop,
  }
}

/** Whether bubblewrap has told how its program ended. */
function hasExited(facts: string): boolean {
  return facts.includes('"exit-code"')
}

/** Something that is said later. */
function deferredBytes(): { bytes: Promise<Buffer>; say: (bytes: Buffer) => void } {
  let say: (bytes: Buffer) => void = () => undefined
  const bytes = new Promise<Buffer>((resolve) => (say = resolve))
  return { bytes, say }
}

/** A program whose stage could not be set up never ran. */
export function mustHaveStarted({ ran, code }: LaunchEnd, errors: CapturedOutput): void {
  if (ran) return
  throw new Fault('unsupported', `The stage could not be set up (${code}): ${errors.text.trim().slice(0, 300)}`, {
    hint: 'Nothing was run. `handrail doctor` says what confinement there is.',
  })
}

/** The end of a program in the words of the contract. */
export function howItEnded(
  end: ProcessEnd,
  { timeoutMs }: Program,
): Pick<ProgramResult, 'exitCode' | 'signal' | 'ended' | 'endedFor'> {
  const ended = end.timedOut ? `it ran longer than ${timeoutMs / 1_000} s` : end.stopped ? 'the call was cancelled' : end.ended
  const endedFor = end.timedOut ? 'timeout' : end.stopped ? 'cancelled' : 'over-limit'
  return {
    exitCode: end.code,
    ...(end.killedBy !== null && { signal: end.killedBy }),
    ...(ended !== undefined && { ended, endedFor }),
  }
}

/** The names in some folders as they stand on the stage, whatever the overlay did to make them so; a zero byte after each. */
export async function listOnStage(tools: SystemTools, layers: Layers, folders: readonly string[]): Promise<Buffer> {
  const chunks: Buffer[] = []
  const end = await runProcess({
    file: tools.unshare,
    args: [
      ...stageArguments(tools, layers, true, [
        'cd "$1" || exit 122',
        `exec xargs -0 -r ${tools.shell} -c 'exec find "$@" -mindepth 1 -maxdepth 1 -print0' look`,
      ]),
      layers.merged,
    ],
    cwd: '/',
    env: outerEnv,
    timeoutMs: 60_000,
    input: Buffer.from(folders.map((folder) => `./${folder}\0`).join('')),
    onOutput: (chunk) => void chunks.push(chunk),
  })
  if (end.code !== 0) throw new Error(`the stage could not be looked at (${end.code}): ${end.errors}`)
  return Buffer.concat(chunks)
}
