import { Fault } from '../contracts/faults/fault.ts'
import type { KeyInfo, Keyring, KeySource, ModelKeys } from '../contracts/model-keys.ts'
import type { StateFolder } from '../host/state-folder.ts'
import { sha256 } from '../host/files.ts'
import { openLock } from '../host/lock.ts'

export const keysFile = 'model-keys.json'
export const keysLock = 'model-keys.lock'
const mostKeys = 20
/** The keyring of Windows takes no more. */
const longest = 2_000

interface Row extends KeyInfo {
  /** Only where the file itself is the place. */
  key?: string
}

/**
 * Keys for models, in a file of 0600 in the folder that all projects of a person share: which there are, and where no keyring holds them,
 * the keys. A key is bound to the origin it was given for, so that whoever changes where a model is asked does not get it.
 */
export function openModelKeys(base: StateFolder, openKeyring: () => Promise<Keyring | undefined>): ModelKeys & KeySource {
  const rows = (): Row[] => {
    const text = base.read(keysFile)?.toString('utf8')
    if (text === undefined) return []
    try {
      const { keys } = JSON.parse(text) as { keys: unknown }
      if (Array.isArray(keys) && keys.every(isRow)) return keys
    } catch {
      // Told below.
    }
    throw new Fault('parse', 'The list of your keys for models cannot be read', {
      hint: `Remove ${keysFile} from the state folder, then set the keys again: \`handrail keys set PROVIDER\`.`,
    })
  }
  const save = (keys: readonly Row[]): void => base.replace(keysFile, Buffer.from(`${JSON.stringify({ keys }, null, 2)}\n`))
  /** Another state folder is another set of keys, in the same keyring. */
  const account = (provider: string): string => `${sha256(base.path).slice(0, 16)}/${provider}`
  const shown = ({ provider, origin, place, setAt }: Row): KeyInfo => ({ provider, origin, place, setAt })
  /** What is read, changed and written again is so by one at a time, whichever process it is. */
  const alone = async <T>(act: () => Promise<T>): Promise<T> => {
    const lock = openLock(base.file(keysLock))
    try {
      return await lock.hold(() => {
        // Who was killed in the middle of a change left a key there that no list names.
        base.sweep(keysFile)
        return act()
      })
    } finally {
      lock.close()
    }
  }
  const forget = async (row: Row): Promise<void> => {
    if (row.place === 'keyring') await (await openKeyring())?.remove(account(row.provider))
  }

  return {
    async set(provider, origin, key) {
      if (key === '' || key.length > longest || /[\s\p{C}]/u.test(key))
        throw new Fault('bad-input', key === '' ? 'No key was given' : 'This is no key', {
          hint: `A key has 1 to ${longest} characters, without spaces. Pipe it in or type it at the prompt.`,
        })
      return alone(async () => {
        const known = rows()
        const others = known.filter((row) => row.provider !== provider)
        if (others.length >= mostKeys)
          throw new Fault('over-limit', `${mostKeys} keys are the most`, { hint: 'Clear one first.' })
        const keyring = await openKeyring()
        const row: Row = { provider, origin, place: keyring ? 'keyring' : 'file', setAt: Date.now(), ...(!keyring && { key }) }
        // A keyring holds one key for each provider: were it killed in between, the new one would go where the old one was for.
        if (keyring && known.some((one) => one.provider === provider && one.origin !== origin)) save(others)
        await keyring?.set(account(provider), key)
        save([...others, row])
        return shown(row)
      })
    },
    list: () => rows().map(shown),
    clear: (provider) =>
      alone(async () => {
        const known = rows()
        const gone = known.filter((row) => provider === undefined || row.provider === provider)
        // Out of the list first: what is left in a keyring by a crash is never used again.
        if (gone.length > 0) save(known.filter((row) => !gone.includes(row)))
        for (const row of gone) await forget(row)
        return gone.map(shown)
      }),
    async get(provider, origin) {
      const row = rows().find((one) => one.provider === provider)
      if (!row) return undefined
      if (row.origin !== origin)
        throw new Fault('policy', `The key for ${provider} was given for ${row.origin}, and is not sent to ${origin}`, {
          hint: `Where that is right, set it again: \`handrail keys set ${provider}\`.`,
        })
      if (row.place === 'file') return row.key
      const found = await (await openKeyring())?.get(account(provider))
      if (found === undefined)
        throw new Fault('unauthorized', `The key for ${provider} is in the keyring, which does not give it`, {
          hint: `Unlock the keyring, or set the key again: \`handrail keys set ${provider}\`.`,
        })
      return found
    },
  }
}

function isRow(row: unknown): row is Row {
  const { provider, origin, place, setAt, key } = (row ?? {}) as Partial<Record<keyof Row, unknown>>
  return (
    typeof provider === 'string' &&
    typeof origin === 'string' &&
    (place === 'keyring' || (place === 'file' && typeof key === 'string')) &&
    typeof setAt === 'number'
  )
}
