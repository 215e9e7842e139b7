/** The look of every page: no picture, font or script from anywhere. */
export const style = `
  :root { color-scheme: light dark; --text: #1f2328; --quiet: #57606a; --page: #f6f8fa; --sheet: #fff; --line: #d1d9e0; --code: #eff1f3; --link: #0b57d0;
    --in: #dafbe1; --out: #ffe2e0; --in-text: #116329; --out-text: #a40e26; --yes: #1a7f37; --no: #b3242f; --note: #fff8c5; --note-line: #d4a72c;
    --loud: #b3242f; --loud-text: #fff; --r2: #7d4e00; --r2-back: #fff1d6 }
  @media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --quiet: #a3adb8; --page: #101214; --sheet: #181b1f; --line: #343a41; --code: #24292f; --link: #8ab4f8;
    --in: #12351c; --out: #4a1a1f; --in-text: #7ee2a0; --out-text: #ffa8b0; --yes: #1f7a34; --no: #ff8f9c; --note: #3a2f0b; --note-line: #8d6e12;
    --loud: #8e1a24; --loud-text: #fff; --r2: #f0c36d; --r2-back: #3a2a08 } }
  html, body, header, main, form, input, textarea, pre, figure, details { box-sizing: border-box }
  body { font: 16px/1.6 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page); overflow-wrap: anywhere }
  header, main { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem }
  header { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; align-items: baseline; padding-top: 1rem; padding-bottom: 1rem }
  header .where { margin-right: auto; color: var(--quiet); unicode-bidi: isolate } header a { text-decoration: none }
  .skip { position: absolute; left: -100vw } .skip:focus { left: 1rem; top: .5rem; background: var(--sheet); padding: .3em .6em; z-index: 2 }
  main { background: var(--sheet); border: 1px solid var(--line); border-radius: 12px; padding: 1.2rem 2rem 2rem; margin-bottom: 3rem }
  h1 { font-size: 1.5rem; line-height: 1.3; margin: .6em 0 .5em } h2 { font-size: 1.05rem; margin: 1.4em 0 .4em } h3 { font-size: 1rem; font-weight: normal; margin: .7em 0 .2em }
  code, pre, input, textarea { font: 14px/1.5 ui-monospace, monospace }
  code, pre { background: var(--code); border-radius: 6px; padding: .1em .35em }
  code { white-space: pre-wrap; unicode-bidi: isolate }
  pre { padding: .8em 1em; overflow-x: auto; margin: .4em 0 }
  .diff { white-space: pre-wrap } .diff b { font-weight: normal; display: block; padding-left: 4ch; text-indent: -4ch }
  .plain { white-space: pre; content-visibility: auto; contain-intrinsic-size: auto 40rem } .plain b { display: inline; padding: 0; text-indent: 0; font-weight: 600 }
  .said, h1, h3 { padding-left: 2em; text-indent: -2em } .printed { white-space: pre-wrap; border-left: 3px solid var(--line); background: none; border-radius: 0; margin: .2em 0 }
  .in { background: var(--in) } .out { background: var(--out) } .place, .quiet { color: var(--quiet) }
  .plus { color: var(--in-text) } .minus { color: var(--out-text) } .counts { font-size: 1.1rem; font-weight: 600 }
  .risk { display: inline-block; border-radius: 6px; padding: 0 .5em; background: var(--code); text-indent: 0 } .R2 { background: var(--r2-back); color: var(--r2) } .R3 { background: var(--loud); color: var(--loud-text) }
  .loud { background: var(--loud); color: var(--loud-text); border-radius: 8px; padding: .8em 1.1em; margin: 1em 0 } .loud strong { display: block; font-size: 1.3rem }
  .warn { color: var(--r2); background: var(--r2-back); border-radius: 4px; padding: 0 .35em }
  details { border-top: 1px solid var(--line); padding: .25em 0; content-visibility: auto; contain-intrinsic-size: auto 2.2em } summary { cursor: pointer; padding: .2em 0 } details details { margin-left: 1.1em }
  .facts { font-size: .9rem } .flat { border-top: 1px solid var(--line); padding: .45em 0; margin: 0 }
  .one { border: 1px solid var(--line); border-radius: 8px; padding: .7em 1em; margin: .7em 0 } .one p { margin: .2em 0 }
  ul.verdicts { list-style: none; padding: 0 } ul.verdicts li { border-top: 1px solid var(--line); padding: .4em 0 }
  .verdict { font-weight: 600 } .approved, .used { color: var(--in-text) } .denied { color: var(--out-text) }
  figure { display: inline-block; vertical-align: top; margin: .4em 1em .4em 0; border: 1px dashed var(--line); padding: .5em; max-width: 100% } figure img { display: block; max-width: 100%; max-height: 20rem; background: repeating-conic-gradient(#bbb 0 25%, #eee 0 50%) 0 0/16px 16px }
  img.elsewhere { display: block; max-width: 100%; height: auto }
  form.answer { position: sticky; bottom: 0; background: var(--sheet); border-top: 2px solid var(--line); margin: 1.5em -2rem 0; padding: .8em 2rem .4em }
  textarea::placeholder { color: var(--quiet); opacity: 1 } form.answer p { margin: .3em 0 }
  input, textarea { color: inherit; background: var(--sheet); border: 1px solid var(--quiet); border-radius: 6px; padding: .45em .6em } textarea { width: 100% }
  .options { display: flex; flex-wrap: wrap; gap: .2rem .6rem } .options button { margin-right: 0; text-align: left; max-width: 100%; unicode-bidi: isolate }
  .number { font: 600 2rem/1.2 ui-monospace, monospace; letter-spacing: .15em; margin: .3em 0 } .number + p input { font-size: 1.3rem; width: 5em; letter-spacing: .15em }
  button { font: inherit; padding: .5em 1.4em; margin: .3em 1em .3em 0; border-radius: 8px; border: 1px solid var(--line); cursor: pointer; background: var(--sheet); color: var(--text) }
  .yes { background: var(--yes); border-color: transparent; color: #fff } .no { color: var(--no); border-color: currentColor }
  .notice { background: var(--note); border: 1px solid var(--note-line); border-radius: 8px; padding: .6em 1em; margin: 1em 0 }
  table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .5em .8em .5em 0; border-bottom: 1px solid var(--line) } th { color: var(--quiet); font-weight: 500 }
  @media (max-width: 64rem) { main { max-width: none; border-radius: 0; border-width: 1px 0; padding: 1rem 1.2rem 2rem } form.answer { margin: 1.5em -1.2rem 0; padding: .6em 1.2rem .2em } }
  @media (max-width: 30rem) { header { padding: .6rem 1rem } main { padding: .6rem 1rem 1.5rem } form.answer { margin: 1em -1rem 0; padding: .5em 1rem .2em } h1 { font-size: 1.2rem } button { padding: .5em .9em; margin-right: .5em } .keys { display: none } }
  a { color: var(--link) } :focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
  @media (hover: none) { .keys { display: none } }`
