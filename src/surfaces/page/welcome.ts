import type { Route } from '../listen.ts'
import { html, sendPage } from './html.ts'
import { wordsFor } from './language.ts'

const commands = ['handrail approvals list', 'handrail audit show', 'handrail undo --last', 'handrail doctor'] as const

/** What a person sees who opens the address in a browser: where to go, and nothing that matters. */
export const welcome: Route = {
  for: 'anyone',
  shows: 'document',
  methods: ['GET', 'HEAD'],
  handle({ response }) {
    const { welcome: says, signIn } = wordsFor(response.req)
    const body = html`<h1>${says.heading}</h1>
      <p>${says.agents} <a href="/reference">/reference</a></p>
      <p><a href="/sign-in">${signIn.heading}</a></p>
      <p>${says.person}</p>
      <pre>${commands.map((command, at) => html`${command.padEnd(26)}${says.lines[at] ?? ''}<br />`)}</pre>`
    sendPage(response, 200, says.heading, body)
  },
}
