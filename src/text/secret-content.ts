/** The longest file that is looked into: keys have a few KB, also several of them in one file. */
export const longestJudged = 65_536

/** What these bytes are where they are a secret as a whole, whatever the file is called. What only mentions or quotes one is none. */
export function secretIn(bytes: Buffer): string | undefined {
  if (bytes.length > longestJudged || !marks.some((mark) => bytes.includes(mark))) return undefined
  const text = bytes.toString('utf8').replace(/^[\uFEFF\s]+/, '')
  if (/^\{|^\[\s*\{/.test(text)) return accountIn(text)
  return keys.some((key) => key.test(text)) ? 'a private key' : undefined
}

/** One of these is in every secret we know: most files are judged by this look alone. */
const marks = ['"service_account"', '"authorized_user"', 'PRIVATE KEY', 'PuTTY-User-Key-File-', 'AGE-SECRET-KEY-1']

/** A file that begins with a key; remarks before it change nothing. */
const keys = [
  /^(?:#[^\n]*\n\s*)*-----BEGIN [A-Z0-9 ]{0,60}?PRIVATE KEY(?: BLOCK)?-----/,
  /^PuTTY-User-Key-File-\d/,
  /^(?:#[^\n]*\n\s*)*AGE-SECRET-KEY-1/,
]

function accountIn(text: string): string | undefined {
  if (/"type"\s*:\s*"service_account"/.test(text) && /"private_key"\s*:/.test(text)) return 'the key of a service account'
  if (/"type"\s*:\s*"authorized_user"/.test(text) && /"refresh_token"\s*:/.test(text)) return 'the login of a cloud user'
  return undefined
}
