// Draws what the demo printed, colours included, as a picture of a terminal.
// Usage: node terminal.mjs <text with ANSI colours> <output file> [chromium]
import { chromium } from 'playwright-core';
import fs from 'node:fs';

const [source, output, executablePath = '/usr/bin/chromium'] = process.argv.slice(2);

const styles = {
  1: 'font-weight:bold;color:#fff', 2: 'color:#8b949e', 31: 'color:#ff7b72', 32: 'color:#56d364',
  33: 'color:#e3b341', 34: 'color:#79c0ff', 36: 'color:#76e3ea',
};

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function html(line) {
  let open = 0;
  const parts = line.split(/\x1b\[(\d+)m/);
  return parts.map((part, i) => {
    if (i % 2 === 0) return escape(part);
    if (part === '0') {
      const close = '</span>'.repeat(open);
      open = 0;
      return close;
    }
    open += 1;
    return `<span style="${styles[part] ?? ''}">`;
  }).join('') + '</span>'.repeat(open);
}

/** A part is a heading and what follows up to the next; of a long one the beginning and the end are shown. */
function excerpt(lines, first, last) {
  const parts = [];
  for (const line of lines) {
    if (line.startsWith('\x1b[1m') || parts.length === 0) parts.push([]);
    parts.at(-1).push(line);
  }
  const dots = '\x1b[2m         ⋮\x1b[0m';
  return parts.flatMap((part) => (part.length <= first + last + 1 ? part : [...part.slice(0, first), dots, '', ...part.slice(-last)]));
}

const lines = excerpt(fs.readFileSync(source, 'utf8').trimEnd().split('\n'), 24, 8);
const body = lines.map(html).join('\n');

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 }, deviceScaleFactor: 1.5 });
await page.setContent(`<body style="margin:0;background:#0d1117"><pre style="display:inline-block;margin:0;padding:18px 24px;
  color:#c9d1d9;font:13px/1.4 'DejaVu Sans Mono','Liberation Mono',monospace">${body}</pre></body>`);
await page.locator('pre').screenshot({ path: output });
console.log(`took ${output}`);
await browser.close();
