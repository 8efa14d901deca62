// SPDX-License-Identifier: Apache-2.0
// Draws Vega-Lite charts in the colours of the page. Each chart is drawn when its place (.chart[data-name]) scrolls
// into view.
const charts = (() => {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const config = () => {
    const style = getComputedStyle(document.body);
    const ink = style.getPropertyValue("--soft").trim(), rule = style.getPropertyValue("--rule").trim();
    return {
      background: "transparent", view: { stroke: null },
      axis: { labelColor: ink, titleColor: ink, gridColor: rule, domainColor: rule, tickColor: rule, titleFontWeight: "normal" },
      legend: { labelColor: ink, titleColor: ink },
    };
  };
  // A click on a digest in a chart opens its row in the table.
  const lead = ({ view }) => view.addEventListener("click", (event, item) => {
    const digest = item && item.datum && item.datum.digest;
    if (!digest) return;
    if (location.hash === "#r" + digest) dispatchEvent(new HashChangeEvent("hashchange")); else location.hash = "r" + digest;
  });
  // SVG is slow with thousands of elements, so such charts use a canvas.
  const many = (spec) => (spec.layer || []).some((layer) => layer.data && layer.data.values.length > 1000);
  const draw = (place, spec) => {
    place.textContent = "";
    const height = Number(place.dataset.height) || spec.height;
    return vegaEmbed(place, { ...spec, height, width: "container", autosize: { type: "fit-x", contains: "padding" } },
      { ast: true, actions: false, renderer: many(spec) ? "canvas" : "svg", config: config(), tooltip: { theme: dark.matches ? "dark" : "light" } })
      .then((drawn) => { lead(drawn); place.dataset.drawn = "1"; return drawn; }, (error) => { place.textContent = "This chart cannot be drawn: " + error; });
  };
  const drawAll = (list) => {
    const specs = new Map(list.map((chart) => [chart.name, chart.spec]));
    const places = [...document.querySelectorAll(".chart[data-name]")];
    const redraw = (some) => Promise.all(some.map((place) => draw(place, specs.get(place.dataset.name))));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries)
        if (entry.isIntersecting) { seen.unobserve(entry.target); redraw([entry.target]); }
    }, { rootMargin: "300px" });
    places.forEach((place) => seen.observe(place));
    addEventListener("beforeprint", () => redraw(places.filter((place) => !place.dataset.drawn)));
    dark.addEventListener("change", () => redraw(places.filter((place) => place.dataset.drawn)));
  };
  return { draw, drawAll };
})();
