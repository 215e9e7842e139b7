import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { ProjectText } from '../../../contracts/skill.ts'
import { confirm } from '../confirm.ts'
import { bold, dim, green, printable, red, say, warn, yellow } from '../print.ts'
import { columns, folded, quotedBlock } from '../screen-rows.ts'

/** Where nobody says how wide the screen is, this is narrower than most. */
const narrow = 100

export function isOpenText(one: ProjectText): one is ProjectText & { digest: string } {
  return one.digest !== undefined && !one.trusted && one.wrong.length === 0
}

/** However long the text above was: what it comes to stands where the answer is given. */
export function questionOfText({ kind, file, does }: ProjectText): string {
  const rows = [file, ...does].map((line) => folded(printable(line), '    ', columns(narrow)))
  return `${rows.join('\n')}\nTrust exactly this ${kind}?`
}

export function statusOfText({ kind, id, file, digest, trusted, wrong, does }: ProjectText): object {
  return { kind, id, file, digest, trusted, wrong, does }
}

export function showText({ kind, file, digest, text, trusted, wrong, does }: ProjectText): void {
  const width = columns(narrow)
  say(
    `\n${bold(folded(`${kind}: ${printable(file)}`, '    ', width))}${digest === undefined ? '' : `\n${dim(`sha256 ${digest}`)}`}`,
  )
  if (wrong.length > 0) return say(`${red('It cannot be used')}:\n${quotedBlock(wrong.map(printable), '  | ', width)}`)
  say(`\n${quotedBlock((text ?? '').replace(/\n$/, '').split('\n').map(printable), '  | ', width)}\n`)
  say(trusted ? green('trusted') : `${yellow('ignored')} until you trust it`)
  for (const line of does) say(folded(`  ${printable(line)}`, '    ', width))
}

/** Many at once, each in a few lines. */
export async function trustTexts(runtime: Operator, texts: readonly ProjectText[], onlyLook: boolean): Promise<number> {
  for (const { kind, file, trusted, wrong, does } of texts) {
    say(`${trusted ? green('trusted') : yellow('ignored')} ${kind} ${printable(file)}`)
    for (const line of wrong.length > 0 ? wrong : does.slice(1, -1)) say(`    ${printable(line)}`)
  }
  const open = texts.filter(isOpenText)
  if (open.length === 0 || onlyLook) {
    if (open.length === 0) say('There are no skills or prompts of the project that are not trusted yet.')
    return 0
  }
  const yes = await confirm(`Trust these ${open.length}, exactly as they are now?`, 'stdout')
  if (yes === undefined)
    throw new Fault('bad-input', 'Nobody is at this terminal to confirm, so nothing is trusted', {
      hint: 'Read them first; then `handrail trust --digest SHA256` for each.',
    })
  if (!yes) {
    warn('Nothing is trusted; they stay ignored.')
    return 1
  }
  const count = runtime.trust.grantTexts(
    open.map(({ digest }) => digest),
    'person@cli',
  )
  say(`${green('Trusted')}: ${count}. \`handrail trust --revoke\` takes it back.`)
  return 0
}
