<?php
// SPDX-License-Identifier: Apache-2.0
// It is busy.
function spin() { $n = 0; for ($i = 0; $i < 10000; $i++) $n += $i; return $n; }
function inner() { return spin() + 1; }
function outer() { for (;;) inner(); }

echo "ready\n";
outer();
