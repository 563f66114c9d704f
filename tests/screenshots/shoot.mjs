// Takes pictures of the Temporal UI of a running demo, and halts its fleet for the last of them.
// Usage: node shoot.mjs <lab.json> <output folder> [chromium]
import { chromium } from 'playwright-core';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const [labFile, output, executablePath = '/usr/bin/chromium'] = process.argv.slice(2);
const lab = JSON.parse(fs.readFileSync(labFile, 'utf8'));
const namespace = lab.temporalNamespace;
const cluster = 'cluster-failover/member1';
const waiting = 'binding-migration/member1/shop/invoices-deployment';
const unfenced = 'binding-migration/member1/web/licence-deployment';
const lifeboat = path.resolve(import.meta.dirname, '../../bin/lifeboat');

const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
});
const page = await browser.newPage({ viewport: { width: 1560, height: 2200 }, deviceScaleFactor: 1.5 });

/** The UI's long polls never go idle, so a page counts as drawn when its text is there and has settled. */
async function open(address, text) {
  await page.goto(lab.uiURL + address, { waitUntil: 'domcontentloaded' });
  await page.getByText(text).first().waitFor({ timeout: 30_000 });
  await page.waitForTimeout(2500);
}

async function workflow(id, tab) {
  const answer = await fetch(`${lab.uiURL}/api/v1/namespaces/${namespace}/workflows/${encodeURIComponent(id)}`);
  const { workflowExecutionInfo } = await answer.json();
  return `/namespaces/${namespace}/workflows/${encodeURIComponent(id)}/${workflowExecutionInfo.execution.runId}/${tab}`;
}

/** Everything but the navigation, down to the last text, at most so high. */
async function save(name, most = 2200) {
  const box = await page.evaluate(() => {
    const content = document.querySelector('#content');
    const frame = content.getBoundingClientRect();
    let bottom = frame.top + 300;
    const walker = document.createTreeWalker(content, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.textContent.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const { height, bottom: b } = range.getBoundingClientRect();
      if (height > 0 && b < window.innerHeight) bottom = Math.max(bottom, b);
    }
    // Markdown is drawn in frames as high as their text.
    for (const frame of content.querySelectorAll('iframe')) bottom = Math.max(bottom, frame.getBoundingClientRect().bottom);
    bottom = Math.min(bottom, window.innerHeight);
    return { x: frame.left, y: frame.top, width: frame.width, bottom };
  });
  const file = path.join(output, `${name}.png`);
  await page.screenshot({ path: file, clip: { x: box.x, y: box.y, width: box.width, height: Math.min(most, box.bottom - box.y + 24) } });
  console.log(`took ${file}`);
}

/** The list shows Lifeboat's own columns instead of run ids. */
async function columns() {
  await page.getByLabel('Configure Columns').click();
  for (const gone of ['Run ID', 'Type', 'Start', 'End']) {
    await page.getByTestId(`orderable-list-item-${gone}-remove-button`).click();
  }
  for (const wanted of ['LifeboatPhase', 'LifeboatReason']) {
    await page.getByTestId(`orderable-list-item-${wanted}-add-button`).click();
  }
  await page.waitForTimeout(500);
  await open(`/namespaces/${namespace}/workflows`, cluster); // without the panel
}

await open(await workflow(cluster, 'user-metadata'), 'Current Details');
await save('cluster-failover', 2150);

await open(await workflow(waiting, 'user-metadata'), 'Current Details');
await save('binding-migration');

await open(await workflow(unfenced, 'user-metadata'), 'Current Details');
await save('binding-migration-fence');

await open(await workflow('fleet-pacer', 'user-metadata'), 'Current Details');
await save('fleet-pacer');

await page.setViewportSize({ width: 1360, height: 1000 });
await open(await workflow(cluster, 'timeline'), 'Timeline');
await save('cluster-failover-timeline', 940);

await open(`/namespaces/${namespace}/workflows`, cluster);
await columns();
const ofOne = encodeURIComponent('`LifeboatCluster`="member1" AND `ExecutionStatus`="Running"');
await open(`/namespaces/${namespace}/workflows?query=${ofOne}`, cluster);
await save('workflows', 420);

execFileSync(lifeboat, ['pause', 'fleet', '--who', 'jane@example.org', '--reason', 'what is going on?', '--yes'], {
  env: { ...process.env, KUBECONFIG: lab.kubeconfigs.operator, TEMPORAL_ADDRESS: lab.temporalAddress, TEMPORAL_NAMESPACE: namespace },
});
await page.setViewportSize({ width: 1560, height: 2200 });
await page.waitForTimeout(3000); // until every failover has heard of it
await open(await workflow('fleet-pacer', 'user-metadata'), 'Current Details');
await save('fleet-pacer-halted');

await browser.close();
