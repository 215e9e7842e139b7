import { resolve } from 'node:path'
import {
  clients,
  tokenVariable,
  type Client,
  type ConfigChange,
  type Entry,
  type Installation,
} from '../../../contracts/clients.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import { dangerFlags } from '../../../contracts/runtime.ts'
import { serverStart } from '../../../text/client-start.ts'
import { rowsOf } from '../../../text/rows.ts'
import { unifiedDiff } from '../../../text/unified.ts'
import type { Command, Invocation, Option } from '../command.ts'
import { confirm, onStdout } from '../confirm.ts'
import { forShell, programName } from '../program-name.ts'
import { bold, printableInline, dim, green, printable, red, say, warn } from '../print.ts'
import { columns } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

const options: Option[] = [
  { name: 'yes', says: 'Do not ask.' },
  { name: 'print', says: 'Only print what belongs in the file; nothing is read or written.' },
  { name: 'remove', says: 'Take the entry out again.' },
  { name: 'name', value: 'NAME', says: 'What the client calls the server. Default "handrail".' },
  { name: 'local', says: 'Start this very copy of Handrail, also where it came from the registry.' },
  { name: 'published', says: 'Start the published package in exactly this version, also from a clone.' },
  {
    name: 'http',
    value: 'URL',
    says: 'Connect to a running `handrail serve` instead of starting one, e.g. http://127.0.0.1:4777/mcp.',
  },
  { name: 'config', value: 'FILE', says: "The client's settings file, where it is not in its usual place." },
]

export const init: Command = {
  name: 'init',
  summary: "Put Handrail into your agent's settings: shows the change, asks, writes",
  usage: `handrail init ${clients.map((client) => client.name).join('|')} --project DIR [options]`,
  mostWords: Number.POSITIVE_INFINITY,
  about: `Finds the client's settings file, shows the change as a diff and asks. Only the entry of Handrail is touched: other servers,
comments, order and the file's mode stay as they are, and running it twice changes nothing. --remove takes the entry out again.
A file that cannot be read is left alone; --print shows what to put in by hand. The entry starts this very copy of Handrail; where npm
took it from the registry, it starts the published package in exactly this version. It never starts a name without a version.

${clients.map(({ name, title, files, scope }) => `  ${name.padEnd(15)} ${title}: ${files.linux.at(-1)}${scope === 'project' ? ' in the project' : ''}`).join('\n')}

Settings given here (--mode developer, --read-only, …) go into the entry. With --http the client takes the token from the variable
${tokenVariable}; it is never written. Where the file is yours and not the project's, an entry stands for one project: give each its own
--name.`,
  options,
  examples: [
    'handrail init claude-code --project .',
    'handrail init claude-desktop --project ~/notes --name notes --read-only',
    'handrail init codex --print --project .',
    'handrail init cursor --remove --project .',
  ],
  async run(invocation) {
    const request = read(invocation, await invocation.dependencies.installation())
    const { client, name, project } = request
    const configs = await invocation.dependencies.openClientConfigs()
    const file = request.config ?? configs.locate(client, project)
    if (request.print) {
      const snippet = configs.snippet(client, name, request.entry as Entry)
      if (invocation.json) say(terminalJson({ client: client.name, file, name, snippet }))
      else process.stdout.write(snippet)
      return 0
    }
    if (request.entry) configs.mustBeFolder(project)
    const within = request.config === undefined && client.scope === 'project' ? project : undefined
    const change = configs.propose({
      client,
      file,
      name,
      project,
      ...(request.entry && { entry: request.entry }),
      ...(within !== undefined && { within }),
    })
    const changed = change.before === undefined ? change.after !== '' : change.before !== change.after
    const diff = changed ? unifiedDiff(change.realFile, change.before, change.after) : ''
    const { whole } = change
    const said = { client: client.name, file, name, changed, diff, ...(whole !== undefined && { whole }) }
    const report = (written: boolean, hint?: string): void =>
      say(terminalJson({ ...said, written, ...(hint !== undefined && { hint }) }))
    if (!changed) {
      if (invocation.json) report(false)
      else
        say(
          request.entry
            ? `Already there: ${printable(name)} in ${printable(file)}`
            : `Not there: ${printable(name)} in ${printable(file)}`,
        )
      return 0
    }
    if (!invocation.json) {
      show(change, diff)
      if (request.starts !== undefined) say(dim(`It starts ${printable(request.starts)}.`))
    }
    const yes = request.yes || (await confirm(request.entry ? 'Write this?' : 'Take it out?', onStdout(invocation.json)))
    if (!yes) {
      const hint =
        yes === undefined
          ? 'Nobody is at this terminal to see it and confirm: add --yes to write it, or put it in by hand.'
          : undefined
      if (invocation.json) report(false, hint)
      else warn(`Nothing was written.${hint === undefined ? '' : `\n${dim('→')} ${hint}`}`)
      return 1
    }
    configs.write(change)
    if (invocation.json) report(true)
    else conclude(request, file)
    return 0
  },
}

interface Request {
  client: Client
  name: string
  project: string
  /** Nothing where it is to be taken out. */
  entry: Entry | undefined
  config: string | undefined
  print: boolean
  yes: boolean
  /** What the entry starts, in words. */
  starts: string | undefined
}

/** The command line as a request, refused where its parts do not go together. */
function read({ words, options: given, dependencies }: Invocation, here: Installation & { version: string }): Request {
  const known = `There are: ${clients.map((one) => one.name).join(', ')}.`
  const [wanted, ...more] = words
  const client = clients.find((one) => one.name === wanted)
  if (!client) throw bad(wanted === undefined ? 'Which client?' : `No such client: ${wanted}`, known)
  if (more.length) throw bad(`One client at a time, not also ${more.join(', ')}`, known)
  const text = (option: string): string | undefined => (typeof given[option] === 'string' ? given[option] : undefined)
  const name = text('name') ?? 'handrail'
  if (!/^[A-Za-z0-9][\w-]{0,62}$/.test(name))
    throw bad(`Not a name a client takes: ${name}`, 'Letters, digits, - and _, up to 63 of them, and no sign first.')
  const [remove, print] = [given['remove'] === true, given['print'] === true]
  if (remove && print) throw bad('--remove and --print do not go together', '--remove shows what it would take out, and asks.')
  if (given['local'] === true && given['published'] === true)
    throw bad('--local and --published do not go together', 'One starts this copy, the other the published package.')
  const { published: _, ...copy } = here
  const installation: Installation =
    given['published'] === true ? { ...copy, published: here.version } : given['local'] === true ? copy : here
  const project = resolve(text('project') ?? process.env['HANDRAIL_PROJECT'] ?? '.')
  return {
    client,
    name,
    project,
    entry: remove ? undefined : entryFor(client, project, given, dependencies, print, installation),
    config: text('config') === undefined ? undefined : resolve(text('config') as string),
    print,
    yes: given['yes'] === true,
    starts:
      remove || given['http'] !== undefined
        ? undefined
        : installation.published === undefined
          ? `this copy of Handrail: ${installation.program}`
          : `the published package, version ${installation.published}`,
  }
}

/** The setting that must lie below the client's own limit. */
const patience = 'answer-within-ms'

function entryFor(
  client: Client,
  project: string,
  given: Invocation['options'],
  dependencies: Invocation['dependencies'],
  print: boolean,
  installation: Installation,
): Entry {
  const dangers = Object.values(dangerFlags).filter((flag) => given[flag] === true)
  const state = typeof given['state'] === 'string' ? [`--state=${resolve(given['state'])}`] : []
  const own = [...options.map((option) => option.name), 'project', 'state', 'json', 'help', ...dangers]
  const settings = Object.entries(given).filter(([flag, value]) => !own.includes(flag) && value !== undefined)
  dependencies.checkSettings(Object.fromEntries(settings))
  const url = given['http']
  if (typeof url !== 'string') {
    const longer = client.answerWithinMs !== undefined && given[patience] === undefined
    const args = [
      '--project',
      project,
      ...state,
      ...dangers.map((flag) => `--${flag}`),
      ...settings.map(([flag, value]) => `--${flag}=${String(value)}`),
      ...(longer ? [`--${patience}=${client.answerWithinMs}`] : []),
    ]
    return client.stdio(serverStart(client, process.platform, args, installation))
  }
  if (given['local'] === true || given['published'] === true || settings.length || state.length || dangers.length)
    throw bad(
      'With --http the client starts nothing',
      'Give settings to `handrail serve`, and leave --local and --published out.',
    )
  if (!client.http)
    throw new Fault('unsupported', `${client.title} takes no server with a token over HTTP from its settings file`, {
      hint: 'Leave --http out: it then starts Handrail itself.',
    })
  if (client.tokenByHand && !print)
    throw new Fault('unsupported', `${client.title} cannot take the token from a variable, and init writes no token`, {
      hint: 'Leave --http out, or add --print and put the token in by hand.',
    })
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw bad(`Not an HTTP address: ${url}`, '`handrail serve` prints it, e.g. http://127.0.0.1:4777/mcp.')
  return client.http(url)
}

function show({ file, realFile, before, whole }: ConfigChange, diff: string): void {
  if (file !== realFile) say(dim(`${printable(file)} is a link to ${printable(realFile)}`))
  else if (before === undefined) say(dim('A new file:'))
  const paint = { '+': green, '-': red, '@': dim } as Record<string, (text: string) => string>
  for (const line of diff.trimEnd().split('\n')) {
    const colour = /^(---|\+\+\+) /.test(line) ? bold : (paint[line[0] ?? ''] ?? String)
    // Every part of a line has its sign, also where the screen would break it.
    const rows = rowsOf(printableInline(line.replace(/\r$/, '')), /^[-+ ]/.test(line) ? `${line[0]} … ` : '    ', columns())
    rows.forEach((row) => say(colour(row)))
  }
  if (whole === undefined) return
  say(bold('The whole entry from now on:'))
  for (const line of whole.split('\n')) say(`  ${printable(line)}`)
}

function conclude({ client, name, project, entry, config }: Request, file: string): void {
  if (!entry) {
    say(`${green('Taken out')}: ${name} from ${printable(file)}`)
    return
  }
  say(`${green('Written')}: ${name} in ${printable(file)}`)
  say(`${dim('→')} ${client.next}`)
  if ('headers' in entry || 'bearer_token_env_var' in entry)
    say(`${dim('→')} Start it with the token in ${tokenVariable}; \`handrail serve\` says which file holds it.`)
  if (client.scope === 'project' && config === undefined)
    say(dim('  The file names a folder of this machine: keep it out of version control where others share the project.'))
  const words = ['init', client.name, '--remove', '--project', project]
  if (name !== 'handrail') words.push('--name', name)
  if (config !== undefined) words.push('--config', config)
  say(`${dim('→')} To take it back: ${programName()} ${words.map(forShell).join(' ')}`)
}

function bad(message: string, hint: string): Fault {
  return new Fault('bad-input', message, { hint })
}
