/* How a chart's figure becomes what Plotly draws: the reader's time, the theme's colours, the room there is. */
"use strict";
window.conchPaint = (() => {
  const MOST_OF_WIDTH = 0.3;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  const token = (name, otherwise) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim() || otherwise;

  /* Figures carry UTC milliseconds, and Plotly draws UTC; moved by the zone it reads as the reader's time. */
  const shifted = (ms) => ms - new Date(ms).getTimezoneOffset() * 60000;
  /* The other way, from what Plotly says of an axis. */
  const unshifted = (at) => {
    const ms = typeof at === "number" ? at : Date.parse(`${String(at).replace(" ", "T")}Z`);
    return ms + new Date(ms).getTimezoneOffset() * 60000;
  };

  /* Traces, shapes and annotations name their role; the palette of the theme says which colour that is. */
  function painted(figure, width, zoom) {
    const { data, layout } = structuredClone(figure);
    const labels = layout.annotations.filter((note) => note.xref !== "paper");
    const isTight = width && layout.margin.r > width * MOST_OF_WIDTH;
    if (isTight) makeRoom(layout, labels);
    const palette = layout.meta.palettes[theme()];
    const text = token("--ink-soft", palette.text);
    const grid = token("--line", palette.grid);
    data.forEach((trace) => paintTrace(trace, palette));
    layout.shapes.forEach((shape) => {
      shape.line.color = palette[shape.name];
      if (shape.xref !== "paper") shape.x0 = shape.x1 = shifted(shape.x0);
    });
    layout.annotations.forEach((note) => {
      note.font.color = palette[note.name];
      if (note.xref !== "paper") note.x = shifted(note.x);
    });
    layout.font.color = text;
    [layout.xaxis, layout.yaxis].forEach((axis) => Object.assign(axis, { gridcolor: grid, linecolor: grid }));
    layout.xaxis.spikecolor = text;
    layout.xaxis.range = (zoom || layout.xaxis.range).map(shifted);
    layout.hoverlabel = { bgcolor: token("--panel", "#fff"), bordercolor: grid, font: { color: token("--ink", text) } };
    return { data, layout, isListed: isTight };
  }

  /* Where labels beside the lines would take too much of the chart, they go into a list below. */
  function makeRoom(layout, labels) {
    layout.margin.r = 8;
    layout.annotations = layout.annotations.filter((note) => !labels.includes(note));
  }

  function paintTrace(trace, palette) {
    if (trace.meta.role === "marks") {
      trace.x = trace.x.map(shifted);
      trace.marker.color = trace.meta.kinds.map((kind) => palette[kind]);
      return;
    }
    trace.x0 = shifted(trace.x0);
    trace.line.color = trace.marker.color = palette[trace.meta.role];
  }

  /* The known figure with the new tail over its end. */
  function joined(known, news, fromMs) {
    const data = known.data.map((trace, at) => {
      const tail = news.data[at];
      if (trace.x0 === undefined) return tail;
      const kept = trace.y.slice(0, Math.round((fromMs - trace.x0) / trace.dx));
      const values = kept.concat(tail.y).slice(-trace.y.length);
      const start = tail.x0 + (tail.y.length - values.length) * trace.dx;
      return { ...trace, ...tail, x0: start, y: values };
    });
    const layout = { ...known.layout, ...news.layout };
    for (const axis of ["xaxis", "yaxis"]) layout[axis] = { ...known.layout[axis], ...news.layout[axis] };
    return { data, layout };
  }

  return { painted, joined, shifted, unshifted, dark };
})();
