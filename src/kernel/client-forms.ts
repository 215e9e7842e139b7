import type { ClientForms } from '../contracts/client-forms.ts'
import type { Config } from '../contracts/config.ts'
import type { Operator } from '../contracts/operator.ts'
import { awaitDecision } from './await-decision.ts'
import type { AuditPort } from './ports.ts'

/** What a form at a client is worth (decision 017), judged here and not by whoever shows it. */
export function openClientForms(parts: {
  policies: () => Pick<Config['policies'], 'askInEditor' | 'askOverHttp' | 'acpClients'>
  approvals: Pick<Operator['approvals'], 'get' | 'state' | 'decide'>
  audit: AuditPort
  words: ClientForms['words']
}): ClientForms {
  const { approvals, audit, words } = parts
  const forms: ClientForms = {
    reach(surface, risk, client = '') {
      const { askInEditor, askOverHttp, acpClients } = parts.policies()
      // An editor's permission dialog is answered by the editor itself where that is set so: it counts where the person named the editor.
      if (surface === 'acp') return { form: acpClients.includes(client.split('/')[0] ?? '') && risk !== 'R3', url: false }
      // Over HTTP whoever has the token can fill a form in.
      return { form: askInEditor && (surface === 'mcp-stdio' || askOverHttp) && risk !== 'R3', url: askInEditor }
    },
    question(id, session) {
      const approval = approvals.get(id)
      return approval?.session === session ? approval : undefined
    },
    settled: (id, signal) => awaitDecision(audit, () => approvals.state(id), { id }, signal),
    answer(id, { surface, session, client }, { approve, note }) {
      const approval = forms.question(id, session)
      // Whoever switched the asking off does not want it answered either.
      if (approval?.state !== 'pending' || !forms.reach(surface, approval.risk, client).form) return
      approvals.decide(id, { approve, by: `form@${client}`, ...(note !== undefined && { note }) })
    },
    wavedAway(id, { surface, session, client }, how) {
      const approval = forms.question(id, session)
      if (!approval) return
      const by = `client@${client}`
      audit.note({
        event: 'approval.waved-away',
        approval: id,
        by,
        tool: approval.tool,
        session,
        surface,
        client,
        details: { form: how },
      })
    },
    words,
  }
  return forms
}
