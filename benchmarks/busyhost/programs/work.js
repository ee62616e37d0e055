// SPDX-License-Identifier: Apache-2.0
// One thread parses and sorts text. For each line of stdin the number of its rounds and the time in ns are printed.
let rounds = 0;

function words(seed) {
  return Array.from({ length: 300 }, (_, i) => String((i * 7919 + seed) % 10007));
}

function round(seed) {
  const lengths = new Map();
  for (const word of words(seed).sort((a, b) => a.slice(-1).localeCompare(b.slice(-1)) || (a < b ? -1 : 1))) {
    lengths.set(word.length, [...(lengths.get(word.length) || []), word]);
  }
  return JSON.parse(JSON.stringify([...lengths])).length;
}

function work() {
  for (let i = 0; i < 10; i++) round(rounds++);
  setImmediate(work);
}

process.stdin.on('data', () => console.log(`${rounds} ${process.hrtime.bigint()}`));
process.stdin.on('end', () => process.exit());
work();
