package report

import (
	"strings"
	"testing"
	"time"

	rec "prywalk/internal/profile"
)

// TestNamesThatAreThereAreNotAskedFor: a perf map names what PHP compiled; without one, it is told what gives names.
func TestNamesThatAreThereAreNotAskedFor(t *testing.T) {
	php := &rec.ModuleInfo{Start: 0x400000, End: 0x500000, Bias: 0x400000, Path: "/usr/bin/php8.2"}
	made := &rec.ModuleInfo{Start: 0x600000, End: 0x700000, Bias: 0x600000, Path: "[anon]"}
	names := nameTable{php.Path: {0x10: fn("execute_ex", "", 0), 0x20: fn("main", "", 0)}, made.Path: {0x10: fn("TRACE-1$invoice_total$5", "", 0)}}
	for _, mapped := range []bool{true, false} {
		b := rec.NewBuilder(rec.Meta{Start: time.Unix(1_700_000_000, 0), Period: 1e7, Main: php})
		leaf := at(made, 0x10)
		if !mapped {
			leaf = at(php, 0x30) // has no name
		}
		stack := b.Intern(join(leaf, at(php, 0x10, 0x20)))
		b.Add(rec.Interval{PID: 7, TID: 7, Comm: "php", State: "running", Samples: 100, Wall: 1e9, CPU: 1e9, End: 1_700_000_001e9, Stack: stack})
		b.SetWindow(time.Unix(1_700_000_000, 0), time.Unix(1_700_000_001, 0))
		got := render(t, Table, parsed(t, b, names), Options{})
		if !strings.Contains(got, "execute_ex") || strings.Contains(got, "opcache.jit_debug=0x10") == mapped {
			t.Errorf("with a perf map: %v:\n%s", mapped, got)
		}
	}
}
