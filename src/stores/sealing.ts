import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { Fault } from '../contracts/faults/fault.ts'
import type { StateFolder } from '../host/state-folder.ts'

/** Keeps secrets that must wait for their use: what lies on the disk says nothing without the key, which lies in a 0600 file of its own. */
export interface Sealing {
  seal(value: unknown): string
  /** Throws where it was not sealed here, or was changed since. */
  open(sealed: string): unknown
  /** Names this state folder among those of all machines: whoever has the same name can open what was sealed here. */
  place(): string
  /** A mark under a text that nobody makes who has not the key. */
  sign(text: string): string
}

const keyFile = 'seal-key'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** AES-256-GCM under a key of the project's own, made on first use. */
export function openSealing(state: StateFolder): Sealing {
  let known: Buffer | undefined
  const key = (): Buffer => {
    known ??= state.read(keyFile)
    if (!known) {
      const made = randomBytes(keyBytes)
      known = state.create(keyFile, made) ? made : state.read(keyFile)
    }
    if (known?.length === keyBytes) return known
    known = undefined
    throw new Fault('io', 'The key that secrets of runs are kept under cannot be used', {
      hint: `Remove ${keyFile} from the state folder of the project: what was sealed with it is lost, and must be handed in again.`,
    })
  }
  return {
    sign: (text) => createHmac('sha256', key()).update('sign\n').update(text).digest('base64url'),
    place: () => createHmac('sha256', key()).update('place').digest('hex').slice(0, 32),
    seal(value) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key(), nonce)
      const hidden = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString('base64url')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url')
      try {
        const cipher = createDecipheriv('aes-256-gcm', key(), bytes.subarray(0, nonceBytes))
        cipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
        const text = Buffer.concat([cipher.update(bytes.subarray(nonceBytes + tagBytes)), cipher.final()])
        return JSON.parse(text.toString('utf8')) as unknown
      } catch (cause) {
        if (cause instanceof Fault) throw cause
        throw new Fault('bad-input', 'These credentials were not sealed here', {
          hint: 'Hand the run in again: secrets are dropped when a run ends.',
          cause,
        })
      }
    },
  }
}
