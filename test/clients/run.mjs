// `node test/clients/run.mjs [client…]`: real MCP clients against the built program, with a scripted model on loopback.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { claudeCode } from './claude-code.mjs'
import { cline } from './cline.mjs'
import { gemini } from './gemini.mjs'
import { inspector2 } from './inspector-2.mjs'
import { inspector } from './inspector.mjs'
import { installed, known, repository } from './install.mjs'
import { mcpCli } from './mcp-cli.mjs'
import { mcpRemote } from './mcp-remote.mjs'
import { closeProjects } from './project.mjs'
import { openReport } from './report.mjs'

const clients = {
  'claude-code': claudeCode,
  cline,
  gemini,
  inspector,
  'inspector-2': inspector2,
  'mcp-remote': mcpRemote,
  'mcp-cli': mcpCli,
}

const help = `node test/clients/run.mjs [client…]

Drives real MCP clients against Handrail, offline, with a scripted model on loopback, and checks the files and the audit log.
Each client is installed once into .cache/clients, at the version in test/clients/clients.json. A client that cannot be
installed is skipped. Exit code 1 where anything that could run failed.

clients: ${Object.keys(clients).join(', ')} (all by default)
`

const names = process.argv.slice(2)
if (names.includes('--help') || names.includes('-h')) {
  process.stdout.write(help)
  process.exit(0)
}
const unknown = names.filter((name) => !(name in clients))
if (unknown.length > 0) {
  process.stderr.write(`unknown client: ${unknown.join(', ')}\n\n${help}`)
  process.exit(2)
}
if (!existsSync(join(repository, 'dist', 'handrail.cjs'))) {
  process.stderr.write('Handrail is not built yet: node scripts/setup.mjs\n')
  process.exit(2)
}

/** Whatever ends this early, nothing stays behind. */
const leave = async () => {
  await closeProjects()
  process.exit(130)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, leave)
process.stdout.once('error', leave)

const report = openReport()
for (const name of names.length > 0 ? names : Object.keys(clients)) {
  const line = report.open(name)
  const found = installed(name)
  line.row.version = found.version ?? Object.values(known[name].packages)[0]
  if (found.instead) line.remark(found.instead)
  if (found.missing) line.skip(found.missing)
  else await clients[name](line, found).catch((fault) => line.step('runs to the end', () => Promise.reject(fault)))
}
report.table()
process.exit(report.failed() ? 1 : 0)
