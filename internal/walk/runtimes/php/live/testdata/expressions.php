<?php
// A program that matches regular expressions, whose code PCRE makes at run time. expressions.php SECONDS
$end = microtime(true) + (float)$argv[1];
function matched(string $s): int { return preg_match('/(a+)+(b|c|d)*?x(?:foo|bar|ba(z+)q)+(\d+)$/', $s); }
function matches(string $s): int { $n = 0; for ($i = 0; $i < 50; $i++) { $n += matched($s); } return $n; }
$s = str_repeat('aaaaaaaaab hello world 12345 foo bazzzq 77 lorem ipsum ', 20);
echo "ready\n";
while (microtime(true) < $end) { matches($s); }
