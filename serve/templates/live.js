// SPDX-License-Identifier: Apache-2.0
// Requests the state of the run every second and draws it. Sends the user's requests to the run.
(() => {
  "use strict";
  const EVERY = 1000, CONFIRM = 4000;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const places = [...document.querySelectorAll("[data-live]")];
  const WORDS = { opening: "opening sessions", running: "running", paused: "paused", stopping: "stopping", ended: "has ended", killed: "was killed" };
  const TONES = { running: "live", paused: "warn", stopping: "warn", killed: "bad" };
  const views = new Map();
  let seen = "", last = null, state = null;

  const drawAll = () => Promise.all(places.map(async (place) => {
    const name = place.dataset.live, spec = structuredClone(data.charts[name]);
    spec.data.values = (last && last[name]) || [];
    const drawn = await charts.draw(place, spec);
    if (drawn) views.set(name, drawn.view);
  }));
  const update = async (lines) => {
    last = lines;
    for (const [name, view] of views) await view.data("rows", lines[name] || []).resize().runAsync();
  };
  const show = ({ state: now, figures, width_s: width, lines }) => {
    state = now;
    document.querySelectorAll("[data-figure]").forEach((place) => { place.textContent = figures[place.dataset.figure]; });
    at("errors").classList.toggle("bad", figures.errors !== "0" && figures.errors !== "-");
    at("state").textContent = now.word === "running" ? "running at speed " + now.speed : WORDS[now.word];
    if (now.word === "running" && !now.paced) at("state").textContent = "running as fast as possible";
    at("state").className = "tag " + (TONES[now.word] || "info");
    const percent = figures.share === null ? null : Math.floor(1000 * figures.share) / 10;
    at("bar").style.width = (percent || 0) + "%";
    at("bar").parentElement.setAttribute("aria-valuenow", percent || 0);
    at("position").textContent = figures.at === "-" ? "\u00a0"
      : figures.at + " since the start; " + figures.done + " of " + figures.planned + " events done" + (percent === null ? "" : ", " + percent + "%");
    if (at("pause")) {
      at("pause").textContent = now.word === "paused" ? "Resume" : "Pause";
      const over = now.word === "ended" || now.word === "killed";
      at("pause").disabled = over || !now.paced || now.word === "opening" || now.word === "stopping";
      at("stop").disabled = over;
      if (now.word === "stopping" && !at("stop").dataset.sure) at("stop").textContent = "Cut the connections";
      if (document.activeElement !== at("factor") && now.word !== "paused") at("factor").value = now.speed;
    }
    if (width) at("width").textContent = width > 1 ? "Each point covers " + width + " s: rates are averages, times are maxima." : "";
    if (now.word === "ended" || now.word === "killed") {
      at("ended").hidden = false;
      at("ended").textContent = now.word === "ended" ? "This run has ended. " : "The replay was killed. This page shows the data written before.";
      if (now.word === "ended") {
        const link = document.createElement("a");
        link.href = location.pathname.replace(/^\/live\//, "/run/");
        link.textContent = "Its report";
        at("ended").append(link);
      }
      at("controls").hidden = true;
    }
    return lines;
  };
  const look = async () => {
    let more = true;
    try {
      const answer = await fetch(data.ticks + "?seen=" + encodeURIComponent(seen));
      const said = await answer.json();
      if (!answer.ok) throw new Error(said.error);
      const lines = show(said);
      if (lines) { await update(lines); seen = String(said.n); }
      document.documentElement.dataset.looked = said.n;
      more = state.word !== "ended" && state.word !== "killed";
    } catch (error) {
      at("state").textContent = "no reply from the server: " + error.message;
      at("state").className = "tag bad";
    }
    if (more) setTimeout(look, EVERY);
  };
  const ask = async (what) => {
    at("said").textContent = "";
    try { at("said").textContent = (await session.send(data.control, "POST", what)).said; }
    catch (error) { at("said").textContent = error.message; }
  };
  if (at("pause")) {
    at("pause").addEventListener("click", () => ask({ do: state && state.word === "paused" ? "resume" : "pause" }));
    at("speed-form").addEventListener("submit", (event) => { event.preventDefault(); ask({ do: "speed", factor: at("factor").value.trim() }); });
    at("stop").addEventListener("click", () => {
      const button = at("stop");
      if (button.dataset.sure) {
        delete button.dataset.sure;
        ask({ do: "stop" });
        return;
      }
      const before = button.textContent;
      button.dataset.sure = "1";
      button.textContent = "Press again to stop";
      setTimeout(() => { if (button.dataset.sure) { delete button.dataset.sure; button.textContent = before; } }, CONFIRM);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  drawAll().then(look);
})();
