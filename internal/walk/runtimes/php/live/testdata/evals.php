<?php
// Code that is evaluated, included and freed without end, with names of all lengths; each step has one caller.
// evals.php SECONDS
$end = microtime(true) + (float)$argv[1];
function burn(): int { for ($s = 0, $i = 0; $i < 3; $i++) { $s += strlen(str_repeat('x', $i)); } return $s; }
function evals(): int { return eval('return burn() + eval("return burn() + nested();");'); }
function nested(): int { return burn() + eval('return 1 + eval("return 2 + eval(\"return 3 + Made();\");");'); }
function includes(int $n): int { return burn() + include __DIR__ . '/included.php'; }
function fibered($n): int { return burn() + evals(); }
function Made(): int { $f = eval('return function () { return burn() + 1; };'); return $f(); }
echo "ready\n";
while (microtime(true) < $end) { includes(1); }
