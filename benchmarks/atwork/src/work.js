// Text, objects, closures, regular expressions and typed arrays, for ever.
const crypto = require('crypto');
class Shape { area(n) { return n; } }
class Round extends Shape { area(n) { return n * 3.14; } }
class Square extends Shape { area(n) { if (n % 100 === 7) throw new Error('seven'); return n * n; } }

function words() {
  const seen = new Map();
  for (let i = 0; i < 2000; i++) seen.set((i * 7919 % 10007).toString(16) + '-' + i, i);
  const order = [...seen.keys()].sort((a, b) => a.slice(-1).localeCompare(b.slice(-1)) || (a < b ? -1 : 1));
  const found = order.filter((w) => /(a+|b)+.*9/.test(w)).map((w) => w.replace(/[0-4]/g, (d) => `<${d}>`));
  return found.length + JSON.parse(JSON.stringify(order)).length;
}

function shapes() {
  let sum = 0;
  for (let i = 0; i < 5000; i++) {
    try { sum += (i % 2 ? new Round() : new Square()).area(i); } catch { sum += 7; }
  }
  return sum;
}

function sieve(n) {
  const is = new Uint8Array(n);
  for (let i = 2; i * i < n; i++) if (!is[i]) for (let j = i * i; j < n; j += i) is[j] = 1;
  return is.reduce((a, b) => a + b, 0);
}

const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
for (let sink = 0; ; ) {
  sink = (sink + words() + shapes() + sieve(50000) + fib(20)) % 1e9;
  sink += crypto.createHash('sha256').update(String(sink)).digest()[0] + Number((3n ** 2000n) % 1000007n);
}

// SPDX-License-Identifier: Apache-2.0
