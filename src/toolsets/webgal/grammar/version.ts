/** The newest engine this grammar was read from; what is not known of a game is judged by it. */
export const newestEngine = '4.6.6'

/** How a version of the engine is written: `4.5.18`, `4.4.3.2`, `4.6.0-beta.1`. */
export const versionShape = String.raw`\d{1,4}\.\d{1,4}\.\d{1,4}(?:\.\d{1,4})?(?:-[\w.]{1,32})?`

/** Whether one version comes before another. What follows a hyphen does not count: a beta speaks the language of its release. */
export function isBefore(version: string, other: string): boolean {
  const [mine, theirs] = [numbersOf(version), numbersOf(other)]
  for (let place = 0; place < 4; place++) {
    const difference = (mine[place] ?? 0) - (theirs[place] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

function numbersOf(version: string): number[] {
  return (version.split('-', 1)[0] ?? '').split('.').map(Number)
}
