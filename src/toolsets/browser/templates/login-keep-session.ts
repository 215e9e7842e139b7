import type { Template } from '../../../contracts/template.ts'
import { LoginFields } from '../log-in.ts'
import { address, wait } from './inputs.ts'

export const loginKeepSession: Template = {
  id: 'login_keep_session',
  version: '1.0.0',
  title: 'Sign in and keep the session',
  description:
    'Signs in at a site and keeps the session of the browser, for later runs with its sessionId, for an hour after its last use. A person is asked first. The credentials are kept encrypted until the run ends, and then dropped. With save, the session can be used after a restart as well.',
  trust: ['local'],
  browser: 'keeps',
  secrets: ['credentials'],
  inputs: {
    type: 'object',
    properties: {
      startUrl: address,
      credentials: {
        type: 'object',
        properties: {
          username: { type: 'string', minLength: 1, maxLength: 1_000 },
          password: { type: 'string', minLength: 1, maxLength: 4_096 },
        },
        required: ['username', 'password'],
        additionalProperties: false,
      },
      fields: LoginFields,
      successIndicator: wait,
      save: {
        type: 'boolean',
        default: false,
        description: 'Save the login, encrypted, so that its sessionId can be used after a restart; a person is asked then',
      },
    },
    required: ['startUrl', 'credentials', 'fields'],
    additionalProperties: false,
  } as Template['inputs'],
  results: {
    type: 'object',
    properties: { success: { type: 'boolean' }, sessionId: { type: 'string' }, loginState: { type: 'string' } },
    required: ['success', 'sessionId', 'finalUrl', 'title', 'loginState', 'cookiesSaved'],
  } as Template['results'],
  example: {
    startUrl: 'http://localhost:3000/login',
    credentials: { username: 'ann', password: '…' },
    fields: { mode: 'semantic', usernameQuery: 'Name', passwordQuery: 'Password', submitQuery: 'Sign in' },
    successIndicator: { type: 'urlContains', value: '/home' },
  },
  limits: { timeoutMs: 60_000 },
  expects: { ms: 3_000 },
  steps: [
    {
      id: 'login',
      tool: 'log_in',
      input: {
        startUrl: { $: 'inputs.startUrl' },
        credentials: { $: 'inputs.credentials' },
        fields: { $: 'inputs.fields' },
        successIndicator: { $: 'inputs.successIndicator' },
        session: { $: 'session' },
        save: { $: 'inputs.save' },
      },
    },
  ],
  result: {
    success: { $: 'steps.login.output.success' },
    sessionId: { $: 'steps.login.output.sessionId' },
    finalUrl: { $: 'steps.login.output.finalUrl' },
    title: { $: 'steps.login.output.title' },
    loginState: { $: 'steps.login.output.loginState' },
    cookiesSaved: { $: 'steps.login.output.cookiesSaved' },
    saved: { $: 'steps.login.output.saved' },
  },
}
