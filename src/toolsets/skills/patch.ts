import type { Effect, Sides } from '../../contracts/stage.ts'
import { unifiedRowsBy } from '../../text/unified.ts'
import type { Diffs } from '../../host/diffs.ts'
import { isText } from './use.ts'

const largestText = 2_097_152
const longestPatch = 16_777_216

/** What a program changed as one patch that `git apply` takes; folders have no place in one, binary content is only named. */
export async function patchOf(effects: readonly Effect[], sides: Sides, diffs: Diffs): Promise<string> {
  let patch = ''
  const files = effects
    .flatMap(asFiles)
    // What makes room comes first: a folder may have become a file.
    .sort((a, b) => Number(b.kind === 'deleted') - Number(a.kind === 'deleted'))
  for (const [index, effect] of files.entries()) {
    if (patch.length > longestPatch) return `${patch}# ${files.length - index} more files are left out\n`
    patch += [...headOf(effect), ...(await bodyOf(effect, sides, diffs)), ''].join('\n')
  }
  return patch
}

/** What became another form is one gone and one new, as far as they are files. */
function asFiles(effect: Effect): Effect[] {
  const { form, was = form } = effect
  if (was === form) return form === 'folder' ? [] : [effect]
  const gone: Effect = { ...effect, kind: 'deleted', form: was }
  const made: Effect = { ...effect, kind: 'created' }
  return [gone, made].filter((one) => one.form !== 'folder')
}

function headOf({ path, from = path, kind, form, modes }: Effect): string[] {
  const [before, after] = modes.map((mode) =>
    form === 'link' ? '120000' : mode === null ? '' : mode & 0o100 ? '100755' : '100644',
  )
  const bits = before !== after ? [`old mode ${before}`, `new mode ${after}`] : []
  return [
    `diff --git ${quoted(`a/${from}`)} ${quoted(`b/${path}`)}`,
    ...(kind === 'created' ? [`new file mode ${after}`] : kind === 'deleted' ? [`deleted file mode ${before}`] : bits),
    ...(kind === 'renamed' ? ['similarity index 100%', `rename from ${quoted(from)}`, `rename to ${quoted(path)}`] : []),
  ]
}

async function bodyOf(effect: Effect, sides: Sides, diffs: Diffs): Promise<string[]> {
  const { path, kind } = effect
  if (kind === 'renamed' || kind === 'mode') return []
  const names = [kind === 'created' ? '/dev/null' : `a/${path}`, kind === 'deleted' ? '/dev/null' : `b/${path}`] as const
  const [was, is] = isSmall(effect) ? sides(effect).map((bytes) => Buffer.from(bytes ?? '')) : []
  if (!was || !is || !isText(was) || !isText(is)) return [`Binary files ${names[0]} and ${names[1]} differ`]
  const [before, after] = [kind === 'created' ? '' : was.toString('utf8'), kind === 'deleted' ? '' : is.toString('utf8')]
  const rows = await unifiedRowsBy((old, now) => diffs.lines(old, now), before, after)
  return rows.length ? [`--- ${ended(names[0])}`, `+++ ${ended(names[1])}`, ...rows] : []
}

function isSmall({ sizes }: Effect): boolean {
  return sizes.every((size) => (size ?? 0) <= largestText)
}

/** Names with a quotation mark are quoted as Git does it; no path of ours holds a backslash or control character. */
function quoted(name: string): string {
  return name.includes('"') ? `"${name.replaceAll('"', '\\"')}"` : name
}

/** A tab ends a name that holds a space. */
function ended(name: string): string {
  return name.includes(' ') && !name.includes('"') ? `${name}\t` : quoted(name)
}
