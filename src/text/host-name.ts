/** A host the way a URL writes it, whichever spelling it came in: `LOCALHOST.`, `0x7f.1`, `2130706433`, `[::FFFF:127.0.0.1]`. */
export function plainHost(given: string): string | undefined {
  const known = plain.get(given)
  if (known !== undefined) return known
  const host = spelled(given)
  if (host === undefined || given.length > longestKnown) return host
  if (plain.size >= mostKnown) plain.clear()
  plain.set(given, host)
  return host
}

/** Every request of a page is judged by its host, and most are of a few. */
const plain = new Map<string, string>()
const mostKnown = 500
const longestKnown = 255

function spelled(given: string): string | undefined {
  if (!/^(\[[0-9a-f:.]+\]|[^\s/\\?#@:[\]]+)$/i.test(given) || !URL.canParse(`http://${given}/`)) return undefined
  const host = new URL(`http://${given}/`).hostname.replace(/\.+$/, '')
  return host === '' ? undefined : host
}

/** Whether a host is one of a list, or below one: `example.org` covers `www.example.org`, and `localhost` all names of this machine. */
export function coversHost(list: readonly string[]): (host: string) => boolean {
  const known = listed(list)
  return (host) => known.has(host) || host.split('.').some((_, at, labels) => known.has(labels.slice(at).join('.')))
}

/** Whether a host is one of a list, by its whole name. `localhost` stands for every name and address of this machine's own. */
export function allowsHost(list: readonly string[]): (host: string) => boolean {
  const known = listed(list)
  const here = known.has('localhost')
  return (host) => known.has(host) || (here && (host === '[::1]' || host.endsWith('.localhost')))
}

const listed = (list: readonly string[]): Set<string> =>
  new Set(list.flatMap((one) => plainHost(one.includes(':') && !one.startsWith('[') ? `[${one}]` : one) ?? []))
