import type { Command } from '../command.ts'
import { tellDemo } from '../demo-story.ts'
import { Interrupted } from '../interrupted.ts'
import { bold, dim, say } from '../print.ts'
import { programName } from '../program-name.ts'

/** However it ends, the folder goes: a terminal that is closed says so too. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

export const demo: Command = {
  name: 'demo',
  summary: 'See it work in two minutes: a question, your answer, undo, the log',
  usage: 'handrail demo [--keep]',
  about: `A scripted agent works on a small project made for this, in a temporary folder: no model, no network, none of your files. It asks for
something worth a question; you answer here or on the page, take it back, and read the log. The folder goes when it ends.`,
  options: [{ name: 'keep', says: 'Leave the folder, to look around in it.' }],
  examples: ['handrail demo', 'handrail demo --keep'],
  async run({ options, dependencies }) {
    const { project, state, remove } = await dependencies.makeDemoProject()
    const keep = options['keep'] === true
    const left = new AbortController()
    const leave = (): void => left.abort(new Interrupted())
    for (const one of signals) process.once(one, leave)
    try {
      const runtime = dependencies.openRuntime({ project, state, live: true, flags: { 'enable-shell': true } })
      try {
        const listening = await dependencies.serveHttp(runtime, {
          host: '127.0.0.1',
          port: 0,
          allowRemote: false,
          allowOrigins: [],
        })
        try {
          say(`${bold('Handrail')} ${runtime.version}, a demo in ${project}\n`)
          await tellDemo({
            runtime,
            link: listening.signInLink,
            options: { ...options, state },
            isBrief: !keep,
            signal: left.signal,
          })
        } finally {
          await listening.close()
        }
      } finally {
        await runtime.close()
      }
      left.signal.throwIfAborted()
    } catch (thrown) {
      // Whatever broke off by it says so in words of its own.
      left.signal.throwIfAborted()
      throw thrown
    } finally {
      for (const one of signals) process.off(one, leave)
      if (!keep) remove()
    }
    say()
    if (keep) say(dim(`Kept: ${project}`))
    say(`Next, in a project of yours: ${programName()} init --help`)
    return 0
  },
}
