// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"

	"prywalk/internal/account/runstats"
)

func TestTheSwitchIsMeasuredOnlyWhereItMayBeOfWeight(t *testing.T) {
	short := runstats.CPU{ProfiledCPU: 1, ShortRuns: 30_000, ShortRunsCPU: 1}
	setSwitchCost(&short)
	if short.SwitchCost <= 0 || short.Unsampled() <= 0 {
		t.Errorf("short runs: %+v", short)
	}
	long := runstats.CPU{ProfiledCPU: 1, ShortRuns: 300, ShortRunsCPU: 0.9}
	setSwitchCost(&long)
	if long.SwitchCost != 0 {
		t.Errorf("long runs: %+v", long)
	}
}
