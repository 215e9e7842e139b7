import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { StateFolder } from '../host/state-folder.ts'

export interface Credentials {
  /** A secret of this project, made on first use, in a 0600 file. */
  token(whose?: 'agent' | 'person'): { token: string; file: string }
  /** Marks a word as used until a time, for every process on the project; false where it was used before. */
  consumeNonce(word: string, until: number): boolean
}

/** What callers show: one secret for agents, one for the person, and words that count once. */
export function openCredentials(state: StateFolder): Credentials {
  let spent: StateFolder | undefined
  return {
    token(whose = 'agent') {
      const name = whose === 'agent' ? 'token' : 'person-token'
      const file = join(state.path, name)
      const read = (): string | undefined => state.read(name)?.toString('utf8').trim() || undefined
      const found = read()
      if (found !== undefined) return { token: found, file }
      const token = randomBytes(32).toString('base64url')
      return state.create(name, Buffer.from(`${token}\n`)) ? { token, file } : { token: read() ?? token, file }
    },
    consumeNonce(word, until) {
      spent ??= state.sub('spent')
      for (const name of spent.names()) if (Number(name.split('-', 1)[0]) < Date.now()) spent.remove(name)
      if (spent.names().some((name) => name.slice(name.indexOf('-') + 1) === word)) return false
      return spent.create(`${until}-${word}`, Buffer.alloc(0))
    },
  }
}
