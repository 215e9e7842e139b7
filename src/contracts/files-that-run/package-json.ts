/** Scripts that npm runs by itself, when something else was asked for. */
const byItself = /^(pre|post|prepare$|install$|prepublish)/

/**
 * Whether a package.json would run more, or something else, without being asked to: its scripts that run by themselves, the
 * programs it puts on the PATH, the package manager it fetches. What cannot be read does.
 */
export function runsByItself(before: string | undefined, after: string): boolean {
  const now = parts(after)
  return now === undefined || now !== (before === undefined ? nothing : parts(before))
}

const nothing = parts('{}')

function parts(text: string): string | undefined {
  try {
    const { scripts, bin, packageManager, devEngines, directories } = JSON.parse(text.replace(/^\uFEFF/, '')) as Record<
      string,
      unknown
    >
    const own = Object.entries((scripts ?? {}) as Record<string, unknown>).filter(([name]) => byItself.test(name))
    return JSON.stringify([own.sort(), bin, packageManager, devEngines, directories])
  } catch {
    return undefined
  }
}
