// A JavaScript program whose functions burnSixty, burnThirty and burnTen stand as 60:30:10 once they are
// compiled, with some allocation and sorting beside them. It ends by itself after the number of seconds
// given as first argument (default 120).
'use strict';

const UNIT = 2000;

function burnSixty(seed) {
  for (let i = 0; i < 60 * UNIT; i++) seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return seed;
}

function burnThirty(seed) {
  for (let i = 0; i < 30 * UNIT; i++) seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return seed;
}

function burnTen(seed) {
  for (let i = 0; i < 10 * UNIT; i++) seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
  return seed;
}

function sortRows(seed) {
  const rows = [];
  for (let i = 0; i < 200; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    rows.push({ key: seed, name: 'row' + i });
  }
  rows.sort((a, b) => a.key - b.key);
  return rows[100].key;
}

function runLoad(seed, until) {
  while (Date.now() < until) {
    seed = burnSixty(seed);
    seed = burnThirty(seed);
    seed = burnTen(seed);
    seed ^= sortRows(seed);
  }
  return seed;
}

const end = Date.now() + 1000 * Number(process.argv[2] || 120);
let seed = 1;
do seed = runLoad(seed, Date.now() + 500); // compiled before anyone looks: on a busy machine that takes longer
while (process.cpuUsage().user < 400_000);
console.log('ready');

(function turn() {
  seed = runLoad(seed, Date.now() + 20);
  if (Date.now() < end) setImmediate(turn);
})();

// SPDX-License-Identifier: Apache-2.0
