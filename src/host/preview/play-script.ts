import { progressGlobal } from './jump-script.ts'

/** Under this name the page says what it has played. */
export const playGlobal = '__handrailPlay'

/**
 * Put into the page after the script that jumps: plays the game as a person would, by clicks, as fast as the engine goes on. It stops nowhere
 * but at what the plan says. Timers of the game run eight times as fast; the one by which an older engine says where it is, forty times.
 */
export const playScript = `(() => {
  const later = window.setTimeout.bind(window)
  for (const name of ['setTimeout', 'setInterval']) {
    const real = window[name].bind(window)
    window[name] = (act, ms, ...more) => real(act, ms === 1000 ? 25 : ms > 8 ? ms / 8 : ms, ...more)
  }
  const play = (window.${playGlobal} = { plan: undefined, stops: [], decisions: [], done: undefined, hold: undefined })
  let last = ''
  let since = 0
  let still = 0
  let wasStarted = false
  let wasThere = false
  let hasPlayed = false
  let reports = -1
  let pictured = new Set()
  // A scene begins under the words of the one before.
  let entered = { scene: '', under: '' }
  let words = ''
  // Options stay a moment after one was taken: another click would take another.
  let clicked
  let waiting = {}
  // What was decided is done once it is known outside: a page that breaks by it can tell nobody any more.
  let then
  // Where it stood when that was done: what was chosen may have to be fetched first, and a click meanwhile would go by the first line of it.
  let left
  // Where it was since the last decision: whoever comes by again and again goes round.
  let visits = new Map()
  play.begin = (plan) => {
    Object.assign(play, { plan, stops: [], decisions: [], done: undefined, hold: undefined })
    ;[last, since, still, wasStarted, wasThere, hasPlayed, reports] = ['', performance.now(), 0, false, false, false, -1]
    pictured = new Set(plan.pictured ?? [])
    visits = new Map()
    ;[entered, words] = [{ scene: '', under: '' }, '']
    ;[clicked, then, left, waiting, play.told] = [undefined, undefined, undefined, {}, 0]
  }
  const choices = () => {
    const box = document.getElementById('chooseContainer')
    if (!box || document.getElementById('user-input')) return []
    return [...box.querySelectorAll('*')].filter((one) => one.childElementCount === 0 && one.textContent.trim() !== '')
  }
  const isTitle = () => document.querySelector('[class*="Title_main"]') !== null
  // After a choice the engine calls a scene by the words that led to it.
  const called = new Map()
  const sceneOf = (at) => (play.plan.targets ? (called.get(at.scene) ?? at.scene) : at.scene)
  // What is asked is there a moment before the engine says that it is: the next of its kind in the scene.
  const lineOf = (known, at) => {
    const scene = sceneOf(at)
    if (!known || known[scene + ':' + at.line]) return at.line
    const after = Object.keys(known).flatMap((key) => (key.startsWith(scene + ':') ? [Number(key.slice(scene.length + 1))] : []))
    return after.filter((line) => line > at.line).sort((one, other) => one - other)[0] ?? at.line
  }
  const decide = (at, shown) => {
    const open = shown.map((one) => !/disabled/i.test(String(one.className)))
    const words = shown.map((one) => one.textContent.trim().slice(0, 200))
    if (!open.includes(true)) return (play.done = 'stuck')
    const asked = play.plan.choices[play.decisions.length]
    const scene = sceneOf(at)
    const line = lineOf(play.plan.targets, at)
    const key = (index) => scene + ':' + line + ':' + words[index]
    const used = play.plan.used
    let taken = typeof asked === 'number' ? asked - 1 : words.indexOf(asked)
    if (!open[taken]) {
      const rank = words.map((_, index) => (open[index] ? (used[key(index)] ?? 0) : Infinity))
      taken = rank.indexOf(Math.min(...rank))
    }
    used[key(taken)] = (used[key(taken)] ?? 0) + 1
    const options = play.plan.targets?.[scene + ':' + line] ?? []
    const named = (one) => one.words === words[taken]
    const option =
      options.find(named) ??
      (options.length === words.length ? options[taken] : Object.values(play.plan.targets ?? {}).flat().find(named))
    if (option?.scene) called.set(shown[taken].textContent, option.scene)
    play.decisions.push({ is: 'choice', scene, line, words, open, taken })
    then = () => {
      clicked = { one: shown[taken], at: performance.now() }
      clicked.one.click()
    }
  }
  const fill = (at, field) => {
    const line = lineOf(play.plan.inputs, at)
    const values = play.plan.inputs[sceneOf(at) + ':' + line] ?? ['A']
    const asked = play.plan.choices[play.decisions.length]
    const taken = typeof asked === 'string' ? asked : values[0]
    field.value = taken
    field.dispatchEvent(new Event('input', { bubbles: true }))
    play.decisions.push({ is: 'input', scene: sceneOf(at), line, words: values, open: values.map(() => true), taken: Math.max(0, values.indexOf(taken)) })
    then = () => field.parentElement?.lastElementChild?.click()
  }
  const step = () => {
    later(step, 20)
    const at = window.${progressGlobal}
    const { plan } = play
    if (!plan || play.done || !at) return
    if (play.hold) return void (since = performance.now())
    // On a busy machine a moment is long: both so many looks and so much time.
    const isStill = ++still > 40 && performance.now() - since > (wasStarted ? plan.stuckMs : plan.startMs)
    if (isStill) return void (play.done = 'stuck')
    if (at.jumps < plan.jump) return
    if (then) {
      if (play.told < play.decisions.length) return
      const act = then
      ;[then, left, reports, still, since] = [undefined, last, at.reports, 0, performance.now()]
      return void act()
    }
    // Back at the title an engine may stand in no scene; where it begins, too, there is a title and before it nothing.
    const isOver = wasStarted && wasThere && isTitle() && (hasPlayed || performance.now() - since > 3000)
    if (at.scene === '' && !at.mute && !isOver) return
    // One click for each time it says where it is; the newest engines say so only when they move, the first never.
    // A person lets it come to rest first: three times, or a moment. On a busy machine what it says is late, and a click would go by unseen.
    const heard = at.reports - reports
    const isMoment = still % 8 === 0 && (heard > 0 || at.newer || at.mute || still % 96 === 0)
    if (heard < 3 && !isMoment) return
    reports = at.reports
    if (!wasStarted) {
      if (isTitle()) return
      wasStarted = true
    }
    if (at.scene === '' && isOver) return void (play.done = 'title')
    const text = String(at.stage?.showText ?? '')
    const scene = sceneOf(at)
    const now = scene + '\\n' + at.line + '\\n' + text
    if (scene !== entered.scene) entered = { scene, under: words }
    words = text
    if (now !== last) {
      ;[last, still, since] = [now, 0, performance.now()]
      visits.set(now, (visits.get(now) ?? 0) + 1)
      if (visits.get(now) > plan.mostVisits) play.done = 'limit'
      // Behind the title the engine already stands at the beginning again, where nobody has come to.
      if (isTitle()) return
      if (play.stops.length < plan.mostStops) play.stops.push([scene, at.line, text.slice(0, 300), String(at.stage?.showName ?? '').slice(0, 100)])
      else play.done = 'limit'
      // Held all along: most games begin by setting what they read later. The game gets a look's time to take it in.
      if (plan.variables) {
        for (const { key, value } of plan.variables) at.execute('setVar:' + key + '=' + value + ';')
        return
      }
    }
    if (plan.until && scene === plan.until.scene && at.line >= plan.until.line) return void (play.done = 'arrived')
    // Told to go there and not there yet: a click would play on where it stands.
    wasThere ||= !plan.until || scene === plan.until.scene
    if (!wasThere) return
    if (isOver) return void (play.done = 'title')
    if (isTitle()) return
    hasPlayed ||= text !== '' && at.line > 0
    if (play.decisions.length >= plan.mostDecisions) return void (play.done = 'limit')
    const shown = choices().slice(0, 200)
    if (plan.pictures && !pictured.has(scene) && (text === '' || text === entered.under ? shown.length > 0 : true)) {
      pictured.add(scene)
      return void (play.hold = scene)
    }
    const field = document.getElementById('user-input')
    const film = document.getElementById('playVideoElement')
    if (clicked?.one.isConnected && shown.includes(clicked.one)) {
      if (performance.now() - clicked.at < 3000) return
      clicked.at = performance.now()
      return void clicked.one.click()
    }
    const asked = field ?? shown[0]
    if (asked !== waiting.one) waiting = { one: asked, since: performance.now() }
    // What is asked is there before the engine says that it has come to it.
    const isKnown = (field ? plan.inputs : plan.targets)?.[scene + ':' + at.line] !== undefined
    if (asked && plan.targets && !isKnown && performance.now() - waiting.since < 3000) return
    if (asked) visits.clear()
    if (field) fill(at, field)
    else if (shown.length > 0) decide(at, shown)
    else {
      if (left === now && !at.mute && (still < 150 || performance.now() - since < 3000)) return
      left = undefined
      if (film) {
        film.dispatchEvent(new Event('ended'))
        film.onended?.(new Event('ended'))
      }
      document.getElementById('FullScreenClick')?.click()
    }
  }
  later(step, 20)
})()`
