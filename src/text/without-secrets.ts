const sign = '…'

/**
 * Takes secrets out of what a site says of itself, as they stand and in every spelling of an address. A short one only where it stands
 * alone: it is part of many words.
 */
export function withoutSecrets(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret !== '').map(finderOf)
  const has = (text: string): boolean => known.some((one) => text.search(one) >= 0)
  const plain = (text: string): string => known.reduce((rest, one) => rest.replace(one, sign), text)
  /** Of a word that says it in another spelling only what comes before its first parameter is left, or nothing. */
  const word = (text: string): string => {
    if (!spellings(text).some(has)) return text
    const start = /^[^?#;]*/.exec(text)?.[0] ?? ''
    return spellings(start).some(has) ? sign : `${start}${text.charAt(start.length)}${sign}`
  }
  return (text) => plain(text).replace(/\S+/g, word)
}

function finderOf(secret: string): RegExp {
  const exact = secret.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return secret.length < 6 ? new RegExp(`(?<![\\p{L}\\p{N}])${exact}(?![\\p{L}\\p{N}])`, 'gu') : new RegExp(exact, 'gu')
}

/** What a part of an address may stand for: it may have been written into another address before. */
function spellings(text: string): string[] {
  const found = [text]
  for (let depth = 0, last = text; depth < 3 && /[%+]/.test(last); depth++) {
    found.push(decoded(last))
    last = decoded(last.replaceAll('+', ' '))
    found.push(last)
  }
  return found
}

/** Byte by byte where it is no UTF-8. */
function decoded(text: string): string {
  return text.replace(/(%[0-9a-f]{2})+/gi, (bytes) =>
    new TextDecoder().decode(Uint8Array.from(bytes.slice(1).split('%'), (byte) => Number.parseInt(byte, 16))),
  )
}
