/** Under this name the page says where it is. */
export const progressGlobal = '__handrailPreview'

/**
 * Put into the page before the engine: stands in for the editor the engine looks for, and tells it to go to the scene and line in
 * the address (`#scene=NAME&line=N`), now and whenever the address changes. It also answers the question for a language, which would
 * cover everything. It speaks what engines have spoken: since 4.6.1 requests and responses; before, a command in an envelope; up to 4.4 on
 * port 9999 the same command without one; at first the words "jmp SCENE LINE", and those engines never say where they are.
 */
export const jumpScript = `(() => {
  const isEditor = (to) => to.pathname.endsWith('/webgalsync') || (to.port === '9999' && to.hostname === location.hostname)
  const newer = 'webgal-editor-preview-sync.v1'
  const now = (window.${progressGlobal} = { scene: '', line: 0, reports: 0, jumps: 0, sockets: 0, mute: false })
  const wanted = () => {
    const given = new URLSearchParams(location.hash.slice(1))
    const scene = given.get('scene')
    const line = Number.parseInt(given.get('line') ?? '1', 10)
    return scene && { scene: /\\.txt$/i.test(scene) ? scene : scene + '.txt', line: line >= 1 ? line : 1 }
  }
  try {
    const spoken = { zh: '0', ja: '2', fr: '3', de: '4' }
    if (!localStorage.getItem('lang')) localStorage.setItem('lang', spoken[navigator.language.slice(0, 2)] ?? '1')
  } catch {}
  const open = new Set()
  class Editor extends EventTarget {
    static CONNECTING = 0
    static OPEN = 1
    static CLOSING = 2
    static CLOSED = 3
    CONNECTING = 0
    OPEN = 1
    CLOSING = 2
    CLOSED = 3
    onopen = null
    onmessage = null
    onerror = null
    onclose = null
    binaryType = 'blob'
    bufferedAmount = 0
    extensions = ''
    readyState = 0
    registered = false
    spoken = undefined
    constructor(url, protocols) {
      super()
      this.url = String(url)
      this.protocol = [protocols ?? []].flat().includes(newer) ? newer : ''
      if (new URL(this.url, location.href).pathname.endsWith('/api/webgalsync')) this.spoken = 'envelope'
      now.sockets++
      now.newer = this.protocol === newer
      setTimeout(() => {
        if (this.readyState !== 0) return
        this.readyState = 1
        open.add(this)
        this.say(new Event('open'))
        if (this.protocol === '' && this.spoken) this.jump()
      }, 0)
    }
    say(event) {
      this['on' + event.type]?.(event)
      this.dispatchEvent(event)
    }
    tell(message) {
      const data = typeof message === 'string' ? message : JSON.stringify(message)
      setTimeout(() => this.say(new MessageEvent('message', { data })), 0)
    }
    jump() {
      const to = wanted()
      if (!to) return
      now.jumps++
      for (const cover of document.querySelectorAll('.html-body__title-enter, #Title_enter_page')) cover.style.display = 'none'
      const command = { command: 0, sceneMsg: { scene: to.scene, sentence: to.line }, stageSyncMsg: {}, message: 'Sync' }
      if (this.protocol === newer) {
        const debugVariables = now.variables?.map((one) => ({ ...one, isGlobal: false }))
        const payload = { sceneName: to.scene, sentenceId: to.line, ...(debugVariables && { debugVariables }) }
        if (this.registered)
          this.tell({ kind: 'request', type: 'preview.command.sync-scene', requestId: 'handrail-' + now.jumps, payload })
      } else if (this.spoken === 'words') this.tell('jmp ' + to.scene + ' ' + to.line)
      else this.tell(this.spoken === 'bare' ? command : { event: 'message', data: command })
    }
    /** Carries a statement out where the game stands. */
    execute(script) {
      const command = { command: 3, sceneMsg: { scene: 'temp', sentence: 0 }, stageSyncMsg: {}, message: script }
      if (this.protocol === '' && this.spoken !== 'words') this.tell(this.spoken === 'bare' ? command : { event: 'message', data: command })
    }
    /** By its first words an older engine shows how it wants to be spoken to. */
    hear(how) {
      if (this.spoken === how || this.protocol !== '') return
      this.spoken = how
      now.mute = how === 'words'
      this.jump()
    }
    send(text) {
      let message
      try {
        message = JSON.parse(text)
      } catch {
        if (this.spoken === undefined) this.hear('words')
        return
      }
      if (message?.command === 1) this.hear('bare')
      if (message?.kind === 'request' && message.type === 'session.register-preview') {
        this.tell({ kind: 'response', type: message.type, requestId: message.requestId, payload: {} })
        this.registered = true
        this.jump()
      }
      const older = message?.data?.command === 1 ? message.data : message?.command === 1 ? message : undefined
      const at = older
        ? [older.sceneMsg?.scene, older.sceneMsg?.sentence, older.stageSyncMsg]
        : message?.type === 'stage.snapshot.updated'
          ? [message.payload?.sceneName, message.payload?.sentenceId, message.payload?.stageState]
          : undefined
      if (at && now.jumps > 0) {
        ;[now.scene, now.line, now.stage] = [String(at[0] ?? ''), Number(at[1] ?? 0), at[2]]
        now.reports++
      }
    }
    close() {
      if (this.readyState === 3) return
      this.readyState = 3
      open.delete(this)
      this.say(new CloseEvent('close'))
    }
  }
  window.WebSocket = new Proxy(window.WebSocket, {
    construct(real, given) {
      const to = new URL(given[0], location.href)
      return isEditor(to) ? new Editor(...given) : Reflect.construct(real, given)
    },
  })
  now.execute = (script) => {
    for (const editor of open) editor.execute(script)
  }
  now.again = () => {
    for (const editor of open) editor.jump()
  }
  addEventListener('hashchange', now.again)
})()`

/** Under this name a page is told whether it draws. */
export const drawingGlobal = '__handrailDrawing'

/** Software rendering draws about one and a half large pictures a second and would do nothing else: nothing is drawn until a picture is wanted. */
export const slowDrawing = `(() => {
  const drawing = (window.${drawingGlobal} = { on: false, everyMs: 250 })
  const later = window.setTimeout.bind(window)
  window.requestAnimationFrame = (draw) => later(() => draw(performance.now()), drawing.everyMs)
  window.cancelAnimationFrame = (id) => clearTimeout(id)
  for (const kind of [window.WebGLRenderingContext, window.WebGL2RenderingContext])
    for (const name of ['drawElements', 'drawArrays', 'drawElementsInstanced', 'drawArraysInstanced', 'clear']) {
      const real = kind?.prototype[name]
      if (real)
        kind.prototype[name] = function (...given) {
          if (drawing.on) return real.apply(this, given)
        }
    }
})()`

/** Makes a page draw, or leave it. */
export const drawNow = (on: boolean, everyMs = on ? 50 : 250): string =>
  `void Object.assign(window.${drawingGlobal} ?? {}, { on: ${on}, everyMs: ${everyMs} })`

/** The page with the script before everything else in it. */
export function withJumpScript(html: string): string {
  const tag = `<script>${jumpScript}</script>`
  const head = /<head\b[^>]*>/i.exec(html)
  if (!head) return tag + html
  const at = head.index + head[0].length
  return html.slice(0, at) + tag + html.slice(at)
}
