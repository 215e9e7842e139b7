import { isAnswerTo } from '../../text/is-answer-to.ts'
import { pollWithBackoff } from '../../text/poll-with-backoff.ts'
import { oneLine } from '../../text/printable.ts'
import { widthOf } from '../../text/width.ts'
import { Refusal } from '../../contracts/refusal.ts'
import type { Route } from '../listen.ts'
import { deskWith, type Desk, type Desks } from './desks.ts'
import { html, type Markup } from './html.ts'
import { wordsFor } from './language.ts'

/** A browser opens six connections to one place: the pages that are left open must not take all of them. */
const mostHeld = 4

/** Stands in the form of a question; shows nothing until somebody answers it in another place. It is loaded last, and no page waits for it. */
export const answeredElsewhereMarkup = (id: string): Markup =>
  html`<img class="elsewhere" loading="lazy" alt="" src="/elsewhere/${id}" />`

/**
 * How a page without a script hears of an answer: by a picture that is sent once there is one. What the person typed meanwhile stays where it is. Of
 * more pages than there is room for, the oldest shows nothing.
 */
export function answeredElsewherePages(desks: Desks): Record<'/elsewhere/*', Route> {
  const held = new Set<() => void>()
  return {
    '/elsewhere/*': {
      for: 'person',
      shows: 'image',
      methods: ['GET'],
      async handle({ path, request, response, stays }) {
        const id = path.slice('/elsewhere/'.length)
        const desk = deskWith(desks, id)
        if (!desk) throw new Refusal(404, 'No such question.')
        await stays()
        if (response.destroyed) return
        const words = wordsFor(request)
        const isSaid = (): boolean => {
          if (response.writableEnded || response.destroyed) return true
          const by = answeredBy(desk, id)
          if (by === undefined) return false
          response.writeHead(200, { 'Content-Type': 'image/svg+xml', 'Content-Security-Policy': policy, Connection: 'close' })
          response.end(picture(words.answer.elsewhere(oneLine(by, 40))))
          return true
        }
        let stopLooking = (): void => undefined
        const look = (): void => {
          stopLooking()
          stopLooking = pollWithBackoff(isSaid)
        }
        const leave = (): void => void (response.headersSent || response.writeHead(204, { Connection: 'close' }).end())
        const stop = desk.audit.subscribe(
          { events: (event) => event === 'approval.decided' || event === 'question.answered', onLost: look, onEnd: leave },
          (lines) => {
            // Of other questions of the project too: those are none to look again and again for.
            if (lines.some((line) => isAnswerTo(id, line))) look()
          },
        )
        held.add(leave)
        response.once('close', () => {
          stop()
          stopLooking()
          held.delete(leave)
        })
        for (const oldest of [...held].slice(0, -mostHeld)) {
          held.delete(oldest)
          oldest()
        }
        look()
      },
    },
  }
}

/** Who answered it, or what did; nothing while it waits. */
function answeredBy({ approvals, questions }: Desk, id: string): string | undefined {
  if (id.startsWith('ask_')) return questions.get(id)?.answeredBy
  const state = approvals.state(id)
  return state === 'pending' ? undefined : (approvals.get(id)?.decidedBy ?? state)
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** One line, and a box that is wide enough for it. */
function picture(text: string): string {
  const width = widthOf(text) * 8 + 24
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="36" viewBox="0 0 ${width} 36">
    <style>
      rect {
        fill: #fff3cd;
      }
      text {
        fill: #4a3500;
        font:
          15px system-ui,
          sans-serif;
      }
      @media (prefers-color-scheme: dark) {
        rect {
          fill: #4a3a10;
        }
        text {
          fill: #ffe9b0;
        }
      }
    </style>
    <rect width="100%" height="36" rx="4" />
    <text x="12" y="23">${text}</text>
  </svg>`.text
}
