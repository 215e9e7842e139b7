import type { Operation } from '../operations.ts'
import { html, sendPage, type Markup } from './html.ts'
import type { ServerResponse } from 'node:http'

const whose: Record<Operation['for'], string> = {
  anyone: 'anyone',
  agent: 'an agent: Authorization: Bearer, or X-API-Key, with the token',
  person: 'the person, signed in',
  key: 'the person: Authorization: Bearer with a key of `handrail approvals key`',
  'agent or key': 'an agent with the token, or the person with a key',
}

/** The OpenAPI document for people: every operation, what it takes and what it answers. */
export function referencePage(operations: readonly Operation[]): (response: ServerResponse) => void {
  const body = html`<h1>HTTP reference</h1>
    <p>The same for programs: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>
    ${operations.map(described)}`
  return (response) => sendPage(response, 200, 'HTTP reference', body)
}

function described({ method, path, summary, description, body, answers, parameters = [], ...operation }: Operation): Markup {
  return html`<h2>
      <strong><code>${method} ${path}</code></strong>
    </h2>
    <p>${summary}.${description === undefined ? '' : ` ${description}`}</p>
    <p class="quiet">For ${whose[operation.for]}.</p>
    ${
      parameters.length === 0
        ? html``
        : html`<p>${parameters.map(({ name, in: where, says }) => html`<code>${name}</code> (${where}): ${says}<br />`)}</p>`
    }
    ${
      body === undefined
        ? html``
        : html`<p>Body:</p>
            ${schema(body)}`
    }
    <p>
      ${Object.entries(answers).map(
        ([status, { says, stream }]) => html`<code>${status}</code> ${says}${stream === undefined ? '' : ` ${stream}`}<br />`,
      )}
    </p>`
}

/** Line by line: a page shows what cannot be seen, a line end too. */
function schema(of: object): Markup {
  const lines = JSON.stringify(of, null, 2).split('\n')
  return html`<pre>${lines.map((line) => html`${line}<br />`)}</pre>`
}
