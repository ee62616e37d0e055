// SPDX-License-Identifier: Apache-2.0

// Its first thread and a Worker sleep in functions of JavaScript, with builtins in between.
'use strict';
const { Worker, isMainThread } = require('worker_threads');
const word = new Int32Array(new SharedArrayBuffer(4));
function inner(v) {
  Atomics.wait(word, 0, 0);
  return v;
}
class Foo {
  bar(x) { return this.baz(x); }
  baz(x) { return [3].map((v) => inner(v + x))[0]; }
}
const arrow = (x) => {
  const foo = new Foo();
  return foo.bar(x);
};
function outer() {
  return JSON.parse('[1]', function reviver() { return arrow(1); });
}
if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', () => {
    require('fs').writeSync(1, 'ready\n');
    outer();
  });
} else {
  require('worker_threads').parentPort.postMessage(1);
  outer();
}
