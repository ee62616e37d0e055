// SPDX-License-Identifier: Apache-2.0

package filememory

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestAccountsShareABudget(t *testing.T) {
	b := New(1000)
	one, two := b.Account("/lib/one"), b.Account("/lib/two")
	if err := one.Take(700, "names"); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if err := one.Take(100, "lines"); !errors.As(err, &e) || e.Need != 800 || e.Total != 2000 {
		t.Errorf("Take of more than three quarters by one account: %v, want an error", err)
	}
	if err := two.Take(301, "names"); !errors.As(err, &e) || e.What != "names of /lib/two" {
		t.Errorf("Take beyond the budget: %v, want an error", err)
	}
	if err := two.Take(300, "names"); err != nil || b.Used() != 1000 || b.Peak() != 1000 {
		t.Errorf("error %v, used %d, peak %d", err, b.Used(), b.Peak())
	}
	one.Give(200)
	two.Close()
	if b.Used() != 500 || one.Used() != 500 || two.Used() != 0 || b.Peak() != 1000 {
		t.Errorf("used %d, by accounts %d and %d; want 500, 500, 0, and a peak of 1000", b.Used(), one.Used(), two.Used())
	}
	line := b.Refusals()
	for _, want := range []string{"lines of /lib/one", "names of /lib/two", "--max-memory"} {
		if !strings.Contains(line, want) || strings.Contains(line, "\n") {
			t.Errorf("report %q, want one line with %s", line, want)
		}
	}
	if New(1).Refusals() != "" {
		t.Error("Refusals reports a refusal without one")
	}
}

func TestManyRefusalsAreReportedInOneLine(t *testing.T) {
	b := New(10)
	for range 3 {
		for i := range 100 {
			_ = b.Account(strings.Repeat("x", i)).Take(100, "names") // refused
		}
	}
	if line := b.Refusals(); len(line) > 300 {
		t.Errorf("the report has %d bytes, want at most 300: %s", len(line), line)
	}
	_ = b.AccountOfWhole("stacks of process 7").Take(100, "")
	if line := b.Refusals(); !strings.Contains(line, "memory: stacks of process 7, ") {
		t.Errorf("stacks are not first: %s", line)
	}
}

func TestConcurrentAccountsAddUp(t *testing.T) {
	b := New(1 << 20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a := b.Account("x")
			for range 10_000 {
				if a.Take(1<<18, "y") == nil {
					a.Give(1 << 18)
				}
			}
			a.Close()
		})
	}
	wg.Wait()
	if b.Used() != 0 || b.Peak() > 1<<20 {
		t.Errorf("used %d, peak %d; want 0, at most 1 MiB", b.Used(), b.Peak())
	}
}

func TestNilAccountRefusesNothing(t *testing.T) {
	var a *Account
	if a.Take(1<<60, "x") != nil || a.Used() != 0 || a.Budget() != Process() {
		t.Error("a nil account refuses, or has another budget than the process's")
	}
	a.Give(1)
	a.Close()
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{512 << 20: "512M", 1 << 30: "1G", 3 << 29: "1536M", 700: "700",
		11<<30 + 5: "11G"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestReportedSizeIsSufficient(t *testing.T) {
	for _, need := range []int64{1, 900, 1 << 20, 200 << 20, 256 << 20, 300 << 20, 3 << 30} {
		b := New(512)
		err := b.AccountOfWhole("the profile").Take(max(need, 513), "labels")
		text := err.Error()
		_, flag, ok := strings.Cut(text, "--max-memory ")
		size, _, _ := strings.Cut(flag, " ")
		var n int64
		var unit string
		if k, _ := fmt.Sscanf(size, "%d%s", &n, &unit); k == 2 {
			n <<= map[string]int{"K": 10, "M": 20, "G": 30}[unit]
		}
		if !ok || !strings.HasPrefix(text, "the profile would take ") {
			t.Errorf("error %q, want one with the size of the profile", text)
		}
		b.SetTotal(n)
		if err := b.Account("a file").Take(need, "lines"); err != nil {
			t.Errorf("error %q, but with that size: %v", text, err)
		}
	}
}

func TestNamedFilesRaiseTheLimitUnlessItIsSet(t *testing.T) {
	b := New(1000)
	b.RaiseFor(600)
	if b.Limit() != 1000 {
		t.Errorf("limit %d with a small file, want 1000", b.Limit())
	}
	if b.RaiseFor(900); b.Limit() != 1500 {
		t.Errorf("limit %d with two files, want 1500", b.Limit())
	}
	b.SetMost(4000)
	if b.RaiseFor(9000); b.Limit() != 2000 {
		t.Errorf("limit %d, want half of the most of 4000", b.Limit())
	}
	b.SetTotal(100)
	if b.RaiseFor(9000); b.Limit() != 50 {
		t.Errorf("limit %d, want the set limit of 50", b.Limit())
	}
}
