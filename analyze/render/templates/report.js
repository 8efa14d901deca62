// SPDX-License-Identifier: Apache-2.0
// Searches, sorts and shows the digests and their details. charts.js draws the charts. Every text is inserted as plain
// text.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = new Map(data.digests.map((d) => [d.id, d]));
  const STEP = 100;

  const make = (tag, text, css) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== null) element.textContent = text;
    if (css) element.className = css;
    return element;
  };
  const count = (n) => (n === null || n === undefined ? "-" : Math.round(n).toLocaleString("en-US"));
  const duration = (ns) => {
    if (ns === null || ns === undefined) return "-";
    const value = Math.abs(ns), sign = ns < 0 ? "-" : "";
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], [data.micro, 1e3]])
      if (value >= size || unit === data.micro) {
        const scaled = value / size;
        return sign + scaled.toFixed(scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2) + unit;
      }
  };
  const ratio = (r) => (r === null || r === undefined ? "-" : "x" + r.toFixed(2));
  const plain = (r) => (r === null || r === undefined ? "-" : r.toFixed(2));
  const times = (r) => plain(r) + " times";
  const css = (verdict) => ({ slower: "bad", "errors changed": "bad", faster: "good", unstable: "warn" })[verdict] || "soft";

  charts.drawAll(data.charts);

  // ---- the table of digests ----
  const side = (d, name, key) => (d[name] ? d[name][key] : null);
  const columns = data.compares ? [
    ["verdict", (d) => d.verdict, null, "l"], ["statement", (d) => d.text, null, "l"], ["n", (d) => side(d, "b", "n"), count],
    ["p50 A", (d) => side(d, "a", "p50"), duration], ["p50 B", (d) => side(d, "b", "p50"), duration],
    ["p95 A", (d) => side(d, "a", "p95"), duration], ["p95 B", (d) => side(d, "b", "p95"), duration],
    ["ratio", (d) => d.ratio, ratio], ["lost", (d) => d.lost, duration],
    ["errors A", (d) => side(d, "a", "errors"), count], ["errors B", (d) => side(d, "b", "errors"), count],
  ] : [
    ["statement", (d) => d.text, null, "l"], ["n", (d) => side(d, "a", "n"), count],
    ["p50", (d) => side(d, "a", "p50"), duration], ["p95", (d) => side(d, "a", "p95"), duration],
    ["p99", (d) => side(d, "a", "p99"), duration], ["total", (d) => side(d, "a", "total"), duration],
    ["errors", (d) => side(d, "a", "errors"), count], ["tape p50", (d) => side(d, "a", "tape_p50"), duration],
    ["tape p95", (d) => side(d, "a", "tape_p95"), duration],
  ];
  const meanings = {
    n: "number of events that B executed", ratio: "median ratio of all events: time in B divided by time in A",
    lost: "additional time in B, summed over the events that both sides executed",
  };
  const state = { rows: data.digests, shown: STEP, sort: null, down: true, verdict: null, words: [] };
  const body = document.querySelector("#digests tbody"), more = document.getElementById("more"), all = document.getElementById("all");
  const row = (d) => {
    const line = make("tr");
    line.id = "r" + d.id;
    for (const [name, value, shown, where] of columns) {
      const cell = make("td", null, where);
      cell.dataset.label = name;
      if (name === "verdict") {
        const link = make("a", value(d)); link.href = "#d" + d.id;
        cell.append(link);
        if (name === "verdict") { cell.classList.add("verdict"); link.className = css(d.verdict); cell.append(make("br"), make("small", d.why, "soft")); }
      } else if (name === "statement") {
        const text = make("code", d.text.length > 160 ? d.text.slice(0, 157) + "..." : d.text), link = make("a");
        cell.classList.add("statement");
        if (data.compares) cell.append(text); else { link.href = "#d" + d.id; link.append(text); cell.append(link); }
      }
      else cell.textContent = shown(value(d));
      line.append(cell);
    }
    return line;
  };
  const show = () => {
    body.replaceChildren(...state.rows.slice(0, state.shown).map(row));
    more.hidden = all.hidden = state.rows.length <= state.shown;
    more.textContent = `show ${Math.min(STEP, state.rows.length - state.shown)} more of ${state.rows.length.toLocaleString("en-US")}`;
    document.getElementById("matches").textContent = `${state.rows.length.toLocaleString("en-US")} digests`;
  };
  const choose = () => {
    state.rows = data.digests.filter((d) => (!state.verdict || d.verdict === state.verdict) &&
      state.words.every((w) => d.text.toLowerCase().includes(w) || d.id.startsWith(w)));
    if (state.sort !== null) {
      const value = columns[state.sort][1], sign = state.down ? -1 : 1;
      state.rows.sort((x, y) => {
        const a = value(x), b = value(y);
        if (a === b) return 0;
        if (a === null || a === undefined) return 1;
        if (b === null || b === undefined) return -1;
        return (a < b ? -1 : 1) * sign;
      });
    }
    state.shown = STEP;
    show();
  };
  const head = document.querySelector("#digests thead tr");
  columns.forEach(([name, , , where], number) => {
    const cell = make("th", null, where), button = make("button", name);
    button.type = "button";
    if (meanings[name]) button.title = meanings[name];
    button.addEventListener("click", () => {
      state.down = state.sort === number ? !state.down : where !== "l";
      state.sort = number;
      head.querySelectorAll("th").forEach((th) => th.removeAttribute("aria-sort"));
      cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      choose();
    });
    cell.append(button); head.append(cell);
  });
  document.getElementById("search").addEventListener("input", (event) => {
    state.words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    choose();
  });
  const press = (verdict) => {
    state.verdict = verdict;
    document.querySelectorAll(".verdicts button").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.verdict === verdict)));
  };
  document.querySelectorAll(".verdicts button").forEach((button) => button.addEventListener("click", () => {
    press(state.verdict === button.dataset.verdict ? null : button.dataset.verdict);
    choose();
    document.getElementById("digests").scrollIntoView({ block: "nearest" });
  }));
  more.addEventListener("click", () => { state.shown += STEP; show(); });
  all.addEventListener("click", () => { state.shown = state.rows.length; show(); });

  // ---- statement details ----
  const details = document.getElementById("details");
  const table = (heads, rows) => {
    const box = make("div", null, "wide"), whole = make("table"), top = make("tr"), inner = make("tbody"), first = make("thead");
    heads.forEach((text, i) => top.append(make("th", text, i ? null : "l")));
    first.append(top);
    rows.forEach((cells) => { const line = make("tr"); cells.forEach((text, i) => { const cell = make("td", text, i ? null : "l"); cell.dataset.label = heads[i]; line.append(cell); }); inner.append(line); });
    whole.append(first, inner); box.append(whole);
    return box;
  };
  const sides = data.compares ? ["a", "b"] : ["a"];
  const quantiles = (d) => {
    const names = [["n", "n", count], ["errors", "errors", count], ["p50", "p50", duration], ["p90", "p90", duration], ["p95", "p95", duration],
      ["p99", "p99", duration], ["p99.9", "p999", duration], ["max", "max", duration], ["total", "total", duration], ["rows sent", "rows_sent", count]];
    return table(["", ...sides.map((s) => s.toUpperCase()), ...(data.compares ? ["B / A"] : [])], names.map(([name, key, shown]) => {
      const values = sides.map((s) => side(d, s, key));
      const both = data.compares && values[0] && values[1] && shown === duration ? ratio(values[1] / values[0]) : "";
      return [name, ...values.map(shown), ...(data.compares ? [both] : [])];
    }));
  };
  const colour = { field: "side", type: "nominal", title: null, scale: { domain: sides.map((s) => s.toUpperCase()), range: ["#2f6fdb", "#d9730d"].slice(0, sides.length) },
    legend: sides.length > 1 ? { orient: "top", symbolType: "stroke" } : null };
  const distribution = (d) => {
    const rows = [];
    for (const s of sides) {
      const total = (d.distribution[s] || []).reduce((sum, [, n]) => sum + n, 0);
      for (const [height, n] of d.distribution[s] || []) rows.push({ side: s.toUpperCase(), ms: 2 ** (height / 4) / 1e6, share: 100 * n / total, n });
    }
    return { height: 150, data: { values: rows }, mark: { type: "line", interpolate: "step-after" }, encoding: {
      x: { field: "ms", type: "quantitative", scale: { type: "log" }, title: "service time, ms" },
      y: { field: "share", type: "quantitative", title: "% of events" }, color: colour,
      tooltip: [{ field: "side" }, { field: "ms", format: ",.3~g" }, { field: "n", format: "," }] } };
  };
  const overTime = (d) => {
    const rows = [];
    for (const s of sides) for (const [bin, p50, p95] of d.over_time[s] || [])
      rows.push({ side: s.toUpperCase(), part: 100 * bin / 40, ms: p50 / 1e6, what: "p50" }, { side: s.toUpperCase(), part: 100 * bin / 40, ms: p95 / 1e6, what: "p95" });
    return { height: 150, data: { values: rows }, mark: { type: "line", point: { size: 12 } },
      params: [{ name: "zoom", select: { type: "interval", encodings: ["x"] }, bind: "scales" }], encoding: {
      x: { field: "part", type: "quantitative", title: "% of the tape's time" }, y: { field: "ms", type: "quantitative", title: "ms" },
      color: colour, strokeDash: { field: "what", type: "nominal", title: null,
        legend: { orient: "top", symbolType: "stroke", symbolStrokeColor: "#8a94a3" } },
      tooltip: [{ field: "side" }, { field: "what" }, { field: "ms", format: ",.3~g" }] } };
  };
  const figure = (title, spec) => {
    const whole = make("figure"), place = make("div", null, "chart");
    whole.append(make("figcaption", title), place);
    return [whole, () => charts.draw(place, spec)];
  };
  const plans = (d) => {
    const parts = [make("h3", "Query plans")];
    for (const text of d.plan.changes) parts.push(make("p", text, "bad"));
    if (d.plan.work) parts.push(make("p", d.plan.work, "bad"));
    const both = make("div", null, "two");
    for (const s of sides) {
      const box = make("div"), plan = d.plan[s];
      box.append(make("b", s.toUpperCase(), s));
      const list = make("ul");
      plan.tables.forEach((text) => list.append(make("li", text)));
      if (plan.tables.length) box.append(list); else box.append(make("p", plan.error || "no recorded plan", "soft"));
      if (plan.tree) box.append(make("pre", plan.tree));
      if (d.plan.server_digest[s]) box.append(make("p", "the server's digest: " + d.plan.server_digest[s], "sub"));
      both.append(box);
    }
    parts.push(both);
    return parts;
  };
  const open = (d) => {
    const parts = [], later = [], close = make("button", "close", "button close");
    close.type = "button";
    close.addEventListener("click", () => { location.hash = "digests"; });
    const title = make("h2", d.verdict ? d.verdict : "Statement"), word = make("small", d.why ? ": " + d.why : "", "soft");
    title.className = css(d.verdict); title.append(word);
    parts.push(close, title, make("p", `digest ${d.id}, ${d.class}`, "sub"), make("pre", d.pretty || d.text));
    if (d.low !== null && d.high !== null)
      parts.push(make("p", [`B takes ${times(d.ratio)} as long as A (90\u00a0% interval: ${plain(d.low)} to ${plain(d.high)} times).`,
        d.detectable ? `A change to ${times(d.detectable)} as long would have been detected.` : "",
        d.p95[0] !== null ? `The slowest 5\u00a0% begin at ${plain(d.p95[0])} to ${plain(d.p95[1])} times A's time (95\u00a0% interval).` : "",
        d.tail_share !== null ? `This digest caused ${(100 * d.tail_share).toFixed(0)}\u00a0% of the time that the slowest 1\u00a0% of all statements lost or gained.` : ""].filter(Boolean).join(" ")));
    const both = make("div", null, "two"), right = make("div");
    both.append(quantiles(d), right);
    parts.push(both);
    const one = figure("Distribution", distribution(d));
    right.append(one[0]); later.push(one[1]);
    if (Object.keys(d.over_time).length) { const two = figure("Over time", overTime(d)); parts.push(two[0]); later.push(two[1]); }
    if (d.plan) parts.push(...plans(d));
    if (d.errors.length) {
      parts.push(make("h3", "Errors"), table(["what", "before", "after", "message", "events", "first at"], d.errors.map((e) =>
        [e.what === "both" ? "fails on both sides, but not on the tape" : e.what, (e.before || "") + " " + (e.error_before || ""), e.after, e.error || "", count(e.events), `session ${e.first_session}, event ${e.first_seq}`])));
    }
    if (d.sample) parts.push(make("h3", "Sample"), make("pre", d.sample));
    details.replaceChildren(...parts);
    details.hidden = false;
    later.forEach((run) => run());
    details.scrollIntoView({ block: "start" });
    close.focus({ preventScroll: true });
  };
  // Scrolls to a digest's row in the table of all digests and clears any search.
  const lead = (d) => {
    state.words = []; document.getElementById("search").value = "";
    press(null); choose();
    state.shown = Math.max(STEP, state.rows.indexOf(d) + 1);
    show();
    const line = document.getElementById("r" + d.id);
    line.classList.add("chosen");
    line.scrollIntoView({ block: "center" });
    line.querySelector("a").focus({ preventScroll: true });
  };
  const follow = () => {
    const d = byId.get(location.hash.replace(/^#d/, "")), of = byId.get(location.hash.replace(/^#r/, ""));
    if (d) open(d); else { details.hidden = true; details.replaceChildren(); }
    if (of) lead(of);
  };
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => { const box = document.getElementById("servers"); if (box) box.open = true; });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement.tagName !== "INPUT") { event.preventDefault(); document.getElementById("search").focus(); }
    if (event.key === "Escape" && !details.hidden) location.hash = "digests";
  });
  // On a narrow screen each row is a card, so each cell needs the name of its column.
  document.querySelectorAll("table").forEach((whole) => {
    const names = [...whole.querySelectorAll("thead th")].map((th) => th.textContent);
    whole.querySelectorAll("tbody tr").forEach((line) => [...line.children].forEach((cell, i) => { cell.dataset.label ??= names[i] ?? ""; }));
  });
  choose();
  follow();
  document.documentElement.dataset.ready = "1";
})();
