<?php
// A thread of threads.c: sleepers.php DIRECTORY NUMBER PAUSE. Its functions are named by its number and their depth,
// have one caller each, and call through the engine's own functions at every second step. Each works a little, and
// sleeps PAUSE microseconds in rests(), the innermost first: so DIRECTORY/NUMBER has PHP's own traceback of that.
[, $directory, $number, $pause] = $argv;

function rests(int $n): int {
	global $directory, $number, $pause;
	if (!file_exists("$directory/$number")) {
		$calls = basename(readlink('/proc/thread-self')) . "\n";
		foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $call) {
			$calls .= $call['function'] . ' ' . ($call['line'] ?? 0) . "\n";
		}
		file_put_contents("$directory/$number.new", $calls);
		rename("$directory/$number.new", "$directory/$number");
	}
	usleep($pause);
	return works($n);
}
function works(int $n): int {
	for ($i = 0; $i < 100; $i++) { $n += strlen(str_repeat('x', $i)); }
	return $n;
}

$depth = 4 + $number % 7;
$code = "function t{$number}_$depth(int \$n): int { return rests(\$n); }\n";
for ($i = 0; $i < $depth; $i++) {
	$next = "t{$number}_" . ($i + 1);
	$code .= "function t{$number}_$i(int \$n): int {\n\$r = works(\$n);\n"
		. ($i % 2 ? "return array_sum(array_map('$next', [\$r])) + rests(1);\n}\n" : "return $next(\$r) + rests(\$r);\n}\n");
}
eval($code);
while (true) { "t{$number}_0"(1); }
