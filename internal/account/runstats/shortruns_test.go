// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"strings"
	"testing"
)

// 14,000 runs of 40 µs, each with a switch of 14 µs, are 35 % of the CPU time.
func TestShortRunsBoundTheErrorOfShares(t *testing.T) {
	s := &Stats{}
	s.Samples, s.ProfiledCPU = 1, 0.56
	s.ShortRuns, s.ShortRunsCPU, s.SwitchCost = 14_000, 0.56, 14_000
	want := "shares may be off by up to 35 percentage points (threads ran 14000 times for 40µs on average, and " +
		"samples can miss 14µs of each run)"
	_, account, _ := strings.Cut(CommentLine(s), " | ") // for --account
	if !strings.Contains(account, want) || strings.Contains(said(s)+overhead(s), "shares") {
		t.Errorf("%q is not in %q, or also in %q", want, account, said(s)+overhead(s))
	}
	s.SwitchCost = 50_000 // longer than the runs: they have no more than they used
	if got := s.Unsampled(); got != 1 {
		t.Errorf("%v", got)
	}
	if line := CommentLine(s); !strings.Contains(line, "the error of shares is not bounded (threads ran 14000 times") {
		t.Errorf("%q", line)
	}
	for _, none := range []CPU{
		{ProfiledCPU: 0.56, ShortRuns: 14_000, ShortRunsCPU: 0.56},
		{ProfiledCPU: 56, ShortRuns: 14_000, ShortRunsCPU: 0.56, SwitchCost: 14_000},
		{ShortRuns: 14_000, SwitchCost: 14_000},
	} {
		s.CPU = none
		if line := CommentLine(s); strings.Contains(line, "shares") {
			t.Errorf("%+v: %q", none, line)
		}
	}
}
