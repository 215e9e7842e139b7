import { homedir } from 'node:os'
import { oneLine } from '../../text/printable.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import type { Browser } from '../browser/browser.ts'
import type { Files } from '../files.ts'
import { findEngine, packagedEngine, type Engine } from './engine.ts'
import { openScene, type SceneReport } from './open-scene.ts'
import { playGame, type PlayWanted } from './play-game.ts'
import { servePreview, type PreviewServer } from './serve.ts'
import { findTerre, type Terre } from './terre.ts'

export type { Decision, Route, RoutePlan } from './play.ts'

export interface Wanted {
  /** The folder of the project that the engine knows as `game`. */
  game: string
  /** Relative to the scenes of the game, with its ending. */
  scene: string
  line: number
  signal?: AbortSignal
  /** What is chosen on the way to the line, from the beginning of the scene. */
  choices?: readonly (number | string)[] | undefined
  picture?: boolean
}

export interface Preview {
  /** Where a person can see the scene, and what was seen of it where there is a browser to look with. */
  show(wanted: Wanted): Promise<SceneReport & { url: string; engine: string }>
  /** Plays the game from its beginning, again and again, as long as there is another plan. */
  play(wanted: PlayWanted): Promise<{ engine: string; logs: string[]; missing: string[] }>
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
  now: () => { files: Files; preview: PreviewSettings; timeoutMs: number; hideLinkedSecrets?: () => Promise<void> | undefined }
}): Preview {
  const { browser, environment, now } = parts
  const serving = new Map<string, { engine: string; about: Engine; running: Promise<PreviewServer> }>()
  /** Games whose own engine could not be told where to go. */
  const unreached = new Set<string>()
  let closed = false
  let isPlaying = false
  /** Who has one open sees what may be seen now. */
  const readPart: Files['readPart'] = (path, choose) => now().files.readPart(path, choose)

  const server = async (game: string): Promise<{ served: PreviewServer; engine: Engine }> => {
    if (closed) throw new Fault('preview', 'This runtime is closed', { hint: 'Start Handrail again.' })
    const { files, preview } = now()
    const known = serving.get(game)
    const setting = unreached.has(game) && preview.engine === '' ? '\0package' : preview.engine
    if (known?.engine === setting) return { served: await known.running, engine: known.about }
    const judged = { ...files, readPart }
    const engine = (setting === '\0package' ? packagedEngine(judged) : undefined) ?? findEngine(judged, game, preview.engine)
    void known?.running.then((one) => one.close()).catch(() => undefined)
    const running = servePreview({ readPart }, engine, game, () => now().hideLinkedSecrets?.(), parts.project)
    serving.set(game, { engine: setting, about: engine, running })
    // What could not be started is started anew the next time.
    running.catch(() => serving.get(game)?.running === running && serving.delete(game))
    return { served: await running, engine }
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
    async show(wanted) {
      const { game, scene, line, signal, choices, picture } = wanted
      const place = `#scene=${encodeURIComponent(scene.replace(/\.txt$/i, '')).replaceAll('%2F', '/')}${line > 1 ? `&line=${line}` : ''}`
      const editor = await terre(game)
      const logs: string[] = []
      // Looked at under its own name, through a proxy that leads here whatever anybody's DNS says. Told by the contract's name for it.
      const { served, engine } = editor ? { served: undefined, engine: undefined } : await server(game)
      if (engine && !engine.own && unreached.has(game) && now().preview.engine === '')
        logs.push(`the engine in the project cannot be told where to go: shown with ${engine.about}`)
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
              choices,
              picture,
            })
          : { missing: [], logs: [`not looked at: ${why}`] }
      if (seen.unreachable && engine?.own && now().preview.engine === '' && packagedEngine(now().files)) {
        unreached.add(game)
        return this.show(wanted)
      }
      return {
        engine: engine?.about ?? 'WebGAL Terre',
        ...(seen.picture && { picture: seen.picture }),
        url: served ? `http://localhost:${served.port}/preview${place}` : page,
        missing: seen.missing,
        logs: [...logs, ...seen.logs],
      }
    },
    async play(wanted) {
      const why = browser.missing()
      if (why !== undefined) throw new Fault('preview', 'There is no browser to play the game in', { hint: why })
      // It takes a whole processor, for up to an hour.
      if (isPlaying)
        throw new Fault('preview', 'A game is being played already', {
          hint: 'One at a time: wait until it has ended, or cancel it.',
        })
      isPlaying = true
      return play(wanted).finally(() => (isPlaying = false))
    },
    async close() {
      closed = true
      await Promise.allSettled([...serving.values()].map(async (one) => (await one.running).close()))
    },
  }

  async function play(wanted: PlayWanted): ReturnType<Preview['play']> {
    const { served, engine } = await server(wanted.game)
    const seen = await playGame(browser, `http://${served.name}:${served.port}/preview`, wanted)
    if (!seen.unreachable) return { engine: engine.about, logs: seen.logs, missing: seen.missing }
    if (!engine.own || now().preview.engine !== '' || !packagedEngine(now().files))
      throw new Fault('preview', `The game cannot be played with ${engine.about}: it cannot be told where to go`, {
        hint: 'Name another engine with preview.engine, or run `npm install webgal-engine` in the project.',
      })
    unreached.add(wanted.game)
    return play(wanted)
  }
}
