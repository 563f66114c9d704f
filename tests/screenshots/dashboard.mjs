// Draws a Grafana dashboard from its JSON and from what its queries gave over a
// recorded run (tests/monitoring compute). Not Grafana: a stand-in that reads the same
// panels, positions, units, colours and value mappings, to be looked at.
// Usage: node dashboard.mjs <dashboard.json> <computed.json> <output.png> [chromium] [until, in seconds]
import { chromium } from 'playwright-core';
import fs from 'node:fs';

const [boardFile, dataFile, output, executablePath = '/usr/bin/chromium', until] = process.argv.slice(2);
const board = JSON.parse(fs.readFileSync(boardFile, 'utf8'));
const data = JSON.parse(fs.readFileSync(dataFile, 'utf8'));
const steps = until ? Math.min(data.steps, Math.floor(Number(until) / data.step) + 1) : data.steps;

const COLUMN = 70, UNIT = 34, GAP = 8;
const colours = {
  green: '#73bf69', 'light-blue': '#8ab8ff', 'semi-dark-blue': '#3274d9', blue: '#5794f2', yellow: '#f2cc0c', orange: '#ff9830',
  red: '#f2495c', purple: '#b877d9', text: '#8e8e9a',
};
const palette = ['#73bf69', '#f2cc0c', '#8ab8ff', '#ff780a', '#f2495c', '#5794f2', '#b877d9', '#705da0', '#37872d', '#fade2a'];
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

function shown(value, unit) {
  if (unit === 's') {
    if (value >= 3600) return `${rounded(value / 3600)} h`;
    if (value >= 60) return `${rounded(value / 60)} min`;
    if (value !== 0 && value < 1) return `${rounded(value * 1000)} ms`;
    return `${rounded(value)} s`;
  }
  if (unit === '/ s') return `${rounded(value)} / s`;
  return String(rounded(value));
}
const rounded = (value) => (Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(2)));
const mappingOf = (panel, value) =>
  (panel.fieldConfig.defaults.mappings ?? []).map((m) => m.options[String(value)]).find((found) => found);
const clock = (step) => {
  const seconds = Math.round(step * data.step);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};
const points = (line) => line.points.slice(0, steps);
const last = (line) => points(line).findLast((value) => value !== null);

function override(panel, name, property) {
  for (const o of panel.fieldConfig.overrides) {
    if (o.matcher.options !== name) continue;
    const found = o.properties.find((p) => p.id === property);
    if (found) return found.value;
  }
  return undefined;
}

function stat(panel, lines, width, height) {
  const { defaults } = panel.fieldConfig;
  const current = lines.length ? points(lines[0]).at(-1) : null;
  if (current === null || current === undefined) {
    return `<div class="stat" style="background:#2b2d33"><b style="font-size:20px">${escape(defaults.noValue ?? 'No data')}</b></div>`;
  }
  const mapped = mappingOf(panel, current);
  const step = defaults.thresholds.steps.findLast((s) => s.value === null || current >= s.value);
  const colour = colours[mapped?.color ?? step.color];
  const values = points(lines[0]);
  const most = Math.max(...values.map((v) => v ?? 0), 1e-9);
  const at = (n) => (n / Math.max(1, steps - 1)) * width;
  const path = values.map((v, n) => `${at(n)},${height - ((v ?? 0) / most) * height * 0.4}`).join(' L');
  return `<div class="stat" style="background:${colour}"><svg width="${width}" height="${height}">
    <path d="M0,${height} L${path} L${width},${height} Z" fill="#ffffff33" stroke="#ffffff66"/></svg>
    <b>${escape(mapped?.text ?? shown(current, defaults.unit))}</b></div>`;
}

/** frame is the plot's inner box, its time axis and the marks along it. */
function timeAxis(box) {
  const x = (n) => box.left + (n / Math.max(1, steps - 1)) * (box.right - box.left);
  const seconds = steps * data.step;
  const every = [10, 20, 30, 60, 120, 300].find((s) => seconds / s <= (box.right - box.left) / 60) ?? 600;
  let marks = '';
  for (let at = 0; at <= seconds - data.step; at += every) {
    const px = x(at / data.step);
    marks += `<line x1="${px}" x2="${px}" y1="${box.top}" y2="${box.bottom}" class="grid"/>
      <text x="${px}" y="${box.bottom + 14}" text-anchor="middle">${clock(at / data.step)}</text>`;
  }
  return { x, marks };
}

/** scale is the top of an axis and its step, with marks that a person reads: whole counts, whole minutes. */
function scale(most, unit) {
  if (!(most > 0)) return { step: 1, top: 1 };
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1e-9) / 4));
  let steps = [1, 2, 5, 10, 20].map((f) => f * power);
  if (unit === 'short') steps = steps.map((s) => Math.max(1, Math.round(s)));
  if (unit === 's' && most > 20) steps = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];
  const step = steps.find((s) => s * 4 >= most * 1.02) ?? steps.at(-1);
  return { step, top: Math.max(1, Math.ceil((most * 1.02) / step)) * step };
}

function timeseries(panel, lines, width, height) {
  const { custom, unit, thresholds } = panel.fieldConfig.defaults;
  const names = lines.filter((line) => points(line).some((v) => v !== null)).map((line) => line.legend || panel.title);
  const onRight = (name) => override(panel, name, 'custom.axisPlacement') === 'right';
  const box = { left: 52, right: width - (names.some(onRight) ? 52 : 22), top: 6, bottom: height - 28 - 14 * legendRows(names, width) };
  const stacked = custom.stacking?.mode === 'normal';
  const drawn = lines.filter((line) => points(line).some((v) => v !== null));
  const base = new Array(steps).fill(0);
  const layers = drawn.map((line) => {
    const values = points(line);
    const low = base.slice();
    if (stacked) values.forEach((v, n) => { base[n] += v ?? 0; });
    return { line, values, low, high: stacked ? base.slice() : values, right: onRight(line.legend || panel.title) };
  });
  const { x, marks } = timeAxis(box);
  let svg = marks;
  const axis = (right, unitOfAxis) => {
    const { top, step } = scale(Math.max(0, ...layers.filter((l) => l.right === right).flatMap((l) => l.high.map((v) => v ?? 0))), unitOfAxis);
    const y = (v) => box.bottom - (v / top) * (box.bottom - box.top);
    for (let v = 0; v <= top * 1.001; v += step) {
      if (!right) svg += `<line x1="${box.left}" x2="${box.right}" y1="${y(v)}" y2="${y(v)}" class="grid"/>`;
      svg += `<text x="${right ? box.right + 6 : box.left - 6}" y="${y(v) + 4}" text-anchor="${right ? 'start' : 'end'}">${escape(shown(v, unitOfAxis))}</text>`;
    }
    return y;
  };
  const left = axis(false, unit);
  const other = layers.find((l) => l.right);
  const right = other && axis(true, override(panel, other.line.legend, 'unit') ?? unit);
  const legend = [];
  layers.forEach((layer, n) => {
    const y = layer.right ? right : left;
    const name = layer.line.legend || panel.title;
    const fixed = override(panel, name, 'color')?.fixedColor;
    const { mode, fixedColor } = panel.fieldConfig.defaults.color;
    const shade = mode === 'shades' ? `color-mix(in srgb, ${colours[fixedColor]} ${100 - 22 * (n % 4)}%, ${n % 2 ? 'black' : 'white'})` : undefined;
    const colour = fixed ? colours[fixed] : shade ?? palette[n % palette.length];
    const stepped = (override(panel, name, 'custom.lineInterpolation') ?? custom.lineInterpolation) === 'stepAfter';
    const dash = override(panel, name, 'custom.lineStyle') ? 'stroke-dasharray="7 5"' : '';
    const fill = (override(panel, name, 'custom.fillOpacity') ?? custom.fillOpacity) / 100;
    for (const [from, to] of runs(layer.values)) {
      const edge = (values) => {
        const out = [];
        for (let k = from; k <= to; k++) {
          if (stepped && k > from) out.push(`${x(k)},${y(values[k - 1])}`);
          out.push(`${x(k)},${y(values[k])}`);
        }
        return out;
      };
      const upper = edge(layer.high);
      if (fill > 0) svg += `<path d="M${upper.join(' L')} L${edge(layer.low).reverse().join(' L')} Z" fill="${colour}" fill-opacity="${fill}"/>`;
      if (from === to) svg += `<circle cx="${x(from)}" cy="${y(layer.high[from])}" r="2" fill="${colour}"/>`;
      if (!stacked || layer.values.slice(from, to + 1).some((v) => v > 0)) {
        svg += `<path d="M${upper.join(' L')}" fill="none" stroke="${colour}" stroke-width="${custom.lineWidth}" ${dash}/>`;
      }
    }
    legend.push([name, colour]);
  });
  return `<svg width="${width}" height="${height}">${svg}${drawLegend(legend, width, height)}</svg>`;
}

/** runs are the stretches without a gap. */
function runs(values) {
  const found = [];
  for (let n = 0; n < values.length; n++) {
    if (values[n] === null) continue;
    const from = n;
    while (n + 1 < values.length && values[n + 1] !== null) n++;
    found.push([from, n]);
  }
  return found;
}

/** placed says where each name of a legend goes, row by row. */
function placed(names, width) {
  let at = 10, row = 0;
  return names.map((name) => {
    const wide = 30 + name.length * 7;
    if (at + wide > width && at > 10) { at = 10; row++; }
    const place = { x: at, row };
    at += wide;
    return place;
  });
}
const legendRows = (names, width) => (placed(names, width).at(-1)?.row ?? 0) + 1;

function drawLegend(entries, width, height) {
  const places = placed(entries.map(([name]) => name), width);
  const rows = (places.at(-1)?.row ?? 0) + 1;
  return entries.map(([name, colour], n) => {
    const { x, row } = places[n];
    const y = height - 6 - 14 * (rows - 1 - row);
    return `<rect x="${x}" y="${y - 6}" width="12" height="4" rx="2" fill="${colour}"/><text x="${x + 17}" y="${y}">${escape(name)}</text>`;
  }).join('');
}

function timeline(panel, lines, width, height) {
  const label = Math.max(44, ...lines.map((line) => 20 + line.legend.length * 7.4));
  const options = Object.values(panel.fieldConfig.defaults.mappings[0].options);
  const box = { left: label, right: width - 22, top: 6, bottom: height - 28 - 14 * legendRows(options.map((o) => o.text), width) };
  const { x, marks } = timeAxis(box);
  const each = (box.bottom - box.top) / Math.max(1, lines.length);
  let svg = marks;
  lines.forEach((line, n) => {
    const top = box.top + n * each + each * 0.1, tall = Math.min(each * 0.8, 60);
    svg += `<text x="${label - 8}" y="${top + tall / 2 + 4}" text-anchor="end" class="name">${escape(line.legend || 'tier')}</text>`;
    const values = points(line);
    for (let from = 0; from < values.length; from++) {
      if (values[from] === null) continue;
      let to = from;
      while (to + 1 < values.length && values[to + 1] === values[from]) to++;
      const mapped = mappingOf(panel, values[from]);
      const left = x(from), wide = Math.max(2, x(Math.min(to + 1, steps - 1)) - left);
      const text = mapped?.text ?? String(values[from]);
      svg += `<rect x="${left}" y="${top}" width="${wide}" height="${tall}" fill="${colours[mapped?.color ?? 'text']}" fill-opacity="0.85"/>`;
      if (wide > text.length * 7 + 6) svg += `<text x="${left + 6}" y="${top + tall / 2 + 4}" class="in">${escape(text)}</text>`;
      from = to;
    }
  });
  const legend = options.map((m) => [m.text, colours[m.color]]);
  return `<svg width="${width}" height="${height}">${svg}${drawLegend(legend, width, height)}</svg>`;
}

const draw = { stat, timeseries, 'state-timeline': timeline };
let html = '', bottom = 0;
for (const panel of board.panels) {
  const { x, y, w, h } = panel.gridPos;
  const left = x * COLUMN + GAP / 2, top = y * UNIT + GAP / 2 + 44;
  const width = w * COLUMN - GAP, height = h * UNIT - GAP;
  bottom = Math.max(bottom, top + height);
  const place = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
  if (panel.type === 'row') {
    html += `<div class="row" style="${place}">▾ ${escape(panel.title)}</div>`;
    continue;
  }
  const lines = data.panels[panel.id] ?? [];
  html += `<div class="panel" style="${place}"><h2>${escape(panel.title)}</h2>${draw[panel.type](panel, lines, width - 2, height - 30)}</div>`;
}

const width = 24 * COLUMN;
const page = `<style>
  body { margin: 0; background: #111217; color: #ccccdc; font: 13px Inter, "DejaVu Sans", sans-serif; width: ${width}px; height: ${bottom + 10}px; position: relative; }
  h1 { font-size: 19px; font-weight: 600; margin: 0; padding: 12px 10px; } h1 small { color: #8e8e9a; font-weight: 400; font-size: 13px; margin-left: 12px; }
  .panel { position: absolute; background: #181b1f; border: 1px solid #2b2d33; border-radius: 3px; overflow: hidden; box-sizing: border-box; }
  .panel h2 { font-size: 13px; font-weight: 600; margin: 0; height: 28px; line-height: 28px; padding-left: 9px; }
  .row { position: absolute; line-height: 26px; font-weight: 600; padding-left: 6px; }
  .stat { position: absolute; inset: 28px 0 0 0; display: flex; align-items: center; justify-content: center; color: #fff; }
  .stat svg { position: absolute; bottom: 0; left: 0; } .stat b { font-size: 38px; position: relative; text-shadow: 0 1px 3px #0008; }
  text { fill: #a3a4b0; font-size: 11px; } text.name { font-size: 12px; fill: #ccccdc; } text.in { fill: #111; font-weight: 600; font-size: 12px; }
  .grid { stroke: #2b2d33; } svg { display: block; }
</style><h1>${escape(board.title)}<small>a recorded run in the lab, ${clock(steps - 1)} minutes so far</small></h1>${html}`;

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'] });
const tab = await browser.newPage({ viewport: { width, height: bottom + 10 }, deviceScaleFactor: 1 });
await tab.setContent(page);
await tab.screenshot({ path: output });
await browser.close();
console.log(`took ${output}`);
