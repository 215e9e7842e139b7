import { userInfo } from 'node:os'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { ago, oneLine, printable, say, table } from '../print.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const logins: Command = {
  name: 'logins',
  summary: 'See the logins that were saved for runs, and remove them',
  usage: 'handrail logins list|remove ID --project DIR',
  acts: { list: 0, remove: 1 },
  about: `A run of login_keep_session with \`save: true\` saves what the browser is known by at the site (cookies and storage, never the
password), encrypted, so that it can be used after a restart: later runs name its session. You are asked when it is saved, and again when
another client, or a later process, wants to use it. One that nobody used for 90 days is gone by itself.`,
  options: [],
  examples: ['handrail logins list --project .', 'handrail logins remove sess_0123456789abcdef0123456789abcdef --project .'],
  async run({ words, json, open }) {
    const [what = 'list', id] = words
    const runtime = open()
    try {
      if (what === 'list') {
        const found = runtime.logins.list()
        if (json) for (const login of found) say(terminalJson(login))
        else
          say(
            found.length
              ? table(
                  ['session', 'site', 'saved', 'last used'],
                  found.map((one) => [one.id, oneLine(one.site, 60), ago(one.savedAt), ago(one.usedAt)]),
                )
              : 'No login is saved.',
          )
        return 0
      }
      if (what !== 'remove' || id === undefined)
        throw new Fault('bad-input', what === 'remove' ? 'Which login?' : `Unknown: logins ${what}`, {
          hint: 'logins list, or logins remove ID.',
        })
      const removed = runtime.logins.remove(id, `${userInfo().username}@cli`)
      if (!removed)
        throw new Fault('session-not-found', `No such login is saved: ${printable(id)}`, {
          hint: '`handrail logins list` shows them.',
        })
      say(json ? terminalJson(removed) : `Removed: the login for ${oneLine(removed.site, 200)}`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}
