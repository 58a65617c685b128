"""How the page looks. Fonts are the system's: nothing is loaded from anywhere."""

from __future__ import annotations

from typing import Final

CSS: Final = """
:root {
  --g-text: #1c2430; --g-dim: #5b6675; --g-page: #f7f8fa; --g-card: #ffffff; --g-line: #dfe4ea; --g-mine: #e6eefc;
  --g-accent: #1f5fbf; --g-good: #17653a; --g-good-b: #e3f4ea; --g-warn: #7a4d00; --g-warn-b: #fdf1d7;
  --g-bad: #a32222; --g-bad-b: #fce7e7; --g-code: #f0f2f5;
  --g-font: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  --g-mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace;
}
.dark {
  --g-text: #e6eaf0; --g-dim: #a3aebd; --g-page: #14181f; --g-card: #1c222b; --g-line: #323b48; --g-mine: #223252;
  --g-accent: #86b3f7; --g-good: #8fdcae; --g-good-b: #173626; --g-warn: #f0c674; --g-warn-b: #3a2e14;
  --g-bad: #f49a9a; --g-bad-b: #43201f; --g-code: #262e39;
}
@media (prefers-color-scheme: dark) { body.passage {
  --g-text: #e6eaf0; --g-dim: #a3aebd; --g-page: #14181f; --g-card: #1c222b; --g-line: #323b48; --g-accent: #86b3f7;
  --g-code: #262e39;
} }
html, body { background: var(--g-page) !important; }
body { margin: 0; }
body, .gradio-container, .gradio-container * { font-family: var(--g-font); }
.gradio-container { background: var(--g-page) !important; max-width: none !important; padding: 0 !important; color: var(--g-text); }
.gradio-container > .main, .gradio-container main { padding: 0 !important; max-width: none !important; gap: 0 !important; }
.gradio-container .wrap.hide, footer { display: none !important; }
.gradio-container .column, .gradio-container .row { gap: 0; }
.gradio-container, .gradio-container :is(.main, .wrap, .contain, #g-main, #g-talk) { overflow: visible !important; }
.gradio-container :is(.fillable, main, .wrap) { padding: 0 !important; }
.sr { position: absolute !important; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
#g-header, #g-talk, #g-side, body.passage { color: var(--g-text); font-size: 16px; line-height: 1.55; }
:is(#g-header, #g-talk, #g-side) .html-container { padding: 0 !important; }
#g-header p, #g-talk p, #g-side p { font-size: inherit; }
#g-header *, #g-talk *, #g-side *, body.passage * { box-sizing: border-box; }
:is(#g-header, #g-talk, #g-side, body.passage) :is(button, a, summary, textarea, pre, .wide):focus-visible {
  outline: 3px solid var(--g-accent) !important; outline-offset: 2px; border-radius: 6px;
}
:is(#g-header, #g-talk, #g-side, body.passage) a { color: var(--g-accent); text-underline-offset: 2px; }
.dim { color: var(--g-dim); }

#g-header { position: fixed; inset: 0 0 auto 0; z-index: 20; height: 65px; border-radius: 0 !important; background: var(--g-card); border-bottom: 1px solid var(--g-line); padding: 0 !important; }
#g-header .bar { display: flex; align-items: center; gap: 12px; padding: 0 20px; height: 64px; }
#g-header .name { flex: 1; min-width: 0; }
#g-header h1 { font-size: 18px; font-weight: 650; margin: 0; line-height: 1.3; color: var(--g-text); }
#g-header .name p { margin: 0; color: var(--g-dim); font-size: 13.5px; line-height: 1.35; }
#g-header .actions { display: flex; gap: 8px; align-items: center; }
#g-header :is(button, a.button), .tools button, .choices button, .examples button, .offered button {
  font: inherit; font-size: 14px; color: var(--g-text); background: var(--g-card); border: 1px solid var(--g-line);
  border-radius: 8px; padding: 6px 12px; min-height: 36px; cursor: pointer; text-decoration: none; line-height: 1.4;
}
#g-header a.button[hidden] { display: none; }
:is(#g-header, .tools, .choices, .examples, .offered) :is(button, a.button):hover { border-color: var(--g-accent); }
#g-header .short { display: none; }
#g-header a.skip { position: absolute; left: 12px; top: -60px; z-index: 30; padding: 8px 14px; background: var(--g-card); border: 1px solid var(--g-line); border-radius: 8px; }
#g-header a.skip:focus { top: 12px; }
#g-header .menu { display: none; font-size: 18px; padding: 4px 12px; }

#g-main { display: block; padding-top: 65px; }
#g-side { min-width: 0 !important; width: 272px; position: fixed; top: 65px; left: 0; bottom: 0; display: block;
  overflow-y: auto; padding: 16px 12px; border-right: 1px solid var(--g-line); background: var(--g-card); }
#g-new { background: var(--g-accent); color: #fff; border: 0; border-radius: 8px; font-size: 15px; font-weight: 600; min-height: 40px; width: 100%; }
.dark #g-new, .dark #g-send { color: #10203a; }
#g-side h2 { font-size: 13px; font-weight: 600; color: var(--g-dim); margin: 18px 8px 6px; }
#g-side ul { list-style: none; margin: 0; padding: 0; }
#g-side li { display: flex; align-items: center; border-radius: 8px; margin: 1px 0; padding: 0; }
#g-side li:hover, #g-side li[aria-current] { background: var(--g-mine); }
#g-side li .open { flex: 1; min-width: 0; text-align: left; background: none; border: 0; font: inherit; font-size: 14.5px; color: var(--g-text);
  padding: 8px; cursor: pointer; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
#g-side li .drop { background: none; border: 0; color: var(--g-dim); font-size: 18px; width: 32px; height: 36px; cursor: pointer; opacity: .55; }
#g-side li .drop:is(:hover, :focus-visible) { opacity: 1; color: var(--g-bad); }
#g-side .dim { font-size: 14px; margin: 4px 8px; }

#g-talk { min-width: 0 !important; width: auto; max-width: 860px; margin: 0 auto; padding: 24px 24px 0; min-height: calc(100dvh - 65px);
  display: flex; flex-direction: column; flex-wrap: nowrap; }
@media (min-width: 761px) { #g-main { padding-left: 272px; } }
#g-chat, #g-live { padding: 0 !important; }
#g-notice { padding: 0 !important; }
.turn { margin: 0 0 28px; scroll-margin-top: 84px; }
.turn .question { background: var(--g-mine); border-radius: 14px 14px 4px 14px; padding: 10px 16px; margin: 0 0 12px auto; max-width: 85%;
  width: fit-content; white-space: pre-wrap; overflow-wrap: anywhere; }
.turn .reply { background: var(--g-card); border: 1px solid var(--g-line); border-radius: 4px 14px 14px 14px; padding: 16px 20px; overflow-wrap: anywhere; }
.lead { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: baseline; justify-content: space-between; margin-bottom: 10px; padding-bottom: 10px;
  border-bottom: 1px solid var(--g-line); }
.lead .intent { color: var(--g-dim); font-size: 14.5px; margin: 0; flex: 1 1 300px; }
.intent b { font-weight: 600; }
.chip { font-size: 13px; font-weight: 600; border-radius: 999px; padding: 2px 10px; background: var(--g-warn-b); color: var(--g-warn); white-space: nowrap; }
.chip:is(.checked, .quoted) { background: var(--g-good-b); color: var(--g-good); }
.chip:is(.checked, .quoted)::before { content: "✓ "; }
.chip:is(.refused, .error) { background: var(--g-bad-b); color: var(--g-bad); }
.chip:is(.view, .stopped) { background: var(--g-mine); color: var(--g-text); margin-left: 8px; vertical-align: 2px; }
.answer :is(h1, h2, h3, h4, h5, h6) { font-size: 16.5px; font-weight: 650; margin: 16px 0 6px; color: var(--g-text); line-height: 1.35; }
.answer > :first-child { margin-top: 0; } .answer > :last-child { margin-bottom: 0; }
.answer :is(p, ul, ol, blockquote) { margin: 8px 0; }
.answer :is(ul, ol) { padding-left: 26px; } .answer ul { list-style: disc; } .answer ol { list-style: decimal; }
.answer li { margin: 4px 0; }
.answer blockquote { border-left: 3px solid var(--g-line); padding-left: 14px; color: var(--g-dim); }
:is(.turn, body.passage) pre { background: var(--g-code); border-radius: 8px; padding: 10px 14px; overflow-x: auto; margin: 8px 0; font-size: 14px; line-height: 1.5; }
:is(.turn, body.passage) code { font-family: var(--g-mono) !important; font-size: .92em; background: var(--g-code); border-radius: 4px; padding: 1px 5px; }
:is(.turn, body.passage) pre code { padding: 0; background: none; font-size: inherit; white-space: pre; }
/* What is for screen readers alone stands outside of the flow, and would widen the page. */
.wide { overflow-x: auto; margin: 8px 0; position: relative; }
.wide table { border-collapse: collapse; font-size: 14.5px; width: 100%; }
.wide :is(th, td, td *) { overflow-wrap: normal; word-break: normal; }
.wide :is(th, td) { border: 1px solid var(--g-line); padding: 6px 10px; text-align: left; vertical-align: top; }
.wide th { background: var(--g-code); font-weight: 600; }
.cite { display: inline-block; min-width: 18px; text-align: center; font-size: 12px; font-weight: 650; line-height: 17px; border-radius: 5px; padding: 0 4px;
  background: var(--g-mine); color: var(--g-accent) !important; text-decoration: none; vertical-align: 2px; margin-left: 2px; }
.sources { margin-top: 16px; padding-top: 12px; border-top: 1px solid var(--g-line); font-size: 14.5px; }
.sources h4 { font-size: 14px; font-weight: 600; margin: 0 0 6px; color: var(--g-dim); }
.sources ol { list-style: none; margin: 0; padding: 0; } .sources li { margin: 4px 0; scroll-margin-top: 90px; }
.sources li:focus { background: var(--g-mine); border-radius: 6px; outline: 3px solid var(--g-accent); outline-offset: 2px; }
.turn:focus { outline: none; } .turn:focus-visible .question { outline: 3px solid var(--g-accent); outline-offset: 2px; }
.thumbs { display: flex; gap: 8px; }
.turn :is(.sources, .panel, .answer) a:not(.cite) { text-decoration: underline; text-decoration-thickness: 1px; }
.sources .cite { margin-right: 6px; vertical-align: 1px; }
.tools { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 14px; }
.tools button { font-size: 13.5px; padding: 3px 10px; min-height: 32px; color: var(--g-dim); }
.tools button[aria-pressed=true] { background: var(--g-mine); border-color: var(--g-accent); }
.tools svg { display: block; width: 17px; height: 17px; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linejoin: round; }
.tools .bad svg { transform: rotate(180deg); }
.choices { display: flex; gap: 8px; margin: 10px 0 0; }
.choices .main { background: var(--g-accent); color: #fff; border-color: transparent; } .dark .choices .main { color: #10203a; }
.turn .offered { list-style: decimal; margin: 8px 0 0; padding-left: 26px; } .offered li { margin: 6px 0; } .offered li::marker { color: var(--g-dim); }
.offered button { text-align: start; overflow-wrap: anywhere; }
.note { margin: 0; }
.stages { list-style: none; margin: 0; padding: 0; }
.stages li { padding: 2px 0 2px 26px; position: relative; color: var(--g-dim); }
.stages li.done::before { content: "✓"; position: absolute; left: 4px; color: var(--g-good); }
.stages li.now { color: var(--g-text); }
.stages li.now::before { content: ""; position: absolute; left: 5px; top: 11px; width: 8px; height: 8px; border-radius: 50%; background: var(--g-accent); animation: g-beat 1.2s infinite; }
@keyframes g-beat { 50% { opacity: .25; } }
@media (prefers-reduced-motion: reduce) { .stages li.now::before { animation: none; } }
.notice { background: var(--g-warn-b); color: var(--g-warn); border-radius: 10px; padding: 10px 14px; margin: 0 0 10px; }
#g-trouble button { font: inherit; font-size: 14px; color: inherit; background: none; border: 1px solid currentColor; border-radius: 8px; padding: 3px 10px; margin: 2px 0; cursor: pointer; }
.toast-wrap { display: none !important; }

.badges { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 12px; }
.badge { font-size: 13px; border-radius: 6px; padding: 2px 9px; background: var(--g-code); color: var(--g-text); }
.badge:is(.safe, .pass) { background: var(--g-good-b); color: var(--g-good); }
.badge:is(.controversial, .retry) { background: var(--g-warn-b); color: var(--g-warn); }
.badge:is(.unsafe, .fail) { background: var(--g-bad-b); color: var(--g-bad); }
.panel { border-top: 1px solid var(--g-line); margin-top: 10px; padding-top: 8px; font-size: 14.5px; }
.panel summary { cursor: pointer; font-weight: 600; padding: 4px 0; }
.panel .inside { padding: 4px 0 6px; }
.panel dl { display: grid; grid-template-columns: minmax(90px, 150px) 1fr; gap: 4px 14px; margin: 0; }
.panel dt { color: var(--g-dim); } .panel dd { margin: 0; }
.panel ul { list-style: disc; margin: 0; padding-left: 20px; }
.draft { border: 1px solid var(--g-line); border-radius: 8px; padding: 8px 12px; margin-top: 10px; white-space: pre-wrap; }
.draft p { margin: 3px 0; } .draft .between { color: var(--g-dim); }
.draft .claim { border-left: 3px solid var(--g-bad); padding-left: 10px; }
.draft .claim.supported { border-color: var(--g-good); } .draft .claim:is(.uncited, .not_entailed) { border-color: var(--g-warn); }
.sign { font-family: var(--g-mono) !important; font-weight: 700; color: var(--g-bad); }
.sign.supported { color: var(--g-good); } .sign:is(.uncited, .not_entailed) { color: var(--g-warn); }
.panel .signs { list-style: none; padding: 6px 0 0; color: var(--g-dim); }
.turn .steps { list-style: decimal; margin: 4px 0; padding-left: 26px; font-size: 14px; } .turn .steps > li { margin: 3px 0; } .turn .steps ul { list-style: none; padding-left: 0; }

.welcome { padding: 8vh 0 24px; }
.welcome h2 { font-size: 26px; font-weight: 650; margin: 0 0 8px; line-height: 1.25; color: var(--g-text); }
.welcome p { margin: 6px 0; max-width: 640px; }
.examples { display: flex; flex-wrap: wrap; gap: 10px; margin-top: 10px; }
.examples button { padding: 9px 14px; font-size: 15px; border-radius: 10px; }

#g-foot { flex: 0 0 auto !important; width: 100%; position: sticky; bottom: 0; margin-top: auto !important; background: linear-gradient(transparent, var(--g-page) 12px); padding: 14px 0 18px; }
#g-form { display: flex; gap: 10px; align-items: flex-end;
  flex-wrap: nowrap !important; }
#g-box { flex: 1 1 auto; min-width: 0 !important; background: var(--g-card); border: 1px solid var(--g-line) !important; border-radius: 12px; padding: 0 !important; box-shadow: none; }
#g-box textarea { background: transparent !important; border: 0 !important; box-shadow: none !important; font-size: 16px; line-height: 1.5; padding: 11px 14px !important; color: var(--g-text); }
#g-box textarea::placeholder { color: var(--g-dim); opacity: 1; }
#g-box:focus-within { border-color: var(--g-accent) !important; }
#g-send, #g-stop { flex: 0 0 auto; min-width: 104px !important; width: auto; min-height: 48px; border-radius: 12px; font-size: 15px; font-weight: 600; border: 0; padding: 0 18px; box-shadow: none; }
#g-send { background: var(--g-accent); color: #fff; }
#g-stop, .busy #g-send { display: none; }
.busy #g-stop { display: inline-flex; }
#g-stop { background: var(--g-bad-b); color: var(--g-bad); border: 1px solid var(--g-bad); }
#g-place { display: none !important; }

@media (max-width: 760px) {
  #g-header .menu { display: block; } #g-header .bar { padding: 8px 12px; gap: 8px; } #g-header .name p { display: none; }
  #g-header .short { display: inline; } #g-header .long { display: none; }
  #g-header h1 { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
  .tools { gap: 6px; } .thumbs { gap: 6px; } .tools button { padding: 3px 8px; }
  #g-header .actions { gap: 6px; } #g-header :is(button, a.button) { padding: 6px 9px; }
  #g-side { display: none !important; position: fixed; left: 0; bottom: 0; width: min(300px, 86vw); z-index: 15; box-shadow: 0 0 40px #0005; }
  body.side-open #g-side { display: block !important; }
  #g-talk { padding: 14px 12px 0; } .turn .reply { padding: 14px; } .turn .question { max-width: 92%; }
  #g-header h1 { font-size: 16px; } .chip.view { display: block; width: fit-content; margin: 2px 0 0; }
  .welcome { padding-top: 3vh; } .welcome h2 { font-size: 22px; }
  #g-send, #g-stop { min-width: 0 !important; padding: 0 14px; }
  .panel dl { grid-template-columns: 1fr; gap: 0; } .panel dd { margin-bottom: 6px; }
}
@media (max-width: 400px) { .tools, .thumbs { gap: 4px; } .tools button { font-size: 13px; padding: 3px 6px; } #g-talk .reply { padding: 14px 12px; } }
body.passage { background: var(--g-page); min-height: 100vh; } body.passage main { max-width: 760px; margin: 0 auto; padding: 28px 20px; }
body.passage h1 { font-size: 22px; line-height: 1.3; }
"""
