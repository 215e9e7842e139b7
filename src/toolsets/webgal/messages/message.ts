/** What is wrong with a line, in words. `error` is what the engine would misread or fail on; nothing else makes a script invalid. */
export interface Message {
  kind: 'syntax' | 'resource' | 'style'
  severity: 'error' | 'warning' | 'info'
  ZH: string
  EN: string
  fix?: { ZH: string; EN: string }
}
