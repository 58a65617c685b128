// A button on any web page that opens the assistant's chat in a frame:
// <script src="https://assistant.example/widget.js" defer></script>
// Attributes of the script element: data-lang (en or ru), data-label (the button's text), data-color (the button's color).
(() => {
  const script = document.currentScript || document.querySelector('script[src*="/widget.js"]');
  if (!script || window.guardianWidget) return;
  const WORDS = {
    en: { label: "Ask a question", close: "Close the chat", title: "Chat with the assistant" },
    ru: { label: "Задать вопрос", close: "Закрыть чат", title: "Чат с помощником" },
  };
  const server = new URL("/", script.src);
  const wanted = [script.dataset.lang, document.documentElement.lang, ...navigator.languages]
    .map((name) => String(name || "").toLowerCase().split("-")[0]);
  const language = wanted.find((name) => WORDS[name]) || "en";
  const say = WORDS[language];
  const label = (script.dataset.label || "").trim().slice(0, 80) || say.label;
  const chosen = (script.dataset.color || "").trim();
  const color = CSS.supports("color", chosen) ? chosen : "#1f5fbf";
  const STYLE = `
    :host { all: initial; }
    * { box-sizing: border-box; }
    .button, .bar { font: 600 16px/1.2 system-ui, sans-serif; }
    .button { position: fixed; right: 20px; bottom: 20px; z-index: 2147483646; max-width: calc(100vw - 40px); min-height: 48px;
      padding: 12px 20px; border: 0; border-radius: 24px; background: var(--color); color: var(--on-color); cursor: pointer;
      box-shadow: 0 3px 14px rgb(0 0 0 / 30%); overflow: hidden; text-overflow: ellipsis; }
    .region { position: fixed; right: 20px; bottom: 84px; z-index: 2147483647; width: 400px; height: 620px;
      max-width: calc(100vw - 40px); max-height: calc(100vh - 104px); display: flex; flex-direction: column;
      background: #fff; border-radius: 14px; box-shadow: 0 8px 34px rgb(0 0 0 / 35%); overflow: hidden; }
    .region[hidden] { display: none; }
    .bar { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding: 4px 4px 4px 16px;
      background: var(--color); color: var(--on-color); }
    .close { min-width: 44px; min-height: 44px; border: 0; border-radius: 8px; background: none; color: inherit;
      font: 24px/1 system-ui, sans-serif; cursor: pointer; }
    .button:focus-visible, .close:focus-visible { outline: 3px solid var(--on-color); outline-offset: -5px; }
    iframe { flex: 1; width: 100%; border: 0; background: #fff; }
    @media (prefers-reduced-motion: no-preference) {
      .region:not([hidden]) { animation: come 160ms ease-out; }
      @keyframes come { from { opacity: 0; transform: translateY(12px); } }
    }
    @media (max-width: 600px), (max-height: 480px) {
      .region { inset: 0; width: 100%; height: 100%; max-width: none; max-height: none; border-radius: 0; }
    }
    @media print { .button, .region { display: none; } }`;
  const small = matchMedia("(max-width: 600px), (max-height: 480px)");

  const make = (tag, attributes, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const host = make("div", { id: "guardian-widget", lang: language });
  const root = host.attachShadow({ mode: "open" });
  const button = make("button", {
    type: "button", class: "button", "aria-expanded": "false", "aria-controls": "region", "aria-haspopup": "dialog",
  }, label);
  const close = make("button", { type: "button", class: "close", "aria-label": say.close, title: say.close }, "×");
  const region = make("section", { id: "region", class: "region", role: "dialog", "aria-label": say.title, hidden: "" },
    make("div", { class: "bar" }, make("span", {}, label), close));
  let frame = null;

  const styled = () => {
    // A sheet that is constructed needs no `unsafe-inline` in the style-src of the page around.
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
    } catch { root.append(make("style", {}, STYLE)); }
    host.style.setProperty("--color", color);
    host.style.setProperty("--on-color", "#fff");
    // White on a light color, nobody could read.
    const parts = (getComputedStyle(button).backgroundColor.match(/[\d.]+/g) || []).slice(0, 3).map(Number);
    const linear = parts.map((part) => (part / 255 <= 0.04045 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    if (light > 0.179) host.style.setProperty("--on-color", "#111");
  };
  const show = (open) => {
    if (open && !frame) {
      // Only now: who never asks is no visitor.
      const address = new URL(server);
      address.searchParams.set("lang", language);
      frame = make("iframe", { title: say.title, src: address.href, allow: "clipboard-write" });
      region.append(frame);
    }
    if (open === !region.hidden) return;
    region.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (open && small.matches) region.setAttribute("aria-modal", "true"); else region.removeAttribute("aria-modal");
    (open ? frame : button).focus();
  };
  button.addEventListener("click", () => show(region.hidden));
  close.addEventListener("click", () => show(false));
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || region.hidden) return;
    event.stopPropagation();
    show(false);
  });
  // Keys that are pressed inside of the frame come to the frame alone; it says when it was Escape.
  addEventListener("message", (event) => {
    if (frame && event.source === frame.contentWindow && event.origin === server.origin && event.data === "guardian:close") {
      show(false);
    }
  });
  const begin = () => {
    root.append(button, region);
    document.body.append(host);
    styled();
  };
  if (document.body) begin(); else addEventListener("DOMContentLoaded", begin);
  window.guardianWidget = { open: () => show(true), close: () => show(false) };
})();
