import { Fault } from '../../../contracts/faults/fault.ts'
import type { ProjectSettings } from '../../../contracts/project-settings.ts'
import type { ProjectTemplate } from '../../../contracts/project-templates.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { bold, dim, green, printable, say, warn, yellow } from '../print.ts'
import { columns, folded, quotedBlock } from '../screen-rows.ts'
import { isOpenTemplate, mustBeUsable, questionOfTemplate, showTemplate, statusOfTemplate } from './trust-templates.ts'
import { isOpenText, questionOfText, showText, statusOfText, trustTexts } from './trust-texts.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

const by = 'person@cli'
/** One by one a person reads so many; more are trusted together, or not at all. */
const mostShown = 20

export const trust: Command = {
  name: 'trust',
  summary:
    'Let a project’s own settings loosen the rules, its templates be run, or its skills and prompts be followed, after you saw what they do',
  usage: 'handrail trust --project DIR [--status] [--skills] [--revoke] [--digest SHA256] [--json]',
  about: `A project’s handrail.config.json may tighten the rules as it likes. What would loosen them is ignored until you agree here: the
file is shown, each loosening in words, and you are asked. Your yes counts for exactly these bytes in exactly this project, and for
what was shown; any change of the file, or of your own settings below it, asks again. Settings that name programs, folders or
ports of your machine are never taken from a project. The templates of runs that a project brings (handrail/templates/*.json) count only once you agreed
to each of them in the same way: you are told which tools it calls, how long it may run and for whom it is. Agents cannot do this. Where there is no terminal,
--digest names the file you saw. So it is with skills (all files of a skill count) and with prompts in handrail/prompts: they are words that models are told to follow.`,
  options: [
    { name: 'status', says: 'Only show the files, what they do, and whether they are trusted.' },
    {
      name: 'skills',
      says: 'Only skills and prompts: list them in short, with what each asks for, and trust them all with one yes.',
    },
    { name: 'revoke', says: 'Take the trust back, in the settings and in every template, skill and prompt.' },
    { name: 'digest', value: 'SHA256', says: 'Trust without being asked, if this is the digest of the file.' },
  ],
  examples: ['handrail trust --project .', 'handrail trust --status --json --project .', 'handrail trust --revoke --project .'],
  onlyReads: true,
  async run({ open, options, json }) {
    const runtime = open()
    try {
      if (options['revoke'] === true) return revoke(runtime, json)
      const { projectSettings } = runtime
      const templates = await runtime.projectTemplates()
      const texts = await runtime.projectTexts()
      const { digest } = options
      if (typeof digest === 'string') return grant(runtime, templates, digest.toLowerCase(), json)
      if (options['skills'] === true) return await trustTexts(runtime, texts, options['status'] === true)
      if (json)
        say(
          terminalJson({
            ...status(projectSettings),
            templates: templates.map(statusOfTemplate),
            texts: texts.map(statusOfText),
          }),
        )
      else {
        if (projectSettings || templates.length + texts.length === 0) show(projectSettings)
        for (const one of templates) showTemplate(one)
        for (const one of texts.slice(0, mostShown)) showText(one)
        if (texts.length > mostShown)
          say(`\n${texts.length - mostShown} more skills and prompts: \`handrail trust --skills\` lists them in short.`)
      }
      const open = [
        ...(isOpen(projectSettings) ? [{ digest: projectSettings.digest, question: questionOf(projectSettings) }] : []),
        ...templates.filter(isOpenTemplate).map((one) => ({ digest: one.digest, question: questionOfTemplate(one) })),
        ...texts
          .filter(isOpenText)
          .slice(0, mostShown)
          .map((one) => ({ digest: one.digest, question: questionOfText(one) })),
      ]
      return json || options['status'] === true ? 0 : await ask(runtime, templates, open)
    } finally {
      await runtime.close()
    }
  },
}

function isOpen(file: ProjectSettings | undefined): file is ProjectSettings & { digest: string } {
  return file?.digest !== undefined && file.ignored.length > 0
}

/** One by one: a yes is to one file. */
async function ask(
  runtime: Operator,
  templates: readonly ProjectTemplate[],
  open: readonly { digest: string; question: string }[],
): Promise<number> {
  let code = 0
  for (const { digest, question } of open) {
    const yes = await confirm(question, 'stdout')
    if (yes === undefined)
      throw new Fault('bad-input', 'Nobody is at this terminal to confirm, so nothing is trusted', {
        hint: `Read ${open.length === 1 ? 'the file' : 'each file'} first; then: ${open.map((one) => `handrail trust --digest ${one.digest}`).join(', ')}`,
      })
    if (yes) grant(runtime, templates, digest, false)
    else {
      warn('Nothing is trusted; it stays ignored.')
      code = 1
    }
  }
  return code
}

/** However long the list above was: what it comes to stands where the answer is given. */
function questionOf({ loosenings }: ProjectSettings): string {
  const what = loosenings.map(({ key, entries }) => (entries ? `${key} (${counted(entries.length)})` : key))
  return `It loosens ${what.length === 1 ? 'one setting' : `${what.length} settings`}: ${what.join(', ')}.\nTrust exactly this file?`
}

const counted = (entries: number): string => (entries === 1 ? 'one entry' : `${entries} entries`)

/** What was read and shown is what is granted: the file is not looked at again. */
function grant(runtime: Operator, templates: readonly ProjectTemplate[], digest: string, json: boolean): number {
  const template = templates.find((one) => one.digest === digest)
  if (template) mustBeUsable(template)
  runtime.trust.grant(digest, by)
  if (json)
    say(
      terminalJson(
        template
          ? { ...statusOfTemplate(template), trusted: true }
          : { ...status(runtime.projectSettings), trusted: true, ignored: [] },
      ),
    )
  else say(`${green('Trusted')}: ${digest}. A running server takes it up by itself; \`handrail trust --revoke\` takes it back.`)
  return 0
}

function revoke(runtime: Operator, json: boolean): number {
  const revoked = runtime.trust.revoke(by)
  if (json) say(terminalJson({ revoked }))
  else
    say(
      revoked
        ? 'Taken back: the project’s settings only tighten again, and its templates, skills and prompts do not count.'
        : 'Nothing was trusted here.',
    )
  return 0
}

function status(file: ProjectSettings | undefined): object {
  if (!file) return { file: null, trusted: false, loosenings: [], ignored: [], refused: [] }
  const { text: _, says: __, ...rest } = file
  return { ...rest, trusted: file.loosenings.length > 0 && file.ignored.length === 0 }
}

/** Where nobody says how wide the screen is, this is narrower than most. */
const narrow = 100

function show(file: ProjectSettings | undefined): void {
  if (!file) return say('This project has no settings of its own (handrail.config.json).')
  const width = columns(narrow)
  say(
    `${bold(folded(printable(file.file), '    ', width))}${file.digest === undefined ? '' : `\n${dim(`sha256 ${file.digest}`)}`}`,
  )
  if (file.fault !== undefined)
    return say(`${yellow('It cannot be used')}:\n${quotedBlock([printable(file.fault)], '  | ', width)}`)
  say(`\n${quotedBlock((file.text ?? '').replace(/\n$/, '').split('\n').map(printable), '  | ', width)}\n`)
  if (file.refused.length) say(folded(`Never taken from a project: ${file.refused.join(', ')}`, '    ', width))
  if (file.loosenings.length === 0) return say('It loosens nothing: there is nothing to trust.')
  say(bold('It would loosen the rules:'))
  for (const one of file.loosenings) {
    const ignored = file.ignored.includes(one)
    say(`  ${ignored ? yellow('ignored') : green('trusted')}  ${one.key}`)
    say(folded(`           ${printable(one.does)}`, '             ', width))
    if (one.entries) say(quotedBlock(one.entries.map(printable), '           | ', width))
  }
}
