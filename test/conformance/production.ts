export interface Expectation {
  /** Scenarios whose every check must succeed. */
  scenarios: string[]
  /** `scenario:check` that does not, and why not. One that does succeed must be taken off this list. */
  excused: Record<string, string>
}

const resumes = 'no event is kept for a client that lost its connection: its call is cancelled instead'
const asksFixture = (name: string): string => `calls ${name}, which only the fixtures have`

/** What the program must pass as it ships, without the fixtures: every scenario that can be tested without them. */
export const production: Record<'2025-11-25' | '2026-07-28', Expectation> = {
  '2025-11-25': {
    scenarios: [
      'server-initialize',
      'ping',
      'tools-list',
      'server-sse-multiple-streams',
      'resources-list',
      'resources-subscribe',
      'resources-unsubscribe',
      'prompts-list',
      'logging-set-level',
      'completion-complete',
      'dns-rebinding-protection',
      'server-session-lifecycle',
      'server-sse-polling',
    ],
    excused: {
      'server-sse-polling:server-sse-priming-event': resumes,
      'server-sse-polling:server-sse-retry-field': resumes,
    },
  },
  '2026-07-28': {
    scenarios: [
      'server-stateless',
      'tools-list',
      'server-sse-multiple-streams',
      'resources-list',
      'prompts-list',
      'completion-complete',
      'sep-2164-resource-not-found',
      'dns-rebinding-protection',
      'caching',
      'input-required-result-missing-input-response',
      'input-required-result-unsupported-methods',
      'input-required-result-ignore-extra-params',
      'input-required-result-validate-input',
      'http-header-validation',
    ],
    excused: {
      'server-stateless:sep-2575-server-rejects-undeclared-capability': asksFixture('test_missing_capability'),
      'server-stateless:sep-2575-missing-capability-http-400': asksFixture('test_missing_capability'),
      'server-stateless:sep-2575-http-server-no-independent-requests-on-stream': asksFixture('test_streaming_elicitation'),
      'server-stateless:sep-2575-server-no-log-without-loglevel': asksFixture('test_logging_tool'),
      'server-stateless:sep-2575-server-sends-tools-list-changed-on-subscription': asksFixture('test_trigger_tool_change'),
      'server-stateless:sep-2575-server-sends-prompts-list-changed-on-subscription': 'our prompts never change, and we say so',
      'input-required-result-missing-input-response:sep-2322-missing-response-rerequests': asksFixture(
        'test_input_required_result_elicitation',
      ),
      'input-required-result-ignore-extra-params:sep-2322-ignore-unexpected-params': asksFixture(
        'test_input_required_result_elicitation',
      ),
    },
  },
}
