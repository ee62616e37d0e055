// A JavaScript program in which each function has one caller: c9 is called by c8, and so on up to c1. So a stack of its
// first thread is right only if it is this chain. Builtins lie between some of them. Some operators are used in one of
// the functions only: / in c6, ^ in c8, << in c9. It ends by itself after the number of seconds given as first argument
// (default 120).
'use strict';

let sink = 0;

function c1(x) { return c2(x) + 1; }

function c2(x) { return c3(x, x, x, x, x, x, x, x, x) + 1; }

function c3(a, b, c, d, e, f, g, h, i) { return c4(a + i) + b + c + d + e + f + g + h; } // some on the stack

function c4(x) { // called with fewer arguments than it is written with, and more
  let sum = 0;
  for (let i = 0; i < 10; i++) sum += i % 2 ? c5(x + i) : c5(x + i, i, x, i);
  return sum;
}

function c5(x, step = 1) { return [x, x + step, x + 2].reduce(c6, 0); } // by way of a builtin

function c6(sum, x) {
  try {
    if (x / 5 === 3) throw new Error('fifteen');
    return sum / 2 + c7(x);
  } catch (e) {
    return sum + 3;
  }
}

function c7(x) {
  const o = { x, text: 'row' + x, list: [x, x + 1] };
  sink += o.text.indexOf('9') + JSON.stringify(o).length;
  return c8(o, [1, 2, 3, 4.5, 6]);
}

function c8(o, numbers) {
  let sum = 0;
  for (let i = 0; i < 20; i++) {
    const n = numbers[i % 5];
    if (n === o.x || n > 4 && o.list.length >= 2 && typeof n !== 'string') sum += n;
    o.x = o.x + (i ^ 3) - (n | 0);
  }
  return sum + new Function9(sum).value;
}

class Function9 {
  constructor(x) { this.value = c9.call(this, x); }
}

function c9(x) {
  const key = x % 2 === 0 ? 'even' : 'odd';
  const counts = { even: 1, odd: 2.5 };
  counts[key] += x;
  let bits = 1;
  for (let i = 0; i < 20; i++) bits = (bits << 1) + i;
  return Math.floor(counts.even * 3) + (bits << 2) + (sink & 7);
}

const seconds = Number(process.argv[2] || 120);
const begin = Date.now();
let told = false;
(function turn() {
  const until = Date.now() + 20;
  while (Date.now() < until) sink = (sink + c1(7)) | 0;
  // Everything is compiled: on a busy machine that takes longer.
  if (!told && Date.now() - begin > 2000 && process.cpuUsage().user > 1_500_000) {
    console.log('ready');
    told = true;
  }
  if (Date.now() - begin < 1000 * seconds) setImmediate(turn);
})();

// SPDX-License-Identifier: Apache-2.0
