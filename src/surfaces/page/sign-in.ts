import { Refusal } from '../../contracts/refusal.ts'
import { answer, type Route, type Incoming } from '../listen.ts'
import type { PersonAuth } from '../person-auth.ts'
import { goTo, html, sendPage, type Markup } from './html.ts'
import { wordsFor } from './language.ts'
import type { Words } from './words.ts'

/** Whose page it is: a link to it comes from another command. */
type SignInPlace = 'project' | 'desk'

/**
 * The way in. A link is looked at by more than the person (previews, scanners, prefetching), so opening it uses nothing up; pressing the
 * button does. A link leads to the page's own name. Who comes by the address instead, since their browser may not find that name, is asked
 * for a picture at it: where the browser gets there, it goes on there, and else, as Safari may, it stays at the address, where the base path
 * keeps the cookie from every other port.
 */
export function signInPages(
  personAuth: PersonAuth,
  ownOrigin: () => string | undefined,
  at: SignInPlace = 'project',
): Record<string, Route> {
  const enter = ({ request, response }: Incoming, pass: string): void => {
    const cookie = personAuth.enter(pass, request.headers.host ?? '')
    if (cookie === undefined) return wrongKey(response, at)
    // Not a redirect: whoever comes from another name would bring no cookie that is for this one only.
    const start = `${personAuth.basePath}/approvals`
    const headers = { 'Set-Cookie': cookie, Refresh: `0; url=${start}` }
    const { signIn } = wordsFor(request)
    const body = html`<h1>${signIn.signedIn}</h1>
      <p><a href="${start}">${signIn.goOn}</a></p>`
    sendPage(response, 200, signIn.signedIn, body, undefined, { headers })
  }
  const page = (methods: string[], handle: Route['handle']): Route => ({ for: 'anyone', shows: 'document', methods, handle })

  return {
    '/sign-in': page(['GET', 'POST'], async (incoming) => {
      const { request, response, query } = incoming
      if (request.method === 'GET') {
        const key = query.get('key')
        if (key !== null && !personAuth.isKey(key)) return wrongKey(response, at)
        const words = wordsFor(request)
        return sendPage(response, 200, words.signIn.button, key === null ? askForKey(words, at) : askToSignIn(key, words))
      }
      if (!/^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? ''))
        throw new Refusal(415, 'Send the form as the page does.')
      const form = new URLSearchParams((await incoming.body()).toString('utf8', 0, 2_000))
      const pass = personAuth.admit(form.get('key')?.trim() ?? '')
      if (pass === undefined) return wrongKey(response, at)
      const origin = ownOrigin()
      if (origin === undefined || origin === `http://${request.headers.host}`) return enter(incoming, pass)
      goTo(response, `/sign-in/way?pass=${pass}`)
    }),
    '/sign-in/way': page(['GET'], ({ response, query }) => {
      const pass = query.get('pass') ?? ''
      const [probe, origin] = [personAuth.probe(pass), ownOrigin()]
      if (probe === undefined || origin === undefined) return wrongKey(response, at)
      const { signIn } = wordsFor(response.req)
      const body = html`<h1>${signIn.signingIn}</h1>
        <p><a href="/sign-in/on?pass=${pass}">${signIn.on}</a></p>
        <img alt="" src="${origin}/sign-in/seen?probe=${probe}" />`
      // Browsers wait with this until the picture has come, or has failed to.
      const headers = { Refresh: `0; url=/sign-in/on?pass=${pass}` }
      sendPage(response, 200, signIn.signingIn, body, undefined, { headers, pictureFrom: origin })
    }),
    '/sign-in/seen': {
      for: 'anyone',
      shows: 'image',
      methods: ['GET'],
      handle({ request, response, query }) {
        if (`http://${request.headers.host}` === ownOrigin()) personAuth.sawProbe(query.get('probe') ?? '')
        response.writeHead(204, { 'Cross-Origin-Resource-Policy': 'cross-origin' }).end()
      },
    },
    '/sign-in/on': page(['GET'], (incoming) => {
      const pass = incoming.query.get('pass') ?? ''
      const origin = ownOrigin()
      const here = origin === `http://${incoming.request.headers.host}`
      if (here || origin === undefined || !personAuth.reachesName(pass)) return enter(incoming, pass)
      incoming.response.writeHead(303, { Location: `${origin}/sign-in/on?pass=${pass}` }).end()
    }),
    // Whoever is about to hand out a key asks first whether it is this server that has the port.
    '/sign-in/proof': {
      for: 'anyone',
      methods: ['GET'],
      handle({ response, query }) {
        const challenge = query.get('challenge') ?? ''
        if (!/^[\w-]{22,86}$/.test(challenge)) throw new Refusal(400, 'Ask with a challenge.')
        answer(response, 200, { proof: personAuth.proof(challenge) })
      },
    },
    '/sign-out': {
      for: 'person',
      methods: ['GET', 'POST'],
      handle({ request, response }) {
        if (request.method === 'GET') {
          const words = wordsFor(request)
          return sendPage(response, 200, words.nav.signOut, askToSignOut(words, at))
        }
        response.writeHead(303, { Location: '/sign-in', 'Set-Cookie': personAuth.leave(request) }).end()
      },
    },
  }
}

/** Nothing to press but a link to the same place: by following it the person has come by themselves. */
export const detour: Route = {
  for: 'person',
  methods: ['GET'],
  handle({ response, path, query }) {
    const { signIn } = wordsFor(response.req)
    const body = html`<h1>${signIn.sent}</h1>
      <p>${signIn.sentMeans}</p>
      <p><a href="${query.size === 0 ? path : `${path}?${query}`}">${signIn.on}</a></p>`
    sendPage(response, 200, signIn.on, body)
  },
}

function wrongKey(response: Incoming['response'], at: SignInPlace): void {
  const words = wordsFor(response.req)
  sendPage(response, 403, words.signIn.button, askForKey(words, at, words.signIn.wrongKey))
}

function askToSignIn(key: string, { signIn }: Words): Markup {
  return html`<h1>${signIn.heading}</h1>
    <p>${signIn.means}</p>
    <form method="post" action="/sign-in">
      <input type="hidden" name="key" value="${key}" />
      <button class="yes">${signIn.button}</button>
    </form>
    <p class="quiet">${signIn.once}</p>`
}

function askForKey({ signIn }: Words, at: SignInPlace, problem?: string): Markup {
  return html`<h1>${signIn.heading}</h1>
    ${problem === undefined ? html`` : html`<p class="notice">${problem}</p>`}
    ${
      at === 'desk'
        ? html`<p>${signIn.onlyYouAtDesk}</p>`
        : html`<p>${signIn.onlyYou}</p>
            <pre>handrail approvals page</pre>`
    }
    <p>${signIn.leads}</p>
    <p class="quiet">${signIn.already}</p>`
}

function askToSignOut({ signIn, nav }: Words, at: SignInPlace): Markup {
  return html`<h1>${signIn.out}</h1>
    <p>${at === 'desk' ? signIn.outMeansAtDesk : html`${signIn.outMeans} <code>handrail approvals page</code>`}</p>
    <form method="post" action="/sign-out"><button class="yes">${nav.signOut}</button></form>`
}
