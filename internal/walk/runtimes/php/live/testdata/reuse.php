<?php
// Functions are made and freed without end: closures of evaluated code, and scripts. Each says its number: that of the
// function numberN that calls it is the line of a closure, and in the name of a script. reuse.php SECONDS DIRECTORY
$end = microtime(true) + (float)$argv[1];
ini_set('memory_limit', '1G'); // evaluated code is not all freed
const NUMBERS = 40;
function burn(): int { for ($s = 0, $i = 0; $i < 200; $i++) { $s += strlen(str_repeat('x', $i)); } return $s; }
for ($n = 1; $n <= NUMBERS; $n++) {
	file_put_contents("$argv[2]/script$n.php", "<?php\nreturn burn() + burn();\n");
	eval("function number$n(\$f, \$dir) { return \$f() + include \"\$dir/script$n.php\"; }");
}
echo "ready\n";
for ($n = 1; microtime(true) < $end; $n = $n % NUMBERS + 1) {
	$made = eval(str_repeat("\n", $n - 1) . 'return function () { return burn() + burn(); };');
	$call = "number$n";
	$call($made, $argv[2]);
	unset($made);
}
