import { homedir } from 'node:os'
import { oneLine } from '../../text/printable.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Browser } from '../browser/browser.ts'
import type { Files } from '../files.ts'
import { findEngine } from './engine.ts'
import { openScene, type SceneReport } from './open-scene.ts'
import { servePreview, type PreviewServer } from './serve.ts'
import { findTerre, type Terre } from './terre.ts'

export interface Wanted {
  /** The folder of the project that the engine knows as `game`. */
  game: string
  /** Relative to the scenes of the game, with its ending. */
  scene: string
  line: number
  signal?: AbortSignal
}

export interface Preview {
  /** Where a person can see the scene, and what was seen of it where there is a browser to look with. */
  show(wanted: Wanted): Promise<SceneReport & { url: string }>
  close(): Promise<void>
}

export interface PreviewSettings {
  engine: string
  terre: 'auto' | 'always' | 'never'
  terrePort: number
}

/** One preview for the whole runtime, served from when it is first needed until the runtime is closed. */
export function openPreview(parts: {
  project?: string
  browser: Browser
  environment: Readonly<Record<string, string | undefined>>
  now: () => { files: Files; preview: PreviewSettings; timeoutMs: number; judgeLinks?: () => Promise<void> | undefined }
}): Preview {
  const { browser, environment, now } = parts
  const serving = new Map<string, { engine: string; running: Promise<PreviewServer> }>()
  let closed = false
  /** Who has one open sees what may be seen now. */
  const readPart: Files['readPart'] = (path, choose) => now().files.readPart(path, choose)

  const server = (game: string): Promise<PreviewServer> => {
    if (closed) throw new Fault('preview', 'This runtime is closed', { hint: 'Start Handrail again.' })
    const { files, preview } = now()
    const known = serving.get(game)
    if (known?.engine === preview.engine) return known.running
    const engine = findEngine({ ...files, readPart }, game, preview.engine)
    void known?.running.then((one) => one.close()).catch(() => undefined)
    const running = servePreview({ readPart }, engine, game, () => now().judgeLinks?.(), parts.project)
    serving.set(game, { engine: preview.engine, running })
    // What could not be started is started anew the next time.
    running.catch(() => serving.get(game)?.running === running && serving.delete(game))
    return running
  }
  const terre = async (game: string): Promise<Terre | undefined> => {
    const { files, preview: settings } = now()
    if (settings.terre === 'never') return undefined
    const found =
      game === 'game'
        ? await findTerre(files, environment['HOME'] || homedir(), settings.terrePort)
        : { why: `Terre has its games in a folder named game, not in ${game}` }
    if (!('why' in found)) return found
    if (settings.terre === 'auto') return undefined
    throw new Fault('preview', `The preview should come from WebGAL Terre, but ${found.why}`, {
      hint: 'Start Terre and open this game in it, or set preview.terre to auto or never.',
    })
  }

  return {
    async show({ game, scene, line, signal }) {
      const place = `#scene=${encodeURIComponent(scene.replace(/\.txt$/i, '')).replaceAll('%2F', '/')}${line > 1 ? `&line=${line}` : ''}`
      const editor = await terre(game)
      const logs: string[] = []
      // Looked at under its own name, through a proxy that leads here whatever anybody's DNS says. Told by the contract's name for it.
      const served = editor ? undefined : await server(game)
      const page = editor ? editor.url : `http://${served?.name}:${served?.port}/preview`
      await editor?.push(scene, line).catch((cause: unknown) => {
        logs.push(`Terre did not take the jump: ${oneLine(cause instanceof Error ? cause.message : String(cause), 200)}`)
      })
      const why = browser.missing()
      const seen: SceneReport =
        why === undefined
          ? await openScene(browser, {
              url: page + place,
              scene,
              line,
              timeoutMs: now().timeoutMs,
              signal,
              bare: editor !== undefined,
            })
          : { missing: [], logs: [`not looked at: ${why}`] }
      return {
        url: served ? `http://localhost:${served.port}/preview${place}` : page,
        missing: seen.missing,
        logs: [...logs, ...seen.logs],
      }
    },
    async close() {
      closed = true
      await Promise.allSettled([...serving.values()].map(async (one) => (await one.running).close()))
    },
  }
}
