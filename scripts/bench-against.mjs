// `npm run bench -- --against REF [PART…]`: this tree beside an older commit of itself, whole benches in pairs, one after the other.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, quantile } from '../bench/measure.mjs'
import { must, root } from './setup.mjs'

const say = (text) => process.stderr.write(`${text}\n`)

export function benchAgainst(ref, parts, pairs = 5) {
  const temp = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-against-')))
  const old = join(temp, 'tree')
  const git = (...args) => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim()
  const commit = git('rev-parse', '--verify', `${ref}^{commit}`)
  process.once('exit', () => {
    spawnSync('git', ['-C', root, 'worktree', 'remove', '--force', old], { stdio: 'ignore' })
    rmSync(temp, { recursive: true, force: true })
  })
  git('worktree', 'add', '--quiet', '--detach', old, commit)
  givePackages(old)
  must(process.execPath, ['scripts/build.mjs'], `${ref} could not be built.`, { cwd: old })
  const found = { old: [], new: [] }
  for (let pair = 0; pair < pairs; pair++)
    for (const [name, tree] of pair % 2
      ? [
          ['new', root],
          ['old', old],
        ]
      : [
          ['old', old],
          ['new', root],
        ]) {
      say(`pair ${pair + 1} of ${pairs}: ${name}`)
      found[name].push(rowsOf(tree, parts))
    }
  process.stdout.write(`${compare(found, commit.slice(0, 7))}\n`)
}

/** The same packages where the lock file is the same, its own where it is not. */
function givePackages(tree) {
  const lock = (folder) => readFileSync(join(folder, 'package-lock.json'), 'utf8')
  if (lock(tree) === lock(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  else must('npm', ['ci', '--ignore-scripts'], 'Its packages could not be installed.', { cwd: tree })
}

function rowsOf(tree, parts) {
  const { stdout, stderr } = spawnSync(process.execPath, ['scripts/bench.mjs', ...parts, '--json'], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // A part that fails in one of the trees is in no pair: that must not look like a part nobody asked for.
  for (const line of stderr.split('\n')) if (line.includes('could not be measured')) say(line)
  const { rows } = JSON.parse(stdout.trimEnd().split('\n').at(-1))
  return new Map(named(rows).filter(([, row]) => Number.isFinite(row.ours)))
}

/** What a row says of the one before it ("… server CPU") carries that one's name, or those of several parts would be one. */
function named(rows) {
  let last = ''
  return rows.map((row) => {
    const isMore = row.what.startsWith('…')
    if (!isMore) last = row.what
    return [isMore ? `${last} ${row.what}` : row.what, row]
  })
}

/** One line a figure: this tree divided by the other, pair by pair, and the same with each divided by its peer in the same minute. */
function compare(found, name) {
  const lines = [
    `this tree ÷ ${name}: the median of ${found.new.length} pairs (all pairs), beside it the same relative to the peer`,
  ]
  for (const what of found.new[0].keys()) {
    const pairs = found.new.map((rows, at) => [rows.get(what), found.old[at].get(what)]).filter(([now, then]) => now && then)
    if (pairs.length === 0) continue
    const plain = pairs.map(([now, then]) => now.ours / then.ours)
    const byPeer = pairs.map(([now, then]) => now.ratio / then.ratio).filter(Number.isFinite)
    const range = `(${quantile(plain, 0).toFixed(2)}–${quantile(plain, 1).toFixed(2)})`
    const worse = pairs[0][0].more || pairs[0][0].unit === '/s' ? median(plain) < 0.9 : median(plain) > 1.1
    lines.push(
      `${what.padEnd(84)} ${median(plain).toFixed(2).padStart(6)} ${range.padEnd(13)} ${byPeer.length ? median(byPeer).toFixed(2) : '–'}${worse ? '   worse by more than 10 %' : ''}`,
    )
  }
  return lines.join('\n')
}
