<?php
// Text, sorting, closures and recursion, for ever.
function fib(int $n): int { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }

function words(): int {
    $seen = [];
    for ($i = 0; $i < 2000; $i++) {
        $seen[sprintf("%x-%d", $i * 7919 % 10007, $i)] = $i;
    }
    uksort($seen, fn($a, $b) => strcmp(strrev($a), strrev($b)));
    $n = 0;
    foreach ($seen as $w => $i) {
        if (preg_match('/(a+|b)+.*9/', $w)) $n += strlen(preg_replace('/[0-4]/', '<$0>', $w));
    }
    return $n + crc32(json_encode(array_keys($seen)));
}

function sieve(int $n): int {
    $is = array_fill(0, $n, true);
    for ($i = 2; $i * $i < $n; $i++) if ($is[$i]) for ($j = $i * $i; $j < $n; $j += $i) $is[$j] = false;
    return count(array_filter($is));
}

for ($sink = 0;;) $sink = (words() + fib(18) + sieve(20000) + $sink) % 1000003;

// SPDX-License-Identifier: Apache-2.0
