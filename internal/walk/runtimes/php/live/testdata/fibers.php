<?php
// Fibers in known states. Prints for each, by its number, its calls, [function, line] or [function] of C, then sleeps
// in a fiber that another one resumed or, with "busy", runs on and resumes them.
class Pool {
	function take() { while (true) Fiber::suspend(); }
	function nest($depth) { $depth > 0 ? $this->nest($depth - 1) : $this->take(); }
	static function ofClass() { while (true) {
		Fiber::suspend(); } }
	function counts($n) { for (;;) yield $n + Fiber::suspend(); }
	function delegates($n) { yield from $this->counts($n); }
}

function mapped($pool) { array_map(function ($n) use ($pool) { $pool->take(); }, [1]); }

function run($n, $pool) {
	switch ($n % 6) {
	case 0: $pool->take(); break;
	case 1: $pool->nest($n % 50); break;
	case 2: mapped($pool); break;
	case 3: Pool::ofClass(); break;
	case 4: foreach ($pool->delegates($n) as $value); break;
	default: try { throw new Exception; } catch (Exception $e) { $pool->take(); }
	}
}

function name($call) { return isset($call['class']) ? "{$call['class']}::{$call['function']}" : $call['function']; }

$fibers = $known = [];
for ($n = 0; $n < $argv[1]; $n++) $fibers[] = new Fiber('run');
$others = [new Fiber('run'), new Fiber(fn() => 1)]; // not begun, ended
$others[1]->start();
foreach ($fibers as $n => $fiber) $fiber->start($n, new Pool);
gc_collect_cycles();
foreach ($fibers as $fiber) {
	$stack = [];
	$line = null;
	foreach ((new ReflectionFiber($fiber))->getTrace() as $call) {
		$stack[] = $line === null ? [name($call)] : [name($call), $line];
		$line = $call['line'] ?? null;
	}
	$known[spl_object_id($fiber)] = $stack;
}
echo json_encode($known, JSON_FORCE_OBJECT), "\n";
while (isset($argv[2])) foreach ($fibers as $fiber) $fiber->resume(0);
$inner = new Fiber(function () { sleep(900); });
(new Fiber(function () use ($inner) { $inner->start(); }))->start();
