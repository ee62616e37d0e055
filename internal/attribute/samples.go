// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// BeginAt begins the account of a thread with its clocks at a moment at which it ran, before any stack of it is known.
func (t *Thread) BeginAt(r sample.Reading) {
	if t.Begin(r); t.BornAt == 0 {
		t.clock.Begin(r)
	}
}

// Claim takes note of a sample of a thread that ended before its clocks were read again. It stands for period ns of
// what nobody saw, as any sample stands for its period; what there is of that is shared out when the process's account
// is closed.
func (p *Process) Claim(where Seen, at, period int64) {
	if !p.Selected {
		where.State, where.Wait = sample.Running, ""
		p.claims.add(where, at, period)
	}
}
