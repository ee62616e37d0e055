// SPDX-License-Identifier: Apache-2.0

package incomplete

import (
	"fmt"
	"testing"
)

func TestCompletenessIsOfSampledTime(t *testing.T) {
	percent := func(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
	for _, c := range []struct {
		between                 float64 // beside 3 of complete stacks and 1 of incomplete ones
		short, cpu, why, module string
	}{
		{0, "75.0% with complete stacks", "75.0% of CPU time with complete stacks",
			"25.0% of cpu in [incomplete: depth]: ", "a"},
		{6, "75.0% of sampled time with complete stacks",
			"75.0% of sampled CPU time with complete stacks, 60.0% of CPU time without a sample",
			"10.0% of cpu in [incomplete: depth]: ", "a"},
		{9999, "no time was sampled", "no CPU time was sampled", "", ""},
	} {
		var got Completeness
		got.Add(3, true, "", "")
		got.Add(c.between, false, "", "")
		got.Add(0.4, true, "depth", "b")
		got.Add(0.6, true, "depth", "a")
		e := got.MainReason()
		why := c.why
		if why != "" {
			why += remedy("depth", "")
		}
		if short, cpu := got.Text("", percent), got.Text("CPU ", percent); short != c.short || cpu != c.cpu ||
			e.Text("cpu", percent) != why || e.Module != c.module {
			t.Errorf("%v: %q, %q, %q in %q", c.between, short, cpu, e.Text("cpu", percent), e.Module)
		}
	}
}
