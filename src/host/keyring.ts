import { randomBytes } from 'node:crypto'
import type { Keyring } from '../contracts/model-keys.ts'

const service = 'handrail'
/** A keyring that is locked asks the person; whoever does not answer has none. */
const longestMs = 20_000

/**
 * The keyring of this system where it has one that works: something was written, read back and removed. On Linux only the Secret Service
 * counts: without the choice the library takes the kernel's keyring, which is gone with the next start of the machine.
 */
export async function openKeyring(environment: Record<string, string | undefined>): Promise<Keyring | undefined> {
  if (environment['HANDRAIL_KEYRING'] === 'off') return undefined
  try {
    const { AsyncEntry } = await import('@napi-rs/keyring')
    const entry = (account: string) => new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
    const inTime = (): AbortSignal => AbortSignal.timeout(longestMs)
    const keyring: Keyring = {
      set: (account, secret) => entry(account).setPassword(secret, inTime()),
      get: async (account) => (await entry(account).getPassword(inTime())) ?? undefined,
      async remove(account) {
        await entry(account).deletePassword(inTime())
      },
    }
    const [account, word] = [`probe-${randomBytes(8).toString('hex')}`, randomBytes(16).toString('hex')]
    await keyring.set(account, word)
    const read = await keyring.get(account)
    await keyring.remove(account)
    return read === word && (await keyring.get(account)) === undefined ? keyring : undefined
  } catch {
    // No library for this system, no bus, no service, or locked: all the same.
    return undefined
  }
}
