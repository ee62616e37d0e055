<?php
// Fibers that compute at the bottom of six calls; a new one after ten rounds. It ends after fifteen minutes.
function spin($n) { $x = 0; for ($i = 0; $i < $n; $i++) $x = ($x * 31 + $i) & 0xffffff; return $x; }
function level($depth) { return $depth ? level($depth - 1) + 1 : spin(30000); }
function body() { for ($i = 0; $i < 10; $i++) { level(5); Fiber::suspend($i); } }
echo "ready\n";
for ($begun = time(); time() - $begun < 900;) {
	$fiber = new Fiber('body');
	for ($fiber->start(); !$fiber->isTerminated();) $fiber->resume();
}
