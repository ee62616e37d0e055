// A JavaScript program that does many kinds of things in turn, on its own thread and on a worker: it makes garbage, throws
// exceptions, has code optimised and given up again, calls WebAssembly and Node's C++ parts. It ends by itself after
// the number of seconds given as first argument (default 120).
'use strict';

const crypto = require('crypto');
const fs = require('fs');
const zlib = require('zlib');
const { Worker, isMainThread, workerData } = require('worker_threads');

let sink;

function garbage() {
  const kept = [];
  for (let i = 0; i < 20000; i++) {
    kept.push({ id: i, name: 'row' + i, next: [i, i + 1] });
    if (kept.length > 500) kept.length = 0;
  }
  sink = kept;
}

function expressions() {
  const text = 'seven squared is 49 and eight squared is 64 '.repeat(30);
  let n = 0;
  for (const m of text.matchAll(/(\w+)\s+squared\s+is\s+(\d+)/g)) n += m[2].length;
  sink = n;
}

function down(n) {
  if (n === 0) throw new Error('at the bottom');
  return down(n - 1) + 1;
}

function exceptions() {
  for (let i = 0; i < 30; i++) {
    try {
      down(30 + i);
    } catch (e) {
      sink = e.stack.length;
    }
  }
}

function compression() {
  sink = zlib.deflateSync(Buffer.alloc(20000, 'abcdefg')).length;
}

function digests() {
  sink = crypto.createHash('sha256').update(Buffer.alloc(30000)).digest('hex');
}

function json() {
  const rows = [];
  for (let i = 0; i < 300; i++) rows.push({ id: i, name: 'row' + i, tags: ['a', 'b', { c: i }] });
  sink = JSON.parse(JSON.stringify(rows));
}

const shapes = [1, 2, 3, 4, 5].map((k) => new (new Function(`return class { area() { return ${k}; } }`)())());

function manyTargets() {
  let sum = 0;
  for (let i = 0; i < 20000; i++) sum += shapes[i % 5].area();
  sink = sum;
}

function givenUp() {
  const f = new Function('a', 'b', 'let sum = 0; for (let i = 0; i < 3000; i++) sum += a; return sum + b;');
  for (let i = 0; i < 30; i++) f(i, 1);
  f('text', 2);
  sink = f(1.5, {});
}

function maps() {
  const counts = new Map();
  for (let i = 0; i < 3000; i++) counts.set('key' + i % 200, (counts.get('key' + i % 200) || 0) + 1);
  sink = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

function typedArrays() {
  const a = new Float64Array(20000);
  for (let i = 0; i < a.length; i++) a[i] = Math.sin(i) * Math.pow(i, 0.3);
  sink = a.sort().map((x) => x * 2).reduce((x, y) => x + y);
}

function bigNumbers() {
  let x = 1n;
  for (let i = 1n; i < 300n; i++) x *= i;
  sink = x.toString().length;
}

function* numbers() {
  for (let i = 0; i < 500; i++) yield i;
}

function generators() {
  let sum = 0;
  for (const x of numbers()) sum += x;
  sink = sum;
}

function proxies() {
  const p = new Proxy({}, { get: (target, key) => key.length });
  let sum = 0;
  for (let i = 0; i < 1000; i++) sum += p['name' + i % 10];
  sink = sum;
}

function strings() {
  let s = '';
  for (let i = 0; i < 3000; i++) s += i;
  sink = s.split('1').map((x) => x.toUpperCase()).join('-').localeCompare('x');
}

function dates() {
  for (let i = 0; i < 200; i++) sink = new Date(i * 1e9).toISOString();
  sink = new Intl.NumberFormat('de').format(12345.6);
}

function files() {
  for (let i = 0; i < 20; i++) sink = fs.statSync('/').size;
  sink = fs.readdirSync('/usr/bin');
}

// fib(n) in WebAssembly, which calls JavaScript at its ends.
const section = (id, bytes) => [id, bytes.length, ...bytes];
const fibBody = [0, 0x20, 0, 0x41, 2, 0x48, 4, 0x7f, 0x10, 0, 0x1a, 0x20, 0, 5, 0x20, 0, 0x41, 1, 0x6b, 0x10, 1, 0x20, 0, 0x41, 2, 0x6b, 0x10, 1, 0x6a, 0xb, 0xb];
const fib = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  ...section(1, [2, 0x60, 1, 0x7f, 1, 0x7f, 0x60, 0, 1, 0x7f]),
  ...section(2, [1, 1, 0x6d, 1, 0x66, 0, 1]),
  ...section(3, [1, 0]),
  ...section(7, [1, 3, 0x66, 0x69, 0x62, 0, 1]),
  ...section(10, [1, fibBody.length, ...fibBody]),
])), { m: { f: () => 7 } }).exports.fib;

function wasm() {
  sink = fib(18);
}

async function promises() {
  for (let i = 0; i < 100; i++) await null;
}

const work = [
  garbage, expressions, exceptions, compression, digests, json, manyTargets, givenUp, maps, typedArrays, bigNumbers,
  generators, proxies, strings, dates, files, wasm,
];
const seconds = Number(isMainThread ? process.argv[2] || 120 : workerData);
const end = Date.now() + 1000 * seconds;
let turns = 0;

if (isMainThread) {
  new Worker(__filename, { workerData: seconds });
  console.log('ready');
}

(async function turn() {
  for (let i = 0; i < 20; i++) work[turns++ % work.length]();
  await promises();
  if (Date.now() < end) setImmediate(turn);
  else if (isMainThread) process.exit(0);
})();

// SPDX-License-Identifier: Apache-2.0
