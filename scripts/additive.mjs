// A change of contract may only add: optional fields, new tools, new codes. Anything else needs a new contractVersion.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

const wordsOnly = new Set(['description', 'title', 'examples', 'says', 'risk'])

/** Where `now` breaks a promise that `before` made, as sentences. */
export function breaks(before, now, path = '') {
  if (isObject(before) && isObject(now)) {
    const found = []
    for (const [name, value] of Object.entries(before)) {
      if (wordsOnly.has(name) && !isInProperties(path)) continue
      if (!(name in now)) found.push(`${path}/${name} was removed`)
      else if (name === 'errors' && Array.isArray(value))
        found.push(...value.filter((code) => !now[name].includes(code)).map((code) => `${path}/errors lost ${code}`))
      else found.push(...breaks(value, now[name], `${path}/${name}`))
    }
    for (const name of Object.keys(now))
      if (!(name in before) && !isInProperties(path) && !isAddition(path, name))
        found.push(`${path}/${name} was added to what stood`)
    return found
  }
  return JSON.stringify(before) === JSON.stringify(now)
    ? []
    : [`${path} changed from ${JSON.stringify(before)} to ${JSON.stringify(now)}`]
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Inside `properties` names are fields, and a new one is an addition. */
const isInProperties = (path) => path.endsWith('/properties')
const isAddition = (path, name) => wordsOnly.has(name) || (path === '' && name !== 'required')

const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** What was promised: the newest release, else the first commit that had contracts. */
function baseline() {
  try {
    const tag = git('tag', '--list', 'v*', '--sort=-v:refname').split('\n')[0]
    return tag || git('log', '--diff-filter=A', '--format=%H', '--', 'contracts/v1/errors.json').split('\n').at(-1)
  } catch {
    return undefined
  }
}

export function checkAdditive() {
  const since = baseline()
  if (!since) return []
  const paths = git('ls-tree', '-r', '--name-only', since, 'contracts/v1')
    .split('\n')
    .filter((path) => path.endsWith('.json') && !path.endsWith('config.json'))
  return paths.flatMap((path) => {
    if (!existsSync(join(root, path))) return [`${path} was removed`]
    return breaks(JSON.parse(git('show', `${since}:${path}`)), JSON.parse(readFileSync(join(root, path), 'utf8'))).map(
      (sentence) => `${path}: ${sentence}`,
    )
  })
}

if (process.argv[1]?.endsWith('additive.mjs')) {
  const found = checkAdditive()
  for (const sentence of found) process.stderr.write(`${sentence}\n`)
  process.exit(found.length ? 1 : 0)
}
