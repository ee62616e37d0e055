// SPDX-License-Identifier: Apache-2.0

// Ways of calls: leafX is called by viaX only, by a builtin or a trampoline, and viaX by main only.
'use strict';
let sink = 0;
const list = [1, 2, 3];
function* leafGenerator(a, b, c) { for (let i = 0; i < 3; i++) yield a + b + c + i; }
function viaGenerator(x) { for (const v of leafGenerator(x, 1, 2)) sink ^= v; }
function leafSpread(...all) { return all.length + all[0]; }
function viaSpread(x) { sink ^= leafSpread(x, ...list, ...list); }
function leafApply(a, b, c) { return a + b + c; }
function viaApply(x) { sink ^= leafApply.apply(null, list) + leafApply.apply(null, [x, x]); }
function leafCall(a, b) { return a - b; }
function viaCall(x) { sink ^= leafCall.call(list, x, 1) + leafCall.call(); }
const bound = function leafBound(a, b, c) { return a ^ b ^ c; }.bind(null, 1, 2);
function viaBound(x) { sink ^= bound(x, 4, 5); }
function leafReflect(a, b) { return a + b; }
function viaReflect(x) { sink ^= Reflect.apply(leafReflect, null, [x, 2]); }
function leafConstruct(a) { this.a = a; }
function viaConstruct(x) { sink ^= new leafConstruct(x).a + Reflect.construct(leafConstruct, [x]).a; }
const getter = Object.defineProperty({}, 'a', { get: function leafGet() { return sink + 1; } });
function viaGet(x) { sink ^= getter.a + x; }
function viaReplace(x) { sink ^= 'a1b2'.replace(/\d/g, function leafReplace(m) { return m + x; }).length; }
function viaEach(x) { new Map([[1, x]]).forEach(function leafEach(v) { sink ^= v; }); }
function viaFrom(x) { sink ^= Array.from({ length: 2 }, function leafFrom(_, i) { return i + x; })[1]; }
function viaString(x) { sink ^= `${{ toString: function leafString() { return 'a' + x; } }}`.length; }
function viaTyped(x) { sink ^= new Int32Array([x, 1, 2]).sort(function leafTyped(a, b) { return a - b; })[0]; }
function leafMissing(a, b, c, d, e) { return d === undefined ? a : e; }
function viaMissing(x) { sink ^= leafMissing(x); }
function leafMany(a) { return arguments.length + a; }
function viaMany(x) { sink ^= leafMany(x, 1, 2, 3, 4, 5, 6, 7, 8, 9); }
const ways = [viaGenerator, viaSpread, viaApply, viaCall, viaBound, viaReflect, viaConstruct, viaReplace, viaEach, viaFrom,
  viaString, viaTyped, viaMissing, viaMany, viaGet];
console.log('ready');
async function main() {
  for (let n = 0; ; n++) {
    await null;
    for (const way of ways) way(n & 7);
    if (n % 1000 === 0) await new Promise(setImmediate);
  }
}
main();
