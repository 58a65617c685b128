"""What runs in the browser: the address holds which conversation is shown; buttons say by `data-act` what they do."""

from __future__ import annotations

from typing import Final

HEAD: Final = r"""
<script>
(() => {
  const stored = (name) => { try { return localStorage.getItem(name) || ""; } catch { return ""; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };
  const here = () => new URL(location.href);
  const conversation = () => here().searchParams.get("c") || "";
  const show = (id) => {
    const url = here();
    if (id) url.searchParams.set("c", id); else url.searchParams.delete("c");
    url.hash = "";
    if (url.href !== location.href) history.pushState(null, "", url);
    exporting();
  };
  const fresh = () => [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const exporting = () => {
    const link = document.querySelector("[data-act=export]");
    if (!link) return;
    link.hidden = !conversation();
    link.href = `/page/export/${encodeURIComponent(conversation())}.md?lang=${language()}`;
  };
  const language = () => stored("guardian-language");  // empty: the browser's
  const place = () => JSON.stringify({ conversation: conversation(), language: language(), act: waiting });
  let waiting = {};
  let trigger = null;
  // Another tab on the same conversation shows at once what is begun here.
  const tabs = "BroadcastChannel" in window ? new BroadcastChannel("guardian") : null;
  let told = "";
  let begun = false;
  const act = (what) => { waiting = what; if (trigger) trigger("select", {}); };
  const box = () => document.querySelector("#g-box textarea");
  const write = (text) => {
    const field = box();
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  };
  const dark = (on) => document.body.classList.toggle("dark", on);
  const copy = async (button) => {
    const text = button.dataset.text;
    try { await navigator.clipboard.writeText(text); }
    catch {
      const field = document.createElement("textarea");
      field.value = text; document.body.append(field); field.select();
      document.execCommand("copy"); field.remove(); button.focus();
    }
    const before = button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  const acts = {
    menu: () => document.body.classList.toggle("side-open"),
    theme: () => {
      const on = !document.body.classList.contains("dark");
      dark(on); store("guardian-theme", on ? "dark" : "light");
    },
    language: (button) => { store("guardian-language", button.dataset.language); location.reload(); },
    copy,
    example: (button) => { write(button.dataset.text); document.querySelector("#g-send").click(); },
    open: (button) => { show(button.dataset.thread); document.body.classList.remove("side-open"); act({ name: "show" }); },
    delete: (button) => {
      if (!confirm(button.dataset.sure)) return;
      if (button.dataset.thread === conversation()) show("");
      act({ name: "delete", thread: button.dataset.thread });
    },
    again: (button) => { act({ name: "again", turn: button.dataset.turn }); },
    finish: () => act({ name: "finish" }),
    drop: () => act({ name: "drop" }),
    good: (button) => act({ name: "good", turn: button.dataset.turn }),
    bad: (button) => act({ name: "bad", turn: button.dataset.turn }),
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-act]");
    const doing = button && button.closest("#g-header, #g-side, #g-talk") && acts[button.dataset.act];
    if (doing) { doing(button); return; }
    if (document.body.classList.contains("side-open") && !event.target.closest("#g-side")) {
      document.body.classList.remove("side-open");
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.body.classList.remove("side-open");
  });
  addEventListener("popstate", () => act({ name: "show" }));
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") act({ name: "show" });
  });
  if (tabs) tabs.onmessage = (event) => {
    if (event.data.conversation !== conversation()) return;
    told = event.data.turn;
    act({ name: "show" });
  };
  const opened = new Set();
  document.addEventListener("toggle", (event) => {
    const panel = event.target;
    if (panel.id) { if (panel.open) opened.add(panel.id); else opened.delete(panel.id); }
  }, true);
  const themed = () => {
    const wanted = stored("guardian-theme");
    dark(wanted ? wanted === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  };
  window.guardian = {
    ready: (given) => { trigger = given; },
    place: () => [place()],
    send: (text) => {
      if (!conversation()) show(fresh());
      return [text, place()];
    },
    fresh: () => { show(""); document.body.classList.remove("side-open"); waiting = { name: "show" }; return [place()]; },
    // The head is drawn by the server once it knows the reader's language.
    headed: () => {
      const bar = document.querySelector("#g-header .bar");
      if (!bar) return;
      document.documentElement.lang = bar.dataset.language;
      document.title = bar.dataset.title;
      themed(); exporting();
    },
    // What was open stays open, and the newest turn is seen.
    drawn: () => {
      if (!begun && box()) {
        begun = true;
        // On a phone the keyboard would hide half of the page.
        if (matchMedia("(min-width: 761px)").matches) box().focus();
      }
      for (const id of opened) { const panel = document.getElementById(id); if (panel) panel.open = true; }
      const turns = document.querySelectorAll("#g-talk article.turn");
      const last = turns[turns.length - 1];
      if (last && last.id + turns.length !== window.guardian.last) {
        window.guardian.last = last.id + turns.length;
        last.scrollIntoView({ block: "start" });
      }
      const running = document.querySelector("#g-live article.turn");
      if (tabs && running && running.id !== told) {
        told = running.id;
        tabs.postMessage({ conversation: conversation(), turn: told });
      }
      exporting();
    },
  };
})();
</script>
"""

READY: Final = (
    "window.guardian.ready(trigger); window.guardian.headed(); watch('value', () => window.guardian.headed());"
)
DRAWN: Final = "watch('value', () => window.guardian.drawn());"
PLACE: Final = "() => window.guardian.place()"
SEND: Final = "(text) => window.guardian.send(text)"
FRESH: Final = "() => window.guardian.fresh()"
