import { Fault } from '../../../contracts/faults/fault.ts'
import type { ProjectTemplate } from '../../../contracts/project-templates.ts'
import { bold, dim, green, printable, red, say, yellow } from '../print.ts'
import { columns, folded, quotedBlock } from '../screen-rows.ts'

/** Where nobody says how wide the screen is, this is narrower than most. */
const narrow = 100

export function isOpenTemplate(one: ProjectTemplate): one is ProjectTemplate & { digest: string } {
  return one.digest !== undefined && !one.trusted && one.wrong.length === 0
}

export function mustBeUsable({ file, wrong }: ProjectTemplate): void {
  if (wrong.length > 0)
    throw new Fault('bad-input', `${printable(file)} cannot be used, so there is nothing to trust: ${wrong[0]}`, {
      hint: '`handrail templates check` says everything that is wrong with it.',
    })
}

/** However long the text above was: what it comes to stands where the answer is given. */
export function questionOfTemplate({ file, does }: ProjectTemplate): string {
  const rows = [file, ...does].map((line) => folded(printable(line), '    ', columns(narrow)))
  return `${rows.join('\n')}\nTrust exactly this template?`
}

export function statusOfTemplate({ file, digest, id, trusted, wrong, does }: ProjectTemplate): object {
  return { file, digest, id, trusted, wrong, does }
}

export function showTemplate({ file, digest, text, trusted, wrong, does }: ProjectTemplate): void {
  const width = columns(narrow)
  say(`\n${bold(folded(printable(file), '    ', width))}${digest === undefined ? '' : `\n${dim(`sha256 ${digest}`)}`}`)
  if (wrong.length > 0) return say(`${red('It cannot be used')}:\n${quotedBlock(wrong.map(printable), '  | ', width)}`)
  say(`\n${quotedBlock((text ?? '').replace(/\n$/, '').split('\n').map(printable), '  | ', width)}\n`)
  say(trusted ? `${green('trusted')}: it does this` : `${yellow('ignored')}: it would do this`)
  for (const line of does) say(folded(`  ${printable(line)}`, '    ', width))
}
