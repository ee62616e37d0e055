// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

func TestTimeWithoutAFunctionIsListedByKind(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	r.add("work", 800)
	r.add("app+0x1600", 100)
	r.addStack([]*profile.Location{r.location("", "/srv/libz.so")}, 60)
	r.addStack([]*profile.Location{r.location("[exited unseen]", "")}, 40)
	r.PeriodType, r.Period = r.SampleType[0], 10
	d := r.data(t, Options{})
	c := d.Coverage()
	if c.Share() != 0.8 || c.AddressOnly() != 0.1 || c.TooLittleTime {
		t.Errorf("%v named, %v by address, too little %v; want 0.8, 0.1", c.Share(), c.AddressOnly(), c.TooLittleTime)
	}
	want := "Time without a function: 10.00% [app]: functions known by address only (debug symbols name them); " +
		"6.00% [libz.so]: functions without symbols (debug symbols name them); 4.00% [exited unseen]: threads that started " +
		"and exited between two samples (a higher -F catches more of them)"
	if got := d.UnnamedTimeText(&c); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// In a view of wall time, the shares of CPU time without a function say so, and are left out where it hardly matters.
func TestUnnamedCPUTimeOfAWallViewIsCalledSo(t *testing.T) {
	for wall, want := range map[int64]string{
		9000: "CPU time without a function: 100% [libz.so]: functions without symbols (debug symbols name them)", 11000: ""} {
		r := newRecording(rec.TypeCPU, rec.TypeWall)
		r.addStack([]*profile.Location{r.location("", "/srv/libz.so")}, 100, 100)
		r.add("sleep", 0, wall)
		d := r.data(t, Options{Value: rec.TypeWall})
		c := d.Coverage()
		if got := d.UnnamedTimeText(&c); got != want {
			t.Errorf("of %d: %q, want %q", wall, got, want)
		}
		if got := c.ShareText(); got != "0.0% named" {
			t.Errorf("of %d: %q", wall, got)
		}
	}
}

func TestNamelessCodeOfAScriptCountsAsNamed(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	r.addStack([]*profile.Location{r.location("", "/usr/bin/ruby"), r.location("Foo#bar", "[Ruby 3.3.0]")}, 50)
	r.addStack([]*profile.Location{r.location("", "/usr/bin/ruby"), r.location("main", "/usr/bin/ruby")}, 50)
	if c := r.data(t, Options{}).Coverage(); c.Share() != 0.5 {
		t.Errorf("%v of the time is named, want 0.5", c.Share())
	}
}

func TestUnnamedKernelCodeIsNotReferredBelow(t *testing.T) {
	got := unnamedCause(&Frame{Nameless: true, Module: KernelModule})
	if got != ": code that /proc/kallsyms does not list, or hides from all but root" {
		t.Errorf("%q", got)
	}
}

func TestPlaceholdersAreNoNamedFunctions(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	r.addStack([]*profile.Location{r.location("work", "[PHP 8.2.36]")}, 300)
	r.addStack([]*profile.Location{r.location("[freed]", "[PHP 8.2.36]")}, 400)
	r.addStack([]*profile.Location{r.location("[moved]", "[V8 12.4]")}, 200)
	r.addStack([]*profile.Location{r.location("[unknown]", "/srv/libz.so")}, 50)
	r.addStack([]*profile.Location{r.location("[Symbol.iterator]", "[V8 12.4]")}, 50)
	r.addStack([]*profile.Location{r.location("", "/usr/bin/php"), r.location("[freed]", "[PHP 8.2.36]")}, 1000)
	d := r.data(t, Options{})
	c := d.Coverage()
	if c.Share() != 0.175 {
		t.Errorf("%v of the time is named, want 0.175", c.Share())
	}
	want := "Time without a function: 50.00% [php]: functions without symbols (debug symbols name them); 20.00% " +
		"[function gone before its name was read]: mostly functions that were freed soon after they had run (rarer with a " +
		"spare CPU for prywalk); 10.00% [function moved before its name was read]: by the collector (rarer with a spare " +
		"CPU for prywalk); 2.50% [unknown]: code without symbols (a perf map names it, if the program can write one)"
	if got := d.UnnamedTimeText(&c); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
