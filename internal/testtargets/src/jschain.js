// SPDX-License-Identifier: Apache-2.0

// Each function has one caller, every second one by a builtin. burn spends the time. A call stands alone on its line, so
// that the test knows the line of each function that has called another one.
'use strict';
let sink = 0, rounds = 20000;
function burn(n) {
  let s = n;
  for (let i = 0; i < rounds; i++)
    s = (s * 31 + i) | 0;
  sink ^= s;
  return s;
}
function f8(x) {
  x = x + 1;
  return burn(x);
}
function f7(x) {
  const r = JSON.parse('[1]', function f7rev(k, v) {
    if (k === '')
      return v;
    return f8(x);
  });
  return r[0];
}
class C6 {
  constructor(x) { this.x = x; }
  m6() {
    const y = this.x + 2;
    return f7(y);
  }
}
function f5(x) {
  const o = new C6(x);
  return [1].map((v) => {
    const z = v + x;
    return o.m6() + z;
  })[0];
}
function f4(x) {
  let w = 0;
  [2, 1].sort(function f4cmp(a, b) {
    w += f5(x + a);
    return a - b;
  });
  return w;
}
function f3(x) {
  const p = new Proxy({}, { get(t, k) {
    return f4(x);
  } });
  return p.foo;
}
function f2(x) {
  return [x].reduce((acc, v) => {
    return acc + f3(v);
  }, 0);
}
function f1(x) {
  const q = x | 0;
  return f2(q);
}
// numbered makes functions without end, each of which knows its number, and calls the next one with it in its name.
let made = 0;
function numbered() {
  const n = made++;
  const inner = new Function('burn', `return function n${n}() { return burn(${n}); }`)(burn);
  const outer = new Function('f', `return function o${n}() {\n  const r = f();\n  return r + 1;\n}`)(inner);
  return outer();
}
console.log('ready');
const what = process.argv[2] === 'numbered' ? numbered : f1;
if (process.argv[2] === 'short')
  rounds = 20;
function main() {
  Promise.resolve().then(function job() {
    const t = Date.now() + 50;
    while (Date.now() < t)
      what(sink);
    setImmediate(main);
  });
}
main();
