// A project folder of its own, with a home folder beside it that belongs to nobody else.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { repository } from './install.mjs'
import { endLeftovers, run, start } from './process.mjs'

const program = join(repository, 'bin', 'handrail.js')
const tap = join(repository, 'test', 'clients', 'tap.mjs')

const open = new Set()

/** For the case that the test itself is ended. */
export function closeProjects() {
  return Promise.all([...open].map((project) => project.close()))
}

export function openProject(files) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-client-')))
  const folder = join(base, 'project')
  const home = join(base, 'home')
  mkdirSync(home)
  const write = (name, content) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  for (const [name, content] of Object.entries(files)) write(name, content)

  /** Nothing of this machine's settings, and no way to the network for programs that heed a proxy. */
  const env = (more = {}) => ({
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: base,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
    DO_NOT_TRACK: '1',
    ...more,
  })
  const handrail = (...args) => run(process.execPath, [program, ...args, '--project', folder], { env: env(), cwd: base })

  const project = {
    base,
    folder,
    home,
    wireLog: join(base, 'wire.jsonl'),
    env,
    write,
    writeHome(name, content) {
      mkdirSync(dirname(join(home, name)), { recursive: true })
      writeFileSync(join(home, name), content)
    },
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    /** The command a client is told to start. It goes through the tap. */
    get server() {
      return [process.execPath, tap, project.wireLog, process.execPath, program, 'mcp', '--project', folder]
    },
    /** The command line, as the person uses it. */
    handrail,
    async handrailJson(...args) {
      const { code, out, err } = await handrail(...args, '--json')
      if (code !== 0) throw new Error(`handrail ${args.join(' ')}: exit ${code}: ${(err || out).trim().slice(0, 400)}`)
      const lines = out.split('\n').filter(Boolean)
      return lines.length === 1 ? JSON.parse(lines[0]) : lines.map((line) => JSON.parse(line))
    },
    /** Serves the project on a free port. */
    async serve(...more) {
      const { line, stop } = await start(
        process.execPath,
        [program, 'serve', '--project', folder, '--port', '0', '--json', ...more],
        {
          env: env(),
        },
      )
      const { url, tokenFile } = JSON.parse(line)
      return { url: new URL('/mcp', url).href, token: readFileSync(tokenFile, 'utf8').trim(), stop }
    },
    /** Ends what is still running and removes everything. Gives the command lines of what had to be ended. */
    async close() {
      const left = await endLeftovers(`HOME=${home}`)
      rmSync(base, { recursive: true, force: true, maxRetries: 5 })
      open.delete(project)
      return left
    },
  }
  open.add(project)
  return project
}
