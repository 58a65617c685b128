(() => {
  const WORDS = __WORDS__;
  const VISITORS = __VISITORS__;
  const TITLE = __TITLE__;  // characters of the longest title
  const framed = window.parent !== window;
  const stored = (name) => { try { return localStorage.getItem(name) || ""; } catch { return ""; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };
  const here = () => new URL(location.href);
  const conversation = () => here().searchParams.get("c") || "";
  // The id of a conversation whose first message is not accepted yet; the address does not have it.
  let planned = "";
  const current = () => conversation() || planned;
  const show = (id, how = "pushState") => {
    const url = here();
    if (id) url.searchParams.set("c", id); else url.searchParams.delete("c");
    url.hash = "";
    planned = "";
    if (url.href !== location.href) history[how](null, "", url);
    exporting();
  };
  const fresh = () => [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  // Whether the server has a conversation, as its last list says: "true", "false", or nothing of it.
  const listedAs = (id) => {
    const list = document.querySelector("#g-threads [data-conversation]");
    return list && list.dataset.conversation === id ? list.dataset.known : "";
  };
  const exporting = () => {
    const link = document.querySelector("[data-act=export]");
    if (!link) return;
    link.hidden = !conversation() || listedAs(conversation()) !== "true";
    const share = document.querySelector("[data-act=share]");
    if (share) share.hidden = link.hidden;
    document.querySelector("[data-act=more]").hidden = !document.querySelector("#g-more > :not([hidden])");
    link.href = `/page/export/${encodeURIComponent(conversation())}.md?lang=${language()}`;
  };
  const narrow = () => matchMedia("(max-width: 760px)").matches;
  const language = () => stored("guardian-language") || here().searchParams.get("lang") || "";  // empty: the browser's
  // Events may overtake each other on their way: the newest says what is shown.
  let order = 0;
  const place = () => JSON.stringify({
    order: ++order, conversation: current(), language: language(), act: waiting, narrow: narrow(),
    find: finding() ? finding().value : "", minutes: -new Date().getTimezoneOffset(),
  });
  const finding = () => document.querySelector("#g-search");
  let typed = 0;
  document.addEventListener("input", (event) => {
    if (event.target !== finding()) return;
    clearTimeout(typed);
    typed = setTimeout(() => act({ name: "look" }), 250);
  });
  let waiting = {};
  let trigger = null;
  // Another tab on the same conversation shows at once what is begun here.
  const tabs = "BroadcastChannel" in window ? new BroadcastChannel("guardian") : null;
  let told = "";
  let begun = false;
  const act = (what) => { waiting = what; if (trigger) trigger("select", {}); };
  const box = () => document.querySelector("#g-box textarea");
  const fill = (text) => {
    const field = box();
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const write = (text) => { fill(text); box().focus(); };

  // ------------------------------------------------------------------------------- refusals, and a connection that is lost

  const say = () => {
    const known = [language(), ...navigator.languages.map((name) => name.split("-")[0])];
    return WORDS[known.find((name) => WORDS[name]) || Object.keys(WORDS)[0]];
  };
  const trouble = (text, button) => {
    let place = document.querySelector("#g-trouble");
    if (!text) { if (place) place.remove(); return; }
    if (!place) {
      place = document.createElement("div");
      place.id = "g-trouble";
      place.setAttribute("role", "alert");
      const foot = document.querySelector("#g-foot");
      if (foot) foot.prepend(place); else document.body.prepend(place);
    }
    const line = document.createElement("p");
    line.className = "notice";
    line.append(text);
    if (button) {
      const again = document.createElement("button");
      again.type = "button";
      again.textContent = say().reload;
      again.onclick = () => location.reload();
      line.append(" ", again);
    }
    place.replaceChildren(line);
  };
  const refused = async (answer) => {
    let code = "";
    try { code = (await answer.clone().json()).error.code; } catch { /* not one of ours */ }
    const seconds = answer.headers.get("Retry-After") || "60";
    const words = say();
    if (answer.status === 429) trouble(words.too_many.replace("{seconds}", seconds));
    else if (answer.status === 401) trouble(words.unauthorized, true);
    else if (answer.status === 413) trouble(words.too_large);
    else if (answer.status === 503 && code !== "ConfigError") trouble(words.closing, true);
    else trouble(`${words.failed.replace("{why}", code || answer.status)}. ${words.failed_way_out}`, true);
  };
  const kept = (name, value) => {
    try {
      if (value === undefined) return sessionStorage.getItem(name) || "";
      if (value) sessionStorage.setItem(name, value); else sessionStorage.removeItem(name);
    } catch { /* private window */ }
    return "";
  };
  const keep = () => { if (box()) kept("guardian-text", box().value); };
  const bare = window.fetch.bind(window);
  // Where the browser keeps no cookie, as in a frame of another site, the page itself says which visitor it is.
  let token = kept("guardian-visitor");
  const asked = (what, options) => {
    if (!token) return bare(what, options);
    const headers = new Headers((options && options.headers) || what.headers || {});
    headers.set("X-Guardian-Visitor", token);
    return bare(what, { ...options, headers });
  };
  const introduced = async () => {
    const answer = await bare("/page/visitor", { method: "POST" });
    if (!answer.ok) return answer;
    token = (await answer.json()).token;
    kept("guardian-visitor", token);
    return null;
  };
  let leaving = false;
  let away = false;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  // Where it breaks each time (a proxy that passes no streams on), the page would never come to rest.
  const often = () => {
    const times = kept("guardian-reloads").split(" ").filter((time) => time > Date.now() - 60000);
    kept("guardian-reloads", [...times, Date.now()].join(" "));
    return times.length >= 3;
  };
  const lost = async () => {
    if (away || leaving) return;
    away = true;
    keep();
    trouble(say().lost, true);
    // Twice: a server that is ending may answer once more, and what is loaded then is the browser's page of errors.
    for (let pause = 500, well = 0; well < 2; pause = well ? 700 : Math.min(pause * 2, 4000)) {
      await wait(pause);
      if (document.visibilityState === "hidden") continue;
      try { well = (await asked("/healthz", { cache: "no-store" })).ok ? well + 1 : 0; } catch { well = 0; }
    }
    if (!often()) { keep(); location.reload(); }
  };
  let heard = 0;  // when something came on the stream; 0: none is open
  const watched = (answer) => {
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let tail = "";
    heard = Date.now();
    const body = new ReadableStream({
      async pull(out) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            heard = 0;
            if (!tail.includes("close_stream")) lost();
            out.close();
            return;
          }
          heard = Date.now();
          tail = (tail + decoder.decode(value, { stream: true })).slice(-300);
          out.enqueue(value);
        } catch (error) {
          heard = 0;
          if (error.name !== "AbortError") lost();
          out.error(error);
        }
      },
      cancel(reason) { heard = 0; return reader.cancel(reason); },
    });
    return new Response(body, { status: answer.status, headers: answer.headers });
  };
  // The server says something at least every 15 seconds; a phone that slept may not know that its connection is gone.
  const silent = () => { if (heard && Date.now() - heard > 45000) lost(); };
  setInterval(silent, 5000);
  addEventListener("pagehide", () => { leaving = true; keep(); });
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  window.fetch = async (what, options) => {
    const path = new URL(what.url || what, document.baseURI).pathname;
    // By this Gradio asks whether the server is back, and would load the page again and again.
    if (path.endsWith("/gradio_api/app_id")) { lost(); return new Response("", { status: 503 }); }
    const joins = path.endsWith("/gradio_api/queue/join");
    const listens = path.endsWith("/gradio_api/queue/data");
    if (!path.startsWith("/gradio_api/") || new URL(what.url || what, document.baseURI).origin !== location.origin) {
      return bare(what, options);
    }
    if (!joins && !listens) return asked(what, options);
    let answer;
    try {
      answer = await asked(what, options);
      if (joins && answer.status === 401 && VISITORS) answer = (await introduced()) || (await asked(what, options));
    }
    catch (error) { if (error.name !== "AbortError") lost(); throw error; }
    if (joins && !answer.ok) await refused(answer);
    else if (joins && !away) trouble("");
    else if (listens && !answer.ok) lost();
    return listens && answer.ok && answer.body ? watched(answer) : answer;
  };

  const dark = (on) => document.body.classList.toggle("dark", on);
  const clip = async (text, button) => {
    try { await navigator.clipboard.writeText(text); }
    catch {
      const field = document.createElement("textarea");
      field.value = text; document.body.append(field); field.select();
      document.execCommand("copy"); field.remove(); button.focus();
    }
  };
  const copy = async (button) => {
    const link = button.dataset.link;
    await clip(link ? new URL(link, location.origin).href : button.dataset.text, button);
    const before = button.textContent;
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  const COPY = "M7 7V3h10v10h-4M3 7h10v10H3z";
  const DONE = "M4 10l4 4 8-9";
  const named = (button, name, path) => {
    button.setAttribute("aria-label", name);
    button.title = name;
    button.innerHTML = `<svg viewBox="0 0 20 20" aria-hidden="true"><path d="${path}"/></svg>`;
  };
  // Each block of code has a button that copies it, and only the code.
  const copyable = () => {
    for (const pre of document.querySelectorAll("#g-chat .answer pre")) {
      if (pre.parentElement.className === "code") continue;
      const frame = document.createElement("div");
      frame.className = "code";
      pre.replaceWith(frame);
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.act = "code";
      named(button, say().copy_code, COPY);
      frame.append(pre, button);
    }
  };
  // What the header has no room for on a phone.
  const opening = (open) => {
    document.body.classList.toggle("more-open", open);
    const button = document.querySelector("[data-act=more]");
    if (button) button.setAttribute("aria-expanded", String(open));
  };
  const made = (tag, properties, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  // In a frame of another site, browsers open no `prompt` and no `confirm`. Of what is asked without a text to change,
  // the answer is empty; `null` where it was broken off.
  const answered = (button, text, value) => new Promise((done) => {
    const field = value === undefined ? null : made("input", { type: "text", value, maxLength: TITLE, ariaLabel: text });
    const cancel = made("button", { type: "button", textContent: say().cancel });
    const deed = made("button", { type: "submit", className: "main", textContent: button.title });
    const form = made("form", {}, made("h2", { textContent: button.ariaLabel }), made("p", { textContent: text }),
      ...(field ? [field] : []), made("div", { className: "choices" }, deed, cancel));
    const dialog = made("dialog", { className: "question", ariaLabel: button.ariaLabel }, form);
    cancel.onclick = () => dialog.close();
    form.onsubmit = (event) => { event.preventDefault(); dialog.close("done"); };
    // What is asked before something is lost: who only presses Enter loses nothing.
    (field || cancel).autofocus = true;
    dialog.onclose = () => {
      dialog.remove();
      // The list may have been drawn anew below the dialog.
      const { act, thread } = button.dataset;
      const drawn = document.querySelector(`#g-threads [data-act=${act}][data-thread="${CSS.escape(thread)}"]`);
      if (drawn) drawn.focus();
      done(dialog.returnValue === "done" ? (field ? field.value : "") : null);
    };
    document.body.append(dialog);
    dialog.showModal();
    if (field) field.select();
  });
  const acts = {
    menu: () => document.body.classList.toggle("side-open"),
    more: () => opening(!document.body.classList.contains("more-open")),
    theme: () => {
      const on = !document.body.classList.contains("dark");
      dark(on); store("guardian-theme", on ? "dark" : "light");
    },
    language: (button) => { store("guardian-language", button.dataset.language); location.reload(); },
    copy,
    code: async (button) => {
      await clip(button.parentElement.querySelector("code").textContent, button);
      named(button, say().copied, DONE);
      button.classList.add("done");
      setTimeout(() => { button.classList.remove("done"); named(button, say().copy_code, COPY); }, 1500);
    },
    example: (button) => { write(button.dataset.text); document.querySelector("#g-send").click(); },
    choose: (button) => acts.example(button),
    open: (button) => { show(button.dataset.thread); document.body.classList.remove("side-open"); act({ name: "show" }); },
    delete: async (button) => {
      if (await answered(button, button.dataset.sure) === null) return;
      act({ name: "delete", thread: button.dataset.thread });
    },
    pin: (button) => act({ name: "pin", thread: button.dataset.thread, on: button.dataset.on }),
    rename: async (button) => {
      const title = await answered(button, button.dataset.ask, button.dataset.title);
      if (title !== null) act({ name: "rename", thread: button.dataset.thread, title });
    },
    again: (button) => { act({ name: "again", turn: button.dataset.turn }); },
    // What was asked stays on record: the changed question is another turn.
    edit: (button) => write(button.closest("article.turn").querySelector(".question").lastChild.textContent),
    share: () => act({ name: "share" }),
    finish: () => act({ name: "finish" }),
    drop: () => act({ name: "drop" }),
    good: (button) => act({ name: "good", turn: button.dataset.turn }),
    bad: (button) => act({ name: "bad", turn: button.dataset.turn }),
    comment: (button) => act({ name: "comment", turn: button.dataset.turn, text: button.previousElementSibling.value }),
    skip: (button, event) => {
      event.preventDefault();
      const turns = document.querySelectorAll("#g-talk article.turn");
      if (button.dataset.to === "box") box().focus(); else go(turns[turns.length - 1] || document.querySelector("#g-chat"));
    },
  };
  const go = (target) => {
    target.tabIndex = -1;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest" });
  };
  // In a frame of another site, a tab of its own would be somebody else: what needs the visitor opens here.
  const inside = async (link) => {
    const answer = await asked(link.href);
    if (link.dataset.act === "export") {
      if (!answer.ok) { await refused(answer); return; }
      const file = document.createElement("a");
      file.href = URL.createObjectURL(await answer.blob());
      file.download = decodeURIComponent((answer.headers.get("Content-Disposition") || "").split("''")[1] || "chat.md");
      file.click();
      setTimeout(() => URL.revokeObjectURL(file.href), 60000);
      return;
    }
    const main = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    if (!main) { await refused(answer); return; }
    const done = made("button", { type: "button", textContent: say().close, onclick: () => dialog.close() });
    const dialog = made("dialog", { className: "passage" }, done, ...main.childNodes);
    dialog.onclose = () => { dialog.remove(); link.focus(); };
    document.body.append(dialog);
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const menu = document.body.classList.contains("more-open");
    if (!event.target.closest || !event.target.closest("[data-act=more]")) opening(false);
    // The chosen item is hidden with its menu, and the focus would be nowhere; what it opens may take it from here.
    if (menu && event.target.closest && event.target.closest("#g-more")) document.querySelector("[data-act=more]").focus();
    const link = (framed || token) && event.target.closest && event.target.closest("a[href^='/page/']");
    if (link) { event.preventDefault(); inside(link); return; }
    // The page's base is the server's address without the conversation: followed as it is, `#place` would leave it.
    const cite = event.target.closest && event.target.closest("a.cite");
    const source = cite && document.getElementById(cite.getAttribute("href").slice(1));
    if (source) { event.preventDefault(); go(source); return; }
    const button = event.target.closest && event.target.closest("[data-act]");
    const doing = button && button.closest("#g-header, #g-side, #g-talk") && acts[button.dataset.act];
    if (doing) { doing(button, event); return; }
    if (document.body.classList.contains("side-open") && !event.target.closest("#g-side, dialog")) {
      document.body.classList.remove("side-open");
    }
  });
  // Where the focus went elsewhere, the menu closes; a window that is left, or a press on nothing, moves it nowhere.
  document.addEventListener("focusout", (event) => {
    const to = event.relatedTarget;
    if (to && event.target.closest && event.target.closest("#g-more, [data-act=more]") &&
      !to.closest("#g-more, [data-act=more]")) opening(false);
  });
  // What a citation shows stands below it, or above where there is no room, inside the window.
  const hinted = (event) => {
    const citing = event.target.closest && event.target.closest(".citing");
    if (!citing) return;
    citing.classList.remove("hush");
    const hint = citing.querySelector(".hint");
    const at = citing.getBoundingClientRect();
    const { width, height } = hint.getBoundingClientRect();
    const below = at.bottom + height + 4 < innerHeight || at.top < height + 4;
    hint.style.left = `${Math.max(8, Math.min(at.left - 12, document.documentElement.clientWidth - width - 8))}px`;
    hint.style.top = `${below ? at.bottom : at.top - height}px`;
  };
  for (const event of ["mouseover", "focusin"]) document.addEventListener(event, hinted);
  document.addEventListener("keydown", (event) => {
    const written = event.key === "Enter" && event.target.closest && event.target.closest("#g-talk .comment input");
    if (written) { event.preventDefault(); written.nextElementSibling.click(); }
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    const shown = document.querySelectorAll(".citing:is(:hover, :focus-within):not(.hush)");
    for (const citing of shown) citing.classList.add("hush");
    if (shown.length) return;
    if (document.body.classList.contains("more-open")) {
      opening(false);
      document.querySelector("[data-act=more]").focus();
    } else if (document.body.classList.contains("side-open")) document.body.classList.remove("side-open");
    // Nothing secret is in it: whichever page is around may know that its frame wants to be closed.
    else if (framed) window.parent.postMessage("guardian:close", "*");
  });
  addEventListener("popstate", () => act({ name: "show" }));
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") { keep(); return; }
    silent();
    if (!away) act({ name: "look" });
  });
  if (tabs) tabs.onmessage = (event) => {
    if (!current() || event.data.conversation !== current()) return;
    told = event.data.turn;
    act({ name: "look" });
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
  // What was written when the page had to be loaded anew, unless it was sent after all.
  const restored = () => {
    const text = kept("guardian-text");
    kept("guardian-text", "");
    const questions = [...document.querySelectorAll("#g-talk .question")];
    const sent = questions.length && questions[questions.length - 1].lastChild.textContent.trim() === text.trim();
    if (text && !sent && !box().value) fill(text);
  };
  // An answer that has come is told to screen readers, once; those that were there before are not.
  let known = { of: null, turns: new Set() };
  const announce = () => {
    const done = [...document.querySelectorAll("#g-chat article.turn")].filter((turn) => turn.querySelector(".tools"));
    const last = done[done.length - 1];
    const fresh = known.of === current() && last && !known.turns.has(last.id);
    known = { of: current(), turns: new Set(done.map((turn) => turn.id)) };
    if (!fresh) return;
    const parts = [...last.querySelectorAll(".lead .chip, .answer, .offered li")].map((part) => part.innerText);
    document.querySelector("#g-said").textContent = parts.join("\n");
  };
  // Stop is there while a turn runs, and Send while none does.
  const busy = () => {
    if (document.body) document.body.classList.toggle("busy", !!document.querySelector("#g-live article.turn"));
  };
  new MutationObserver(busy).observe(document.documentElement, { childList: true, subtree: true });
  const listen = () => {
    const said = document.createElement("div");
    said.id = "g-said";
    said.className = "sr";
    said.setAttribute("aria-live", "polite");
    document.body.append(said);
  };
  if (document.body) listen(); else addEventListener("DOMContentLoaded", listen);
  window.guardian = {
    ready: (given) => { trigger = given; },
    place: () => [place()],
    send: (text) => {
      if (!current()) planned = fresh();
      return [text, place()];
    },
    // Of a conversation that the server has, the address holds the id; of no other.
    listed: () => {
      if (planned && listedAs(planned) === "true") show(planned);
      if (conversation() && listedAs(conversation()) === "false") show("", "replaceState");
      exporting();
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
        if (!narrow()) box().focus();
        restored();
      }
      copyable();
      for (const id of opened) { const panel = document.getElementById(id); if (panel) panel.open = true; }
      const turns = document.querySelectorAll("#g-talk article.turn");
      const last = turns[turns.length - 1];
      if (last && last.id + turns.length !== window.guardian.last) {
        window.guardian.last = last.id + turns.length;
        last.scrollIntoView({ block: "start" });
      }
      announce();
      const running = document.querySelector("#g-live article.turn");
      if (tabs && running && running.id !== told) {
        told = running.id;
        tabs.postMessage({ conversation: current(), turn: told });
      }
      exporting();
    },
  };
})();
