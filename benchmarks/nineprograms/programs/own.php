<?php
// A program that computes.
function invoice_total($n) {
    $sum = 0;
    for ($i = 1; $i < $n; $i++) $sum += $i * $i % 7;
    return $sum;
}
while (true) invoice_total(1000000);

// SPDX-License-Identifier: Apache-2.0
