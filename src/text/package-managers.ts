/** Which file beside a package.json belongs to which package manager; where there are several, the first counts. */
export const lockFiles: readonly (readonly [file: string, manager: string])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['pnpm-workspace.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['package-lock.json', 'npm'],
  ['npm-shrinkwrap.json', 'npm'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
]

/** What a package.json says itself: `packageManager` is `name@version`, `devEngines.packageManager` has a name. */
export function declaredManager(manifest: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const field = manifest?.['packageManager']
  const engine = (manifest?.['devEngines'] as { packageManager?: { name?: unknown } } | undefined)?.packageManager?.name
  const name = typeof field === 'string' ? field.split('@', 1)[0] : typeof engine === 'string' ? engine : undefined
  return name === '' ? undefined : name?.slice(0, 40)
}
