// SPDX-License-Identifier: Apache-2.0
'use strict';

function spin() {
  let n = 0;
  for (let i = 0; i < 100000; i++) n = (n + i * 7) % 1000003;
  return n;
}
function inner() { return spin() + 1; }
function outer() { for (;;) inner(); }

require('fs').writeSync(1, 'ready\n');
outer();
