// The fastest peer with content search: desktop-commander. It is no dependency of ours; it is installed for one run, outside.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { answerOf, run } from './clients.mjs'
import { cleanEnv } from './servers.mjs'

const name = '@wonderwhy-er/desktop-commander'
const version = '0.2.52'
/** What was published of it: literal and regex in milliseconds, and `rg` on the same machine. */
export const published = { literal: 398, regex: 661, rg: 95 }

/** Installs it into the temporary folder. Gives how to start it, or why that is not possible. */
export async function installCommander(bench, project) {
  const home = join(bench.temp, 'commander')
  mkdirSync(home, { recursive: true })
  // traverse 0.3.10, deep among its dependencies, asks for a package version that the registry does not have.
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({ private: true, dependencies: { [name]: version }, overrides: { traverse: '0.3.9' } }),
  )
  const npm = await run(
    {
      command: 'npm',
      args: ['i', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', home],
      env: process.env,
      cwd: home,
    },
    true,
  )
  const program = join(home, 'node_modules', name, 'dist', 'index.js')
  if (npm.code !== 0 || !existsSync(program)) return { why: `npm could not install it: ${npm.text.trim().split('\n').at(0)}` }
  configure(bench, project)
  // It runs `python3 --version` in every call; a plain PATH spares it the shims of version managers (160 ms a call).
  const env = { ...cleanEnv(bench.temp), PATH: '/usr/local/bin:/usr/bin:/bin' }
  return { server: { command: process.execPath, args: ['--import', noNetwork, program, '--no-onboarding'], env } }
}

/** Telemetry off, our tree allowed. */
function configure(bench, project) {
  const folder = join(bench.temp, 'home', '.claude-server-commander')
  mkdirSync(folder, { recursive: true })
  const config = {
    telemetryEnabled: false,
    allowedDirectories: [project],
    blockedCommands: [],
    welcomeOnboardingEligible: false,
    pendingWelcomeOnboarding: false,
    clientId: 'bench',
  }
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
}

/** It fetches feature flags and a browser at start; here it reaches nobody. */
const noNetwork = `data:text/javascript,${encodeURIComponent(`
  import net from 'node:net'
  import dns from 'node:dns'
  import { syncBuiltinESMExports } from 'node:module'
  const refuse = () => Object.assign(new Error('no network in a benchmark'), { code: 'ENETUNREACH' })
  net.Socket.prototype.connect = function () { process.nextTick(() => this.destroy(refuse())); return this }
  dns.lookup = (host, options, done = options) => process.nextTick(done, refuse())
  syncBuiltinESMExports()
`)}`

/** A whole search: it is started, then asked until it is complete and every hit has been handed over. Gives their number. */
export async function searchCommander(client, project, pattern, literalSearch) {
  const input = { path: project, pattern, searchType: 'content', literalSearch, ignoreCase: false, contextLines: 0 }
  const [{ text }] = answerOf(await client.call('start_search', input)).content
  const sessionId = /session: (\S+)/.exec(text)?.[1]
  for (;;) {
    // Asking without a pause would keep it from working; 20 ms is where it is fastest.
    await pause(20)
    const [more] = answerOf(await client.call('get_more_search_results', { sessionId, offset: 0, length: 5_000 })).content
    if (more.text.includes('Status: COMPLETED')) return more.text.split('\n📄 ').length - 1
  }
}
