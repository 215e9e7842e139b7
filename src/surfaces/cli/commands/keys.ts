import { providers, type Provider } from '../../../contracts/config-agent.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command } from '../command.ts'
import { hiddenAnswer } from '../hidden-answer.ts'
import { piped } from '../piped.ts'
import { ago, printable, say, table } from '../print.ts'

/** More than a key has, and the ends of lines around it. */
const mostPiped = 16_384

export const keys: Command = {
  name: 'keys',
  summary: 'Your keys for models: set, list, clear',
  usage: 'handrail keys list|set PROVIDER|clear [PROVIDER] [--base-url URL]',
  // Whoever types a key behind it is told why not, and the key is not said once more.
  acts: { list: 0, set: Number.POSITIVE_INFINITY, clear: 1 },
  about: `A key is read from a hidden prompt, or from a pipe; never from the command line, where every process could read it. It is kept in the keyring
of your system where there is one (HANDRAIL_KEYRING=off: never), else in a file that only you can read, and goes to the endpoint it was set for and nowhere else: not
into settings, logs, prompts, or the environment of programs. \`keys clear\` without a name removes all of them.`,
  options: [],
  examples: [
    'handrail keys set anthropic',
    'handrail keys set compatible --base-url https://models.example/v1',
    'handrail keys list',
    'handrail keys clear',
  ],
  async run({ words, options, json, open }) {
    const [what = 'list', name, ...more] = words
    if (more.length > 0)
      throw new Fault('bad-input', 'A key does not belong on the command line', {
        hint: 'Leave it out: it is asked for, or piped in. If you just typed one, every process could see it: make a new one.',
      })
    const runtime = open()
    try {
      if (what === 'list') {
        const found = runtime.modelKeys.list()
        if (json) for (const one of found) say(terminalJson(one))
        else if (found.length === 0) say('No key is set.')
        else
          say(
            table(
              ['provider', 'for', 'kept in', 'set'],
              found.map((one) => [one.provider, one.origin, one.place, ago(one.setAt)]),
            ),
          )
        return 0
      }
      if (what === 'clear') {
        const gone = await runtime.modelKeys.clear(name)
        if (name !== undefined && gone.length === 0) throw new Fault('not-found', `No key is set for ${printable(name)}`)
        say(json ? terminalJson(gone) : `Cleared: ${gone.map((one) => one.provider).join(', ') || 'there was none'}`)
        return 0
      }
      if (what !== 'set' || name === undefined || !(providers as readonly string[]).includes(name) || name === 'none')
        throw new Fault('bad-input', name === undefined ? 'A key for which provider?' : `No such provider: ${printable(name)}`, {
          hint: `There are: ${providers.filter((one) => one !== 'none').join(', ')}; e.g. \`handrail keys set anthropic\`.`,
        })
      const { provider, baseUrl } = runtime.config.agent
      const agent = await runtime.agent()
      // An address that was given with the command is for this very key, whichever provider the settings name.
      const isMeant = name === provider || name === 'compatible' || options['base-url'] !== undefined
      const origin = agent.originOf(name as Provider, isMeant ? baseUrl : '')
      const key = process.stdin.isTTY === true ? await hiddenAnswer(`Key for ${name} at ${origin}: `) : await piped(mostPiped)
      const kept = await runtime.modelKeys.set(name, origin, key.trim())
      say(json ? terminalJson(kept) : `Kept in the ${kept.place}, for ${kept.origin} only.`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}
