/** How tools of mounted servers are called: by the kernel, and on a wire whose callers refuse dots. */

/** What model APIs take: at most 64 of `[A-Za-z0-9_-]`; 24 are the server's, two stand between. */
const longestPart = 38
const prefix = 'mcp.'

/** The kernel's name. A tool whose own name does not fit gets another that does, told from its likes by a digest. */
export function mountedId(server: string, tool: string, digest: (text: string) => string): string {
  if (/^[A-Za-z0-9_-]{1,38}$/.test(tool)) return `${prefix}${server}.${tool}`
  const mark = `_${digest(tool).slice(0, 8)}`
  return `${prefix}${server}.${tool.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, longestPart - mark.length)}${mark}`
}

export const isMountedId = (name: string): boolean => name.startsWith(prefix)

/** On the wire: `mcp.files.read` is `files__read`. */
export function wireName(id: string): string {
  const [, server, tool] = /^mcp\.([a-z0-9-]+)\.([A-Za-z0-9_-]+)$/.exec(id) ?? []
  return server === undefined ? id : `${server}__${tool}`
}

/** The kernel's name of what a caller names so; nothing where it is no name of such a tool. No server has an underscore in its name. */
export function idOfWire(name: string): string | undefined {
  const [, server, tool] = /^([a-z][a-z0-9-]{0,23})__([A-Za-z0-9_-]{1,38})$/.exec(name) ?? []
  return server === undefined ? undefined : `${prefix}${server}.${tool}`
}
