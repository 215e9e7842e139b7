import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { oneLine } from '../../text/printable.ts'
import { withoutSecrets } from '../../text/without-secrets.ts'
import { WaitFor } from './find.ts'
import { defineTool, type Find, type LeasedPage } from './use.ts'
import { mustBePage, sitesOf, Url, withPage } from './visit.ts'

const words = Type.String({ minLength: 1, maxLength: 1_000 })

/** How the fields to sign in with are found (seed 002). */
export const LoginFields = Type.Unsafe<Record<string, string> & { mode: 'selector' | 'semantic' }>({
  anyOf: [
    Type.Object(
      {
        mode: Type.String({ const: 'selector' }),
        usernameSelector: words,
        passwordSelector: words,
        submitSelector: Type.Optional(words),
      },
      closed,
    ),
    Type.Object(
      { mode: Type.String({ const: 'semantic' }), usernameQuery: words, passwordQuery: words, submitQuery: Type.Optional(words) },
      closed,
    ),
  ],
})

export const logIn = defineTool({
  name: 'log_in',
  title: 'Sign in',
  description:
    'Signs in at a site in a session of the browser, which is kept for later runs of the same client. A person is asked each time. The credentials come sealed from a run; nobody else can make them.',
  // An account is touched.
  risk: 'R3',
  input: Type.Object(
    {
      startUrl: Url,
      credentials: Type.Object({ sealed: Type.String({ maxLength: 20_000 }) }, closed),
      fields: LoginFields,
      successIndicator: Type.Optional(WaitFor),
      session: Type.String({ minLength: 1, maxLength: 100 }),
      save: Type.Optional(Type.Boolean({ default: false, description: 'Save the login, encrypted, for use after a restart' })),
    },
    closed,
  ),
  output: Type.Object(
    {
      success: Type.Boolean(),
      sessionId: Type.String(),
      finalUrl: Type.String(),
      title: Type.String(),
      loginState: Type.Enum(['authenticated', 'unknown'], { type: 'string' }),
      cookiesSaved: Type.Boolean(),
      saved: Type.Optional(Type.Boolean({ description: 'Whether it was saved over restarts, where that was asked for' })),
    },
    closed,
  ),
  faults: [
    'bad-input',
    'policy',
    'page-failed',
    'page-script',
    'page-timeout',
    'page-crashed',
    'login-field-not-found',
    'session-not-found',
    'preview',
  ],
  examples: [],
  private: ['credentials'],
  waits: true,
  touches: ({ startUrl }) => sitesOf([startUrl]),
  card: ({ startUrl, fields, save = false }) => ({
    title: `Sign in at ${oneLine(startUrl, 200)}`,
    changes: [],
    notes: [
      'The name and password that the run was handed in with are filled in there. Nothing of them is shown or kept after the run.',
      `Fields: ${JSON.stringify(fields)}`,
      ...(save
        ? [
            'The login is saved, encrypted, until nobody used it for 90 days or you remove it (handrail logins). You are asked before another client, or a later process, uses it.',
          ]
        : []),
    ],
  }),
  async execute({ startUrl, credentials, fields, successIndicator, session, save = false }, use, call) {
    const { username, password } = use.unseal(credentials.sealed) as { username: string; password: string }
    const by = fields.mode === 'selector' ? 'Selector' : 'Query'
    const find = (name: string): Find =>
      fields.mode === 'selector'
        ? { mode: 'selector', selector: fields[name + by] as string }
        : { mode: 'semantic', query: fields[name + by] as string }
    const tell = withoutSecrets([password, username])
    return withPage({ url: startUrl, session, pictures: false }, use, call, async (page, address) => {
      await mustBePage(await page.go(address), page, call)
      return signIn(page).catch((fault: unknown) => {
        throw fault instanceof Fault ? told(fault, tell) : fault
      })
    })

    /** From here on the page has the credentials: it is told without them, and no picture is taken, on which they could stand. */
    async function signIn(page: LeasedPage) {
      let saved = false
      const site = new URL(startUrl).origin
      await field(() => page.fill(find('username'), username))
      await field(() => page.fill(find('password'), password))
      const arrival = await field(() =>
        fields[`submit${by}`] === undefined ? page.press(find('password'), { key: 'Enter' }) : page.press(find('submit'), {}),
      )
      await mustBePage(arrival, page, {})
      await signedIn(page)
      const { url, title } = await page.where()
      const { cookies } = await use.sessions.keep(session, {
        ...(save && { save: (state) => (saved = use.logins.save({ id: session, site, state }, call.session)) }),
      })
      const loginState =
        successIndicator && successIndicator.type !== 'stable' ? ('authenticated' as const) : ('unknown' as const)
      return {
        success: true,
        sessionId: session,
        finalUrl: tell(url),
        title: tell(title),
        loginState,
        cookiesSaved: cookies > 0,
        ...(save && { saved }),
      }
    }

    async function signedIn(page: LeasedPage): Promise<void> {
      if (!successIndicator || (await page.waitFor(successIndicator))) return
      const { url } = await page.where()
      throw new Fault('page-script', 'What should show that the sign-in worked did not appear', {
        details: { url: url.slice(0, 2_000), waitedFor: successIndicator, loginState: 'unknown' },
        hint: 'Check the name and the password with the person, or wait for something else.',
      })
    }
  },
})

/** A field that is not there is told as one to sign in with. */
async function field<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.reason !== 'element-not-found') throw fault
    throw new Fault('login-field-not-found', fault.message, {
      ...(fault.details && { details: fault.details }),
      hint: 'Look at the page, then change how the fields are found.',
      cause: fault,
    })
  }
}

function told({ reason, message, details, hint }: Fault, tell: (text: string) => string): Fault {
  const within = (one: unknown): unknown => {
    if (typeof one === 'string') return tell(one)
    if (Array.isArray(one)) return one.map(within)
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([name, entry]) => [name, within(entry)]))
  }
  return new Fault(reason, tell(message), {
    ...(details && { details: within(details) as Record<string, unknown> }),
    ...(hint !== undefined && { hint }),
  })
}
