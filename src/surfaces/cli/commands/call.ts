import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { cardRows } from '../card.ts'
import type { Command, Invocation } from '../command.ts'
import { piped } from '../piped.ts'
import { bell, printableBlock, bold, lastLine, oneLine, progressBar, say, warn, warnFolded, yellow } from '../print.ts'
import { commandHere } from '../program-name.ts'
import { columns } from '../screen-rows.ts'
import { confirm } from '../confirm.ts'
import { longestTimer, wholeNumber } from '../whole-number.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const call: Command = {
  name: 'call',
  summary: 'Call one tool and print its answer',
  usage: "handrail call TOOL ['JSON' | -] --project DIR [--session NAME]",
  mostWords: 2,
  settings: ['mode', 'enable-shell', 'read-only'],
  about: `The same road as any agent's call: contract, policy, consent, audit, snapshot. The answer is JSON on stdout; an error is
told on stderr, with --json as the contract's error object, and the exit code is 1. "-" reads the input from stdin. Calls of one session share their dry runs;
the session is "cli" unless you name another. \`handrail tools\` lists the tools, \`handrail tools NAME\` shows one.`,
  options: [
    { name: 'session', value: 'NAME', says: 'Calls of one session share their dry runs. Default "cli".' },
    { name: 'wait', value: 'MS', says: 'How long to wait for a person, at most.' },
  ],
  examples: [
    `handrail call read_file '{"path":"game/scene/start.txt"}' --project ./my-game`,
    `handrail call write_to_file '{"path":"a.txt","content":"hi\\n","dryRun":true}' --project ./my-game`,
  ],
  async run(invocation) {
    const { words, options, open } = invocation
    const [name, given] = words
    if (name === undefined)
      throw new Fault('bad-input', 'Which tool?', { hint: 'handrail call TOOL JSON; `handrail tools` lists them.' })
    const wait = wholeNumber(options['wait'], 'wait', 0, longestTimer)
    const input = parseInput(given === '-' ? await piped() : (given ?? '{}'))
    const runtime = open()
    const session = `cli-${String(options['session'] ?? 'default')}`
    const bar = progressBar(name)
    const printed = lastLine()
    const interrupted = new AbortController()
    try {
      runtime.openSession({ id: session, surface: 'cli', client: 'handrail-cli' })
      const { output } = await runtime.call(
        name,
        input,
        { surface: 'cli', client: 'handrail-cli', session, role: 'agent' },
        {
          onProgress: (done, total) => bar.show(done, total ?? 0, printed.text()),
          onPrinted: printed.add,
          signal: interrupted.signal,
          onApproval(id) {
            bar.end()
            askHere(runtime, id, options).catch((thrown: unknown) => interrupted.abort(thrown))
          },
          ...(wait !== undefined && { approvalWaitMs: wait }),
        },
      )
      bar.end()
      const answer = terminalJson(output, 2)
      say(process.stdout.isTTY ? printableBlock(answer) : answer)
      return 0
    } catch (thrown) {
      throw interrupted.signal.aborted ? interrupted.signal.reason : thrown
    } finally {
      bar.end()
      await runtime.close()
    }
  },
}

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new Fault('bad-input', `The input is not valid JSON: ${(cause as Error).message.slice(0, 200)}`, {
      hint: `Quote it for the shell: '{"path":"a.txt"}'`,
    })
  }
}

/** A person at this very terminal can answer here; elsewhere the call waits for an answer from another one. */
async function askHere(runtime: Operator, id: string, options: Invocation['options']): Promise<void> {
  const approval = runtime.approvals.get(id)
  if (!approval) return
  const width = columns(undefined, process.stderr)
  bell()
  warnFolded(`${approval.tool} needs your approval (${approval.risk}): ${oneLine(approval.card.title, 120)}`, yellow)
  for (const row of cardRows(approval, width)) warn(row)
  const command = (words: string): string => commandHere(words, runtime.project, options)
  warn(`From another terminal: ${bold(command(`approvals approve ${id}`))}`)
  if (!approval.whole) return warn(yellow(`Not all of it is shown here. Read it: ${command(`approvals show ${id} --full`)}`))
  const yes = await confirm('Let it through?', 'stderr')
  if (yes === undefined || runtime.approvals.get(id)?.state !== 'pending') return
  runtime.approvals.decide(id, { approve: yes, by: 'terminal' })
}
