import { userInfo } from 'node:os'
import type { CallOptions } from '../../contracts/call.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Operator } from '../../contracts/operator.ts'
import { auditTable } from './audit-rows.ts'
import { cardRows } from './card.ts'
import { answerTo } from './confirm.ts'
import { readAnswer } from './commands/approvals-watch.ts'
import { bell, bold, dim, green, oneLine, red, renderChange, say, yellow } from './print.ts'
import { commandHere } from './program-name.ts'
import { columns, folded } from './screen-rows.ts'

export interface DemoStory {
  /** At whose gate the scripted agent calls: one that offers the shell. */
  runtime: Operator
  /** A link that signs the person in on the page, where the same question stands. */
  link: string
  options: Record<string, string | boolean | undefined>
  /** The project goes with the story: nothing is said that could be typed later. */
  isBrief?: boolean
  /** Ends it before its end. */
  signal?: AbortSignal
}

const session = 'demo-agent'
const agent = { surface: 'cli', client: 'demo-agent (scripted)', session, role: 'agent' } as const
const person = { surface: 'cli', client: 'handrail-cli', session: 'cli-person', role: 'person' } as const
const command = 'sed -i s/lamp/lantern/g game/scene/*.txt && rm -r game/vocal game/bgm'
const manifest = `${JSON.stringify({ name: 'lighthouse', scripts: { postinstall: 'node setup.js' } }, null, 2)}\n`

/**
 * A scripted agent asks for something worth a question; the person answers here or on the page, takes it back and reads the log. Only the
 * model is missing: everything else is the real thing. Where nobody sits at the terminal it says what to type instead.
 */
export async function tellDemo({
  runtime,
  link,
  options,
  isBrief = false,
  signal = new AbortController().signal,
}: DemoStory): Promise<void> {
  const isHere = process.stdin.isTTY === true && process.stdout.isTTY === true
  const here = (words: string): string => commandHere(words, runtime.project, options)
  const began = runtime.audit.head().seq + 1
  runtime.openSession({ id: session, surface: agent.surface, client: agent.client })
  const { confined, says } = await runtime.capabilities.confinement()

  step(1, 'A scripted agent works on the sample project. There is no model behind it and no network; everything else is real.')
  if (confined) {
    paragraph('It wants to run this:')
    say(bold(`     ${command}`))
    paragraph('Handrail ran it on a throwaway copy of the project. Your files are untouched. This is what it did there:')
  } else {
    paragraph(`${oneLine(says, 240)} So the agent asks for something that needs no program:`, yellow)
    paragraph('it wants to write a package.json that runs a script with the next npm install.')
  }
  say()
  const asked = new AbortController()
  signal.addEventListener('abort', () => asked.abort(signal.reason), { once: true })
  const call = confined
    ? runtime.call('shell', { command }, agent, waiting(runtime, isHere, link, here, asked))
    : write(runtime, waiting(runtime, isHere, link, here, asked))
  const done = await call.then(
    () => true,
    (thrown: unknown) => {
      if (thrown instanceof Fault && thrown.reason === 'declined') return false
      throw thrown
    },
  )
  say()
  if (done) paragraph('Applied to your project, exactly as shown. Both sides of every file are kept.', green)
  else paragraph('Denied. Nothing has changed, and your words went to the agent.', red)
  say()
  if (done) await takeBack(runtime, isHere, here, { isBrief, signal })
  say()
  step(done ? 3 : 2, 'Every step is in a log that shows tampering:')
  say()
  if (isHere || !done) showLog(runtime, began)
  if (isBrief) return
  say(`     ${here('audit show')}   ${dim('# the log')}`)
  say(`     ${here('audit verify')}   ${dim('# is it intact?')}`)
}

function waiting(
  runtime: Operator,
  isHere: boolean,
  link: string,
  here: (words: string) => string,
  asked: AbortController,
): CallOptions {
  return {
    approvalWaitMs: Number.POSITIVE_INFINITY,
    signal: asked.signal,
    onApproval: (id: string) => {
      ask(runtime, id, isHere, link, here, asked.signal).catch((thrown: unknown) => asked.abort(thrown))
    },
  }
}

/** The same question stands on the page: whichever answer comes first counts. */
async function ask(
  runtime: Operator,
  id: string,
  isHere: boolean,
  link: string,
  here: (words: string) => string,
  signal: AbortSignal,
): Promise<void> {
  const approval = runtime.approvals.get(id)
  if (!approval) return
  for (const row of cardRows(approval)) say(row)
  say()
  bell()
  paragraph(`Your answer, ${isHere ? 'here or on the page' : 'on the page or with the command'}:`, bold)
  say(`     ${link}`)
  if (!isHere) {
    say(`     ${here(`approvals approve ${id}`)}`)
    return
  }
  const elsewhere = new AbortController()
  signal.addEventListener('abort', () => elsewhere.abort(), { once: true })
  const stop = runtime.audit.subscribe({ events: (event) => event.startsWith('approval.') }, () => {
    if (runtime.approvals.state(id) !== 'pending') elsewhere.abort()
  })
  try {
    while (runtime.approvals.state(id) === 'pending') {
      const typed = (
        await answerTo('   y lets it through, n does not; words after it go to the agent: ', elsewhere.signal)
      ).trim()
      const { verdict, note } = readAnswer(typed)
      if (elsewhere.signal.aborted || runtime.approvals.state(id) !== 'pending') return
      if (verdict === 'yes' || verdict === 'no')
        runtime.approvals.decide(id, {
          approve: verdict === 'yes',
          by: `${userInfo().username}@cli`,
          ...(note !== '' && { note }),
        })
    }
  } finally {
    stop()
  }
}

async function write(runtime: Operator, options: CallOptions): Promise<unknown> {
  const input = { path: 'package.json', content: manifest }
  await runtime.call('write_to_file', { ...input, dryRun: true }, agent)
  return runtime.call('write_to_file', { ...input, dryRun: false }, agent, options)
}

interface Undone {
  shown: object
  changes: { path: string; becomes: string; diff: Parameters<typeof renderChange>[0]['diff'] }[]
}

async function takeBack(
  runtime: Operator,
  isHere: boolean,
  here: (words: string) => string,
  { isBrief, signal }: { isBrief: boolean; signal: AbortSignal },
): Promise<void> {
  step(2, 'What you let through can be taken back, byte for byte:')
  if (!isHere) return say(`     ${here('undo --last --yes')}`)
  await answerTo('   Enter undoes it: ', signal)
  signal.throwIfAborted()
  const preview = (await runtime.call('undo', { last: true, dryRun: true }, person)).output as Undone
  const { output } = await runtime.call('undo', { last: true, shown: preview.shown, dryRun: false }, person)
  const { changes } = output as Undone
  paragraph(`Undone: ${changes.length === 1 ? '1 file is' : `${changes.length} files are`} as before.`, green)
  if (!isBrief) say(`     ${here('undo --last')}   ${dim('# any time later')}`)
}

const shownEvents: readonly string[] = ['call.start', 'approval.requested', 'approval.decided', 'call.end']

function showLog(runtime: Operator, began: number): void {
  const lines = [...runtime.audit.lines(began)].filter(({ event }) => shownEvents.includes(event))
  say(auditTable(lines))
}

const width = (): number => Math.min(columns(80), 80)

function step(number: number, text: string): void {
  say(folded(`${number}  ${text}`, '   ', width()).replace(String(number), bold))
}

function paragraph(text: string, painted: (text: string) => string = String): void {
  say(painted(folded(`   ${text}`, '   ', width())))
}
