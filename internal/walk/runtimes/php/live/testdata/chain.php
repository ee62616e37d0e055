<?php
// A program whose functions have one caller each, with calls through the engine's own functions at every second step.
// Each call works a little before and after the next one. chain.php SECONDS [PAUSE]: microseconds at the innermost call.
$end = microtime(true) + (float)$argv[1];
$pause = (int)($argv[2] ?? 0);

function burn(): int { for ($s = 0, $i = 0; $i < 40; $i++) { $s += strlen(str_repeat('x', $i)); } return $s; }
class Chain {
	public function mapped(int $n): array {
		$kept = burn();
		return array_map(function ($x) use ($kept) { return burn() + Sorter::sorted($x) + $kept; }, [$n]);
	}
	public function __call($name, $arguments) { return burn() + called($arguments[0]); }
	public static function innermost(int $n): int {
		global $pause;
		if ($pause > 0) { traceback(); usleep($pause); }
		return burn() + $n;
	}
}
final class Sorter {
	public static function sorted(int $n): int {
		$list = [3, 2, 1];
		usort($list, [self::class, 'compare']);
		return burn() + $list[0];
	}
	public static function compare($a, $b): int { return burn() ? summed($a) <=> summed($b) : 0; }
}
function summed(int $n): int {
	$sum = burn();
	foreach (delegating($n) as $v) { $sum += $v; }
	return $sum;
}
function delegating(int $n) { burn(); yield 1; yield from generated($n); yield burn(); }
function generated(int $n) { yield burn(); yield magic($n); yield burn(); }
function magic(int $n): int { $c = new Chain; return burn() + $c->anything($n); }
function called(int $n): int { return burn() + call_user_func('recursed', $n, 3); }
function recursed(int $n, int $depth): int {
	return $depth > 0 ? burn() + recursed($n, $depth - 1) : burn() + replaced($n);
}
function replaced(int $n): int {
	return strlen(preg_replace_callback('/x/', 'replacement', 'axb')) + burn();
}
function replacement($m): string { return (string)(burn() + included(1)); }
function included(int $n): int { return burn() + include __DIR__ . '/included.php'; }
function fibered(int $n): int {
	if (!class_exists('Fiber')) { return burn() + evaluated($n); }
	$fiber = new Fiber('inFiber');
	$sum = $fiber->start($n);
	while (!$fiber->isTerminated()) { $sum += (int)$fiber->resume(1); }
	return burn() + $sum;
}
function inFiber(int $n): void { Fiber::suspend(burn()); $r = evaluated($n); Fiber::suspend($r + burn()); }
function evaluated(int $n): int { return burn() + eval('return burn() + lastStep($n);'); }
function lastStep(int $n): int { return burn() + Chain::innermost($n); }

// traceback says once how PHP itself sees its calls, the innermost first: function, and the line that it is at.
function traceback(): void {
	global $said;
	if ($said) { return; }
	$said = true;
	foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $call) {
		echo isset($call['class']) ? $call['class'] . '::' : '', $call['function'], ' ', $call['line'] ?? 0, "\n";
	}
	echo "end\n";
}

echo "ready\n";
while (microtime(true) < $end) { (new Chain)->mapped(1); }
