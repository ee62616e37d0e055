// A program that computes.
function invoiceTotal(n) {
  let sum = 0;
  for (let i = 1; i < n; i++) sum += (i * i) % 7;
  return sum;
}
let sink = 0;
for (;;) sink += invoiceTotal(1000000);

// SPDX-License-Identifier: Apache-2.0
