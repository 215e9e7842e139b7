import { redact } from './redact/redact.ts'

/** Of whichever project: whoever has one may answer in the person's name. See `signInKey` and `programKey`. */
const personKeys = /(?<![\w.-])(?:hpk_)?[0-9a-z]{1,12}\.[\w-]{16}\.[\w-]{43}(?![\w-])/g

/** Words for an agent, without what would let it in as the person. */
export function withoutPersonKeys(words: string): string {
  return words.replace(personKeys, (key) => `[secret: sign in key, ${key.length} characters]`)
}

/** Words for an agent out of a form, which anybody may have talked a secret into; that something was kept back is said. */
export function redactForAgent(words: string): string {
  const kept = redact(withoutPersonKeys(words))
  return kept === words ? kept : `${kept}\n(Handrail kept back what looked like a secret.)`
}
