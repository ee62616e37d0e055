// SPDX-License-Identifier: Apache-2.0

// It suspends chains of 1 to 5 asynchronous functions: jsawaits.js CHAINS[,storm|,worker]. With storm it allocates, calls and
// ends other asynchronous functions (churn…) and collects, without end. Its first line is its own account: the number
// of chains by their functions, innermost first, each with the line of its await. With worker a Worker has as many.
'use strict';
const [count, mode] = (process.argv[2] || '100').split(',');
const chains = Number(count), storm = mode === 'storm';
const account = {}, keep = [], held = [];
async function timer() {
  await new Promise((r) => setTimeout(r, 1 << 30));
}
async function never() {
  await new Promise((r) => held.push(r));
}
async function thenable() {
  await never().then((x) => x).finally(() => 0);
}
async function f1(leaf) {
  await leaf();
}
async function f2(leaf) {
  return await f1(leaf);
}
async function f3(leaf) {
  const n = await Promise.all([f2(leaf), 1]);
  return n;
}
async function f4(leaf) {
  return f3(leaf);
}
async function* f5(leaf) {
  yield await Promise.race([f3(leaf), new Promise(() => {})]);
}
const f6 = async (leaf) => {
  for await (const x of f5(leaf)) keep.push(x);
};
class Service {
  async find(leaf) {
    const n = 1;
    return n + await f2(leaf);
  }
}
const ways = [
  ['', (leaf) => leaf()],
  [' f1:20', f1],
  [' f1:20 f2:23', f2],
  [' f1:20 f2:23 f3:26', f3],
  [' f1:20 f2:23 f3:26', f4], // f4 has returned
  [' f1:20 f2:23 f3:26 f5:33 f6:36', f6],
  [' f1:20 f2:23 find:41', (leaf) => new Service().find(leaf)],
];
const leaves = [['timer:11', timer], ['never:14', never], ['never:14 thenable:17', thenable]];
for (let i = 0; i < chains; i++) {
  const [outer, way] = ways[i % ways.length], [inner, leaf] = leaves[(i / ways.length | 0) % leaves.length];
  account[inner + outer] = (account[inner + outer] || 0) + 1;
  keep.push(way(leaf));
}
async function churnInner(n) {
  await null;
  return new Array(n % 100).fill({ n });
}
async function churn(n) {
  await churnInner(n);
  if (n % 3 === 0) await new Promise((r) => setTimeout(r, n % 5));
  return [await churnInner(n + 1)];
}
let turn = 0;
function work() {
  for (let i = 0; i < 300; i++) keep.length > chains + 2000 ? keep.length = chains : keep.push(churn(turn + i));
  if (turn++ % 16 === 0) globalThis.gc?.();
  setImmediate(work);
}
const { Worker, isMainThread, parentPort } = require('worker_threads');
const say = () => require('fs').writeSync(1, 'ready\n' + JSON.stringify(account) + '\n');
if (mode === 'worker') {
  for (const way in account) account[way] *= 2;
  new Worker(__filename, { argv: [count] }).on('message', say);
} else if (isMainThread) say();
else parentPort.postMessage(0);
if (storm) work();
else setInterval(() => 0, 1 << 30);
